"""Adjoints for triangular and banded systems, and of the Cholesky factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .linalg import adjoint_matrix, half_lower, onto_triangle, read_triangle


def triangle(x: Any, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """The part of a matrix that a triangular solver reads; its own adjoint.

    >>> triangle(np.ones((2, 2)), True, True)
    array([[0., 0.],
           [1., 0.]])
    """
    shift = 1 if unit_diagonal else 0
    return np.tril(x, -shift) if lower else np.triu(x, shift)


def cholesky_dot(factor: Any, a_dot: Any, lower: bool = True) -> Any:
    """The tangent of the lower Cholesky factor of a symmetric (Hermitian) matrix, which is read
    from one triangle."""
    solved = np.linalg.solve(factor, read_triangle(a_dot, lower))
    return factor @ half_lower(np.linalg.solve(factor, adjoint_matrix(solved)))


def cholesky_bar(factor: Any, factor_bar: Any, lower: bool = True) -> Any:
    """The adjoint of a symmetric (Hermitian) matrix from its lower Cholesky factor: that of the
    triangle that is read."""
    inner = half_lower(adjoint_matrix(factor) @ factor_bar)
    inverse = inverse_of_lower(factor)
    return onto_triangle(adjoint_matrix(inverse) @ inner @ inverse, lower)


def inverse_of_lower(x: Any) -> Any:
    """The inverse of a lower triangular matrix, by halves: NumPy has no triangular solver.

    >>> inverse_of_lower(np.array([[1.0, 0.0], [1.0, 2.0]]))
    array([[ 1. ,  0. ],
           [-0.5,  0.5]])
    """
    k = x.shape[-1] // 2
    if k < 16:
        return np.linalg.inv(x)
    y = np.zeros_like(x)
    y[..., :k, :k] = inverse_of_lower(x[..., :k, :k])
    y[..., k:, k:] = inverse_of_lower(x[..., k:, k:])
    y[..., k:, :k] = -(y[..., k:, k:] @ (x[..., k:, :k] @ y[..., :k, :k]))
    return y


def swapped_pair(l_and_u: Any) -> tuple[int, int]:
    """The numbers of lower and upper diagonals of the transposed matrix."""
    lower, upper = l_and_u
    return upper, lower


def banded_transpose(ab: Any, l_and_u: Any) -> Any:
    """The transposed matrix in the diagonal form of `scipy.linalg.solve_banded`.

    >>> banded_transpose(np.array([[0.0, 2.0], [1.0, 3.0]]), (0, 1))
    array([[1., 3.],
           [2., 0.]])
    """
    lower, upper = l_and_u
    total = np.zeros_like(ab)
    for k in range(-lower, upper + 1):  # row upper - k holds the diagonal k
        total[lower + k] = _diagonal(ab[upper - k], k)
    return total


def banded_product(ab: Any, x: Any, l_and_u: Any) -> Any:
    """The banded matrix `ab` times a vector, or the columns of a matrix."""
    lower, upper = l_and_u
    n = x.shape[0]
    total = np.zeros_like(x, dtype=np.result_type(ab, x))
    for k in range(-lower, upper + 1):
        first, last = max(0, -k), min(n, n - k)
        if last > first:
            entries = ab[upper - k, first + k : last + k]
            factors = entries if x.ndim == 1 else entries[:, None]
            total[first:last] += factors * x[first + k : last + k]
    return total


def banded_outer(left: Any, right: Any, l_and_u: Any) -> Any:
    """The diagonals of `left @ right.T` in the form of `scipy.linalg.solve_banded`."""
    lower, upper = l_and_u
    n = left.shape[0]
    total = np.zeros_like(left, shape=(lower + upper + 1, n))
    for k in range(-lower, upper + 1):
        first, last = max(0, -k), min(n, n - k)
        if last > first:
            product = left[first:last] * right[first + k : last + k]
            total[upper - k, first + k : last + k] = (
                product if left.ndim == 1 else np.sum(product, axis=1)
            )
    return total


def _diagonal(row: Any, k: int) -> Any:
    """The entries of diagonal `k`, stored by column, as stored by row."""
    n = row.shape[0]
    first, last = max(0, -k), min(n, n - k)
    total = np.zeros_like(row)
    if last > first:
        total[first:last] = row[first + k : last + k]
    return total


def with_corner(a: Any, e: Any) -> Any:
    """The block matrix of two `a` on the diagonal and `e` above them.

    >>> with_corner(np.eye(1), np.full((1, 1), 5.0))
    array([[1., 5.],
           [0., 1.]])
    """
    return np.concatenate(
        [np.concatenate([a, e], axis=1), np.concatenate([np.zeros_like(a), a], axis=1)]
    )


def corner(block: Any) -> Any:
    """The upper right quarter of a block matrix."""
    size = block.shape[0] // 2
    return block[:size, size:]
