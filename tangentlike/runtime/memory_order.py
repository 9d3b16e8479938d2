"""Entries in the order in which an array holds them: `order="A"` and `order="K"`."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["order_of", "ravel_as", "unravel_as"]


def order_of(a: Any, order: str) -> str:
    """What `order` means for `a`: "A" is "F" for an array in Fortran's order, otherwise "C".

    >>> order_of(np.zeros((2, 3)).T, "A"), order_of(np.zeros((2, 3)), "A")
    ('F', 'C')
    """
    return ("F" if a.flags.fnc else "C") if order == "A" else order


def ravel_as(g: Any, a: Any, order: str) -> Any:
    """The entries of `g` in the order in which `np.ravel(a, order)` takes those of `a`.

    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]]).T
    >>> ravel_as(a, a, "K")
    array([1., 2., 3., 4.])
    """
    if order != "K":
        return np.ravel(g, order_of(a, order))
    return np.ravel(np.transpose(g, _axes_in_memory(a)))


def unravel_as(g: Any, a: Any, order: str) -> Any:
    """The adjoint of `np.ravel(a, order)`.

    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]]).T
    >>> unravel_as(np.ravel(a, "K"), a, "K")
    array([[1., 3.],
           [2., 4.]])
    """
    if order != "K":
        return np.reshape(g, np.shape(a), order=order_of(a, order))
    axes = _axes_in_memory(a)
    return np.transpose(np.reshape(g, [a.shape[i] for i in axes]), np.argsort(axes))


def _axes_in_memory(a: Any) -> list[int]:
    """The axes from that of the longest stride to that of the shortest."""
    strides = np.empty_like(a, order="K", subok=False).strides  # (a copy resolves equal strides)
    return sorted(range(a.ndim), key=lambda i: (-strides[i], i))
