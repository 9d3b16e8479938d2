"""Which names functions in nested IR bind, bind again, and take from the function around them."""

from __future__ import annotations

from typing import Any

from .. import ir
from ..ir import Expr, Function, Var
from .nested import Define


def bound_by(stmt: Any) -> tuple[str, ...]:
    """The names that a statement of nested IR binds."""
    return (stmt.function.name,) if isinstance(stmt, Define) else tuple(ir.binds(stmt))


def binding_counts(function: Function) -> dict[str, int]:
    """How many definitions each local name has; a parameter has one."""
    counts = dict.fromkeys(function.param_names, 1)
    for stmt in ir.statements(function.body):
        for name in bound_by(stmt):
            counts[name] = counts.get(name, 0) + 1
    return counts


def rebound_names(function: Function) -> frozenset[str]:
    """The names that may get another value after they have one."""
    counts = binding_counts(function)
    found = {name for name, count in counts.items() if count > 1}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.For(target=target):
                found.update(ir.target_names(target))
                found.update(n for s in ir.statements(stmt.body) for n in bound_by(s))
            case ir.While():
                found.update(n for s in ir.statements(stmt.body) for n in bound_by(s))
            case ir.Update(target=Var(name)):
                found.add(name)
    return frozenset(found)


def free_names(function: Function) -> list[str]:
    """The names a function reads and does not bind, in order."""
    bound = set(function.param_names)
    bound.update(n for s in ir.statements(function.body) for n in bound_by(s))
    found: dict[str, None] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, Define):
            found.update(dict.fromkeys(free_names(stmt.function)))
            for param in stmt.function.params:
                found.update(dict.fromkeys(names_read(param.default)))
            continue
        for expr in ir.expressions(stmt):
            found.update(dict.fromkeys(names_read(expr)))
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, Var):
            found[stmt.target.name] = None
        if isinstance(stmt, ir.OpaqueStmt):
            found.update(dict.fromkeys(stmt.names))
    return [name for name in found if name not in bound]


def names_read(expr: Expr | None) -> dict[str, None]:
    """The local names in an expression, in order."""
    if expr is None:
        return {}
    return dict.fromkeys(p.name for p in ir.walk(expr) if isinstance(p, Var))
