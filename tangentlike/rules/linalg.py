"""Rules of numpy.linalg, for stacks of matrices too.

Formulas: M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode automatic differentiation" (2008). The adjoint of a symmetric (Hermitian) matrix
that is read from one triangle is that of this triangle, and zero in the other.
"""

import numpy as np

from .. import runtime
from ..ir.kind import Kind
from .book import rule
from .kinds_of import equal_sizes, first, promote, unknown
from .tables import linear


def _parts(*lost):
    """A tuple of arrays, each of so many dimensions fewer than the matrix (None: not known)."""

    def kind(call, kind_of):
        matrix = kind_of(call.args[0])
        items = []
        for fewer in lost:
            known = matrix.rank is not None and fewer is not None
            shape = (None,) * (matrix.rank - fewer) if known else None
            form = "value" if fewer == 2 or fewer is None else "array"
            items.append(Kind("number" if shape == () else form, matrix.dtype, shape))
        return Kind("tuple", items=tuple(items))

    return kind


def _svd(call, kind_of):
    options = dict(call.kwargs)
    if len(call.args) > 2 or "compute_uv" in options:
        return Kind("unknown")
    return _parts(0, 1, 0)(call, kind_of)


def _qr(call, kind_of):
    if len(call.args) > 1 or call.kwargs:
        return Kind("unknown")
    return _parts(0, 0)(call, kind_of)


def _eig(call, kind_of):
    return Kind("tuple", items=(Kind("array"), Kind("array")))


# ------------------------------------------------------------------- inverses, equations


def _solution(call, kind_of):
    a, b = (kind_of(arg) for arg in call.args[:2])
    dtype = promote(promote(a.dtype, b.dtype), "float")  # (of integers, too)
    if isinstance(a.shape, tuple) and len(a.shape) == 2 and b.rank in (1, 2):
        sides = b.shape if isinstance(b.shape, tuple) else (None,) * b.rank
        return Kind("array", dtype, (equal_sizes((*a.shape, sides[0])), *sides[1:]))
    return Kind("array", dtype)


@rule(np.linalg.solve, kind=_solution)
def solve(y, a, b):
    if rank(a) == 2:
        seed = np.linalg.solve(conj(a).T, y_bar)
        y_dot = np.linalg.solve(a, b_dot - a_dot @ y)
        b_bar = seed
        if rank(b) == 1:
            a_bar = -np.outer(seed, conj(y))
        elif rank(b) == 2:
            a_bar = -(seed @ conj(y).T)
        else:
            a_bar = solve_bar_a(seed, y, a, b)
    else:
        seed = solve_seed(a, y_bar, b)
        y_dot = solve_dot_b(a, b_dot - apply_matrix(a_dot, y, b), b)
        a_bar = solve_bar_a(seed, y, a, b)
        b_bar = unbroadcast(seed, b)


@rule(np.linalg.inv, "scipy.linalg.inv", kind=first)
def inv(y, a):
    y_dot = -(y @ a_dot @ y)
    a_bar = -(swap_last(conj(y)) @ y_bar @ swap_last(conj(y)))


def _turned(call, kind_of):
    """A matrix with the axes of another one, exchanged."""
    kind = kind_of(call.args[0])
    return Kind("array", kind.dtype, kind.shape[::-1] if kind.rank == 2 else None)


@rule(np.linalg.pinv, kind=_turned)
def pinv(y, a, rcond=None, *, rtol=None):
    if rcond is None and rtol is None:
        y_dot = pinv_dot(a, y, a_dot)
        a_bar = pinv_bar(a, y, y_bar)
    else:
        y_dot = pinv_dot(of_whole_rank(a, y), y, a_dot)
        a_bar = pinv_bar(of_whole_rank(a, y), y, y_bar)


@rule(runtime.of_whole_rank, view="view", kind=first)
def of_whole_rank(y, a, inverse):
    y_dot = a_dot
    a_bar = y_bar
    inverse_bar = 0


def _lstsq(call, kind_of):
    a, b = map(kind_of, call.args[:2])
    known = a.rank == 2 and b.rank is not None
    shape = (a.shape[1], *b.shape[1:]) if known else None
    dtype = "float" if a.dtype == b.dtype == "float" else "?"
    solution, row = Kind("array", dtype, shape), Kind("array", dtype, (None,))
    return Kind("tuple", items=(solution, row, Kind("number", "int", ()), row))


@rule(np.linalg.lstsq, kind=_lstsq)
def lstsq(y, a, b, rcond=None):
    y_dot = lstsq_dot(a, b, y, a_dot, b_dot)
    a_bar = lstsq_bar_a(a, b, y[0], y_bar[0], lstsq_residual_bar(y, y_bar))
    b_bar = lstsq_bar_b(a, b, y[0], y_bar[0], lstsq_residual_bar(y, y_bar))


@rule(np.linalg.matrix_power, view="maybe", kind=first)
def matrix_power(y, a, n):
    y_dot = matrix_power_dot(a, n, a_dot)
    a_bar = matrix_power_bar(a, n, y_bar)


