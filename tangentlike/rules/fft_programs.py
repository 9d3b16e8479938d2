"""The transforms of `scipy.fft`: most are those of `numpy.fft`; cosine transforms are programs of
these, of what is continued evenly, and sine transforms those of what changes its sign or order.

J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Transactions on Acoustics,
Speech and Signal Processing 28 (1980).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .. import ir
from ..frontend.owners import module_of
from .twins import twin

_SPEED = ("overwrite_x", "workers", "plan")  # (and what is done to an array that is given away)
_TRANSFORMS = (
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift"),
)


def as_numpys(call: ir.Call) -> ir.Call | None:
    """The call of a function of `numpy.fft` that does what one of `scipy.fft` does, or None."""
    obj = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    obj = twin(obj) or obj
    name = getattr(obj, "__name__", "")
    if name not in _TRANSFORMS or not module_of(obj).startswith("scipy.fft"):
        return None
    if len(call.args) > 4 or any(map(ir.is_starred, call.args)):
        return None
    count = len(call.args) + len(call.kwargs)
    if (
        name.endswith("fftn")
        and count > 1
        and len(call.args) < 3
        and "axes" not in dict(call.kwargs)
    ):
        return None  # (the programs here)
    words = tuple((w, v) for w, v in call.kwargs if w not in _SPEED)
    words = tuple(("a" if w == "x" and "shift" not in name else w, v) for w, v in words)
    numpys = ir.Ref(f"np.fft.{name}", getattr(np.fft, name))
    return dataclasses.replace(call, fn=numpys, kwargs=words)


def fftn(x, s=None, axes=None, norm=None, **speed):
    return np.fft.fftn(x, s, _last(s) if axes is None else axes, norm)


def ifftn(x, s=None, axes=None, norm=None, **speed):
    return np.fft.ifftn(x, s, _last(s) if axes is None else axes, norm)


def rfftn(x, s=None, axes=None, norm=None, **speed):
    return np.fft.rfftn(x, s, _last(s) if axes is None else axes, norm)


def irfftn(x, s=None, axes=None, norm=None, **speed):
    return np.fft.irfftn(x, s, _last(s) if axes is None else axes, norm)


def _last(s):
    """The axes that so many sizes are of."""
    return None if s is None else tuple(range(-len(s), 0))


def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _cosines(np.asarray(x), type, n, axis, _norm(norm), orthogonalize)


def idct(
    x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None
):
    other = {1: 1, 2: 3, 3: 2}.get(type, type)
    return _cosines(np.asarray(x), other, n, axis, _opposite(norm), orthogonalize)


def dst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    return _cosines(np.asarray(x), type, n, axis, _norm(norm), orthogonalize, True)


def idst(
    x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None
):
    other = {1: 1, 2: 3, 3: 2}.get(type, type)
    return _cosines(np.asarray(x), other, n, axis, _opposite(norm), orthogonalize, True)


def dctn(
    x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, orthogonalize=None
):
    return _along_axes(np.asarray(x), type, s, axes, _norm(norm), orthogonalize)


def idctn(
    x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, orthogonalize=None
):
    other = {1: 1, 2: 3, 3: 2}.get(type, type)
    return _along_axes(np.asarray(x), other, s, axes, _opposite(norm), orthogonalize)


def _norm(norm):
    return "backward" if norm is None else str(norm)


def _opposite(norm):
    """The norm of the transform that undoes one of this norm."""
    return {"backward": "forward", "forward": "backward"}.get(_norm(norm), "ortho")


def _along_axes(x, type, s, axes, norm, orthogonalize):
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    if not isinstance(axes, (tuple, list)):
        axes = (axes,)
    for place in range(len(axes)):
        size = None if s is None else s[place]
        x = _cosines(x, type, size, axes[place], norm, orthogonalize)
    return x


def _cosines(x, type, n, axis, norm, orthogonalize, sines=False):
    """The cosine transform of a type: as the sum of cosines ("backward"), divided by the length of
    what is continued ("forward"), or by its root ("ortho", which weights the ends by a root of 2,
    too, so that the transform is a rotation). With `sines` the sine transform."""
    rows = np.moveaxis(x, axis, -1)
    size = rows.shape[-1] if n is None else n
    if size > rows.shape[-1]:
        missing = np.zeros((*rows.shape[:-1], size - rows.shape[-1]))
        rows = np.concatenate([rows, missing], axis=-1)
    rows = rows[..., :size]
    ortho = norm == "ortho" if orthogonalize is None else orthogonalize
    period = 2 * size - 2 if type == 1 else 2 * size
    signs = (-1.0) ** np.arange(size)
    if sines and type == 1:
        period = 2 * size + 2
        end = np.zeros((*rows.shape[:-1], 1))
        odd = np.concatenate([end, rows, end, -rows[..., ::-1]], axis=-1)
        return np.moveaxis(
            -np.imag(np.fft.fft(odd))[..., 1 : size + 1] * _scale(norm, period), -1, axis
        )
    if sines:
        rows = rows[..., ::-1] if type == 3 else rows * signs
    if type == 1:
        ends = np.ones(size)
        if ortho:
            ends[0] = ends[-1] = np.sqrt(2.0)
        even = np.concatenate([rows * ends, (rows * ends)[..., -2:0:-1]], axis=-1)
        result = np.real(np.fft.fft(even))[..., :size] / ends
    elif type == 2:
        even = np.concatenate([rows, rows[..., ::-1]], axis=-1)
        turned = np.exp(-0.5j * np.pi * np.arange(size) / size)
        result = np.real(np.fft.fft(even)[..., :size] * turned)
        if ortho:
            result = result * _first(size, 1.0 / np.sqrt(2.0))
    elif type == 3:
        if ortho:
            rows = rows * _first(size, np.sqrt(2.0))
        turned = np.exp(-0.5j * np.pi * np.arange(size) / size)
        padded = np.concatenate([rows * turned, np.zeros((*rows.shape[:-1], size))], axis=-1)
        result = 2.0 * np.real(np.fft.fft(padded))[..., :size] - rows[..., :1]
    else:
        turned = np.exp(-0.5j * np.pi * np.arange(size) / size)
        padded = np.concatenate([rows * turned, np.zeros((*rows.shape[:-1], size))], axis=-1)
        last = turned * np.exp(-0.25j * np.pi / size)
        result = 2.0 * np.real(np.fft.fft(padded)[..., :size] * last)
    if sines:
        result = result * signs if type == 3 else result[..., ::-1]
    return np.moveaxis(result * _scale(norm, period), -1, axis)


def _scale(norm, period):
    return {"backward": 1.0, "forward": 1.0 / period}.get(norm, 1.0 / np.sqrt(period))


def _first(size, factor):
    """What multiplies the first of so many entries by a factor."""
    found = np.ones(size)
    found[0] = factor
    return found
