"""CuPy and its arrays for tests, where there is a device."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tests.strict_array import mapped


def held_by_device() -> Any:
    """The module `cupy`, or None where it or a device is missing."""
    try:
        cupy = importlib.import_module("cupy")
        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # (a driver that is missing, or of another version, raises errors of its own)
        return None


def to_device(value: Any) -> Any:
    """Arrays of a structure on the device; all else as it is."""
    if isinstance(value, np.ndarray):
        return held_by_device().asarray(value)
    return mapped(to_device, value)


def from_device(value: Any) -> Any:
    """Arrays of a structure as NumPy's; numbers as they are."""
    cupy = held_by_device()
    if isinstance(value, cupy.ndarray):
        return cupy.asnumpy(value)
    return mapped(from_device, value)
