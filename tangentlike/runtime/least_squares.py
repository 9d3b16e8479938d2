"""The adjoint of fitting a polynomial."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["polyfit_bar"]


def polyfit_bar(g: Any, x: Any, deg: int, w: Any = None) -> Any:
    """The adjoint of `np.polyfit(x, y, deg, w=w)` by y: the fit is linear in it.

    >>> polyfit_bar(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 1).round(3) + 0.0
    array([1., 0.])
    """
    powers = np.vander(x, deg + 1)
    if w is None:
        return np.linalg.pinv(powers).T @ g
    weighted = np.linalg.pinv(powers * np.reshape(w, (-1, 1))).T @ g
    return np.reshape(w, (-1,) + (1,) * (np.ndim(g) - 1)) * weighted
