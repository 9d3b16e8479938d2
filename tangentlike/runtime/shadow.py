"""Adjoints found by identity: by the memory of an array, and by the object that a number is.

>>> grid, bars = np.zeros((2, 2)), Shadow()
>>> bars.add(grid[1], 3.0)
>>> bars.of(grid.T)
array([[0., 3.],
       [0., 3.]])
"""

from __future__ import annotations

from array import array as typed_array
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .broadcasting import _is_complex, broadcast_like, real_part, unbroadcast
from .buffers import arange, asarray, require_held, survivors
from .mutation import add_at, copy, fitting
from .records import SEQUENCES, Mirror, fields_of, is_array, mirror
from .sharing import (
    address,
    bytes_like,
    memory_extent,
    memory_owner,
    refuse_memory,
    typed_owner,
    view_like,
)

_NUMBERS = (float, complex, np.inexact)


class Shadow:
    """The adjoints of arrays and numbers, wherever these are held and by whatever names.

    Each piece of memory has one block of adjoints, and an array's adjoint is the same view of it
    as the array is of its memory. What is looked up is kept alive, so that no id is used again.
    """

    operations = (
        *("of", "like", "add", "take", "put"),
        *("like_at", "add_at", "take_at", "put_at"),
    )

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[Any, int, Any, Any]] = {}
        self.numbers: dict[int, tuple[Any, Any]] = {}
        self.shadows: dict[int, tuple[Shadow, Shadow]] = {}

    def of(self, x: Any) -> Any:
        """The adjoint of `x`: of an array a view, to be read and written; of a container the
        adjoints of what is in it."""
        x = _entries(x)
        if is_array(x):
            return self._view(x)
        if isinstance(x, _NUMBERS):
            return _own(self.numbers.get(id(x), (x, 0.0))[1])
        if isinstance(x, Shadow):
            return self.shadows.setdefault(id(x), (x, Shadow()))[1]
        if isinstance(x, dict):
            return {key: self.of(item) for key, item in x.items()}
        found = mirror(x, self.of)
        if found is None and isinstance(x, SEQUENCES):
            return _sequence_like(x, map(self.of, x))
        return 0.0 if found is None else found

    def _view(self, x: Any) -> Any:
        found = self.blocks.get(id(x))
        if found is not None and found[2].shape == x.shape:
            return found[2]  # (all of the memory)
        return self._part(x) if x.dtype.kind in "fc" and x.size else _nothing_of(x)

    def _part(self, x: Any) -> Any:
        if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
            refuse_memory(f"a {type(x).__name__}")
        owner = _owner(x)
        found = self.blocks.get(id(owner))
        if found is None:
            low, high = memory_extent(_entries(owner))
            block = bytes_like(x, high - low)
            known = isinstance(owner, np.ndarray)
            whole = view_like(owner, block, address(owner) - low) if known else None
            found = self.blocks[id(owner)] = owner, low, whole, block
        if owner is x and found[2].shape == x.shape:
            return found[2]
        if isinstance(owner, typed_array) and _entries(owner).nbytes != found[3].nbytes:
            refuse_memory("an array.array of which the length changes")
        return view_like(x, found[3], address(x) - found[1])

    def add(self, x: Any, g: Any) -> None:
        """Add `g` to the adjoint of `x`, summed over axes along which `x` was broadcast; entry by
        entry in containers."""
        x = _entries(x)
        if isinstance(x, _NUMBERS):
            if g is not None:
                known = self.numbers.get(id(x))
                g = unbroadcast(g, x)
                self.numbers[id(x)] = x, _own(g) if known is None else known[1] + g
        elif type(x) is np.ndarray and type(g) is np.ndarray and g.shape == x.shape:
            if x.base is None and id(x) not in self.blocks and _is_laid_out_alike(g, x):
                whole = g.copy()
                self.blocks[id(x)] = x, address(x), whole, whole.reshape(-1).view(np.uint8)
            else:
                _add(self._view(x), g)
        elif is_array(x):
            if g is not None and x.dtype.kind in "fc" and x.size:
                g = np.asarray(g) if isinstance(g, list) else g  # (that of an `array.array`)
                larger = np.ndim(g) > x.ndim or np.size(g) > x.size or not np.size(g)
                _add(self._view(x), unbroadcast(g, x) if larger else g)
        else:
            for item, part in _pairs(x, g):
                self.add(item, part)

    def take(self, x: Any, *made_of: Any) -> Any:
        """The adjoint of what a statement made, which is then forgotten. Zeros for what is, or is
        a view of, what it was made of: the adjoint is in place there."""
        if type(x) is np.ndarray and x.base is None and not made_of:
            found = self.blocks.get(id(x))
            if found is not None and found[2].shape == x.shape:
                del self.blocks[id(x)]
                return found[2]
        return self._take(x, _identities(made_of))

    def _take(self, x: Any, known: set[int]) -> Any:
        x = _entries(x)
        if is_array(x):
            owner = _owner(x)
            if id(owner) in known or id(owner) not in self.blocks:
                return _nothing_of(x)
            view = self._view(x)
            plain = _is_plain(view)
            g = view.copy(order="K") if plain else _divided(view)
            view[...] = 0.0
            if plain and self.blocks[id(owner)][3].nbytes == x.nbytes:
                del self.blocks[id(owner)]
            return g
        if isinstance(x, _NUMBERS):
            return _own(0.0 if id(x) in known else self.numbers.pop(id(x), (x, 0.0))[1])
        if isinstance(x, dict):
            return {key: self._take(item, known) for key, item in x.items()}
        if id(x) in known:  # (an object of the program's is what it was)
            return 0.0
        found = mirror(x, lambda item: self._take(item, known))
        if found is None and isinstance(x, SEQUENCES):
            return _sequence_like(x, (self._take(item, known) for item in x))
        return 0.0 if found is None else found

    def put(self, x: Any, g: Any, *made_of: Any) -> None:
        """Make `g` the adjoint of `x`, but of what it was made of: `take` transposed."""
        known = _identities(made_of)
        for leaf, part in reversed([*_pairs(x, g)]):
            if not is_array(leaf):
                if id(leaf) not in known:
                    self.numbers[id(leaf)] = leaf, part
            elif leaf.dtype.kind in "fc" and id(_owner(leaf)) not in known:
                view = self._view(leaf)
                view[...] = 0.0
                _add(view, part)
                if not _is_plain(view):
                    view[...] = _divided(view)

    def like(self, x: Any, g: Any) -> Any:
        """The adjoint of `x` as one of what was added to it, of the shape of `g`: `add`
        transposed."""
        x = _entries(x)
        if isinstance(g, SEQUENCES):
            pairs = zip(x, g, strict=True)
            return _sequence_like(g, (self.like(item, part) for item, part in pairs))
        if isinstance(g, dict):
            return {key: self.like(x[key], part) for key, part in g.items()}
        fields = fields_of(g)
        if fields and not (is_array(g) or isinstance(g, _NUMBERS)):
            return Mirror(**{n: self.like(getattr(x, n), part) for n, part in fields.items()})
        if isinstance(x, SEQUENCES) and is_array(g):
            return _like(np.stack([asarray(self.of(item), g) for item in x]), g)
        if g is None or isinstance(x, (str, bytes)) or x is None:
            return None if g is None else 0.0
        if is_array(x) or isinstance(x, _NUMBERS):
            return _like(self.of(x), g)
        return sum((self.like(leaf, g) for leaf, _ in _pairs(x, 0.0)), 0.0)  # (a number for all)

    def add_at(self, base: Any, key: Any, item: Any = None, g: Any = None) -> None:
        """Reverse `item = base[key]`: add to the entries of an array what was added to the copy of
        them that `item` is, or `g`. An item of a container, like a view, is itself; what a number
        of NumPy gives (`x[..., np.newaxis]`) is a copy of it."""
        base = _entries(base)
        if isinstance(base, _NUMBERS):
            self.add(base, np.sum(self.take(item) if g is None else g))
        elif not is_array(base):
            require_held(base, item)
            if g is not None:
                self.add(item, g)
        elif g is not None and (type(key) is int or type(key) is slice):
            view = self._view(base)
            if type(g) is not float and base.dtype.kind == "f" and _is_complex(g):
                g = real_part(g)
            view[key] += g
        elif g is not None:
            add_at(self._view(base), key, g)
        elif not is_array(item) or _owner(item) is not _owner(base):
            add_at(self._view(base), key, self.take(item))

    def take_at(self, base: Any, key: Any, value: Any = None) -> Any:
        """Reverse `base[key] = value`: the adjoint of the value, when that of the entries of an
        array is set to zero. What was put into a container has the adjoint itself."""
        base = _entries(base)
        if not is_array(base):
            return self.take(value) if isinstance(value, _NUMBERS) else None
        whole = self._view(base)
        part = whole[key]
        if not is_array(part):
            whole[key] = 0.0
            return part if value is None else unbroadcast(part, _entries(value))
        if not _is_plain(part):
            refuse_memory("entries that lie on each other in memory")
        g = part.copy() if type(key) is slice or key is ... else part * survivors(whole, key)
        whole[key] = 0.0
        return g if value is None else unbroadcast(g, _entries(value))

    def like_at(self, base: Any, key: Any, item: Any, g: Any = None) -> Any:
        """`add_at` transposed: the adjoint of the entries is that of `item`, or of `g`."""
        base = _entries(base)
        if isinstance(base, _NUMBERS):
            return self.put(item, self.of(base)) if g is None else _like(self.of(base), g)
        if not is_array(base):
            require_held(base, item)
            return None if g is None else self.like(item, g)
        if g is not None:
            return _like(self._view(base)[key], g)
        if not is_array(item) or _owner(item) is not _owner(base):
            self.put(item, copy(self._view(base)[key]))
        return None

    def put_at(self, base: Any, key: Any, g: Any, value: Any = None) -> None:
        """`take_at` transposed: `g` is the adjoint of the entries."""
        base = _entries(base)
        if is_array(base):
            whole = self._view(base)
            g = broadcast_like(g, whole[key]) * survivors(whole, key)
            whole[key] = 0.0
            add_at(whole, key, g)
        elif isinstance(value, _NUMBERS):
            self.put(value, g)


