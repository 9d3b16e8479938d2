"""Rebuilding programs so that what did not change stays the same object.

Every pass of `simplify` runs several times; that an unchanged statement keeps its identity
is what makes the later rounds cheap (facts about it are looked up, not computed again).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from ... import ir


def map_expr(expr: ir.Expr, fn: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """`ir.rebuild`, giving back `expr` itself when `fn` changes none of its parts.

    >>> x = ir.Index(ir.Var("a"), ir.Var("i"))
    >>> map_expr(x, lambda part: part) is x
    True
    """
    parts = ir.children(expr)
    if not parts:
        return expr
    mapped = [fn(part) for part in parts]
    if all(new is old for new, old in zip(mapped, parts, strict=True)):
        return expr
    following = iter(mapped)
    return (
        ir.rebuild(expr, lambda part: next(following)) if _in_order(expr) else ir.rebuild(expr, fn)
    )


def _in_order(expr: ir.Expr) -> bool:
    """Whether `ir.rebuild` visits the parts in the order of `ir.children` (dicts differ)."""
    return not (isinstance(expr, ir.Display) and expr.keys)


def replace_names(expr: ir.Expr, values: dict[str, ir.Expr]) -> ir.Expr:
    """`ir.substitute`, keeping what does not mention the names."""
    if isinstance(expr, ir.Var):
        return values.get(expr.name, expr)
    return map_expr(expr, lambda part: replace_names(part, values))


def _same(expr: ir.Expr) -> ir.Expr:
    return expr


def map_stmt(
    stmt: ir.Stmt,
    expr: Callable[[ir.Expr], ir.Expr] = _same,
    block: Callable[[ir.Block], ir.Block] = lambda b: b,
) -> ir.Stmt:
    """`ir.map_statement` over expressions and blocks, keeping a statement that stays equal."""
    if expr is _same and not ir.blocks(stmt):
        return stmt
    changed = False

    def on_expr(e: ir.Expr) -> ir.Expr:
        nonlocal changed
        new = expr(e)
        changed = changed or new is not e
        return new

    def on_block(b: ir.Block) -> ir.Block:
        nonlocal changed
        new = block(b)
        changed = changed or new is not b
        return new

    new = ir.map_statement(stmt, expr=on_expr, block=on_block)
    return new if changed else stmt


def map_block(block: ir.Block, fn: Callable[[ir.Stmt], Iterable[ir.Stmt]]) -> ir.Block:
    """Replace every statement by the statements `fn` gives for it; same block if none changed."""
    out: list[ir.Stmt] = []
    changed = False
    for stmt in block:
        new = list(fn(stmt))
        changed = changed or len(new) != 1 or new[0] is not stmt
        out.extend(new)
    return tuple(out) if changed else block


def with_body(function: ir.Function, body: ir.Block) -> ir.Function:
    """The function with another body; the same object if the body is the same."""
    return function if body is function.body else dataclasses.replace(function, body=body)


def distinct(function: ir.Function) -> ir.Function:
    """Give every statement an identity of its own (a transform may use one object twice)."""
    seen: set[int] = set()

    def one(stmt: ir.Stmt) -> tuple[ir.Stmt]:
        stmt = map_stmt(stmt, block=lambda b: map_block(b, one))
        if id(stmt) in seen:
            stmt = dataclasses.replace(stmt)
        seen.add(id(stmt))
        kept.append(stmt)
        return (stmt,)

    kept: list[ir.Stmt] = []
    return with_body(function, map_block(function.body, one))


def derived(function: ir.Function, role: str = "adjoint") -> ir.Function:
    """The program as if a transform had written it: for trying a pass by hand."""

    def one(stmt: ir.Stmt) -> tuple[ir.Stmt]:
        stmt = ir.map_statement(stmt, block=lambda b: map_block(b, one))
        return (dataclasses.replace(stmt, origin=dataclasses.replace(stmt.origin, role=role)),)

    return with_body(function, map_block(function.body, one))
