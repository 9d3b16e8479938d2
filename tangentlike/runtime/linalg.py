"""Adjoints and tangents of matrix factorisations and inverses, for stacks of matrices too.

Formulas: M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode automatic differentiation" (2008), unless said otherwise. What is not linear
in the adjoint is written in plain NumPy and can be differentiated again as it stands.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .broadcasting import conj, unbroadcast
from .buffers import arange, eye
from .kinks import ratio_or_zero
from .reductions import extremum_share
from .shapes import cast_like, swap_last


def adjoint_matrix(x: Any) -> Any:
    """The conjugate transpose, for each matrix of a stack."""
    return conj(swap_last(x))


def read_triangle(x: Any, lower: Any = True, hermitian: bool = True) -> Any:
    """The symmetric matrix that is read from one triangle of `x`; of complex numbers the Hermitian
    one, with the real part of the diagonal, unless `hermitian` is False.

    `lower` is a truth value, or the `UPLO` of `np.linalg.eigh`.

    >>> read_triangle(np.array([[1.0, 2.0], [4.0, 5.0]]))
    array([[1., 4.],
           [4., 5.]])
    """
    part = np.tril(x, -1) if _is_lower(lower) else np.triu(x, 1)
    if not hermitian:
        return part + swap_last(part) + diagonal_matrix(inner_diagonal(x))
    return part + adjoint_matrix(part) + _real_diagonal(x)


def onto_triangle(g: Any, lower: Any = True, hermitian: bool = True) -> Any:
    """The adjoint of `read_triangle`: nothing comes to the other triangle.

    >>> onto_triangle(np.array([[1.0, 2.0], [2.0, 5.0]]), "L")
    array([[1., 0.],
           [4., 5.]])
    """
    both = g + (adjoint_matrix(g) if hermitian else swap_last(g))
    halves = _lower_halves(both)
    return both * (halves if _is_lower(lower) else swap_last(halves))


def _lower_halves(x: Any) -> Any:
    """What keeps of matrices like these the lower triangle, with half the diagonal."""
    if type(x) is np.ndarray:
        return _halves(x.shape[-1], x.dtype)
    return np.tril(np.ones_like(x)) - 0.5 * eye(x.shape[-1], x)


@functools.lru_cache(maxsize=16)
def _halves(n: int, dtype: Any) -> Any:
    """The same (matrices of one size mostly come one after the other)."""
    return np.tri(n, dtype=dtype) - np.eye(n, dtype=dtype) / 2


def _is_lower(lower: Any) -> bool:
    return lower in ("L", "l") if isinstance(lower, str) else bool(lower)


def _real_diagonal(x: Any) -> Any:
    return diagonal_matrix(np.real(inner_diagonal(x)).astype(x.dtype))


def half_lower(x: Any) -> Any:
    """The lower triangle with half the diagonal; its own adjoint.

    >>> half_lower(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([[1., 0.],
           [1., 1.]])
    """
    return x * _lower_halves(x)


def diagonal_matrix(d: Any) -> Any:
    """The diagonal matrix of each vector of a stack.

    >>> diagonal_matrix(np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    n = d.shape[-1]
    return np.expand_dims(d, -2) * eye(n, d).astype(d.dtype)


def inner_diagonal(x: Any) -> Any:
    """The diagonal of each matrix of a stack, as a new array; the adjoint of `diagonal_matrix`."""
    return np.diagonal(x, axis1=-2, axis2=-1).copy()


def solve_bar_a(b_bar: Any, y: Any, a: Any, b: Any) -> Any:
    """The adjoint of the matrix in `y = np.linalg.solve(a, b)` from that of `b`: `-b_bar y.T`.

    >>> solve_bar_a(np.ones(2), np.ones(2), np.eye(2), np.ones(2))
    array([[-1., -1.],
           [-1., -1.]])
    """
    if (np.ndim(y) == np.ndim(a) - 1 and np.ndim(b) == 1) or np.ndim(y) == 1:
        product = np.expand_dims(b_bar, -1) * np.expand_dims(conj(y), -2)
    else:
        product = b_bar @ swap_last(conj(y))
    return -unbroadcast(product, a)


def solve_seed(a: Any, y_bar: Any, b: Any) -> Any:
    """`a.T` solved for the adjoint that comes into `np.linalg.solve(a, b)`."""
    if np.ndim(b) == 1 and np.ndim(y_bar) > 1:
        # A vector on the right of a stack of matrices gives a stack of vectors.
        return np.linalg.solve(swap_last(conj(a)), np.expand_dims(y_bar, -1))[..., 0]
    return np.linalg.solve(swap_last(conj(a)), y_bar)


def solve_dot_b(a: Any, change: Any, b: Any) -> Any:
    """`np.linalg.solve(a, change)` where `change` has the form of the solution for `b`."""
    if np.ndim(b) == 1 and np.ndim(change) > 1:
        return np.linalg.solve(a, np.expand_dims(change, -1))[..., 0]
    return np.linalg.solve(a, change)


def apply_matrix(a: Any, y: Any, b: Any) -> Any:
    """`a @ y` for a solution `y` of `np.linalg.solve(_, b)`, vectors of a stack included."""
    if np.ndim(b) == 1 and np.ndim(y) > 1:
        return (a @ np.expand_dims(y, -1))[..., 0]
    return a @ y


def cofactors(a: Any) -> Any:
    """The derivative of `np.linalg.det` at `a`, right for singular matrices.

    With `a = u s v`, it is `det(u) det(v)` times `u`, the products of all other singular
    values, and `v`.

    >>> cofactors(np.array([[1.0, 2.0], [2.0, 4.0]])).round(12) + 0.0
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    by_inverse = _cofactors_by_inverse(a) if type(a) is np.ndarray else None
    if by_inverse is not None:
        return by_inverse
    u, s, v = np.linalg.svd(a)
    n = s.shape[-1]
    if n == 0:
        return a
    pairs = np.expand_dims(s, -2) * (1.0 - eye(n, s)) + eye(n, s)
    others = np.prod(pairs, axis=-1)
    sign = np.linalg.det(u) * np.linalg.det(v)
    product = (u * np.expand_dims(others, -2)) @ v
    return cast_like(np.reshape(conj(sign), np.shape(sign) + (1, 1)) * product, a)


_WELL_CONDITIONED = 1e6


def _cofactors_by_inverse(a: Any) -> Any:
    """`det(a)` times the inverse, transposed; None where a matrix is near to a singular one."""
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    norms = [np.linalg.norm(x, ord=1, axis=(-2, -1)) for x in (a, inverse)] if a.size else []
    if not norms or not np.all(norms[0] * norms[1] < _WELL_CONDITIONED):
        return None
    det = np.linalg.det(a)
    if not np.all(np.isfinite(det)):
        return None
    return cast_like(conj(np.reshape(det, det.shape + (1, 1)) * swap_last(inverse)), a)


def over_gaps(e: Any, w: Any) -> Any:
    """`e[i, j] / (w[j] - w[i])`, 0 on the diagonal and where `e` is 0.

    Eigenvectors of eigenvalues that are equal, but for rounding, have no derivative: what asks for
    one gets inf, what does not (its entry of `e` is 0, but for rounding) gets 0.

    >>> over_gaps(np.ones((2, 2)), np.array([1.0, 3.0]))
    array([[ 0. ,  0.5],
           [-0.5,  0. ]])
    >>> over_gaps(np.ones((2, 2)), np.array([1.5, 1.5 + 2e-16]))
    array([[ 0., inf],
           [inf,  0.]])
    """
    gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    n = w.shape[-1]
    rounding, asked = 16.0 * np.finfo(w.dtype).eps, np.abs(e)
    size = np.expand_dims(np.sum(np.abs(w), axis=-1, keepdims=True), -1)
    equal = np.abs(gaps) <= rounding * size
    unasked = asked <= rounding * np.sum(asked, axis=(-2, -1), keepdims=True)
    idle = (e == 0) | (eye(n, w) == 1) | (equal & unasked)
    gaps = np.where(equal, np.zeros_like(gaps), gaps)
    with np.errstate(divide="ignore"):
        ratio = e / np.where(idle, np.ones_like(gaps), gaps)
    return np.where(idle, np.zeros_like(ratio), ratio)


def over_squares(e: Any, s: Any) -> Any:
    """`e[i, j] / (s[j] ** 2 - s[i] ** 2)` for numbers that are not negative, as `over_gaps`."""
    sums = np.expand_dims(s, -2) + np.expand_dims(s, -1)
    return over_gaps(e, s) / np.where(sums == 0, np.ones_like(sums), sums)


def gaps(w: Any) -> Any:
    """`w[j] - w[i]` for all pairs.

    >>> gaps(np.array([1.0, 3.0]))
    array([[ 0.,  2.],
           [-2.,  0.]])
    """
    return np.expand_dims(w, -2) - np.expand_dims(w, -1)


def ungaps(g: Any) -> Any:
    """The adjoint of `gaps`."""
    return np.sum(g, axis=-2) - np.sum(g, axis=-1)


def eigh_bar(w: Any, v: Any, w_bar: Any, v_bar: Any, lower: Any = True) -> Any:
    """The adjoint of a symmetric (Hermitian) matrix from its eigenvalues and vectors."""
    v_h = adjoint_matrix(v)
    own = v_h @ v_bar
    if v.dtype.kind == "c":
        refuse_phases(inner_diagonal(own), np.abs(v_bar))
    middle = diagonal_matrix(w_bar) + over_gaps(own, w)
    return onto_triangle(v @ middle @ v_h, lower)


def refuse_phases(own: Any, weights: Any) -> None:
    """Raise where a result depends on the phases of complex vectors, which are arbitrary.

    A vector times `exp(i t)` is as good a vector. `own` is the inner product of each vector and
    its adjoint: its imaginary part is the derivative by the phase.
    """
    size = np.max(weights, initial=0.0)
    if np.any(np.abs(np.imag(own)) > np.sqrt(np.finfo(weights.dtype).eps) * size):
        raise NotImplementedError(
            "the result depends on the phases of complex vectors, which are arbitrary: use what "
            "does not depend on them, such as absolute values, or products of a vector and its "
            "conjugate"
        )


def svd_bar(u: Any, s: Any, vh: Any, u_bar: Any, s_bar: Any, vh_bar: Any) -> Any:
    """The adjoint of a matrix from its singular values and vectors.

    J. Townsend, "Differentiating the singular value decomposition" (2016); for complex matrices
    Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex valued SVD" (2019). Of
    full-sized factors only the columns that belong to singular values have derivatives.
    """
    k = s.shape[-1]
    refuse_further_vectors(u_bar[..., k:])
    refuse_further_vectors(vh_bar[..., k:, :])
    u, u_bar = u[..., :k], u_bar[..., :k]
    vh, v_bar = vh[..., :k, :], adjoint_matrix(vh_bar[..., :k, :])
    v, row = adjoint_matrix(vh), np.expand_dims(s, -2)
    u_own, v_own = adjoint_matrix(u) @ u_bar, vh @ v_bar
    # (Each by itself: where singular values are equal, the difference may be 0, and is asked for.)
    u_part = (over_squares(u_own, s) - over_squares(adjoint_matrix(u_own), s)) * row
    v_part = over_squares(v_own, s) - over_squares(adjoint_matrix(v_own), s)
    v_part = np.expand_dims(s, -1) * v_part
    middle = u_part + v_part + diagonal_matrix(s_bar)
    if u.dtype.kind == "c":
        turn = inner_diagonal(u_own)
        weights = np.maximum(np.max(np.abs(u_bar), initial=0.0), np.abs(v_bar))
        refuse_phases(turn + inner_diagonal(v_own), weights)
        middle = middle + diagonal_matrix(_turned(turn, s))
    a_bar = u @ middle @ vh
    if u.shape[-2] > k:
        rest = u_bar - u @ u_own
        a_bar = a_bar + (rest / row) @ vh
    if v.shape[-2] > k:
        rest = v_bar - v @ v_own
        a_bar = a_bar + u @ adjoint_matrix(rest / row)
    return a_bar


def _turned(turn: Any, s: Any) -> Any:
    """`1j * turn.imag / s`, 0 where nothing turns."""
    phase = np.imag(turn)
    idle = phase == 0
    return 1j * np.where(idle, 0.0, phase / np.where(idle, 1.0, s))


def svd_dot(u: Any, s: Any, vh: Any, a_dot: Any) -> tuple[Any, Any, Any]:
    """The tangents of the singular value decomposition; of complex vectors, whose phases are
    arbitrary, both turn by the same angle in opposite directions."""
    k = s.shape[-1]
    if u.shape[-1] > k or vh.shape[-2] > k:
        refuse_further_vectors(np.ones(1))
    v, row = adjoint_matrix(vh), np.expand_dims(s, -2)
    inner = adjoint_matrix(u) @ a_dot @ v
    column = np.expand_dims(s, -1)
    u_turn = over_squares(inner * row, s) + over_squares(column * adjoint_matrix(inner), s)
    v_turn = over_squares(column * inner, s) + over_squares(adjoint_matrix(inner) * row, s)
    if inner.dtype.kind == "c":
        turn = diagonal_matrix(_turned(inner_diagonal(inner), 2.0 * s))
        u_turn, v_turn = u_turn + turn, v_turn - turn
    u_dot, v_dot = u @ u_turn, v @ v_turn
    if u.shape[-2] > k:
        change = a_dot @ v
        u_dot = u_dot + (change - u @ (adjoint_matrix(u) @ change)) / row
    if v.shape[-2] > k:
        change = adjoint_matrix(a_dot) @ u
        v_dot = v_dot + (change - v @ (vh @ change)) / row
    return u_dot, np.real(inner_diagonal(inner)), adjoint_matrix(v_dot)


def refuse_further_vectors(bar: Any) -> None:
    """Raise where a result depends on singular vectors that complete the others to a basis."""
    if bar.size and np.any(bar != 0):
        raise NotImplementedError(
            "singular vectors that belong to no singular value are not unique and have no "
            "derivative: use full_matrices=False"
        )


def eig_bar(w: Any, v: Any, w_bar: Any, v_bar: Any, a: Any) -> Any:
    """The adjoint of a matrix from its eigenvalues and its eigenvectors of unit length.

    C. Boeddeker et al., "On the computation of complex-valued gradients with application to
    statistically optimum beamforming" (2017).
    """
    v_h = adjoint_matrix(v)
    own = v_h @ v_bar
    if v.dtype.kind == "c":
        refuse_phases(inner_diagonal(own), np.abs(v_bar))
    length = np.real(inner_diagonal(own))
    tilted = own - (v_h @ v) * np.expand_dims(length, -2)
    middle = diagonal_matrix(w_bar) + over_gaps(tilted, conj(w))
    a_bar = np.linalg.solve(v_h, middle @ v_h)
    return np.real(a_bar) if a.dtype.kind != "c" else a_bar


def eig_dot(w: Any, v: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of eigenvalues and eigenvectors of unit length."""
    inner = np.linalg.solve(v, a_dot @ v)
    change = v @ over_gaps(inner, w)
    length = np.real(np.sum(conj(v) * change, axis=-2, keepdims=True))
    return inner_diagonal(inner), change - v * length


def eigvals_bar(a: Any, w_bar: Any) -> Any:
    """The adjoint of a matrix from its eigenvalues."""
    _, v = np.linalg.eig(a)
    v_h = adjoint_matrix(v)
    a_bar = np.linalg.solve(v_h, diagonal_matrix(w_bar) @ v_h)
    return np.real(a_bar) if a.dtype.kind != "c" else a_bar


def qr_bar(q: Any, r: Any, q_bar: Any, r_bar: Any) -> Any:
    """The adjoint of a matrix from its reduced QR factors, tall or wide.

    M. Seeger et al., "Auto-differentiating linear algebra" (2017); a wide matrix is split
    into a square one and the columns to its right, which are `q` times those of `r`.
    """
    k = q.shape[-1]
    refuse_full_factors(q, r)
    if r.shape[-1] == k:
        return _square_qr_bar(q, r, q_bar, r_bar)
    right = r[..., k:]
    right_bar = r_bar[..., k:]
    q_total = q_bar + q @ right @ adjoint_matrix(right_bar)
    left = _square_qr_bar(q, r[..., :k], q_total, r_bar[..., :k])
    return np.concatenate([left, q @ right_bar], axis=-1)


def refuse_full_factors(q: Any, r: Any) -> None:
    """Raise for QR factors whose further columns complete the others to a basis."""
    k = q.shape[-1]
    if r.shape[-2] != k or k > r.shape[-1]:
        raise NotImplementedError("only the reduced QR factors have derivatives: leave out `mode`")


def _square_qr_bar(q: Any, r: Any, q_bar: Any, r_bar: Any) -> Any:
    skew = r @ adjoint_matrix(r_bar) - adjoint_matrix(q_bar) @ q
    lower = half_lower(skew)
    middle = q_bar + q @ (lower + adjoint_matrix(lower))
    return adjoint_matrix(np.linalg.solve(r, adjoint_matrix(middle)))


def qr_dot(q: Any, r: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of the reduced QR factors, tall or wide."""
    k = q.shape[-1]
    refuse_full_factors(q, r)
    square = r[..., :k]
    over = swap_last(np.linalg.solve(swap_last(square), swap_last(a_dot[..., :k])))
    inner = adjoint_matrix(q) @ over
    lower = half_lower(inner)
    turn = lower - adjoint_matrix(lower)  # (skew; where A is complex the diagonal of R stays real)
    q_dot = q @ turn + over - q @ inner
    r_dot = (inner - turn) @ square
    if r.shape[-1] == k:
        return q_dot, r_dot
    rest = adjoint_matrix(q_dot) @ (q @ r[..., k:]) + adjoint_matrix(q) @ a_dot[..., k:]
    return q_dot, np.concatenate([r_dot, rest], axis=-1)


def pinv_dot(a: Any, y: Any, a_dot: Any) -> Any:
    """The tangent of the pseudoinverse `y` of `a` where the rank stays the same.

    G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
    squares problems whose variables separate" (1973).
    """
    y_h, dot_h = adjoint_matrix(y), adjoint_matrix(a_dot)
    range_part = y @ y_h @ (dot_h - dot_h @ a @ y)
    null_part = (dot_h - y @ a @ dot_h) @ y_h @ y
    return range_part + null_part - y @ a_dot @ y


def pinv_bar(a: Any, y: Any, y_bar: Any) -> Any:
    """The adjoint of a matrix from its pseudoinverse `y` (see `pinv_dot`)."""
    y_h, bar_h = adjoint_matrix(y), adjoint_matrix(y_bar)
    range_part = (bar_h - a @ y @ bar_h) @ y @ y_h
    null_part = y_h @ y @ (bar_h - bar_h @ y @ a)
    return range_part + null_part - y_h @ y_bar @ y_h


def of_whole_rank(a: Any, inverse: Any) -> Any:
    """`a` itself, if the tolerance of its pseudoinverse took nothing but rounding for zero."""
    if np.linalg.norm(a - a @ inverse @ a) > 1e-4 * np.linalg.norm(a):  # (of float32, too)
        raise NotImplementedError(
            "the tolerance of np.linalg.pinv leaves out singular values that are more than "
            "rounding: that has no derivative rule; use np.linalg.svd"
        )
    return a


def tensorsolve_seed(a: Any, b: Any, y_bar: Any) -> Any:
    """The adjoint of `b` in `np.linalg.tensorsolve(a, b)`."""
    matrix = np.reshape(a, (np.size(b), -1))
    return np.reshape(np.linalg.solve(conj(matrix).T, np.reshape(y_bar, (-1,))), np.shape(b))


def slogdet_sign_dot(sign: Any, turned: Any, a_dot: Any) -> Any:
    """The tangent of the sign in `np.linalg.slogdet`: zero, or a turn on the unit circle."""
    if sign.dtype.kind != "c":
        return np.zeros_like(sign)
    return 1j * np.imag(np.sum(conj(turned) * a_dot, axis=(-2, -1))) * sign


def slogdet_bar(sign: Any, sign_bar: Any, log_bar: Any, turned: Any) -> Any:
    """The adjoint of a matrix from the sign and logarithm of its determinant."""
    weight = np.expand_dims(log_bar, (-2, -1))
    if sign.dtype.kind == "c":
        weight = weight - 1j * np.expand_dims(np.imag(conj(sign_bar) * sign), (-2, -1))
    return weight * turned


def matrix_power_bar(a: Any, n: int, g: Any) -> Any:
    """The adjoint of `a` in `np.linalg.matrix_power(a, n)`: one term for each factor."""
    if n < 0:
        inverse = np.linalg.inv(a)
        inverse_h = adjoint_matrix(inverse)
        return -(inverse_h @ matrix_power_bar(inverse, -n, g) @ inverse_h)
    a_h = adjoint_matrix(a)
    total = np.zeros_like(a)
    for i in range(n):
        total = total + np.linalg.matrix_power(a_h, i) @ g @ np.linalg.matrix_power(a_h, n - 1 - i)
    return total


def matrix_power_dot(a: Any, n: int, a_dot: Any) -> Any:
    """The tangent of `np.linalg.matrix_power(a, n)`."""
    if n < 0:
        inverse = np.linalg.inv(a)
        return matrix_power_dot(inverse, -n, -(inverse @ a_dot @ inverse))
    total = np.zeros_like(a)
    for i in range(n):
        right = np.linalg.matrix_power(a, n - 1 - i)
        total = total + np.linalg.matrix_power(a, i) @ a_dot @ right
    return total


# --------------------------------------------------------------------------------------------------
# The derivatives of vector and matrix norms; 0 where the norm is 0.


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


# --------------------------------------------------------------------------------------------------
# Adjoints for triangular and banded systems, and of the Cholesky factorisation.


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


def cholesky_bar(factor: Any, factor_bar: Any, lower: bool = True, inverse: Any = None) -> Any:
    """The adjoint of a symmetric (Hermitian) matrix from its lower Cholesky factor, and from the
    inverse of that if it is there: that of the triangle that is read."""
    inner = half_lower(adjoint_matrix(factor) @ factor_bar)
    inverse = inverse_of_lower(factor) if inverse is None else inverse
    return onto_triangle(adjoint_matrix(inverse) @ inner @ inverse, lower)


def inverse_of_lower(x: Any) -> Any:
    """The inverse of a lower triangular matrix, from those of the blocks on its diagonal, then of
    blocks of twice their size: NumPy has no triangular solver.

    >>> inverse_of_lower(np.array([[1.0, 0.0], [1.0, 2.0]]))
    array([[ 1. ,  0. ],
           [-0.5,  0.5]])
    """
    n, stack = x.shape[-1], x.shape[:-2]
    if n <= 2 * _BLOCK:
        return np.linalg.inv(x)
    count = 1 << (-(-n // _BLOCK) - 1).bit_length()
    size = -(-n // count)
    whole, at = x, arange(count, x)
    if n < count * size:
        whole = np.zeros_like(x, shape=(*stack, count * size, count * size))
        whole[...] = eye(count * size, x)
        whole[..., :n, :n] = x
    y = np.linalg.inv(whole.reshape(*stack, count, size, count, size)[..., at, :, at, :])
    while count > 1:
        count //= 2
        at, first, second = at[:count], y[0::2], y[1::2]
        halves = whole.reshape(*stack, count, 2, size, count, 2, size)
        y = np.zeros_like(first, shape=(count, *stack, 2 * size, 2 * size))
        y[..., :size, :size], y[..., size:, size:] = first, second
        y[..., size:, :size] = -(second @ (halves[..., at, 1, :, at, 0, :] @ first))
        size *= 2
    return y[0, ..., :n, :n]


_BLOCK = 16  # the size up to which LAPACK is as fast as products of matrices


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
