"""Where names live: liveness, the block each name belongs to, the order of statements.

A block is named by a key: `(id of the owning statement, which of its blocks)`; `ROOT` is the
function's body. Statements are identified by `id`, which is stable while the function lives.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field

from .. import ir
from .looking import content_reads

BlockKey = tuple[int, int]
ROOT: BlockKey = (0, 0)


def bound_by(stmt: ir.Stmt) -> tuple[str, ...]:
    """Names a statement binds. `a += b` on a name is a write in place here: where it is a
    rebinding, `transform.reverse.prepare` has already made it `a = a + b`."""
    return () if isinstance(stmt, ir.Update) else ir.binds(stmt)


def block_key(stmt: ir.Stmt, which: int) -> BlockKey:
    """The key of one of a compound statement's blocks."""
    return (id(stmt), which)


@dataclass
class Structure:
    """Facts about one function; made by `structure`, read-only afterwards."""

    function: ir.Function
    parent: dict[BlockKey, BlockKey] = field(default_factory=dict)
    repeated: dict[BlockKey, bool] = field(default_factory=dict)  # within (or itself) a loop body
    outer_loop: dict[BlockKey, int] = field(default_factory=dict)  # id of the outermost loop, or 0
    block_of: dict[int, BlockKey] = field(default_factory=dict)  # the block a statement stands in
    number: dict[int, int] = field(default_factory=dict)  # preorder
    end: dict[int, int] = field(default_factory=dict)  # the highest number within a statement
    definitions: dict[str, list[ir.Stmt]] = field(default_factory=dict)
    used_by: dict[str, list[ir.Stmt]] = field(default_factory=dict)
    home: dict[str, BlockKey] = field(default_factory=dict)
    live_after: dict[int, frozenset[str]] = field(default_factory=dict)
    live_in: dict[BlockKey, frozenset[str]] = field(default_factory=dict)
    owner: dict[BlockKey, ir.Stmt] = field(default_factory=dict)  # the statement a block is part of
    locals: dict[BlockKey, tuple[str, ...]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()  # live at the end

    @functools.cached_property
    def looked_into_after(self) -> dict[int, frozenset[str]]:
        """The names whose content may still be looked at after a statement, by its id."""
        after: dict[int, frozenset[str]] = {}
        _ContentLiveness(self, after, {}).run()
        return after

    def single(self, name: str) -> ir.Stmt | None:
        """The one statement that binds a name, or None (parameters, several definitions)."""
        found = self.definitions.get(name, [])
        if len(found) != 1 or name in self.function.param_names:
            return None
        return found[0]

    def rebound_between(self, name: str, first: ir.Stmt, last: int) -> bool:
        """Whether `name` is bound after `first` up to statement number `last` (in preorder)."""
        start = self.number[id(first)]
        numbers = (self.number[id(d)] for d in self.definitions.get(name, ()))
        return any(start < n <= last for n in numbers)

    def end_of_use(self, name: str, definition: ir.Stmt) -> int:
        """The number up to which the value that `definition` gives to `name` may be used.

        A use in a loop that `definition` stands before comes again in the next round, so it
        lasts to the end of that loop.
        """
        around = self._blocks_around(self.block_of[id(definition)])
        last = self.number[id(definition)]
        for stmt in self.used_by.get(name, ()):
            last = max(last, self.number[id(stmt)])
            for key in self._blocks_around(self.block_of[id(stmt)]) - around:
                owner = self.owner[key]
                if isinstance(owner, ir.For | ir.While):
                    last = max(last, self.end[id(owner)])
        return last

    def _blocks_around(self, block: BlockKey) -> set[BlockKey]:
        found = {block}
        while block != ROOT:
            block = self.parent[block]
            found.add(block)
        return found

    def is_local(self, name: str, block: BlockKey) -> bool:
        """Whether no value of `name` flows into `block` from outside or an earlier round."""
        return self.home.get(name) == block and name not in self.live_in[block]


def structure(function: ir.Function, kept: Iterable[str] = ()) -> Structure:
    """Collect the facts above in time linear in the program (times the nesting of loops).

    `kept` are parameters whose writes a caller sees: they are read after the last statement.
    """
    facts = Structure(function)
    facts.parent[ROOT] = ROOT
    facts.repeated[ROOT] = False
    facts.outer_loop[ROOT] = 0
    places: dict[str, list[BlockKey]] = {p: [ROOT] for p in function.param_names}
    _number(function.body, ROOT, facts, places)
    for name, keys in places.items():
        facts.home[name] = _common(keys, facts.parent)
    facts.kept = frozenset(kept)
    _Liveness(facts, facts.live_after, facts.live_in).run()
    local: dict[BlockKey, list[str]] = {}
    for name in facts.definitions:
        home = facts.home[name]
        if facts.is_local(name, home):
            local.setdefault(home, []).append(name)
    facts.locals.update((key, tuple(names)) for key, names in local.items())
    return facts


def _number(
    block: ir.Block,
    key: BlockKey,
    facts: Structure,
    places: dict[str, list[BlockKey]],
    tried: BlockKey | None = None,
) -> None:
    """`tried`: the body of the `try` that protects these statements. What they bind belongs to it,
    and is saved at its end: a save before would stay on its stack if a later statement raises."""
    for stmt in block:
        if isinstance(stmt, ir.Tried):
            tried = None
        home = tried or key
        facts.block_of[id(stmt)] = key
        facts.number[id(stmt)] = len(facts.number) + 1
        for name in sorted(ir.reads(stmt)):
            places.setdefault(name, []).append(home)
            facts.used_by.setdefault(name, []).append(stmt)
        looping = isinstance(stmt, ir.For | ir.While)
        for name in bound_by(stmt):
            where = block_key(stmt, 0) if isinstance(stmt, ir.For) else home
            places.setdefault(name, []).append(where)
            facts.definitions.setdefault(name, []).append(stmt)
        for which, inner in enumerate(ir.blocks(stmt)):
            child = block_key(stmt, which)
            facts.parent[child] = key
            facts.owner[child] = stmt
            facts.repeated[child] = facts.repeated[key] or looping
            facts.outer_loop[child] = facts.outer_loop[key] or (id(stmt) if looping else 0)
            guard = child if isinstance(stmt, ir.Try) and which == 0 else tried
            _number(inner, child, facts, places, None if looping else guard)
        facts.end[id(stmt)] = len(facts.number)


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


class _Liveness:
    """Backward liveness over the structured program; loops run to their fixpoint."""

    def __init__(
        self,
        facts: Structure,
        after: dict[int, frozenset[str]],
        within: dict[BlockKey, frozenset[str]],
    ) -> None:
        self.facts = facts
        self.after = after
        self.within = within
        self.raising: frozenset[str] = frozenset()  # live where an exception is caught

    def run(self) -> None:
        facts = self.facts
        self.within[ROOT] = self.block(facts.function.body, facts.kept, frozenset())

    def reads(self, stmt: ir.Stmt, live: frozenset[str]) -> frozenset[str]:
        """What a statement itself reads, where `live` is live after it."""
        return ir.reads(stmt)

    def block(self, block: ir.Block, live: frozenset[str], exit: frozenset[str]) -> frozenset[str]:
        for stmt in reversed(block):
            self.after[id(stmt)] = self.after.get(id(stmt), frozenset()) | live
            live = self.before(stmt, live, exit) | self.raising
        return live

    def before(self, stmt: ir.Stmt, live: frozenset[str], exit: frozenset[str]) -> frozenset[str]:
        """Names live before a statement; `exit` is what is live where a `break` goes."""
        match stmt:
            case ir.Try():
                return self.attempt(stmt, live, exit)
            case ir.If():
                inside = [self.block(b, live, exit) for b in ir.blocks(stmt)]
                for which, names in enumerate(inside):
                    self.within[block_key(stmt, which)] = names
                return inside[0] | inside[1] | self.reads(stmt, live)
            case ir.For() | ir.While():
                # (A `for` goes on reading what it iterates over: each round takes an item.)
                header = self.reads(stmt, live)
                bound = frozenset(ir.binds(stmt))
                head = live | header
                while True:
                    inside_ = self.block(stmt.body, head, live) - bound
                    if inside_ <= head:
                        break
                    head = head | inside_
                self.within[block_key(stmt, 0)] = inside_
                return head | header
            case ir.Break():
                return exit
            case ir.Update():
                return live | self.reads(stmt, live)
            case _:
                return (live - frozenset(ir.binds(stmt))) | self.reads(stmt, live)

    def attempt(self, stmt: ir.Try, live: frozenset[str], exit: frozenset[str]) -> frozenset[str]:
        """Names live before a `try`, which may be left for its other block at any statement."""
        bound = frozenset(ir.binds(stmt))
        tried, rest = ir.tried_and_rest(stmt)
        caught = self.block(stmt.orelse, live, exit)
        after = self.block(rest, live, exit)
        around, self.raising = self.raising, self.raising | (caught - bound)
        body = self.block(tried, after | caught, exit)
        self.raising = around
        self.within[block_key(stmt, 0)] = body
        self.within[block_key(stmt, 1)] = caught
        return (body | caught) - bound | self.reads(stmt, live)


class _ContentLiveness(_Liveness):
    """The same for the contents of what the names stand for."""

    def reads(self, stmt: ir.Stmt, live: frozenset[str]) -> frozenset[str]:
        return content_reads(stmt, live)
