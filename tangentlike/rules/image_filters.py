"""Rules of the filters of `scipy.ndimage` that are linear in the image.

A filter is the same everywhere but at the edges. With so many places more around the image that it
never looks beyond them, its adjoint is the filter itself on the reversed image, reversed; what
comes to stand beyond the edges belongs to the entries that the mode put there (`folded_edges`).
"""

import numpy as np

from .book import Deferred, rule
from .kinds_of import same_as
from .tables import linear

scipy = Deferred("scipy")


linear("with_edges(x, reach, mode='constant')", "folded_edges(y_bar, reach, mode)", same_as(0))
linear("folded_edges(x, reach, mode='constant')", "with_edges(y_bar, reach, mode)", same_as(0))


@rule("scipy.ndimage.gaussian_filter", kind=same_as(0))
def gaussian_filter(
    y, input, sigma, order=0, *, mode="reflect", cval=0.0, truncate=4.0, radius=None, axes=None
):
    wide = np.flip(with_edges(y_bar, gaussian_reach(sigma, truncate, radius)))
    back = np.flip(
        scipy.ndimage.gaussian_filter(
            wide, sigma, order, mode="constant", truncate=truncate, radius=radius, axes=axes
        )
    )
    y_dot = scipy.ndimage.gaussian_filter(
        input_dot, sigma, order, mode=mode, truncate=truncate, radius=radius, axes=axes
    )
    input_bar = cast_like(folded_edges(back, gaussian_reach(sigma, truncate, radius), mode), input)
    order_bar = 0
    mode_bar = 0
    radius_bar = 0


@rule("scipy.ndimage.gaussian_filter1d", kind=same_as(0))
def gaussian_filter1d(
    y, input, sigma, axis=-1, order=0, *, mode="reflect", cval=0.0, truncate=4.0, radius=None
):
    wide = np.flip(with_edges(y_bar, gaussian_reach(sigma, truncate, radius)))
    back = np.flip(
        scipy.ndimage.gaussian_filter1d(
            wide, sigma, axis, order, mode="constant", truncate=truncate, radius=radius
        )
    )
    y_dot = scipy.ndimage.gaussian_filter1d(
        input_dot, sigma, axis, order, mode=mode, truncate=truncate, radius=radius
    )
    input_bar = cast_like(folded_edges(back, gaussian_reach(sigma, truncate, radius), mode), input)
    order_bar = 0
    mode_bar = 0
    radius_bar = 0


@rule("scipy.ndimage.gaussian_laplace", kind=same_as(0))
def gaussian_laplace(y, input, sigma, *, mode="reflect", cval=0.0, truncate=4.0):
    wide = np.flip(with_edges(y_bar, gaussian_reach(sigma, truncate)))
    back = np.flip(scipy.ndimage.gaussian_laplace(wide, sigma, mode="constant", truncate=truncate))
    y_dot = scipy.ndimage.gaussian_laplace(input_dot, sigma, mode=mode, truncate=truncate)
    input_bar = cast_like(folded_edges(back, gaussian_reach(sigma, truncate), mode), input)
    mode_bar = 0


@rule("scipy.ndimage.uniform_filter", kind=same_as(0))
def uniform_filter(y, input, size=3, *, mode="reflect", cval=0.0, origin=0, axes=None):
    wide = np.flip(with_edges(y_bar, reach_of(size)))
    back = np.flip(
        scipy.ndimage.uniform_filter(wide, size, mode="constant", origin=origin, axes=axes)
    )
    y_dot = scipy.ndimage.uniform_filter(input_dot, size, mode=mode, origin=origin, axes=axes)
    input_bar = cast_like(folded_edges(back, reach_of(size), mode), input)
    mode_bar = 0
    origin_bar = 0


