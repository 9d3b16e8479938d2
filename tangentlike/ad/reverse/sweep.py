"""The reverse sweep: primal statements visited backwards, each giving its adjoint statements.

The sweep decides *what* is computed. Which primal values must be saved for it, and where they
are restored, follows from what it reads (`analysis.saving`), so the answer is a tree of
`Reversed` steps that still know their primal statement.

Invariants (the mechanism is described in docs/reverse.md):

- a name in the state has an adjoint variable; a name without one has adjoint zero;
- the adjoint of a name dies where the name is bound; adjoints of a block's locals die with it;
- both branches of an `if`, and the end and the start of a loop body, leave the same names present.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field

from ... import ir
from ...analysis.saving import is_pop
from ...analysis.structure import BlockKey, Structure, bound_by
from ...ir.kind import INT
from ..context import Context
from ..fragile import Mask
from ..loops import Leaf, backwards, leaves, length, rounds, sources_of
from ..specialize.callees import CallSite
from .adjoints import NARROW, Adjoints, State, weakest
from .presence import Presence
from .statements import Statements


@dataclass
class Header:
    """How a loop is run backwards: `for target in iterable`, with bindings made at its head."""

    target: ir.Target
    iterable: ir.Expr
    bindings: tuple[Leaf, ...] = ()


@dataclass
class Reversed:
    """One primal statement reversed. `entry` runs while the primal is as after the statement,
    `exit` while it is as before; blocks are those of a compound statement."""

    stmt: ir.Stmt
    entry: list[ir.Stmt] = field(default_factory=list)
    exit: list[ir.Stmt] = field(default_factory=list)
    blocks: tuple[ReversedBlock, ...] = ()
    header: Header | None = None


@dataclass
class ReversedBlock:
    """A block reversed: its steps, then `tail` (zeros that the next round expects)."""

    key: BlockKey
    steps: list[Reversed] = field(default_factory=list)
    tail: list[ir.Stmt] = field(default_factory=list)


class Sweep:
    """One function's sweep. `severed` are local names whose incoming edges are cut."""

    presence_class = Presence
    statements_class = Statements

    def __init__(
        self,
        adjoints: Adjoints,
        facts: Structure,
        active: frozenset[str],
        calls: dict[int, CallSite],
        counters: dict[int, str],
        severed: frozenset[str],
        context: Context,
    ) -> None:
        self.adjoints = adjoints
        self.facts = facts
        self.counters = counters
        self.context = context
        self.presence = self.presence_class(adjoints, facts, active, calls, severed, context)
        self.statements = self.statements_class(adjoints, self.presence, calls, context)
        self._indices: dict[int, str] = {}
        self._at_head: frozenset[str] = frozenset()  # adjoints at the head of the last block

    def block(self, block: ir.Block, key: BlockKey) -> ReversedBlock:
        """Reverse a block from the current state."""
        done = ReversedBlock(key)
        for stmt in reversed(block):
            done.steps.append(self.step(stmt))
        self._at_head = frozenset(self.adjoints.state)
        self.adjoints.masks.clear()
        for name in sorted(self._at_head):
            if self.facts.is_local(name, key) and name not in self.statements.severed:
                del self.adjoints.state[name]
        return done

    def step(self, stmt: ir.Stmt) -> Reversed:
        adjoints = self.adjoints
        adjoints.place(stmt.origin.place)
        outer, adjoints.out = adjoints.out, []
        step = Reversed(stmt)
        masks = self._masks_around(stmt) if ir.blocks(stmt) else {}
        if ir.blocks(stmt):  # (another branch, or iteration, may have made an array of one number)
            adjoints.spread.clear()
        match stmt:
            case ir.If():
                step = self._if(stmt)
            case ir.For() | ir.While():
                step = self._loop(stmt)
            case _:
                self.statements.reverse(stmt)
        if not step.blocks:
            bound = frozenset(bound_by(stmt))
            reads_new = any(ir.reads(s) & bound for s in adjoints.out)
            reads_new = reads_new and not (bound & ir.reads(stmt))
            reads_new = reads_new or is_pop(stmt)  # (its adjoint starts from the shortened list)
            (step.entry if reads_new else step.exit).extend(adjoints.out)
        if ir.blocks(stmt):
            adjoints.spread.clear()
        adjoints.out = outer
        adjoints.masks.update(masks)
        return step

    def _masks_around(self, stmt: ir.Stmt) -> dict[str, Mask]:
        """The masks that hold after a branch or a loop as they do before it: of adjoints to which
        nothing in it adds. In it, none holds: a round, or the other branch, may have added."""
        masks = self.adjoints.masks
        touched = self.presence.contributed(stmt)
        touched |= {n for s in ir.statements((stmt,)) for n in ir.binds(s)}
        kept = {n: mask for n, mask in masks.items() if not self.presence.roots((n,)) & touched}
        masks.clear()
        return kept

    # ------------------------------------------------------------------ branches and loops

    def _if(self, stmt: ir.If) -> Reversed:
        adjoints = self.adjoints
        present = frozenset(adjoints.state)
        keys = (self.facts.block(stmt, 0), self.facts.block(stmt, 1))
        ends = [
            self.presence.block(b, present, k) for b, k in zip(ir.blocks(stmt), keys, strict=True)
        ]
        step = Reversed(stmt)
        union = ends[0] | ends[1]
        for name in sorted(union - present):
            if not all(name in end for end in ends):
                adjoints.own(name)
        self._widen(stmt, union)
        step.entry, adjoints.out = adjoints.out, []
        before, after, done = dict(adjoints.state), [], []
        for block, key in zip(ir.blocks(stmt), keys, strict=True):
            adjoints.state = dict(before)
            reversed_block = self.block(block, key)
            adjoints.out = []
            adjoints.place(stmt.origin.place)
            for name in sorted(union - frozenset(adjoints.state)):
                adjoints.zero(name)
            self._full_where_not_narrow(before)
            reversed_block.tail, adjoints.out = adjoints.out, []
            after.append(adjoints.state)
            done.append(reversed_block)
        adjoints.state = weakest(after[0], after[1])
        step.blocks = tuple(done)
        return step

    def _loop(self, stmt: ir.For | ir.While) -> Reversed:
        adjoints = self.adjoints
        step = Reversed(stmt)
        present = frozenset(adjoints.state)
        head, end = self.presence.loop(stmt, present)
        rebound = {n for s in ir.statements(stmt.body) for n in bound_by(s)}
        for name in sorted(head - present):
            adjoints.own(name)
        for name in sorted(end):  # accumulators are ours before the first round
            if name in self.presence.contributed(stmt) and name not in rebound:
                adjoints.own(name)
        self._widen(stmt, head | end)
        step.entry, adjoints.out = adjoints.out, []
        state = dict(adjoints.state)
        while True:
            adjoints.state = dict(state)
            body = self._round(stmt, step, head, state)
            weaker = weakest(state, adjoints.state)
            if weaker == state:
                break
            state = weaker
        adjoints.state = state
        step.blocks = (body,)
        return step

    def _round(
        self, stmt: ir.For | ir.While, step: Reversed, head: frozenset[str], state: State
    ) -> ReversedBlock:
        """One reversed round, from the state at its head."""
        adjoints = self.adjoints
        body = self.block(stmt.body, self.facts.block(stmt, 0))
        at_head = self._at_head
        adjoints.out = []
        adjoints.place(stmt.origin.place)
        step.header = self._header(stmt)
        for leaf in step.header.bindings:
            self._return_to_source(leaf, at_head)
        for name in sorted(head - frozenset(adjoints.state)):
            adjoints.zero(name)
        self._full_where_not_narrow(state)
        body.tail, adjoints.out = adjoints.out, []
        return body

    def _return_to_source(self, leaf: Leaf, present: frozenset[str]) -> None:
        """The adjoint of a loop variable goes back to the sequence it came from."""
        adjoints = self.adjoints
        if not isinstance(leaf.source, ir.Var) or leaf.key is None:
            return
        for keys, name in places_in(leaf.target, (leaf.key,)):
            if name in present:
                adjoints.accumulate_at(leaf.source.name, keys, name)

    def _full_where_not_narrow(self, before: State) -> None:
        """Scalars that came to stand for arrays inside a block get their shapes at its end."""
        for name, status in sorted(self.adjoints.state.items()):
            if status == NARROW and before.get(name) != NARROW:
                self.adjoints.materialise(name)

    def _widen(self, stmt: ir.Stmt, names: frozenset[str]) -> None:
        """Narrow adjoints that a branch or loop touches become full before it."""
        touched = self.presence.contributed(stmt) | {
            n for s in ir.statements((stmt,)) for n in ir.binds(s)
        }
        for name in sorted(names & touched):
            self.adjoints.materialise(name)

    def _header(self, stmt: ir.For | ir.While) -> Header:
        if isinstance(stmt, ir.While):
            count = self.counters[id(stmt)]
            return Header(self.context.unread(), rounds(ir.Var(count)))
        counter = self.counters.get(id(stmt))
        iterable = self._in_sequence(stmt.iter)
        direct = backwards(iterable, counter)
        if direct is not None and not self.presence.active_sources(stmt):
            return Header(stmt.target, direct)
        first = next(iter(leaves(stmt.target, stmt.iter, ir.Const(0))))
        counts = isinstance(first.target, str) and first.item == ir.Const(0)  # `for i, x in enum..`
        index = str(first.target) if counts else self._index(stmt, "i")
        size = length(stmt.iter, self.context.kind_of) if counter is None else ir.Var(counter)
        bindings = tuple(
            leaf for leaf in leaves(stmt.target, iterable, ir.Var(index)) if leaf.target != index
        )
        return Header(index, rounds(size), bindings)

    def _in_sequence(self, iterable: ir.Expr) -> ir.Expr:
        """What a loop runs over, as a list if it may be a set or a view of a dict: neither reversed
        nor indexed."""
        if isinstance(iterable, ir.Call) and sources_of(iterable):
            args = tuple(map(self._in_sequence, iterable.args))
            return dataclasses.replace(iterable, args=args)
        if not isinstance(iterable, ir.Var):
            keyed = self.context.kind_of(iterable).form in ("set", "dict")
            return ir.Call(ir.LIST, (iterable,)) if keyed else iterable
        if iterable.name in self.presence.active or iterable.name in self.context.repeatable:
            return iterable
        made_here = iterable.name not in self.facts.function.param_names
        form = self.context.kind_of(iterable).form
        if form == "set" or (made_here and form in ("unknown", "value")):
            return ir.Call(ir.LIST, (iterable,))
        return iterable

    def _index(self, stmt: ir.Stmt, wanted: str) -> str:
        number = self.facts.number(stmt)
        if number not in self._indices:
            self._indices[number] = self.context.fresh(wanted, INT)
        return self._indices[number]


def places_in(
    target: ir.Target, keys: tuple[ir.Expr, ...]
) -> Iterator[tuple[tuple[ir.Expr, ...], str]]:
    """Each name of a (nested) target, with the keys that lead to its item."""
    if isinstance(target, str):
        yield keys, target
        return
    for position, part in enumerate(target):
        yield from places_in(part, (*keys, ir.Const(position)))
