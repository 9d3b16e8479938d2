"""Rules of reading entries by index, by mask and along diagonals, and of choosing."""

from __future__ import annotations

import bisect
from dataclasses import replace

import numpy as np

from .. import ir, runtime
from ..ir import is_starred
from ..ir.kind import INT, UNKNOWN, Kind
from .book import nondifferentiable, rule
from .decisions import is_literal
from .index_kinds import index_kind
from .kinds_of import (
    argument,
    array_of_rank,
    broadcast,
    first,
    integer,
    reduction,
    same_as,
    unknown,
)
from .tables import linear, written


def _any_rank(call, kind_of):
    return Kind("array", kind_of(call.args[0]).dtype)


def _taken(call, kind_of):
    if len(call.args) == 2 and not call.kwargs and kind_of(call.args[0]).rank == 1:
        if isinstance(call.args[1], ir.Display):  # (a tuple, too, is one of places)
            return Kind("array", kind_of(call.args[0]).dtype)
        return index_kind(kind_of(call.args[0]), call.args[1], kind_of)
    kind, places = kind_of(call.args[0]), kind_of(argument(call, 1, "indices"))
    axis = argument(call, 2, "axis")
    if places.rank is None or places.form not in ("number", "array"):
        return unknown(call, kind_of)
    if axis in (None, ir.Const(None)):
        return Kind(places.form, kind.dtype, (None,) * places.rank)
    if not (is_literal(axis) and kind.rank):
        return unknown(call, kind_of)
    left = (None,) * (kind.rank - 1 + places.rank)
    return Kind("array" if left else "number", kind.dtype, left)


@rule(np.take, np.ndarray.take, kind=_taken)
def take(y, a, indices, axis=None, *, mode="raise"):
    y_dot = np.take(a_dot, indices, axis=axis, mode=mode)
    a_bar = untake(y_bar, a, indices, axis, mode)


linear(
    "untake(g, like, indices, axis=None, mode='raise')",
    "np.take(y_bar, indices, axis=axis, mode=mode)",
    same_as(1),
)


def _chosen(call, kind_of):
    # (`arr` and `indices` may be given by name)
    if len(call.args) < 2:
        return Kind("array")
    return replace(kind_of(call.args[1]), dtype=kind_of(call.args[0]).dtype)


linear(
    "np.take_along_axis(arr, indices, axis=-1)",
    "untake_along_axis(y_bar, arr, indices, axis)",
    _chosen,
)
linear(
    "untake_along_axis(g, like, indices, axis=-1)",
    "np.take_along_axis(y_bar, indices, axis)",
    same_as(1),
)


def _compressed(call, kind_of):
    # (`a` may be given by name; the condition says nothing of its class)
    values = call.args[1] if len(call.args) > 1 else dict(call.kwargs).get("a")
    return Kind("array", "?" if values is None else kind_of(values).dtype)


@rule(np.compress, kind=_compressed)
def compress(y, condition, a, axis=None):
    y_dot = np.compress(condition, a_dot, axis=axis)
    a_bar = unselect(y_bar, a, condition, axis)


@rule(np.ndarray.compress, kind=_any_rank)
def compress_method(y, a, condition, axis=None):
    y_dot = np.compress(condition, a_dot, axis=axis)
    a_bar = unselect(y_bar, a, condition, axis)


@rule(np.extract, kind=array_of_rank(1, "?"))
def extract(y, condition, arr):
    y_dot = np.extract(condition, arr_dot)
    arr_bar = unselect(y_bar, arr, condition)


linear(
    "unselect(g, like, mask, axis=None)",
    "np.compress(np.ravel(mask), y_bar, axis=axis)",
    same_as(1),
)


# ------------------------------------------------------------------------------ choosing


def _where(call, kind_of):
    if len(call.args) != 3:
        return unknown(call, kind_of)
    condition, x, y = (kind_of(arg) for arg in call.args)
    found = broadcast(x, y)
    shape = broadcast(condition, found).shape
    # A 0-d array comes back even for three numbers.
    form = "array" if isinstance(shape, tuple) and shape else "value"
    return Kind(form, found.dtype, shape)


