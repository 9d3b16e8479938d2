"""The gradient of a loss over data in chunks: mapped over the chunks, summed along a tree.

A loss that is a sum, or a mean over rows, takes one pass over the data: each chunk gives its value
and its gradient. What is computed from sums of statistics (`head`), or from statistics that are
combined in another way, takes two: the adjoint of the statistics is known only when all chunks were
seen, and keeping until then what each chunk's pullback needs would keep all the data.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from dask.delayed import delayed

from ..api.calls import value_and_grad as plain_value_and_grad
from ..errors import TangentlikeError
from ..frontend.primal import Primal, Wrt, primal_of, wrt_names
from . import plans, pullbacks
from .pullbacks import Shipped
from .texts import identifier, plan_source, plan_text

_count = count(1)
_AUX = ("list", "sum", "concatenate")


@dataclass(frozen=True)
class ChunkedLoss:
    """What was asked for: the loss of a chunk and how the chunks come together.

    `constants` are the parameters that all chunks see; `head_takes` are those that the head takes
    beside the statistics.
    """

    loss: Any
    primal: Primal
    wrt: tuple[str, ...]
    single: bool
    over: tuple[str, ...]
    constants: tuple[str, ...]
    reduction: Any
    head: Any
    head_takes: tuple[str, ...]
    passes: int
    has_aux: bool
    aux: str
    fan_in: int
    example: Any

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.primal.free_names

    @property
    def combines(self) -> bool:
        """Whether statistics are combined by a function of the user's."""
        return callable(self.reduction)

    @property
    def through_head(self) -> bool:
        """Whether the value is computed of the statistics of all chunks."""
        return self.head is not None or self.combines

    @property
    def head_wrt(self) -> tuple[str, ...]:
        return tuple(name for name in self.head_takes if name in self.wrt)


def grad(
    loss: Callable[..., Any] | None = None,
    wrt: Wrt = 0,
    *,
    over: str | Sequence[str],
    reduction: Any = "sum",
    head: Callable[..., Any] | None = None,
    passes: int | None = None,
    has_aux: bool = False,
    aux: str = "list",
    fan_in: int = plans.FAN_IN,
    example: Any = None,
    scheduler: Any = None,
    progress: bool = False,
) -> Any:
    """The gradient of a loss over data in chunks, as a function with the loss's signature.

    `over` names the parameters that come in chunks: for these the function takes a Dask array in
    chunks of rows, or a list of blocks. `loss` is the loss of one chunk; `reduction` says what that
    of all is: "sum", "mean" (of means over rows, chunks of any length), or a function that combines
    two statistics. With `head`, `loss` returns statistics (numbers, arrays, containers of these),
    and the value is `head(their sum)`; further parameters of the head are those of the loss with
    the same names. `passes=1` with a head reads the data once, and pulls back each number of the
    statistics; the default, 2, reads the data twice.

    With `has_aux`, `loss` returns `(value, aux)`; `aux` says what becomes of those of the chunks: a
    "list", their "sum", or arrays, "concatenate"d. `scheduler` is Dask's ("threads", "processes",
    "synchronous"; None: the one in use, a distributed client's if there is one); `progress` shows a
    bar. The result's `.source` is the plan, `.delayed(...)` the plan as a Delayed of Dask's.

    >>> import numpy as np, tangentlike as tl
    >>> def loss(w, x):
    ...     return np.sum((x @ w) ** 2)
    >>> gradient = tl.dask.grad(loss, over="x", scheduler="synchronous")
    >>> gradient(np.ones(2), [np.eye(2), 2.0 * np.eye(2)])
    array([10., 10.])
    """
    given = dict(locals())
    return _handed_back("grad", given)


def value_and_grad(
    loss: Callable[..., Any] | None = None,
    wrt: Wrt = 0,
    *,
    over: str | Sequence[str],
    reduction: Any = "sum",
    head: Callable[..., Any] | None = None,
    passes: int | None = None,
    has_aux: bool = False,
    aux: str = "list",
    fan_in: int = plans.FAN_IN,
    example: Any = None,
    scheduler: Any = None,
    progress: bool = False,
) -> Any:
    """Like `tl.dask.grad`, returning `(value, gradient)`, or `((value, aux), gradient)`.

    >>> import numpy as np, tangentlike as tl
    >>> def loss(w, x):
    ...     return np.mean(x * w)
    >>> chunks = [np.array([1.0, 2.0]), np.array([6.0])]
    >>> tl.dask.value_and_grad(loss, over="x", reduction="mean", scheduler="threads")(2.0, chunks)
    (np.float64(6.0), 3.0)
    """
    given = dict(locals())
    return _handed_back("value_and_grad", given)


