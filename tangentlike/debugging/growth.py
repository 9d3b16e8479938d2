"""Norms along loops: which values explode or vanish, and how fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import TangentlikeError
from .linemap import Statement

if TYPE_CHECKING:
    from .tracing import Trace


@dataclass(frozen=True)
class Series:
    """The norms of one name along a loop, in the order in which its statement ran."""

    name: str
    statement: Statement
    loop: str
    norms: tuple[float, ...]

    @property
    def factor(self) -> float:
        """By how much the norm grows in an iteration, in the geometric mean; NaN if it is not
        finite or 0 at an end."""
        first = next((n for n in self.norms if n > 0.0), math.nan)
        start = self.norms.index(first) if first in self.norms else 0
        steps = len(self.norms) - 1 - start
        last = self.norms[-1]
        if not steps or not math.isfinite(last) or last <= 0.0:
            return math.nan
        return float((last / first) ** (1.0 / steps))

    def __str__(self) -> str:
        ends = f"{self.norms[0]:.3g} -> {self.norms[-1]:.3g}"
        return (
            f"{self.name} (line {self.statement.line}, {self.statement.role}): norm {ends} in "
            f"{len(self.norms)} iterations, times {self.factor:.3g} in each"
        )


@dataclass(frozen=True)
class Growth:
    """The series of a trace, the fastest growing first; prints them, `plot` draws them."""

    series: tuple[Series, ...] = field(default=())

    def __str__(self) -> str:
        if not self.series:
            return "no loop ran more than once"
        return "\n".join(map(str, self.series))

    def plot(self, names: Sequence[str] | None = None, axes: Any = None) -> Any:
        """Norm against iteration, on a logarithmic axis; gives matplotlib's axes.

        `names` chooses; by default the six that change most. Adjoints are drawn dashed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise TangentlikeError(
                "plot needs matplotlib, which is not installed",
                hint="pip install matplotlib; `series` holds the numbers.",
            ) from None
        if axes is None:
            axes = plt.figure(figsize=(7.0, 4.0), layout="constrained").add_subplot()
        chosen = [s for s in self.series if names is None or s.name in names]
        if names is None:
            chosen = sorted(chosen, key=_change, reverse=True)[:6]
        for s in chosen:
            style = "-" if s.statement.role == "primal" else "--"
            axes.plot(s.norms, style, label=f"{s.name} (line {s.statement.line})")
        axes.set(xlabel="iteration, in the order of execution", ylabel="norm", yscale="log")
        axes.grid(alpha=0.3)
        if chosen:
            axes.legend(frameon=False, fontsize="small")
        return axes


def _change(series: Series) -> float:
    factor = series.factor
    return math.inf if math.isnan(factor) else abs(math.log(factor)) if factor > 0 else 0.0


def growth_of(trace: Trace) -> Growth:
    """The norms of a trace along its loops."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for step in trace.steps:
        lines = trace.maps[step.program]
        loops = lines.loops(lines.statements[step.index])
        if not loops and not step.iterations:
            continue
        for name, value in step.values.items():
            if value.norm is not None and value.kind in ("array", "float"):
                found.setdefault((step.program, step.path, step.index, name), []).append(value.norm)
    series = []
    for (program, _, index, name), norms in found.items():
        lines = trace.maps[program]
        statement = lines.statements[index]
        loops = lines.loops(statement)
        loop = loops[-1].text if loops else "a loop of the caller"
        if len(norms) > 1 and any(norms):
            series.append(Series(name, statement, loop, tuple(norms)))
    series.sort(key=lambda s: -s.factor if not math.isnan(s.factor) else -math.inf)
    return Growth(tuple(series))
