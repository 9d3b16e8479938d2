"""Operations of SciPy written as programs (see `programs.py`).

Imported only when a program that has imported `scipy.stats` or `scipy.linalg` is differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.special


def multivariate_normal_logpdf(x: Any, mean: Any = None, cov: Any = 1) -> Any:
    """(SciPy takes a number or a vector for a diagonal matrix.)"""
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


def multivariate_normal_pdf(x: Any, mean: Any = None, cov: Any = 1) -> Any:
    return np.exp(multivariate_normal_logpdf(x, mean, cov))


def multivariate_normal_entropy(mean: Any, cov: Any) -> Any:
    size = cov.shape[0]
    root = np.linalg.cholesky(cov)  # (SciPy reads the lower triangle, as this does)
    return 0.5 * size * np.log(2.0 * np.pi * np.e) + np.sum(np.log(np.diag(root)))


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    total = np.sum(scipy.special.gammaln(alpha)) - scipy.special.gammaln(np.sum(alpha))
    return np.sum((alpha - 1.0) * np.log(x)) - total


def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    return np.exp(dirichlet_logpdf(x, alpha))


# ------------------------------------------------------------------------ factored matrices


def linalg_cho_factor(a: Any, lower: Any = False) -> Any:
    """(SciPy leaves the entries of `a` in the other triangle.)"""
    if lower:
        return scipy.linalg.cholesky(a, lower=True) + np.triu(a, 1), lower
    return scipy.linalg.cholesky(a, lower=False) + np.tril(a, -1), lower


def linalg_cho_solve(c_and_lower: Any, b: Any) -> Any:
    c = c_and_lower[0]
    if c_and_lower[1]:
        half = scipy.linalg.solve_triangular(c, b, lower=True)
        return scipy.linalg.solve_triangular(c, half, trans="C", lower=True)
    half = scipy.linalg.solve_triangular(c, b, trans="C", lower=False)
    return scipy.linalg.solve_triangular(c, half, lower=False)
