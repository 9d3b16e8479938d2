"""Rules of reductions, cumulative operations, differences and statistics.

Keyword-only parameters stand behind `*` so that a positional `out` is refused.
"""

from dataclasses import replace

import numpy as np

from .. import ir, runtime
from ..ir.kind import UNKNOWN, Kind, is_many
from .book import nondifferentiable, rule
from .decisions import is_literal, literal
from .index_kinds import sliced
from .kinds_of import (
    SEQUENCE,
    argument,
    array_of_rank,
    first,
    flattened,
    promote,
    real_reduction,
    reduction,
    same_as,
    scalar_or_array,
    unknown,
)
from .tables import linear

# ----------------------------------------------------------------------- sums and means


@rule(np.sum, np.ndarray.sum, np.add.reduce, kind=reduction)
def sum(y, a, axis=None, dtype=None, *, keepdims=False, initial=0, where=True):
    if dtype is None and where is True:
        y_dot = np.sum(a_dot, axis=axis, keepdims=keepdims) + broadcast_like(initial_dot, y)
        a_bar = unreduce(y_bar, a, axis, keepdims)
        initial_bar = unbroadcast(y_bar, initial)
    elif dtype is None:
        y_dot = np.sum(a_dot, axis=axis, keepdims=keepdims, where=where) + broadcast_like(
            initial_dot, y
        )
        a_bar = np.where(where, unreduce(y_bar, a, axis, keepdims), 0.0)
        initial_bar = unbroadcast(y_bar, initial)
    elif where is True:
        y_dot = np.sum(a_dot, axis=axis, dtype=float_dtype(dtype), keepdims=keepdims)
        a_bar = cast_like(unreduce(uncast(y_bar, dtype), a, axis, keepdims), a)
    else:
        y_dot = np.sum(a_dot, axis=axis, dtype=float_dtype(dtype), keepdims=keepdims, where=where)
        a_bar = cast_like(
            np.where(where, unreduce(uncast(y_bar, dtype), a, axis, keepdims), 0.0), a
        )


@rule(np.mean, np.ndarray.mean, kind=reduction)
def mean(y, a, axis=None, dtype=None, *, keepdims=False, where=True):
    if dtype is None and where is True:
        count = reduced_size(a, axis)
        y_dot = np.mean(a_dot, axis=axis, keepdims=keepdims)
        a_bar = unreduce(y_bar / count, a, axis, keepdims)
    elif dtype is None:
        share = where / broadcast_like(reduced_count(a, axis, where), a)
        y_dot = np.mean(a_dot, axis=axis, keepdims=keepdims, where=where)
        a_bar = cast_like(kept(y_bar, axis, keepdims) * share, a)
    elif where is True:
        count = reduced_size(a, axis)
        y_dot = np.mean(a_dot, axis=axis, dtype=float_dtype(dtype), keepdims=keepdims)
        a_bar = cast_like(unreduce(uncast(y_bar, dtype) / count, a, axis, keepdims), a)
    else:
        share = where / broadcast_like(reduced_count(a, axis, where), a)
        y_dot = np.mean(a_dot, axis=axis, dtype=float_dtype(dtype), keepdims=keepdims, where=where)
        a_bar = cast_like(kept(uncast(y_bar, dtype), axis, keepdims) * share, a)


def _averaged(call, kind_of):
    """Complex where the weights are, too."""
    found, weights = reduction(call, kind_of), argument(call, 2, "weights")
    if weights in (None, ir.Const(None)):
        return found
    return replace(found, dtype=promote(found.dtype, kind_of(weights).dtype))


@rule(np.average, kind=_averaged)
def average(y, a, axis=None, weights=None, returned=False, *, keepdims=False):
    if weights is None and returned is False:
        y_dot = np.mean(a_dot, axis=axis, keepdims=keepdims)
        a_bar = unreduce(y_bar / reduced_size(a, axis), a, axis, keepdims)
    elif returned is False:
        aligned = align_weights(weights, a, axis)
        total = np.sum(np.ones_like(a) * aligned, axis=axis, keepdims=True)
        share = aligned / total
        surplus = (a - kept(y, axis, keepdims)) / total
        y_dot = np.sum(share * a_dot, axis=axis, keepdims=keepdims) + np.sum(
            surplus * align_weights(weights_dot, a, axis), axis=axis, keepdims=keepdims
        )
        a_bar = unbroadcast(kept(y_bar, axis, keepdims) * conj(share), a)
        weights_bar = unalign_weights(
            unbroadcast(kept(y_bar, axis, keepdims) * conj(surplus), aligned), weights, a, axis
        )


