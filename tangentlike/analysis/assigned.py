"""Which names are certainly bound at each statement: a save may not read an unbound name."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import ir
from .namesets import NameSets
from .structure import ROOT, BlockKey, Structure, bound_by


@dataclass
class Assigned:
    """`before`, `behind`: number of a statement -> names surely bound where it begins and where it
    has ended; `at_end`: the same of blocks. All are masks of `sets`.
    """

    structure: Structure
    sets: NameSets = field(default_factory=NameSets)
    before: dict[int, int] = field(default_factory=dict)
    behind: dict[int, int] = field(default_factory=dict)
    at_end: dict[BlockKey, int] = field(default_factory=dict)

    def is_bound_before(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether a name is surely bound when a statement begins."""
        return self.sets.has(self.before[self.structure.number(stmt)], name)

    def is_bound_behind(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether a name is surely bound when a statement has ended."""
        return self.sets.has(self.behind[self.structure.number(stmt)], name)

    def is_bound_after(self, block: BlockKey, name: str) -> bool:
        """Whether a name is surely bound when a block has ended."""
        return self.sets.has(self.at_end[block], name)


def definitely_assigned(structure: Structure) -> Assigned:
    """One forward walk; a loop body may run no round, a branch counts if both branches bind."""
    facts = Assigned(structure)

    def block(stmts: ir.Block, bound: int, key: BlockKey) -> int:
        for stmt in stmts:
            facts.before[structure.number(stmt)] = bound
            bound = statement(stmt, bound)
            facts.behind[structure.number(stmt)] = bound
        facts.at_end[key] = bound
        return bound

    def statement(stmt: ir.Stmt, bound: int) -> int:
        match stmt:
            case ir.If():
                first = block(stmt.body, bound, structure.block(stmt, 0))
                own = facts.sets.mask(ir.binds(stmt))  # (of a `try`: how it ended)
                second = block(stmt.orelse, bound | own, structure.block(stmt, 1))
                return first & second | own
            case ir.For() | ir.While():
                block(stmt.body, bound | facts.sets.mask(ir.binds(stmt)), structure.block(stmt, 0))
                return bound
            case _:
                return bound | facts.sets.mask(bound_by(stmt))

    function = structure.function
    block(function.body, facts.sets.mask(function.param_names), ROOT)
    return facts