@rule("scipy.ndimage.uniform_filter1d", kind=same_as(0))
def uniform_filter1d(y, input, size, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    wide = np.flip(with_edges(y_bar, reach_of(size)))
    back = np.flip(scipy.ndimage.uniform_filter1d(wide, size, axis, mode="constant", origin=origin))
    y_dot = scipy.ndimage.uniform_filter1d(input_dot, size, axis, mode=mode, origin=origin)
    input_bar = cast_like(folded_edges(back, reach_of(size), mode), input)
    mode_bar = 0
    origin_bar = 0


@rule("scipy.ndimage.sobel", kind=same_as(0))
def sobel(y, input, axis=-1, *, mode="reflect", cval=0.0):
    wide = np.flip(with_edges(y_bar, 1))
    back = np.flip(scipy.ndimage.sobel(wide, axis, mode="constant"))
    y_dot = scipy.ndimage.sobel(input_dot, axis, mode=mode)
    input_bar = cast_like(folded_edges(back, 1, mode), input)
    mode_bar = 0


@rule("scipy.ndimage.prewitt", kind=same_as(0))
def prewitt(y, input, axis=-1, *, mode="reflect", cval=0.0):
    wide = np.flip(with_edges(y_bar, 1))
    back = np.flip(scipy.ndimage.prewitt(wide, axis, mode="constant"))
    y_dot = scipy.ndimage.prewitt(input_dot, axis, mode=mode)
    input_bar = cast_like(folded_edges(back, 1, mode), input)
    mode_bar = 0


@rule("scipy.ndimage.laplace", kind=same_as(0))
def laplace(y, input, *, mode="reflect", cval=0.0, axes=None):
    wide = np.flip(with_edges(y_bar, 1))
    back = np.flip(scipy.ndimage.laplace(wide, mode="constant", axes=axes))
    y_dot = scipy.ndimage.laplace(input_dot, mode=mode, axes=axes)
    input_bar = cast_like(folded_edges(back, 1, mode), input)
    mode_bar = 0


@rule("scipy.ndimage.correlate", kind=same_as(0))
def correlate(y, input, weights, *, mode="reflect", cval=0.0, origin=0, axes=None):
    wide = np.flip(with_edges(y_bar, reach_of(np.shape(weights))))
    back = np.flip(
        scipy.ndimage.correlate(wide, weights, mode="constant", origin=origin, axes=axes)
    )
    y_dot = scipy.ndimage.correlate(
        input_dot, weights, mode=mode, origin=origin, axes=axes
    ) + scipy.ndimage.correlate(input, weights_dot, mode=mode, cval=cval, origin=origin, axes=axes)
    input_bar = cast_like(folded_edges(back, reach_of(np.shape(weights)), mode), input)
    mode_bar = 0
    origin_bar = 0


@rule("scipy.ndimage.convolve", kind=same_as(0))
def convolve(y, input, weights, *, mode="reflect", cval=0.0, origin=0, axes=None):
    wide = np.flip(with_edges(y_bar, reach_of(np.shape(weights))))
    back = np.flip(scipy.ndimage.convolve(wide, weights, mode="constant", origin=origin, axes=axes))
    y_dot = scipy.ndimage.convolve(
        input_dot, weights, mode=mode, origin=origin, axes=axes
    ) + scipy.ndimage.convolve(input, weights_dot, mode=mode, cval=cval, origin=origin, axes=axes)
    input_bar = cast_like(folded_edges(back, reach_of(np.shape(weights)), mode), input)
    mode_bar = 0
    origin_bar = 0


@rule("scipy.ndimage.correlate1d", kind=same_as(0))
def correlate1d(y, input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    wide = np.flip(with_edges(y_bar, reach_of(np.shape(weights))))
    back = np.flip(scipy.ndimage.correlate1d(wide, weights, axis, mode="constant", origin=origin))
    y_dot = scipy.ndimage.correlate1d(
        input_dot, weights, axis, mode=mode, origin=origin
    ) + scipy.ndimage.correlate1d(input, weights_dot, axis, mode=mode, cval=cval, origin=origin)
    input_bar = cast_like(folded_edges(back, reach_of(np.shape(weights)), mode), input)
    mode_bar = 0
    origin_bar = 0


@rule("scipy.ndimage.convolve1d", kind=same_as(0))
def convolve1d(y, input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    wide = np.flip(with_edges(y_bar, reach_of(np.shape(weights))))
    back = np.flip(scipy.ndimage.convolve1d(wide, weights, axis, mode="constant", origin=origin))
    y_dot = scipy.ndimage.convolve1d(
        input_dot, weights, axis, mode=mode, origin=origin
    ) + scipy.ndimage.convolve1d(input, weights_dot, axis, mode=mode, cval=cval, origin=origin)
    input_bar = cast_like(folded_edges(back, reach_of(np.shape(weights)), mode), input)
    mode_bar = 0
    origin_bar = 0