@rule(np.nansum, kind=reduction)
def nansum(y, a, axis=None, dtype=None, *, keepdims=False, initial=0, where=True):
    if dtype is None:
        if where is True:
            present = ~np.isnan(a)
        else:
            present = where & ~np.isnan(a)
        y_dot = np.sum(
            np.where(present, a_dot, 0.0), axis=axis, keepdims=keepdims
        ) + broadcast_like(initial_dot, y)
        a_bar = np.where(present, unreduce(y_bar, a, axis, keepdims), 0.0)
        initial_bar = unbroadcast(y_bar, initial)


@rule(np.nanmean, kind=reduction)
def nanmean(y, a, axis=None, dtype=None, *, keepdims=False, where=True):
    if dtype is None:
        if where is True:
            present = ~np.isnan(a)
        else:
            present = where & ~np.isnan(a)
        share = ratio_or_zero(present, reduced_count(a, axis, present))
        y_dot = np.sum(np.where(present, a_dot, 0.0) * share, axis=axis, keepdims=keepdims)
        a_bar = cast_like(share * kept(y_bar, axis, keepdims), a)


# ------------------------------------------------------------------------------ products


@rule(np.prod, np.ndarray.prod, np.multiply.reduce, kind=reduction)
def prod(y, a, axis=None, dtype=None, *, keepdims=False, initial=1, where=True):
    if dtype is None and where is True and initial == 1:
        others = product_of_others(a, axis)
        y_dot = np.sum(others * a_dot, axis=axis, keepdims=keepdims)
        a_bar = kept(y_bar, axis, keepdims) * conj(others)
    elif dtype is None and where is True:
        if is_real(initial):
            start = initial
        else:
            start = cast_like(initial, y)
        others = start * product_of_others(a, axis)
        product = np.prod(a, axis=axis, keepdims=keepdims)
        y_dot = np.sum(others * a_dot, axis=axis, keepdims=keepdims) + product * cast_like(
            initial_dot, y
        )
        a_bar = kept(y_bar, axis, keepdims) * conj(others)
        initial_bar = unbroadcast(y_bar * conj(product), initial)
    elif dtype is None:
        if is_real(initial):
            start = initial
        else:
            start = cast_like(initial, y)
        chosen = np.where(where, a, 1.0)
        others = start * np.where(where, product_of_others(chosen, axis), 0.0)
        product = np.prod(chosen, axis=axis, keepdims=keepdims)
        y_dot = np.sum(others * a_dot, axis=axis, keepdims=keepdims) + product * cast_like(
            initial_dot, y
        )
        a_bar = kept(y_bar, axis, keepdims) * conj(others)
        initial_bar = unbroadcast(y_bar * conj(product), initial)


@rule(np.nanprod, kind=reduction)
def nanprod(y, a, axis=None, dtype=None, *, keepdims=False, initial=1, where=True):
    if dtype is None:
        if where is True:
            present = ~np.isnan(a)
        else:
            present = where & ~np.isnan(a)
        if is_real(initial):
            start = initial
        else:
            start = cast_like(initial, y)
        chosen = np.where(present, a, 1.0)
        others = start * np.where(present, product_of_others(chosen, axis), 0.0)
        product = np.prod(chosen, axis=axis, keepdims=keepdims)
        y_dot = np.sum(
            others * np.where(present, a_dot, 0.0), axis=axis, keepdims=keepdims
        ) + product * cast_like(initial_dot, y)
        a_bar = kept(y_bar, axis, keepdims) * conj(others)
        initial_bar = unbroadcast(y_bar * conj(product), initial)


# ----------------------------------------------------- largest and smallest: ties share


@rule(
    *(np.max, np.min, np.ndarray.max, np.ndarray.min, np.amax, np.amin),
    *(np.maximum.reduce, np.minimum.reduce),
    kind=reduction,
)
def extremum(y, a, axis=None, *, keepdims=False, initial=None, where=True):
    share = extremum_share(a, kept(y, axis, keepdims), axis, where)
    rest = 1.0 - np.sum(share, axis=axis, keepdims=keepdims)
    if where is True:
        y_dot = np.sum(share * a_dot, axis=axis, keepdims=keepdims) + rest * cast_like(
            initial_dot, y
        )
    else:
        y_dot = np.sum(
            share * np.where(where, a_dot, 0.0), axis=axis, keepdims=keepdims
        ) + rest * cast_like(initial_dot, y)
    a_bar = kept(y_bar, axis, keepdims) * share
    initial_bar = unbroadcast(rest * y_bar, initial)


