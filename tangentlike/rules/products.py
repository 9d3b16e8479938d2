"""Rules of products that contract axes: `@`, dot, tensordot, einsum, kron, convolve, ...

An adjoint such as `matmul_bar_a(y_bar, a, b)` is written out by `specialise` where the ranks
are known: `y_bar @ b.T`.
"""

from __future__ import annotations

import operator

import numpy as np

from .. import ir, runtime
from ..ir.kind import UNKNOWN, Kind, is_many, is_named
from . import kinds_of
from .book import rule
from .decisions import is_literal, literal
from .kinds_of import argument, array_of_rank, dim, matmul, promote, same_as, unknown
from .tables import bilinear


@rule(np.matmul, operator.matmul, operator.imatmul, "numpy.linalg.matmul", kind=matmul)
def matmul(y, a, b):
    y_dot = a_dot @ b + a @ b_dot
    a_bar = matmul_bar_a(y_bar, a, b)
    b_bar = matmul_bar_b(y_bar, a, b)


@rule(runtime.matmul_bar_a, kind=same_as(1))
def matmul_bar_a(y, g, a, b):
    y_dot = matmul_bar_a(g_dot, a, b) + matmul_bar_a(g, a, b_dot)
    g_bar = broadcast_like(y_bar @ b, g)
    a_bar = 0
    b_bar = matmul_bar_b(g, y_bar, b)


@rule(runtime.matmul_bar_b, kind=same_as(2))
def matmul_bar_b(y, g, a, b):
    y_dot = matmul_bar_b(g_dot, a, b) + matmul_bar_b(g, a_dot, b)
    g_bar = broadcast_like(a @ y_bar, g)
    a_bar = matmul_bar_a(g, a, y_bar)
    b_bar = 0


def _dot_kind(call, kind_of):
    ranks = [kind_of(arg).rank for arg in call.args[:2]]
    return kinds_of.matmul(call, kind_of) if set(ranks) <= {1, 2} else unknown(call, kind_of)


@rule(np.dot, kind=_dot_kind)
def dot(y, a, b):
    y_dot = np.dot(a_dot, b) + np.dot(a, b_dot)
    a_bar = dot_bar_a(y_bar, a, b)
    b_bar = dot_bar_b(y_bar, a, b)


@rule(np.ndarray.dot, kind=_dot_kind)
def dot_method(y, a, b):
    y_dot = np.dot(a_dot, b) + a.dot(b_dot)  # (`a` may be a sparse matrix)
    a_bar = dot_bar_a(y_bar, a, b)
    b_bar = dot_bar_b(y_bar, a, b)


@rule(runtime.dot_bar_a, kind=same_as(1))
def dot_bar_a(y, g, a, b):
    y_dot = dot_bar_a(g_dot, a, b) + dot_bar_a(g, a, b_dot)
    g_bar = np.dot(y_bar, b)
    a_bar = 0
    b_bar = dot_bar_b(g, y_bar, b)


@rule(runtime.dot_bar_b, kind=same_as(2))
def dot_bar_b(y, g, a, b):
    y_dot = dot_bar_b(g_dot, a, b) + dot_bar_b(g, a_dot, b)
    if rank(a) == 1 or is_number(a):
        g_bar = np.dot(a, y_bar)
    else:
        g_bar = dot(a, y_bar)
    a_bar = dot_bar_a(g, a, y_bar)
    b_bar = 0


@rule(runtime.dot, kind=unknown)
def dot_or_sparse(y, a, b):
    y_dot = dot(a_dot, b) + dot(a, b_dot)
    a_bar = dot_bar_a(y_bar, a, b)
    b_bar = dot_bar_b(y_bar, a, b)


def _inner_kind(call, kind_of):
    a, b = (kind_of(arg) for arg in call.args[:2])
    if not (isinstance(a.shape, tuple) and isinstance(b.shape, tuple) and a.shape and b.shape):
        return unknown(call, kind_of)
    shape = a.shape[:-1] + b.shape[:-1]
    return kinds_of.Kind("array" if shape else "number", kinds_of.promote(a.dtype, b.dtype), shape)


