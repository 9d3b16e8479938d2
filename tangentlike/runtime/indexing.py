"""Adjoints of reading entries: `take`, sorting, masks, diagonals.

Reading is linear, and each adjoint adds up what was read more than once. All of them read
only the shape of the primal array and have rules in `rules/indexing.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .broadcasting import unbroadcast
from .buffers import arange, asarray
from .shapes import reshape_like


def untake(g: Any, like: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """The adjoint of `np.take(like, indices, axis, mode)`.

    >>> untake(np.array([1.0, 2.0, 3.0]), np.zeros(2), [1, 0, 1])
    array([2., 4.])
    """
    shape = np.shape(like)
    count = np.size(like) if axis is None else shape[axis]
    positions = np.reshape(asarray(indices, g), (-1,))
    if mode == "clip":
        positions = np.clip(positions, 0, count - 1)
    elif mode == "wrap":
        positions = positions % count
    if axis is None:
        total = np.zeros_like(g, shape=(count,))
        np.add.at(total, positions, np.reshape(g, (-1,)))
        return reshape_like(total, like)
    axis = axis % len(shape)
    flat = np.reshape(g, shape[:axis] + (-1,) + shape[axis + 1 :])
    total = np.zeros_like(g, shape=(count, *shape[:axis], *shape[axis + 1 :]))
    np.add.at(total, positions, np.moveaxis(flat, axis, 0))
    return np.moveaxis(total, 0, axis)


def untake_along_axis(g: Any, like: Any, indices: Any, axis: int | None = -1) -> Any:
    """The adjoint of `np.take_along_axis(like, indices, axis)`.

    >>> untake_along_axis(np.array([1.0, 2.0]), np.zeros(3), np.array([2, 2]), 0)
    array([0., 0., 3.])
    """
    if axis is None:
        return untake(g, like, indices)
    shape = np.shape(like)
    axis = axis % len(shape)
    key = [
        np.reshape(arange(n, g), tuple(-1 if i == j else 1 for j in range(len(shape))))
        for i, n in enumerate(shape)
    ]
    # Along the other axes the indices may be broadcast against the array, or it against them.
    total = np.zeros_like(g, shape=tuple(shape))
    for i, n in enumerate(shape):
        if n == 1 and i != axis:
            key[i] = np.zeros_like(key[i])
    key[axis] = indices
    np.add.at(total, tuple(key), g)
    return total


def unselect(g: Any, like: Any, mask: Any, axis: int | None = None) -> Any:
    """The adjoint of `np.compress(mask, like, axis)` and of `np.extract(mask, like)`.

    >>> unselect(np.array([5.0]), np.zeros((2, 2)), np.array([False, True]))
    array([[0., 5.],
           [0., 0.]])
    """
    return untake(g, like, np.flatnonzero(mask), axis)


def undiagonal(g: Any, like: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The adjoint of `np.diagonal(like, offset, axis1, axis2)`: zeros with `g` on the diagonal.

    >>> undiagonal(np.array([1.0, 2.0]), np.zeros((2, 3)))
    array([[1., 0., 0.],
           [0., 2., 0.]])
    """
    dtype = np.result_type(g, np.float16) if not hasattr(g, "dtype") else g.dtype
    total = np.zeros_like(like, dtype=dtype)
    moved = np.moveaxis(total, (axis1, axis2), (-2, -1))
    rows, columns = moved.shape[-2:]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    places = arange(count, total)
    moved[..., places - min(offset, 0), places + max(offset, 0)] = g
    return total


def undiag(g: Any, v: Any, k: int = 0) -> Any:
    """The adjoint of `np.diag(v, k)`, in either direction."""
    if np.ndim(v) == 1:
        return np.diagonal(g, k).copy()
    return undiagonal(g, v, k)


