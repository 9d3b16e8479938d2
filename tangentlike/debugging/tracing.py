"""The values that the statements of a derivative had when it ran, in a table."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..dispatch.blame import watching
from ..errors import TangentlikeError
from .instrument import Probe, StandIns
from .linemap import LineMap, Statement, derivation_behind
from .tables import Growth, Summary, growth_of, summary_of

_MOST_STEPS = 200_000

Key = tuple[int, tuple[int, ...], int]  # program, calls that led to it, statement


@dataclass(frozen=True)
class Step:
    """One execution of a statement: `path` are the statements whose calls led to it, `iterations`
    the iterations of the loops around it, those of its callers first, from 0."""

    program: int
    path: tuple[int, ...]
    index: int
    iterations: tuple[int, ...]
    values: dict[str, Summary]
    seconds: float
    order: int = 0


@dataclass(frozen=True)
class Row:
    """All executions of a statement by one way of calls, and one of them in `values`.

    `count` is how often it ran (of a loop: how many iterations it made), `seconds` for how long in
    all, `iterations` which execution is shown, `depth` how many calls deep it stands.
    """

    statement: Statement
    depth: int
    count: int
    seconds: float
    iterations: tuple[int, ...]
    values: dict[str, Summary]
    program: int = 0
    path: tuple[int, ...] = ()
    nesting: int = 0  # in how many loops and branches it stands


@dataclass
class _Tally:
    """The executions of a statement by one way."""

    count: int = 0
    iterations: int = 0  # of a loop
    seconds: float = 0.0
    steps: list[Step] = field(default_factory=list)


@dataclass
class Trace:
    """Every statement that a derivative executed, in order, with its values in short.

    `result` is what the derivative returned, `maps` the line maps of the texts that ran, `steps`
    all executions. It prints as a table in which a loop is folded: each statement has one row,
    with the number of its executions and the values of one of them, the last unless `at` or
    `iteration` says another.
    """

    result: Any = field(repr=False)
    maps: tuple[LineMap, ...] = field(repr=False)
    tallies: dict[Key, _Tally] = field(repr=False)
    chosen: int | tuple[int, ...] | None = None
    forgotten: int = 0

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All executions that were kept, in order."""
        found = (step for tally in self.tallies.values() for step in tally.steps)
        return tuple(sorted(found, key=lambda step: step.order))

    def at(self, iteration: int | tuple[int, ...]) -> Trace:
        """The same trace showing another iteration: 0 the first, -1 the last; of nested loops a
        tuple, outermost first."""
        return dataclasses.replace(self, chosen=iteration)

    def rows(self) -> list[Row]:
        """The folded table: the statements of a helper come below the line that called it."""
        found = []
        for program, path, index in sorted(self.tallies, key=lambda k: (k[0], (*k[1], k[2]))):
            tally = self.tallies[program, path, index]
            step = self._chosen(tally.steps)
            statement = self.maps[program].statements[index]
            row = Row(
                statement,
                len(path),
                tally.iterations if statement.is_loop else tally.count,
                tally.seconds,
                () if step is None else step.iterations,
                {} if step is None else step.values,
                program,
                path,
                self.maps[program].nesting(statement),
            )
            found.append(row)
        return found

    def _chosen(self, steps: list[Step]) -> Step | None:
        wanted = self.chosen
        if wanted is None or not steps:
            return steps[-1] if steps else None
        wanted = (wanted,) if isinstance(wanted, int) else wanted
        for position, number in enumerate(wanted):
            deep = [s for s in steps if len(s.iterations) > position]
            if not deep:
                break
            counts = sorted({s.iterations[position] for s in deep})
            goal = counts[number] if number < 0 and -number <= len(counts) else number
            steps = [s for s in deep if s.iterations[position] == goal]
            if not steps:
                return None
        return steps[-1]

    def values(
        self, name: str, function: str | None = None
    ) -> list[tuple[tuple[int, ...], Summary]]:
        """Each value that a name had in the derivative (in one of its functions), in order of
        execution, with the iterations of the loops around it."""
        statements = [lines.statements for lines in self.maps]
        return [
            (step.iterations, step.values[name])
            for step in self.steps
            if name in step.values
            and function in (None, statements[step.program][step.index].function)
        ]

    @property
    def seconds(self) -> float:
        """How long the statements took in all, those of helpers counted once."""
        return sum(tally.seconds for (_, path, _), tally in self.tallies.items() if not path)

    def growth(self) -> Growth:
        """The norms of what loops compute, iteration by iteration: where they grow or vanish."""
        return growth_of(self)

    # ------------------------------------------------------------------------- display

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each name of each row: what `to_pandas` makes a table of."""
        found = []
        for row in self.rows():
            s = row.statement
            shared = {
                "function": s.function,
                "line": s.line,
                "role": s.role,
                "statement": s.text,
                "user_file": s.place.file,
                "user_line": s.place.line,
                "user_text": s.place.text,
                "depth": row.depth,
                "count": row.count,
                "iterations": row.iterations,
                "ms": 1e3 * row.seconds,
            }
            values: dict[str, Any] = dict(row.values) or {"": None}
            for name, value in values.items():
                own = {} if value is None else dataclasses.asdict(value)
                found.append({**shared, "name": name, **own})
        return found

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise TangentlikeError(
                "to_pandas needs pandas, which is not installed",
                hint="pip install pandas; records() gives the same rows as dictionaries.",
            ) from None
        return pandas.DataFrame.from_records(self.records())

    def __str__(self) -> str:
        from .tables import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from .tables import html_of

        return html_of(self)


def trace(df: Callable[..., Any], *args: Any, **kwargs: Any) -> Trace:
    """Run a derivative and say what value each of its statements had.

    Parameters
    ----------
    df : what `tl.grad`, `tl.value_and_grad`, `tl.jacobian` or another operator returned.
    *args, **kwargs : what it is called with.

    Returns
    -------
    Trace
        prints as a table: line, number of executions, milliseconds, name, shape and dtype, norm,
        smallest and largest entry, NaN, bytes, statement. `trace.at(3)` shows iteration 3 of the
        loops, `trace.to_pandas()` is a DataFrame, `trace.values("h")` all values of a name, and
        `trace.result` what the derivative returned.

    Raises
    ------
    TangentlikeError
        if `df` is not a derivative. What the derivative itself raises passes through.

    Examples
    --------
    >>> import tangentlike as tl
    >>> def f(x):
    ...     y = x * x
    ...     return 3.0 * y
    >>> table = tl.trace(tl.grad(f), 2.0)
    >>> table.result
    12.0
    """
    derivation_behind(df)
    with tracing() as found:
        result = df(*args, **kwargs)
    made = found()
    made.result = result
    return made


@contextmanager
def tracing() -> Iterator[Callable[[], Trace]]:
    """Trace every derivative that runs in a `with` block; what is bound gives the trace so far.

    For `tl.vjp`, whose pullback runs later, and for code that calls derivatives itself.
    """
    tracer = Tracer()
    with watching(tracer):
        yield tracer.trace


# ------------------------------------------------------------------------------ running


@dataclass
class _Frame:
    """A function that is running."""

    path: tuple[int, ...]
    base: tuple[int, ...]  # iterations of the callers' loops
    current: int = -1
    counts: dict[int, int] = field(default_factory=dict)
    starts: list[tuple[float, float]] = field(default_factory=list)


class Tracer(StandIns):
    """Stands in for emitted functions while a derivative is traced."""

    def __init__(self, probes: type[Probing] | None = None) -> None:
        super().__init__()
        self.probes = Probing if probes is None else probes
        self.frames: list[_Frame] = []
        self.tallies: dict[Key, _Tally] = {}
        self.stored = self.forgotten = 0
        self.lost = 0.0  # seconds that the probes themselves took

    def probe(self, number: int) -> Probe:
        return self.probes(self, number)

    def trace(self) -> Trace:
        maps = tuple(probe.lines for _, _, probe in self.programs.values())
        return Trace(None, maps, dict(self.tallies), None, self.forgotten)

    def tally(self, key: Key) -> _Tally:
        """What is counted of a statement."""
        return self.tallies.setdefault(key, _Tally())

    def note(self, key: Key, frame: _Frame, loops: tuple[int, ...], values: Any, s: float) -> None:
        tally = self.tally(key)
        tally.count += 1
        tally.seconds += s
        iterations = frame.base + tuple(frame.counts.get(n, 0) for n in loops)
        step = Step(*key, iterations, values(), s, self.stored + self.forgotten)
        if self.stored >= _MOST_STEPS and tally.steps:
            tally.steps[-1] = step
            self.forgotten += 1
        else:
            tally.steps.append(step)
            self.stored += 1


class Probing(Probe):
    """Notes what each statement bound, and how long it took."""

    def __init__(self, tracer: Tracer, number: int) -> None:
        self.tracer, self.number = tracer, number

    def enter(self, function: str, values: dict[str, Any]) -> None:
        frames = self.tracer.frames
        if not frames:
            frames.append(_Frame((), ()))
            return
        top = frames[-1]
        inside = tuple(top.counts.get(n, 0) for n in self.loops.get(top.current, ()))
        frames.append(_Frame((*top.path, top.current), top.base + inside))

    def leave(self) -> None:
        self.tracer.frames.pop()

    def start(self, index: int) -> None:
        frame = self.tracer.frames[-1]
        frame.current = index
        frame.counts.pop(index, None)
        frame.starts.append((time.perf_counter(), self.tracer.lost))

    def _ended(self, index: int, values: Callable[[], dict[str, Summary]]) -> None:
        now = time.perf_counter()
        tracer, frame = self.tracer, self.tracer.frames[-1]
        begun, lost = frame.starts[-1] if frame.starts else (now, tracer.lost)
        frame.starts.clear()
        spent = max(0.0, now - begun - (tracer.lost - lost))
        frame.current = index
        key = self.number, frame.path, index
        tracer.note(key, frame, self.loops[index], values, spent)
        tracer.lost += time.perf_counter() - now

    def done(self, index: int, *values: Any) -> None:
        names = self.names.get(index, ())
        self._ended(index, lambda: dict(zip(names, map(summary_of, values), strict=False)))

    def returned(self, index: int, value: Any) -> Any:
        self.done(index, *(value if len(self.names.get(index, ())) > 1 else (value,)))
        return value

    def test(self, index: int, value: Any) -> Any:
        frame = self.tracer.frames[-1]
        truth = bool(value)
        if self.lines.statements[index].is_loop:
            first = index not in frame.counts
            frame.counts[index] = frame.counts.get(index, -1) + 1
            if first:
                self._ended(index, dict)
            self.tracer.tallies[self.number, frame.path, index].iterations += truth
            return truth
        self._ended(index, lambda: {"test": summary_of(truth)})
        return truth

    def each(self, index: int, items: Any) -> Iterator[Any]:
        frame = self.tracer.frames[-1]
        self._ended(index, dict)
        tally = self.tracer.tallies[self.number, frame.path, index]
        for number, item in enumerate(items):
            frame.counts[index] = number
            tally.iterations += 1
            yield item
