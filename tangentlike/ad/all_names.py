"""The names that a function uses, which what is made of it must not take for anything else."""

from __future__ import annotations

from .. import ir

__all__ = ["all_names", "outer_names"]


def outer_names(function: ir.Function) -> list[str]:
    """Names the function takes from outside, as it spells them."""
    found = []
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
                refs = part.refs if isinstance(part, ir.Opaque) else ()
                for ref in (part, *refs):
                    if isinstance(ref, ir.Ref):
                        found.append(ref.text.partition(".")[0])
        if isinstance(stmt, ir.OpaqueStmt):
            found.extend(ref.text.partition(".")[0] for ref in stmt.refs)
    return found


def all_names(function: ir.Function) -> list[str]:
    """Its parameters, what it binds and reads, and the names it takes from outside."""
    found = [*function.param_names, *function.free, *outer_names(function)]
    for stmt in ir.statements(function.body):
        found.extend(ir.binds(stmt))
        found.extend(sorted(ir.reads(stmt)))
    return found
