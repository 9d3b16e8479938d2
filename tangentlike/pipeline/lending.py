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
from typing import Any

import numpy as np

from .. import ir, runtime
from ..analysis.memory import base_names
from ..errors import Place, TangentlikeError, UnsupportedError, not_lent
from ..frontend.lower import plain_helpers, rebound_outside
from ..frontend.meanings import note_data
from ..frontend.owners import is_library, is_ours
from ..frontend.primal import global_names
from ..frontend.resolve import Scope
from ..frontend.structures import Structures, structures_of
from ..ir.facts import fact
from ..ir.index import named, references
from ..pytree.reach import Reach, is_data
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
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
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
