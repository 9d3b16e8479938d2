"""Where the time and the memory of a derivative go, by the lines of the function."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..api.saved import in_columns
from ..dispatch.blame import watching
from ..errors import Place
from .linemap import derivation_behind
from .tracing import Key, Probing, Tracer

_PRIMAL = ("primal", "save")
_WIDTH = 60  # of the user's line in the table


@dataclass
class Line:
    """A line of the user's: milliseconds of its own statements and of those of its derivative
    (adjoint or tangent), the most bytes that one execution of each took, and how often it ran."""

    place: Place
    primal_ms: float = 0.0
    adjoint_ms: float = 0.0
    primal_bytes: int = 0
    adjoint_bytes: int = 0
    times: int = 0

    @property
    def ms(self) -> float:
        """Both together."""
        return self.primal_ms + self.adjoint_ms


@dataclass(frozen=True)
class Profile:
    """The lines of a function and of its helpers, in order; prints as a table."""

    lines: tuple[Line, ...]
    result: Any = field(repr=False)

    @property
    def primal_ms(self) -> float:
        """Milliseconds of the function itself, with what it saves for its derivative."""
        return sum(line.primal_ms for line in self.lines)

    @property
    def adjoint_ms(self) -> float:
        """Milliseconds of the adjoint (tangent) statements."""
        return sum(line.adjoint_ms for line in self.lines)

    def slowest(self) -> tuple[Line, ...]:
        """The lines, those that take longest first."""
        return tuple(sorted(self.lines, key=lambda line: -line.ms))

    def __str__(self) -> str:
        total = (self.primal_ms + self.adjoint_ms) or 1.0
        heads = ("line", "primal ms", "adjoint ms", "share", "primal bytes", "adjoint bytes")
        rows: list[tuple[str, ...]] = [(*heads, "times", "")]
        for line in self.lines:
            numbers = (f"{line.primal_ms:.3f}", f"{line.adjoint_ms:.3f}", f"{line.ms / total:.0%}")
            memory = (f"{line.primal_bytes:,}", f"{line.adjoint_bytes:,}", f"{line.times:,}")
            rows.append((str(line.place.line), *numbers, *memory, line.place.text[:_WIDTH]))
        rows.append(("all", f"{self.primal_ms:.3f}", f"{self.adjoint_ms:.3f}", *[""] * 5))
        return in_columns(rows, left=(7,))


def profile(df: Callable[..., Any], *args: Any, **kwargs: Any) -> Profile:
    """Run a derivative and say what each line of the function costs, primal and adjoint.

    It runs three times: to be made and warm, for the milliseconds, for the bytes.

    Parameters
    ----------
    df : what `tl.grad`, `tl.value_and_grad` or another operator returned.
    *args, **kwargs : what it is called with.

    Returns
    -------
    Profile
        prints as a table with a row for each line of the function and of its helpers: milliseconds
        of the line itself (a call without what the called function's own lines took) and of its
        adjoint, the memory that one execution takes at most, and how often the line ran.

    Raises
    ------
    TangentlikeError
        if `df` is not a derivative. What the derivative itself raises passes through.

    Examples
    --------
    >>> import numpy as np
    >>> import tangentlike as tl
    >>> def f(x):
    ...     y = x * x
    ...     return np.sum(y * np.sin(y))
    >>> found = tl.profile(tl.grad(f), np.ones(1000))
    >>> [line.place.line for line in found.lines][-2:], found.lines[-1].adjoint_bytes >= 8000
    ([2, 3], True)
    """
    derivation_behind(df)
    df(*args, **kwargs)
    timed = _Costs()
    with watching(timed):
        result = df(*args, **kwargs)
    sized = _Costs(sizes=True)
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        with watching(sized):
            df(*args, **kwargs)
    finally:
        if not tracing:
            tracemalloc.stop()
    return Profile(_by_line(timed, sized), result)


class _Costs(Tracer):
    """Notes how long statements took, or how much memory, and none of their values."""

    def __init__(self, sizes: bool = False) -> None:
        super().__init__(_Sizes if sizes else Probing)
        self.bytes: dict[Key, int] = {}

    def note(self, key: Key, frame: Any, loops: tuple[int, ...], values: Any, s: float) -> None:
        tally = self.tally(key)
        tally.count += 1
        tally.seconds += s


class _Sizes(Probing):
    """Notes the most memory that a statement took, on top of what there was before."""

    def start(self, index: int) -> None:
        super().start(index)
        tracemalloc.reset_peak()
        self.held = tracemalloc.get_traced_memory()[0]

    def _ended(self, index: int, values: Any) -> None:
        taken = tracemalloc.get_traced_memory()[1] - getattr(self, "held", 0)
        super()._ended(index, values)
        costs = self.tracer
        assert isinstance(costs, _Costs)
        key = self.number, costs.frames[-1].path, index
        costs.bytes[key] = max(costs.bytes.get(key, 0), taken)


def _by_line(timed: _Costs, sized: _Costs) -> tuple[Line, ...]:
    lines: dict[tuple[str, int], Line] = {}
    maps = timed.trace().maps
    called: dict[tuple[int, ...], float] = {}  # how long the statements of called functions took
    for (_, path, _), tally in timed.tallies.items():
        called[path] = called.get(path, 0.0) + tally.seconds
    for key, tally in timed.tallies.items():
        number, path, index = key
        statement = maps[number].statements[index]
        place = statement.place
        line = lines.setdefault((place.file, place.line), Line(place))
        ms = 1e3 * max(0.0, tally.seconds - called.get((*path, index), 0.0))
        calls_none = (*path, index) not in called
        line.times = max(line.times, tally.iterations or tally.count)
        size = sized.bytes.get(key, 0) if calls_none else 0
        if statement.role in _PRIMAL:
            line.primal_ms += ms
            line.primal_bytes = max(line.primal_bytes, size)
        else:
            line.adjoint_ms += ms
            line.adjoint_bytes = max(line.adjoint_bytes, size)
    return tuple(lines[key] for key in sorted(lines))
