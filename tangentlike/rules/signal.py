"""Rules of `scipy.signal` (convolutions, recursive filters), of image filters and of transforms."""

from __future__ import annotations

import numpy as np

from .. import ir
from ..ir.kind import Kind
from .book import Deferred, nondifferentiable, rule
from .kinds_of import argument, first, promoted, same_as, unknown
from .tables import linear, written

scipy = Deferred("scipy")


@rule(
    *("scipy.signal.convolve", "scipy.signal.fftconvolve", "scipy.signal.oaconvolve"),
    kind=unknown,
)
def convolve(y, in1, in2, mode="full"):
    whole = uncropped(y_bar, in1, in2, mode)
    y_dot = scipy.signal.convolve(in1_dot, in2, mode) + scipy.signal.convolve(in1, in2_dot, mode)
    in1_bar = cast_like(scipy.signal.convolve(whole, np.flip(conj(in2)), "valid"), in1)
    in2_bar = cast_like(scipy.signal.convolve(whole, np.flip(conj(in1)), "valid"), in2)


@rule("scipy.interpolate.splev", kind=unknown)
def splev(y, x, tck, der=0, ext=0):
    if ext in (0, 1, 2):  # (3: beyond its ends a spline is what it is there)
        dy_dx = scipy.interpolate.splev(x, tck, der + 1, ext)


# A surface on a grid; beyond its edges it is what it is at them. (Axes of one place are left out.)
@rule("scipy.interpolate.bisplev", kind=unknown)
def bisplev(y, x, v, tck, dx=0, dy=0):
    inside_x = np.logical_and(np.greater_equal(x, tck[0][0]), np.less_equal(x, tck[0][-1]))
    inside_v = np.logical_and(np.greater_equal(v, tck[1][0]), np.less_equal(v, tck[1][-1]))
    grid = (np.size(x), np.size(v))
    by_x = np.reshape(scipy.interpolate.bisplev(x, v, tck, dx + 1, dy), grid)
    by_v = np.reshape(scipy.interpolate.bisplev(x, v, tck, dx, dy + 1), grid)
    y_dot = reshape_like(
        by_x * np.reshape(x_dot * inside_x, (-1, 1)) + by_v * np.reshape(v_dot * inside_v, (1, -1)),
        y,
    )
    x_bar = inside_x * reshape_like(np.sum(by_x * np.reshape(y_bar, grid), axis=1), x)
    v_bar = inside_v * reshape_like(np.sum(by_v * np.reshape(y_bar, grid), axis=0), v)


nondifferentiable("scipy.signal.get_window", "scipy.signal.savgol_coeffs")

linear("uncropped(g, in1, in2, mode='full')", "cropped(y_bar, g, in1, in2, mode)", unknown)
linear(
    "cropped(whole, g, in1, in2, mode='full')",
    "uncropped(y_bar, in1, in2, mode)",
    same_as(1),
    "view",
)


# Where a * y = b * x (products of polynomials in the delay), so have the changes
# a * y_dot = b * x_dot + b_dot * x - a_dot * y; the adjoint runs the filter backwards in time.
@rule("scipy.signal.lfilter", kind=promoted(2))
def lfilter(y, b, a, x, axis=-1):
    back = np.flip(scipy.signal.lfilter(np.ones(1), conj(a), np.flip(y_bar, axis), axis), axis)
    y_dot = (
        scipy.signal.lfilter(b, a, x_dot, axis)
        + scipy.signal.lfilter(b_dot, a, x, axis)
        - scipy.signal.lfilter(a_dot, a, y, axis)
    )
    b_bar = cast_like(lagged_products(back, conj(x), b, axis), b)
    a_bar = cast_like(-lagged_products(back, conj(y), a, axis), a)
    x_bar = cast_like(
        np.flip(scipy.signal.lfilter(conj(b), conj(a), np.flip(y_bar, axis), axis), axis), x
    )


# --------------------------------------------------------------------------------------------------
# Rules of the filters of `scipy.ndimage` that are linear in the image.
#
# A filter is the same everywhere but at the edges. With so many places more around the image that
# it never looks beyond them, its adjoint is the filter itself on the reversed image, reversed; what
# comes to stand beyond the edges belongs to the entries that the mode put there (`folded_edges`).

linear("with_edges(x, reach, mode='constant')", "folded_edges(y_bar, reach, mode)", same_as(0))
linear("folded_edges(x, reach, mode='constant')", "with_edges(y_bar, reach, mode)", same_as(0))


# Of each filter: the parameters before and after the star, what it is given by position and by
# name besides the mode, and how far it reaches.
_OF_SIGMA = "gaussian_reach(sigma, truncate, radius)"
_FILTERS = {
    "gaussian_filter": (
        *("sigma, order=0", "truncate=4.0, radius=None, axes=None"),
        *("sigma, order", "truncate radius axes", _OF_SIGMA),
    ),
    "gaussian_filter1d": (
        *("sigma, axis=-1, order=0", "truncate=4.0, radius=None"),
        *("sigma, axis, order", "truncate radius", _OF_SIGMA),
    ),
    "gaussian_laplace": (
        *("sigma", "truncate=4.0", "sigma", "truncate"),
        "gaussian_reach(sigma, truncate)",
    ),
    "uniform_filter": ("size=3", "origin=0, axes=None", "size", "origin axes", "reach_of(size)"),
    "uniform_filter1d": ("size, axis=-1", "origin=0", "size, axis", "origin", "reach_of(size)"),
    "sobel": ("axis=-1", "", "axis", "", "1"),
    "prewitt": ("axis=-1", "", "axis", "", "1"),
    "laplace": ("", "axes=None", "", "axes", "1"),
    "correlate": ("weights", "origin=0, axes=None", "weights", "origin axes", ""),
    "convolve": ("weights", "origin=0, axes=None", "weights", "origin axes", ""),
    "correlate1d": ("weights, axis=-1", "origin=0", "weights, axis", "origin", ""),
    "convolve1d": ("weights, axis=-1", "origin=0", "weights, axis", "origin", ""),
}

