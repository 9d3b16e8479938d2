"""`np.r_[a, b]` and `np.c_[a, b]` as functions of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["column_join", "row_join"]


def row_join(parts: Sequence[Any]) -> Any:
    """Numbers and arrays one after the other.

    >>> row_join([0.0, np.ones(2)])
    array([0., 1., 1.])
    """
    return np.r_[tuple(parts)]


def column_join(parts: Sequence[Any]) -> Any:
    """Vectors as columns, matrices side by side.

    >>> column_join([np.zeros(2), np.ones(2)])
    array([[0., 1.],
           [0., 1.]])
    """
    return np.c_[tuple(parts)]
