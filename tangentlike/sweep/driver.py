"""The gradient of a loss of the state that many iterations of a step lead to."""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from ..api.calls import value_and_grad as plain_value_and_grad
from ..api.jacobians import Point, pair_of, value_and_grad_of
from ..dispatch.derivation import functions_of
from ..errors import TangentlikeError
from ..frontend.primal import Primal, Wrt, primal_of, wrt_names
from ..pytree.gradients import add, difference, like
from .journal import Journal, Progress, Report, captured, digest

_count = count(1)

TEXT = """\
def {step}_sweep(state, params, iterations):
    journal = opened(state, params, iterations)
    # primal
    _, state = journal.ahead()
    for start, stop in journal.stretches():
        journal.keep(start, state)
        for t in range(start, stop):
            state = {advance}
            journal.passed(t + 1, state)
    if journal.adjoint is None:
        value, {bars} = {loss}_value_and_grad({loss_arguments})
        journal.begin(value, state_bar, params_bar)
    # adjoint
    _, value, state_bar, params_bar = journal.adjoint
    for keep, start, stop in journal.moves():
        state = journal.state()
        if keep:
            for t in range(start, stop):
                state = {advance}
                journal.again(t + 1)
            journal.keep(stop, state)
        else:
            state_bar, params_part = {step}_pullback(state_bar, {arguments_start})
            params_bar = add(params_bar, params_part)
            journal.pop()
            journal.reversed(start, value, state_bar, params_bar)
    journal.close()
    return value, state_bar, params_bar
"""


def grad(
    step: Callable[..., Any], loss: Callable[..., Any], wrt: Wrt = (0, 1), **how: Any
) -> Sweep:
    """The gradient of `loss(state, params)` of the state after many iterations of `step`.

    `step(state, params, t)` gives the next state (`t` may be left out), `loss(state, params)` a
    number (`params` may be left out). The result is called as `(state, params, iterations)`; `wrt`
    says which of the two first parameters of the step the gradient is by. The keywords:

    - `to`: a directory for states and for what is needed to go on; None, the default: memory only.
    - `memory`, `disk`: how many states are saved in each; 20 and 0, with a directory 20 and 100.
    - `save_every`: after how many seconds the sweep saves where it is (60).
    - `progress`: True for bars, or a function `(phase, iterations done, iterations)`.

    A call with a directory in which a sweep of the same step, loss and arguments was stopped goes
    on with it. The states are NumPy arrays and numbers, in containers.

    >>> import numpy as np, tangentlike as tl
    >>> def step(x, rate, t):
    ...     return x - rate * x**3
    >>> gradient = tl.sweep.grad(step, lambda x: np.sum(x * x), memory=3)
    >>> x_bar, rate_bar = gradient(np.array([1.0, 2.0]), 0.01, 50)
    >>> gradient.report.iterations, gradient.report.repeated == gradient.report.least_repeated
    (50, True)
    """
    return Sweep("grad", step, loss, wrt, **how)


def value_and_grad(
    step: Callable[..., Any], loss: Callable[..., Any], wrt: Wrt = (0, 1), **how: Any
) -> Sweep:
    """Like `tl.sweep.grad`, giving `(value, gradient)`."""
    return Sweep("value_and_grad", step, loss, wrt, **how)


class Sweep:
    """A long sweep as a function of `(state, params, iterations)`.

    `source` is its text, `report` what the last call has cost.
    """

    def __init__(
        self,
        operator: str,
        step: Callable[..., Any],
        loss: Callable[..., Any],
        wrt: Wrt,
        *,
        to: Any = None,
        memory: int = 20,
        disk: int | None = None,
        save_every: float = 60.0,
        progress: bool | Progress = False,
    ) -> None:
        self.operator, self.step, self.loss, self.to = operator, step, loss, to
        self.primal, self.of_loss = primal_of(step), primal_of(loss)
        self._check_parameters()
        names, self.single = wrt_names(self.primal, wrt)
        self.places = [self.primal.free_names.index(name) for name in names]
        if any(place > 1 for place in self.places):
            raise TangentlikeError(
                "wrt names the number of the iteration",
                hint="Name the state, the parameters, or both.",
            )
        self.memory, self.disk = memory, (100 if to else 0) if disk is None else disk
        if memory < 1 or self.disk < 0 or (self.disk and to is None):
            raise TangentlikeError(
                f"a sweep cannot store {memory} states in memory and {self.disk} on disk",
                hint="memory= is at least 1, and disk= needs a directory: to=.",
            )
        self.save_every, self.progress = save_every, progress
        self.report = Report()
        self.source = self._source()
        self.__name__ = f"{_name(self.primal)}_sweep"

    def __repr__(self) -> str:
        return f"<sweep {self.operator}({_name(self.primal)}, {_name(self.of_loss)})>"

    def _check_parameters(self) -> None:
        for primal, counts, what in (
            (self.primal, (2, 3), "step takes (state, params) or (state, params, t)"),
            (self.of_loss, (1, 2), "loss takes (state) or (state, params)"),
        ):
            if len(primal.positional) not in counts or len(primal.free_names) not in counts:
                raise TangentlikeError(
                    f"{primal.name} has {len(primal.free_names)} parameters, and a {what}",
                    hint="Put what does not fit into a container of parameters.",
                )

    # ------------------------------------------------------------------------------ the run

    def __call__(self, state: Any, params: Any, iterations: int) -> Any:
        if (
            isinstance(iterations, bool)
            or not isinstance(iterations, (int, np.integer))
            or iterations < 0
        ):
            raise TangentlikeError(f"a sweep runs a number of iterations, not {iterations!r}")
        with _shown(self.progress) as shown:
            run = _Run(self, shown)
            found = run.program()(state, params, int(iterations))
        value, *bars = found
        chosen = [bars[place] for place in self.places]
        gradient = chosen[0] if self.single else tuple(chosen)
        return gradient if self.operator == "grad" else (value, gradient)

    # ------------------------------------------------------------------------------ the text

    @property
    def with_time(self) -> bool:
        """Whether the step takes the number of the iteration."""
        return len(self.primal.free_names) == 3

    def text(self) -> str:
        """The text of the sweep itself."""
        step, loss = _name(self.primal), _name(self.of_loss)
        given = "state, params, {}" if self.with_time else "state, params"
        both = len(self.of_loss.free_names) == 2
        return TEXT.format(
            step=step,
            loss=loss,
            advance=f"{step}({given.format('t')})",
            arguments_start=given.format("start"),
            bars="(state_bar, params_bar)" if both else "state_bar",
            loss_arguments="state, params" if both else "state",
        ).replace("journal.begin(value", f"{'' if both else NO_PARAMS}journal.begin(value")

    def _source(self) -> str:
        pair = pair_of(self.step, self.primal.free_names[:2])
        fwd, bwd = (f.__name__ for f in functions_of(pair.derived))
        names = ", ".join(self.primal.free_names)
        pullback = (
            f"def {_name(self.primal)}_pullback(seed, {names}):\n"
            f"    _, tape = {fwd}({names})\n"
            f"    return {bwd}(tape, seed)\n"
        )
        # (Not the text of the latest call: the sweep would be another after one.)
        head = value_and_grad_of(self.loss, self._loss_wrt).derived.source
        texts = [pair.derived.source, pullback, head, self.text()]
        return "\n\n\n".join(text.strip("\n") for text in texts) + "\n"

    @property
    def _loss_wrt(self) -> Any:
        names = self.of_loss.free_names
        return names if len(names) == 2 else names[0]


