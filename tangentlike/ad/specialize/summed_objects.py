"""`sum` of objects, as the additions that it makes.

before::                         after::
    r = sum(vs, zero)                total = zero
                                     for item in vs:
                                         total = total + item
                                     r = total

Without a start it begins with `total = 0 + vs[0]`, which calls `__radd__` (the rest follows).
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
from collections.abc import Callable

from ... import ir
from ...frontend.lower import Lowered
from ...ir.kind import Kind
from ...ir.names import Names
from ...rules.index_kinds import element_kind
from ..all_names import all_names

_PLUS = ir.Ref("+", operator.add)
_ZERO = ir.Const(0)


def sums_of_objects(lowered: Lowered, kind: Callable[[ir.Expr], Kind]) -> Lowered:
    """The function with a loop for each `sum` of objects of a known class."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def named(wanted: str) -> ir.Var:
        name = names.fresh(wanted)
        made.add(name)
        return ir.Var(name)

    def parts(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=builtins.sum)) as call):
                found = _items_and_start(call)
                if found is not None and _is_object(element_kind(kind(found[0]))):
                    return _loop(stmt, *found, named)
        return None

    body = ir.rewrite(lowered.function.body, parts)
    if not made:
        return lowered
    function = dataclasses.replace(lowered.function, body=body)
    return dataclasses.replace(
        lowered, function=function, temporaries=lowered.temporaries | frozenset(made)
    )


def _is_object(kind: Kind) -> bool:
    return kind.has_methods or bool(kind.among)


def _items_and_start(call: ir.Call) -> tuple[ir.Expr, ir.Expr] | None:
    match call:
        case ir.Call(args=(ir.Var() as items,), kwargs=()):
            return items, _ZERO
        case ir.Call(args=(ir.Var() as items, start), kwargs=()):
            return items, start
        case ir.Call(args=(ir.Var() as items,), kwargs=(("start", start),)):
            return items, start
    return None


def _loop(
    stmt: ir.Assign, items: ir.Expr, start: ir.Expr, named: Callable[[str], ir.Var]
) -> tuple[ir.Stmt, ...]:
    origin, place = stmt.origin, stmt.origin.place
    total, item = named("total"), named("item")
    before: tuple[ir.Stmt, ...] = (ir.Assign(total.name, start, origin),)
    if start == _ZERO:
        first, rest = named("first"), named("rest")
        before = (
            ir.Assign(first.name, ir.Index(items, _ZERO, place), origin),
            ir.Assign(rest.name, ir.Index(items, ir.Slice(ir.Const(1)), place), origin),
            ir.Assign(total.name, ir.Call(_PLUS, (_ZERO, first), at=place), origin),
        )
        items = rest
    added = ir.Assign(total.name, ir.Call(_PLUS, (total, item), at=place), origin)
    loop = ir.For(item.name, items, (added,), origin)
    return (*before, loop, dataclasses.replace(stmt, value=total))
