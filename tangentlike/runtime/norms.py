"""The derivatives of vector and matrix norms; 0 where the norm is 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .broadcasting import conj
from .kinks import ratio_or_zero
from .reductions import extremum_share
from .shapes import swap_last


def norm_slope(x: Any, y: Any, ord: Any = None, axis: Any = None) -> Any:
    """The derivative of `np.linalg.norm(x, ord, axis)` by each entry of `x`.

    `y` is the norm with the reduced axes kept. Entries that tie for a largest or smallest
    share equally.

    >>> norm_slope(np.array([3.0, -4.0]), 7.0, 1)
    array([ 1., -1.])
    """
    rank = np.ndim(x)
    if ord is None:
        return ratio_or_zero(x, y)
    axes = tuple(range(rank)) if axis is None else (axis,) if np.ndim(axis) == 0 else tuple(axis)
    if len(axes) == 1:
        return vector_norm_slope(x, y, ord, axes[0])
    return matrix_norm_slope(x, y, ord, axes)


def vector_norm_slope(x: Any, y: Any, ord: Any, axis: Any) -> Any:
    """The derivative of a vector norm along `axis` (an int, a tuple, or None for all axes)."""
    if ord == 2:
        return ratio_or_zero(x, y)
    size = np.abs(x)
    direction = ratio_or_zero(x, size)
    if ord == 0:
        return np.zeros_like(x)
    if ord == 1:
        return direction
    if abs(ord) == math.inf:
        return direction * extremum_share(size, y, axis)
    return direction * ratio_or_zero(size, y) ** (ord - 1.0)


def matrix_norm_slope(x: Any, y: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    """The derivative of a matrix norm over two axes."""
    if ord == "fro":
        return ratio_or_zero(x, y)
    moved = np.moveaxis(x, axes, (-2, -1))
    norm = np.moveaxis(y + np.zeros_like(np.sum(x, axis=axes, keepdims=True)), axes, (-2, -1))
    if ord in (2, -2, "nuc"):
        slope = _spectral_slope(moved, ord)
    else:
        along, across = (-2, -1) if abs(ord) == 1 else (-1, -2)
        size = np.abs(moved)
        sums = np.sum(size, axis=along, keepdims=True)
        slope = ratio_or_zero(moved, size) * extremum_share(sums, norm, across)
    return np.moveaxis(slope, (-2, -1), axes)


def _spectral_slope(x: Any, ord: Any) -> Any:
    """The derivative of the largest (2), the smallest (-2) or the sum of singular values."""
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    if ord == "nuc":
        # A singular value that is 0 up to rounding has no direction.
        weights = np.where(s > s[..., :1] * max(x.shape[-2:]) * np.finfo(s.dtype).eps, 1.0, 0.0)
    else:
        place = 0 if ord == 2 else -1
        weights = extremum_share(s, np.expand_dims(s[..., place], -1), -1)
        weights = np.where(s == 0, 0.0, weights)
    return (u * np.expand_dims(weights, -2).astype(u.dtype)) @ vh


def cond_slope(x: Any) -> Any:
    """The derivative of `np.linalg.cond(x)`: the largest over the smallest singular value."""
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    first = np.expand_dims(u[..., :, 0], -1) * np.expand_dims(vh[..., 0, :], -2)
    last = np.expand_dims(u[..., :, -1], -1) * np.expand_dims(vh[..., -1, :], -2)
    large = np.expand_dims(s[..., 0], (-2, -1))
    small = np.expand_dims(s[..., -1], (-2, -1))
    return first / small - last * large / (small * small)


def transposed_inverse(x: Any) -> Any:
    """`inv(x).T`, the derivative of `log(abs(det(x)))`; conjugated for complex matrices."""
    return swap_last(conj(np.linalg.inv(x)))
