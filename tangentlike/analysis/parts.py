"""Tokens for the entries of an array that adjoint statements read, and what overwrites them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import ir
from .aliases import Aliases
from .regions import Access, Regions


class Parts:
    """Names the parts of arrays that are told apart: `#a|3` is one part of the content `#a`.

    `writes` says what a statement writes in place.
    """

    def __init__(
        self,
        regions: Regions,
        aliases: Aliases,
        writes: Callable[[ir.Stmt], tuple[str, ...]],
    ) -> None:
        self.regions = regions
        self.aliases = aliases
        self._numbers: dict[ir.Index, int] = {}
        self._parts: list[ir.Index] = []
        self._writes: dict[str, list[Access]] = {}  # by class
        for stmt in ir.statements(regions.facts.function.body):
            for name in writes(stmt):
                written = Access(stmt, name, written_key(stmt, name))
                for held in aliases.contents(name):
                    self._writes.setdefault(held, []).append(written)

    def token(self, expr: ir.Expr) -> str | None:
        """The token for the entries that an expression reads; None where all of them count."""
        entries = self.entries(expr)
        if entries is None:
            return None
        number = self._numbers.setdefault(entries, len(self._parts))
        if number == len(self._parts):
            self._parts.append(entries)
        return f"#{self.aliases.class_of(_name(entries))}|{number}"

    def entries(self, expr: ir.Expr) -> ir.Index | None:
        """`a[k]`, where `a` is written in place, but never under a name that is a view."""
        entries = self.regions.part(expr)
        if entries is None:
            return None
        name = _name(entries)
        if not self.aliases.has_variable(name):
            return None
        held = (self.aliases.class_of(name),)
        if self.aliases.contents(name) != held:
            return None
        if isinstance(expr, ir.Var) and self.aliases.contents(expr.name) != held:
            return None
        return entries

    def access(self, token: str, stmt: ir.Stmt, after: bool) -> Access:
        """The part of a token, read when a statement is reversed."""
        entries = self._parts[int(token.rpartition("|")[2])]
        return Access(stmt, _name(entries), entries.key, after)

    def written_to(self, entries: ir.Index) -> Iterator[Access]:
        """All writes into the memory of a part."""
        yield from self._writes.get(self.aliases.class_of(_name(entries)), ())

    def lasts(self, entries: ir.Index, stmt: ir.Stmt, after: bool) -> bool:
        """Whether what entries are, where a statement stands, is never overwritten."""
        read = Access(stmt, _name(entries), entries.key, after)
        return not any(self.regions.may_overwrite(read, w) for w in self.written_to(entries))

    def is_steady(self, entries: ir.Index, first: ir.Stmt, last: int) -> bool:
        """Whether no statement after `first`, up to the one of that number, changes entries in
        the same round."""
        read = Access(first, _name(entries), entries.key)
        number = self.regions.facts.number
        start = number(first)
        return not any(
            start < number(w.stmt) <= last and self.regions.may_meet_in_round(read, w)
            for w in self.written_to(entries)
        )


def is_part(token: str) -> bool:
    return "|" in token


def whole_of(token: str) -> str:
    """The token of the content that a part belongs to."""
    return token.partition("|")[0]


def written_key(stmt: ir.Stmt, name: str) -> ir.Expr | None:
    """The key of the entries of a name that a statement writes; None where it may be others."""
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(base), key)) if base == name:
            return key
        case ir.Update(target=ir.Index(ir.Var(base), key)) if base == name:
            return key
    return None


def _name(entries: ir.Index) -> str:
    assert isinstance(entries.base, ir.Var)
    return entries.base.name
