"""`+=` of objects and of their items, as the methods that it calls.

before::                         after::
    a += b                           a = a.__iadd__(b)         (or `a = a + b`, without one)
    c[k] += v                        item = c[k]
                                     item += v
                                     c[k] = item               (`__getitem__`, `__setitem__`)
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Mapping

from ... import ir
from ...frontend.lower import Lowered
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from ...runtime.records import attribute_of
from ..all_names import all_names
from ..context import BINARY_OF


def updates_as_methods(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function without updates of objects whose classes are known."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def class_of(expr: ir.Expr) -> type | None:
        kind = kinds.get(expr.name, UNKNOWN) if isinstance(expr, ir.Var) else UNKNOWN
        return kind.cls if kind.form == "object" else None

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Update(target=ir.Var() as target):
                call = updated(stmt, class_of(target))
                return [stmt] if call is None else [ir.Assign(target.name, call, stmt.origin)]
            case ir.Update(target=ir.Index(base) | ir.Attribute(base) as place):
                cls = class_of(base)
                if cls is not None and _is_code(cls, place):
                    item = names.fresh("item")
                    made.add(item)
                    return [
                        ir.Assign(item, place, stmt.origin),
                        dataclasses.replace(stmt, target=ir.Var(item)),
                        ir.Store(place, ir.Var(item), stmt.origin),
                    ]
        return None

    body = ir.rewrite(lowered.function.body, parts)
    if body == lowered.function.body:
        return lowered
    function = dataclasses.replace(lowered.function, body=body)
    return dataclasses.replace(
        lowered, function=function, temporaries=lowered.temporaries | frozenset(made)
    )


def updated(stmt: ir.Update, cls: type | None) -> ir.Call | None:
    """The call that gives an object of a class after an update; None where it has no such
    method."""
    name, place = attribute_of(stmt.op.obj, "__name__", ""), stmt.origin.place
    if _method(cls, f"__{name}__"):
        return ir.Call(ir.Attribute(stmt.target, f"__{name}__"), (stmt.value,), at=place)
    if stmt.op.obj in BINARY_OF and _method(cls, f"__{name.removeprefix('i')}__"):
        text, op = BINARY_OF[stmt.op.obj]
        return ir.Call(ir.Ref(text, op), (stmt.target, stmt.value), at=place)
    return None


def _is_code(cls: type, place: ir.Index | ir.Attribute) -> bool:
    """Whether reading and writing an item or an attribute calls methods of the class."""
    if isinstance(place, ir.Index):
        return _method(cls, "__getitem__") and _method(cls, "__setitem__")
    return isinstance(inspect.getattr_static(cls, place.name, None), property)


def _method(cls: type | None, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), types.FunctionType)
