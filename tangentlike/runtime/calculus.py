"""Adjoints of differences, integrals, interpolation and covariance on grids of samples."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .broadcasting import conj, unbroadcast
from .buffers import arange
from .reductions import deviations
from .shapes import reshape_like
from .statements import NotDifferentiated


def undiff(g: Any, x: Any, n: int = 1, axis: int = -1) -> Any:
    """The adjoint of `np.diff(x, n, axis)`.

    >>> undiff(np.array([1.0, 2.0]), np.zeros(3))
    array([-1., -1.,  2.])
    """
    if np.size(g) == 0:
        return np.zeros(np.shape(x), g.dtype)
    for _ in range(n):
        widths = [(0, 0)] * np.ndim(g)
        widths[axis] = (1, 1)
        g = -np.diff(np.pad(g, widths), axis=axis)
    return g


def interval(x: Any, xp: Any) -> Any:
    """The index of the interval of the knots `xp` in which `np.interp` looks for `x`.

    >>> interval(np.array([-1.0, 0.5, 1.0, 9.0]), np.array([0.0, 1.0, 2.0]))
    array([0, 0, 1, 1])
    """
    return np.clip(np.searchsorted(xp, x, side="right") - 1, 0, len(xp) - 2)


def unbincount(g: Any, x: Any, weights: Any) -> Any:
    """The adjoint of the weights in `np.bincount(x, weights)`: each bin's adjoint, looked up."""
    return np.reshape(g[x], np.shape(weights))


def _spans(x: Any, dx: Any, y: Any, axis: int) -> Any:
    """The widths between samples, in a shape that broadcasts with differences of `y`."""
    if x is None:
        return dx
    widths = np.diff(x, axis=-1 if np.ndim(x) == 1 else axis)
    if np.ndim(x) == 1:
        shape = [1] * np.ndim(y)
        shape[axis] = widths.shape[0]
        widths = np.reshape(widths, shape)
    return widths


def _ends(x: Any, axis: int) -> tuple[Any, Any]:
    """All entries but the first, and all but the last, along `axis`."""
    n = np.shape(x)[axis]
    moved = np.moveaxis(x, axis, 0)
    return np.moveaxis(moved[1:n], 0, axis), np.moveaxis(moved[: n - 1], 0, axis)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """`np.trapezoid`, under one name for all versions of NumPy; linear in `y` and in `x`.

    >>> float(trapezoid(np.array([1.0, 2.0, 3.0])))
    4.0
    """
    right, left = _ends(y, axis)
    return np.sum(_spans(x, dx, y, axis) * (right + left) / 2.0, axis=axis)


