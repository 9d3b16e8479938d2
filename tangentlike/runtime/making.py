"""Arrays made from nothing, of the same kind as another one.

An index or an identity matrix meets the arrays of the program: it has to be on their device.
What implements no protocol (a number, a list) gets NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def arange(count: int, like: Any) -> Any:
    """`np.arange(count)` as an array of the same kind as `like`."""
    if hasattr(like, "__array_function__"):
        return np.arange(count, like=like)
    return np.arange(count)


def eye(n: int, like: Any) -> Any:
    """`np.eye(n)` as an array of the same kind as `like`."""
    if hasattr(like, "__array_function__"):
        return np.eye(n, like=like)
    return np.eye(n)


def asarray(x: Any, like: Any) -> Any:
    """`x` itself if it is an array, else (a number or a list) an array of the kind of `like`."""
    if hasattr(x, "__array_function__") or not hasattr(like, "__array_function__"):
        return x
    return np.asarray(x, like=like)