@rule(np.nanmax, np.nanmin, kind=reduction)
def nan_extremum(y, a, axis=None, *, keepdims=False, initial=None, where=True):
    share = extremum_share(a, kept(y, axis, keepdims), axis, where)
    rest = 1.0 - np.sum(share, axis=axis, keepdims=keepdims)
    y_dot = np.sum(
        share * np.where(np.isnan(a), 0.0, a_dot), axis=axis, keepdims=keepdims
    ) + rest * cast_like(initial_dot, y)
    a_bar = kept(y_bar, axis, keepdims) * share
    initial_bar = unbroadcast(rest * y_bar, initial)


@rule(np.ptp, kind=reduction)
def ptp(y, a, axis=None, *, keepdims=False):
    top = extremum_share(a, np.max(a, axis=axis, keepdims=True), axis)
    bottom = extremum_share(a, np.min(a, axis=axis, keepdims=True), axis)
    y_dot = np.sum((top - bottom) * a_dot, axis=axis, keepdims=keepdims)
    a_bar = kept(y_bar, axis, keepdims) * (top - bottom)


# ---------------------------------------------------------------------- variance, spread


@rule(np.var, np.ndarray.var, kind=real_reduction)
def var(y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    if dtype is None and where is True and is_real(a):
        if ddof == 0:
            count = reduced_size(a, axis)
        else:
            count = reduced_size(a, axis) - ddof
        if axis is None:
            centred = a - np.mean(a)
        elif axis == 0:
            centred = a - np.mean(a, axis=0)
        else:
            centred = a - np.mean(a, axis=axis, keepdims=True)
        y_dot = 2.0 * np.sum(centred * a_dot, axis=axis, keepdims=keepdims) / count
        a_bar = 2.0 * kept(y_bar, axis, keepdims) * centred / count
    elif dtype is None and where is True:
        count = reduced_size(a, axis) - ddof
        centred = a - np.mean(a, axis=axis, keepdims=True)
        y_dot = 2.0 * np.sum(np.real(conj(centred) * a_dot), axis=axis, keepdims=keepdims) / count
        a_bar = 2.0 * kept(np.real(y_bar), axis, keepdims) * centred / count
    elif dtype is None:
        count = reduced_count(a, axis, where) - ddof
        slope = 2.0 * deviations(a, axis, where) / count
        y_dot = np.sum(np.real(conj(slope) * a_dot), axis=axis, keepdims=keepdims)
        a_bar = cast_like(kept(np.real(y_bar), axis, keepdims) * slope, a)


@rule(np.std, np.ndarray.std, kind=real_reduction)
def std(y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    if dtype is None and where is True:
        if ddof == 0:
            count = reduced_size(a, axis)
        else:
            count = reduced_size(a, axis) - ddof
        slope = ratio_or_zero(deviations(a, axis), kept(y, axis, keepdims) * count)
        y_dot = np.sum(np.real(conj(slope) * a_dot), axis=axis, keepdims=keepdims)
        a_bar = kept(np.real(y_bar), axis, keepdims) * slope
    elif dtype is None:
        count = reduced_count(a, axis, where) - ddof
        slope = ratio_or_zero(deviations(a, axis, where), kept(y, axis, keepdims) * count)
        y_dot = np.sum(np.real(conj(slope) * a_dot), axis=axis, keepdims=keepdims)
        a_bar = cast_like(kept(np.real(y_bar), axis, keepdims) * slope, a)


@rule(np.nanvar, kind=real_reduction)
def nanvar(y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    if dtype is None:
        if where is True:
            present = ~np.isnan(a)
        else:
            present = where & ~np.isnan(a)
        count = reduced_count(a, axis, present) - ddof
        slope = 2.0 * ratio_or_zero(deviations(np.where(present, a, 0.0), axis, present), count)
        change = np.where(present, a_dot, 0.0)
        y_dot = np.sum(np.real(conj(slope) * change), axis=axis, keepdims=keepdims)
        a_bar = cast_like(kept(np.real(y_bar), axis, keepdims) * slope, a)


@rule(np.nanstd, kind=real_reduction)
def nanstd(y, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True):
    if dtype is None:
        if where is True:
            present = ~np.isnan(a)
        else:
            present = where & ~np.isnan(a)
        count = reduced_count(a, axis, present) - ddof
        slope = ratio_or_zero(
            deviations(np.where(present, a, 0.0), axis, present), kept(y, axis, keepdims) * count
        )
        change = np.where(present, a_dot, 0.0)
        y_dot = np.sum(np.real(conj(slope) * change), axis=axis, keepdims=keepdims)
        a_bar = cast_like(kept(np.real(y_bar), axis, keepdims) * slope, a)


# ---------------------------------------------------------------------------- cumulative


def _cumulative(call, kind_of):
    """The kind of the argument where an axis is given, otherwise a vector, as for rank 0."""
    kind = _summed(kind_of(call.args[0]), call)
    axis = argument(call, 1, "axis")
    if axis == ir.Const(None) or kind.rank == 0:
        return flattened(kind)
    if kind.form != "array":
        return unknown(call, kind_of)
    return kind if kind_of(axis).integer else Kind("array", kind.dtype)


def _summed(kind, call):
    """A kind with the dtype of sums of its entries."""
    plain = kind.dtype != "bool" and "dtype" not in dict(call.kwargs) and len(call.args) < 3
    return kind if plain else replace(kind, dtype="?")


@rule(np.cumsum, np.ndarray.cumsum, np.add.accumulate, kind=_cumulative)
def cumsum(y, a, axis=None, dtype=None):
    if dtype is None:
        y_dot = np.cumsum(a_dot, axis=axis)
        a_bar = uncumsum(y_bar, a, axis)


@rule("numpy.cumulative_sum", kind=unknown)
def cumulative_sum(y, x, *, axis=None, dtype=None, include_initial=False):
    if dtype is None and include_initial is False:
        y_dot = np.cumsum(x_dot, axis=axis)
        x_bar = uncumsum(y_bar, x, axis)


@rule(np.nancumsum, kind=_cumulative)
def nancumsum(y, a, axis=None, dtype=None):
    if dtype is None:
        y_dot = np.cumsum(np.where(np.isnan(a), 0.0, a_dot), axis=axis)
        a_bar = np.where(np.isnan(a), 0.0, uncumsum(y_bar, a, axis))


@rule(np.cumprod, np.ndarray.cumprod, np.multiply.accumulate, kind=_cumulative)
def cumprod(y, a, axis=None, dtype=None):
    if dtype is None:
        y_dot = cumprod_dot(a_dot, a, axis)
        a_bar = uncumprod(y_bar, conj(a), axis)


@rule("numpy.cumulative_prod", kind=unknown)
def cumulative_prod(y, x, *, axis=None, dtype=None, include_initial=False):
    if dtype is None and include_initial is False:
        y_dot = cumprod_dot(x_dot, x, axis)
        x_bar = uncumprod(y_bar, conj(x), axis)


@rule(np.nancumprod, kind=_cumulative)
def nancumprod(y, a, axis=None, dtype=None):
    if dtype is None:
        missing = np.isnan(a)
        known = np.where(missing, 1.0, a)
        y_dot = cumprod_dot(np.where(missing, 0.0, a_dot), known, axis)
        a_bar = np.where(missing, 0.0, uncumprod(y_bar, conj(known), axis))


# ------------------------------------------------------------------ differences, integrals


def _diff_view(call: ir.Call) -> str:
    """NumPy gives the array itself where it takes no differences."""
    n = dict(call.kwargs).get("n", call.args[1] if len(call.args) > 1 else ir.Const(1))
    return "no" if isinstance(n, ir.Const) and n.value != 0 else "maybe"


def _neighbours(call, kind_of):
    """One less along an axis; of further differences nothing is said."""
    kind, axis = kind_of(call.args[0]), argument(call, 2, "axis", -1)
    if not kind.rank:
        return unknown(call, kind_of)
    place = literal(axis) if is_literal(axis) else None
    there = type(place) is int and -kind.rank <= place < kind.rank  # (else the call raises)
    if argument(call, 1, "n", 1) != ir.Const(1) or not there:
        return Kind("array", kind.dtype, (None,) * kind.rank)
    sizes = [*kind.shape]
    sizes[place] = sliced(sizes[place], ir.Slice(ir.Const(1)))
    return Kind("array", kind.dtype, tuple(sizes))


@rule(np.diff, kind=_neighbours, view=_diff_view)
def diff(y, a, n=1, axis=-1):
    y_dot = np.diff(a_dot, n=n, axis=axis)
    a_bar = undiff(y_bar, a, n, axis)


linear("np.ediff1d(ary)", "reshape_like(undiff(y_bar, np.ravel(ary)), ary)", array_of_rank(1, "?"))


def _slopes(call, kind_of):
    """An array for each axis, in a sequence where there are several."""
    kind, words = kind_of(call.args[0]), dict(call.kwargs)
    if kind.form != "array" or not kind.rank:
        return UNKNOWN
    one = Kind("array", kind.dtype if kind.dtype == "complex" else "float", kind.shape)
    axis = words.get("axis", ir.Const(None))
    if kind_of(axis).integer or (kind.rank == 1 and axis == ir.Const(None)):
        return one
    if axis != ir.Const(None):
        return UNKNOWN
    return Kind(SEQUENCE, items=(one,) * kind.rank)


@rule(np.gradient, kind=_slopes)
def gradient(y, f, *varargs, axis=None, edge_order=1):
    if varargs == ():
        y_dot = spaced_gradient(f_dot, varargs, axis, edge_order)
    else:
        y_dot = accumulate(
            spaced_gradient(f_dot, varargs, axis, edge_order),
            gradient_steps_dot(f, varargs, varargs_dot, axis, edge_order),
        )
    f_bar = gradient_bar(y_bar, f, varargs, axis, edge_order)
    varargs_bar = gradient_steps_bar(y_bar, conj(f), varargs, axis, edge_order)


def _area(call, kind_of):
    """A number, of a vector."""
    y, more = kind_of(call.args[0]), {word for word, _ in call.kwargs} - {"dx"}
    if y.form == "array" and y.rank == 1 and len(call.args) == 1 and not more:
        return Kind("number", y.dtype, ())
    x = argument(call, 1, "x")
    if y.form == "array" and y.rank == 1 and kind_of(x).rank == 1 and len(call.args) < 4:
        return Kind("number", promote(y.dtype, kind_of(x).dtype), ())
    return unknown(call, kind_of)


@rule("numpy.trapezoid", "numpy.trapz", runtime.trapezoid, kind=_area)
def trapezoid(z, y, x=None, dx=1.0, axis=-1):
    if x is None:
        z_dot = trapezoid(y_dot, None, dx, axis) + trapezoid(y, None, dx_dot, axis)
        y_bar = trapezoid_bar(z_bar, y, None, conj(dx), axis)
        dx_bar = np.sum(z_bar * conj(trapezoid(y, None, 1.0, axis)))
    else:
        z_dot = trapezoid(y_dot, x, dx, axis) + trapezoid(y, x_dot, dx, axis)
        y_bar = trapezoid_bar(z_bar, y, conj(x), dx, axis)
        x_bar = trapezoid_bar_x(z_bar, conj(y), x, axis)


# ------------------------------------------------------------------ interpolation, counts


def _interpolated(call, kind_of):
    kind = scalar_or_array(call, kind_of)
    dtypes = {kind.dtype, kind_of(call.args[2]).dtype} if len(call.args) > 2 else {"?"}
    return replace(kind, dtype=next((t for t in ("?", "complex") if t in dtypes), kind.dtype))


@rule(np.interp, kind=_interpolated)
def interp(y, x, xp, fp):
    slope = interp_slope(x, xp, fp)
    y_dot = slope * x_dot + np.interp(x, xp, fp_dot) - slope * np.interp(x, xp, xp_dot)
    x_bar = y_bar * conj(slope)
    xp_bar = interp_bar(-(y_bar * conj(slope)), x, xp)
    fp_bar = interp_bar(y_bar, x, xp)


def _at_knots(call, kind_of):
    """Adjoints of knots: complex where those that they are made of are."""
    return Kind("array", kind_of(call.args[0]).dtype, (None,))


@rule(runtime.interp_bar, kind=_at_knots)
def interp_bar(y, g, x, xp):
    y_dot = (
        interp_bar(g_dot, x, xp)
        + interp_slope_bar(g * x_dot, x, xp)
        - interp_slope_bar(g * np.interp(x, xp, xp_dot), x, xp)
    )
    g_bar = np.interp(x, xp, y_bar)
    x_bar = conj(g) * interp_slope(x, xp, y_bar)
    xp_bar = interp_bar(-(conj(g) * interp_slope(x, xp, y_bar)), x, xp)


@rule(runtime.interp_slope, kind=_interpolated)
def interp_slope(y, x, xp, fp):
    y_dot = interp_slope(x, xp, fp_dot) - y * interp_slope(x, xp, xp_dot)
    x_bar = 0
    xp_bar = interp_slope_bar(-(y_bar * conj(y)), x, xp)
    fp_bar = interp_slope_bar(y_bar, x, xp)


@rule(runtime.interp_slope_bar, kind=_at_knots)
def interp_slope_bar(y, g, x, xp):
    slope = interp_slope(x, xp, xp_dot)
    y_dot = interp_slope_bar(g_dot, x, xp) - interp_slope_bar(g * slope, x, xp)
    g_bar = interp_slope(x, xp, y_bar)
    x_bar = 0
    xp_bar = interp_slope_bar(-(conj(g) * interp_slope(x, xp, y_bar)), x, xp)


@rule(runtime.evaluated, kind=unknown)
def evaluated(y, f, q, nu=0):
    dy_dq = evaluated(f, q, nu + 1)


@rule(runtime.interpolant, kind=unknown)
def interpolant(z, maker, options, q, x, y, nu=0):
    matrix = interpolation_matrix(maker, options, q, x, y, nu)
    slope = interpolant(maker, options, q, x, y, nu + 1)
    z_dot = matrix @ y_dot + slope * q_dot
    q_bar = z_bar * conj(slope)
    y_bar = np.tensordot(z_bar, matrix, np.ndim(q))


@rule(runtime.interpolation_matrix, kind=unknown)
def interpolation_matrix(m, maker, options, q, x, y, nu=0):
    slope = interpolation_matrix(maker, options, q, x, y, nu + 1)
    m_dot = slope * np.expand_dims(q_dot, -1)
    q_bar = np.sum(m_bar * slope, axis=-1)
    y_bar = 0


def _of_weights(call, kind_of):
    """A vector of sums of weights; without any, of counts."""
    weights = argument(call, 1, "weights")
    real = weights is not None and kind_of(weights).form in ("array", "list")
    return Kind("array", "int" if weights == ir.Const(None) else "float" if real else "?", (None,))


@rule(np.bincount, kind=_of_weights)
def bincount(y, x, weights=None, minlength=0):
    y_dot = np.bincount(x, weights=weights_dot, minlength=minlength)
    x_bar = 0
    weights_bar = unbincount(y_bar, x, weights)


@rule(np.histogram, kind=unknown)
def histogram(y, a, bins=10, range=None, density=None, weights=None):
    # By a: the counts are constant, the bins move; neither is what somebody asks for.
    if density is None or density is False:
        y_dot = (weight_in_bins(weights_dot, a, y[1]), np.zeros_like(y[1]))
        weights_bar = unhistogram(y_bar[0], a, y[1])


linear("weight_in_bins(weights, a, edges)", "unhistogram(y_bar, a, edges)", array_of_rank(1))
linear("unhistogram(g, a, edges)", "weight_in_bins(y_bar, a, edges)", same_as(1))


# --------------------------------------------------------------- covariance, correlation


def _of_pairs(call, kind_of):
    """A number for each two of the rows (or columns, for `rowvar=False`) of a matrix: of one row
    it is a number."""
    kind, rowvar = kind_of(call.args[0]), argument(call, 2, "rowvar", True)
    if kind.form != "array" or argument(call, 1, "y") != ir.Const(None) or not is_literal(rowvar):
        return UNKNOWN
    if kind.rank != 2 or "dtype" in dict(call.kwargs) or kind.dtype not in ("float", "complex"):
        return UNKNOWN
    size = kind.shape[0 if literal(rowvar) else 1]
    return Kind("array", kind.dtype, (size, size)) if is_many(size) else UNKNOWN


@rule(np.cov, kind=_of_pairs)
def cov(c, m, y=None, rowvar=True, bias=False, ddof=None):
    if y is None and rowvar is True:
        count = cov_count(m, True, bias, ddof)
        centred = deviations(m, -1)
        c_dot = cov_product(centred, m_dot, count) + cov_product(m_dot, centred, count)
        m_bar = cov_bar(c_bar, centred, count)
    elif y is None and rowvar is False:
        count = cov_count(m, False, bias, ddof)
        centred = deviations(m.T, -1)
        c_dot = cov_product(centred, m_dot.T, count) + cov_product(m_dot.T, centred, count)
        m_bar = cov_bar(c_bar, centred, count).T


@rule(np.corrcoef, kind=_of_pairs)
def corrcoef(c, x, y=None, rowvar=True):
    if y is None and rowvar is True:
        unit = unit_deviations(x)
        change = unit_deviations_dot(x, x_dot)
        c_dot = cov_product(unit, change, 1) + cov_product(change, unit, 1)
        x_bar = unit_deviations_bar(x, cov_bar(c_bar, unit, 1))
    elif y is None and rowvar is False:
        unit = unit_deviations(x.T)
        change = unit_deviations_dot(x.T, x_dot.T)
        c_dot = cov_product(unit, change, 1) + cov_product(change, unit, 1)
        x_bar = unit_deviations_bar(x.T, cov_bar(c_bar, unit, 1)).T


# --------------------------------------------------------------- methods of ufuncs


@rule(np.maximum.accumulate, np.minimum.accumulate, kind=first)
def extremum_accumulate(y, array, axis=0, dtype=None):
    if dtype is None:
        places = running_places(array, y, axis)
        y_dot = np.take_along_axis(array_dot, places, axis)
        array_bar = untake_along_axis(y_bar, array, places, axis)


def _of_same_rank(call, kind_of):
    kind = kind_of(call.args[0])
    dtype = "int" if kind.dtype == "bool" else kind.dtype
    return Kind("array", dtype, None if kind.rank is None else (None,) * kind.rank)


@rule(np.add.reduceat, kind=_of_same_rank)
def add_reduceat(y, array, indices, axis=0, dtype=None):
    if dtype is None:
        y_dot = np.add.reduceat(array_dot, indices, axis=axis)
        array_bar = unreduceat(y_bar, array, indices, axis)


linear(
    "unreduceat(g, like, indices, axis=0)", "np.add.reduceat(y_bar, indices, axis=axis)", same_as(1)
)


# ---------------------------------------- helpers of these rules, linear in what comes in


linear(
    "unreduce(g, like, axis=None, keepdims=False)",
    "np.sum(y_bar, axis=axis, keepdims=keepdims)",
    same_as(1),
    "maybe",
)
linear("kept(g, axis=None, keepdims=False)", "reshape_like(y_bar, g)", unknown, "view")
linear("deviations(x, axis=None, where=True)", "deviations(y_bar, axis, where)", first)
linear("uncumsum(g, like, axis=None)", "np.cumsum(y_bar, axis=axis)", same_as(1))
linear("undiff(g, x, n=1, axis=-1)", "np.diff(y_bar, n=n, axis=axis)", same_as(1), "maybe")


@rule(runtime.spaced_gradient, kind=unknown)
def spaced_gradient(y, x, spacing=(), axis=None, edge_order=1):
    y_dot = accumulate(
        spaced_gradient(x_dot, spacing, axis, edge_order),
        gradient_steps_dot(x, spacing, spacing_dot, axis, edge_order),
    )
    x_bar = gradient_bar(y_bar, x, spacing, axis, edge_order)
    spacing_bar = tuple(gradient_steps_bar(y_bar, conj(x), spacing, axis, edge_order))


@rule(runtime.gradient_bar, kind=same_as(1))
def gradient_bar(y, g, x, spacing=(), axis=None, edge_order=1):
    y_dot = gradient_bar(g_dot, x, spacing, axis, edge_order) + gradient_bar_dot(
        g, x, spacing, spacing_dot, axis, edge_order
    )
    g_bar = spaced_gradient(y_bar, spacing, axis, edge_order)
    spacing_bar = tuple(gradient_steps_bar(g, conj(y_bar), spacing, axis, edge_order))
    x_bar = 0


linear(
    "align_weights(weights, x, axis=None)",
    "unalign_weights(y_bar, weights, x, axis)",
    unknown,
    "maybe",
)
linear(
    "unalign_weights(g, weights, x, axis=None)", "align_weights(y_bar, x, axis)", unknown, "maybe"
)
linear(
    "unbincount(g, x, weights)",
    "np.bincount(np.ravel(x), weights=np.ravel(y_bar), minlength=len(g))",
    same_as(2),
)


# Piecewise constant, or a count.
nondifferentiable(
    runtime.reduced_size,
    *(runtime.reduced_count, runtime.greatest_weighed),
    runtime.extremum_share,
    runtime.interval,
    runtime.cov_count,
    runtime.running_places,
)