def _sequence_like(x: Any, items: Iterable[Any]) -> Any:
    """The adjoints of the items of a sequence."""
    return deque(items, x.maxlen) if isinstance(x, deque) else list(items)


def _entries(x: Any) -> Any:
    """An `array.array` of floats, which holds no objects, as an array of its memory; anything else
    as it is."""
    if isinstance(x, typed_array) and x.typecode in "fd" and len(x):
        return np.frombuffer(x, x.typecode)
    return x


def _owner(x: Any) -> Any:
    """What owns the memory of an array: another array, or an `array.array`."""
    owner = memory_owner(x)
    typed = typed_owner(owner)
    return owner if typed is None else typed


def _pairs(x: Any, g: Any, zeroed: set[int] | None = None) -> Iterator[tuple[Any, Any]]:
    """The arrays and numbers in `x` with what belongs to each of them in `g`. (Objects for which
    that is 0.0, the zero of any structure, may refer to each other: `zeroed` were met already.)"""
    x, zeroed = _entries(x), set() if zeroed is None else zeroed
    if g is None:  # (it is in place already)
        return
    if is_array(x) or isinstance(x, _NUMBERS):
        yield x, g
    elif isinstance(x, dict):
        for key, item in x.items():
            yield from _pairs(item, g if _is_number(g) else g[key], zeroed)
    elif isinstance(x, SEQUENCES):
        parts = [g] * len(x) if _is_number(g) else g
        if is_array(g):  # (it was taken for an array)
            parts = unbroadcast(g, x)
        _require_as_many(x, parts)
        for item, part in zip(x, parts, strict=True):
            yield from _pairs(item, part, zeroed)
    elif not _is_number(g):
        for name, item in (fields_of(x) or {}).items():
            part = g.get(name, 0.0) if isinstance(g, dict) else getattr(g, name, 0.0)
            yield from _pairs(item, part, zeroed)
    elif id(x) not in zeroed:
        zeroed.add(id(x))
        for item in (fields_of(x) or {}).values():
            yield from _pairs(item, g, zeroed)