@rule(np.inner, kind=_inner_kind)
def inner(y, a, b):
    y_dot = np.inner(a_dot, b) + np.inner(a, b_dot)
    if rank(a) == 1 and rank(b) == 1:
        a_bar = y_bar * conj(b)
        b_bar = y_bar * conj(a)
    else:
        a_bar = inner_bar_a(y_bar, a, b)
        b_bar = inner_bar_b(y_bar, a, b)


@rule(runtime.inner_bar_a, kind=same_as(1))
def inner_bar_a(y, g, a, b):
    y_dot = inner_bar_a(g_dot, a, b) + inner_bar_a(g, a, b_dot)
    g_bar = np.inner(y_bar, b)
    a_bar = 0
    b_bar = inner_bar_b(g, y_bar, b)


@rule(runtime.inner_bar_b, kind=same_as(2))
def inner_bar_b(y, g, a, b):
    y_dot = inner_bar_b(g_dot, a, b) + inner_bar_b(g, a_dot, b)
    g_bar = np.inner(a, y_bar)
    a_bar = inner_bar_a(g, a, y_bar)
    b_bar = 0


def _outer_kind(call, kind_of):
    a, b = (kind_of(arg) for arg in call.args[:2])
    sizes = (kind.shape[0] if kind.rank == 1 else None for kind in (a, b))
    return kinds_of.Kind("array", kinds_of.promote(a.dtype, b.dtype), tuple(sizes))


@rule(np.outer, "numpy.linalg.outer", kind=_outer_kind)
def outer(y, a, b):
    y_dot = np.outer(a_dot, b) + np.outer(a, b_dot)
    if rank(a) == 1 and rank(b) == 1:
        a_bar = y_bar @ conj(b)
        b_bar = conj(a) @ y_bar
    else:
        a_bar = reshape_like(y_bar @ np.ravel(conj(b)), a)
        b_bar = reshape_like(np.ravel(conj(a)) @ y_bar, b)


def _number(call, kind_of):
    a, b = (kind_of(arg) for arg in call.args[:2])
    return kinds_of.Kind("number", kinds_of.promote(a.dtype, b.dtype), ())


@rule(np.vdot, kind=_number)
def vdot(y, a, b):
    y_dot = np.vdot(a_dot, b) + np.vdot(a, b_dot)
    if rank(a) == 1 and rank(b) == 1:
        a_bar = conj(y_bar) * b
        b_bar = y_bar * a
    else:
        a_bar = conj(y_bar) * reshape_like(b, a)
        b_bar = y_bar * reshape_like(a, b)


@rule("numpy.vecdot", "numpy.linalg.vecdot", kind=unknown)
def vecdot(y, x1, x2, *, axis=-1):
    y_dot = np.sum(conj(x1_dot) * x2, axis=axis) + np.sum(conj(x1) * x2_dot, axis=axis)
    x1_bar = unbroadcast(np.expand_dims(conj(y_bar), axis) * x2, x1)
    x2_bar = unbroadcast(np.expand_dims(y_bar, axis) * x1, x2)


@rule("numpy.matvec", kind=unknown)
def matvec(y, x1, x2):
    y_dot = np.matvec(x1_dot, x2) + np.matvec(x1, x2_dot)
    x1_bar = unbroadcast(y_bar[..., None] * conj(x2)[..., None, :], x1)
    x2_bar = unbroadcast((swap_last(conj(x1)) @ y_bar[..., None])[..., 0], x2)


@rule("numpy.vecmat", kind=unknown)
def vecmat(y, x1, x2):
    y_dot = np.vecmat(x1_dot, x2) + np.vecmat(x1, x2_dot)
    x1_bar = unbroadcast((x2 @ conj(y_bar)[..., None])[..., 0], x1)
    x2_bar = unbroadcast(x1[..., None] * y_bar[..., None, :], x2)