@rule(np.where, kind=_where)
def where(z, condition, x, y):
    if (
        same_shape(x, y)
        or (same_shape(condition, x) and is_number(y))
        or (same_shape(condition, y) and is_number(x))
    ):
        z_dot = np.where(condition, x_dot, y_dot)
    else:
        # A constant operand leaves a plain 0.0, which does not give its shape to the result.
        z_dot = np.where(condition, broadcast_like(x_dot, z), broadcast_like(y_dot, z))
    if spans(condition, x) and spans(x, condition) and (spans(x, y) or is_number(y)):
        x_bar = np.where(condition, z_bar, 0.0)
    else:
        x_bar = unbroadcast(np.where(condition, z_bar, 0.0), x)
    if spans(condition, y) and spans(y, condition) and (spans(y, x) or is_number(x)):
        y_bar = np.where(condition, 0.0, z_bar)
    else:
        y_bar = unbroadcast(np.where(condition, 0.0, z_bar), y)


@rule(np.select, kind=lambda call, kind_of: Kind("array"))
def select(y, condlist, choicelist, default=0):
    y_dot = np.select(condlist, choicelist_dot, default_dot)
    choicelist_bar = masked_parts(y_bar, condlist, choicelist)
    default_bar = unbroadcast(np.where(remaining(condlist), y_bar, 0.0), default)


@rule(np.choose, np.ndarray.choose, kind=lambda call, kind_of: Kind("value"))
def choose(y, a, choices, *, mode="raise"):
    y_dot = np.choose(a, choices_dot, mode=mode)
    choices_bar = chosen_parts(y_bar, a, choices, mode)


# ------------------------------------------------------------------- diagonals, triangles


def _diag(call, kind_of):
    kind = kind_of(call.args[0])
    rank = {1: 2, 2: 1}.get(kind.rank or 0)
    if rank is None:
        return Kind("array", kind.dtype)
    alike = len(call.args) == 1 and not call.kwargs and len({*kind.shape}) == 1
    return Kind("array", kind.dtype, (kind.shape[0] if alike else None,) * rank)


@rule(np.diag, view="maybe", kind=_diag)
def diag(y, v, k=0):
    y_dot = np.diag(v_dot, k)
    if rank(v) == 1:
        v_bar = np.diagonal(y_bar, k)
    elif is_number(k):
        v_bar = undiag(y_bar, v, k)
    else:
        v_bar = undiag(y_bar, v, k)


linear("undiag(g, v, k=0)", "np.diag(y_bar, k)", same_as(1), "maybe")
linear("np.diagflat(v, k=0)", "reshape_like(np.diagonal(y_bar, k), v)", array_of_rank(2, "?"))


def _diagonal(call, kind_of):
    kind = kind_of(call.args[0])
    shape = None if kind.rank is None else (None,) * (kind.rank - 1)
    return Kind("array", kind.dtype, shape)


linear(
    "np.diagonal(a, offset=0, axis1=0, axis2=1)",
    "undiagonal(y_bar, a, offset, axis1, axis2)",
    _diagonal,
    "view",
    also=(np.ndarray.diagonal,),
)


@rule("numpy.linalg.diagonal", view="view", kind=_diagonal)
def linalg_diagonal(y, x, *, offset=0):
    y_dot = np.diagonal(x_dot, offset, -2, -1)
    x_bar = undiagonal(y_bar, x, offset, -2, -1)


linear(
    "undiagonal(g, like, offset=0, axis1=0, axis2=1)",
    "np.diagonal(y_bar, offset, axis1, axis2)",
    same_as(1),
)


def _trace(call, kind_of):
    kind = kind_of(call.args[0])
    dtype = "int" if kind.dtype == "bool" else kind.dtype
    return Kind("number", dtype, ()) if kind.rank == 2 else Kind("value", dtype)


linear(
    "np.trace(a, offset=0, axis1=0, axis2=1)",
    "untrace(y_bar, a, offset, axis1, axis2)",
    _trace,
    also=(np.ndarray.trace,),
)


