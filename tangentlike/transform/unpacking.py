"""`a, b = t` as `a = t[0]; b = t[1]`, where what is unpacked is written in place.

An item that is written is followed as the view of its tuple that it is: its adjoint is the item
of the tuple's adjoint. The stacks in the tape of a callee are such items.
"""

from __future__ import annotations

import dataclasses

from .. import ir
from .context import Context


def items_of_unpacked(
    function: ir.Function, context: Context, shared: frozenset[str]
) -> ir.Function:
    """Unpack item by item where an item is written. `shared` are parameters a caller sees written.

    Before: `s, xs = t; x = xs.pop()`. After: `s = t[0]; xs = t[1]; x = xs.pop()`.
    """
    sources = context.sources()
    written = {
        name.removesuffix("[*]")
        for stmt in ir.statements(function.body)
        for name in sources.written(stmt)
    }

    def block(stmts: ir.Block) -> ir.Block:
        return tuple(new for stmt in stmts for new in statement(stmt))

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match stmt:
            case ir.Assign(target=tuple(target), value=ir.Var(base)):
                names = frozenset(ir.target_names(target))
                counted = context.kinds[base].form == "tuple" or base in shared
                if counted and names & written and base not in names:
                    return tuple(_items(target, stmt.value, stmt.origin))
        return (ir.map_statement(stmt, block=block),)

    body = block(function.body)
    return function if body == function.body else dataclasses.replace(function, body=body)


def _items(target: ir.Target, value: ir.Expr, origin: ir.Origin) -> list[ir.Stmt]:
    """Assignments of the items of a tuple to (nested) targets."""
    if isinstance(target, str):
        return [ir.Assign(target, value, origin)]
    place = origin.place
    return [
        ir.Assign(part, ir.Index(value, ir.Const(i), place), origin)
        for i, part in enumerate(target)
    ]
