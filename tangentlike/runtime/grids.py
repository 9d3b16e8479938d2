"""Adjoints of functions that make arrays from bounds and axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .broadcasting import unbroadcast
from .making import arange
from .shapes import reshape_like


def steps(y: Any, endpoint: bool = True, axis: int = 0) -> Any:
    """How far along from start to stop each entry of `y = np.linspace(...)` lies, 0 to 1.

    >>> steps(np.zeros(3))
    array([0. , 0.5, 1. ])
    """
    count = np.shape(y)[axis]
    intervals = count - 1 if endpoint else count
    along = (arange(count, y) / max(intervals, 1)).astype(y.dtype)
    shape = [1] * np.ndim(y)
    shape[axis] = count
    return np.reshape(along, shape)


def ungrid(g: Sequence[Any], axes: Sequence[Any], indexing: str = "xy") -> list[Any]:
    """The adjoints of the vectors in `np.meshgrid(*axes, indexing=indexing)`.

    >>> ungrid([np.ones((2, 3)), np.zeros((2, 3))], [np.zeros(3), np.zeros(2)])
    [array([2., 2., 2.]), array([0., 0.])]
    """
    bars = []
    for place, (part, vector) in enumerate(zip(g, axes, strict=True)):
        own = 1 - place if indexing == "xy" and place < 2 and len(axes) > 1 else place
        others = tuple(i for i in range(len(axes)) if i != own)
        bars.append(reshape_like(np.sum(part, axis=others), vector))
    return bars


def grid_dot(dots: Sequence[Any], indexing: str = "xy", sparse: bool = False) -> Any:
    """The tangents of `np.meshgrid`, from those of its vectors in one sequence."""
    return np.meshgrid(*dots, indexing=indexing, sparse=sparse)


def unbroadcast_each(g: Sequence[Any], likes: Sequence[Any]) -> list[Any]:
    """`unbroadcast` of each adjoint to the value it belongs to.

    >>> unbroadcast_each([np.ones((2, 2))], [np.zeros(2)])
    [array([2., 2.])]
    """
    return [unbroadcast(part, like) for part, like in zip(g, likes, strict=True)]