def _without_common(call, kind_of):
    """What is left of two arrays' axes when so many, or those of one pair, are summed over."""
    a, b = (kind_of(arg) for arg in call.args[:2])
    axes = argument(call, 2, "axes", 2)
    if any(kind.form != "array" or kind.rank is None for kind in (a, b)):
        return UNKNOWN
    if not is_literal(axes):
        return UNKNOWN
    given = literal(axes)
    count = given if type(given) is int else 1
    if type(given) is int:
        left, right = a.shape[: a.rank - count], b.shape[count:]
    elif isinstance(given, tuple) and len(given) == 2 and all(type(n) is int for n in given):
        left, right = (
            (*k.shape[: n % k.rank], *k.shape[n % k.rank + 1 :])
            for k, n in zip((a, b), given, strict=True)
        )
    else:
        return UNKNOWN
    if count > min(a.rank, b.rank) or not (left or right):
        return UNKNOWN
    return Kind("array", promote(a.dtype, b.dtype), (*left, *right))


bilinear("np.tensordot, np.linalg.tensordot(a, b, axes=2)", _without_common)


# -------------------------------------------------------------------------------- einsum


def _einsum_kind(call, kind_of):
    subscripts = getattr(call.args[0], "value", None) if call.args else None
    if not isinstance(subscripts, str) or "." in subscripts or "->" not in subscripts:
        return unknown(call, kind_of)
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    dtype = "bool"
    sizes = {}
    for labels, operand in zip(inputs.split(","), call.args[1:], strict=False):
        kind = kind_of(operand)
        dtype = kinds_of.promote(dtype, kind.dtype)
        shape = kind.shape if kind.rank == len(labels) else None
        for place, label in enumerate(labels):
            size = shape[place] if isinstance(shape, tuple) else None
            sizes.setdefault(label, []).append(size)
    if not output:
        return kinds_of.Kind("number", dtype, ())
    return kinds_of.Kind("array", dtype, tuple(map(_label_size, map(sizes.get, output))))


def _label_size(sizes):
    """The size of an axis of the result. (An axis of length 1 fits any other of its label.)"""
    long = [size for size in sizes or () if is_many(size)]
    if long:
        return kinds_of.equal_sizes(long)
    return sizes[0] if sizes and len(set(sizes)) == 1 else None


def _einsum_view(call):
    """A call with one operand may give a view of it, whichever way its labels are given."""
    # (`np.einsum(a, [0, 1], [1, 0])` has one operand, as `np.einsum("ij->ji", a)` has.)
    several = 3 if call.args and isinstance(call.args[0], ir.Const) else 4
    return "no" if len(call.args) >= several else "maybe"


@rule(np.einsum, builder=True, view=_einsum_view, kind=_einsum_kind)
def einsum(call, kind_of):
    """One `np.einsum` for each operand, its subscripts and those of the result exchanged."""
    if not call.args or any(map(ir.is_starred, call.args)):
        return "def einsum(y, *operands, optimize=False):\n    pass"
    form = kind_of(call.args[0]).form
    if form in ("array", "number", "value") or _has_axes(call, kind_of):
        return _einsum_of_lists(len(call.args))
    operands = [f"x{i}" for i in range(len(call.args) - 1)]
    head = ", ".join(["y", "subscripts", *operands])
    literal = isinstance(call.args[0], ir.Const) and isinstance(call.args[0].value, str)
    text = "subscripts" if literal or form == "other" else "require_subscripts(subscripts)"
    lines = [f"y_dot = {_each_dot(f'np.einsum({text}, {{}})', operands)}"]
    for place, name in enumerate(operands):
        exchanged = swapped(call.args[0].value, place) if literal else None
        fits = _fitting(call, kind_of, place) if exchanged is not None else "no"
        others = "".join(f", conj({other})" for other in operands if other != name)
        if exchanged is not None and len(operands) == 1:
            # A permutation: einsum would give a view that looks like memory of its own.
            left, _, right = exchanged.partition("->")
            bar = f"np.transpose(y_bar, {tuple(map(left.index, right))})"
        elif fits == "no":
            bar = f"einsum_bar(y_bar, {place}, {text}, {', '.join(operands)})"
        else:
            bar = f"np.einsum({exchanged!r}, y_bar{others}, optimize=optimize)"
            if fits == "summed":
                bar = f"unbroadcast({bar}, {name})"
        lines.append(f"{name}_bar = {bar}")
    return f"def einsum({head}, *, optimize=False):\n    " + "\n    ".join(lines)


def _has_axes(call, kind_of):
    """Whether an operand of einsum is followed by a list of axes."""
    return any(kind_of(arg).form in ("list", "tuple") for arg in call.args[1:])


