"""Adjoints and tangents of least squares and of fitting a polynomial.

Plain NumPy: what is not linear in the adjoint can be differentiated again as it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .broadcasting import conj
from .linalg import adjoint_matrix, inner_diagonal, pinv_bar, pinv_dot
from .products import vander_slope


def lstsq_bar_b(a: Any, b: Any, x: Any, x_bar: Any, residual_bar: Any) -> Any:
    """The adjoint of `b` in `np.linalg.lstsq(a, b)`."""
    b_bar = adjoint_matrix(np.linalg.pinv(a)) @ x_bar
    if residual_bar.size:
        b_bar = b_bar + 2.0 * (b - a @ x) * residual_bar
    return b_bar


def lstsq_bar_a(a: Any, b: Any, x: Any, x_bar: Any, residual_bar: Any) -> Any:
    """The adjoint of `a` in `np.linalg.lstsq(a, b)`: that of `pinv(a) @ b`."""
    y = np.linalg.pinv(a)
    columns = (b if np.ndim(b) == 2 else b[:, None], x_bar if np.ndim(b) == 2 else x_bar[:, None])
    a_bar = pinv_bar(a, y, columns[1] @ conj(columns[0]).T)
    if residual_bar.size:
        rest = b - a @ x
        if np.ndim(b) == 1:
            a_bar = a_bar - 2.0 * residual_bar * np.outer(rest, conj(x))
        else:
            a_bar = a_bar - 2.0 * (rest * residual_bar) @ conj(x).T
    return a_bar


def lstsq_dot(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> tuple[Any, Any, Any, Any]:
    """The tangents of what `np.linalg.lstsq(a, b)` returns."""
    x, residuals = y[0], y[1]
    inverse = np.linalg.pinv(a)
    x_dot = pinv_dot(a, inverse, a_dot) @ b + inverse @ b_dot
    if residuals.size:
        change = 2.0 * np.sum(np.real(conj(b - a @ x) * (b_dot - a_dot @ x)), axis=0)
        residual_dot = np.reshape(change, residuals.shape)
    else:
        residual_dot = np.zeros_like(residuals)
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return (
        x_dot,
        residual_dot,
        0.0,
        np.real(inner_diagonal(adjoint_matrix(u) @ a_dot @ adjoint_matrix(vh))),
    )


def lstsq_residual_bar(y: Any, y_bar: Any) -> Any:
    """The adjoint of the residuals of `np.linalg.lstsq`; one of its singular values is refused."""
    if np.any(np.not_equal(y_bar[3], 0.0)):
        raise NotImplementedError(
            "the singular values of np.linalg.lstsq have no derivative rule; use np.linalg.svd"
        )
    return np.zeros_like(y[1]) + y_bar[1]


def _powers(x: Any, deg: int) -> Any:
    if len(x) <= deg:
        raise ValueError(
            "np.polyfit of fewer points than coefficients has no unique fit, and no derivative"
        )
    return np.vander(x, deg + 1)


def polyfit_bar(g: Any, x: Any, deg: int, w: Any = None) -> Any:
    """The adjoint of `np.polyfit(x, y, deg, w=w)` by y: the fit is linear in it.

    >>> polyfit_bar(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 1).round(3) + 0.0
    array([1., 0.])
    """
    powers = _powers(x, deg)
    if w is None:
        return np.linalg.pinv(powers).T @ g
    weighted = np.linalg.pinv(powers * np.reshape(w, (-1, 1))).T @ g
    return np.reshape(w, (-1,) + (1,) * (np.ndim(g) - 1)) * weighted


def polyfit_dot_x(x_dot: Any, x: Any, y: Any, deg: int, w: Any = None) -> Any:
    """The tangent of `np.polyfit(x, y, deg, w=w)` by x."""
    powers = _powers(x, deg)
    weights = np.ones_like(powers) if w is None else np.reshape(w, (-1, 1)) + 0.0 * powers
    change = weights * vander_slope(x, powers) * np.reshape(x_dot, (-1, 1))
    matrix = weights * powers
    columns = weights[:, :1] * np.reshape(y, (len(x), -1))
    found = pinv_dot(matrix, np.linalg.pinv(matrix), change) @ columns
    return np.reshape(found, (deg + 1, *np.shape(y)[1:]))


def polyfit_bar_x(g: Any, x: Any, y: Any, deg: int, w: Any = None) -> Any:
    """The adjoint of `np.polyfit(x, y, deg, w=w)` by x."""
    powers = _powers(x, deg)
    weights = np.ones_like(powers) if w is None else np.reshape(w, (-1, 1)) + 0.0 * powers
    matrix = weights * powers
    columns = weights[:, :1] * np.reshape(y, (len(x), -1))
    g_columns = np.reshape(g, (deg + 1, -1))
    matrix_bar = pinv_bar(matrix, np.linalg.pinv(matrix), g_columns @ columns.T)
    return np.sum(matrix_bar * weights * vander_slope(x, powers), axis=1)
