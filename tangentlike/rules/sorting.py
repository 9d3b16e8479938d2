"""Rules of sorting, of sets and of order statistics: the order found for the primal is reused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import ir, runtime
from ..ir.kind import UNKNOWN, Kind
from .book import nondifferentiable, rule
from .kinds_of import array_of_rank, first, reduction, unknown
from .tables import written

_OF_UNIQUE = ("ar", "return_index", "return_inverse", "return_counts", "axis")


def _sorted(call, kind_of):
    return first(call, kind_of) if len(call.args) == 1 and not call.kwargs else Kind("array")


def _complex(call, kind_of):
    return replace(kind_of(call.args[0]), dtype="complex")


def _unique(call, kind_of):
    told = dict(zip(_OF_UNIQUE, call.args, strict=False)) | dict(call.kwargs)
    flat = told.get("axis", ir.Const(None)) == ir.Const(None)
    values = Kind("array", "?", (None,)) if flat else Kind("array")
    flags = [told.get(name, ir.Const(False)) for name in _OF_UNIQUE[1:4]]
    if not all(isinstance(flag, ir.Const) for flag in flags):
        return UNKNOWN
    count = sum(flag.value is True for flag in flags)
    places = Kind("array", "int")
    return Kind("tuple", items=(values, *[places] * count)) if count else values


@rule(np.sort, kind=_sorted)
def sort(y, a, axis=-1, kind=None):
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


for _name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
    _level, _per = ("level", " / 100.0") if "percentile" in _name else ("q", "")
    _a, _a_dot, _skip = "a", "a_dot", ""
    _lines = ["level = np.divide(q, 100.0)"] if _per else []
    if _name.startswith("nan"):
        _lines += ["known = np.where(np.isnan(a), 0.0, a)"]
        _a, _a_dot, _skip = "known", "np.where(np.isnan(a), 0.0, a_dot)", ", skip_nan=True"
    _moved = f"quantile_dot(slopes, {_a}, axis, keepdims)"
    _lines += [
        f"weights = quantile_weights(a, {_level}, axis, method{_skip})",
        f"slopes = quantile_slopes(a, {_level}, axis, method{_skip})",
        f"y_dot = quantile_dot(weights, {_a_dot}, axis, keepdims)"
        f" + {_moved} * along_levels(q_dot, y){_per}",
        "a_bar = quantile_bar(y_bar, weights, a, axis, keepdims)",
        f"q_bar = by_level(y_bar * {_moved}, q){_per}",
    ]
    _params = 'a, q, axis=None, *, method="linear", keepdims=False)'
    written(f"np.{_name}", _params, _lines, unknown)


@rule(runtime.quantile_weights, kind=unknown)
def quantile_weights(y, x, q, axis=None, method="linear", skip_nan=False):
    slopes = quantile_slopes(x, q, axis, method, skip_nan)
    y_dot = slopes * along_levels(q_dot, y)
    x_bar = 0
    q_bar = by_level(y_bar * slopes, q)


# The slopes change only where a level passes an order statistic.
nondifferentiable(runtime.quantile_slopes)
