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


# --------------------------------------------------------------------------------------------------
# Edges of images: what a filter sees beyond them, by the modes of `scipy.ndimage`.

_MODES = {"grid-mirror": "reflect", "grid-constant": "constant", "grid-wrap": "wrap"}


def reach_of(*sizes: Any) -> int:
    """How many places beyond an edge a filter of these sizes may look, in any direction.

    >>> reach_of(3, (1, 5)), reach_of(2.2)
    (5, 3)
    """
    return int(np.ceil(max(np.max(np.asarray(size, float), initial=0.0) for size in sizes)))


def gaussian_reach(sigma: Any, truncate: float = 4.0, radius: Any = None) -> int:
    """How many places away a filter of Gaussian weights looks.

    >>> gaussian_reach(1.0), gaussian_reach((1.0, 2.0), 3.0), gaussian_reach(1.0, radius=2)
    (5, 7, 2)
    """
    if radius is not None:
        return reach_of(radius)
    return reach_of(truncate * np.asarray(sigma, float)) + 1


def _places(size: int, reach: int, mode: str) -> Any:
    """The entry that stands at each place of an axis with its edges; -1 where there is none."""
    at = np.arange(-reach, size + reach)
    mode = _MODES.get(mode, mode)
    if mode == "nearest":
        return np.clip(at, 0, size - 1)
    if mode == "wrap":
        return at % size
    if mode == "reflect":
        at = at % (2 * size)
        return np.where(at < size, at, 2 * size - 1 - at)
    if mode == "mirror":
        at = at % max(2 * size - 2, 1)
        return np.where(at < size, at, 2 * size - 2 - at)
    return np.where((at >= 0) & (at < size), at, -1)  # "constant": SciPy refuses all others


def _each(mode: str | Sequence[str], rank: int) -> list[str]:
    return [mode] * rank if isinstance(mode, str) else list(mode)


def with_edges(x: Any, reach: int, mode: str | Sequence[str] = "constant") -> Any:
    """An array with so many places more at each end of each axis, filled by a mode of
    `scipy.ndimage` (zeros for "constant").

    >>> with_edges(np.array([1, 2, 3]), 1, "reflect")
    array([1, 1, 2, 3, 3])
    """
    for axis, name in enumerate(_each(mode, np.ndim(x))):
        places = _places(x.shape[axis], reach, name)
        taken = np.take(x, np.maximum(places, 0), axis)
        shape = [-1 if k == axis else 1 for k in range(taken.ndim)]
        x = taken * (places >= 0).reshape(shape) if name in ("constant", "grid-constant") else taken
    return x


def folded_edges(x: Any, reach: int, mode: str | Sequence[str] = "constant") -> Any:
    """The adjoint of `with_edges`: what stands beyond the edges, added to what it was made of.

    >>> folded_edges(np.array([1, 1, 1, 1, 1]), 1, "reflect")
    array([2, 1, 2])
    """
    for axis, name in enumerate(_each(mode, np.ndim(x))):
        places = _places(x.shape[axis] - 2 * reach, reach, name)
        there = places >= 0
        lines = np.moveaxis(x, axis, 0)
        whole = np.zeros_like(x, shape=(x.shape[axis] - 2 * reach, *lines.shape[1:]))
        np.add.at(whole, places[there], lines[there])
        x = np.moveaxis(whole, 0, axis)
    return x


def filter_weights_bar(
    g: Any,
    x: Any,
    weights: Any,
    axis: int | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    turned: bool = False,
) -> Any:
    """The adjoint of the weights in `scipy.ndimage.correlate` of an image (along one axis: in
    `correlate1d`); with them `turned`, in `convolve`.

    >>> filter_weights_bar(np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 4.0]), np.zeros(3))
    array([1., 2., 4.])
    """
    sizes = list(np.shape(weights))
    if axis is not None:
        sizes = [1] * np.ndim(x)
        sizes[axis] = np.size(weights)
    origins = [origin] * len(sizes) if np.ndim(origin) == 0 else list(origin)
    starts = []
    reach = reach_of(sizes)
    for size, shift in zip(sizes, origins, strict=True):
        # SciPy turns even weights about the place after their middle.
        middle = size // 2 + shift if not turned else (size - 1) // 2 - shift
        starts.append(reach - middle if size > 1 else reach)
    wide = with_edges(x - cval, reach, mode)
    sums = np.zeros_like(wide, shape=tuple(sizes))
    for place in np.ndindex(*sizes):
        window = wide
        for i, k in enumerate(place):
            first = starts[i] + k
            window = np.moveaxis(np.moveaxis(window, i, 0)[first : first + np.shape(g)[i]], 0, i)
        sums[place] = np.sum(g * window)
    sums = sums + cval * np.sum(g)
    return np.reshape(np.flip(sums) if turned else sums, np.shape(weights))


# --------------------------------------------------------------------------------------------------
# Adjoints of convolutions and of recursive filters.


def _window(in1: Any, in2: Any, mode: str) -> tuple[slice, ...]:
    """What a convolution in a mode keeps of the whole one, axis by axis."""
    pairs = list(zip(np.shape(in1), np.shape(in2), strict=True))
    if mode == "same":
        return tuple(slice((m - 1) // 2, (m - 1) // 2 + n) for n, m in pairs)
    if mode == "valid":
        return tuple(slice(min(n, m) - 1, max(n, m)) for n, m in pairs)
    return tuple(slice(0, n + m - 1) for n, m in pairs)


def uncropped(g: Any, in1: Any, in2: Any, mode: str = "full") -> Any:
    """The adjoint of the whole convolution from that of what a mode keeps of it.

    >>> uncropped(np.array([2.0]), np.zeros(2), np.zeros(2), "valid")
    array([0., 2., 0.])
    """
    sizes = tuple(n + m - 1 for n, m in zip(np.shape(in1), np.shape(in2), strict=True))
    whole = np.zeros_like(g, shape=sizes)
    whole[_window(in1, in2, mode)] = g
    return whole


def cropped(whole: Any, g: Any, in1: Any, in2: Any, mode: str = "full") -> Any:
    """What a mode keeps of a whole convolution (`g` has the shape of the result).

    >>> cropped(np.arange(3.0), np.zeros(1), np.zeros(2), np.zeros(2), "valid")
    array([1.])
    """
    return whole[_window(in1, in2, mode)]


def lagged_products(g: Any, x: Any, like: Any, axis: int = -1) -> Any:
    """The sums of `g[n] * x[n - k]` over `n`, for as many lags `k` as `like` has entries.

    >>> lagged_products(np.array([1.0, 10.0]), np.array([2.0, 3.0]), np.zeros(2))
    array([32., 20.])
    """
    first = np.moveaxis(g, axis, 0)
    second = np.moveaxis(x, axis, 0)
    count = first.shape[0]
    sums = []
    for k in range(np.size(like)):
        lag = min(k, count)
        sums.append(np.sum(first[lag:] * second[: count - lag]))
    return np.reshape(np.stack(sums), np.shape(like))
