"""The functions of `np.emath` as programs: those of NumPy, with complex results where real numbers
have no real ones."""

from __future__ import annotations

from typing import Any

import numpy as np


def _with_roots(x: Any) -> Any:
    """Complex if some of it is real and negative."""
    if np.any(np.isreal(x) & (np.real(x) < 0.0)):
        return x + 0j
    return x


def _within_one(x: Any) -> Any:
    """Complex if some of it is real and beyond 1 or -1."""
    if np.any(np.isreal(x) & (np.abs(x) > 1.0)):
        return x + 0j
    return x


def sqrt(x: Any) -> Any:
    return np.sqrt(_with_roots(np.asarray(x)))


def log(x: Any) -> Any:
    return np.log(_with_roots(np.asarray(x)))


def log10(x: Any) -> Any:
    return np.log10(_with_roots(np.asarray(x)))


def log2(x: Any) -> Any:
    return np.log2(_with_roots(np.asarray(x)))


def logn(n: Any, x: Any) -> Any:
    return np.log(_with_roots(np.asarray(x))) / np.log(_with_roots(np.asarray(n)))


def power(x: Any, p: Any) -> Any:
    base, exponent = np.asarray(x), np.asarray(p)
    if np.any(exponent < 0):
        exponent = exponent * 1.0
    return np.power(_with_roots(base), exponent)


def arccos(x: Any) -> Any:
    return np.arccos(_within_one(np.asarray(x)))


def arcsin(x: Any) -> Any:
    return np.arcsin(_within_one(np.asarray(x)))


def arctanh(x: Any) -> Any:
    return np.arctanh(_within_one(np.asarray(x)))
