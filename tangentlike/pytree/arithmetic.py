"""Values of one structure added and compared, leaf by leaf. Integers and None are leaves here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from . import leaves

__all__ = ["add", "difference", "walked", "zipped"]


def add(first: Any, *others: Any) -> Any:
    """The sum of values of one structure, from left to right.

    >>> add((1.0, {"w": 2.0, "n": None}), (0.5, {"w": 3.0, "n": None}))
    (1.5, {'w': 5.0, 'n': None})
    """
    return functools.reduce(_added, others, first)


def _added(first: Any, second: Any) -> Any:
    return zipped(_plus, first, second)


def _plus(first: Any, second: Any) -> Any:
    if first is None and second is None:
        return None
    return first + second


def zipped(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """A value like the first, with `function` applied to the leaves of all. Numbers and arrays are
    leaves, integers too; so is None."""
    inside = None if leaves.is_array(first) else leaves.children(first)
    if inside is None:
        return function(first, *others)
    items = [[item for _, item in leaves.children(other) or ()] for other in others]
    if any(type(o) is not type(first) for o in others) or any(
        len(part) != len(inside) for part in items
    ):
        kinds = sorted({type(value).__name__ for value in (first, *others)})
        raise TangentlikeError(
            f"values of different structure ({', '.join(kinds)}) cannot be combined",
            hint="Return the same containers of the same lengths each time.",
        )
    parts = zip((item for _, item in inside), *items, strict=True)
    return leaves.rebuild(first, [zipped(function, *part) for part in parts])


def walked(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a value, integers too, with their paths."""
    inside = None if leaves.is_array(value) else leaves.children(value)
    if inside is None:
        yield path, value
    for step, item in inside or ():
        yield from walked(item, path + step)


def difference(before: Any, after: Any) -> str | None:
    """The path of the first leaf that is not the same twice, None where all are. Rounding may
    differ: from one machine to another, and where an array lies at another address.

    >>> difference({"w": 1.0, "n": 3}, {"w": 1.0 + 1e-15, "n": 4})
    "['n']"
    """
    for (path, a), (_, b) in zip(walked(before), walked(after), strict=True):
        if isinstance(a, (str, bytes, type(None))):
            same = bool(a == b)
        else:
            a, b = np.asarray(a), np.asarray(b)
            tolerance = 1e-8 if a.dtype.kind not in "fc" else float(np.sqrt(np.finfo(a.dtype).eps))
            scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
            same = a.shape == b.shape and np.allclose(
                a, b, rtol=tolerance, atol=tolerance * float(scale), equal_nan=True
            )
        if not same:
            return path
    return None
