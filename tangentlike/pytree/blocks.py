"""Values as lists of their leaves, and derivatives as blocks: one for each two leaves.

The Jacobian of a function that returns `{"a": y}` by `(w, b)` is kept as two blocks, of shapes
`y.shape + w.shape` and `y.shape + b.shape`, and is handed out as `{"a": (block, block)}`: the
structure of the value, and at each of its leaves the structure of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import leaves


def flat(value: Any) -> list[Any]:
    """The leaves of a value, in order.

    >>> flat({"w": 1.0, "n": 3, "pair": (2.0, 4.0)})
    [1.0, 2.0, 4.0]
    """
    return [leaf for _, leaf in leaves.leaves(value)]


def shaped_like(value: Any, parts: Sequence[Any]) -> Any:
    """The parts, one for each leaf, in the structure of the value; None for what is no leaf.

    >>> shaped_like({"w": 1.0, "n": 3, "pair": (2.0, 4.0)}, "abc")
    {'w': 'a', 'n': None, 'pair': ('b', 'c')}
    """
    remaining = iter(parts)
    return _mapped(value, lambda leaf: next(remaining))


def _mapped(value: Any, fn: Callable[[Any], Any]) -> Any:
    if leaves.is_leaf(value):
        return fn(value)
    inside = leaves.children(value)
    if inside is None:
        return None
    return leaves.rebuild(value, [_mapped(item, fn) for _, item in inside])


def size_of(value: Any) -> int:
    """How many numbers carry derivatives in a value."""
    return sum(_entries(leaf) for leaf in flat(value))


def _entries(leaf: Any) -> int:
    return int(np.prod(getattr(leaf, "shape", ())))


def to_vector(parts: Sequence[Any]) -> Any:
    """The entries of leaves one after the other, as one array."""
    return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)])


def from_vector(value: Any, vector: Any) -> Any:
    """The inverse: a vector cut into leaves with the shapes and dtypes of those of the value."""
    parts, start = [], 0
    for leaf in flat(value):
        end = start + _entries(leaf)
        part = vector[start:end]
        if leaves.is_array(leaf):
            parts.append(part.reshape(leaf.shape).astype(leaf.dtype))
        else:
            parts.append(type(leaf)(part[0]))
        start = end
    return shaped_like(value, parts)


def units(value: Any) -> Iterator[tuple[int, tuple[int, ...], Any]]:
    """For each entry of each leaf: number of the leaf, index, and the seed that is one there.

    >>> [seed for _, _, seed in units((2.0, {"b": 5.0}))]
    [(1.0, {'b': 0.0}), (0.0, {'b': 1.0})]
    """
    found = flat(value)
    zeros = [leaves.zeros(x) if leaves.is_array(x) else type(x)(0.0) for x in found]
    for number, leaf in enumerate(found):
        for index in np.ndindex(*getattr(leaf, "shape", ())):
            parts = [*zeros[:number], _unit(leaf, index), *zeros[number + 1 :]]
            yield number, index, shaped_like(value, parts)


def _unit(leaf: Any, index: tuple[int, ...]) -> Any:
    if not leaves.is_array(leaf):
        return type(leaf)(1.0)
    seed = leaves.zeros(leaf)
    seed[index] = 1.0
    return seed


class Blocks:
    """The derivatives of all leaves of `rows` by all leaves of `columns`, written bit by bit."""

    def __init__(self, rows: Any, columns: Any) -> None:
        self.rows, self.columns = rows, columns
        self.parts = [[_room(row, column) for column in flat(columns)] for row in flat(rows)]

    def put_column(self, number: int, index: tuple[int, ...], tangents: Sequence[Any]) -> None:
        """The derivatives of everything by one entry of the leaf `number` of the columns."""
        where = (..., *index)
        for row, tangent in zip(self.parts, tangents, strict=True):
            row[number][where] = tangent

    def put_row(self, number: int, index: tuple[int, ...], bars: Sequence[Any]) -> None:
        """The derivatives by everything of one entry of the leaf `number` of the rows."""
        where = (*index, ...)
        for block, bar in zip(self.parts[number], bars, strict=True):
            block[where] = bar

    def times(self, direction: Sequence[Any]) -> list[Any]:
        """The product with a vector, given and returned leaf by leaf."""
        return [
            sum(np.tensordot(block, v, np.ndim(v)) for block, v in zip(row, direction, strict=True))
            for row in self.parts
        ]

    def transposed_times(self, direction: Sequence[Any]) -> list[Any]:
        """The product of the transpose with a vector, leaf by leaf."""
        return [
            sum(
                np.tensordot(v, row[number], np.ndim(v))
                for row, v in zip(self.parts, direction, strict=True)
            )
            for number in range(len(flat(self.columns)))
        ]

    def nested(self) -> Any:
        """The structure of the rows, and at each of its leaves that of the columns."""
        found = []
        for row, blocks in zip(flat(self.rows), self.parts, strict=True):
            pairs = zip(flat(self.columns), blocks, strict=True)
            opened = [_opened(block, row, column) for column, block in pairs]
            found.append(shaped_like(self.columns, opened))
        return shaped_like(self.rows, found)


def _room(row: Any, column: Any) -> Any:
    """Zeros for the derivative of one leaf by another, in the array module of either."""
    shape = (*getattr(row, "shape", ()), *getattr(column, "shape", ()))
    arrays = [a for a in (row, column) if leaves.is_array(a)]
    if not arrays:
        return np.zeros((), np.result_type(type(row), type(column)))
    dtype = np.result_type(*(a if leaves.is_array(a) else type(a)(0) for a in (row, column)))
    return np.zeros_like(arrays[0], shape=shape, dtype=dtype, order="C")


def _opened(block: Any, row: Any, column: Any) -> Any:
    """The derivative of a number by a number is a number."""
    return block if leaves.is_array(row) or leaves.is_array(column) else block.item()
