"""Adjoints found by identity: by the memory of an array, and by the object that a number is.

>>> grid, bars = np.zeros((2, 2)), Shadow()
>>> bars.add(grid[1], 3.0)
>>> bars.of(grid.T)
array([[0., 3.],
       [0., 3.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .broadcasting import unbroadcast
from .buffers import survivors
from .mutation import add_at, fitting
from .records import fields_of, mirror
from .sharing import memory_extent, memory_owner

__all__ = ["Shadow"]

_NUMBERS = (float, complex, np.inexact)


class Shadow:
    """The adjoints of arrays and numbers, wherever these are held and by whatever names.

    Each piece of memory has one block of adjoints, and an array's adjoint is the same view of it
    as the array is of its memory. What is looked up is kept alive, so that no id is used again.
    """

    operations = ("of", "add", "take", "add_at", "take_at")

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[Any, int, Any]] = {}
        self.numbers: dict[int, tuple[Any, Any]] = {}

    def of(self, x: Any) -> Any:
        """The adjoint of `x`: of an array a view, to be read and written; of a container the
        adjoints of what is in it."""
        if isinstance(x, np.ndarray):
            return self._view(x)
        if isinstance(x, _NUMBERS):
            return self.numbers.get(id(x), (x, 0.0))[1]
        if isinstance(x, dict):
            return {key: self.of(item) for key, item in x.items()}
        found = mirror(x, self.of)
        if found is None and isinstance(x, (list, tuple)):
            return [self.of(item) for item in x]
        return 0.0 if found is None else found

    def _view(self, x: np.ndarray) -> np.ndarray:
        if x.dtype.kind not in "fc" or not x.size:
            return np.zeros(x.shape, x.dtype if x.dtype.kind in "fc" else float)
        if type(x) is not np.ndarray:
            raise TypeError(f"adjoints of a {type(x).__name__} are not found by its memory")
        owner = memory_owner(x)
        if id(owner) not in self.blocks:
            low, high = memory_extent(owner)
            self.blocks[id(owner)] = owner, low, np.zeros(high - low, np.uint8)
        _, low, block = self.blocks[id(owner)]
        start = int(x.__array_interface__["data"][0]) - low
        return np.ndarray(x.shape, x.dtype, block, start, x.strides)

    def add(self, x: Any, g: Any) -> None:
        """Add `g` to the adjoint of `x`, summed over axes along which `x` was broadcast; entry by
        entry in containers."""
        if g is None:  # (it is in place already)
            return
        if isinstance(x, np.ndarray):
            if x.dtype.kind in "fc" and x.size:
                larger = np.ndim(g) > x.ndim or np.size(g) > x.size
                _add(self._view(x), unbroadcast(g, x) if larger else g)
        elif isinstance(x, _NUMBERS):
            self.numbers[id(x)] = x, self.of(x) + unbroadcast(g, x)
        elif isinstance(x, dict):
            for key, item in x.items():
                self.add(item, g if _is_number(g) else g[key])
        elif isinstance(x, (list, tuple)):
            parts = [g] * len(x) if _is_number(g) else g
            if isinstance(g, np.ndarray):  # (it was taken for an array)
                parts = unbroadcast(g, x)
            for item, part in zip(x, parts, strict=True):
                self.add(item, part)
        else:
            for name, item in (fields_of(x) or {}).items():
                self.add(item, getattr(g, name, 0.0))

    def take(self, x: Any, *made_of: Any) -> Any:
        """The adjoint of what a statement made, which is then forgotten. Zeros for what is, or is
        a view of, what it was made of: the adjoint is in place there."""
        return self._take(x, _identities(made_of))

    def _take(self, x: Any, known: set[int]) -> Any:
        if isinstance(x, np.ndarray):
            owner = memory_owner(x)
            if id(owner) in known or id(owner) not in self.blocks:
                return np.zeros_like(x, dtype=None if x.dtype.kind in "fc" else float)
            view = self._view(x)
            g = view.copy(order="K")
            view[...] = 0.0
            if owner.nbytes == x.nbytes:
                del self.blocks[id(owner)]
            return g
        if isinstance(x, _NUMBERS):
            return 0.0 if id(x) in known else self.numbers.pop(id(x), (x, 0.0))[1]
        if isinstance(x, dict):
            return {key: self._take(item, known) for key, item in x.items()}
        found = mirror(x, lambda item: self._take(item, known))
        if found is None and isinstance(x, (list, tuple)):
            return [self._take(item, known) for item in x]
        return 0.0 if found is None else found

    def add_at(self, base: Any, key: Any, item: Any, g: Any = None) -> None:
        """Reverse `item = base[key]`: add to the entries of an array what was added to the copy of
        them that `item` is, or `g`. An item of a container, like a view, is itself."""
        if not isinstance(base, np.ndarray):
            if g is not None:
                self.add(item, g)
        elif g is not None:
            add_at(self._view(base), key, g)
        elif not isinstance(item, np.ndarray) or memory_owner(item) is not memory_owner(base):
            add_at(self._view(base), key, self.take(item))

    def take_at(self, base: Any, key: Any, value: Any = None) -> Any:
        """Reverse `base[key] = value`: the adjoint of the value, when that of the entries of an
        array is set to zero. What was put into a container has the adjoint itself."""
        if not isinstance(base, np.ndarray):
            return self.take(value) if isinstance(value, _NUMBERS) else None
        whole = self._view(base)
        g = whole[key] * survivors(whole, key)
        whole[key] = 0.0
        return None if value is None else unbroadcast(g, value)


def _add(view: np.ndarray, g: Any) -> None:
    g = fitting(g, view)
    if _is_plain(view):
        view += g
    else:  # (an entry stands for several, as those of `np.broadcast_to` and of sliding windows)
        np.add.at(view, tuple(np.indices(view.shape)), g)


def _is_plain(view: np.ndarray) -> bool:
    """Whether the entries surely lie beside each other, and not one on another."""
    if view.flags.c_contiguous:
        return True
    end = view.itemsize
    for step, n in sorted((abs(step), n) for step, n in zip(view.strides, view.shape, strict=True)):
        if n > 1 and step < end:
            return False
        end += step * (n - 1)
    return True


def _is_number(g: Any) -> bool:
    return isinstance(g, (int, float, complex, np.generic))


def _identities(values: Any) -> set[int]:
    """The ids of the numbers, and of the owners of the arrays, in some values."""
    found: set[int] = set()
    for x in values:
        if isinstance(x, np.ndarray):
            found.add(id(memory_owner(x)))
        elif isinstance(x, _NUMBERS):
            found.add(id(x))
        elif isinstance(x, (list, tuple, dict)):
            found |= _identities(x.values() if isinstance(x, dict) else x)
        else:
            found |= _identities((fields_of(x) or {}).values())
    return found