def _require_as_many(x: Any, parts: Any) -> None:
    if len(x) != len(parts):
        raise ValueError(
            "lists are joined or repeated that this derivative takes for arrays: build the new "
            "list item by item, as in `[*xs, *ys]`"
        )


REFUSALS = (refuse_memory, _require_as_many)


def _nothing_of(x: Any) -> Any:
    """Zeros for an array that carries no adjoint, or has none."""
    if x.dtype.kind in "OV":
        refuse_memory(f"an array of dtype {x.dtype}")
    dtype = x.dtype if x.dtype.kind in "fc" else float
    if isinstance(x, np.ndarray):
        return np.zeros_like(x, dtype, subok=False)
    return np.zeros_like(x, dtype=dtype)


def _is_laid_out_alike(g: np.ndarray, x: np.ndarray) -> bool:
    return g.dtype is x.dtype and g.ndim > 0 and bool(x.flags.c_contiguous) and x.size > 0


def _add(view: Any, g: Any) -> None:
    g = fitting(g, view)
    if _is_plain(view):
        view += g
    else:  # (an entry stands for several, as those of `np.broadcast_to` and of sliding windows)
        axes = range(view.ndim)
        shapes = [[-1 if axis == k else 1 for k in axes] for axis in axes]
        places = (arange(n, view).reshape(s) for n, s in zip(view.shape, shapes, strict=True))
        np.add.at(view, tuple(places), g)


