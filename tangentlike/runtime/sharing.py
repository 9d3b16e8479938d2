"""Tangents and adjoints share memory exactly where their values do."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import numpy as np

_NUMBERS = (float, int, complex, np.generic)  # nobody writes them in place


def mirrored_view(y_dot: Any, x_dot: Any, y: Any, x: Any) -> Any:
    """`y_dot`, made from `x_dot` as `y` was from `x`, once it is sure that both are views or
    both are copies; a copy where only `y` is one.

    `ravel` and `reshape` decide that by the order of the entries in memory; a tangent that is
    laid out differently from its value would then miss later writes, or see too many.
    """
    if y is x if y_dot is x_dot else isinstance(y, _NUMBERS):  # (the usual cases first)
        return y_dot
    arrays = all(hasattr(a, "shape") and hasattr(a, "dtype") for a in (y_dot, x_dot, y, x))
    if arrays and _shares(y, x) != _shares(y_dot, x_dot):
        if not _shares(y, x):
            return _laid_out_like(y_dot, y)
        raise ValueError(
            "a tangent is laid out in memory differently from its value, whose view is written "
            "in place: pass tangents with the memory order of their arguments"
        )
    return y_dot


def _laid_out_like(y_dot: Any, y: Any) -> Any:
    copy = np.empty_like(y, dtype=y_dot.dtype)
    copy[...] = y_dot
    return copy


def _shares(a: Any, b: Any) -> bool:
    return bool(np.may_share_memory(a, b))


# By the identity of the array that owns some memory, which is kept alive: where that memory begins,
# and as many bytes of zeros.
Buffers = dict[int, tuple[Any, int, Any]]


def same_view(buffers: Buffers, x: Any) -> Any:
    """The view of the buffer of its owner that `x` is of its owner."""
    owner = memory_owner(x)
    if id(owner) not in buffers:
        low, high = memory_extent(owner)
        buffers[id(owner)] = owner, low, bytes_like(x, high - low)
    _, start, buffer = buffers[id(owner)]
    if not x.size:
        return np.zeros_like(x)
    return view_like(x, buffer, address(x) - start)


def bytes_like(x: Any, count: int) -> Any:
    """As many bytes of zeros where the array `x` is: on its device."""
    if isinstance(x, np.ndarray):
        return np.zeros(count, np.uint8)
    return np.zeros_like(x, dtype=np.uint8, shape=(count,))


def view_like(x: Any, buffer: Any, start: int) -> Any:
    """The array over some bytes that begins there, of the dtype, shape and strides of `x`."""
    if isinstance(x, np.ndarray):
        # (Outside of the owner's memory NumPy refuses to make the array.)
        return np.ndarray(x.shape, x.dtype, buffer, start, x.strides)
    first = buffer[start : start + x.itemsize].view(x.dtype)
    ask = getattr(x, "__array_namespace__", None)
    module = sys.modules[type(x).__module__.partition(".")[0]] if ask is None else ask()
    return module.lib.stride_tricks.as_strided(first, x.shape, x.strides)


def says_where(x: Any) -> bool:
    """Whether an array says where in memory it is: NumPy's and CuPy's do."""
    return isinstance(x, np.ndarray) or hasattr(getattr(x, "data", None), "mem")


def memory_owner(x: Any) -> Any:
    """What owns the memory of `x`: an array, or for CuPy's arrays the memory that was allocated."""
    if not isinstance(x, np.ndarray):
        return x.data.mem if says_where(x) else refuse_memory(f"a {type(x).__name__}")
    while True:
        base = x.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # (of what `as_strided` puts in between)
        if not isinstance(base, np.ndarray):
            return x
        x = base


def address(x: Any) -> int:
    """Where the first entry of an array lies in memory."""
    if isinstance(x, np.ndarray):
        return int(x.__array_interface__["data"][0])
    return int(x.data.ptr)


def memory_extent(x: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array, or of its owner, and of the one after the
    last."""
    if not hasattr(x, "strides"):
        return x.ptr, x.ptr + x.size
    if not x.size:
        return address(x), address(x)
    steps = [stride * (n - 1) for stride, n in zip(x.strides, x.shape, strict=True)]
    low = address(x) + sum(step for step in steps if step < 0)
    return low, address(x) + sum(step for step in steps if step > 0) + x.itemsize


def refuse_memory(what: str) -> NoReturn:
    """Refuse what has no memory of numbers of its own."""
    raise TypeError(
        f"the adjoint of {what} is not found by its memory: use arrays of NumPy or CuPy, for which "
        "this is tracked"
    )


REFUSALS = (mirrored_view,)  # what raises where sharing is not followed
