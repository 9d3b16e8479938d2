"""Which objects a program may change, itself or by what it calls, and which outer data it names.

A derivative works on copies of the arguments that are changed. A list or an object that is found
in two ways, twice in an argument or by a name outside, would be two things there.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .. import ir
from ..frontend.owners import is_library, is_ours
from ..frontend.structures import sets_attribute
from ..ir.index import named
from ..ir.kind import Kind
from ..pytree.reach import is_data
from ..runtime.records import attribute_of
from .operations import MUTATING_METHODS

_CONTAINERS = (list, dict, set, deque)


@dataclass(frozen=True)
class Changed:
    """Objects with one of these `attributes`, and `containers`, may be changed."""

    attributes: frozenset[str] = frozenset()
    containers: bool = False

    def may_change(self, obj: Any) -> bool:
        """Whether a container or an object may be changed. (Arrays are known by their memory.)"""
        if isinstance(obj, _CONTAINERS):
            return self.containers
        fields = attribute_of(obj, "__dict__", None) or {}
        return any(a in fields or sets_attribute(type(obj), a) for a in self.attributes)


def changed_by(
    functions: Iterable[ir.Function], kinds_of: Callable[[ir.Function], Callable[[ir.Expr], Kind]]
) -> Changed:
    """What functions change."""
    attributes: set[str] = set()
    containers = False
    for function in functions:
        kind_of = kinds_of(function)
        for stmt in ir.statements(function.body):
            for target in _changed_places(stmt):
                if isinstance(target, ir.Attribute):
                    attributes.add(target.name)
                elif kind_of(target).form not in ("array", "number"):
                    containers = True
    return Changed(frozenset(attributes), containers)


def named_by(
    main: ir.Function, read: Callable[[Any], ir.Function | None]
) -> tuple[tuple[ir.Function, ...], tuple[ir.Ref, ...]]:
    """A function with those that it calls, and the data outside that they name; `read` gives the
    functions that can be read, None for others."""
    outer = dict[int, ir.Ref]()
    functions, seen = [main], set[int]()
    for function in functions:
        for ref in (ref for stmt in ir.statements(function.body) for ref in named(stmt)):
            if id(ref.obj) in seen:
                continue
            seen.add(id(ref.obj))
            if is_data(ref.obj) or isinstance(ref.obj, types.MethodType):
                outer[id(ref.obj)] = ref
            elif isinstance(ref.obj, types.FunctionType) and not _is_known(ref.obj):
                callee = read(ref.obj)
                functions += [callee] if callee is not None else []
    return tuple(functions), tuple(outer.values())


def _is_known(obj: Any) -> bool:
    return is_library(obj) or is_ours(obj)


def _changed_places(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """Attributes that a statement sets, and what may be a container that it changes."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            yield target.base if isinstance(target, ir.Index) else target
        case ir.OpaqueStmt(text=text, values=values) if text.startswith("del "):
            yield from values
    match getattr(stmt, "value", None):
        case ir.Call(fn=ir.Attribute(base, name)) if name in MUTATING_METHODS:
            yield base
