"""What a reader wants to know of a value: its form, its size, its range, and how much is NaN."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

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
