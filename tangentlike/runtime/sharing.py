"""Tangents and adjoints share memory exactly where their values do."""

from __future__ import annotations

import sys
from array import array as typed_array
from typing import Any, NoReturn

import numpy as np

_NUMBERS = (float, int, complex, np.generic)  # never written in place


def mirrored_view(y_dot: Any, x_dot: Any, y: Any, x: Any) -> Any:
    """`y_dot`, made from `x_dot` as `y` was from `x`, once it is sure that both are views or
    both are copies; a copy where only `y` is one.

    `ravel` and `reshape` decide that by the order of the entries in memory; a tangent that is
    laid out differently from its value would then miss later writes, or see too many.
    """
    if y is x if y_dot is x_dot else isinstance(y, _NUMBERS):  # (the usual cases first)
        return y_dot
    if isinstance(x, typed_array) and isinstance(y, np.ndarray) and _shares(y, np.asarray(x)):
        refuse_memory("an array over the memory of an array.array")
    if isinstance(x, (list, tuple)):  # (`min` gives an item of it, whose tangent is one of `x_dot`)
        return next((dot for item, dot in zip(x, x_dot, strict=False) if item is y), y_dot)
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


def typed_owner(owner: Any) -> Any:
    """The `array.array` that an array without an owner of its own lies in; None for all others."""
    memory = getattr(owner, "base", None)
    memory = memory.obj if isinstance(memory, memoryview) else memory
    return memory if isinstance(memory, typed_array) else None


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


# --------------------------------------------------------------------------------------------------
# Views by their strides. One of an array may read memory around it, which is another name's.


def as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """`np.lib.stride_tricks.as_strided`, of an array on any device."""
    module = np if isinstance(x, np.ndarray) else sys.modules[type(x).__module__.partition(".")[0]]
    return module.lib.stride_tricks.as_strided(x, shape, strides)


def strided(g: Any, like: Any, shape: Any = None, strides: Any = None) -> Any:
    """What `as_strided(like, shape, strides)` reads, of `g` in the place of `like`: the same view
    where both are laid out alike.

    >>> strided(np.arange(4.0), np.zeros(4), (3, 2), (8, 8))[2]
    array([2., 3.])
    """
    if _surroundings(g) == _surroundings(like):
        return as_strided(g, shape, strides)
    return np.ravel(g)[strided_places(like, shape, strides)]


def unstrided(g: Any, like: Any, shape: Any = None, strides: Any = None) -> Any:
    """The adjoint of `as_strided(like, shape, strides)`: each entry sums over where it is read.

    >>> unstrided(np.ones((3, 2)), np.zeros(4), (3, 2), (8, 8))
    array([1., 2., 2., 1.])
    """
    total = np.zeros_like(g, shape=(like.size,))
    if np.any(g):  # (by identity there is nothing left: the memory that is read is its adjoint's)
        np.add.at(total, strided_places(like, shape, strides).ravel(), np.ravel(g))
    return np.reshape(total, np.shape(like))


def strided_places(x: Any, shape: Any, strides: Any) -> Any:
    """For each entry of `as_strided(x, shape, strides)`, where it is in `x.ravel()`."""
    own = _offsets(x.shape, x.strides).ravel()
    wanted = _offsets(
        x.shape if shape is None else shape, x.strides if strides is None else strides
    )
    order = np.argsort(own, kind="stable")
    at = order[np.minimum(np.searchsorted(own, wanted, sorter=order), own.size - 1)]
    if not np.array_equal(own[at], wanted):
        raise ValueError(
            "as_strided reads memory around the array that it is given: differentiate in forward "
            "mode, or give it the whole array that the memory is of"
        )
    return np.asarray(at, like=x)


def _surroundings(x: Any) -> tuple[Any, ...]:
    """How an array is laid out, and how much memory its owner has before and after its start."""
    low, high = memory_extent(memory_owner(x))
    return x.shape, x.strides, x.itemsize, address(x) - low, high - address(x)


def _offsets(shape: Any, strides: Any) -> Any:
    """How many bytes after the first entry of an array each of its entries lies."""
    counts, steps = np.atleast_1d(shape), np.atleast_1d(strides)
    total = np.zeros(tuple(counts), dtype=np.int64)
    for axis, (count, step) in enumerate(zip(counts, steps, strict=True)):
        along = np.arange(count) * step
        total += along.reshape([-1 if k == axis else 1 for k in range(total.ndim)])
    return total


REFUSALS = (mirrored_view, strided_places)  # what raises where sharing is not followed