# --------------------------------------------------------------------------- what is asked for


def _asked(
    loss: Any,
    wrt: Wrt,
    over: Any,
    reduction: Any,
    head: Any,
    passes: Any,
    has_aux: bool,
    aux: str,
    fan_in: int,
    example: Any,
) -> ChunkedLoss:
    primal = primal_of(loss)
    names, single = wrt_names(primal, wrt)
    gone_over = over_names(primal, over)
    both = [name for name in names if name in gone_over]
    if both:
        raise TangentlikeError(
            f"`{both[0]}` is split into chunks and named in wrt",
            hint="tl.dask.map_grad gives a gradient for each row of the data.",
        )
    if not (callable(reduction) or reduction in ("sum", "mean")):
        raise TangentlikeError(
            f"there is no reduction {reduction!r}",
            hint='Pass "sum", "mean", or a function of two statistics that combines them.',
        )
    if aux not in _AUX:
        raise TangentlikeError(f"aux is one of {', '.join(map(repr, _AUX))}, not {aux!r}")
    if fan_in < 2:
        raise TangentlikeError(f"fan_in={fan_in} is too small", hint="Pass 2 or more.")
    constants = tuple(name for name in primal.free_names if name not in gone_over)
    takes = _head_takes(head, primal, constants)
    checked = _checked_passes(passes, head, reduction)
    return ChunkedLoss(
        *(loss, primal, names, single, gone_over, constants, reduction, head, takes),
        *(checked, has_aux, aux, fan_in, example),
    )


def over_names(primal: Primal, over: Any) -> tuple[str, ...]:
    """The parameters that `over` names, which must exist and be given by position or name."""
    names = (over,) if isinstance(over, str) else tuple(over)
    if not names:
        raise TangentlikeError("over= names no parameter", hint="Name those that hold the data.")
    for name in names:
        if name not in primal.free_names:
            listed = ", ".join(f"`{known}`" for known in primal.free_names)
            raise TangentlikeError(
                f"over= names `{name}`, which is not a parameter of {primal.name}",
                hint=f"The parameters of {primal.name} are {listed}.",
            )
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind in starred for p in primal.signature.parameters.values()):
        raise TangentlikeError(
            f"{primal.name} takes any number of arguments, which tl.dask does not pass on",
            hint="Write a function that names its parameters.",
        )
    return names


def _head_takes(head: Any, primal: Primal, constants: tuple[str, ...]) -> tuple[str, ...]:
    if head is None:
        return ()
    takes = primal_of(head).free_names[1:]
    unknown = [name for name in takes if name not in constants]
    if unknown:
        raise TangentlikeError(
            f"the head takes `{unknown[0]}`, which is not a constant parameter of {primal.name}",
            hint="Its first parameter is the sum of the statistics; others have the names of "
            "parameters of the loss that are not in over=.",
        )
    return takes


def _checked_passes(passes: Any, head: Any, reduction: Any) -> int:
    through_head = head is not None or callable(reduction)
    if head is not None and reduction == "mean":
        raise TangentlikeError(
            'a head receives the sum of the statistics, and reduction is "mean"',
            hint="Return the number of rows among the statistics, and divide in the head.",
        )
    if passes not in (None, 1, 2):
        raise TangentlikeError(f"passes={passes!r} is neither 1 nor 2")
    if passes == 1 and callable(reduction):
        raise TangentlikeError(
            "statistics that a function combines take two passes over the data",
            hint='With reduction="sum" and a head, passes=1 is possible.',
        )
    if passes == 2 and not through_head:
        raise TangentlikeError(
            "a sum and a mean take one pass over the data", hint="Drop passes=2."
        )
    return passes or (2 if through_head else 1)


# ---------------------------------------------------------------------------- what is given out


