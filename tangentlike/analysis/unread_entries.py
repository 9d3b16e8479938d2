"""Entries of arrays that are written and never read again: `q[1:] *= w` before `return q[0]`.

The result does not depend on what is written there, so its adjoint is zero: not as a number, which
`0 * inf` would make NaN, but because no statement ever adds to it. Told by what keys span, as far
as that is known; entries that a mask or an array of indices chooses may be any.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import ir
from ..frontend.owners import is_operation
from ..ir.index import OUTERMOST
from ..ir.kind import SHAPE_ATTRIBUTES
from .aliases import Aliases
from .memory import Sources, base_names
from .regions import Access, Regions
from .sharing import owner
from .structure import ROOT, Structure, shape_only

_ITEMS = ("unknown", "value", "list")
_WITHOUT_DERIVATIVES = (np.empty, np.zeros, np.ones, np.empty_like, np.zeros_like, np.ones_like)
_DEEPEST = 8  # names that are followed to the array that they are entries of


class UnreadEntries:
    """Answers for one function."""

    def __init__(
        self, facts: Structure, aliases: Aliases, regions: Regions, sources: Sources
    ) -> None:
        self.facts = facts
        self.sources = sources
        self.aliases = aliases
        self.regions = regions
        self._members: dict[str, set[str]] = {}  # by class: all names that may share memory
        for node, held in aliases.classes.items():
            self._members.setdefault(held, set()).add(owner(node))
        self._reads: dict[str, list[tuple[Access, str]] | None] = {}  # None: any entry, at the end
        self._answers: dict[int, bool] = {}
        self._writes_of: dict[str, list[Access] | None] = {}  # None: what nobody can tell

    def writes(self, stmt: ir.Stmt) -> bool:
        """Whether what a statement writes into an array is never read."""
        number = self.facts.number(stmt)
        if number not in self._answers:
            self._answers[number] = self._writes(stmt)
        return self._answers[number]

    def _writes(self, stmt: ir.Stmt) -> bool:
        written = self._written(stmt)
        if written is None:
            return False
        assert isinstance(written.base, ir.Var)
        name = written.base.name
        if not self._is_settled(name, stmt):
            return False
        if name not in self._reads:
            self._reads[name] = self._reads_of(name)
        reads, number = self._reads[name], self.facts.number
        if reads is None:
            return False
        write = Access(stmt, name, written.key)
        latest_first = sorted(reads, key=lambda r: number(r[0].stmt), reverse=True)
        return not any(
            self.regions.may_meet_later(write, read)
            for read, alias in latest_first
            if not self._is_of_round(alias, read.stmt, write)
        )

    def fills(self, stmt: ir.Store) -> bool:
        """Whether a statement stores the first entries with derivatives into an array that was made
        without any: nobody asks for the adjoint of what was there before."""
        match stmt.target:
            case ir.Index(ir.Var(name)):
                pass
            case _:
                return False
        made = self.facts.single(name)
        match made:
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj))) if obj in _WITHOUT_DERIVATIVES:
                if self.facts.block_of(made) != ROOT:
                    return False
            case _:
                return False
        alone = self._members.get(self.aliases.class_of(name), {name}) == {name}
        if not alone or name in self.facts.kept:
            return False
        if name not in self._writes_of:
            opaque = any(isinstance(s, ir.OpaqueStmt) for s in self.facts.used_by.get(name, ()))
            self._writes_of[name] = None if opaque else [*self._written_by(name)]
        this, writes = Access(stmt, name, stmt.target.key), self._writes_of[name]
        return writes is not None and not any(
            self.regions.may_meet_later(write, this) for write in writes
        )

    def _written_by(self, name: str) -> Iterator[Access]:
        """What may write an array that has this one name."""
        for stmt in self.facts.used_by.get(name, ()):
            match stmt:
                case ir.Store(target=ir.Index(ir.Var(base), key)) if base == name:
                    yield Access(stmt, name, key)
                case _ if name in map(owner, self.sources.written(stmt)) or _hands_over(name, stmt):
                    yield Access(stmt, name, None)

    def _is_of_round(self, alias: str, read: ir.Stmt, write: Access) -> bool:
        """Whether an array is made in each round of the loop that it is written in, and read
        between the two, by a name that is bound there: what earlier rounds wrote is not seen."""
        number, loops = self.facts.number, self.facts.index.loops
        made, bound = self.facts.single(write.name), self.facts.single(alias)
        if made is None or bound is None or number(read) > number(write.stmt):
            return False
        around = (next(loops(number(s)), OUTERMOST) for s in (made, bound, write.stmt))
        return number(made) <= number(bound) < number(read) and len({*around}) == 1

    def _written(self, stmt: ir.Stmt) -> ir.Index | None:
        """The entries that a statement writes; None for what is not told apart. (A new item of
        what may be a list is no write into the item that was there.)"""
        match stmt:
            case ir.Store(target=ir.Index() as target) | ir.Update(target=ir.Index() as target):
                entries = self._entries(target)
                if entries is None or not isinstance(entries.base, ir.Var):
                    return None
                form = self.regions.kind_of(entries.base).form
                new_item = isinstance(stmt, ir.Store) and target == entries and form in _ITEMS
                return entries if form == "array" or new_item else None
        return None

    def _is_settled(self, name: str, stmt: ir.Stmt) -> bool:
        """Whether a name stands for one array from a statement on, whatever path led there, or in
        each round of a loop for a new one."""
        facts = self.facts
        loop, bound = facts.outer_loop[facts.block_of(stmt)], facts.definitions.get(name, ())
        if any(facts.number(made) >= facts.number(stmt) for made in bound):
            return False
        inside = [
            made
            for made in bound
            if loop != OUTERMOST
            and loop in (facts.number(made), facts.outer_loop[facts.block_of(made)])
        ]
        return not inside or (len(bound) == 1 and self._is_new(inside[0], stmt))

    def _is_new(self, made: ir.Stmt, stmt: ir.Stmt) -> bool:
        """Whether a statement that surely ran before another makes an array that shares memory with
        nothing."""
        index = self.facts.index
        around = map(index.statements.__getitem__, index.around(index.number(stmt)))
        blocks = {self.facts.block_of(s) for s in (stmt, *around)}
        match made:
            case ir.Assign(target=str(), value=ir.Call() as value) if (
                self.facts.block_of(made) in blocks
            ):
                new = self.sources.view_of(value) == "no"  # (a user's may give what it keeps)
                return new and not self.sources.nodes(value) | self.sources.elements(value)
        return False

    def _entries(self, expr: ir.Expr) -> ir.Index | None:
        """Entries of an array that hold those that are meant: `a[1:]` of `tail[0]`, where
        `tail = a[1:]`."""
        part, names = self._part(expr), 0
        while part is not None and isinstance(part.base, ir.Var) and names < _DEEPEST:
            inner, names = self._part(part.base), names + 1
            if inner is None:
                return part
            part = inner
        return None

    def _part(self, expr: ir.Expr) -> ir.Index | None:
        """`a[k]`, or what a name is short for, while `a` is what it was."""
        match expr:
            case ir.Index(ir.Var()):
                return expr
            case ir.Var(name):
                value, made = self.regions.local_value(name), self.facts.single(name)
                if isinstance(value, ir.Index) and isinstance(value.base, ir.Var) and made:
                    start = self.facts.number(made)
                    defined = self.facts.definitions.get(value.base.name, ())
                    late = any(self.facts.number(d) > start for d in defined)
                    return None if late else value
        return None

    def _reads_of(self, name: str) -> list[tuple[Access, str]] | None:
        """The reads of an array, and the names they use; None where entries may be read that no
        statement of the function names."""
        names = {name}
        for node in (name, f"{name}[*]"):
            names |= self._members.get(self.aliases.class_of(node), set())
        if names & self.facts.kept:
            return None
        found: list[tuple[Access, str]] = []
        for stmt in ir.statements(self.facts.function.body):
            if isinstance(stmt, ir.OpaqueStmt) and names & ir.reads(stmt):
                return None
            for read in _reads(stmt):
                if not ir.names_in(read) & names or self._is_put_there(read, stmt):
                    continue
                if ir.blocks(stmt):  # (a loop goes on reading what it runs over)
                    return None
                entries = self._entries(read)
                same = entries is not None and entries.base == ir.Var(name)
                access = Access(stmt, name, entries.key if same and entries else None)
                found += [(access, alias) for alias in base_names(read)]
        return found

    def _is_put_there(self, read: ir.Expr, stmt: ir.Stmt) -> bool:
        """Whether a name is read by nothing but a store of it: it is no other name for an item."""
        if not isinstance(stmt, ir.Store) or read != stmt.value or not isinstance(read, ir.Var):
            return False
        return self.facts.used_by.get(read.name, []) == [stmt]


def _hands_over(name: str, stmt: ir.Stmt) -> bool:
    """Whether a statement gives an array to what may write it: to any call but of an operation."""
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            known = isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref)
            if known and is_operation(part.fn.obj):  # type: ignore[union-attr]
                continue
            if isinstance(part, ir.Call | ir.Opaque) and name in ir.names_in(part):
                return True
    return False


def _reads(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """What a statement reads of arrays: names, and names with a key."""
    match stmt:
        case ir.Store(target=target, value=value) | ir.Update(target=target, value=value):
            if isinstance(target, ir.Index):
                yield from _parts(target.key)
            elif isinstance(target, ir.Attribute):
                yield from _parts(target.base)
            yield from _parts(value)
        case _:
            for expr in ir.expressions(stmt):
                yield from _parts(expr)


def _parts(expr: ir.Expr) -> Iterator[ir.Expr]:
    match expr:
        case ir.Var():
            yield expr
        case ir.Index(ir.Var(), key):
            yield expr
            yield from _parts(key)
        case ir.Attribute(ir.Var(), name) if name in SHAPE_ATTRIBUTES:
            return
        case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs):
            like = shape_only(obj)
            for position, arg in enumerate(args):
                if position != like or not isinstance(arg, ir.Var):
                    yield from _parts(arg)
            for _, value in kwargs:
                yield from _parts(value)
        case _:
            for child in ir.children(expr):
                yield from _parts(child)
