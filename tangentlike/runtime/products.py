"""Adjoints of products that contract axes, for operands of any rank.

Each product is linear in both operands, so one number `<product(a, b), g>` has all its
derivatives among three operations: the product and the two adjoints. Rules that use an
adjoint stay within these three however often they are differentiated.
For complex operands an adjoint takes the conjugate of the other operand.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from .broadcasting import _of_dtype, conj, real_part, sum_to, unbroadcast
from .buffers import arange
from .shapes import cast_like, reshape_like, swap_last
from .statements import NotDifferentiated


def matmul_bar_a(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `a` in `a @ b`: `g @ b.T`, for vectors and stacks as well.

    `g` may have the shape of what the product was broadcast to.

    >>> matmul_bar_a(np.ones((2, 3)), np.zeros((2, 4)), np.ones((4, 3))).shape
    (2, 4)
    """
    g = _as_product(g, a, b)
    if type(a) is type(b) is np.ndarray and a.ndim == 2 and b.dtype.kind == "f":
        # The common case first: each helper below asks again what this has asked.
        if b.ndim == 2:
            return unbroadcast(g @ b.T, a)
        if b.ndim == 1:
            return unbroadcast(g[:, None] * b, a)
    if _is_stack_by_matrix(a, b):
        return _of_dtype((np.reshape(g, (-1, g.shape[-1])) @ conj(b).T).reshape(a.shape), a)
    b = conj(b)
    if np.ndim(b) == 1:
        product = g * b if np.ndim(a) == 1 else np.expand_dims(g, -1) * b
    elif np.ndim(a) == 1:
        product = (b @ np.expand_dims(g, -1))[..., 0]
    else:
        product = g @ swap_last(b)
    return unbroadcast(product, a)


