"""Where names live: liveness, the block each name belongs to, the order of statements.

A block is named by a key: the number of the statement that it is a part of, and which of its
blocks it is; `ROOT` is the function's body.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ir, runtime
from ..ir.dataflow import Problem, Solution, solve
from ..ir.facts import fact
from ..ir.index import OUTERMOST, ProgramIndex
from .memory import Sources

# --------------------------------------------------------------------------------------------------
# Sets of names as bit masks: one machine operation each, however many names a function has.
#
# An analysis that carries a set from statement to statement would otherwise copy it at each of
# them, which makes it quadratic in the length of the function.


class NameSets:
    """Numbers names as they come; a set of them is an integer (`|`, `&`, `& ~`, `bool`).

    >>> sets = NameSets()
    >>> both, one = sets.mask(["a", "b"]), sets.mask(["b"])
    >>> sets.names(both), sets.names(both & ~one)
    (('a', 'b'), ('a',))
    """

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self._by_bit: list[str] = []

    def bit(self, name: str) -> int:
        """The number of a name."""
        found = self.index.get(name)
        if found is None:
            found = self.index[name] = len(self._by_bit)
            self._by_bit.append(name)
        return found

    def mask(self, names: Iterable[str]) -> int:
        """The set of some names."""
        found = 0
        for name in names:
            found |= 1 << self.bit(name)
        return found

    def has(self, mask: int, name: str) -> bool:
        """Whether a name belongs to a set."""
        bit = self.index.get(name)
        return bit is not None and bool(mask >> bit & 1)

    def names(self, mask: int) -> tuple[str, ...]:
        """The names of a set, in the order in which they were first met."""
        found = []
        while mask:
            lowest = mask & -mask
            found.append(self._by_bit[lowest.bit_length() - 1])
            mask ^= lowest
        return tuple(found)


# --------------------------------------------------------------------------------------------------


BlockKey = tuple[int, int]
ROOT: BlockKey = (OUTERMOST, 0)


def bound_by(stmt: ir.Stmt) -> tuple[str, ...]:
    """Names a statement binds. `a += b` on a name is a write in place here: where it is a
    rebinding, `transform.reverse.prepare` has already made it `a = a + b`."""
    return () if isinstance(stmt, ir.Update) else ir.binds(stmt)


@dataclass
class Structure:
    """Facts about one function; made by `structure`, read-only afterwards."""

    function: ir.Function
    index: ProgramIndex
    kept: frozenset[str] = frozenset()  # live at the end
    parent: dict[BlockKey, BlockKey] = field(default_factory=dict)
    repeated: dict[BlockKey, bool] = field(default_factory=dict)  # within (or itself) a loop body
    outer_loop: dict[BlockKey, int] = field(
        default_factory=dict
    )  # the outermost loop, or OUTERMOST
    definitions: dict[str, list[ir.Stmt]] = field(default_factory=dict)
    used_by: dict[str, list[ir.Stmt]] = field(default_factory=dict)
    home: dict[str, BlockKey] = field(default_factory=dict)
    owner: dict[BlockKey, ir.Stmt] = field(default_factory=dict)  # the statement a block is part of
    locals: dict[BlockKey, tuple[str, ...]] = field(default_factory=dict)
    sets: NameSets = field(default_factory=NameSets)

    @functools.cached_property
    def live(self) -> Solution[int]:
        """The names that may still be read."""
        return solve(self.function, _Live(self.kept, self.sets), self.index)

    @functools.cached_property
    def live_contents(self) -> Solution[int]:
        """The names whose content may still be looked at."""
        return solve(self.function, _LiveContents(self.kept, self.sets), self.index)

    def number(self, stmt: ir.Stmt) -> int:
        """The place of a statement in program order."""
        return self.index.number(stmt)

    def last_inside(self, stmt: ir.Stmt) -> int:
        """The number of the last statement within one, or its own."""
        return self.index.ends[self.number(stmt)] - 1

    def block(self, stmt: ir.Stmt, which: int) -> BlockKey:
        """The key of one of a compound statement's blocks."""
        return self.number(stmt), which

    def block_of(self, stmt: ir.Stmt) -> BlockKey:
        """The key of the block that a statement stands in."""
        return self.index.block_of(stmt)

    def is_live_after(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether a name may still be read after a statement."""
        return self.sets.has(self.live.after[self.number(stmt)], name)

    def live_in(self, block: BlockKey) -> frozenset[str]:
        """The names that a block, or what comes after it, may read before they are bound."""
        return frozenset(self.sets.names(self._live_in(block)))

    def _live_in(self, block: BlockKey) -> int:
        if block == ROOT:
            return self.live.result
        owner = self.owner[block]
        targets = ir.binds(owner) if isinstance(owner, ir.For) else ()
        return self.live.starts[block] & ~self.sets.mask(targets)

    def is_looked_into_after(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether the content of a name may still be looked at after a statement."""
        return self.sets.has(self.live_contents.after[self.number(stmt)], name)

    def single(self, name: str) -> ir.Stmt | None:
        """The one statement that binds a name, or None (parameters, several definitions)."""
        found = self.definitions.get(name, [])
        if len(found) != 1 or name in self.function.param_names:
            return None
        return found[0]

    def is_given(self, name: str) -> bool:
        """Whether a name is a parameter that no statement binds."""
        return name in self.function.param_names and not self.definitions.get(name)

    def lasts_a_round(self, name: str) -> bool:
        """Whether a name has one value in all of a round of the block it lives in: one statement
        there binds it, before it is read."""
        made = self.single(name)
        if made is None:
            return self.is_given(name)
        home = self.block_of(made)
        return home == ROOT or (self.home[name] == home and self.is_local(name, home))

    def rebound_between(self, name: str, first: ir.Stmt, last: int) -> bool:
        """Whether `name` is bound after `first` up to statement number `last` (in preorder)."""
        start = self.number(first)
        return any(start < n <= last for n in map(self.number, self.definitions.get(name, ())))

    def end_of_use(self, name: str, definition: ir.Stmt) -> int:
        """The number up to which the value that `definition` gives to `name` may be used.

        A use in a loop that `definition` stands before comes again in the next round, so it
        lasts to the end of that loop.
        """
        index = self.index
        last = self.number(definition)
        around = set(index.around(last))
        for number in map(self.number, self.used_by.get(name, ())):
            last = max(last, number)
            for loop in index.loops(number):
                if loop not in around:
                    last = max(last, index.ends[loop] - 1)
        return last

    def is_within(self, name: str, block: BlockKey) -> bool:
        """Whether a name occurs in a block only, or in those inside of it."""
        home = self.home[name]
        while home not in (block, ROOT):
            home = self.parent[home]
        return home == block

    def is_local(self, name: str, block: BlockKey) -> bool:
        """Whether no value of `name` flows into `block` from outside or an earlier round."""
        return self.home.get(name) == block and not self.sets.has(self._live_in(block), name)


def structure(function: ir.Function, kept: Iterable[str] = ()) -> Structure:
    """Collect the facts above in time linear in the program (times the nesting of loops).

    `kept` are parameters whose writes a caller sees: they are read after the last statement.
    """
    facts = Structure(function, fact(ProgramIndex, function), frozenset(kept))
    facts.parent[ROOT] = ROOT
    facts.repeated[ROOT] = False
    facts.outer_loop[ROOT] = OUTERMOST
    places: dict[str, list[BlockKey]] = {p: [ROOT] for p in function.param_names}
    tried = _tried(facts.index)
    for number, stmt in enumerate(facts.index.statements):
        _place(number, stmt, facts, places, tried)
    for name, keys in places.items():
        facts.home[name] = _common(keys, facts.parent)
    local: dict[BlockKey, list[str]] = {}
    for name in facts.definitions:
        home = facts.home[name]
        if facts.is_local(name, home):
            local.setdefault(home, []).append(name)
    facts.locals.update((key, tuple(names)) for key, names in local.items())
    return facts


def _tried(index: ProgramIndex) -> dict[int, BlockKey]:
    """For each statement that a `try` protects, the body of the innermost one (that stands in the
    same loops). What it binds belongs to that body and is saved at its end: a save before would
    stay on its stack if a later statement raises."""
    found: dict[int, BlockKey] = {}
    for number, stmt in enumerate(index.statements):
        if isinstance(stmt, ir.Try):
            tried, rest = ir.tried_and_rest(stmt)
            for n in _numbers(rest, index):
                found.pop(n, None)
            for n in _numbers(tried, index):
                found.pop(n, None)
                if not any(loop > number for loop in index.loops(n)):
                    found[n] = (number, 0)
    return found


def _numbers(block: ir.Block, index: ProgramIndex) -> range:
    """The numbers of the statements of a block, nested ones included."""
    if not block:
        return range(0)
    return range(index.number(block[0]), index.ends[index.number(block[-1])])


def _place(
    number: int,
    stmt: ir.Stmt,
    facts: Structure,
    places: dict[str, list[BlockKey]],
    tried: dict[int, BlockKey],
) -> None:
    """Note what a statement reads and binds, and where its blocks stand."""
    key = facts.block_of(stmt)
    home = tried.get(number, key)
    for name in sorted(ir.reads(stmt)):
        places.setdefault(name, []).append(home)
        facts.used_by.setdefault(name, []).append(stmt)
    for name in bound_by(stmt):
        where = (number, 0) if isinstance(stmt, ir.For) else home
        places.setdefault(name, []).append(where)
        facts.definitions.setdefault(name, []).append(stmt)
    looping = isinstance(stmt, ir.For | ir.While)
    for which in range(len(ir.blocks(stmt))):
        child = (number, which)
        outer = facts.outer_loop[key]
        facts.parent[child] = key
        facts.owner[child] = stmt
        facts.repeated[child] = facts.repeated[key] or looping
        facts.outer_loop[child] = number if looping and outer == OUTERMOST else outer


def _common(keys: Iterable[BlockKey], parent: dict[BlockKey, BlockKey]) -> BlockKey:
    """The innermost block that contains all the given ones."""
    chain: list[BlockKey] | None = None
    for key in dict.fromkeys(keys):
        path = [key]
        while path[-1] != ROOT:
            path.append(parent[path[-1]])
        path.reverse()
        if chain is None:
            chain = path
        else:
            same = [a for a, b in zip(chain, path, strict=False) if a == b]
            chain = chain[: len(same)]
    return chain[-1] if chain else ROOT


class _Live(Problem[int]):
    """Names that may still be read: what a loop goes through is read at every iteration."""

    bottom = 0
    join = staticmethod(operator.or_)  # type: ignore[assignment]

    def __init__(self, kept: Iterable[str], sets: NameSets) -> None:
        self.sets = sets
        self.kept = sets.mask(kept)

    def boundary(self, function: ir.Function) -> int:
        return self.kept

    def reads(self, stmt: ir.Stmt, live: int) -> int:
        """What a statement itself reads, where `live` is live after it."""
        return self.sets.mask(ir.reads(stmt))

    def transfer(self, stmt: ir.Stmt, state: int) -> int:
        killed = 0 if isinstance(stmt, ir.For) else self.sets.mask(bound_by(stmt))
        return state & ~killed | self.reads(stmt, state)

    def enter(self, stmt: ir.For | ir.Try, state: int) -> int:
        state &= ~self.sets.mask(ir.binds(stmt))
        return self.transfer(stmt, state) if isinstance(stmt, ir.For) else state


class _LiveContents(_Live):
    """The same for the contents of what the names stand for."""

    def reads(self, stmt: ir.Stmt, live: int) -> int:
        return self.sets.mask(content_reads(stmt, functools.partial(self.sets.has, live)))


# --------------------------------------------------------------------------------------------------
# What is looked at: the content of a value, or only its shape.

# Functions that look at the shape and type of an argument (at this position), not at its content.
_SHAPE_ONLY: dict[Any, int] = {
    **dict.fromkeys((np.zeros_like, np.ones_like, np.full_like, np.empty_like), 0),
    **dict.fromkeys((len, np.shape, np.ndim, np.size), 0),
    **dict.fromkeys((runtime.zeros_like, runtime.ones_like), 0),
    **dict.fromkeys((runtime.places_left, runtime.places_taken), 0),
    **dict.fromkeys((runtime.unbroadcast, runtime.broadcast_like, runtime.part_like), 1),
    **dict.fromkeys((runtime.undiff, runtime.reached), 1),
}
_POSITIONS = {id(obj): position for obj, position in _SHAPE_ONLY.items()}


def shape_only(fn: Any) -> int | None:
    """The position of the argument of which a function asks for the shape only; None for others.

    >>> shape_only(np.zeros_like), shape_only(np.sin)
    (0, None)
    """
    return _POSITIONS.get(id(fn))


@ir.of_node
def looked_into(expr: ir.Expr) -> frozenset[str]:
    """The names whose content an expression looks at, or hands on.

    >>> from ..frontend.lower import program
    >>> (stmt,) = program("return g[where] + len(y) * z.shape[0]").body
    >>> sorted(looked_into(stmt.value))
    ['g', 'where']
    """
    found: set[str] = set()
    work = [(expr, False)]  # parts, and whether only their shape is looked at
    while work:
        part, only_shape = work.pop()
        match part:
            case ir.Var(name):
                found |= set() if only_shape else {name}
            case ir.Attribute(base, name) if name in ir.SHAPE_ATTRIBUTES:
                work.append((base, True))
            case ir.Index(base, key):
                work += ((base, only_shape), (key, False))
            case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs):
                like = shape_only(obj)
                work += [(arg, position == like) for position, arg in enumerate(args)]
                work += [(value, False) for _, value in kwargs]
            case _:
                work += [(child, False) for child in ir.children(part)]
    return frozenset(found)


