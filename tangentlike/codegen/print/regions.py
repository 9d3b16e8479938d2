"""`Enter` and `Leave` with what stands between them, made one statement again to be printed."""

from __future__ import annotations

import dataclasses

from ... import ir
from ...errors import InternalError


def nested_regions(function: ir.Function) -> ir.Function:
    """The function with a `With` for each `Enter` and its `Leave`, wherever they stand.

    before::                    after::
        Enter(manager, "t")         with manager as t:
        y = x * t                       y = x * t
        Leave()                     return y
        return y
    """
    if not any(isinstance(stmt, ir.Enter) for stmt in ir.statements(function.body)):
        return function
    return dataclasses.replace(function, body=nested_block(function.body))


def nested_block(block: ir.Block) -> ir.Block:
    """One block, and those within it."""
    open_: list[tuple[ir.Enter | None, list[ir.Stmt]]] = [(None, [])]
    for stmt in block:
        match stmt:
            case ir.Enter():
                open_.append((stmt, []))
            case ir.Leave():
                enter, inside = open_.pop()
                if enter is None:
                    raise InternalError("emit", "a context is left that was not entered")
                body = tuple(inside)
                made = ir.With(enter.context, enter.target, body, enter.origin)
                open_[-1][1].append(made)
            case _:
                inner = ir.map_statement(stmt, block=nested_block) if ir.blocks(stmt) else stmt
                open_[-1][1].append(inner)
    if len(open_) != 1:
        raise InternalError("emit", "a context is entered and not left in the same block")
    return tuple(open_[0][1])