def _einsum_of_lists(count):
    """The rule of `np.einsum(a, [0, 1], b, [1], [0])`."""
    operands = [f"x{i}" for i in range(count // 2)]
    axes = [f"axes{i}" for i in range(count // 2)]
    result = ["axes"] * (count % 2)
    text = f"subscripts_of({', '.join([*axes, *(f'result={name}' for name in result)])})"
    lines = [f"y_dot = {_each_dot(f'np.einsum({text}, {{}})', operands)}"]
    for place, name in enumerate(operands):
        lines.append(f"{name}_bar = einsum_bar(y_bar, {place}, {text}, {', '.join(operands)})")
    lines += [f"{name}_bar = 0" for name in (*axes, *result)]
    pairs = [name for pair in zip(operands, axes, strict=True) for name in pair]
    head = ", ".join(["y", *pairs, *result])
    return f"def einsum({head}, *, optimize=False):\n    " + "\n    ".join(lines)


def _fitting(call, kind_of, place):
    """Whether the exchanged einsum has the operand's shape.

    An axis of length 1 fits a longer one of its label: "summed" where the result may be longer
    than the operand along such an axis, "no" where the operand may be longer than what is left.
    """
    left, _, result = call.args[0].value.replace(" ", "").partition("->")
    terms = left.split(",")
    shapes = [kind_of(operand).shape for operand in call.args[1:]]

    def size(i, label):
        known = isinstance(shapes[i], tuple) and len(shapes[i]) == len(terms[i])
        return shapes[i][terms[i].index(label)] if known else None

    fits = "exactly"
    for label in terms[place]:
        own = size(place, label)
        others = [size(i, label) for i, t in enumerate(terms) if i != place and label in t]
        same = [is_named(own) and n == own for n in others]
        reached = label in result or own == 1 or any(same) or any(map(is_many, others))
        if not reached:
            return "no"
        if not is_many(own) and any(n != 1 for n, s in zip(others, same, strict=True) if not s):
            fits = "summed"
    return fits


@rule(runtime.einsum_bar, builder=True, kind=unknown)
def einsum_bar(call, kind_of):
    """The exchange again: the operand's place is taken by the adjoint that comes in."""
    operands = [f"x{i}" for i in range(len(call.args) - 3)]
    place = call.args[1].value
    head = ", ".join(["y", "g", "place", "subscripts", *operands])
    others = [name for i, name in enumerate(operands) if i != place]
    seeded = ["y_bar" if i == place else name for i, name in enumerate(operands)]
    dots = [f"einsum_bar(g_dot, place, subscripts, {', '.join(operands)})"]
    for other in others:
        moved = ", ".join(f"{x}_dot" if x == other else x for x in operands)
        dots.append(f"einsum_bar(g, place, subscripts, {moved})")
    lines = [
        f"y_dot = {' + '.join(dots)}",
        f"g_bar = np.einsum(subscripts, {', '.join(seeded)})",
        f"x{place}_bar = 0",
    ]
    for i, name in enumerate(operands):
        if i != place:
            lines.append(f"{name}_bar = einsum_bar(g, {i}, subscripts, {', '.join(seeded)})")
    return f"def einsum_bar({head}):\n    " + "\n    ".join(lines)


def _each_dot(form, operands):
    """The product rule: one term for each operand, that operand's tangent in its place."""
    terms = []
    for active in operands:
        moved = [f"{x}_dot" if x == active else x for x in operands]
        terms.append(form.format(", ".join(moved)))
    return " + ".join(terms)


def _of_all_pairs(call, kind_of):
    a, b = map(kind_of, call.args[:2])
    if len(call.args) > 2 or call.kwargs or not a.rank or not b.rank:
        return unknown(call, kind_of)
    return kinds_of.Kind("array", kinds_of.promote(a.dtype, b.dtype), (*a.shape, *b.shape))


@rule(np.multiply.outer, kind=_of_all_pairs)
def multiply_outer(y, a, b):
    y_dot = np.multiply.outer(a_dot, b) + np.multiply.outer(a, b_dot)
    a_bar = reshape_like(np.tensordot(y_bar, conj(b), np.ndim(b)), a)
    b_bar = reshape_like(np.tensordot(conj(a), y_bar, np.ndim(a)), b)


@rule(np.add.outer, kind=_of_all_pairs)
def add_outer(y, a, b):
    y_dot = np.add.outer(a_dot, zeros_like(b)) + np.add.outer(zeros_like(a), b_dot)
    a_bar = sum_trailing(y_bar, a)
    b_bar = unbroadcast(y_bar, b)


@rule(np.subtract.outer, kind=_of_all_pairs)
def subtract_outer(y, a, b):
    y_dot = np.add.outer(a_dot, zeros_like(b)) - np.add.outer(zeros_like(a), b_dot)
    a_bar = sum_trailing(y_bar, a)
    b_bar = -unbroadcast(y_bar, b)


# ----------------------------------------------------- Kronecker, cross, sequences


def _of_blocks(call, kind_of):
    kinds = [kind_of(arg) for arg in call.args[:2]]
    if any(kind.form != "array" or kind.rank is None for kind in kinds) or len(kinds) < 2:
        return UNKNOWN
    rank = max(kind.rank for kind in kinds)
    return Kind("array", promote(kinds[0].dtype, kinds[1].dtype), (None,) * rank)


bilinear("np.kron(a, b)", _of_blocks)


@rule(np.cross, kind=unknown)
def cross(y, a, b, *, axis=-1):
    y_dot = np.cross(a_dot, b, axis=axis) + np.cross(a, b_dot, axis=axis)
    a_bar = unbroadcast(np.cross(conj(b), y_bar, axis=axis), a)
    b_bar = unbroadcast(np.cross(y_bar, conj(a), axis=axis), b)


@rule("numpy.linalg.cross", kind=unknown)
def linalg_cross(y, x1, x2, *, axis=-1):
    y_dot = np.cross(x1_dot, x2, axis=axis) + np.cross(x1, x2_dot, axis=axis)
    x1_bar = unbroadcast(np.cross(conj(x2), y_bar, axis=axis), x1)
    x2_bar = unbroadcast(np.cross(y_bar, conj(x1), axis=axis), x2)


@rule(np.convolve, kind=array_of_rank(1, "?"))
def convolve(y, a, v, mode="full"):
    y_dot = np.convolve(a_dot, v, mode=mode) + np.convolve(a, v_dot, mode=mode)
    a_bar = convolve_bar(y_bar, v, a, mode)
    v_bar = convolve_bar(y_bar, a, v, mode)


bilinear("np.correlate(a, v, mode='valid')", array_of_rank(1, "?"), words="mode")


@rule(runtime.convolve_bar, kind=same_as(2))
def convolve_bar(y, g, other, like, mode="full"):
    y_dot = convolve_bar(g_dot, other, like, mode) + convolve_bar(g, other_dot, like, mode)
    g_bar = np.convolve(y_bar, other, mode=mode)
    other_bar = convolve_bar(g, y_bar, other, mode)
    like_bar = 0


# --------------------------------------------------------------------------- polynomials


def _value_of_polynomial(call, kind_of):
    """Of a vector of coefficients, as large as the points are."""
    p, x = map(kind_of, call.args[:2])
    if p.form != "array" or p.rank != 1 or x.form not in ("number", "array") or x.shape is None:
        return unknown(call, kind_of)
    form = "array" if x.rank else "number"
    return kinds_of.Kind(form, kinds_of.promote(p.dtype, x.dtype), x.shape)


@rule(np.polyval, kind=_value_of_polynomial)
def polyval(y, p, x):
    y_dot = np.polyval(p_dot, x) + np.polyval(cast_like(np.polyder(p), p), x) * x_dot
    p_bar = polyval_bar(y_bar, p, x)
    x_bar = y_bar * conj(np.polyval(cast_like(np.polyder(p), p), x))


@rule(runtime.polyval_bar, kind=same_as(1))
def polyval_bar(y, g, p, x):
    y_dot = polyval_bar(g_dot, p, x) + polyval_bar(g * conj(x_dot), p[1:], x) @ polyder_matrix(p)
    g_bar = np.polyval(y_bar, x)
    p_bar = 0
    x_bar = g * conj(np.polyval(np.polyder(y_bar), x))


@rule(np.polyadd, kind=array_of_rank(1, "?"))
def polyadd(y, a1, a2):
    y_dot = np.polyadd(a1_dot, np.zeros_like(a2)) + np.polyadd(np.zeros_like(a1), a2_dot)
    a1_bar = unbroadcast(y_bar[len(y) - len(a1) :], a1)
    a2_bar = unbroadcast(y_bar[len(y) - len(a2) :], a2)


@rule(np.polysub, kind=array_of_rank(1, "?"))
def polysub(y, a1, a2):
    y_dot = np.polyadd(a1_dot, np.zeros_like(a2)) - np.polyadd(np.zeros_like(a1), a2_dot)
    a1_bar = unbroadcast(y_bar[len(y) - len(a1) :], a1)
    a2_bar = -unbroadcast(y_bar[len(y) - len(a2) :], a2)


@rule(np.polymul, kind=array_of_rank(1, "?"))
def polymul(y, a1, a2):
    # (NumPy leaves zeros at the head out of it.)
    y_dot = (np.convolve(a1_dot, a2) + np.convolve(a1, a2_dot))[-len(y) :]
    a1_bar = convolve_bar(np.pad(y_bar, (len(a1) + len(a2) - 1 - len(y), 0)), a2, a1)
    a2_bar = convolve_bar(np.pad(y_bar, (len(a1) + len(a2) - 1 - len(y), 0)), a1, a2)


@rule(np.polyder, kind=array_of_rank(1, "?"))
def polyder(y, p, m=1):
    if m == 1:
        y_dot = np.polyder(p_dot)
        p_bar = y_bar @ polyder_matrix(p)
    else:
        factors = np.polyder(np.ones(len(p)), m)
        y_dot = np.polyder(p_dot, m)
        p_bar = np.append(y_bar * factors, np.zeros(m))


@rule(np.polyint, kind=array_of_rank(1, "?"))
def polyint(y, p, m=1):
    factors = np.polyint(np.ones(len(p)), m)[: len(p)]
    y_dot = np.polyint(p_dot, m)
    p_bar = y_bar[: len(p)] * factors


@rule(np.polyfit, kind=unknown)
def polyfit(c, x, y, deg, *, w=None):
    c_dot = np.polyfit(x, y_dot, deg, w=w) + polyfit_dot_x(x_dot, x, y, deg, w)
    x_bar = polyfit_bar_x(c_bar, x, y, deg, w)
    y_bar = polyfit_bar(c_bar, x, deg, w)


def _of_powers(call, kind_of):
    """A row of powers for each number of a vector: as many as there are numbers, or `N`."""
    kind, count = kind_of(call.args[0]), argument(call, 1, "N")
    size = kind.shape[0] if kind.form == "array" and kind.rank == 1 else None
    columns = size if count == ir.Const(None) else dim(count, kind_of)
    return Kind("array", kind.dtype if kind.dtype in ("float", "complex") else "?", (size, columns))


@rule(np.vander, kind=_of_powers)
def vander(y, x, N=None, increasing=False):
    slope = vander_slope(x, y, increasing)
    y_dot = slope * x_dot[:, None]
    x_bar = np.sum(y_bar * conj(slope), axis=1)


# --------------------------------------------------------------------------------------------------
# The subscripts of einsum, at transform time.


def swapped(subscripts: str, place: int) -> str | None:
    """The subscripts for the adjoint of the operand at `place`, or None if einsum cannot say it.

    >>> swapped("ij,jk->ik", 0), swapped("ij,jk", 1)
    ('ik,jk->ij', 'ik,ij->jk')
    >>> swapped("ij->i", 0) is None  # `j` is nowhere else: the adjoint repeats along it
    True
    """
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    if "." in subscripts:
        return None
    terms = left.split(",")
    if not arrow:
        result = "".join(i for i in sorted(set(left) - {","}) if left.count(i) == 1)
    own = terms[place]
    others = terms[:place] + terms[place + 1 :]
    reachable = set(result).union(*others)
    if len(set(own)) != len(own) or not set(own) <= reachable:
        return None
    return ",".join([result, *others]) + "->" + own
