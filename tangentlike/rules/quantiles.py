"""Rules of order statistics: a quantile is a mean of two entries, weighted by its level `q`.

`quantile_dot`, `quantile_bar` and the like have no rules: they are plain NumPy, read as callees
where a derivative is differentiated again.
"""

import numpy as np

from .. import runtime
from .book import nondifferentiable, rule
from .kinds_of import reduction, unknown


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


@rule(np.quantile, kind=unknown)
def quantile(y, a, q, axis=None, *, method="linear", keepdims=False):
    weights = quantile_weights(a, q, axis, method)
    slopes = quantile_slopes(a, q, axis, method)
    y_dot = quantile_dot(weights, a_dot, axis, keepdims) + quantile_dot(
        slopes, a, axis, keepdims
    ) * along_levels(q_dot, y)
    a_bar = quantile_bar(y_bar, weights, a, axis, keepdims)
    q_bar = by_level(y_bar * quantile_dot(slopes, a, axis, keepdims), q)


@rule(np.percentile, kind=unknown)
def percentile(y, a, q, axis=None, *, method="linear", keepdims=False):
    level = np.divide(q, 100.0)
    weights = quantile_weights(a, level, axis, method)
    slopes = quantile_slopes(a, level, axis, method)
    y_dot = (
        quantile_dot(weights, a_dot, axis, keepdims)
        + quantile_dot(slopes, a, axis, keepdims) * along_levels(q_dot, y) / 100.0
    )
    a_bar = quantile_bar(y_bar, weights, a, axis, keepdims)
    q_bar = by_level(y_bar * quantile_dot(slopes, a, axis, keepdims), q) / 100.0


@rule(np.nanquantile, kind=unknown)
def nanquantile(y, a, q, axis=None, *, method="linear", keepdims=False):
    known = np.where(np.isnan(a), 0.0, a)
    weights = quantile_weights(a, q, axis, method, skip_nan=True)
    slopes = quantile_slopes(a, q, axis, method, skip_nan=True)
    y_dot = quantile_dot(weights, np.where(np.isnan(a), 0.0, a_dot), axis, keepdims) + quantile_dot(
        slopes, known, axis, keepdims
    ) * along_levels(q_dot, y)
    a_bar = quantile_bar(y_bar, weights, a, axis, keepdims)
    q_bar = by_level(y_bar * quantile_dot(slopes, known, axis, keepdims), q)


@rule(np.nanpercentile, kind=unknown)
def nanpercentile(y, a, q, axis=None, *, method="linear", keepdims=False):
    known = np.where(np.isnan(a), 0.0, a)
    level = np.divide(q, 100.0)
    weights = quantile_weights(a, level, axis, method, skip_nan=True)
    slopes = quantile_slopes(a, level, axis, method, skip_nan=True)
    y_dot = (
        quantile_dot(weights, np.where(np.isnan(a), 0.0, a_dot), axis, keepdims)
        + quantile_dot(slopes, known, axis, keepdims) * along_levels(q_dot, y) / 100.0
    )
    a_bar = quantile_bar(y_bar, weights, a, axis, keepdims)
    q_bar = by_level(y_bar * quantile_dot(slopes, known, axis, keepdims), q) / 100.0


@rule(runtime.quantile_weights, kind=unknown)
def quantile_weights(y, x, q, axis=None, method="linear", skip_nan=False):
    slopes = quantile_slopes(x, q, axis, method, skip_nan)
    y_dot = slopes * along_levels(q_dot, y)
    x_bar = 0
    q_bar = by_level(y_bar * slopes, q)


# The slopes change only where a level passes an order statistic.
nondifferentiable(runtime.quantile_slopes)
