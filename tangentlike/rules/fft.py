"""Rules of numpy.fft: each transform's adjoint is its inverse, otherwise normalised."""

import numpy as np

from .. import runtime
from ..ir.kind import Kind
from .book import rule
from .kinds_of import first


def _spectrum(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("array", "complex", None if kind.rank is None else (None,) * kind.rank)


def _signal(call, kind_of):
    kind = kind_of(call.args[0])
    return Kind("array", "float", None if kind.rank is None else (None,) * kind.rank)


def _like_argument(call, kind_of):
    """Transforms take arrays, never numbers."""
    kind = kind_of(call.args[1])
    return Kind("array", kind.dtype, kind.shape)


@rule(np.fft.fft, kind=_spectrum)
def fft(y, a, n=None, axis=-1, norm=None):
    y_dot = np.fft.fft(a_dot, n, axis=axis, norm=norm)
    a_bar = fft_bar(y_bar, a, axis, norm)


@rule(np.fft.ifft, kind=_spectrum)
def ifft(y, a, n=None, axis=-1, norm=None):
    y_dot = np.fft.ifft(a_dot, n, axis=axis, norm=norm)
    a_bar = ifft_bar(y_bar, a, axis, norm)


@rule(np.fft.rfft, kind=_spectrum)
def rfft(y, a, n=None, axis=-1, norm=None):
    y_dot = np.fft.rfft(a_dot, n, axis=axis, norm=norm)
    a_bar = rfft_bar(y_bar, a, n, axis, norm)


@rule(np.fft.irfft, kind=_signal)
def irfft(y, a, n=None, axis=-1, norm=None):
    y_dot = np.fft.irfft(a_dot, n, axis=axis, norm=norm)
    a_bar = irfft_bar(np.real(y_bar), a, axis, norm)


# --------------------------------------------------------------------------- several axes


@rule(np.fft.fftn, kind=_spectrum)
def fftn(y, a, s=None, axes=None, norm=None):
    y_dot = np.fft.fftn(a_dot, s=s, axes=axes, norm=norm)
    a_bar = fftn_bar(y_bar, a, s, axes, norm)


@rule(np.fft.ifftn, kind=_spectrum)
def ifftn(y, a, s=None, axes=None, norm=None):
    y_dot = np.fft.ifftn(a_dot, s=s, axes=axes, norm=norm)
    a_bar = ifftn_bar(y_bar, a, s, axes, norm)


@rule(np.fft.rfftn, kind=_spectrum)
def rfftn(y, a, s=None, axes=None, norm=None):
    y_dot = np.fft.rfftn(a_dot, s=s, axes=axes, norm=norm)
    a_bar = rfftn_bar(y_bar, a, s, axes, norm)


@rule(np.fft.irfftn, kind=_signal)
def irfftn(y, a, s=None, axes=None, norm=None):
    y_dot = np.fft.irfftn(a_dot, s=s, axes=axes, norm=norm)
    a_bar = irfftn_bar(np.real(y_bar), a, s, axes, norm)


@rule(np.fft.fft2, kind=_spectrum)
def fft2(y, a, s=None, axes=(-2, -1), norm=None):
    y_dot = np.fft.fft2(a_dot, s=s, axes=axes, norm=norm)
    a_bar = fftn_bar(y_bar, a, s, axes, norm)


@rule(np.fft.ifft2, kind=_spectrum)
def ifft2(y, a, s=None, axes=(-2, -1), norm=None):
    y_dot = np.fft.ifft2(a_dot, s=s, axes=axes, norm=norm)
    a_bar = ifftn_bar(y_bar, a, s, axes, norm)


@rule(np.fft.rfft2, kind=_spectrum)
def rfft2(y, a, s=None, axes=(-2, -1), norm=None):
    y_dot = np.fft.rfft2(a_dot, s=s, axes=axes, norm=norm)
    a_bar = rfftn_bar(y_bar, a, s, axes, norm)


@rule(np.fft.irfft2, kind=_signal)
def irfft2(y, a, s=None, axes=(-2, -1), norm=None):
    y_dot = np.fft.irfft2(a_dot, s=s, axes=axes, norm=norm)
    a_bar = irfftn_bar(np.real(y_bar), a, s, axes, norm)


@rule(np.fft.fftshift, kind=first)
def fftshift(y, x, axes=None):
    y_dot = np.fft.fftshift(x_dot, axes=axes)
    x_bar = np.fft.ifftshift(y_bar, axes=axes)


@rule(np.fft.ifftshift, kind=first)
def ifftshift(y, x, axes=None):
    y_dot = np.fft.ifftshift(x_dot, axes=axes)
    x_bar = np.fft.fftshift(y_bar, axes=axes)


# ----------------------------------------- the adjoints, whose adjoints are the transforms


@rule(runtime.fft_bar, view="maybe", kind=_like_argument)
def fft_bar(y, g, x, axis=-1, norm=None):
    y_dot = fft_bar(g_dot, x, axis, norm)
    g_bar = cast_like(np.fft.fft(y_bar, np.shape(g)[axis], axis=axis, norm=norm), g)
    x_bar = 0


@rule(runtime.ifft_bar, view="maybe", kind=_like_argument)
def ifft_bar(y, g, x, axis=-1, norm=None):
    y_dot = ifft_bar(g_dot, x, axis, norm)
    g_bar = cast_like(np.fft.ifft(y_bar, np.shape(g)[axis], axis=axis, norm=norm), g)
    x_bar = 0


@rule(runtime.rfft_bar, view="maybe", kind=_like_argument)
def rfft_bar(y, g, x, n=None, axis=-1, norm=None):
    y_dot = rfft_bar(g_dot, x, n, axis, norm)
    g_bar = np.fft.rfft(y_bar, n, axis=axis, norm=norm)
    x_bar = 0


@rule(runtime.irfft_bar, view="maybe", kind=_like_argument)
def irfft_bar(y, g, x, axis=-1, norm=None):
    y_dot = irfft_bar(g_dot, x, axis, norm)
    g_bar = np.fft.irfft(y_bar, np.shape(g)[axis], axis=axis, norm=norm)
    x_bar = 0


@rule(runtime.fftn_bar, view="maybe", kind=_like_argument)
def fftn_bar(y, g, x, s=None, axes=None, norm=None):
    y_dot = fftn_bar(g_dot, x, s, axes, norm)
    g_bar = cast_like(np.fft.fftn(y_bar, s=s, axes=axes, norm=norm), g)
    x_bar = 0


@rule(runtime.ifftn_bar, view="maybe", kind=_like_argument)
def ifftn_bar(y, g, x, s=None, axes=None, norm=None):
    y_dot = ifftn_bar(g_dot, x, s, axes, norm)
    g_bar = cast_like(np.fft.ifftn(y_bar, s=s, axes=axes, norm=norm), g)
    x_bar = 0


@rule(runtime.rfftn_bar, view="maybe", kind=_like_argument)
def rfftn_bar(y, g, x, s=None, axes=None, norm=None):
    y_dot = rfftn_bar(g_dot, x, s, axes, norm)
    g_bar = np.fft.rfftn(y_bar, s=s, axes=axes, norm=norm)
    x_bar = 0


@rule(runtime.irfftn_bar, view="maybe", kind=_like_argument)
def irfftn_bar(y, g, x, s=None, axes=None, norm=None):
    y_dot = irfftn_bar(g_dot, x, s, axes, norm)
    g_bar = np.fft.irfftn(y_bar, s=s, axes=axes, norm=norm)
    x_bar = 0