@rule("numpy.linalg.trace", kind=_trace)
def linalg_trace(y, x, *, offset=0):
    y_dot = np.trace(x_dot, offset, -2, -1)
    x_bar = untrace(y_bar, x, offset, -2, -1)


linear(
    "untrace(g, like, offset=0, axis1=0, axis2=1)",
    "np.trace(y_bar, offset, axis1, axis2)",
    same_as(1),
)


def _triangle(call, kind_of):
    """A vector is taken for each row of a square matrix."""
    kind = kind_of(call.args[0])
    if kind.rank == 1:
        return Kind("array", kind.dtype, (None, None))
    return kind if kind.rank else Kind("array", kind.dtype)


@rule(np.tril, kind=_triangle)
def tril(y, m, k=0):
    y_dot = np.tril(m_dot, k)
    if rank(m) == 1:
        m_bar = np.sum(np.tril(y_bar, k), axis=0)
    elif rank(m) in (2, 3, 4):
        m_bar = np.tril(y_bar, k)
    else:
        m_bar = unbroadcast(np.tril(y_bar, k), m)


@rule(np.triu, kind=_triangle)
def triu(y, m, k=0):
    y_dot = np.triu(m_dot, k)
    if rank(m) == 1:
        m_bar = np.sum(np.triu(y_bar, k), axis=0)
    elif rank(m) in (2, 3, 4):
        m_bar = np.triu(y_bar, k)
    else:
        m_bar = unbroadcast(np.triu(y_bar, k), m)


@rule(np.ndarray.item, kind=lambda call, kind_of: Kind("number", kind_of(call.args[0]).dtype, ()))
def item(y, x, place=None):
    if place is None:
        y_dot = x_dot.item()
        x_bar = broadcast_like(y_bar, x)
    elif is_number(place):  # (of the array in one row)
        y_dot = x_dot.item(place)
        x_bar = untake(y_bar, x, place)


# --------------------------------------------------------------- positions carry nothing

nondifferentiable(bisect.bisect_left, bisect.bisect_right, bisect.bisect, kind=integer)


def _place(call, kind_of):
    """`np.argmax(x)`: one place; several with an axis."""
    whole = len(call.args) == 1 and not call.kwargs
    return integer(call, kind_of) if whole else Kind("value", "int")


nondifferentiable(
    *(np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.count_nonzero),
    *(np.ndarray.argmax, np.ndarray.argmin),
    kind=_place,
)


def _places_in(call, place, name, kind_of):
    """An integer for each entry of an array, or for a number."""
    kind = kind_of(argument(call, place, name, None))
    if kind.form == "number":
        return INT
    known = kind.form == "array" and kind.rank != 0
    return Kind("array", "int", kind.shape) if known else Kind("value", "int")


def _order(call, kind_of):
    """The places of an array's entries, in another order. (`axis=None` is for all of them.)"""
    kind = kind_of(call.args[0])
    known = len(call.args) == 1 and "axis" not in dict(call.kwargs) and kind.form == "array"
    return Kind("array", "int", kind.shape if known and kind.rank != 0 else None)


nondifferentiable(
    *(np.argpartition, np.lexsort, np.nonzero, np.flatnonzero, np.argwhere),
    *(np.ravel_multi_index, np.unravel_index, np.indices),
    *(np.diag_indices, np.diag_indices_from, np.mask_indices, np.tril_indices),
    *(np.triu_indices, np.tril_indices_from, np.triu_indices_from, np.isin, np.all, np.any),
    np.ndarray.argpartition,
    *(np.ndarray.nonzero, np.ndarray.searchsorted, np.ndarray.all, np.ndarray.any),
    *(np.ndindex, np.histogram_bin_edges),
    *(runtime.remaining, runtime.partition_order, runtime.first_places, runtime.along_axis),
    runtime.places_at,
    *(runtime.flat_places, runtime.histogram_places, runtime.put_places),
    *(runtime.diagonal_places, runtime.value_places),
)
nondifferentiable(np.argsort, np.ndarray.argsort, kind=_order)
nondifferentiable(np.searchsorted, kind=lambda call, kind_of: _places_in(call, 1, "v", kind_of))
nondifferentiable(np.digitize, kind=lambda call, kind_of: _places_in(call, 0, "x", kind_of))
nondifferentiable(np.linalg.matrix_rank, kind=integer)


