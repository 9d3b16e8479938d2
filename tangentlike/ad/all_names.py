"""The names that a function uses, which what is made of it must not take for anything else."""

from __future__ import annotations

from .. import ir
from ..ir.facts import fact


def outer_names(function: ir.Function) -> list[str]:
    """Names the function takes from outside, as it spells them."""
    return [name for stmt in ir.statements(function.body) for name in _outer_names(stmt)]


@ir.of_node
def _outer_names(stmt: ir.Stmt) -> tuple[str, ...]:
    refs = list(stmt.refs) if isinstance(stmt, ir.OpaqueStmt) else []
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            if isinstance(part, ir.Ref):
                refs.append(part)
            elif isinstance(part, ir.Opaque):
                refs.extend(part.refs)
    return tuple(ref.text.partition(".")[0] for ref in refs)


def all_names(function: ir.Function) -> list[str]:
    """Its parameters, what it binds and reads, and the names it takes from outside."""
    return list(fact(_all_names, function))


def _all_names(function: ir.Function) -> list[str]:
    found = [*function.param_names, *function.free, *outer_names(function)]
    for stmt in ir.statements(function.body):
        found.extend(ir.binds(stmt))
        found.extend(sorted(ir.reads(stmt)))
    return found