def matmul_bar_b(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `b` in `a @ b`: `a.T @ g`, for vectors and stacks as well.

    `g` may have the shape of what the product was broadcast to.

    >>> matmul_bar_b(np.ones((5, 2, 3)), np.ones((5, 2, 4)), np.zeros((4, 3))).shape
    (4, 3)
    """
    g = _as_product(g, a, b)
    if type(a) is type(b) is np.ndarray and a.ndim == 2 and b.ndim <= 2 and a.dtype.kind == "f":
        return unbroadcast(a.T @ g, b)
    if _is_stack_by_matrix(a, b):  # (one product, and no stack of products to be summed)
        rows = conj(a).reshape(-1, a.shape[-1])
        return _of_dtype(rows.T @ np.reshape(g, (-1, g.shape[-1])), b)
    a = conj(a)
    if np.ndim(a) == 1:
        product = g * a if np.ndim(b) == 1 else np.expand_dims(a, -1) * np.expand_dims(g, -2)
    elif np.ndim(b) == 1:
        product = (swap_last(a) @ np.expand_dims(g, -1))[..., 0]
    else:
        product = swap_last(a) @ g
    return unbroadcast(product, b)


def _is_stack_by_matrix(a: Any, b: Any) -> bool:
    """Whether a stack of matrices is multiplied by one matrix: the stack's rows are those of one
    matrix then."""
    return type(a) is type(b) is np.ndarray and a.ndim > 2 and b.ndim == 2 and a.size > 0


def _as_product(g: Any, a: Any, b: Any) -> Any:
    """`g` summed to the shape of `a @ b`."""
    rows = a.shape if hasattr(a, "shape") else np.shape(a)
    columns = b.shape if hasattr(b, "shape") else np.shape(b)
    if len(rows) <= 2 and len(columns) <= 2:
        shape = rows[:-1] + columns[1:]
    else:
        shape = np.broadcast_shapes(rows[:-2], columns[:-2]) + rows[-2:-1] * (len(rows) > 1)
        shape += columns[-1:] * (len(columns) > 1)
    return g if getattr(g, "shape", ()) == shape else sum_to(g, shape)


def dot(a: Any, b: Any) -> Any:
    """`np.dot(a, b)`, of a sparse matrix `a` as well."""
    return a.dot(b) if hasattr(a, "tocsr") else np.dot(a, b)


def dot_bar_a(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `a` in `np.dot(a, b)`.

    >>> dot_bar_a(np.ones((2, 5, 3)), np.zeros((2, 4)), np.ones((5, 4, 3))).shape
    (2, 4)
    """
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(g * conj(b), a)
    if np.ndim(a) <= 2 and np.ndim(b) <= 2:  # (the product of `@`)
        return matmul_bar_a(g, a, b)
    return tensordot_bar_a(g, a, b, (-1, -min(2, np.ndim(b))))


def dot_bar_b(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `b` in `np.dot(a, b)`."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(g * conj(a), b)
    if hasattr(a, "tocsr") or (np.ndim(a) <= 2 and np.ndim(b) <= 2):  # (the product of `@`)
        return matmul_bar_b(g, a, b)
    return tensordot_bar_b(g, a, b, (-1, -min(2, np.ndim(b))))


def inner_bar_a(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `a` in `np.inner(a, b)`."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(g * conj(b), a)
    return tensordot_bar_a(g, a, b, (-1, -1))


def inner_bar_b(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `b` in `np.inner(a, b)`."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(g * conj(a), b)
    return tensordot_bar_b(g, a, b, (-1, -1))


def tensordot_bar_a(g: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    """The adjoint of `a` in `np.tensordot(a, b, axes)`.

    `g` has the free axes of `a`, then those of `b`: contracting the latter with `b` leaves the
    axes of `a`, the contracted ones last and in the order in which `b` has them.

    >>> tensordot_bar_a(np.ones((2, 5)), np.zeros((2, 3, 4)), np.ones((3, 4, 5))).shape
    (2, 3, 4)
    """
    axes_a, axes_b = _contracted(axes, np.ndim(a), np.ndim(b))
    free_a = [i for i in range(np.ndim(a)) if i not in axes_a]
    free_b = [i for i in range(np.ndim(b)) if i not in axes_b]
    g_free = list(range(len(free_a), len(free_a) + len(free_b)))
    product = np.tensordot(g, conj(b), (g_free, free_b))
    order = free_a + [axes_a[axes_b.index(i)] for i in sorted(axes_b)]
    return _real_as(np.transpose(product, [order.index(i) for i in range(len(order))]), a)


def tensordot_bar_b(g: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    """The adjoint of `b` in `np.tensordot(a, b, axes)`.

    >>> tensordot_bar_b(np.ones((2, 5)), np.ones((2, 3, 4)), np.zeros((3, 4, 5))).shape
    (3, 4, 5)
    """
    axes_a, axes_b = _contracted(axes, np.ndim(a), np.ndim(b))
    free_a = [i for i in range(np.ndim(a)) if i not in axes_a]
    free_b = [i for i in range(np.ndim(b)) if i not in axes_b]
    product = np.tensordot(conj(a), g, (free_a, list(range(len(free_a)))))
    order = [axes_b[axes_a.index(i)] for i in sorted(axes_a)] + free_b
    return _real_as(np.transpose(product, [order.index(i) for i in range(len(order))]), b)


def _contracted(axes: Any, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    """The axes that `np.tensordot` contracts, as two lists of non-negative numbers."""
    if np.ndim(axes) == 0:
        return list(range(rank_a - axes, rank_a)), list(range(axes))
    first, second = axes
    axes_a = [first] if np.ndim(first) == 0 else list(first)
    axes_b = [second] if np.ndim(second) == 0 else list(second)
    return [i % rank_a for i in axes_a], [i % rank_b for i in axes_b]


def _real_as(g: Any, like: Any) -> Any:
    """The real part of `g` where `like` is real."""
    dtype = getattr(like, "dtype", None)
    if dtype is not None and dtype.kind != "c" and getattr(g, "dtype", dtype).kind == "c":
        return real_part(g)
    return g


def einsum_bar(g: Any, place: int, subscripts: str, *operands: Any) -> Any:
    """The adjoint of one operand in `np.einsum(subscripts, *operands)`.

    The subscripts of the result and of the operand change places. What that cannot say is
    done around it: an index that only this operand has is repeated along its axis, an index
    that it has twice is written on the diagonal, an axis of length 1 is summed over.

    >>> einsum_bar(np.array([1.0, 2.0]), 0, "ii->i", np.zeros((2, 2)))
    array([[1., 0.],
           [0., 2.]])
    """
    terms, result = _explicit(subscripts, operands)
    own = terms[place]
    others = [t for i, t in enumerate(terms) if i != place]
    factors = [conj(x) for i, x in enumerate(operands) if i != place]
    distinct = "".join(dict.fromkeys(own))
    reachable = "".join(i for i in distinct if i in result or any(i in t for t in others))
    g_own = np.einsum(",".join([result, *others]) + "->" + reachable, g, *factors)
    like = operands[place]
    sizes = dict(zip(own, np.shape(like), strict=True))
    for i, n in zip(reachable, g_own.shape, strict=True):
        sizes[i] = max(sizes[i], n)
    spread = tuple(slice(None) if i in reachable else None for i in distinct)
    # The result of einsum may be a view of g: the sum with zeros is memory of its own.
    full = np.zeros_like(g_own, shape=tuple(sizes[i] for i in distinct)) + g_own[spread]
    if len(distinct) == len(own):
        return _real_as(unbroadcast(full, like), like)
    total = np.zeros_like(g_own, shape=np.shape(like))
    key = tuple(
        np.reshape(arange(sizes[i], g_own), tuple(-1 if i == j else 1 for j in distinct))
        for i in own
    )
    total[key] = full
    return _real_as(total, like)


def _explicit(subscripts: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The terms of einsum's subscripts with the result and all ellipses written out."""
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        letters = sorted(set(left) - set(",."))
        result = ("..." if "..." in left else "") + "".join(
            i for i in letters if left.count(i) == 1
        )
    unused = [i for i in string.ascii_letters if i not in subscripts]
    ranks = [np.ndim(x) - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True)]
    most = max((n for n, t in zip(ranks, terms, strict=True) if "..." in t), default=0)
    names = "".join(unused[:most])
    terms = [
        t.replace("...", names[most - n :] if n else "") for t, n in zip(terms, ranks, strict=True)
    ]
    return terms, result.replace("...", names)


def subscripts_of(*axes: Any, result: Any = None) -> str:
    """The subscripts of `np.einsum` for the list of axes of each operand, and that of the result.

    >>> subscripts_of([0, 1], [Ellipsis, 1], result=[0])
    'AB,...B->A'
    """
    letters = string.ascii_uppercase + string.ascii_lowercase  # (in alphabetical order)

    def term(axes: Any) -> str:
        return "".join("..." if i is Ellipsis else letters[operator.index(i)] for i in axes)

    return ",".join(map(term, axes)) + ("" if result is None else f"->{term(result)}")


def require_subscripts(given: Any) -> str:
    """What `np.einsum` is given first, which stands for an array where lists of axes follow."""
    if not isinstance(given, str):
        raise NotDifferentiated(
            "`np.einsum` is given lists of axes, and the derivative was made for subscripts",
            "Give it subscripts as text, or call the derivative by its function.",
        )
    return given


def kron_bar_a(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `a` in `np.kron(a, b)`.

    >>> kron_bar_a(np.ones(6), np.zeros(2), np.ones(3))
    array([3., 3.])
    """
    shape_a, shape_b = _same_rank(np.shape(a), np.shape(b))
    blocks = np.reshape(g, [n for pair in zip(shape_a, shape_b, strict=True) for n in pair])
    weights = np.reshape(conj(b), [n for m in shape_b for n in (1, m)])
    total = np.sum(blocks * weights, axis=tuple(range(1, 2 * len(shape_a), 2)))
    return _real_as(reshape_like(total, a), a)


def kron_bar_b(g: Any, a: Any, b: Any) -> Any:
    """The adjoint of `b` in `np.kron(a, b)`."""
    shape_a, shape_b = _same_rank(np.shape(a), np.shape(b))
    blocks = np.reshape(g, [n for pair in zip(shape_a, shape_b, strict=True) for n in pair])
    weights = np.reshape(conj(a), [n for m in shape_a for n in (m, 1)])
    total = np.sum(blocks * weights, axis=tuple(range(0, 2 * len(shape_a), 2)))
    return _real_as(reshape_like(total, b), b)


def _same_rank(a: Sequence[int], b: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = max(len(a), len(b))
    return (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)


def convolve_bar(g: Any, other: Any, like: Any, mode: str = "full") -> Any:
    """The adjoint of one sequence in `np.convolve(like, other, mode)`, or of the other.

    The modes cut a piece from the full convolution, whose adjoint is a correlation.

    >>> convolve_bar(np.array([1.0, 0.0, 0.0]), np.array([2.0, 3.0]), np.zeros(2))
    array([2., 0.])
    """
    m, n = np.size(like), np.size(other)
    if mode != "full":
        start = min(m, n) - 1 if mode == "valid" else (min(m, n) - 1) // 2
        g = np.pad(g, (start, m + n - 1 - start - g.shape[0]))
    return _real_as(np.correlate(g, other, "valid"), like)


def correlate_bar_a(g: Any, a: Any, v: Any, mode: str = "valid") -> Any:
    """The adjoint of `a` in `np.correlate(a, v, mode)`.

    >>> correlate_bar_a(np.array([1.0, 0.0]), np.zeros(3), np.array([2.0, 3.0]))
    array([2., 3., 0.])
    """
    return _real_as(np.convolve(_full_correlation(g, a, v, mode), v, "valid"), a)


def correlate_bar_v(g: Any, a: Any, v: Any, mode: str = "valid") -> Any:
    """The adjoint of `v` in `np.correlate(a, v, mode)`."""
    full = _full_correlation(g, a, v, mode)
    return _real_as(conj(np.correlate(full, a, "valid"))[::-1], v)


def _full_correlation(g: Any, a: Any, v: Any, mode: str) -> Any:
    """The adjoint of the full correlation, of which `mode` cuts a piece."""
    if mode == "full":
        return g
    m, n = np.size(a), np.size(v)
    start = min(m, n) - 1
    if mode == "same":
        # For a longer `v` NumPy exchanges the two and turns the result round.
        start = start // 2 if m >= n else start - start // 2
    return np.pad(g, (start, m + n - 1 - start - g.shape[0]))


def polyval_bar(y_bar: Any, p: Any, x: Any) -> Any:
    """The adjoint of the coefficients in `np.polyval(p, x)`: the powers of `x`, summed.

    >>> polyval_bar(np.array([1.0, 1.0]), np.zeros(3), np.array([1.0, 2.0]))
    array([5., 3., 2.])
    """
    powers = np.vander(np.reshape(x + np.zeros_like(p, shape=()), (-1,)), len(p))
    return cast_like(np.reshape(y_bar, (-1,)) @ conj(powers), p)


def polyder_matrix(p: Any) -> Any:
    """The matrix of `np.polyder` for polynomials with as many coefficients as `p`.

    >>> polyder_matrix(np.zeros(3))
    array([[2., 0., 0.],
           [0., 1., 0.]])
    """
    places = arange(len(p) - 1, p)
    rows = np.zeros_like(p, shape=(len(p) - 1, len(p)))
    rows[places, places] = len(p) - 1 - places
    return rows


def vander_slope(x: Any, y: Any, increasing: bool = False) -> Any:
    """The derivative of each column of `np.vander(x)` by `x`: `n * x**(n - 1)`.

    >>> vander_slope(np.array([2.0]), np.array([[4.0, 2.0, 1.0]]))
    array([[4., 1., 0.]])
    """
    columns = y.shape[1]
    powers = arange(columns, y)
    powers = powers if increasing else powers[::-1]
    lower = np.expand_dims(x, 1) ** np.maximum(powers - 1, 0)
    return lower * powers.astype(y.dtype)


# (Without rules: they are read where a derivative is differentiated again.)


def multi_dot_bar(g: Any, arrays: Sequence[Any]) -> list[Any]:
    """The adjoints of all matrices in `np.linalg.multi_dot(arrays)`."""
    count = len(arrays)
    matrices = [np.reshape(arrays[0], (-1, np.shape(arrays[0])[-1]))]
    for i in range(1, count - 1):
        matrices.append(arrays[i])
    matrices.append(np.reshape(arrays[count - 1], (np.shape(arrays[count - 1])[0], -1)))
    after = [matrices[count - 1]]  # the product of all from the last one on
    for i in range(count - 2, 0, -1):
        after.append(matrices[i] @ after[len(after) - 1])
    left = np.reshape(g, (matrices[0].shape[0], matrices[count - 1].shape[1]))
    bars = []
    for i in range(count - 1):
        bar = left @ np.conj(after[count - 2 - i]).T
        bars.append(np.reshape(bar, np.shape(arrays[i])))
        left = np.conj(matrices[i]).T @ left
    bars.append(np.reshape(left, np.shape(arrays[count - 1])))
    return bars


def multi_dot_dot(arrays: Sequence[Any], dots: Sequence[Any]) -> Any:
    """The tangent of `np.linalg.multi_dot(arrays)`, by the product rule from the left."""
    value, change = arrays[0], dots[0]
    for i in range(1, len(arrays)):
        change = change @ arrays[i] + value @ dots[i]
        value = value @ arrays[i]
    return change


def sum_trailing(g: Any, a: Any) -> Any:
    """`g` summed over the axes behind those of `a`: the adjoint of `a` in `np.add.outer(a, b)`.

    >>> sum_trailing(np.ones((2, 3)), np.zeros(2))
    array([3., 3.])
    """
    return reshape_like(np.sum(g, axis=tuple(range(np.ndim(a), np.ndim(g)))), a)
