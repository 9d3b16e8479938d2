"""Adjoints become gradients, which look like what they are taken with respect to.

The sweep works on numbers, arrays, lists and dicts; here its results get the containers, types
and dtypes of the arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import InternalError, TangentlikeError
from . import leaves
from .containers import is_registered
from .layouts import parts_of, registered_parts
from .leaves import (
    OF_ANY_FORM,
    dtype_class,
    filled,
    is_array,
    is_flat,
    is_number,
    is_zero,
    items_of,
    rebuild,
    zeros,
)

_FLOAT = frozenset((float,))


def like(value: Any, bar: Any) -> Any:
    """The adjoint `bar` of `value` in the structure, types and dtypes of `value`.

    >>> like((1.0, 2), [np.float64(0.5), 0.0])
    (0.5, None)
    """
    if _same_form(value, bar):
        return bar
    if (type(value) is float and type(bar) is float) or value is OF_ANY_FORM:
        return bar
    if is_array(value):
        return _array_like(value, bar)
    if is_number(value):
        return _number_like(value, bar)
    if is_flat(value, _FLOAT) and is_flat(bar, _FLOAT) and len(value) == len(bar):
        return type(value)(bar)
    inside = items_of(value)
    if inside is None:
        return None
    found = registered_parts(value, bar) if is_registered(value) else parts_of(value, bar)
    if len(found) != len(inside):
        form = f"{type(value).__name__} of {len(inside)} items"
        raise InternalError("reverse", f"an adjoint of {len(found)} items for a {form}", _RULES)
    parts = zip(inside, found, strict=True)
    return rebuild(value, [like(item, part) for item, part in parts])


_RULES = "If it uses a rule of yours (@tl.rule), look at that with tl.check_rule; otherwise "


def _same_form(value: Any, bar: Any) -> bool:
    """Whether the adjoint is right as it is, as nearly all are."""
    if type(value) is not np.ndarray or type(bar) is not np.ndarray:
        return False
    dtype = value.dtype
    same = (bar.dtype is dtype or bar.dtype == dtype) and bar.shape == value.shape
    return same and dtype.kind in "fc"


def _array_like(value: Any, bar: Any) -> Any:
    if dtype_class(value) not in "fc":
        return None
    if bar is None or is_zero(bar):
        return zeros(value)
    if tuple(getattr(bar, "shape", ())) != tuple(value.shape):
        raise InternalError(
            "reverse",
            f"an adjoint of shape {tuple(getattr(bar, 'shape', ()))} for a value of shape "
            f"{tuple(value.shape)}",
            _RULES,
        )
    if getattr(bar, "dtype", None) != value.dtype:
        if dtype_class(value) == "f" and dtype_class(bar) == "c":
            bar = bar.real
        bar = bar.astype(value.dtype) if hasattr(bar, "astype") else filled(value, bar)
    return bar if is_array(bar) else filled(value, bar)


def _number_like(value: Any, bar: Any) -> Any:
    if bar is None:
        bar = 0.0
    if getattr(bar, "shape", ()) != ():
        raise InternalError("reverse", f"an adjoint of shape {bar.shape} for a number", _RULES)
    if hasattr(bar, "item") and not isinstance(value, np.generic):
        bar = bar.item()
    if isinstance(bar, (complex, np.complexfloating)) and not isinstance(
        value, (complex, np.complexfloating)
    ):
        bar = bar.real
    return type(value)(bar)


# --------------------------------------------------------------------------------------------------
# Values of one structure added and compared, leaf by leaf. Integers and None are leaves here.


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