def _handed_back(operator: str, given: dict[str, Any]) -> Any:
    scheduler, progress = given.pop("scheduler"), given.pop("progress")
    if given["loss"] is None:
        rest = {key: value for key, value in given.items() if key != "loss"}
        options = {**rest, "scheduler": scheduler, "progress": progress}
        return lambda loss: _handed_back(operator, {"loss": loss, **options})
    request = _asked(**given)
    plan = _plan(request, functools.partial(plans.computed, scheduler=scheduler, progress=progress))

    def over_chunks(*args: Any, **kwargs: Any) -> Any:
        found = plan(*_arguments(request, args, kwargs))
        if not request.through_head:
            found = plans.computed(found, scheduler, progress)
        value, bars = found
        if operator == "value_and_grad":
            return value, bars
        return (bars, value[1]) if request.has_aux else bars

    def lazy(*args: Any, **kwargs: Any) -> Any:
        """The plan as a Delayed, of `(value, gradient)`."""
        if request.through_head:
            raise TangentlikeError(
                "a plan with a head runs its first pass before the graph of the second is known",
                hint="Call the function itself; to have one Delayed, wrap it in dask.delayed.",
            )
        return plan(*_arguments(request, args, kwargs))

    made: Any = over_chunks
    made.__name__ = made.__qualname__ = plan.__name__
    made.__doc__ = request.primal.function.__doc__
    made.__signature__ = request.primal.signature
    made.delayed = lazy
    made.source = plan_source(request)
    return made


def _arguments(request: ChunkedLoss, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call in the order of the parameters."""
    bound = request.primal.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return [bound.arguments[name] for name in request.parameters]


def _plan(request: ChunkedLoss, computed: Callable[..., Any]) -> Callable[..., Any]:
    """The plan, compiled from its text."""
    text, name = plan_text(request), f"{identifier(request.loss)}_over_chunks"
    namespace = {"computed": computed, **_called_here(request)}
    return compiled_plan(text, name, namespace, _shipped(request))


def compiled_plan(
    text: str, name: str, namespace: dict[str, Any], shipped: dict[str, Shipped]
) -> Callable[..., Any]:
    """The function `name` of a text. What its tasks call is one node of each plan, sent to a worker
    once; each call makes a new one, since a function may depend on data that have changed."""
    own = {key: getattr(plans, key) for key in plans.__all__}
    own.update(namespace, delayed=delayed, __name__=__name__)
    file = f"<{name} {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), own)
    made = own[name]
    assert isinstance(made, types.FunctionType)

    def plan(*args: Any) -> Any:
        nodes = {key: delayed(part, name=f"{key}-{uuid4().hex}") for key, part in shipped.items()}
        return types.FunctionType(made.__code__, {**own, **nodes}, name)(*args)

    plan.__name__ = name
    return plan


def _called_here(request: ChunkedLoss) -> dict[str, Any]:
    """What the plan calls in the calling process: the head, and what combines statistics."""
    found: dict[str, Any] = {}
    if request.head is not None:
        head = primal_of(request.head)
        wrt = (head.free_names[0], *request.head_wrt)
        found[f"{identifier(request.head)}_value_and_grad"] = plain_value_and_grad(
            request.head, wrt=wrt
        )
    if request.combines:
        combine = primal_of(request.reduction)
        both = combine.free_names[:2]
        found[f"{identifier(request.reduction)}_value"] = pullbacks.value(request.reduction, both)
        pulled = pullbacks.pullback(request.reduction, both)
        found[f"{identifier(request.reduction)}_pullback"] = pulled
    return found


def _shipped(request: ChunkedLoss) -> dict[str, Shipped]:
    """What the tasks of the plan call, by the name it has in the plan."""
    name, options = (
        identifier(request.loss),
        {"has_aux": request.has_aux, "example": request.example},
    )
    if not request.through_head:
        wrt = request.wrt[0] if request.single else request.wrt
        shipped = Shipped(pullbacks.value_and_grad, request.loss, wrt=wrt, **options)
        _ = shipped.made  # (a refusal comes where the request is made)
        return {f"{name}_value_and_grad": shipped}
    if request.passes == 1:
        rows = Shipped(pullbacks.jacobian_rows, request.loss, wrt=request.wrt, **options)
        return {f"{name}_rows": rows}
    return {
        f"{name}_value": Shipped(
            pullbacks.value, request.loss, wrt=request.wrt, example=request.example
        ),
        f"{name}_pullback": Shipped(pullbacks.pullback, request.loss, wrt=request.wrt, **options),
    }