@rule(np.linalg.multi_dot, kind=unknown)
def multi_dot(y, arrays):
    y_dot = multi_dot_dot(arrays, arrays_dot)
    arrays_bar = multi_dot_bar(y_bar, arrays)


@rule(np.linalg.tensorsolve, kind=lambda call, kind_of: Kind("array"))
def tensorsolve(y, a, b):
    y_dot = np.linalg.tensorsolve(a, b_dot - np.tensordot(a_dot, y, np.ndim(y)))
    seed = tensorsolve_seed(a, b, y_bar)
    a_bar = -np.tensordot(seed, conj(y), 0)
    b_bar = seed


# -------------------------------------------------------------------------- determinants


def _scalar_of_matrix(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("number", kind.dtype, ()) if kind.rank == 2 else Kind("value", kind.dtype)


@rule(np.linalg.det, "scipy.linalg.det", kind=_scalar_of_matrix)
def det(y, a):
    cofactor = cofactors(a)
    y_dot = np.sum(conj(cofactor) * a_dot, axis=(-2, -1))
    if rank(a) == 2:
        a_bar = y_bar * cofactor
    else:
        a_bar = np.expand_dims(y_bar, (-2, -1)) * cofactor


@rule(runtime.cofactors, kind=first)
def cofactors(y, a):
    inverse = np.linalg.inv(a)
    turned = adjoint_matrix(inverse)
    y_dot = (
        np.expand_dims(np.sum(turned * conj(a_dot), axis=(-2, -1)), (-2, -1)) * y
        - y @ adjoint_matrix(a_dot) @ turned
    )
    a_bar = (
        np.expand_dims(np.sum(conj(y_bar) * y, axis=(-2, -1)), (-2, -1)) * turned
        - turned @ adjoint_matrix(y_bar) @ y
    )


@rule(np.linalg.slogdet, kind=_parts(2, 2))
def slogdet(y, a):
    turned = transposed_inverse(a)
    y_dot = (slogdet_sign_dot(y[0], turned, a_dot), np.sum(np.real(conj(turned) * a_dot), (-2, -1)))
    if is_real(a) and rank(a) == 2:
        a_bar = y_bar[1] * turned
    else:
        a_bar = slogdet_bar(y[0], y_bar[0], np.real(y_bar[1]), turned)


# ------------------------------------------------------------------------- factorisations


@rule(np.linalg.cholesky, kind=first)
def cholesky(y, a, *, upper=False):
    if upper is False:
        y_dot = cholesky_dot(y, a_dot)
        a_bar = cholesky_bar(y, y_bar)
    elif upper is True:
        y_dot = adjoint_matrix(cholesky_dot(adjoint_matrix(y), a_dot, lower=False))
        a_bar = cholesky_bar(adjoint_matrix(y), adjoint_matrix(y_bar), lower=False)


@rule(np.linalg.eigh, kind=_parts(1, 0))
def eigh(y, a, UPLO="L"):
    inner = adjoint_matrix(y[1]) @ read_triangle(a_dot, UPLO) @ y[1]
    y_dot = (np.real(inner_diagonal(inner)), y[1] @ over_gaps(inner, y[0]))
    a_bar = eigh_bar(y[0], y[1], np.real(y_bar[0]), y_bar[1], UPLO)


def _spectrum(call, kind_of):
    shape = kind_of(call.args[0]).shape
    return Kind("array", "float", shape[:-1] if isinstance(shape, tuple) else None)


@rule(np.linalg.eigvalsh, kind=_spectrum)
def eigvalsh(y, a, UPLO="L"):
    vectors = np.linalg.eigh(a, UPLO)[1]
    inner = adjoint_matrix(vectors) @ read_triangle(a_dot, UPLO) @ vectors
    y_dot = np.real(inner_diagonal(inner))
    if is_real(a) and rank(a) == 2:
        full = (vectors * y_bar) @ vectors.T
    else:
        full = (vectors * np.expand_dims(np.real(y_bar), -2)) @ adjoint_matrix(vectors)
    a_bar = onto_triangle(full, UPLO)


@rule(np.linalg.eig, kind=_eig)
def eig(y, a):
    y_dot = eig_dot(y[0], y[1], a_dot)
    a_bar = eig_bar(y[0], y[1], y_bar[0], y_bar[1], a)


@rule(np.linalg.eigvals, kind=lambda call, kind_of: Kind("array"))
def eigvals(y, a):
    vectors = np.linalg.eig(a)[1]
    y_dot = inner_diagonal(np.linalg.solve(vectors, a_dot @ vectors))
    a_bar = eigvals_bar(a, y_bar)


@rule(np.linalg.svd, kind=_svd)
def svd(y, a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian is False and compute_uv is False:
        factors = np.linalg.svd(a, full_matrices=False)
        inner = adjoint_matrix(factors[0]) @ a_dot @ adjoint_matrix(factors[2])
        y_dot = np.real(inner_diagonal(inner))
        a_bar = (factors[0] * np.expand_dims(np.real(y_bar), -2)) @ factors[2]
    elif hermitian is False and compute_uv is True:
        y_dot = svd_dot(y[0], y[1], y[2], a_dot)
        a_bar = svd_bar(y[0], y[1], y[2], y_bar[0], y_bar[1], y_bar[2])


@rule("numpy.linalg.svdvals", kind=unknown)
def svdvals(y, x):
    factors = np.linalg.svd(x, full_matrices=False)
    inner = adjoint_matrix(factors[0]) @ x_dot @ adjoint_matrix(factors[2])
    y_dot = np.real(inner_diagonal(inner))
    x_bar = (factors[0] * np.expand_dims(np.real(y_bar), -2)) @ factors[2]


@rule(np.linalg.qr, kind=_qr)
def qr(y, a, mode="reduced"):
    if mode == "r":
        factors = np.linalg.qr(a)
        y_dot = qr_dot(factors[0], factors[1], a_dot)[1]
        a_bar = qr_bar(factors[0], factors[1], np.zeros_like(factors[0]), y_bar)
    elif mode in ("reduced", "complete"):
        y_dot = qr_dot(y[0], y[1], a_dot)
        a_bar = qr_bar(y[0], y[1], y_bar[0], y_bar[1])


# --------------------------------------------------------------------------------- norms


def _norm(call, kind_of):
    given = len(call.args) > 2 or any(key in ("axis", "keepdims") for key, _ in call.kwargs)
    return Kind("value", "float") if given else Kind("number", "float", ())


@rule(np.linalg.norm, kind=_norm)
def norm(y, x, ord=None, axis=None, keepdims=False):
    if ord is None or ord == "fro":
        y_dot = ratio_or_zero(np.sum(np.real(conj(x) * x_dot), axis=axis, keepdims=keepdims), y)
        x_bar = ratio_or_zero(kept(np.real(y_bar), axis, keepdims), kept(y, axis, keepdims)) * x
    elif ord == 2 and rank(x) == 1:
        y_dot = ratio_or_zero(np.sum(np.real(conj(x) * x_dot), keepdims=keepdims), y)
        x_bar = ratio_or_zero(np.real(y_bar), y) * x
    else:
        slope = norm_slope(x, kept(y, axis, keepdims), ord, axis)
        y_dot = np.sum(np.real(conj(slope) * x_dot), axis=axis, keepdims=keepdims)
        x_bar = kept(np.real(y_bar), axis, keepdims) * slope


@rule("numpy.linalg.vector_norm", kind=unknown)
def vector_norm(y, x, *, axis=None, keepdims=False, ord=2):
    slope = vector_norm_slope(x, kept(y, axis, keepdims), ord, axis)
    y_dot = np.sum(np.real(conj(slope) * x_dot), axis=axis, keepdims=keepdims)
    x_bar = kept(np.real(y_bar), axis, keepdims) * slope


@rule("numpy.linalg.matrix_norm", kind=unknown)
def matrix_norm(y, x, *, keepdims=False, ord="fro"):
    slope = norm_slope(x, kept(y, (-2, -1), keepdims), ord, (-2, -1))
    y_dot = np.sum(np.real(conj(slope) * x_dot), axis=(-2, -1), keepdims=keepdims)
    x_bar = kept(np.real(y_bar), (-2, -1), keepdims) * slope


@rule(np.linalg.cond, kind=_scalar_of_matrix)
def cond(y, x, p=None):
    if p is None or p == 2:
        slope = cond_slope(x)
        y_dot = np.sum(np.real(conj(slope) * x_dot), axis=(-2, -1))
        x_bar = np.expand_dims(np.real(y_bar), (-2, -1)) * slope


# ------------------------------------- helpers of these rules that are linear in something


linear(
    "read_triangle(x, lower=True, hermitian=True)",
    "onto_triangle(y_bar, lower, hermitian=hermitian)",
    first,
    words="hermitian",
)
linear(
    "onto_triangle(g, lower=True, hermitian=True)",
    "read_triangle(y_bar, lower, hermitian=hermitian)",
    first,
    words="hermitian",
)
linear("adjoint_matrix(x)", "adjoint_matrix(y_bar)", unknown, "maybe")
linear("half_lower(x)", "half_lower(y_bar)", first)


@rule(runtime.inverse_of_lower, kind=first)
def inverse_of_lower(y, x):
    y_dot = -(y @ np.tril(x_dot) @ y)
    x_bar = -np.tril(swap_last(conj(y)) @ y_bar @ swap_last(conj(y)))


linear("diagonal_matrix(d)", "inner_diagonal(y_bar)", unknown)
linear("inner_diagonal(x)", "diagonal_matrix(y_bar)", unknown)


@rule(runtime.over_gaps, kind=first)
def over_gaps(y, e, w):
    turned = over_gaps(conj(y) * y_bar, conj(w))
    y_dot = over_gaps(e_dot, w) - over_gaps(y * gaps(w_dot), w)
    e_bar = over_gaps(y_bar, conj(w))
    w_bar = unbroadcast(-ungaps(turned), w)


linear("gaps(w)", "ungaps(y_bar)", unknown)
linear("ungaps(g)", "gaps(y_bar)", unknown)