for _name, (_before, _after, _given, _words, _reach) in _FILTERS.items():
    _filter = f"scipy.ndimage.{_name}"
    _reach = _reach or "reach_of(np.shape(weights))"
    _by_name = "".join(f", {word}={word}" for word in _words.split())
    _params = ", ".join(filter(None, ("input", _before, '*, mode="reflect", cval=0.0', _after)))
    _rest = f", {_given}" if _given else ""
    _tangent = f"{_filter}(input_dot{_rest}, mode=mode{_by_name})"
    if "weights" in _given:
        _moved = _given.replace("weights", "weights_dot")
        _tangent += f" + {_filter}(input, {_moved}, mode=mode, cval=cval{_by_name})"
    _of_weights = []
    if "weights" in _given:
        _along = "axis" if "axis" in _given else "None"
        _turned = _name.startswith("convolve")
        _bar = f"y_bar, conj(input), weights, {_along}, mode, cval, origin, {_turned}"
        _of_weights = [f"weights_bar = cast_like(filter_weights_bar({_bar}), weights)"]
        if "axes" in _words:  # (those that are named are not written down)
            _of_weights = ["if axes is None:", f"    {_of_weights[0]}"]
    _lines = [
        f"wide = np.flip(with_edges(y_bar, {_reach}))",
        f'back = np.flip({_filter}(wide{_rest}, mode="constant"{_by_name}))',
        f"y_dot = {_tangent}",
        f"input_bar = cast_like(folded_edges(back, {_reach}, mode), input)",
        *_of_weights,
        *(f"{name}_bar = 0" for name in ("origin", "radius") if name in _words),
    ]
    written(_filter, f"{_params})", _lines, same_as(0))


# --------------------------------------------------------------------------------------------------
# Rules of numpy.fft: each transform's adjoint is its inverse, otherwise normalised.


def _spectrum(call, kind_of):
    """Of the shape of the signal where it may be complex and no other size is asked for."""
    kind, sizes = kind_of(call.args[0]), (argument(call, 1, "n"), argument(call, 1, "s"))
    whole = _name_of(call) in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn")
    if whole and kind.form == "array" and sizes == (ir.Const(None), ir.Const(None)):
        return Kind("array", "complex", kind.shape)
    return Kind("array", "complex", None if kind.rank is None else (None,) * kind.rank)


def _name_of(call):
    return getattr(getattr(call.fn, "obj", None), "__name__", "")


def _signal(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("array", "float", None if kind.rank is None else (None,) * kind.rank)


def _like_argument(call, kind_of):
    """Transforms take arrays, never numbers."""
    kind = kind_of(call.args[1])
    return Kind("array", kind.dtype, kind.shape)


_SEED = {"irfft": "np.real(y_bar)"}
_KIND = {"irfft": _signal}
_SIZE = {"rfft": "n, "}  # (its spectrum does not say how long the signal was)

for _name in ("fft", "ifft", "rfft", "irfft"):
    _seed, _kind = _SEED.get(_name, "y_bar"), _KIND.get(_name, _spectrum)
    linear(
        f"np.fft.{_name}(a, n=None, axis=-1, norm=None)",
        f"{_name}_bar({_seed}, a, {_SIZE.get(_name, '')}axis, norm)",
        _kind,
        words="axis norm",
    )
    for _several in (
        "n(a, s=None, axes=None, norm=None)",
        "2(a, s=None, axes=(-2, -1), norm=None)",
    ):
        _bar = f"{_name}n_bar({_seed}, a, s, axes, norm)"
        linear(f"np.fft.{_name}{_several}", _bar, _kind, words="s axes norm")

linear("np.fft.fftshift(x, axes=None)", "np.fft.ifftshift(y_bar, axes=axes)", first, words="axes")
linear("np.fft.ifftshift(x, axes=None)", "np.fft.fftshift(y_bar, axes=axes)", first, words="axes")

# ----------------------------------------- the adjoints, whose adjoints are the transforms

for _name in ("fft", "ifft", "rfft", "irfft"):
    _size = "n" if _name == "rfft" else "np.shape(g)[axis]"
    _one = f"np.fft.{_name}(y_bar, {_size}, axis=axis, norm=norm)"
    _all = f"np.fft.{_name}n(y_bar, s=s, axes=axes, norm=norm)"
    if _name in ("fft", "ifft"):  # (of real signals, too)
        _one, _all = f"cast_like({_one}, g)", f"cast_like({_all}, g)"
    _given = f"g, x, {'n=None, ' if _name == 'rfft' else ''}axis=-1, norm=None"
    linear(f"{_name}_bar({_given})", _one, _like_argument, "maybe")
    linear(f"{_name}n_bar(g, x, s=None, axes=None, norm=None)", _all, _like_argument, "maybe")
