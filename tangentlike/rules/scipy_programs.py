"""Operations of SciPy written as programs (see `programs.py`).

Imported only when a program that has imported one of these parts of SciPy is differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from ..runtime import NotDifferentiated, trapezoid


def multivariate_normal_logpdf(x, mean=None, cov=1, allow_singular=False):
    """(SciPy takes a number or a vector for a diagonal matrix. One that is singular has no
    Cholesky factor, here or there: `LinAlgError`.)"""
    centred = np.atleast_1d(x) if mean is None else np.atleast_1d(x - mean)
    matrix = cov
    if np.ndim(cov) < 2:
        matrix = np.diag(cov * np.ones(max(np.size(mean), np.size(cov))))
    size = matrix.shape[0]
    rows = np.reshape(centred, (-1, size))
    root = np.linalg.cholesky(matrix)
    white = np.linalg.solve(root, rows.T)
    squares = np.sum(white * white, axis=0)
    found = -0.5 * (squares + size * np.log(2.0 * np.pi)) - np.sum(np.log(np.diag(root)))
    return np.reshape(found, centred.shape[:-1])[()]


def multivariate_normal_pdf(x, mean=None, cov=1, allow_singular=False):
    return np.exp(multivariate_normal_logpdf(x, mean, cov))


def multivariate_normal_entropy(mean, cov):
    size = cov.shape[0]
    root = np.linalg.cholesky(cov)  # (SciPy reads the lower triangle, as this does)
    return 0.5 * size * np.log(2.0 * np.pi * np.e) + np.sum(np.log(np.diag(root)))


def dirichlet_logpdf(x, alpha):
    total = np.sum(scipy.special.gammaln(alpha)) - scipy.special.gammaln(np.sum(alpha))
    return np.sum((alpha - 1.0) * np.log(x)) - total


def dirichlet_pdf(x, alpha):
    return np.exp(dirichlet_logpdf(x, alpha))


# ------------------------------------------------------------------------ factored matrices


if scipy.linalg.cho_factor(np.array([[1.0, 0.5], [0.5, 1.0]]))[0][1, 0]:

    def linalg_cho_factor(a: Any, lower: Any = False) -> Any:
        """(SciPy before 1.18 leaves the entries of `a` in the other triangle.)"""
        if lower:
            return scipy.linalg.cholesky(a, lower=True) + np.triu(a, 1), lower
        return scipy.linalg.cholesky(a, lower=False) + np.tril(a, -1), lower

else:

    def linalg_cho_factor(a: Any, lower: Any = False) -> Any:
        if lower:
            return scipy.linalg.cholesky(a, lower=True), lower
        return scipy.linalg.cholesky(a, lower=False), lower


def linalg_cho_solve(c_and_lower, b):
    c = c_and_lower[0]
    if c_and_lower[1]:
        half = scipy.linalg.solve_triangular(c, b, lower=True)
        return scipy.linalg.solve_triangular(c, half, trans="C", lower=True)
    half = scipy.linalg.solve_triangular(c, b, trans="C", lower=False)
    return scipy.linalg.solve_triangular(c, half, lower=False)


def linalg_block_diag(*arrs):
    blocks = [np.atleast_2d(block) for block in arrs]
    rows, columns = 0, 0
    for block in blocks:
        rows += block.shape[0]
        columns += block.shape[1]
    result = np.zeros((rows, columns), np.result_type(*blocks))
    row, column = 0, 0
    for block in blocks:
        result[row : row + block.shape[0], column : column + block.shape[1]] = block
        row += block.shape[0]
        column += block.shape[1]
    return result


# ------------------------------------------------------------------------------- distances


def spatial_distance_cdist(XA, XB, metric="euclidean", *, p=2):
    return _distances(XA[:, None, :], XB[None, :, :], metric, p)


def spatial_distance_pdist(X, metric="euclidean", *, p=2):
    first, second = np.triu_indices(len(X), 1)
    return _distances(X[first], X[second], metric, p)


def _distances(a, b, metric, p):
    if metric == "euclidean":
        return np.linalg.norm(a - b, axis=-1)
    if metric == "sqeuclidean":
        return np.sum((a - b) ** 2, axis=-1)
    if metric == "cityblock":
        return np.sum(np.abs(a - b), axis=-1)
    if metric == "chebyshev":
        return np.max(np.abs(a - b), axis=-1)
    if metric == "minkowski":
        return np.linalg.norm(a - b, p, axis=-1)
    if metric == "cosine":
        return 1.0 - _cosine(a, b)
    if metric == "correlation":
        centred = a - np.mean(a, axis=-1, keepdims=True)
        return 1.0 - _cosine(centred, b - np.mean(b, axis=-1, keepdims=True))
    raise NotDifferentiated(f"distances of the metric {metric!r} have no derivative rule")


def _cosine(a, b):
    return np.sum(a * b, axis=-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


# -------------------------------------------------------------------------------- integrals


def integrate_trapezoid(y, x=None, dx=1.0, axis=-1):
    if x is None:
        return trapezoid(y, None, dx, axis)
    return trapezoid(y, x, axis=axis)


def integrate_cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    values = np.moveaxis(np.asarray(y), axis, -1)
    steps = dx
    if x is not None:
        steps = np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1)
    sums = np.cumsum(0.5 * steps * (values[..., 1:] + values[..., :-1]), axis=-1)
    if initial is not None:
        sums = np.concatenate([np.zeros_like(sums[..., :1]) + initial, sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


def integrate_simpson(y, x=None, *, dx=1.0, axis=-1):
    """(With an even number of points, the last interval by Cartwright's formula, as SciPy does.)"""
    values = np.moveaxis(np.asarray(y), axis, -1)
    size = values.shape[-1]
    steps = dx * np.ones(size - 1)
    if x is not None:
        steps = np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1)
    if size == 2:
        return np.sum(0.5 * steps * (values[..., 1:] + values[..., :-1]), axis=-1)[()]
    odd = size - 1 + size % 2  # so many points are taken by parabolas
    h0, h1 = steps[..., : odd - 1 : 2], steps[..., 1 : odd - 1 : 2]
    y0, y1, y2 = values[..., : odd - 2 : 2], values[..., 1 : odd - 1 : 2], values[..., 2:odd:2]
    both = h0 + h1
    weighted = y0 * (2.0 - h1 / h0) + y1 * (both * both / (h0 * h1)) + y2 * (2.0 - h0 / h1)
    total = np.sum(both / 6.0 * weighted, axis=-1)
    if odd < size:
        h, k = steps[..., -1], steps[..., -2]
        total = total + values[..., -1] * (2.0 * h * h + 3.0 * h * k) / (6.0 * (k + h))
        total = total + values[..., -2] * (h * h + 3.0 * h * k) / (6.0 * k)
        total = total - values[..., -3] * h**3 / (6.0 * k * (k + h))
    return total[()]
