"""Which names have an adjoint variable at each point of the reverse sweep, and why.

Worked out without printing anything, so that the sweep knows before a branch or a loop which
adjoints must exist there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

from ... import ir
from ...analysis.local_kinds import LocalKinds
from ...analysis.regions import Regions, UnreadEntries
from ...analysis.saving import is_scatter
from ...analysis.structure import BlockKey, Structure, entry_is_there
from ...errors import not_by_names
from ..context import Context
from ..contributions import Chain, chain_of
from ..loops import leaves
from ..specialize.callees import CallSite
from .adjoints import Adjoints

_PLAIN = ("number", "other")


@dataclass(eq=False)
class Presence:
    """Answers for one function. `severed` are local names whose incoming edges are cut."""

    adjoints: Adjoints
    facts: Structure
    active: frozenset[str]
    calls: dict[int, CallSite]
    severed: frozenset[str]
    context: Context
    _chains: dict[int, Chain] = field(init=False, default_factory=dict)

    @functools.cached_property
    def _by_position(self) -> frozenset[str]:
        return _by_position(self.facts.function)

    @functools.cached_property
    def unread(self) -> UnreadEntries:
        """The entries that nothing reads of what is written in place."""
        regions = Regions(self.facts, self.context.kind_of)
        sources = self.context.sources()
        return UnreadEntries(self.facts, self.adjoints.aliases, regions, sources)

    @functools.cached_property
    def local(self) -> LocalKinds:
        """What is known where statements stand."""
        facts, context = self.facts, self.context
        return LocalKinds(facts.function, facts.index, context.kinds, context.book)

    def chain(self, stmt: ir.Assign) -> Chain:
        """The chain rule of an assignment, worked out once."""
        number = self.facts.number(stmt)
        if number not in self._chains:
            bar = self.result_bar(stmt.target)
            here = self.local.at(stmt)
            chain = chain_of(stmt, self.active, bar, self.context, self._by_position, here)
            self._chains[number] = chain
        return self._chains[number]

    def result_bar(self, target: ir.Target) -> ir.Expr:
        if isinstance(target, str):
            found = target in self.adjoints.aliases.found
            return self.adjoints.bar(target) if found else self.adjoints.adjoint(target)
        return ir.Display("tuple", tuple(map(self.result_bar, target)))

    def roots(self, names: frozenset[str] | tuple[str, ...]) -> frozenset[str]:
        return frozenset(map(self.adjoints.aliases.root, names))

    def before(self, stmt: ir.Stmt, present: frozenset[str]) -> frozenset[str]:
        """Names with an adjoint variable after reversing `stmt`, from those before."""
        match stmt:
            case ir.Assign() if id(stmt) in self.calls:
                return self._call(stmt, present)
            case ir.Assign():
                targets = self._killed(stmt)
                bound = frozenset(ir.target_names(stmt.target))
                if not self.roots(tuple(bound)) & present:
                    return present
                present = present - targets
                return present | self.roots(self._operands(stmt))
            case ir.Store() | ir.Update():
                base, value = self.written_base(stmt), stmt.value
                if base in present and isinstance(value, ir.Var) and not self.unread.writes(stmt):
                    present |= self.roots(frozenset({value.name}) & self.active)
                return present
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(ir.Var(v),))):
                return self._read(base, v, present)
            case ir.Do(value=ir.Call(args=(ir.Var(base), _, ir.Var(v)))) if is_scatter(stmt):
                return self._read(base, v, present)
            case ir.If():
                keys = (self.facts.block(stmt, 0), self.facts.block(stmt, 1))
                ends = [
                    self.block(b, present, k) for b, k in zip(ir.blocks(stmt), keys, strict=True)
                ]
                return ends[0] | ends[1]
            case ir.For() | ir.While():
                return self.loop(stmt, present)[0]
            case _:
                return present

    def _read(self, base: str, value: str, present: frozenset[str]) -> frozenset[str]:
        if self.adjoints.aliases.root(base) in present and value in self.active:
            return present | self.roots((value,))
        return present

    def block(self, block: ir.Block, present: frozenset[str], key: BlockKey) -> frozenset[str]:
        for stmt in reversed(block):
            present = self.before(stmt, present)
        return frozenset(n for n in present if not self.facts.is_local(n, key))

    def loop(
        self, stmt: ir.For | ir.While, present: frozenset[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """(present at the head of each reversed round, present at its end)."""
        sources = self.roots(tuple(self.active_sources(stmt)))
        head = present
        while True:
            end = self.block(stmt.body, head, self.facts.block(stmt, 0)) | sources
            if end <= head:
                return head, end
            head = head | end

    def active_sources(self, stmt: ir.For | ir.While) -> list[str]:
        if isinstance(stmt, ir.While):
            return []
        found = []
        for leaf in leaves(stmt.target, stmt.iter, ir.Const(0)):
            active = set(ir.target_names(leaf.target)) & self.active
            if active and isinstance(leaf.source, ir.Var):
                found.append(leaf.source.name)
        return found

    def _call(self, stmt: ir.Assign, present: frozenset[str]) -> frozenset[str]:
        site = self.calls[id(stmt)]
        written = self.roots(site.written)
        if not (self.roots(site.results) | written) & present:
            return present
        present = present - self.roots(site.results)
        return present | written | self.roots(site.operands)

    def _operands(self, stmt: ir.Assign) -> frozenset[str]:
        if self.context.is_part(stmt.value):
            return ir.names_in(ir.children(stmt.value)[0]) & self.active
        if isinstance(stmt.value, ir.Var):
            return frozenset((stmt.value.name,)) & self.active
        if popped_from(stmt):
            return frozenset((popped_from(stmt),)) & self.active
        return frozenset(c.name for c in self.chain(stmt).contributions)

    def _killed(self, stmt: ir.Assign) -> frozenset[str]:
        names = frozenset(ir.target_names(stmt.target)) - self.severed
        return frozenset(n for n in names if self.adjoints.aliases.has_variable(n))

    def written_base(self, stmt: ir.Store | ir.Update) -> str:
        """The name whose adjoint a write concerns; "" for what lives outside of the function."""
        target: ir.Expr = stmt.target
        while not isinstance(target, ir.Var):
            inner = ir.children(target)
            if not inner:
                return ""
            target = inner[0]
        return self.adjoints.aliases.root(target.name)

    def replaces_other(self, stmt: ir.Store) -> bool:
        """Whether an item of a list or dict that a statement replaces may count, and may have
        another structure than what is put in its place: it gives its place in the adjoint the
        structure of its zeros then, and zeros like the whole are made of what that holds."""
        aliases, item = self.adjoints.aliases, stmt.target
        if not self.has_many_structures(item):
            return False
        assert isinstance(item, ir.Index) and isinstance(item.base, ir.Var)
        alike = aliases.class_of(item.base.name)
        known = {*self.facts.definitions, *self.facts.function.param_names}
        names = {item.base.name, *(n for n in known if aliases.class_of(n) == alike)}
        if not names & self.active or not self._may_count(names, stmt):
            return False
        there = self.context.kind_of(item.base).form == "list" or entry_is_there(
            stmt, item, self.facts, self.context.sources()
        )
        if not there:
            raise not_by_names(stmt.origin.place)
        aliases.resized |= {alike}
        return True

    def has_many_structures(self, item: ir.Expr) -> bool:
        """Whether an item is one of a list or dict whose items may differ in structure."""
        if not isinstance(item, ir.Index) or not isinstance(item.base, ir.Var):
            return False
        base, kind = self.context.kind_of(item.base), self.context.kind_of(item)
        alike = kind.form in _PLAIN or kind.same_shape(kind)
        return base.form in ("list", "dict") and not alike

    def _may_count(self, names: set[str], stmt: ir.Stmt) -> bool:
        """Whether derivatives may flow through what an item of these was before a statement."""
        facts = self.facts
        if names.intersection(facts.function.param_names):
            return True
        made = (d for name in names for d in facts.definitions.get(name, ()))
        if not all(_holds_constants(d, names) for d in made):
            return True
        uses = (use for name in names for use in facts.used_by.get(name, ()))
        return any(self._comes_before(use, stmt) for use in uses if not _only_puts(use, names))

    def _comes_before(self, use: ir.Stmt, stmt: ir.Stmt) -> bool:
        """Whether a statement may run before another one, be it in an earlier round."""
        facts = self.facts
        loops = [facts.outer_loop[facts.block_of(s)] for s in (use, stmt)]
        together = loops[0] == loops[1] != 0
        return together or facts.number(use) < facts.number(stmt)

    def contributed(self, stmt: ir.Stmt) -> frozenset[str]:
        """Names that statements inside may contribute to."""
        found: set[str] = set()
        for inner in ir.statements((stmt,)):
            found |= ir.reads(inner)
        return self.roots(frozenset(found & self.active))


def popped_from(stmt: ir.Assign) -> str:
    """The list a statement `v = xs.pop()` takes from, or ''."""
    match stmt.value:
        case ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=()):
            return base
    return ""


def _by_position(function: ir.Function) -> frozenset[str]:
    """Names that are used otherwise than by their attributes: unpacked, indexed, passed on or
    returned. The adjoint of such a namedtuple may be a plain tuple or list."""
    return frozenset(
        name
        for stmt in ir.statements(function.body)
        for expr in ir.expressions(stmt)
        for name in _whole(expr)
    )


def _whole(expr: ir.Expr) -> Iterator[str]:
    """The names of which an expression reads more than attributes."""
    if isinstance(expr, ir.Var):
        yield expr.name
    elif not (isinstance(expr, ir.Attribute) and isinstance(expr.base, ir.Var)):
        for part in ir.children(expr):
            yield from _whole(part)


def _only_puts(stmt: ir.Stmt, names: set[str]) -> bool:
    """Whether a statement uses a container only to put something into it, or to make another one
    of it, the making of which tells what that holds."""
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name), key), value=value):
            return name in names and not names & (ir.names_in(key) | ir.names_in(value))
        case ir.Do(value=ir.Call(ir.Attribute(ir.Var(name), "append"), (value,))):
            return name in names and not names & ir.names_in(value)
        case ir.Assign(target=str(name), value=ir.Call() | ir.Var()):
            return name in names and _holds_constants(stmt, names)
    return False


def _holds_constants(stmt: ir.Stmt, names: set[str]) -> bool:
    """Whether a container is made of constants: `[None]`, `parts * n`, where `parts` is one of
    the names, which are asked as well."""
    match stmt:
        case ir.Assign(value=ir.Display(items=items)):
            return all(isinstance(i, ir.Const) for i in items)
        case ir.Assign(value=ir.Var(name)):
            return name in names
        case ir.Assign(value=ir.Call(ir.Ref(text="*" | "+"), args)):
            containers = {a.name for a in args if isinstance(a, ir.Var)}
            return bool(containers & names)
    return False
