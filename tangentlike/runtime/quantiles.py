"""Quantiles as weighted sums: weights of the entries, and their slopes by the level."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .making import asarray


def quantile_weights(
    x: Any, q: Any, axis: Any = None, method: str = "linear", skip_nan: bool = False
) -> Any:
    """The weight of each entry of `x` in its quantiles, of shape `q.shape + x.shape`.

    A quantile is a mean of two neighbouring order statistics.

    >>> quantile_weights(np.array([3.0, 1.0, 2.0, 4.0]), 0.5)
    array([0.5, 0. , 0.5, 0. ])
    """
    return _by_entry(x, q, axis, method, skip_nan, slopes=False)


def quantile_slopes(
    x: Any, q: Any, axis: Any = None, method: str = "linear", skip_nan: bool = False
) -> Any:
    """The derivatives of `quantile_weights` by the level `q`.

    >>> quantile_slopes(np.array([3.0, 1.0, 2.0, 4.0]), 0.5)
    array([ 3.,  0., -3.,  0.])
    """
    return _by_entry(x, q, axis, method, skip_nan, slopes=True)


def _by_entry(x: Any, q: Any, axis: Any, method: str, skip_nan: bool, slopes: bool) -> Any:
    shape, rank = np.shape(x), np.ndim(x)
    if axis is None:
        axes = tuple(range(rank))
    else:
        axes = tuple(i % rank for i in ((axis,) if np.ndim(axis) == 0 else axis))
    order = tuple(i for i in range(rank) if i not in axes) + axes
    moved = np.transpose(x, order)
    lanes = np.reshape(moved, (math.prod(shape[i] for i in order[: rank - len(axes)]), -1))
    ranks = np.argsort(np.argsort(lanes, axis=1, kind="stable"), axis=1, kind="stable")
    counts = np.sum(~np.isnan(lanes), axis=1, keepdims=True) if skip_nan else lanes.shape[1]
    found = []
    for level in np.reshape(q, (-1,)):
        position, speed = _positions(level, counts, method, x)
        lower = np.floor(position)
        part = position - lower
        left, right = (-speed, speed) if slopes else (1.0 - part, part)
        entry = (ranks == lower) * left + (ranks == lower + 1) * right
        back = np.reshape(entry, tuple(shape[i] for i in order))
        found.append(np.transpose(back, tuple(sorted(range(rank), key=lambda i: order[i]))))
    dtype = getattr(x, "dtype", np.dtype(float))
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)  # (weights of integers are fractions)
    return np.reshape(np.stack(found), np.shape(q) + shape).astype(dtype)


def _positions(level: Any, counts: Any, method: str, like: Any) -> tuple[Any, Any]:
    """Where among `counts` sorted values a quantile lies, and how fast it moves with the level.

    NumPy itself tells: it is the quantile of the ranks 0, 1, 2, ...
    """
    if np.ndim(counts) == 0:
        return _position(level, int(counts), method)
    each = [_position(level, int(count), method) for count in np.ravel(counts)]
    positions, speeds = (asarray(list(part), like) for part in zip(*each, strict=True))
    return np.reshape(positions, np.shape(counts)), np.reshape(speeds, np.shape(counts))


# The length added to the number of values by the methods that interpolate: a quantile moves by so
# many places while its level goes from 0 to 1.
_SPANS = {
    "linear": -1.0,
    "interpolated_inverted_cdf": 0.0,
    "hazen": 0.0,
    "weibull": 1.0,
    "median_unbiased": 1.0 / 3.0,
    "normal_unbiased": 0.25,
}


def _position(level: Any, count: int, method: str) -> tuple[float, float]:
    if count == 0:
        return 0.0, 0.0
    position = float(np.quantile(np.arange(float(count)), float(level), method=method))
    inside = 0.0 < position < count - 1
    ends = method == "linear" and count > 1  # its two ends are reached at the levels 0 and 1
    moves = method in _SPANS and (inside or ends)
    return position, count + _SPANS[method] if moves else 0.0


def quantile_dot(weights: Any, x_dot: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The tangent of a quantile from its weights: their product with `x_dot`, reduced."""
    levels = np.ndim(weights) - np.ndim(x_dot)
    return np.sum(weights * x_dot, axis=_behind(axis, levels, np.ndim(x_dot)), keepdims=keepdims)


def quantile_bar(y_bar: Any, weights: Any, x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The adjoint of a quantile's array from its weights (linear in `y_bar`)."""
    levels = np.ndim(weights) - np.ndim(x)
    spread = y_bar if keepdims else np.expand_dims(y_bar, _behind(axis, levels, np.ndim(x)))
    return np.sum(weights * spread, axis=tuple(range(levels)))


def _behind(axis: Any, levels: int, rank: int) -> tuple[int, ...]:
    """The reduced axes of an array, counted behind the axes of the quantile's levels."""
    axes = range(rank) if axis is None else (axis,) if np.ndim(axis) == 0 else axis
    return tuple(i % rank + levels for i in axes)


def along_levels(q: Any, like: Any) -> Any:
    """The levels, in a shape that broadcasts with quantiles: their axes come first."""
    if not np.ndim(q):
        return q
    return np.reshape(asarray(q, like), np.shape(q) + (1,) * (np.ndim(like) - np.ndim(q)))


def by_level(g: Any, q: Any) -> Any:
    """The adjoint of the levels: what belongs to each of them, summed."""
    found = np.sum(g, axis=tuple(range(np.ndim(q), np.ndim(g))))
    return list(found) if isinstance(q, (list, tuple)) else found
