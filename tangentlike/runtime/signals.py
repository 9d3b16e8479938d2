"""Adjoints of convolutions and of recursive filters."""

from __future__ import annotations

from typing import Any

import numpy as np


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
    for k in range(len(like)):
        lag = min(k, count)
        sums.append(np.sum(first[lag:] * second[: count - lag]))
    return np.stack(sums)