def _divided(view: Any) -> Any:
    """The adjoint of a place in memory, in equal parts for all entries that lie there."""
    low, high = memory_extent(view)
    times = view_like(view, bytes_like(view, high - low), address(view) - low)
    _add(times, 1.0)
    return view / times


def _is_plain(view: Any) -> bool:
    """Whether the entries surely lie beside each other, and not one on another."""
    if view.flags.c_contiguous:
        return True
    end = view.itemsize
    for step, n in sorted((abs(step), n) for step, n in zip(view.strides, view.shape, strict=True)):
        if n > 1 and step < end:
            return False
        end += step * (n - 1)
    return True


def _like(bar: Any, g: Any) -> Any:
    """An adjoint in the shape of `g`, which was broadcast, or summed, when it was added there:
    what a real one was added to may be complex."""
    if _is_complex(bar) and not _is_complex(g):
        bar = real_part(bar)
    if np.shape(bar) == np.shape(g):
        return _own(bar)
    shape = np.broadcast_shapes(np.shape(bar), np.shape(g))
    return _own(unbroadcast(np.broadcast_to(bar, shape), g))


def _own(g: Any) -> Any:
    """An adjoint as an object that nothing else is: its own adjoint may be asked for."""
    if is_array(g):
        return g.copy(order="K")
    turned = -g
    return -turned


def _is_number(g: Any) -> bool:
    return isinstance(g, (int, float, complex, np.generic))


def _identities(values: Any) -> set[int]:
    """The ids of the numbers, of the owners of the arrays and of the objects in some values (which
    may refer to each other)."""
    found: set[int] = set()
    waiting = list(values)
    while waiting:
        x = _entries(waiting.pop())
        if is_array(x):
            found.add(id(_owner(x)))
        elif isinstance(x, SEQUENCES):
            waiting += x
        elif isinstance(x, dict):
            waiting += x.values()
        elif id(x) not in found:
            found.add(id(x))
            waiting += (fields_of(x) or {}).values()
    return found