def _open_mesh(call, kind_of):
    """`np.ix_(rows, columns)`: integers along one axis each."""
    if any(map(is_starred, call.args)):
        return UNKNOWN
    count = len(call.args)
    shapes = [(*(1,) * at, None, *(1,) * (count - 1 - at)) for at in range(count)]
    return Kind("tuple", items=tuple(Kind("array", "int", shape) for shape in shapes))


nondifferentiable(np.ix_, kind=_open_mesh)


# --------------------------------------------------------------------------------------------------
# Rules of sorting, of sets and of order statistics: the order found for the primal is reused.


_OF_UNIQUE = ("ar", "return_index", "return_inverse", "return_counts", "axis")


def _sorted(call, kind_of):
    return first(call, kind_of) if len(call.args) == 1 and not call.kwargs else Kind("array")


def _complex(call, kind_of):
    return replace(kind_of(call.args[0]), dtype="complex")


def _unique(call, kind_of):
    keywords = dict(zip(_OF_UNIQUE, call.args, strict=False)) | dict(call.kwargs)
    flat = keywords.get("axis", ir.Const(None)) == ir.Const(None)
    values = Kind("array", "?", (None,)) if flat else Kind("array")
    flags = [keywords.get(name, ir.Const(False)) for name in _OF_UNIQUE[1:4]]
    if not all(isinstance(flag, ir.Const) for flag in flags):
        return UNKNOWN
    count = sum(flag.value is True for flag in flags)
    places = Kind("array", "int")
    return Kind("tuple", items=(values, *[places] * count)) if count else values


@rule(np.sort, kind=_sorted)
def sort(y, a, axis=-1, kind=None, *, stable=None):
    order = np.argsort(a, axis=axis, kind="stable")
    y_dot = np.take_along_axis(a_dot, order, axis)
    a_bar = untake_along_axis(y_bar, a, order, axis)


@rule(np.sort_complex, kind=_complex)
def sort_complex(y, a):
    order = np.argsort(a, axis=-1, kind="stable")
    y_dot = np.take_along_axis(a_dot, order, -1)
    a_bar = untake_along_axis(y_bar, a, order, -1)


@rule(np.partition, kind=_sorted)
def partition(y, a, kth, axis=-1):
    order = partition_order(a, y, axis)
    y_dot = np.take_along_axis(a_dot, order, axis)
    a_bar = untake_along_axis(y_bar, a, order, axis)


@rule(np.unique, kind=_unique)
def unique(
    y,
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
):
    if return_index is True:
        firsts = y[1]
    else:
        firsts = first_places(ar, axis, equal_nan)
    if return_index + return_inverse + return_counts == 0:
        y_dot = np.take(ar_dot, firsts, axis)
        ar_bar = untake(y_bar, ar, firsts, axis)
    elif return_index + return_inverse + return_counts == 1:
        y_dot = (np.take(ar_dot, firsts, axis), zeros_like(y[1]))
        ar_bar = untake(y_bar[0], ar, firsts, axis)
    elif return_index + return_inverse + return_counts == 2:
        y_dot = (np.take(ar_dot, firsts, axis), zeros_like(y[1]), zeros_like(y[2]))
        ar_bar = untake(y_bar[0], ar, firsts, axis)
    elif return_index + return_inverse + return_counts == 3:
        y_dot = (
            np.take(ar_dot, firsts, axis),
            zeros_like(y[1]),
            zeros_like(y[2]),
            zeros_like(y[3]),
        )
        ar_bar = untake(y_bar[0], ar, firsts, axis)


def _unique_with(*beside):
    """The distinct values, and arrays of integers: one for each of them, or for each entry."""
    one_each = Kind("array", "int", (None,))

    def kind(call, kind_of):
        entries = Kind("array", "int", _axes(kind_of(call.args[0])))
        arrays = [entries if what == "inverse" else one_each for what in beside]
        return Kind("tuple", items=(Kind("array", "?", (None,)), *arrays))

    return kind


def _axes(kind):
    return None if kind.rank is None else (None,) * kind.rank


