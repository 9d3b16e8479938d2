"""Which names may still be read after a statement.

Sets of names are bit masks (bit `index[name]`), so that one set operation a statement suffices
for functions of thousands of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .. import ir
from ..ir.dataflow import Problem, Solution, solve
from ..ir.facts import fact
from ..ir.index import ProgramIndex
from .memory import Sources
from .structure import ROOT, BlockKey, NameSets, Structure, bound_by


@dataclass
class Liveness:
    """`uses` and `defines` say what a statement itself reads and binds; `found` is the solution,
    of masks of names."""

    uses: Callable[[ir.Stmt], Iterable[str]] = ir.reads
    defines: Callable[[ir.Stmt], Iterable[str]] = ir.binds
    index: dict[str, int] = field(default_factory=dict)
    found: Solution[int] | None = None
    _exposed: dict[int, int] = field(default_factory=dict)
    _masks: dict[int, tuple[ir.Stmt, int, int]] = field(default_factory=dict)

    def mask(self, names: Iterable[str]) -> int:
        """The set of some names."""
        found, index = 0, self.index
        for name in names:
            try:
                found |= 1 << index[name]
            except KeyError:
                index[name] = len(index)
                found |= 1 << index[name]
        return found

    def masks(self, stmt: ir.Stmt) -> tuple[ir.Stmt, int, int]:
        """What a statement itself reads, and what it binds."""
        known = self._masks.get(id(stmt))
        if known is None or known[0] is not stmt:
            known = (stmt, self.mask(self.uses(stmt)), self.mask(self.defines(stmt)))
            self._masks[id(stmt)] = known
        return known

    def take_masks(self, earlier: Liveness) -> None:
        """Use what an earlier answer, to the same questions, worked out about statements."""
        self.index, self._masks = earlier.index, earlier._masks

    @property
    def entry(self) -> int:
        """The names that are live where the function begins."""
        assert self.found is not None
        return self.found.result

    def before(self, stmt: ir.Stmt) -> int:
        """The names that are live before a statement."""
        assert self.found is not None
        return self.found.before[self.found.index.number(stmt)]

    def after(self, stmt: ir.Stmt) -> int:
        """The names that are live after a statement."""
        assert self.found is not None
        return self.found.after[self.found.index.number(stmt)]

    def is_live_after(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether the value that `name` has after `stmt` may still be read."""
        bit = self.index.get(name)
        return bit is not None and bool(self.after(stmt) >> bit & 1)

    def names(self, mask: int) -> tuple[str, ...]:
        """The names of a set, in order of first appearance."""
        return tuple(name for name, bit in self.index.items() if mask >> bit & 1)


class _Live(Problem[int]):
    bottom = 0

    def __init__(self, live: Liveness, pinned: Iterable[str]) -> None:
        self.live = live
        self.pinned = live.mask(pinned)

    def boundary(self, function: ir.Function) -> int:
        return self.pinned

    def join(self, a: int, b: int) -> int:
        return a | b

    def transfer(self, stmt: ir.Stmt, state: int) -> int:
        _, uses, defines = self.live.masks(stmt)
        return state | uses if isinstance(stmt, ir.For) else state & ~defines | uses

    def enter(self, stmt: ir.For | ir.Try, state: int) -> int:
        return state & ~self.live.masks(stmt)[2]


def liveness(
    function: ir.Function, pinned: Iterable[str] = (), known: Liveness | None = None
) -> Liveness:
    """Live names before and after every statement; `pinned` names are live throughout.

    `known` is an earlier answer for a program with many of the same statements.

    >>> from tangentlike.frontend.lower import program
    >>> f = program("t = a * b; y = t + a; return y")
    >>> live = liveness(f)
    >>> [live.names(live.after(stmt)) for stmt in f.body]
    [('a', 't'), ('y',), ()]
    """
    live = Liveness()
    if known is not None:
        live.uses, live.defines = known.uses, known.defines
        live.take_masks(known)
    live.mask(function.param_names)
    live.found = solve(function, _Live(live, pinned), fact(ProgramIndex, function))
    return live


def exposed(block: ir.Block, live: Liveness) -> int:
    """Names a block may read before it has bound them."""
    return exposed_before(block, 0, live)


def exposed_before(block: ir.Block, after: int, live: Liveness) -> int:
    """Names live before a block that no `break` leaves, from those live after it."""
    for stmt in reversed(block):
        after = _exposed(stmt, after, live)
    return after


def _exposed(stmt: ir.Stmt, after: int, live: Liveness) -> int:
    _, uses, defines = live.masks(stmt)
    match stmt:
        case ir.If(body=body, orelse=orelse):
            inside = exposed_before(body, after, live) | exposed_before(orelse, after, live)
            return inside & ~defines | uses
        case ir.For() | ir.While():
            known = live._exposed.get(id(stmt))
            if known is None:
                known = exposed(stmt.body, live)
                if isinstance(stmt, ir.For):
                    known &= ~defines
                known = live._exposed[id(stmt)] = known | uses
            return after | known
        case ir.Break():
            return 0
        case _:
            return after & ~defines | uses


# --------------------------------------------------------------------------------------------------
# Which names are certainly bound at each statement: a save may not read an unbound name.


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