def trapezoid_bar(z_bar: Any, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The adjoint of the samples `y` in `trapezoid` (reads the shape of `y` only).

    >>> trapezoid_bar(2.0, np.zeros(3))
    array([1., 2., 1.])
    """
    widths = [(0, 0)] * np.ndim(y)
    widths[axis] = (1, 1)
    right, _ = _ends(y, axis)
    half = np.zeros_like(right) + _spans(x, dx, y, axis) * np.expand_dims(z_bar, axis) / 2.0
    right, left = _ends(np.pad(half, widths), axis)
    return right + left


def trapezoid_bar_x(z_bar: Any, y: Any, x: Any, axis: int = -1) -> Any:
    """The adjoint of the sample points `x` in `trapezoid`."""
    right, left = _ends(y, axis)
    spans_bar = np.expand_dims(z_bar, axis) * (right + left) / 2.0
    if np.ndim(x) == 1:
        moved = np.moveaxis(spans_bar, axis, -1)
        return undiff(np.sum(moved, axis=tuple(range(np.ndim(y) - 1))), x)
    return undiff(spans_bar, x, 1, axis)


def interp_slope(x: Any, xp: Any, fp: Any) -> Any:
    """The slope of `np.interp(x, xp, fp)`; 0 outside the knots.

    >>> interp_slope(np.array([-1.0, 0.5]), np.array([0.0, 1.0]), np.array([0.0, 3.0]))
    array([0., 3.])
    """
    xp, fp = (a if hasattr(a, "shape") else np.asarray(a) for a in (xp, fp))
    i = interval(x, xp)
    inside = (x >= xp[0]) & (x <= xp[-1])
    rise, run = fp[i + 1] - fp[i], xp[i + 1] - xp[i]
    run = np.where((rise == 0) & (run == 0), 1.0, run)  # (of one knot)
    return np.where(inside, rise / run, 0.0)[()]


def interp_bar(g: Any, x: Any, xp: Any) -> Any:
    """The adjoint of the values at the knots in `np.interp(x, xp, values)`.

    >>> interp_bar(np.array([1.0]), np.array([0.25]), np.array([0.0, 1.0]))
    array([0.75, 0.25])
    """
    i = interval(x, xp)
    past, run = x - xp[i], xp[i + 1] - xp[i]
    last = (past == 0) & (run == 0)  # (at the last knot, that stands alone or twice)
    part = np.clip(np.where(last, 1.0, past) / np.where(last, 1.0, run), 0.0, 1.0)
    total = np.zeros_like(xp, dtype=np.result_type(g, 0.0))
    np.add.at(total, i, g * (1.0 - part))
    np.add.at(total, i + 1, g * part)
    return total


def interp_slope_bar(g: Any, x: Any, xp: Any) -> Any:
    """The adjoint of the values at the knots in `interp_slope(x, xp, values)`.

    >>> interp_slope_bar(np.array([1.0]), np.array([0.25]), np.array([0.0, 0.5]))
    array([-2.,  2.])
    """
    i = interval(x, xp)
    inside = (x >= xp[0]) & (x <= xp[-1])
    share = np.where(inside, g / (xp[i + 1] - xp[i]), 0.0)
    total = np.zeros_like(xp, dtype=np.result_type(g, 0.0))
    np.add.at(total, i, -share)
    np.add.at(total, i + 1, share)
    return total


def spaced_gradient(
    x: Any, spacing: tuple[Any, ...] = (), axis: Any = None, edge_order: int = 1
) -> Any:
    """`np.gradient` with its spacings in one tuple."""
    return np.gradient(x, *spacing, axis=axis, edge_order=edge_order)


def gradient_bar(
    g: Any, x: Any, spacing: tuple[Any, ...] = (), axis: Any = None, edge_order: int = 1
) -> Any:
    """The adjoint of `np.gradient(x, *spacing, axis=axis)` (reads the shape of `x` only).

    >>> gradient_bar(np.array([1.0, 0.0, 0.0]), np.zeros(3))
    array([-1.,  1.,  0.])
    """
    parts = g if isinstance(g, (list, tuple)) else [g]
    axes, steps = _axes_and_steps(x, spacing, axis)
    total = _gradient_bar(parts[0], x, steps[0], axes[0], edge_order)
    for part, step, i in zip(parts[1:], steps[1:], axes[1:], strict=True):
        total = total + _gradient_bar(part, x, step, i, edge_order)
    return total


def _axes_and_steps(x: Any, spacing: tuple[Any, ...], axis: Any) -> tuple[Any, Any]:
    """The axes along which `np.gradient` takes slopes, and the step or the places of each."""
    if axis is None:
        axes: tuple[int, ...] = tuple(range(np.ndim(x)))
    else:
        axes = (axis,) if np.ndim(axis) == 0 else tuple(axis)
    if len(spacing) == 0:
        spacing = (1.0,)
    if any(np.iscomplexobj(step) for step in spacing):  # (which NumPy takes for real ones, or not)
        raise TypeError(
            "np.gradient is given complex distances, which has no derivative: use real ones"
        )
    return axes, spacing * len(axes) if len(spacing) == 1 else spacing


def _gradient_bar(g: Any, x: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Along one axis the operation is a band matrix, and its transpose is applied.

    Its entries are read off by differentiating combs of unit vectors, far enough apart not
    to meet in any row.
    """
    n = np.shape(x)[axis]
    lanes = np.moveaxis(g, axis, 0)
    total = np.zeros_like(lanes)
    for start in range(min(n, 6)):
        comb = np.zeros_like(lanes, shape=(n,), dtype=float)
        comb[start::6] = 1.0
        column = np.gradient(comb, spacing, edge_order=edge_order)
        for shift in range(-2, 3):
            first, stop = start if start + shift >= 0 else start + 6, n - max(shift, 0)
            teeth, rows = slice(first, stop, 6), slice(first + shift, stop + shift, 6)
            factors = np.reshape(column[rows], (-1,) + (1,) * (np.ndim(g) - 1))
            total[teeth] += factors.astype(total.dtype) * lanes[rows]
    return np.moveaxis(total, 0, axis)


# A slope that `np.gradient` gives is that of a parabola through the samples at three places (at an
# end of a straight line through two, with `edge_order=1`), at one of them. To move a place `p` by
# `p_dot` changes the parabola as to change its sample by `-p_dot` times the slope there does, which
# is the slope given plus the curvature times the distance. Where `D` takes slopes at the places,
#
#     y_dot = -y * D(p_dot) + curvature * (p_dot + p * D(p_dot) - D(p * p_dot)).


def gradient_steps_dot(
    x: Any, spacing: Any, spacing_dot: Any, axis: Any = None, edge_order: int = 1
) -> Any:
    """The tangent of `np.gradient(x, *spacing)` where only what it is given of the places moves.

    >>> gradient_steps_dot(np.array([0.0, 1.0, 4.0]), (1.0,), (1.0,))
    array([-1., -2., -3.])
    """
    axes, steps = _axes_and_steps(x, spacing, axis)
    dots = _axes_and_steps(x, spacing_dot, axis)[1]
    found = []
    for i, places, moved in zip(axes, steps, dots, strict=True):
        step, dot = _no_list(places), _no_list(moved)
        slope = np.gradient(x, step, axis=i, edge_order=edge_order)
        if np.ndim(step) == 0:
            found.append(-slope * (dot / step))
        else:
            spread = np.gradient(dot, step, edge_order=edge_order)
            moment = np.gradient(step * dot, step, edge_order=edge_order)
            bent = _curvature(x, step, i, edge_order) * _along(dot + step * spread - moment, x, i)
            found.append(bent - slope * _along(spread, x, i))
    return found[0] if len(found) == 1 else found


def gradient_steps_bar(
    g: Any, x: Any, spacing: Any, axis: Any = None, edge_order: int = 1
) -> list[Any]:
    """The adjoints of what `np.gradient(x, *spacing)` is given of the places.

    >>> list(map(float, gradient_steps_bar(np.ones(3), np.array([0.0, 1.0, 4.0]), (1.0,))))
    [-6.0]
    """
    parts = g if isinstance(g, (list, tuple)) else [g]
    axes, steps = _axes_and_steps(x, spacing, axis)
    bars = []
    for part, i, places in zip(parts, axes, steps, strict=True):
        step = _no_list(places)
        slope = np.gradient(x, step, axis=i, edge_order=edge_order)
        if np.ndim(step) == 0:
            bars.append(-np.sum(part * slope) / step)
        else:
            others = tuple(k for k in range(np.ndim(x)) if k != i % np.ndim(x))
            spread = np.sum(part * slope, axis=others)
            bent = np.sum(part * _curvature(x, step, i, edge_order), axis=others)
            bars.append(
                bent
                + gradient_bar(step * bent - spread, step, (step,), None, edge_order)
                - step * gradient_bar(bent, step, (step,), None, edge_order)
            )
    if len(spacing) == 1:
        return [sum(bars[1:], bars[0])]
    return bars


def gradient_bar_dot(
    g: Any, x: Any, spacing: Any, spacing_dot: Any, axis: Any = None, edge_order: int = 1
) -> Any:
    """The tangent of `gradient_bar` where only what it is given of the places moves."""
    parts = g if isinstance(g, (list, tuple)) else [g]
    axes, steps = _axes_and_steps(x, spacing, axis)
    dots = _axes_and_steps(x, spacing_dot, axis)[1]
    total = np.zeros_like(x)
    for part, i, places, moved in zip(parts, axes, steps, dots, strict=True):
        step, dot = _no_list(places), _no_list(moved)
        if np.ndim(step) == 0:
            change = -part * (dot / step)
            total = total + gradient_bar(change, x, (step,), i, edge_order)
        else:
            spread = np.gradient(dot, step, edge_order=edge_order)
            moment = np.gradient(step * dot, step, edge_order=edge_order)
            bent = part * _along(dot + step * spread - moment, x, i)
            change = gradient_bar(part * _along(spread, x, i), x, (step,), i, edge_order)
            total = total + _curvature_bar(bent, x, step, i, edge_order) - change
    return total


def _no_list(places: Any) -> Any:
    return np.asarray(places) if isinstance(places, (list, tuple)) else places


def _along(values: Any, x: Any, axis: int) -> Any:
    """One value for each place of an axis, in a shape that broadcasts with `x`."""
    shape = [1] * np.ndim(x)
    shape[axis] = -1
    return np.reshape(values, shape)


def _curvature(x: Any, places: Any, axis: int, edge_order: int) -> Any:
    """The second derivatives of the parabolas whose slopes `np.gradient` gives; 0 for a line."""
    widths = _along(np.diff(places), x, axis)
    inner = np.diff(np.diff(x, axis=axis) / widths, axis=axis)
    inner = inner * _along(2.0 / (places[2:] - places[:-2]), x, axis)
    ends = [(0, 0)] * np.ndim(x)
    ends[axis] = (1, 1)
    return np.pad(inner, ends, mode="constant" if edge_order == 1 else "edge")


def _curvature_bar(g: Any, x: Any, places: Any, axis: int, edge_order: int) -> Any:
    """The adjoint of the samples in `_curvature`."""
    lanes = np.moveaxis(g, axis, 0)
    inner = lanes[1:-1] + np.zeros_like(lanes[1:-1])
    if edge_order == 2:
        inner[0] += lanes[0]
        inner[-1] += lanes[-1]
    column = (-1,) + (1,) * (np.ndim(x) - 1)
    samples = np.moveaxis(x, axis, 0)
    inner = inner * np.reshape(2.0 / (places[2:] - places[:-2]), column)
    slopes = undiff(inner, samples[1:], 1, 0) / np.reshape(np.diff(places), column)
    return np.moveaxis(undiff(slopes, samples, 1, 0), 0, axis)


def cov_count(m: Any, rowvar: bool, bias: bool, ddof: int | None) -> int:
    """What `np.cov` divides by."""
    observations = np.shape(m)[-1] if rowvar or np.ndim(m) == 1 else np.shape(m)[0]
    if ddof is None:
        ddof = 0 if bias else 1
    return observations - ddof


def cov_product(a: Any, b: Any, count: int) -> Any:
    """`a @ conj(b).T / count`, a number where `np.cov` gives one."""
    if np.ndim(a) == 1:
        return a @ conj(b) / count
    product = a @ conj(b).T / count
    return product[0, 0] if product.shape == (1, 1) else product


def cov_bar(c_bar: Any, centred: Any, count: int) -> Any:
    """The adjoint of the observations in `np.cov` from their deviations."""
    if np.ndim(c_bar) == 0:
        return 2.0 * np.real(c_bar) * centred / count
    return (c_bar + conj(c_bar).T) @ centred / count


def unit_deviations(x: Any) -> Any:
    """The rows of `x` centred and scaled to length 1: `np.corrcoef(x)` is their product.

    >>> unit_deviations(np.array([1.0, 1.0, 4.0, 4.0]))
    array([-0.5, -0.5,  0.5,  0.5])
    """
    centred = deviations(x, -1)
    return centred / _lengths(centred)


def _lengths(rows: Any) -> Any:
    return np.sqrt(np.sum(np.real(rows * conj(rows)), axis=-1, keepdims=True))


def unit_deviations_dot(x: Any, x_dot: Any) -> Any:
    """The tangent of `unit_deviations`: what is not along the unit vector, scaled."""
    centred = deviations(x, -1)
    length = _lengths(centred)
    unit = centred / length
    change = deviations(x_dot, -1)
    along = np.sum(np.real(conj(unit) * change), axis=-1, keepdims=True)
    return (change - unit * along) / length


def unit_deviations_bar(x: Any, g: Any) -> Any:
    """The adjoint of `unit_deviations`, which is symmetric as a matrix."""
    return unit_deviations_dot(x, g)


# --------------------------------------------------------------------------------------------------
# Adjoints of functions that make arrays from bounds and axes.


def steps(y: Any, endpoint: bool = True, axis: int = 0) -> Any:
    """How far along from start to stop each entry of `y = np.linspace(...)` lies, 0 to 1.

    >>> steps(np.zeros(3))
    array([0. , 0.5, 1. ])
    """
    count = np.shape(y)[axis]
    intervals = count - 1 if endpoint else count
    along = (arange(count, y) / max(intervals, 1)).astype(y.dtype)
    shape = [1] * np.ndim(y)
    shape[axis] = count
    return np.reshape(along, shape)


def ungrid(
    g: Sequence[Any], axes: Sequence[Any], indexing: str = "xy", sparse: bool = False
) -> list[Any]:
    """The adjoints of the vectors in `np.meshgrid(*axes, indexing=indexing, sparse=sparse)`.

    >>> ungrid([np.ones((2, 3)), np.zeros((2, 3))], [np.zeros(3), np.zeros(2)])
    [array([2., 2., 2.]), array([0., 0.])]
    """
    bars = []
    for place, (part, vector) in enumerate(zip(g, axes, strict=True)):
        own = 1 - place if indexing == "xy" and place < 2 and len(axes) > 1 else place
        others = tuple(i for i in range(len(axes)) if i != own)
        bars.append(reshape_like(np.sum(part, axis=others), vector))
    return bars


def grid_dot(dots: Sequence[Any], indexing: str = "xy", sparse: bool = False) -> Any:
    """The tangents of `np.meshgrid`, from those of its vectors in one sequence."""
    return np.meshgrid(*dots, indexing=indexing, sparse=sparse)


def unbroadcast_each(g: Sequence[Any], likes: Sequence[Any]) -> list[Any]:
    """`unbroadcast` of each adjoint to the value it belongs to.

    >>> unbroadcast_each([np.ones((2, 2))], [np.zeros(2)])
    [array([2., 2.])]
    """
    return [unbroadcast(part, like) for part, like in zip(g, likes, strict=True)]


# --------------------------------------------------------------------------------------------------
# Interpolants of SciPy: objects made of places `x` and values `y` that are called with places `q`.

# Those that are linear in the values.
_LINEAR: tuple[str, ...] = (
    "BSpline",
    "BarycentricInterpolator",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
)
_LINEAR += ("KroghInterpolator", "interp1d", "make_interp_spline")


_BY_METHOD = ("BarycentricInterpolator", "KroghInterpolator")
_MORE = ("Akima1DInterpolator", "BPoly", "CubicHermiteSpline", "LSQUnivariateSpline", "PPoly")
_CALLED = (*_LINEAR, *_MORE, "PchipInterpolator", "UnivariateSpline")


def is_interpolant(f: Any) -> bool:
    """Whether it is such an object."""
    kind = type(f)
    return kind.__name__ in _CALLED and kind.__module__.startswith("scipy.interpolate")


def evaluated(f: Any, q: Any, nu: int = 0) -> Any:
    """What an interpolant is at `q`, or its derivative of order `nu` by `q`."""
    found = _values(f, q, nu)
    if nu > 0 and np.shape(found) != np.shape(q):
        raise NotDifferentiated(
            f"{type(f).__name__} of several values at a place has no derivative rule",
            "Make one for each.",
        )
    return found


def _values(f: Any, q: Any, nu: int) -> Any:
    if nu == 0:
        return f(q)
    kind = type(f).__name__
    if kind == "interp1d":
        return _slopes_between(f, q, nu)
    if kind == "BSpline":
        return _of_spline(f, q, nu)
    return f.derivative(q, nu) if kind in _BY_METHOD else f(q, nu)


def _slopes_between(f: Any, q: Any, nu: int) -> Any:
    """Those of an `interp1d`; what it gives beyond its places is constant."""
    degree = 1 if f._kind == "linear" else f._spline.k if f._kind == "spline" else 0
    spline = sys.modules["scipy.interpolate"].make_interp_spline(f.x, f.y, degree)
    slopes = _of_spline(spline, q, nu)
    if isinstance(f.fill_value, str):  # (it extrapolates)
        return slopes
    outside = (q < f.x[0]) | (q > f.x[-1])
    rest = (1,) * (np.ndim(slopes) - np.ndim(q))
    return np.where(np.reshape(outside, np.shape(q) + rest), 0.0, slopes)[()]


def _of_spline(spline: Any, q: Any, nu: int) -> Any:
    """The derivative of a B-spline: zero above its degree, where SciPy 1.15 writes past its own
    memory."""
    return spline(q, nu) if nu <= spline.k else np.zeros_like(spline(q))


def interpolant(maker: Any, options: tuple[Any, ...], q: Any, x: Any, y: Any, nu: int = 0) -> Any:
    """`maker(x, y, **options)` at `q`, or its derivative; `options` are names, each followed by its
    value."""
    named = dict(zip(options[::2], options[1::2], strict=True))
    return evaluated(maker(x, y, **named), q, nu)


def interpolation_matrix(
    maker: Any, options: tuple[Any, ...], q: Any, x: Any, y: Any, nu: int = 0
) -> Any:
    """What the value at each of `q` has of each of `y`, along the last axis."""
    if maker.__name__ not in _LINEAR or np.ndim(y) != 1:
        raise NotDifferentiated(
            f"{maker.__name__} has no derivative rule by its values, or not by several at a place",
            "Apply tl.stop_gradient to them if they are meant as constants.",
        )
    named = dict(zip(options[::2], options[1::2], strict=True))
    plain = all(isinstance(value, (str, bool, int, float)) for value in options)
    if plain and "axis" not in named and maker.__name__ != "InterpolatedUnivariateSpline":
        named["axis"] = 0
        units = _values(maker(x, np.eye(len(y)), **named), q, nu)
        return units - _values(maker(x, np.zeros((len(y), len(y))), **named), q, nu)
    rest = interpolant(maker, options, q, x, np.zeros(len(y)), nu)
    each = [interpolant(maker, options, q, x, unit, nu) for unit in np.eye(len(y))]
    return np.stack(each, axis=-1) - np.expand_dims(rest, -1)
