"""The derivative of one closure as that of another closure of the same code.

`def make(k): return lambda x: np.sin(k * x)` makes a new function each time, whose derivative has
the same text: emitted code reads `k` where it is, when it runs. So the derivative of the next
closure is that of the first one with its cells in the place of the others, unless something
of what was captured was read when the text was made: a function, a class, an object.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..frontend.resolve import Scope

Cells = Mapping[int, types.CellType]  # by the id of the cell in whose place each is put

_NUMBERS = (int, float, complex, bool, str, bytes, type(None), np.generic)


def cells_between(old: types.FunctionType, new: types.FunctionType) -> Cells | None:
    """The cells of `new` for those of `old` that hold something else; None where what they hold
    may make another text."""
    found: dict[int, types.CellType] = {}
    for before, now in zip(old.__closure__ or (), new.__closure__ or (), strict=True):
        try:
            was, is_now = before.cell_contents, now.cell_contents
        except ValueError:  # (not bound yet)
            return None
        if before is not now:
            if was is not is_now and not _alike(was, is_now):
                return None
            found[id(before)] = now
    return found


def _alike(was: Any, is_now: Any) -> bool:
    """Whether two captured values are data of one type and rank."""
    if type(was) is not type(is_now):
        return False
    if type(was) is np.ndarray:
        same = was.dtype == is_now.dtype and was.ndim == is_now.ndim
        return same and was.dtype.kind in "biufc"
    return isinstance(was, _NUMBERS)


def moved_scope(scope: Scope, function: types.FunctionType, cells: Cells) -> Scope:
    """A scope that sees the cells of `function`."""
    held = {name: cells.get(id(cell), cell) for name, cell in scope.cells.items()}
    return replace(scope, fn=function, cells=held)


def moved_refs(
    refs: tuple[ir.Ref, ...], old: types.FunctionType, cells: Cells
) -> tuple[ir.Ref, ...]:
    """References to what cells of `old` hold, as those to what is in their place."""
    held = [
        (before.cell_contents, cells[id(before)].cell_contents)
        for before in old.__closure__ or ()
        if id(before) in cells
    ]

    def one(ref: ir.Ref) -> ir.Ref:
        return next((ir.Ref(ref.text, now) for was, now in held if was is ref.obj), ref)

    return tuple(map(one, refs))


_ATTRIBUTES = (
    *("__defaults__", "__kwdefaults__", "__annotations__", "__qualname__", "__module__"),
    "__doc__",
)


class Moving:
    """Emitted functions as they are with other cells; those that they call come along."""

    def __init__(self, old: types.FunctionType, cells: Cells) -> None:
        self.cells = cells
        self.captured = [c.cell_contents for c in old.__closure__ or () if id(c) in cells]
        self.made: dict[int, types.FunctionType] = {}
        self.siblings: dict[int, types.CellType] = {}

    def function(self, fn: types.FunctionType) -> types.FunctionType | None:
        """A copy of an emitted function; None where it holds what was captured otherwise."""
        if id(fn) in self.made:
            return self.made[id(fn)]
        closure = []
        for cell in fn.__closure__ or ():
            moved = self._cell(cell, fn.__code__.co_filename)
            if moved is None:
                return None
            closure.append(moved)
        made = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, None, tuple(closure))
        for name in _ATTRIBUTES:
            setattr(made, name, getattr(fn, name))
        made.__dict__.update(fn.__dict__)
        self.made[id(fn)] = made
        return made

    def _cell(self, cell: types.CellType, file: str) -> types.CellType | None:
        if id(cell) in self.cells:
            return self.cells[id(cell)]
        held = cell.cell_contents
        if isinstance(held, type) or any(held is value for value in self.captured):
            return None
        if not isinstance(held, types.FunctionType) or held.__code__.co_filename != file:
            return cell
        if id(cell) not in self.siblings:
            self.siblings[id(cell)] = mine = types.CellType()  # (it may call itself)
            made = self.function(held)
            if made is None:
                return None
            mine.cell_contents = made
        return self.siblings[id(cell)]
