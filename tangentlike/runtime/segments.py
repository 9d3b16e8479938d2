"""Entries along one axis or in rows: positions to write, and adjoints of sums over segments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


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
    if not np.shares_memory(vector, a) and a.size > 0:
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
