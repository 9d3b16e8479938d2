"""Outer objects that a function puts what carries derivatives into, given to it as arguments.

    sim = Simulation(100)

    def loss(u):                        def loss(u, *, sim=sim):
        sim.start(u)                        sim.start(u)
        return sim.energy()                 return sim.energy()

Arguments that are written are copied first, so that the object outside stays as it was. Whatever
else the function calls must not find that object by another way: there it is not the copy.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir, runtime
from ..analysis.memory import base_names
from ..errors import Place, TangentlikeError, UnsupportedError, not_lent
from ..frontend.lower import plain_helpers, rebound_outside
from ..frontend.owners import is_library, is_ours
from ..frontend.primal import global_names
from ..frontend.resolve import Scope, note_data
from ..frontend.structures import Structures, structures_of
from ..ir.facts import fact
from ..ir.index import named, references
from ..pytree.leaves import Reach, is_data
from ..runtime.functions import LOOKUPS
from ..runtime.records import attribute_of


def lent_names(fn: types.FunctionType, objects: Iterable[Any]) -> tuple[str, ...]:
    """The outer names of a function, and of those of its module that it calls, through which it
    reaches one of these objects."""
    changed = Reach(objects)
    rebound = {*rebound_outside(fn.__code__), *fn.__code__.co_varnames, *fn.__code__.co_cellvars}
    scope, found = Scope.of(fn), []
    codes = (fn.__code__, *(helper.__code__ for helper in plain_helpers(fn).values()))
    outer = (name for code in codes for name in global_names(code))
    for name in dict.fromkeys((*fn.__code__.co_freevars, *outer)):
        try:
            obj = scope.lookup(name)
        except KeyError:
            continue
        fit = name not in rebound and is_data(obj) and not callable(obj)
        if fit and Reach((obj,)).meets(changed):
            found.append(name)
    return tuple(found)


def structures_of_lent(scope: Scope, names: tuple[str, ...], place: Place) -> Structures:
    """What is known of outer objects that are arguments, as long as they stay of these types.

    Refuses those that hold something twice: a copy of them would hold it as two things.
    """
    objects = {name: scope.lookup(name) for name in names}
    known = structures_of(objects)
    if Reach(objects.values()).holds_one_twice:
        raise not_lent(place)

    def hold() -> bool:
        try:
            same = all(scope.lookup(n) is x for n, x in objects.items())
            return (
                same
                and structures_of(objects) == known
                and not Reach(objects.values()).holds_one_twice
            )
        except (KeyError, TangentlikeError):
            return False

    note_data((id(scope), names), hold)
    return known


def is_read(function: ir.Function, name: str, useful: Collection[str]) -> bool:
    """Whether a function itself reads what it is given under a name, for something useful: more
    than to change it."""
    names = {name}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Do():
                continue
            case ir.Assign(target=str(other), value=ir.Var(known)):
                names.update([other] if known in names else ())
                continue
            case ir.Store(target=target, value=value) | ir.Update(target=target, value=value):
                read = ir.names_in(value) | ir.names_in(target) - set(base_names(target))
            case ir.Assign(target=target) if not set(ir.target_names(target)) & set(useful):
                continue
            case _:
                read = ir.reads(stmt)
        if read & names:
            return True
    return False


def lent_to(fn: Any, function: ir.Function) -> tuple[ir.Ref, ...]:
    """The outer objects that derivatives are given as arguments which a function calls, or is."""
    objects = (fn, *(ref.obj for ref in fact(references, function)))
    refs = (ref for obj in objects for ref in attribute_of(obj, "__lent__", ()) or ())
    return tuple({(ref.text, id(ref.obj)): ref for ref in refs}.values())


def refuse_other_ways(
    functions: Iterable[ir.Function],
    lent: Mapping[str, Any],
    read: Callable[[Any], ir.Function],
) -> None:
    """Refuse functions that reach by themselves what the main one is given."""
    if not lent:
        return
    functions = tuple(functions)
    place = functions[-1].place
    if any(map(_asks_run, functions)):
        raise not_lent(place)
    own, seen = Reach(lent.values()), set[int]()
    pending = [ref for function in functions for ref in _named_in(function)]
    while pending:
        ref = pending.pop()
        if id(ref.obj) in seen:
            continue
        seen.add(id(ref.obj))
        if Reach((ref.obj,)).meets(own):
            raise not_lent(place)
        if isinstance(ref.obj, types.FunctionType) and not (
            is_library(ref.obj) or is_ours(ref.obj)
        ):
            try:
                pending += _named_in(read(ref.obj))
            except UnsupportedError:
                raise not_lent(place) from None


def _named_in(function: ir.Function) -> list[ir.Ref]:
    return [ref for stmt in ir.statements(function.body) for ref in named(stmt)]


def _asks_run(function: ir.Function) -> bool:
    """Whether a function calls what only the running program knows."""
    for ref in fact(references, function):
        if any(ref.obj is fn for fn in _AT_RUN_TIME):
            return True
    for part in ir.walk_block(function.body):
        match part:
            case ir.Call(fn=ir.Var()):
                return True
            case ir.Call(fn=ir.Attribute(_, name)) if name not in _KNOWN_METHODS:
                return True
    return False


_AT_RUN_TIME = (*LOOKUPS, runtime.reader)
_KNOWN_METHODS = frozenset(
    name
    for cls in (np.ndarray, list, dict, set, deque, str, runtime.Shadow, np.random.Generator)
    for name in dir(cls)
)


# --------------------------------------------------------------------------------------------------
# The derivative of one closure as that of another closure of the same code.
#
# `def make(k): return lambda x: np.sin(k * x)` makes a new function each time, whose derivative has
# the same text: emitted code reads `k` where it is, when it runs. So the derivative of the next
# closure is that of the first one with its cells in the place of the others, unless something
# of what was captured was read when the text was made: a function, a class, an object.

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
