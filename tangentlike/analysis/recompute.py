"""Recomputing cheap values of a loop body instead of saving them.

    for i in range(n):                       for i in reversed(range(n)):
        t = x[i] * x[j]                          t = x[i] * x[j]
        s = s + np.sin(t) * s                    ...

A local of a repeated block is recomputed in the reversed block right before the first adjoint
statement (in the order of the sweep) that reads it. At that moment everything after the reader
has been undone, so the value is right if no operand is bound again between the definition and
the reader. What the recomputation reads is read by the sweep in its stead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .. import ir
from .aliases import Aliases
from .regions import Parts
from .saving import Needed, Reads, needs_of, never
from .structure import ROOT, BlockKey, Structure


@dataclass
class Recomputed:
    """id of a reader -> definitions repeated for it, in primal order: with the primal as after
    the reader (`entry`) or as before it (`exit`)."""

    entry: dict[int, list[ir.Assign]] = field(default_factory=dict)
    exit: dict[int, list[ir.Assign]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Costs:
    """`free`: worth repeating whatever it reads (aliases, items, integers, tests); `light`: worth
    it if what it reads is at hand; `reference`: the value is a view, so its content may change;
    `same`: entries give back as it is what is stored to them."""

    free: Callable[[ir.Assign], bool]
    light: Callable[[ir.Assign], bool]
    reference: Callable[[ir.Assign], bool]
    same: Callable[[ir.Store], bool]


@dataclass(eq=False)
class Rematerialisation:
    """Chooses what to recompute; `reads` is updated to what the sweep then reads. `apart`: the
    sweep is a function of its own; `has_one_shape`: a name has the same shape all the time."""

    facts: Structure
    aliases: Aliases
    reads: Reads
    costs: Costs
    parts: Parts | None
    apart: bool = False
    has_one_shape: Callable[[str], bool] = never

    def __post_init__(self) -> None:
        reads, self.found = self.reads, Recomputed()
        self._last: dict[str, tuple[ir.Stmt, bool]] = {}  # in the block that is looked at
        self._wanted = {n for read in (reads.entry, reads.exit) for ns in read.values() for n in ns}
        self._placed = {name for names in reads.places.values() for name in names}

    def run(self) -> Recomputed:
        for owner, which, block in ir.inner_blocks(self.facts.function.body):
            key = self.facts.block(owner, which)
            if self.facts.repeated[key]:
                self._block(block, key)
        if self.apart:
            self._block(self.facts.function.body, ROOT)
        return self.found

    def _block(self, block: ir.Block, key: BlockKey) -> None:
        self._last = self._last_readers(block)
        for stmt in reversed(block):
            self._consider(stmt, block, key)

    def _consider(self, stmt: ir.Stmt, block: ir.Block, key: BlockKey) -> None:
        if not isinstance(stmt, ir.Assign) or not isinstance(stmt.target, str):
            return
        name = stmt.target
        if self.facts.single(name) is not stmt or not self.facts.is_local(name, key):
            return
        reader, at_entry = self._last.get(name, (stmt, None))
        if at_entry is None or self.facts.number(reader) < self.facts.number(stmt):
            return
        reader, at_entry = self._last_restore(name, reader, at_entry, block)
        if name in self.reads.tails.get(key, frozenset()):
            return
        if self._sound(stmt, reader, at_entry) and self._worth(stmt, key):
            self._repeat(stmt, reader, at_entry)
            return
        store = self._stored(stmt, reader, block)
        if store is not None:
            again = ir.Assign(name, store.target, store.origin)
            self._repeat(again, store, at_entry=True)

    def _operands(self, stmt: ir.Assign) -> Needed:
        """What repeating a definition reads."""
        known = self.facts.home.__contains__
        return needs_of(stmt.value, self.aliases, known, self.parts, self.has_one_shape)

    def _repeat(self, stmt: ir.Assign, reader: ir.Stmt, at_entry: bool) -> None:
        operands = self._operands(stmt)
        reads, made = self.reads.exit, self.found.exit
        if at_entry:
            reads, made = self.reads.entry, self.found.entry
        number = self.facts.number(reader)
        reads[number] = reads.get(number, frozenset()) | operands
        made.setdefault(number, []).insert(0, stmt)
        self.found.names.add(str(stmt.target))
        self._wanted |= operands
        for name in operands:
            known, _ = self._last.get(name, (None, False))
            if known is None or self.facts.number(known) < number or (known is reader and at_entry):
                self._last[name] = reader, at_entry

    def _stored(self, stmt: ir.Assign, reader: ir.Stmt, block: ir.Block) -> ir.Store | None:
        """`a[k] = t`, where `t` may be read back in the sweep: the entries still hold it, and
        nothing looks at `t` later than that."""
        for store in self.facts.index.following(stmt):
            match store:
                case ir.Store(ir.Index() as place, ir.Var(name)) if name == stmt.target:
                    early = self.facts.number(reader) <= self.facts.number(store)
                    return store if early and self._holds(place, stmt, store) else None
        return None

    def _holds(self, place: ir.Index, stmt: ir.Assign, store: ir.Store) -> bool:
        """Whether entries that were stored hold what they got until the sweep comes there."""
        entries = None if self.parts is None else self.parts.entries(place)
        if entries is None or self.parts is None or not self.costs.same(store):
            return False
        number = self.facts.number(store)
        for name in ir.names_in(place.key):
            if self.aliases.is_written(name) or self.facts.rebound_between(name, stmt, number):
                return False
        steady = self.parts.is_steady(entries, stmt, number - 1)
        return steady and self.parts.lasts(entries, store, after=True)

    def _last_readers(self, block: ir.Block) -> dict[str, tuple[ir.Stmt, bool]]:
        """By name: the last statement of a block whose reversal reads it, and whether it does so
        with the primal as after it."""
        found: dict[str, tuple[ir.Stmt, bool]] = {}
        for reader in reversed(block):
            number = self.facts.number(reader)
            for name in self.reads.entry.get(number, frozenset()) | self._inside(reader):
                found.setdefault(name, (reader, True))
            for name in self.reads.exit.get(number, ()):
                found.setdefault(name, (reader, False))
        return found

    def _last_restore(
        self, name: str, reader: ir.Stmt, at_entry: bool, block: ir.Block
    ) -> tuple[ir.Stmt, bool]:
        """The same, where restoring what a later statement wrote reads the name before that."""
        if name not in self._placed:
            return reader, at_entry
        for stmt in reversed(block):
            inside = map(self.facts.number, ir.statements((stmt,)))
            if any(name in self.reads.places.get(number, ()) for number in inside):
                return stmt, True
            if stmt is reader:
                break
        return reader, at_entry

    def _inside(self, stmt: ir.Stmt) -> Needed:
        """What the reversal of nested blocks reads."""
        found: Needed = frozenset()
        for owner, which, block in ir.inner_blocks((stmt,)):
            found |= self.reads.tails.get(self.facts.block(owner, which), frozenset())
            for number in map(self.facts.number, block):
                found |= self.reads.entry.get(number, frozenset())
                found |= self.reads.exit.get(number, frozenset())
        return found

    def _sound(self, stmt: ir.Assign, reader: ir.Stmt, at_entry: bool) -> bool:
        last = self.facts.last_inside(reader) if at_entry else self.facts.number(reader) - 1
        read = self._operands(stmt)
        for operand in ir.names_in(stmt.value):
            of_shape = operand not in read and self.has_one_shape(operand)
            if not of_shape and self.facts.rebound_between(operand, stmt, last):
                return False
        if self.costs.reference(stmt):
            return True
        if self.aliases.is_written(str(stmt.target)):
            return False  # (made again, it would be other memory, as it was before it was written)
        if not any(map(self.aliases.is_written, ir.names_in(stmt.value))):
            return True
        return self._is_kept(stmt, reader, at_entry, last)

    def _is_kept(self, stmt: ir.Assign, reader: ir.Stmt, at_entry: bool, last: int) -> bool:
        """Whether entries of an array still are what they were, and need no saving to stay so."""
        entries = None if self.parts is None else self.parts.entries(stmt.value)
        if entries is None or self.parts is None or entries != stmt.value:
            return False
        if any(map(self.aliases.is_written, ir.names_in(entries.key))):
            return False
        steady = self.parts.is_steady(entries, stmt, last)
        return steady and self.parts.lasts(entries, reader, at_entry)

    def _worth(self, stmt: ir.Assign, key: BlockKey) -> bool:
        if key == ROOT:  # (what is read again goes to the other function, on the tape)
            params = self.facts.function.param_names
            return self.costs.free(stmt) and ir.names_in(stmt.value) <= {*params}
        if self.costs.free(stmt):
            return True
        return self.costs.light(stmt) and all(
            self._at_hand(n, key) for n in ir.names_in(stmt.value)
        )

    def _at_hand(self, name: str, key: BlockKey) -> bool:
        """Whether a value is there in the reversed block anyway."""
        if name in self.found.names or (self.facts.home[name] == ROOT and self._steady(name)):
            return True
        if name in self._wanted:
            return True
        made = self.facts.single(name)
        if isinstance(made, ir.Assign) and isinstance(made.value, ir.Attribute | ir.Var):
            read = ir.names_in(made.value)
            if self.costs.free(made) and not any(map(self.aliases.is_written, read)):
                return all(self._at_hand(n, key) for n in read)
        return any(isinstance(d, ir.For) for d in self.facts.definitions.get(name, ()))

    def _steady(self, name: str) -> bool:
        """Whether a name of the function's own block is never bound again in a loop."""
        definitions = self.facts.definitions.get(name, ())
        return all(not self.facts.repeated[self.facts.block_of(d)] for d in definitions)