NO_PARAMS = "params_bar = zeros(params)\n        "


class _Run:
    """One call of a sweep: what the names of its text mean."""

    def __init__(self, sweep: Sweep, progress: Progress | None) -> None:
        self.sweep, self.progress = sweep, progress
        self.later: Any = None  # the state that the iteration after was reversed from
        self.params: tuple[Any, str] = (None, "")

    def program(self) -> Callable[..., Any]:
        """The text of the sweep, compiled."""
        sweep, text = self.sweep, self.sweep.text()
        step, loss = _name(sweep.primal), _name(sweep.of_loss)
        namespace: dict[str, Any] = {
            "opened": self.opened,
            step: sweep.step,
            f"{step}_pullback": self.pullback,
            f"{loss}_value_and_grad": self.at_the_end,
            "zeros": lambda params: like(params, None),
            "add": add,
            "range": range,
        }
        file = f"<{step}_sweep {next(_count)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), namespace)
        made: Callable[..., Any] = namespace[f"{step}_sweep"]
        return made

    def opened(self, state: Any, params: Any, iterations: int) -> Journal:
        """The journal of this sweep, in which another one may have written."""
        sweep = self.sweep
        self.params = params, digest(params)
        outer = [captured(primal.function) for primal in (sweep.primal, sweep.of_loss)]
        bound = [(primal.args, primal.kwargs) for primal in (sweep.primal, sweep.of_loss)]
        journal = Journal(
            state,
            params,
            iterations,
            program=digest(sweep.source, outer, bound),
            to=sweep.to,
            memory=sweep.memory,
            disk=sweep.disk,
            save_every=sweep.save_every,
            progress=self.progress,
        )
        sweep.report = journal.report
        return journal

    def at_the_end(self, state: Any, *params: Any) -> Any:
        """The loss and its gradient; the parameters must be what they were."""
        if digest(self.params[0]) != self.params[1]:
            raise TangentlikeError(
                f"{self.sweep.primal.name} writes its parameters, which all iterations share",
                hint="Put what changes into the state.",
            )
        self.later = state
        found = plain_value_and_grad(self.sweep.loss, wrt=self.sweep._loss_wrt)
        return found(state, *params)

    def pullback(self, seed: Any, state: Any, params: Any, *t: Any) -> Any:
        """The adjoint of a iteration, which must lead to the state that was reversed before."""
        wrt = self.sweep.primal.free_names[:2]
        point = Point(self.sweep.step, wrt, (state, params, *t), {}, False, None)
        path = None if self.later is None else difference(self.later, point.value)
        if path is not None:
            raise TangentlikeError(
                f"an iteration returns a different state{path} when it is run again",
                hint="A step must give the same each time: draw random numbers before, and pass "
                "them among the parameters, by the number of the iteration.",
            )
        self.later = state
        return point(seed)


def _name(primal: Primal) -> str:
    name = primal.name.rpartition(".")[2]
    return name if name.isidentifier() else "function"


@contextlib.contextmanager
def _shown(progress: bool | Progress) -> Iterator[Progress | None]:
    """What shows how far a sweep is."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    from rich.progress import Progress as Bars

    with Bars() as bars:
        tasks: dict[str, Any] = {}

        def show(phase: str, done: int, iterations: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=iterations)
            bars.update(tasks[phase], completed=done)

        yield show
