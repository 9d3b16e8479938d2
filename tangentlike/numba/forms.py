"""How Numba is told what stands for a function, by the types of its operands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

KNOWN: set[Any] = set()  # the helpers of the runtime, and functions of ours, that Numba knows


def form(helper: Any) -> Callable[[Any], Any]:
    """A decorator: what chooses the form of a function from the types of its operands."""

    def tell(choose: Any) -> Any:
        @functools.wraps(choose)
        def chosen(*args: Any, **kwargs: Any) -> Any:
            return bare(choose(*args, **kwargs))

        if (helper.__module__ or "").startswith("tangentlike."):
            KNOWN.add(helper)
        overload(helper, strict=False)(bare(chosen))
        return choose

    return tell


def body(helper: Any) -> Callable[[Any], Any]:
    """A decorator: the form of a function for operands of all types."""

    def tell(body: Any) -> Any:
        @functools.wraps(body)
        def choose(*_: Any, **__: Any) -> Any:
            return body

        form(helper)(choose)
        return body

    return tell


def bare(fn: Any) -> Any:
    """A function without annotations: Numba compares those of a choice and of what it chooses."""
    for each in (fn, getattr(fn, "__wrapped__", None)):
        if each is not None:
            each.__annotations__ = {}
    return fn


def is_number(x: Any) -> bool:
    return isinstance(x, (types.Number, types.Boolean))


def is_array(x: Any) -> bool:
    return isinstance(x, types.Array)


def is_complex(x: Any) -> bool:
    return isinstance(getattr(x, "dtype", x), types.Complex)


def floating(x: Any) -> Any:
    """The dtype of the adjoint of an array or number of this type."""
    dtype = getattr(x, "dtype", x)
    inexact = isinstance(dtype, (types.Float, types.Complex))
    return np.dtype(str(dtype)) if inexact else np.dtype(float)


def is_none(option: Any) -> bool:
    """Whether an option is not given, or None."""
    value = option.value if isinstance(option, types.Omitted) else option
    return value is None or isinstance(value, types.NoneType)


def parts_of(key: Any) -> list[Any]:
    """The types of the parts of an index."""
    tuples: Any = types.BaseTuple
    return [*key] if isinstance(key, tuples) else [key]


def literal(option: Any) -> Any:
    """What the type of an option says of its value; None where only the run knows."""
    option = getattr(option, "value", option)
    tuples: Any = types.BaseTuple
    if isinstance(option, tuples):
        parts = tuple(map(literal, option))
        return None if None in parts else parts
    return getattr(option, "literal_value", option if isinstance(option, (int, tuple)) else None)
