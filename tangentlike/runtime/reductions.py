"""Adjoints of reductions and cumulative operations.

What is linear here has a rule of its own in `rules/reductions.py`; the rest is written in
plain NumPy, which can be differentiated again as it stands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .broadcasting import broadcast_like
from .buffers import asarray
from .statements import written_for


def kept(g: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The result of a reduction with the reduced axes kept, so that it broadcasts.

    >>> kept(np.zeros(3), 1).shape
    (3, 1)

    A number spreads over whatever was reduced, which may be a number (NumPy reduces one over axis
    0, too).
    """
    if axis is None or keepdims or not np.ndim(g):
        return g
    return np.expand_dims(g, axis)


def unreduce(g: Any, like: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The adjoint of `np.sum(like, axis, keepdims)`: `g` repeated along the reduced axes.

    >>> unreduce(np.array([1.0, 2.0]), np.zeros((2, 3)), 1)
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """
    return broadcast_like(kept(g, axis, keepdims), like)


def reduced_size(x: Any, axis: Any = None) -> int:
    """How many entries a reduction over `axis` takes together.

    >>> reduced_size(np.zeros((2, 3, 4)), (0, -1))
    8
    """
    shape = np.shape(x)
    if axis is None:
        return math.prod(shape)
    axes = (axis,) if np.ndim(axis) == 0 else axis
    for each in axes:
        if not -len(shape) <= each < len(shape):
            raise np.exceptions.AxisError(each, len(shape))  # (as the reduction itself)
    return math.prod(shape[i] for i in axes)


def greatest_weighed(a: Any, weights: Any, axis: Any = None) -> Any:
    """The greatest entry with a weight, reduced axes kept; 0 where it is infinite.

    >>> greatest_weighed(np.array([1.0, 5.0]), np.array([2.0, 0.0]))
    array([1.])
    """
    seen = np.where(np.equal(weights, 0.0), -math.inf, np.real(a))
    top = np.max(seen, axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


def reduced_count(x: Any, axis: Any, where: Any) -> Any:
    """The number of entries under the mask `where`, reduced axes kept; in the precision of `x`, so
    that what is divided by it keeps that.

    >>> reduced_count(np.zeros((2, 2)), 1, np.array([[True, False], [True, True]]))
    array([[1.],
           [2.]])
    """
    mask = np.broadcast_to(where, np.shape(x))
    number = isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)  # (a double)
    precision = np.dtype(float) if number else np.result_type(np.real(x), np.float16)
    return np.sum(mask, axis=axis, keepdims=True, dtype=precision)


def deviations(x: Any, axis: Any = None, where: Any = True) -> Any:
    """`x` minus its mean along `axis`, centred twice so that a constant gives exactly zero.

    The mean of equal numbers may round away from them; without the second step the
    derivative of `std` at a constant would be that rounding divided by itself.

    >>> deviations(np.array([0.1, 0.1, 0.1]))
    array([0., 0., 0.])
    """
    once = x - np.mean(x, axis=axis, keepdims=True, where=where)
    twice = once - np.mean(once, axis=axis, keepdims=True, where=where)
    if where is True:
        return twice
    return np.where(where, twice, np.zeros_like(twice))


def extremum_share(x: Any, y: Any, axis: Any = None, where: Any = True) -> Any:
    """The weight of each entry in a maximum or minimum `y`: ties share equally.

    `y` has the reduced axes kept. Where no entry equals it (an `initial` won, or all entries
    are NaN) all weights are zero.

    >>> extremum_share(np.array([1.0, 3.0, 3.0]), 3.0)
    array([0. , 0.5, 0.5])
    """
    hit = np.equal(x, y)
    if not hasattr(hit, "sum"):
        raise written_for("a list, a tuple or an array", x)
    hit = hit if where is True else hit & where
    dtype = getattr(x, "dtype", np.dtype(float))
    lanes = np.any(hit, axis=axis, keepdims=True)
    if np.sum(hit) == np.sum(lanes):  # (no ties)
        return hit.astype(dtype)
    count = np.sum(hit, axis=axis, keepdims=True)
    return hit.astype(dtype) / np.maximum(count, 1).astype(dtype)


def product_of_others(x: Any, axis: Any = None) -> Any:
    """For each entry the product of the others along `axis`, right with zeros.

    The product of all divided by it where that loses nothing; else the product of what stands
    before times the product of what stands after.

    >>> product_of_others(np.array([2.0, 0.0, 5.0]))
    array([ 0., 10.,  0.])
    """
    shape = np.shape(x)
    rank = len(shape)
    if not rank:
        return np.ones_like(x)
    product = np.prod(x, axis=axis, keepdims=True)
    if _is_divisible(product):
        return product / x
    if axis is None:
        axes = tuple(range(rank))
    else:
        axes = tuple(i % rank for i in ((axis,) if np.ndim(axis) == 0 else axis))
    rest = tuple(i for i in range(rank) if i not in axes)
    order = rest + axes
    moved = np.transpose(x, order)
    lanes = np.reshape(moved, (math.prod(shape[i] for i in rest), -1)) if np.size(x) else moved
    if not np.size(x):
        return np.copy(x)
    ones = np.ones_like(lanes[:, :1])
    before = np.cumprod(np.concatenate([ones, lanes[:, :-1]], axis=1), axis=1)
    after = np.cumprod(np.concatenate([ones, lanes[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    others = np.reshape(before * after, tuple(shape[i] for i in order))
    return np.transpose(others, tuple(sorted(range(rank), key=lambda i: order[i])))


def _is_divisible(product: Any) -> bool:
    """Whether no digit was lost in products: none is zero or below the normal numbers, or
    infinite."""
    if product.dtype.kind not in "fc":
        return False
    least = np.finfo(product.dtype).tiny
    return bool(np.all((np.abs(product) >= least) & np.isfinite(product)))


def uncumsum(g: Any, like: Any, axis: Any = None) -> Any:
    """The adjoint of `np.cumsum(like, axis)`: the cumulative sum from the other end.

    >>> uncumsum(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    array([6., 5., 3.])
    """
    if axis is None or np.ndim(like) == 0:
        return np.reshape(np.cumsum(g[::-1])[::-1], np.shape(like))
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


def uncumprod(g: Any, x: Any, axis: Any = None) -> Any:
    """The adjoint of `np.cumprod(x, axis)`, right with zeros.

    With `r[i] = g[i] + x[i + 1] * r[i + 1]` the entry `i` is the product of what stands before
    it times `r[i]`; nothing is divided.

    >>> uncumprod(np.ones(3), np.array([2.0, 0.0, 5.0]))
    array([ 1., 12.,  0.])
    """
    if axis is None or np.ndim(x) == 0:
        lanes = np.reshape(x, (-1,))
        total = g
    else:
        lanes = np.moveaxis(x, axis, 0)
        total = np.moveaxis(g, axis, 0)
    n = lanes.shape[0]
    result = np.zeros_like(total)
    if n == 0:
        return np.reshape(result, np.shape(x))
    result[n - 1] = total[n - 1]
    for i in range(n - 2, -1, -1):
        result[i] = total[i] + lanes[i + 1] * result[i + 1]
    before = np.concatenate([np.ones_like(lanes[:1]), np.cumprod(lanes[:-1], axis=0)], axis=0)
    result = before * result
    if axis is None or np.ndim(x) == 0:
        return np.reshape(result, np.shape(x))
    return np.moveaxis(result, 0, axis)


def cumprod_dot(x_dot: Any, x: Any, axis: Any = None) -> Any:
    """The tangent of `np.cumprod(x, axis)`, right with zeros.

    Product rule, one step at a time: `y_dot[i] = y_dot[i - 1] * x[i] + y[i - 1] * x_dot[i]`.

    >>> cumprod_dot(np.ones(3), np.array([2.0, 0.0, 5.0]))
    array([ 1.,  2., 10.])
    """
    if axis is None or np.ndim(x) == 0:
        lanes = np.reshape(x, (-1,))
        dots = np.reshape(x_dot, (-1,))
    else:
        lanes = np.moveaxis(x, axis, 0)
        dots = np.moveaxis(x_dot, axis, 0)
    n = lanes.shape[0]
    result = np.zeros_like(lanes)
    y = np.cumprod(lanes, axis=0)
    if n > 0:
        result[0] = dots[0]
    for i in range(1, n):
        result[i] = result[i - 1] * lanes[i] + y[i - 1] * dots[i]
    if axis is None or np.ndim(x) == 0:
        return result
    return np.moveaxis(result, 0, axis)


def align_weights(weights: Any, x: Any, axis: Any = None) -> Any:
    """The weights of `np.average(x, axis, weights)`, in a shape that broadcasts with `x`.

    >>> align_weights(np.ones(2), np.ones((2, 3)), 0).shape
    (2, 1)
    """
    if weights is None:
        return np.ones_like(x)
    if axis is None or np.shape(weights) == np.shape(x):
        return weights
    axes = tuple(i % np.ndim(x) for i in ((axis,) if np.ndim(axis) == 0 else axis))
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    moved = np.transpose(weights, order)
    return np.reshape(moved, tuple(n if i in axes else 1 for i, n in enumerate(np.shape(x))))


def unalign_weights(g: Any, weights: Any, x: Any, axis: Any = None) -> Any:
    """The adjoint of `align_weights`."""
    if axis is None or np.shape(weights) == np.shape(x):
        return g
    axes = tuple(i % np.ndim(x) for i in ((axis,) if np.ndim(axis) == 0 else axis))
    moved = np.reshape(g, tuple(np.shape(x)[i] for i in sorted(axes)))
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    return np.transpose(moved, sorted(range(len(axes)), key=lambda i: order[i]))


# --------------------------------------------------------------------------------------------------
# Quantiles as weighted sums: weights of the entries, and their slopes by the level.


def quantile_weights(
    x: Any,
    q: Any,
    axis: Any = None,
    method: str = "linear",
    skip_nan: bool = False,
    weights: Any = None,
) -> Any:
    """The weight of each entry of `x` in its quantiles, of shape `q.shape + x.shape`.

    A quantile is a mean of two neighbouring order statistics; where entries have `weights`, it
    is one of them.

    >>> quantile_weights(np.array([3.0, 1.0, 2.0, 4.0]), 0.5)
    array([0.5, 0. , 0.5, 0. ])
    """
    return _by_entry(x, q, axis, method, skip_nan, slopes=False, weights=weights)


def quantile_slopes(
    x: Any, q: Any, axis: Any = None, method: str = "linear", skip_nan: bool = False
) -> Any:
    """The derivatives of `quantile_weights` by the level `q`.

    >>> quantile_slopes(np.array([3.0, 1.0, 2.0, 4.0]), 0.5)
    array([ 3.,  0., -3.,  0.])
    """
    return _by_entry(x, q, axis, method, skip_nan, slopes=True)


def _by_entry(
    x: Any,
    q: Any,
    axis: Any,
    method: str,
    skip_nan: bool,
    slopes: bool,
    weights: Any = None,
) -> Any:
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
    if weights is not None:
        aligned = np.broadcast_to(align_weights(weights, x, axis), shape)
        masses = np.reshape(np.transpose(aligned, order), lanes.shape) * ~np.isnan(lanes)
    found = []
    for level in np.reshape(q, (-1,)):
        if weights is None:
            position, speed = _positions(level, counts, method, x)
        else:
            pairs = zip(ranks, masses, strict=True)
            each = [np.quantile(r, level, weights=mass, method=method) for r, mass in pairs]
            position, speed = np.reshape(np.stack(each), (-1, 1)), 0.0
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
