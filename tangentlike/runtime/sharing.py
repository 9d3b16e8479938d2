"""Tangents and adjoints share memory exactly where their values do.

>>> grid, shared = np.zeros((2, 2)), SharedAdjoints()
>>> adjoint_of(shared, grid[1])[...] += 3.0
>>> adjoint_of(shared, grid.T)
array([[0., 3.],
       [0., 3.]])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["SharedAdjoints", "adjoint_of", "mirrored_view", "take_adjoint"]


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


class SharedAdjoints:
    """Adjoints of arrays of which only the run can say how they share memory.

    Each piece of memory that such arrays are views of has one adjoint buffer, laid out as it is.
    """

    def __init__(self) -> None:
        # By the identity of the array that owns the memory, which is kept alive with it.
        self.buffers: dict[int, tuple[np.ndarray, int, np.ndarray]] = {}


def adjoint_of(shared: SharedAdjoints, x: Any) -> Any:
    """The adjoint of `x`, to be read and written in place: where `x` is a view of an array, this
    is the same view of that array's adjoint.
    """
    _owner(x)  # (it refuses what is not an array of NumPy's)
    if any(step == 0 and n > 1 for step, n in zip(x.strides, x.shape, strict=True)):
        _refuse_repeated(x)
    return same_view(shared, x)


def same_view(shared: SharedAdjoints, x: Any) -> Any:
    """The view of the buffer of zeros of its owner that `x` is of its owner."""
    owner = _owner(x)
    if id(owner) not in shared.buffers:
        low, high = memory_extent(owner)
        shared.buffers[id(owner)] = owner, low, np.zeros(high - low, np.uint8)
    _, start, buffer = shared.buffers[id(owner)]
    if not x.size:
        return np.zeros_like(x)
    # (Outside of the owner's memory NumPy refuses to make the array.)
    return np.ndarray(x.shape, x.dtype, buffer, _address(x) - start, x.strides)


def take_adjoint(shared: SharedAdjoints, x: Any, others: Iterable[Any] = ()) -> Any:
    """The adjoint of `x`, reversing the statement that made it of `others`, and forget it.

    Zeros where `x` is a view of one of the others: what was added to it was added to theirs.
    """
    owner = _owner(x)
    if any(owner is _owner(other) for other in others):
        return np.zeros_like(x)
    adjoint = adjoint_of(shared, x).copy(order="K")
    shared.buffers.pop(id(owner), None)
    return adjoint


def _refuse_repeated(x: np.ndarray) -> None:
    raise ValueError(
        f"arrays that may share memory are written in place here, and one of shape {x.shape} holds "
        "the same entries several times, as np.broadcast_to gives: copy it"
    )


def _owner(x: Any) -> np.ndarray:
    """The array at the bottom of a view."""
    if type(x) is not np.ndarray:
        raise TypeError(
            "arrays that may share memory are written in place here, and one of them is a "
            f"{type(x).__name__}: use NumPy arrays, for which this is tracked"
        )
    return memory_owner(x)


def memory_owner(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `x`."""
    while True:
        base = x.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # (of what `as_strided` puts in between)
        if not isinstance(base, np.ndarray):
            return x
        x = base


def _address(x: np.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


def memory_extent(x: np.ndarray) -> tuple[int, int]:
    """The addresses of the first byte of an array and of the one after its last."""
    if not x.size:
        return _address(x), _address(x)
    steps = [stride * (n - 1) for stride, n in zip(x.strides, x.shape, strict=True)]
    low = _address(x) + sum(step for step in steps if step < 0)
    return low, _address(x) + sum(step for step in steps if step > 0) + x.itemsize


REFUSALS = (mirrored_view, _owner, _refuse_repeated)  # what raises where sharing is not followed