def slices_array(key: ir.Expr) -> bool:
    """Whether a key, like `1:, k`, is that of an array only (a list may have one slice)."""
    match key:
        case ir.Display("tuple", items):
            return any(isinstance(part, ir.Slice) for part in items)
    return False


def content_reads(stmt: ir.Stmt, is_live: Callable[[str], bool]) -> frozenset[str]:
    """The names whose content a statement looks at, where that of live ones is looked at later:
    what only hands on what is never looked at looks at nothing."""
    match stmt:
        case ir.Return() | ir.OpaqueStmt():
            return ir.reads(stmt)
        case ir.Assign(target=target, value=value) if not any(
            map(is_live, ir.target_names(target))
        ):
            if isinstance(value, ir.Var | ir.Display) or takes_last(value):
                return frozenset()
            if isinstance(value, ir.Index) and isinstance(value.base, ir.Var):
                return looked_into(value.key)
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=args)):
            return frozenset().union(*map(looked_into, args)) if is_live(base) else frozenset()
        case ir.Do(value=value) if takes_last(value):
            return frozenset()
    return frozenset().union(*map(looked_into, ir.expressions(stmt)))


def takes_last(value: ir.Expr) -> bool:
    """Whether an expression is `xs.pop()`."""
    match value:
        case ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=(), kwargs=()):
            return True
    return False


# --------------------------------------------------------------------------------------------------
# Which names may still be read after a statement.
#
# Sets of names are bit masks (bit `index[name]`), so that one set operation a statement suffices
# for functions of thousands of statements.


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


class _LiveNames(Problem[int]):
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
    live.found = solve(function, _LiveNames(live, pinned), fact(ProgramIndex, function))
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
