"""A trace as a table of text, and as one of HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api.saved import in_columns
from ..codegen.print.text import colours, escaped, highlighted
from ..errors import TangentlikeError
from .linemap import Statement

if TYPE_CHECKING:
    from .tracing import Row, Trace


_HEADS = (
    *("line", "yours", "count", "ms", "name", "value", "norm", "min", "max", "NaN", "bytes"),
    "statement",
)
_LEFT = ("name", "value", "statement")


def _cells(row: Row) -> Iterator[tuple[str, ...]]:
    """The lines of a row: one for each name it binds, the first with the statement."""
    s = row.statement
    spent = "" if s.is_loop else f"{1e3 * row.seconds:.3f}"
    head = (str(s.line), str(s.place.line), f"{row.count:,}", spent)
    code = " ".join(s.text.split()).replace("( ", "(").replace(" )", ")")
    text = "    " * (row.depth + row.nesting) + code
    pairs: list[tuple[str, Summary | None]] = [*row.values.items()] or [("", None)]
    for number, (name, value) in enumerate(pairs):
        own = head if not number else ("",) * len(head)
        yield (*own, name, *_figures(value), text if not number else "")


def _figures(value: Summary | None) -> tuple[str, ...]:
    if value is None:
        return ("",) * 6
    form = value.form if value.kind == "array" or not value.text else value.text
    numbers = [value.norm, value.low, value.high]
    if value.shape == ():
        numbers = [None] * 3
    figures = ["" if n is None else format_number(n) for n in numbers]
    odd = value.nans + value.infs
    nan = f"{value.nans}" + (f"+{value.infs} inf" if value.infs else "") if odd else ""
    return form, *figures, nan, f"{value.bytes:,}" if value.bytes else ""


def _headline(trace: Trace) -> str:
    shown = "the last iteration" if trace.chosen is None else f"iteration {trace.chosen}"
    count = sum(tally.count for tally in trace.tallies.values())
    text = f"{count:,} statements in {1e3 * trace.seconds:.1f} ms; of loops {shown} is shown"
    if trace.forgotten:
        text += f" ({trace.forgotten:,} executions were counted and not stored)"
    return text


def text_of(trace: Trace) -> str:
    """The table in columns; a heading for each function that was called from outside."""
    cells: list[tuple[str, ...]] = [_HEADS]
    for row in trace.rows():
        cells += _cells(row)
    return f"{_headline(trace)}\n{in_columns(cells, left=[_HEADS.index(head) for head in _LEFT])}"


_STYLE = """
.tl-trace{border-collapse:collapse;font-size:12px}
.tl-trace th,.tl-trace td{padding:1px 8px;text-align:right;white-space:nowrap;border:0}
.tl-trace th{border-bottom:1px solid currentColor;font-weight:600}
.tl-trace .l{text-align:left}
.tl-trace td.l,.tl-trace code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.tl-trace pre{margin:0;padding:0;background:none;white-space:pre;font-size:12px;color:inherit}
.tl-trace .odd{background:#d33;color:#fff}
.tl-trace .adjoint td:first-child,.tl-trace .restore td:first-child{box-shadow:inset 3px 0 #c2620a}
.tl-trace .tangent td:first-child{box-shadow:inset 3px 0 #0a7fc2}
"""


def html_of(trace: Trace) -> str:
    """The table for a notebook: highlighted statements, what is not finite marked."""
    made = [f"<style>{_STYLE}{colours('.tl-trace')}</style>"]
    made.append(f"<p>{escaped(_headline(trace))}</p><div style='overflow:auto;max-height:40em'>")
    heads = "".join(f"<th{' class=l' if h in _LEFT else ''}>{h}</th>" for h in _HEADS)
    made.append(f"<table class=tl-trace><thead><tr>{heads}</tr></thead><tbody>")
    for row in trace.rows():
        for cells in _cells(row):
            made.append(f"<tr class={row.statement.role} title='{_title(row)}'>")
            for head, cell in zip(_HEADS, cells, strict=True):
                kind = "l" if head in _LEFT else ""
                kind += " odd" if head == "NaN" and cell else ""
                inner = escaped(cell)
                if head == "statement" and cell:
                    inner = f"<pre>{highlighted(cell)}</pre>"
                made.append(f"<td class='{kind}'>{inner}</td>")
            made.append("</tr>")
    return "".join(made) + "</tbody></table></div>"


def _title(row: Row) -> str:
    place = row.statement.place
    return escaped(f"{place.file}:{place.line}: {place.text}")


# --------------------------------------------------------------------------------------------------
# Norms along loops: which values explode or vanish, and how fast.


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
        if axes is None:
            axes = new_axes((7.0, 4.0), "`series` holds the numbers.")
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


def new_axes(size: tuple[float, float], without: str) -> Any:
    """The axes of a new figure of matplotlib's; `without` says what can be done where it lacks."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise TangentlikeError(
            "plot needs matplotlib, which is not installed",
            hint=f"pip install matplotlib; {without}",
        ) from None
    return plt.figure(figsize=size, layout="constrained").add_subplot()


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


# --------------------------------------------------------------------------------------------------
# What a reader wants to know of a value: its form, its size, its range, and how much is NaN.


_MOST_LEAVES = 10_000


@dataclass(frozen=True)
class Summary:
    """A value in short: `norm` is the Euclidean norm over all entries, `low` and `high` the
    smallest and the largest entry that is not NaN (None for complex numbers and for values
    without entries), `nans` and `infs` how many entries are so, `bytes` the memory it takes."""

    kind: str
    shape: tuple[int, ...] | None
    dtype: str
    norm: float | None
    low: float | None
    high: float | None
    nans: int
    infs: int
    bytes: int
    text: str

    @property
    def is_finite(self) -> bool:
        """Whether no entry is NaN or infinite."""
        return not self.nans and not self.infs

    @property
    def form(self) -> str:
        """`(4, 3) float64`, `float`, `tuple of 2`."""
        if self.shape is not None and self.kind == "array":
            return f"{self.shape} {self.dtype}"
        return self.kind

    def __str__(self) -> str:
        parts = [self.form]
        if self.kind != "array" and self.text:
            parts.append(self.text)
        if self.kind == "array" or self.norm is not None:
            parts += [f"{name} {format_number(value)}" for name, value in self._figures()]
        parts += [f"{count} {name}" for name, count in self._odd()]
        return ", ".join(parts)

    def _figures(self) -> Iterator[tuple[str, float]]:
        if self.kind in ("float", "int", "bool", "complex"):
            return
        for name, value in (("norm", self.norm), ("min", self.low), ("max", self.high)):
            if value is not None:
                yield name, value

    def _odd(self) -> Iterator[tuple[str, int]]:
        if self.nans:
            yield "NaN", self.nans
        if self.infs:
            yield "infinite", self.infs


def summary_of(value: Any) -> Summary:
    """The summary of any value.

    >>> print(summary_of(np.array([[3.0, -4.0]])))
    (1, 2) float64, norm 5, min -4, max 3
    >>> print(summary_of([1.0, np.zeros(3)]))
    list of 2, norm 1, min 0, max 1
    """
    if value is None or isinstance(value, str | bytes):
        return _plain(type(value).__name__ if value is not None else "None", value)
    if isinstance(value, bool | int | float | complex | np.generic):
        return _number(value)
    array = as_numpy(value)
    if array is not None:
        return _array(array)
    return _container(value)


def as_numpy(value: Any) -> np.ndarray[Any, Any] | None:
    """An array as NumPy's, also where another library holds it; None for what is not an array."""
    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return None
    try:
        return np.asarray(value.get() if hasattr(value, "get") else value)
    except Exception:  # (a library of whose arrays we know nothing)
        return None


def _plain(kind: str, value: Any) -> Summary:
    text = "" if value is None else repr(value)
    text = text if len(text) <= 40 else text[:37] + "..."
    return Summary(kind, None, "", None, None, None, 0, 0, 0, text)


def _number(value: Any) -> Summary:
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(number, bool | int | float | complex):
        return _plain(type(value).__name__, value)
    kind = type(number).__name__
    dtype = value.dtype.name if isinstance(value, np.generic) else kind
    nan = number != number
    inf = not nan and isinstance(number, float | complex) and abs(number) == math.inf
    try:
        norm = float(abs(number))
    except OverflowError:  # an integer beyond all floats
        norm = math.inf
    real = None if isinstance(number, complex) or nan or (norm == math.inf and not inf) else number
    low = None if real is None else float(real)
    size = value.nbytes if isinstance(value, np.generic) else 8
    text = str(number) if isinstance(number, bool | int) else format_number(number)
    return Summary(kind, (), dtype, norm, low, low, int(nan), int(inf), size, text)


def _array(array: np.ndarray[Any, Any]) -> Summary:
    norm = low = high = None
    nans = infs = 0
    kind = array.dtype.kind
    if kind in "fc" and array.size:
        finite = np.isfinite(array)
        if not finite.all():
            nans = int(np.isnan(array).sum())
            infs = int(array.size - finite.sum()) - nans
    if kind in "fcbiu" and array.size:
        norm = _norm(array)
    if kind in "fbiu" and array.size:
        seen = array if not nans else array[~np.isnan(array)]
        if seen.size:
            low, high = float(seen.min()), float(seen.max())
    text = "" if array.size != 1 or norm is None else str(array.ravel()[0])
    dtype = array.dtype.name
    return Summary("array", array.shape, dtype, norm, low, high, nans, infs, array.nbytes, text)


def _norm(array: np.ndarray[Any, Any]) -> float:
    with np.errstate(all="ignore"):
        flat = np.abs(np.asarray(array, dtype=complex if array.dtype.kind == "c" else float))
        top = float(flat.max())
        if not math.isfinite(top) or top == 0.0:
            return math.nan if np.isnan(flat).any() else top
        return top * float(np.sqrt(np.sum((flat / top) ** 2)))  # (squares may overflow)


def _container(value: Any) -> Summary:
    found = [summary_of(leaf) for leaf in leaves_of(value)]
    found = [s for s in found if s.norm is not None]
    norms = [s.norm for s in found if s.norm is not None]
    lows = [s.low for s in found if s.low is not None]
    highs = [s.high for s in found if s.high is not None]
    try:
        kind = f"{type(value).__name__} of {len(value)}"
    except TypeError:
        kind = type(value).__name__
    return Summary(
        kind,
        None,
        "",
        math.hypot(*norms) if norms else None,
        min(lows, default=None),
        max(highs, default=None),
        sum(s.nans for s in found),
        sum(s.infs for s in found),
        sum(s.bytes for s in found if s.kind == "array"),
        "",
    )


def leaves_of(value: Any, most: int = _MOST_LEAVES) -> Iterator[Any]:
    """The numbers and arrays in a value, each container once; at most so many."""
    stack, seen = [value], set()
    while stack and most:
        part = stack.pop()
        if isinstance(part, dict | list | tuple) or _is_object(part):
            if id(part) in seen:
                continue
            seen.add(id(part))
            stack += _items(part)[::-1][-most:]
        elif isinstance(part, float | complex | int | np.generic) or as_numpy(part) is not None:
            most -= 1
            yield part


def _is_object(part: Any) -> bool:
    return hasattr(part, "__dict__") and not callable(part) and not hasattr(part, "shape")


def _items(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return list(part.values())
    if isinstance(part, list | tuple):
        return list(part)
    return list(vars(part).values())


def format_number(value: Any) -> str:
    """Four digits, and the words of NumPy for what is not finite.

    >>> format_number(1234.5), format_number(1e-9), format_number(2), format_number(float("nan"))
    ('1234', '1e-09', '2', 'nan')
    """
    if isinstance(value, complex):
        return f"{value:.4g}"
    if isinstance(value, float) and value == int(value if math.isfinite(value) else 0.5):
        return f"{value:.6g}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
