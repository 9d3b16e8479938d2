"""Rules of `scipy.linalg`."""

import numpy as np

from .. import runtime
from ..ir.kind import Kind
from .book import Deferred, nondifferentiable, rule
from .kinds_of import first, perhaps_complex, promoted, unknown
from .tables import linear

scipy = Deferred("scipy")


def _like_b(call, kind_of):
    kind = promoted(1)(call, kind_of)
    return Kind("array", kind.dtype, kind.shape)


@rule("scipy.linalg.solve", kind=_like_b)
def solve(y, a, b, lower=False, *, assume_a=None):
    if assume_a in (None, "gen", "general"):
        seed = scipy.linalg.solve(conj(a).T, y_bar)
        y_dot = scipy.linalg.solve(a, b_dot - a_dot @ y)
        a_bar = solve_bar_a(seed, y, a, b)
        b_bar = seed
    elif assume_a in ("pos", "positive definite", "her", "hermitian"):
        seed = scipy.linalg.solve(a, y_bar, lower=lower, assume_a=assume_a)
        change = b_dot - read_triangle(a_dot, lower) @ y
        y_dot = scipy.linalg.solve(a, change, lower=lower, assume_a=assume_a)
        a_bar = onto_triangle(solve_bar_a(seed, y, a, b), lower)
        b_bar = seed
    elif assume_a in ("sym", "symmetric"):
        seed = conj(scipy.linalg.solve(a, conj(y_bar), lower=lower, assume_a=assume_a))
        change = b_dot - read_triangle(a_dot, lower, hermitian=False) @ y
        y_dot = scipy.linalg.solve(a, change, lower=lower, assume_a=assume_a)
        a_bar = onto_triangle(solve_bar_a(seed, y, a, b), lower, hermitian=False)
        b_bar = seed


@rule("scipy.sparse.linalg.spsolve", kind=_like_b)
def spsolve(y, A, b, permc_spec=None, use_umfpack=True):
    y_dot = scipy.sparse.linalg.spsolve(A, b_dot)  # (the matrix is constant, as everywhere)
    if is_real(A):
        b_bar = reshape_like(scipy.sparse.linalg.spsolve(A.T, y_bar), b)
    else:
        seed = scipy.sparse.linalg.spsolve(conj(A).T, y_bar)
        b_bar = cast_like(reshape_like(seed, b), b)


@rule("scipy.linalg.solve_triangular", kind=_like_b)
def solve_triangular(y, a, b, trans=0, lower=False, unit_diagonal=False, *, check_finite=True):
    if trans in (0, "N"):
        if is_real(a):
            seed = scipy.linalg.solve_triangular(
                a, y_bar, trans="T", lower=lower, unit_diagonal=unit_diagonal
            )
        else:
            seed = scipy.linalg.solve_triangular(
                a, y_bar, trans="C", lower=lower, unit_diagonal=unit_diagonal
            )
        y_dot = scipy.linalg.solve_triangular(
            a,
            b_dot - triangle(a_dot, lower, unit_diagonal) @ y,
            lower=lower,
            unit_diagonal=unit_diagonal,
        )
        a_bar = triangle(solve_bar_a(seed, y, a, b), lower, unit_diagonal)
        b_bar = seed
    elif trans in (1, "T"):
        seed = conj(
            scipy.linalg.solve_triangular(a, conj(y_bar), lower=lower, unit_diagonal=unit_diagonal)
        )
        y_dot = scipy.linalg.solve_triangular(
            a,
            b_dot - triangle(a_dot, lower, unit_diagonal).T @ y,
            trans="T",
            lower=lower,
            unit_diagonal=unit_diagonal,
        )
        a_bar = triangle(solve_bar_a(conj(y), conj(seed), a, b), lower, unit_diagonal)
        b_bar = seed
    elif trans in (2, "C"):
        seed = scipy.linalg.solve_triangular(a, y_bar, lower=lower, unit_diagonal=unit_diagonal)
        y_dot = scipy.linalg.solve_triangular(
            a,
            b_dot - conj(triangle(a_dot, lower, unit_diagonal)).T @ y,
            trans="C",
            lower=lower,
            unit_diagonal=unit_diagonal,
        )
        a_bar = triangle(solve_bar_a(y, seed, a, b), lower, unit_diagonal)
        b_bar = seed


