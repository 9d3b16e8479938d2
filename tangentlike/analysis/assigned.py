"""Which names are certainly bound at each statement: a save may not read an unbound name."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import ir
from .memory import Sources
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
    facts, function = Assigned(structure), structure.function
    _block(facts, function.body, facts.sets.mask(function.param_names), ROOT)
    return facts


def _block(facts: Assigned, stmts: ir.Block, bound: int, key: BlockKey) -> int:
    for stmt in stmts:
        number = facts.structure.number(stmt)
        facts.before[number] = bound
        bound = facts.behind[number] = _statement(facts, stmt, bound)
    facts.at_end[key] = bound
    return bound


def _statement(facts: Assigned, stmt: ir.Stmt, bound: int) -> int:
    inside = facts.structure.block
    match stmt:
        case ir.If():
            first = _block(facts, stmt.body, bound, inside(stmt, 0))
            own = facts.sets.mask(ir.binds(stmt))  # (of a `try`: how it ended)
            second = _block(facts, stmt.orelse, bound | own, inside(stmt, 1))
            return first & second | own
        case ir.For() | ir.While():
            _block(facts, stmt.body, bound | facts.sets.mask(ir.binds(stmt)), inside(stmt, 0))
            return bound
        case _:
            return bound | facts.sets.mask(bound_by(stmt))


# --------------------------------------------------------------------------------------------------
# Entries of dicts, and attributes, that surely are there when they are replaced:
# `d[k] = d[k] * y`.
#
# Then nothing needs to be remembered of whether the key was there, and the dict keeps its length.


def entry_is_there(
    stmt: ir.Stmt, target: ir.Index | ir.Attribute, facts: Structure, sources: Sources
) -> bool:
    """Whether `target`, an entry or attribute that `stmt` writes, was read or written in the same
    block before, and nothing between may take one out of a container or object.

    >>> from ..frontend.lower import program
    >>> from ..ir.kind import UNKNOWN
    >>> from .structure import structure
    >>> def asked(text):
    ...     function = program(text)
    ...     store = function.body[-1]
    ...     sources = Sources({}, lambda e: UNKNOWN, lambda c: "no", lambda c: None, None)
    ...     return entry_is_there(store, store.target, structure(function), sources)
    >>> asked("v = d[k]; d[k] = v * y"), asked("v = d[j]; d[k] = v * y")
    (True, False)
    >>> asked("v = d[k]; d.clear(); d[k] = v * y"), asked("v = d[k]; k = j; d[k] = v * y")
    (False, False)
    """
    if not isinstance(target.base, ir.Var):
        return False
    block, number = facts.block_of(stmt), facts.number(stmt)
    before = [
        use
        for use in facts.used_by.get(target.base.name, ())
        if facts.block_of(use) == block and facts.number(use) < number
        if _looks_up(use, target)
    ]
    if not before:
        return False
    seen = max(before, key=lambda use: facts.number(use))
    if any(facts.rebound_between(name, seen, number) for name in ir.names_in(target)):
        return False
    start = facts.number(seen)
    between = (s for s in ir.statements(facts.function.body) if start < facts.number(s) < number)
    return all(_takes_nothing(s, sources) for s in between)


def _looks_up(stmt: ir.Stmt, entry: ir.Index | ir.Attribute) -> bool:
    match stmt:
        case ir.Assign(value=ir.Call(args=args)):
            return entry in args
        case ir.Assign(value=value):
            return value == entry
        case ir.Store(target=target):
            return target == entry
    return False


def _takes_nothing(stmt: ir.Stmt, sources: Sources) -> bool:
    """Whether a statement surely takes nothing out of a container or object."""
    match stmt:
        case ir.Assign():
            return not sources.written(stmt)
        case ir.Store():
            return True
    return False