def untrace(g: Any, like: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The adjoint of `np.trace(like, offset, axis1, axis2)`.

    >>> untrace(3.0, np.zeros((2, 2)))
    array([[3., 0.],
           [0., 3.]])
    """
    return undiagonal(np.expand_dims(g, -1), like, offset, axis1, axis2)


def masked_parts(g: Any, conditions: Sequence[Any], choices: Sequence[Any]) -> list[Any]:
    """The adjoints of the choices in `np.select(conditions, choices)`: `g` where each is taken.

    >>> masked_parts(np.ones(2), [np.array([True, False])], [np.zeros(2)])
    [array([1., 0.])]
    """
    parts, free = [], True
    for condition, choice in zip(conditions, choices, strict=True):
        parts.append(unbroadcast(np.where(condition & free, g, np.zeros_like(g)), choice))
        free = ~condition & free
    return parts


def remaining(conditions: Sequence[Any]) -> Any:
    """Where none of the conditions holds: where `np.select` takes its default.

    >>> remaining([np.array([True, False])])
    array([False,  True])
    """
    free = ~conditions[0]
    for condition in conditions[1:]:
        free = free & ~condition
    return free


def chosen_parts(g: Any, index: Any, choices: Sequence[Any], mode: str = "raise") -> list[Any]:
    """The adjoints of the choices in `np.choose(index, choices, mode=mode)`.

    >>> chosen_parts(np.ones(2), np.array([0, 1]), [np.zeros(2), np.zeros(2)])
    [array([1., 0.]), array([0., 1.])]
    """
    index = np.asarray(index)
    if mode == "clip":
        index = np.clip(index, 0, len(choices) - 1)
    elif mode == "wrap":
        index = index % len(choices)
    return [
        unbroadcast(np.where(index == place, g, np.zeros_like(g)), choice)
        for place, choice in enumerate(choices)
    ]


def partition_order(a: Any, y: Any, axis: int | None = -1) -> Any:
    """The index that takes `a` to `y`, a rearrangement of it along `axis`.

    Found from both sorted orders, since NumPy does not say which one `np.partition` leaves.

    >>> partition_order(np.array([3.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0]))
    array([1, 0, 2])
    """
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    back = np.argsort(np.argsort(y, axis=axis, kind="stable"), axis=axis)
    return np.take_along_axis(np.argsort(a, axis=axis, kind="stable"), back, axis)


def first_places(x: Any, axis: int | None = None, equal_nan: bool = True) -> Any:
    """Where each entry of `np.unique(x, axis=axis)` stands first (in the flattened array).

    >>> first_places(np.array([3.0, 1.0, 3.0]))
    array([1, 0])
    """
    return np.unique(x, return_index=True, axis=axis, equal_nan=equal_nan)[1]


def value_places(x: Any, values: Any) -> Any:
    """Where in the flattened array each of its distinct values stands first, in their order.

    >>> value_places(np.array([3.0, 1.0, 3.0]), np.array([3.0, 1.0]))
    array([0, 1])
    """
    places = np.empty(np.shape(values), int)
    places[np.argsort(values)] = np.unique(x, return_index=True, equal_nan=False)[1]
    return places


def running_places(x: Any, y: Any, axis: int = 0) -> Any:
    """Where the running maximum or minimum `y` of `x` was last reached, along `axis`.

    >>> running_places(np.array([2.0, 1.0, 3.0]), np.array([2.0, 2.0, 3.0]))
    array([0, 0, 2])
    """
    shape = [1] * np.ndim(x)
    shape[axis] = -1
    places = np.reshape(np.arange(np.shape(x)[axis]), shape)
    return np.maximum.accumulate(np.where(np.equal(x, y), places, 0), axis=axis)


def places_at(indices: Any, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """What `np.multiply.at(a, indices, b)` writes one after the other, for an array of a shape:
    the keys of the rows or, where more axes than the first are indexed, of the entries; the
    shape of all that is written, and its shape as a sequence of these.

    >>> keys, whole, pieces = places_at([2, 2], (3, 4))
    >>> keys, whole, pieces
    (array([2, 2]), (2, 4), (2, 4))
    >>> places_at(([0, 1], 3), (3, 4))
    ([(0, 3), (1, 3)], (2,), (2,))
    """
    if isinstance(indices, tuple) or (_is_mask(indices) and np.ndim(indices) > 1):
        where = np.arange(math.prod(shape)).reshape(shape)[indices]
        axes = np.unravel_index(np.ravel(where), shape)
        keys = list(zip(*(axis.tolist() for axis in axes), strict=True))
        return keys, where.shape, (where.size,)
    where = np.asarray(np.arange(shape[0])[indices])
    return where.ravel(), where.shape + shape[1:], (where.size, *shape[1:])


def _is_mask(key: Any) -> bool:
    dtype = getattr(key, "dtype", None)
    return dtype is not None and dtype.kind == "b"


# --------------------------------------------------------------------------------------------------
# Entries along one axis or in rows: positions to write, and adjoints of sums over segments.


def along_axis(indices: Any, shape: tuple[int, ...], axis: int = -1) -> tuple[Any, ...]:
    """The key under which `np.put_along_axis(a, indices, v, axis)` writes; `shape` is that of a.

    >>> a = np.zeros((2, 3))
    >>> a[along_axis(np.array([[0], [2]]), a.shape, 1)] = 1.0
    >>> a
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    grids: list[Any] = list(np.indices(shape, sparse=True))
    grids[axis] = indices
    return tuple(grids)


def flat_places(key: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The key under which `a.flat[key]` lies in `a`; `shape` is that of a.

    >>> a = np.zeros((2, 3))
    >>> a[flat_places(slice(None, None, 4), a.shape)] = 1.0
    >>> a
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    size = math.prod(shape)
    if isinstance(key, slice):
        places = np.arange(*key.indices(size))
    else:
        places = np.atleast_1d(key)
        places = np.flatnonzero(places) if places.dtype == bool else places % max(size, 1)
    if not shape:  # (an array of rank 0 has its one entry, or none, under a mask)
        return (np.array(places.size > 0),)
    return np.unravel_index(places, shape)


def put_places(places: Any, shape: tuple[int, ...], mode: str = "raise") -> tuple[Any, ...]:
    """The key under which `np.put(a, places, v, mode)` writes; `shape` is that of a.

    >>> a = np.zeros((2, 3))
    >>> a[put_places([1, -1, 8], a.shape, "wrap")] = [1.0, 2.0, 3.0]
    >>> a
    array([[0., 1., 3.],
           [0., 0., 2.]])
    """
    size, flat = math.prod(shape), np.ravel(places)
    if mode == "clip":
        flat = np.clip(flat, 0, size - 1)
    elif mode == "wrap":
        flat = flat % size
    else:
        flat = np.where(flat < 0, flat + size, flat)
    return np.unravel_index(flat, shape)


def diagonal_places(shape: tuple[int, ...], wrap: bool) -> tuple[Any, ...]:
    """The key under which `np.fill_diagonal(a, v, wrap)` writes; `shape` is that of a.

    >>> a = np.zeros((5, 2))
    >>> a[diagonal_places(a.shape, True)] = 1.0
    >>> a[:, 0], a[:, 1]
    (array([1., 0., 0., 1., 0.]), array([0., 1., 0., 0., 1.]))
    """
    if len(shape) != 2 or not wrap:
        return np.diag_indices(min(shape), len(shape))
    return np.unravel_index(np.arange(0, math.prod(shape), shape[1] + 1), shape)


def flat_view(a: Any) -> Any:
    """The entries of `a` in rows, as a vector that sees what is written into `a`.

    >>> flat_view(np.zeros((2, 3))).shape
    (6,)
    """
    vector = a.ravel()
    if not isinstance(a, np.generic) and not np.shares_memory(vector, a) and a.size > 0:
        raise TypeError(
            "`flat` of an array whose entries are not one after the other in memory is read "
            "while arrays are written: read it at once, `a.flat[k]`, or make a copy first"
        )
    return vector


def histogram_places(samples: Any, edges: Any) -> Any:
    """The bin of each sample among all bins of `np.histogramdd` in rows; one more for outside.

    >>> histogram_places([np.array([0.5, 1.0, 3.0])], [np.array([0.0, 1.0, 2.0])])
    array([0, 1, 2])
    """
    inside: Any = True
    places: Any = 0
    for sample, limits in zip(samples, edges, strict=True):
        count = len(limits) - 1
        found = np.searchsorted(limits, sample, side="right") - 1
        found = np.where(sample == limits[-1], count - 1, found)  # (the last bin has both ends)
        inside = inside & (found >= 0) & (found < count)
        places = places * count + found
    total = math.prod(len(limits) - 1 for limits in edges)
    return np.where(inside, places, total)


def weight_in_bins(weights: Any, a: Any, edges: Any) -> Any:
    """`np.histogram(a, edges, weights=weights)[0]`, as a function of the weights."""
    return np.histogram(a, edges, weights=weights)[0]


def unhistogram(g: Any, a: Any, edges: Any) -> Any:
    """The adjoint of the weights in `np.histogram(a, edges, weights=...)`.

    >>> unhistogram(np.array([1.0, 2.0]), np.array([0.5, 1.5, 9.0]), np.array([0.0, 1.0, 2.0]))
    array([1., 2., 0.])
    """
    return np.append(g, 0.0)[histogram_places([a], [edges])]


def unreduceat(g: Any, like: Any, indices: Any, axis: int = 0) -> Any:
    """The adjoint of `np.add.reduceat(x, indices, axis)`: each sum to what it was made of.

    >>> unreduceat(np.array([1.0, 2.0]), np.zeros(4), [0, 3])
    array([1., 1., 1., 2.])
    """
    result = np.zeros_like(like)
    moved, sums = np.moveaxis(result, axis, 0), np.moveaxis(g, axis, 0)
    ends = [*indices[1:], len(moved)]
    for first, end, total in zip(indices, ends, sums, strict=True):
        moved[first : max(end, first + 1)] += total
    return result