linear(
    "triangle(x, lower=False, unit_diagonal=False)", "triangle(y_bar, lower, unit_diagonal)", first
)


@rule("scipy.linalg.solve_banded", kind=unknown)
def solve_banded(y, l_and_u, ab, b):
    turned = banded_transpose(conj(ab), l_and_u)
    seed = scipy.linalg.solve_banded(swapped_pair(l_and_u), turned, y_bar)
    y_dot = scipy.linalg.solve_banded(l_and_u, ab, b_dot - banded_product(ab_dot, y, l_and_u))
    ab_bar = -banded_outer(seed, conj(y), l_and_u)
    b_bar = seed


@rule("scipy.linalg.solve_sylvester", kind=promoted(2))
def solve_sylvester(x, a, b, q):
    seed = scipy.linalg.solve_sylvester(conj(a).T, conj(b).T, x_bar)
    x_dot = scipy.linalg.solve_sylvester(a, b, q_dot - a_dot @ x - x @ b_dot)
    a_bar = -(seed @ conj(x).T)
    b_bar = -(conj(x).T @ seed)
    q_bar = seed


def _matrix(call, kind_of):
    """A matrix, complex where an argument is."""
    return Kind("array", promoted(0)(call, kind_of).dtype, (None, None))


@rule("scipy.linalg.solve_continuous_lyapunov", kind=_matrix)
def solve_continuous_lyapunov(x, a, q):
    seed = scipy.linalg.solve_continuous_lyapunov(conj(a).T, x_bar)
    change = a_dot @ x + x @ conj(a_dot).T
    x_dot = scipy.linalg.solve_continuous_lyapunov(a, q_dot - change)
    a_bar = -(seed @ conj(x).T + conj(seed).T @ x)
    q_bar = seed


@rule("scipy.linalg.solve_discrete_lyapunov", kind=_matrix)
def solve_discrete_lyapunov(x, a, q, method=None):
    seed = scipy.linalg.solve_discrete_lyapunov(conj(a).T, x_bar, method)
    change = a_dot @ x @ conj(a).T + a @ x @ conj(a_dot).T
    x_dot = scipy.linalg.solve_discrete_lyapunov(a, q_dot + change, method)
    a_bar = seed @ a @ conj(x).T + conj(seed).T @ a @ x
    q_bar = seed


@rule("scipy.linalg.solve_discrete_are", kind=_matrix)
def solve_discrete_are(x, a, b, q, r):
    """Riccati's equation, linear for changes: those of the closed loop `a - b @ gain`."""
    gain = np.linalg.solve(r + conj(b).T @ x @ b, conj(b).T @ x @ a)
    loop = a - b @ gain
    change = conj(loop).T @ x @ (a_dot - b_dot @ gain)
    kept = q_dot + conj(gain).T @ r_dot @ gain
    x_dot = scipy.linalg.solve_discrete_lyapunov(conj(loop).T, change + conj(change).T + kept)
    seed = scipy.linalg.solve_discrete_lyapunov(loop, x_bar)
    along = x @ loop @ (seed + conj(seed).T)
    a_bar = along
    b_bar = -along @ conj(gain).T
    q_bar = seed
    r_bar = gain @ seed @ conj(gain).T


@rule("scipy.linalg.solve_continuous_are", kind=_matrix)
def solve_continuous_are(x, a, b, q, r):
    """(See `solve_discrete_are`.)"""
    gain = np.linalg.solve(r, conj(b).T @ x)
    loop = a - b @ gain
    change = x @ (a_dot - b_dot @ gain)
    kept = q_dot + conj(gain).T @ r_dot @ gain
    x_dot = scipy.linalg.solve_continuous_lyapunov(conj(loop).T, -(change + conj(change).T + kept))
    seed = scipy.linalg.solve_continuous_lyapunov(loop, -x_bar)
    along = x @ (seed + conj(seed).T)
    a_bar = along
    b_bar = -along @ conj(gain).T
    q_bar = seed
    r_bar = gain @ seed @ conj(gain).T