@rule("numpy.unique_all", kind=_unique_with("first", "inverse", "counts"))
def unique_all(y, x):
    y_dot = (np.take(x_dot, y[1]), zeros_like(y[1]), zeros_like(y[2]), zeros_like(y[3]))
    x_bar = untake(y_bar[0], x, y[1])


@rule("numpy.unique_counts", kind=_unique_with("counts"))
@rule("numpy.unique_inverse", kind=_unique_with("inverse"))
def unique_counts(y, x):
    firsts = first_places(x, None, False)
    y_dot = (np.take(x_dot, firsts), zeros_like(y[1]))
    x_bar = untake(y_bar[0], x, firsts)


@rule("numpy.unique_values", kind=array_of_rank(1, "?"))
def unique_values(y, x):
    firsts = value_places(x, y)
    y_dot = np.take(x_dot, firsts)
    x_bar = untake(y_bar, x, firsts)


# --------------------------------------------------------------------------------------------------
# Rules of order statistics: a quantile is a mean of two entries, weighted by its level `q`.
#
# `quantile_dot`, `quantile_bar` and the like have no rules: they are plain NumPy, read as callees
# where a derivative is differentiated again.


@rule(np.median, kind=reduction)
def median(y, a, axis=None, *, keepdims=False):
    weights = quantile_weights(a, 0.5, axis)
    y_dot = quantile_dot(weights, a_dot, axis, keepdims)
    a_bar = quantile_bar(y_bar, weights, a, axis, keepdims)


@rule(np.nanmedian, kind=reduction)
def nanmedian(y, a, axis=None, *, keepdims=False):
    weights = quantile_weights(a, 0.5, axis, skip_nan=True)
    y_dot = quantile_dot(weights, np.where(np.isnan(a), 0.0, a_dot), axis, keepdims)
    a_bar = quantile_bar(y_bar, weights, a, axis, keepdims)


def _of_level(call, kind_of):
    """A number for one level, as the median is; for several, who knows."""
    q, (array, *_) = argument(call, 1, "q"), call.args
    axis, words = argument(call, 2, "axis"), dict(call.kwargs).keys()
    one = kind_of(q).form == "number" and axis == ir.Const(None) and len(call.args) < 4
    known = kind_of(array).form == "array" and not words & {"out", "keepdims", "overwrite_input"}
    return Kind("number", kind_of(array).dtype, ()) if one and known else UNKNOWN


for _name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
    _level, _per = ("level", " / 100.0") if "percentile" in _name else ("q", "")
    _a, _a_dot, _skip = "a", "a_dot", ""
    _lines = ["level = np.divide(q, 100.0)"] if _per else []
    if _name.startswith("nan"):
        _lines += ["known = np.where(np.isnan(a), 0.0, a)"]
        _a, _a_dot, _skip = "known", "np.where(np.isnan(a), 0.0, a_dot)", ", skip_nan=True"
    _moved = f"quantile_dot(slopes, {_a}, axis, keepdims)"
    _lines += [
        f"shares = quantile_weights(a, {_level}, axis, method{_skip}, weights=weights)",
        f"slopes = quantile_slopes(a, {_level}, axis, method{_skip})",
        f"y_dot = quantile_dot(shares, {_a_dot}, axis, keepdims)"
        f" + {_moved} * along_levels(q_dot, y){_per}",
        "a_bar = quantile_bar(y_bar, shares, a, axis, keepdims)",
        f"q_bar = by_level(y_bar * {_moved}, q){_per}",
    ]
    _params = 'a, q, axis=None, *, method="linear", keepdims=False, weights=None)'
    written(f"np.{_name}", _params, _lines, _of_level)


@rule(runtime.quantile_weights, kind=unknown)
def quantile_weights(y, x, q, axis=None, method="linear", skip_nan=False, weights=None):
    slopes = quantile_slopes(x, q, axis, method, skip_nan)
    y_dot = slopes * along_levels(q_dot, y)
    x_bar = 0
    q_bar = by_level(y_bar * slopes, q)


# The slopes change only where a level passes an order statistic.
nondifferentiable(runtime.quantile_slopes)
