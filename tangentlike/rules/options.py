"""Programs for the calls of an operation that its rule does not state: less usual options.

Each computes what NumPy's function of the same name computes; `CALLS` says which calls of it the
rule states, and every other one is read as the program (see `definitions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import runtime

# ------------------------------------------------------------------- interpolation, statistics


def interp(x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        return _interp_round(x, xp, fp, abs(period))
    y = np.interp(x, xp, fp)
    if left is not None:
        y = np.where(np.less(x, xp[0]), left, y)[()]
    if right is not None:
        y = np.where(np.greater(x, xp[-1]), right, y)[()]
    return y


def _interp_round(x, xp, fp, period):
    inside = np.asarray(xp) % period
    order = np.argsort(inside)
    knots = inside[order]
    values = np.asarray(fp)[order]
    all_knots = np.concatenate([knots[-1:] - period, knots, knots[:1] + period])
    all_values = np.concatenate([values[-1:], values, values[:1]])
    return np.interp(np.mod(x, period), all_knots, all_values)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    x = _variables(m, rowvar)
    if y is not None:
        x = np.concatenate([x, _variables(y, rowvar)])
    if ddof is None:
        ddof = 0 if bias else 1
    weights = np.ones(x.shape[1])
    if fweights is not None:
        weights = weights * np.asarray(fweights)
    if aweights is not None:
        weights = weights * np.asarray(aweights)
    total = np.sum(weights)
    lost = ddof * np.sum(weights * np.asarray(aweights)) / total if aweights is not None else ddof
    centred = x - np.expand_dims(x @ weights / total, 1)
    return np.squeeze((centred * weights) @ np.conj(centred).T / (total - lost))


def _variables(m, rowvar):
    if np.ndim(m) == 1 or rowvar:
        return np.atleast_2d(m)
    return np.atleast_2d(m).T


def corrcoef(x, y=None, rowvar=True):
    c = np.atleast_2d(cov(x, y, rowvar))
    scale = np.sqrt(np.real(np.diag(c)))
    return np.squeeze(c / scale[:, None] / scale)


def cumulative_sum(x, *, axis=None, include_initial=False):
    return np.insert(np.cumsum(x, axis=axis), 0, 0.0, axis=axis)


def cumulative_prod(x, *, axis=None, include_initial=False):
    return np.insert(np.cumprod(x, axis=axis), 0, 1.0, axis=axis)


# -------------------------------------------------------------------------------- differences


def diff(a, n=1, axis=-1, prepend=None, append=None):
    parts = [a]
    one = [1 if i == axis % np.ndim(a) else size for i, size in enumerate(np.shape(a))]
    if prepend is not None:
        parts.insert(0, prepend if np.ndim(prepend) else np.broadcast_to(prepend, one))
    if append is not None:
        parts.append(append if np.ndim(append) else np.broadcast_to(append, one))
    return np.diff(np.concatenate(parts, axis=axis), n=n, axis=axis)


def ediff1d(ary, to_end=None, to_begin=None):
    entries = np.ravel(ary)
    parts = [np.diff(entries)]
    if to_begin is not None:
        parts.insert(0, np.ravel(to_begin))
    if to_end is not None:
        parts.append(np.ravel(to_end))
    return np.concatenate(parts, dtype=entries.dtype)


# -------------------------------------------------------------------------------- histograms


def histogram(a, bins=10, range=None, density=None, weights=None):
    counts, edges = np.histogram(a, bins, range, weights=weights)
    if density:
        return counts / np.diff(edges) / np.sum(counts), edges
    return counts, edges


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    given = [bins, bins] if np.ndim(bins) == 1 and len(bins) > 2 else bins
    edges = np.histogramdd([x, y], given, range)[1]
    return _binned([x, y], edges, density, weights), edges[0], edges[1]


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    edges = np.histogramdd(sample, bins, range)[1]
    columns = sample if isinstance(sample, list) else np.transpose(sample)
    return _binned(columns, edges, density, weights), edges


def _binned(samples, edges, density, weights):
    shape = [len(limits) - 1 for limits in edges]
    places = runtime.histogram_places(samples, edges)
    total = int(np.prod(shape))
    counts = np.reshape(np.bincount(places, weights, minlength=total + 1)[:total], shape)
    if density:
        return counts / _cells(edges) / np.sum(counts)
    return counts


def _cells(edges):
    """The volume of each bin."""
    volume = np.ones(())
    for limits in edges:
        volume = np.multiply.outer(volume, np.diff(limits))
    return volume


# ----------------------------------------------------------------------------------- products


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        return np.cross(a, b, axis=axis)
    product = np.cross(np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1))
    if np.shape(a)[axisa] == 2 and np.shape(b)[axisb] == 2:
        return product
    return np.moveaxis(product, -1, axisc)


# ------------------------------------------------------------------------------------ padding


def pad(array, pad_width, mode="constant", *, stat_length=None, constant_values=0, end_values=0):
    """Axis after axis, each over what the ones before have made, as NumPy does it."""
    if mode == "edge":
        return np.pad(array, pad_width, mode="edge")
    if mode == "reflect":
        return np.pad(array, pad_width, mode="reflect")
    if mode == "symmetric":
        return np.pad(array, pad_width, mode="symmetric")
    if mode == "wrap":
        return np.pad(array, pad_width, mode="wrap")
    result = np.reshape(array, np.shape(array))  # (of a list, too)
    widths = runtime.pad_widths(pad_width, np.ndim(array))
    lengths = np.broadcast_to(stat_length, (np.ndim(array), 2))
    given = end_values if mode == "linear_ramp" else constant_values
    ends = np.broadcast_to(np.asarray(given), lengths.shape).astype(result.dtype)
    for axis in range(np.ndim(array)):
        rows = np.moveaxis(result, axis, 0)
        before = _border(rows, widths[axis][0], mode, lengths[axis, 0], ends[axis, 0])
        after = _border(rows[::-1], widths[axis][1], mode, lengths[axis, 1], ends[axis, 1])
        result = np.moveaxis(np.concatenate([before, rows, after[::-1]]), 0, axis)
    return result


def _border(rows, width, mode, length, end):
    """The rows in front of the first one, outermost first."""
    if mode == "constant":
        return np.zeros_like(rows, shape=(width, *rows.shape[1:])) + end
    if mode == "linear_ramp":
        part = (np.arange(width) / max(width, 1)).astype(rows.dtype)
        return end + (rows[:1] - end) * np.reshape(part, (-1,) + (1,) * (rows.ndim - 1))
    some = rows if length is None else rows[:length]
    if mode == "mean":
        value = np.mean(some, axis=0, keepdims=True)
    elif mode == "median":
        value = np.median(some, axis=0, keepdims=True)
    elif mode == "maximum":
        value = np.max(some, axis=0, keepdims=True)
    elif mode == "minimum":
        value = np.min(some, axis=0, keepdims=True)
    else:
        raise ValueError(f"np.pad has no mode {mode!r} that is differentiated")
    return np.repeat(value, width, axis=0)


# ------------------------------------------------------------------------------ new arrays


def array(object, dtype=None, copy=True, subok=False):
    if copy:
        return np.array(object, dtype)
    if subok:
        return np.asanyarray(object, dtype)
    return np.asarray(object, dtype)  # (the same array where it can be)


# ------------------------------------------------------------------------- sums of exponentials


def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    weights = 1.0 if b is None else b
    top = runtime.greatest_weighed(a, weights, axis)
    total = np.sum(weights * np.exp(a - top), axis=axis, keepdims=keepdims)
    if not keepdims:
        top = np.squeeze(top, axis=axis)
    if return_sign:
        return np.log(np.abs(total)) + top, np.sign(total)
    return np.log(total) + top


# ------------------------------------------------------------------------- filters, medians


def lfilter(b, a, x, axis=-1, zi=None):
    """From a state at the start to that at the end: each number of a state is one that an impulse
    brought, so many steps later."""
    from scipy import signal

    b, a = np.atleast_1d(b), np.atleast_1d(a)
    rows, state = np.moveaxis(x, axis, -1), np.moveaxis(zi, axis, -1)
    count, order = rows.shape[-1], max(len(a), len(b)) - 1
    pulse = np.where(np.arange(count) == 0, a[0], 0.0)
    answer = signal.lfilter(np.ones(1), a, pulse)
    y = signal.lfilter(b, a, rows)
    for k in range(min(order, count)):
        y = y + state[..., k : k + 1] * np.concatenate([np.zeros(k), answer[: count - k]])
    ends = []
    for k in range(order):
        end = state[..., k + count] if k + count < order else np.zeros(rows.shape[:-1])
        for j in range(k + 1, order + 1):
            if count + k >= j and j < len(b):
                end = end + b[j] / a[0] * rows[..., count + k - j]
            if count + k >= j and j < len(a):
                end = end - a[j] / a[0] * y[..., count + k - j]
        ends.append(end)
    return np.moveaxis(y, -1, axis), np.moveaxis(np.stack(ends, axis=-1), -1, axis)


def median(a, axis=None, *, overwrite_input=False, keepdims=False):
    """(What it leaves of an input that it may overwrite is not documented: here, all of it.)"""
    return np.median(a, axis, keepdims=keepdims)


def nanmedian(a, axis=None, *, overwrite_input=False, keepdims=False):
    return np.nanmedian(a, axis, keepdims=keepdims)


# ---------------------------------------------------------------------- Python's own functions


def max_or_default(values, *, default):
    items = list(values)
    return max(items) if len(items) > 0 else default


def min_or_default(values, *, default):
    items = list(values)
    return min(items) if len(items) > 0 else default


# ------------------------------------------------------------------------------- spread, means


def var(a, axis=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    left = ddof if correction is None else correction
    if mean is None:
        return np.var(a, axis, ddof=left, keepdims=keepdims, where=where)
    return _variance(a, mean, axis, left, keepdims, where)


def std(a, axis=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    left = ddof if correction is None else correction
    if mean is None:
        return np.std(a, axis, ddof=left, keepdims=keepdims, where=where)
    return _root(_variance(a, mean, axis, left, keepdims, where))


def nanvar(a, axis=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    left = ddof if correction is None else correction
    if mean is None:
        return np.nanvar(a, axis, ddof=left, keepdims=keepdims, where=where)
    known = ~np.isnan(a)
    return _variance(np.where(known, a, 0.0), mean, axis, left, keepdims, known & where)


def nanstd(a, axis=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    left = ddof if correction is None else correction
    if mean is None:
        return np.nanstd(a, axis, ddof=left, keepdims=keepdims, where=where)
    known = ~np.isnan(a)
    return _root(_variance(np.where(known, a, 0.0), mean, axis, left, keepdims, known & where))


def _variance(a, mean, axis, ddof, keepdims, where):
    """About a mean that is given: of all entries, or of those in the mask."""
    centred = np.where(where, a - mean, 0.0)
    squares = np.sum(np.real(centred * np.conj(centred)), axis=axis, keepdims=keepdims)
    count = np.reshape(runtime.reduced_count(a, axis, where), np.shape(squares))
    return squares / np.maximum(count - ddof, 0)


def _root(variance):
    """(The derivative at zero is zero, as that of `np.std`.)"""
    spread = variance > 0.0
    return np.where(spread, np.sqrt(np.where(spread, variance, 1.0)), variance)[()]


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    each = np.ones_like(a) * runtime.align_weights(weights, a, axis)
    mean = np.average(a, axis, weights, keepdims=keepdims)
    return mean, np.sum(each, axis=axis, keepdims=keepdims)


# Of each operation: its program, and the arguments that need it, with the values for which the rule
# does as well (`...`: any literal).
CALLS: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]] = {
    "builtins.max": (max_or_default, {"default": ()}),
    "builtins.min": (min_or_default, {"default": ()}),
    "numpy.array": (array, {"copy": (True,), "subok": (False,)}),
    "numpy.cross": (cross, {"axisa": (), "axisb": (), "axisc": ()}),
    "numpy.interp": (interp, {"left": (), "right": (), "period": ()}),
    "numpy.cov": (cov, {"y": (), "fweights": (), "aweights": ()}),
    "numpy.corrcoef": (corrcoef, {"y": ()}),
    "numpy.histogram": (histogram, {"density": (None, False)}),
    "numpy.histogram2d": (histogram2d, {"bins": (), "weights": ()}),
    "numpy.histogramdd": (histogramdd, {"bins": (), "weights": ()}),
    "numpy.median": (median, {"overwrite_input": ()}),
    "numpy.nanmedian": (nanmedian, {"overwrite_input": ()}),
    "scipy.signal._signaltools.lfilter": (lfilter, {"zi": ()}),
    "numpy.diff": (diff, {"prepend": (), "append": ()}),
    "numpy.ediff1d": (ediff1d, {"to_end": (), "to_begin": ()}),
    "numpy.cumulative_sum": (cumulative_sum, {"include_initial": ()}),
    "numpy.cumulative_prod": (cumulative_prod, {"include_initial": ()}),
    "scipy.special._logsumexp.logsumexp": (logsumexp, {"b": (), "return_sign": ()}),
    **{
        f"numpy.{program.__name__}": (program, {"mean": (), "correction": ()})
        for program in (var, std, nanvar, nanstd)
    },
    "numpy.average": (average, {"returned": (False,)}),
    "numpy.pad": (
        pad,
        {
            "stat_length": (),
            "end_values": (),
            "mode": ("constant", "edge", "reflect", "symmetric", "wrap", "empty"),
            "constant_values": (...,),
        },
    ),
}


# --------------------------------------------------------------------------------------------------
# The functions of `np.emath` as programs: those of NumPy, with complex results where real numbers
# have no real ones.


def _with_roots(x):
    """Complex if some of it is real and negative."""
    if np.any(np.isreal(x) & (np.real(x) < 0.0)):
        return x + 0j
    return x


def _within_one(x):
    """Complex if some of it is real and beyond 1 or -1."""
    if np.any(np.isreal(x) & (np.abs(x) > 1.0)):
        return x + 0j
    return x


def sqrt(x):
    return np.sqrt(_with_roots(np.asarray(x)))


def log(x):
    return np.log(_with_roots(np.asarray(x)))


def log10(x):
    return np.log10(_with_roots(np.asarray(x)))


def log2(x):
    return np.log2(_with_roots(np.asarray(x)))


def logn(n, x):
    return np.log(_with_roots(np.asarray(x))) / np.log(_with_roots(np.asarray(n)))


def power(x, p):
    base, exponent = np.asarray(x), np.asarray(p)
    if np.any(exponent < 0):
        exponent = exponent * 1.0
    return np.power(_with_roots(base), exponent)


def arccos(x):
    return np.arccos(_within_one(np.asarray(x)))


def arcsin(x):
    return np.arcsin(_within_one(np.asarray(x)))


def arctanh(x):
    return np.arctanh(_within_one(np.asarray(x)))