@rule("scipy.linalg.cholesky", kind=first)
def cholesky(y, a, lower=False):
    if lower is True:
        y_dot = cholesky_dot(y, a_dot)
        a_bar = cholesky_bar(y, y_bar)
    elif lower is False:
        y_dot = conj(cholesky_dot(conj(y).T, a_dot, lower=False)).T
        a_bar = cholesky_bar(conj(y).T, conj(y_bar).T, lower=False)


@rule("scipy.linalg.expm", kind=first)
def expm(y, A):
    # (SciPy computes this derivative in double precision.)
    y_dot = cast_like(scipy.linalg.expm_frechet(A, A_dot, compute_expm=False), y)
    A_bar = cast_like(scipy.linalg.expm_frechet(conj(A).T, y_bar, compute_expm=False), y)


@rule("scipy.linalg.sqrtm", kind=perhaps_complex)
def sqrtm(y, A):
    y_dot = scipy.linalg.solve_sylvester(y, y, A_dot)
    A_bar = scipy.linalg.solve_sylvester(conj(y).T, conj(y).T, y_bar)


@rule("scipy.linalg.eigvalsh", kind=lambda call, kind_of: Kind("array", "float"))
def eigvalsh(y, a, *, lower=True):
    vectors = scipy.linalg.eigh(a, lower=lower)[1]
    inner = adjoint_matrix(vectors) @ read_triangle(a_dot, lower) @ vectors
    y_dot = np.real(inner_diagonal(inner))
    full = (vectors * np.expand_dims(np.real(y_bar), -2)) @ adjoint_matrix(vectors)
    a_bar = onto_triangle(full, lower)


@rule("scipy.linalg.eigh", kind=unknown)
def eigh(y, a, *, lower=True, eigvals_only=False):
    if eigvals_only is False:
        inner = adjoint_matrix(y[1]) @ read_triangle(a_dot, lower) @ y[1]
        y_dot = (np.real(inner_diagonal(inner)), y[1] @ over_gaps(inner, y[0]))
        a_bar = eigh_bar(y[0], y[1], np.real(y_bar[0]), y_bar[1], lower)
    elif eigvals_only is True:
        vectors = scipy.linalg.eigh(a, lower=lower)[1]
        inner = adjoint_matrix(vectors) @ read_triangle(a_dot, lower) @ vectors
        y_dot = np.real(inner_diagonal(inner))
        full = (vectors * np.expand_dims(np.real(y_bar), -2)) @ adjoint_matrix(vectors)
        a_bar = onto_triangle(full, lower)


@rule("scipy.linalg.norm", kind=unknown)
def norm(y, a, ord=None, axis=None, keepdims=False):
    slope = norm_slope(a, kept(y, axis, keepdims), ord, axis)
    y_dot = np.sum(np.real(conj(slope) * a_dot), axis=axis, keepdims=keepdims)
    a_bar = kept(y_bar, axis, keepdims) * slope


# ---------------------------------------- helpers of these rules, linear in what comes in


linear("banded_transpose(ab, l_and_u)", "banded_transpose(y_bar, swapped_pair(l_and_u))", first)


@rule(runtime.banded_product, kind=promoted(1))
def banded_product(y, ab, x, l_and_u):
    y_dot = banded_product(ab_dot, x, l_and_u) + banded_product(ab, x_dot, l_and_u)
    ab_bar = banded_outer(y_bar, x, l_and_u)
    x_bar = banded_product(banded_transpose(ab, l_and_u), y_bar, swapped_pair(l_and_u))


@rule(runtime.banded_outer, kind=unknown)
def banded_outer(ab, left, right, l_and_u):
    ab_dot = banded_outer(left_dot, right, l_and_u) + banded_outer(left, right_dot, l_and_u)
    left_bar = banded_product(ab_bar, right, l_and_u)
    right_bar = banded_product(banded_transpose(ab_bar, l_and_u), left, swapped_pair(l_and_u))


nondifferentiable(runtime.swapped_pair)


# The derivative of a function of matrices stands in the corner of that of a block matrix.
@rule("scipy.linalg.logm", kind=perhaps_complex)
def logm(y, A):
    y_dot = corner(scipy.linalg.logm(with_corner(A, A_dot)))
    # (Not of the conjugate of A: a negative eigenvalue has one logarithm, that above the axis.)
    A_bar = conj(corner(scipy.linalg.logm(with_corner(A.T, conj(y_bar)))))
