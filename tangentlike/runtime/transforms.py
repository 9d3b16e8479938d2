"""Adjoints of discrete Fourier transforms.

A transform is linear, and its adjoint is the inverse transform in another normalisation:
what `norm` puts before the one it takes from the other. Input that was cropped gets zeros
where it was cut, input that was padded loses what was added. A real input takes the real part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .shapes import cast_like

_DUAL = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def fft_bar(g: Any, x: Any, axis: int = -1, norm: str | None = None) -> Any:
    """The adjoint of `np.fft.fft(x, n, axis, norm)`; `n` shows in the length of `g`.

    >>> fft_bar(np.array([1.0, 0.0]), np.zeros(2))
    array([1., 1.])
    """
    return cast_like(_fit(np.fft.ifft(g, axis=axis, norm=_DUAL[norm]), x, axis), x)


def ifft_bar(g: Any, x: Any, axis: int = -1, norm: str | None = None) -> Any:
    """The adjoint of `np.fft.ifft(x, n, axis, norm)`."""
    return cast_like(_fit(np.fft.fft(g, axis=axis, norm=_DUAL[norm]), x, axis), x)


def rfft_bar(g: Any, x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The adjoint of `np.fft.rfft(x, n, axis, norm)`.

    The inverse counts the inner frequencies twice, so these come in by halves.

    >>> rfft_bar(np.array([1.0, 1.0]), np.zeros(3))
    array([2. , 0.5, 0.5])
    """
    if n is None:
        n = np.shape(x)[axis]
    halved = g * _inner(g, n, axis, 0.5)
    return cast_like(_fit(np.fft.irfft(halved, n, axis=axis, norm=_DUAL[norm]), x, axis), x)


def irfft_bar(g: Any, x: Any, axis: int = -1, norm: str | None = None) -> Any:
    """The adjoint of `np.fft.irfft(x, n, axis, norm)`: inner frequencies count twice."""
    n = g.shape[axis]
    spectrum = np.fft.rfft(g, axis=axis, norm=_DUAL[norm])
    return cast_like(_fit(spectrum * _inner(spectrum, n, axis, 2.0), x, axis), x)


def fftn_bar(
    g: Any, x: Any, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None
) -> Any:
    """The adjoint of `np.fft.fftn(x, s, axes, norm)`, axis by axis."""
    for axis in _axes(x, s, axes):
        g = _fit(np.fft.ifft(g, axis=axis, norm=_DUAL[norm]), x, axis)
    return cast_like(g, x)


def ifftn_bar(
    g: Any, x: Any, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None
) -> Any:
    """The adjoint of `np.fft.ifftn(x, s, axes, norm)`, axis by axis."""
    for axis in _axes(x, s, axes):
        g = _fit(np.fft.fft(g, axis=axis, norm=_DUAL[norm]), x, axis)
    return cast_like(g, x)


def rfftn_bar(
    g: Any, x: Any, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None
) -> Any:
    """The adjoint of `np.fft.rfftn(x, s, axes, norm)`: the real transform was the first."""
    *others, last = _axes(x, s, axes)
    for axis in others:
        g = _fit(np.fft.ifft(g, axis=axis, norm=_DUAL[norm]), x, axis)
    n = None if s is None or s[-1] == -1 else s[-1]
    return rfft_bar(g, x, n, last, norm)


def irfftn_bar(
    g: Any, x: Any, s: Sequence[int] | None = None, axes: Any = None, norm: str | None = None
) -> Any:
    """The adjoint of `np.fft.irfftn(x, s, axes, norm)`: the real transform was the last."""
    *others, last = _axes(x, s, axes)
    n = g.shape[last]
    g = np.fft.rfft(g, axis=last, norm=_DUAL[norm])
    g = _fit(g * _inner(g, n, last, 2.0), x, last)
    for axis in others:
        g = _fit(np.fft.fft(g, axis=axis, norm=_DUAL[norm]), x, axis)
    return cast_like(g, x)


def _axes(x: Any, s: Sequence[int] | None, axes: Any) -> tuple[int, ...]:
    rank = np.ndim(x)
    if axes is not None:
        return tuple(axis % rank for axis in axes)
    count = rank if s is None else len(s)
    return tuple(range(rank - count, rank))


def _inner(spectrum: Any, n: int, axis: int, factor: float) -> Any:
    """Factors along `axis`: 1 for the frequencies that stand alone, `factor` for the others."""
    count = spectrum.shape[axis]
    factors = np.full_like(spectrum.real, factor, shape=(count,))
    factors[0] = 1.0
    if n % 2 == 0 and count == n // 2 + 1:
        factors[-1] = 1.0
    shape = [1] * spectrum.ndim
    shape[axis] = count
    return np.reshape(factors, shape).astype(spectrum.real.dtype)


def _fit(g: Any, x: Any, axis: int) -> Any:
    """`g` cut or filled with zeros to the length of `x` along `axis`."""
    wanted, have = np.shape(x)[axis], g.shape[axis]
    if wanted == have:
        return g
    axis = axis % g.ndim
    if wanted < have:
        return g[(slice(None),) * axis + (slice(0, wanted),)]
    widths = [(0, 0)] * g.ndim
    widths[axis] = (0, wanted - have)
    return np.pad(g, widths)
