"""Loops over the items of a display, written out round by round.

    for i in range(len(parts)):       parts[0] *= 2.0
        parts[i] *= 2.0               parts[1] *= 2.0

Then it can be seen which item each statement means.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from ... import ir
from ..loops import is_call

_ROUNDS, _STATEMENTS = 8, 60  # what is longer stays a loop


def displayed_keys(function: ir.Function) -> dict[str, tuple[Any, ...]]:
    """The containers that one display makes, with the keys of their items."""
    bound: dict[str, list[ir.Stmt]] = {}
    for stmt in ir.statements(function.body):
        for name in ir.binds(stmt):
            bound.setdefault(name, []).append(stmt)
    found: dict[str, tuple[Any, ...]] = {}
    for name, stmts in bound.items():
        match stmts:
            case [ir.Assign(target=str(), value=ir.Display() as display)]:
                if name not in function.param_names and keys_of(display):
                    found[name] = keys_of(display)
    return found


def keys_of(display: ir.Display) -> tuple[Any, ...]:
    """The keys of the items of a display; none where not all can be told."""
    if any(map(ir.is_starred, display.items)):
        return ()
    if display.form != "dict":
        return tuple(range(len(display.items)))
    found = tuple(key.value for key in display.keys if isinstance(key, ir.Const))
    alike = len(found) == len(display.keys) and all(isinstance(key, str) for key in found)
    return found if alike and len(set(found)) == len(found) else ()


def loops_written_out(function: ir.Function, keys: Mapping[str, tuple[Any, ...]]) -> ir.Function:
    """Write out the loops whose rounds take the items of these containers one by one."""
    if not keys:
        return function

    def statement(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        rounds = _rounds(stmt, keys) if isinstance(stmt, ir.For) else None
        if rounds is None or not isinstance(stmt, ir.For):
            return None
        target, body = str(stmt.target), stmt.body
        return [s for key in rounds for s in _round(body, {target: ir.Const(key)})]

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _rounds(loop: ir.For, keys: Mapping[str, tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """What the variable of a loop is, round by round, if the loop is to be written out."""
    rounds = _values(loop.iter, keys)
    if not isinstance(loop.target, str) or rounds is None or len(rounds) > _ROUNDS:
        return None
    inside = list(ir.statements(loop.body))
    if any(isinstance(s, ir.Break | ir.Tried) or loop.target in ir.binds(s) for s in inside):
        return None
    concerned = any(_takes_item(s, loop.target, keys) for s in inside)
    return rounds if concerned and len(inside) * len(rounds) <= _STATEMENTS else None


def _values(iterable: ir.Expr, keys: Mapping[str, tuple[Any, ...]]) -> tuple[Any, ...] | None:
    match iterable:
        case ir.Var(name) if name in keys and not _is_counted(keys[name]):
            return keys[name]  # (a dict gives its keys)
        case ir.Call(args=(size,), kwargs=()) if is_call(iterable, range):
            count = _count(size, keys)
            return None if count is None else tuple(range(count))
    return None


def _is_counted(found: tuple[Any, ...]) -> bool:
    return not isinstance(found[0], str)


def _count(size: ir.Expr, keys: Mapping[str, tuple[Any, ...]]) -> int | None:
    match size:
        case ir.Const(value) if type(value) is int and value <= _ROUNDS:
            return value
        case ir.Call(args=(ir.Var(name),)) if is_call(size, len) and name in keys:
            return len(keys[name])
        case ir.Call(ir.Ref(obj=operator.sub), (whole, ir.Const(int() as less)), ()):
            count = _count(whole, keys)
            return None if count is None else count - less
        case ir.Call(args=args) if is_call(size, min):
            counts = [_count(arg, keys) for arg in args]
            known = [n for n in counts if n is not None]
            return min(known) if known and len(known) == len(counts) else None
    return None


def _takes_item(stmt: ir.Stmt, index: str, keys: Mapping[str, tuple[Any, ...]]) -> bool:
    exprs = list(ir.expressions(stmt))
    if isinstance(stmt, ir.Store | ir.Update):
        exprs.append(stmt.target)
    return any(
        isinstance(part, ir.Index)
        and isinstance(part.base, ir.Var)
        and part.base.name in keys
        and index in ir.names_in(part.key)
        for expr in exprs
        for part in ir.walk(expr)
    )


def _round(block: ir.Block, values: dict[str, ir.Expr]) -> ir.Block:
    """The body of a loop for one round: statements of its own."""

    def expr(e: ir.Expr) -> ir.Expr:
        return _computed(ir.substitute(e, values)) if ir.names_in(e) & values.keys() else e

    return ir.rewrite(ir.copied(block), expression=expr)


def _computed(expr: ir.Expr) -> ir.Expr:
    """`0 + 1` is 1: keys are told from numbers that are written out."""
    expr = ir.rebuild(expr, _computed)
    match expr:
        case ir.Call(ir.Ref(obj=op), (ir.Const(int() as a), ir.Const(int() as b)), ()):
            if op in _WHOLE and not (op is operator.mod and b == 0):
                return ir.Const(_WHOLE[op](a, b))
        case ir.Call(ir.Ref(obj=operator.neg), (ir.Const(int() as a),), ()):
            return ir.Const(-a)
    return expr


_WHOLE = {op: op for op in (operator.add, operator.sub, operator.mul, operator.mod)}
