"""Which names are certainly bound at each statement: a save may not read an unbound name."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import ir
from .structure import ROOT, BlockKey, block_key, bound_by


@dataclass
class Assigned:
    """`before`: id of a statement -> names surely bound there; `at_end`: the same of blocks."""

    before: dict[int, frozenset[str]] = field(default_factory=dict)
    at_end: dict[BlockKey, frozenset[str]] = field(default_factory=dict)


def definitely_assigned(function: ir.Function) -> Assigned:
    """One forward walk; a loop body may run no round, a branch counts if both branches bind."""
    facts = Assigned()

    def block(stmts: ir.Block, bound: frozenset[str], key: BlockKey) -> frozenset[str]:
        for stmt in stmts:
            facts.before[id(stmt)] = bound
            bound = statement(stmt, bound)
        facts.at_end[key] = bound
        return bound

    def statement(stmt: ir.Stmt, bound: frozenset[str]) -> frozenset[str]:
        match stmt:
            case ir.If():
                first = block(stmt.body, bound, block_key(stmt, 0))
                second = block(stmt.orelse, bound, block_key(stmt, 1))
                return first & second
            case ir.For() | ir.While():
                block(stmt.body, bound | frozenset(ir.binds(stmt)), block_key(stmt, 0))
                return bound
            case _:
                return bound | frozenset(bound_by(stmt))

    block(function.body, frozenset(function.param_names), ROOT)
    return facts
