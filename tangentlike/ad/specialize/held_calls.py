"""Objects and functions that an object holds, called through it: read first, then called.

before::                         after::
    h = self.inner(x)                self_inner = self.inner
                                     h = self_inner(x)

Python looks `inner` up in the same way, whether it is a method or what an attribute holds; only
the class tells. A method stays as it is; a name for one is the method again (`methods_by_name`).
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Mapping

from ... import ir
from ...frontend.lower import Lowered
from ...frontend.structures import sets_attribute
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from ..all_names import all_names


def held_calls_as_reads(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with a name for each attribute that is called and is no method."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def parts(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if ir.blocks(stmt):
            return None
        if not isinstance(stmt, (ir.Assign, ir.Do)):
            return (stmt,)
        match stmt.value:
            case ir.Call(fn=ir.Attribute(ir.Var(base), name) as held) as call if _is_held(
                kinds.get(base, UNKNOWN), name
            ):
                temporary = names.fresh(f"{base}_{name}")
                made.add(temporary)
                called = dataclasses.replace(call, fn=ir.Var(temporary))
                read = ir.Assign(temporary, held, stmt.origin)
                return read, dataclasses.replace(stmt, value=called)
        return (stmt,)

    body = ir.rewrite(lowered.function.body, parts)
    if not made:
        return lowered
    function = dataclasses.replace(lowered.function, body=body)
    return dataclasses.replace(
        lowered, function=function, temporaries=lowered.temporaries | frozenset(made)
    )


def _is_held(kind: Kind, name: str) -> bool:
    """Whether an object of this kind has an attribute by this name, and its class has not."""
    if kind.among:
        return all(_is_held(one, name) for one in kind.among)
    if kind.form != "object" or kind.cls is None:
        return False
    if inspect.getattr_static(kind.cls, name, None) is not None:
        return False
    return name in dict(kind.fields) or not hasattr(kind.cls, "__getattr__")


def methods_by_name(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with the method itself wherever a name for it is called.

    Before: `f = spring.force; y = f(x)`. After: `y = spring.force(x)`.
    """
    stmts = list(ir.statements(lowered.function.body))
    counts = ir.bindings(stmts, lowered.function.param_names)
    named: dict[str, ir.Expr] = {}
    for stmt in stmts:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Attribute(ir.Var(base), method) as value):
                once = counts[name] == 1 and counts[base] == 1
                if once and _is_method(kinds.get(base, UNKNOWN), method):
                    named[name] = value
    if not named:
        return lowered

    def expr(e: ir.Expr) -> ir.Expr:
        e = ir.rebuild(e, expr)
        if isinstance(e, ir.Call) and isinstance(e.fn, ir.Var) and e.fn.name in named:
            return dataclasses.replace(e, fn=named[e.fn.name])
        return e

    def unread(stmt: ir.Stmt) -> ir.Block | None:
        return () if gone & set(ir.binds(stmt)) else None

    body = ir.rewrite(lowered.function.body, expression=expr)
    if body is lowered.function.body:
        return lowered
    gone = set(named).difference(*(ir.reads(stmt) for stmt in ir.statements(body)))
    function = ir.with_body(lowered.function, ir.rewrite(body, unread))
    return dataclasses.replace(lowered, function=function)


def _is_method(kind: Kind, name: str) -> bool:
    """Whether it is surely a method of the class, or classes, that an object may be of."""
    if kind.among:
        return all(_is_method(one, name) for one in kind.among)
    if kind.form != "object" or kind.cls is None or sets_attribute(kind.cls, name):
        return False
    return isinstance(inspect.getattr_static(kind.cls, name, None), types.FunctionType)
