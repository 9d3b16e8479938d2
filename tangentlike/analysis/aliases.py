"""Which names may share memory, and what that means for a program that writes in place.

Reverse and forward mode treat every name as a *value* of its own. That is right exactly as long
as no write through one name is seen through another that is read later. `analyse_aliases`
follows, flow-sensitively, the pairs of live names that may share memory (so a swap of two
buffers, or a view read before the next write, is seen to be harmless). Where a write *is* seen
through another name, the one that was made as a view (`row = A[i]`) becomes a **path**: its
adjoint is the same view of the base's adjoint buffer. What neither covers is refused.

`classes` (flow-insensitive) says which names' contents a write may change: what the reverse
sweep must restore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import ir
from ..errors import UnsupportedError
from ..kind import Kind
from .structure import Structure

MUTATING_METHODS = frozenset(
    "append extend insert pop remove clear sort reverse update setdefault popitem fill "
    "partition put resize itemset add discard".split()
)
WRITING_FUNCTIONS = frozenset(
    "copyto put place putmask fill_diagonal put_along_axis at".split()
)  # NumPy functions that write their first argument
_SHAPE_ATTRIBUTES = frozenset("shape size ndim dtype itemsize nbytes strides".split())


@dataclass(frozen=True)
class Effects:
    """What a call does to its arguments: which it may write, which its result may share."""

    written: frozenset[str] = frozenset()
    returned: frozenset[str] = frozenset()


@dataclass
class Aliases:
    """`classes`: name -> representative; `written`: representatives of classes somebody writes;
    `direct`: names written through; `paths`: name -> the view it is, of another name."""

    classes: dict[str, str] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    direct: frozenset[str] = frozenset()
    paths: dict[str, ir.Expr] = field(default_factory=dict)

    def class_of(self, name: str) -> str:
        return self.classes.get(name, name)

    def is_written(self, name: str) -> bool:
        """Whether the content behind a name may change after the name was bound."""
        return bool(self.contents(name))

    def contents(self, name: str) -> tuple[str, ...]:
        """The written classes that hold what is behind a name and, for a container, in it."""
        found = dict.fromkeys((self.class_of(name), self.class_of(element(name))))
        return tuple(c for c in found if c in self.written)

    def root(self, name: str) -> str:
        """The name whose adjoint buffer serves `name` (itself unless it is a path)."""
        while name in self.paths:
            (name,) = _base_names(self.paths[name])
        return name


@dataclass(frozen=True)
class Sources:
    """Answers what an expression's result may share memory with."""

    kinds: Mapping[str, Kind]
    kind_of: Callable[[ir.Expr], Kind]
    view_of: Callable[[ir.Call], str]  # "no", "view" or "maybe" by the rules; "user" for others
    effects: Callable[[ir.Call], Effects | None]  # of a user's function; None where unknown
    bind: Callable[[ir.Call], Mapping[str, ir.Expr]]  # formals of a user's function -> actuals

    def holds_memory(self, expr: ir.Expr) -> bool:
        kind = self.kind_of(expr)
        return kind.form not in ("number", "other")

    def nodes(self, expr: ir.Expr) -> frozenset[str]:
        """Whose memory the value of `expr` may share: names, and elements of containers."""
        if not self.holds_memory(expr):
            return frozenset()
        match expr:
            case ir.Var(name):
                return frozenset((name,))
            case ir.Index(base, key):
                if surely_fancy(key, self.kind_of):
                    return frozenset()
                return self._item_of(base)
            case ir.Attribute(base, name):
                return frozenset() if name in _SHAPE_ATTRIBUTES else self._item_of(base)
            case ir.Lazy() | ir.Opaque():
                return self._all(ir.children(expr))
            case ir.Call():
                return self._call(expr)
            case _:
                return frozenset()

    def elements(self, expr: ir.Expr) -> frozenset[str]:
        """Whose memory the elements of a container `expr` may share."""
        match expr:
            case ir.Var(name):
                arrays = self.kind_of(expr).form in ("array", "number", "other", "value")
                return frozenset() if arrays else frozenset((element(name),))
            case ir.Display():
                return self._all(expr.items)
            case ir.Index(base, _) | ir.Attribute(base, _):
                return self.elements(base)
            case ir.Call():
                if self.view_of(expr) == "no" or not self.holds_memory(expr):
                    return frozenset()
                return self._all(self._given_back(expr))
            case ir.Lazy() | ir.Opaque():
                return self._all(e for e in ir.children(expr) if not isinstance(e, ir.Ref))
            case _:
                return frozenset()

    def _all(self, exprs: Iterable[ir.Expr]) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for expr in exprs:
            found |= self.nodes(expr) | self.elements(expr)
        return found

    def _item_of(self, base: ir.Expr) -> frozenset[str]:
        """An item of an array is a view of it, an item of a container one of its elements."""
        form = self.kind_of(base).form
        if form in ("list", "tuple", "dict"):
            return self.elements(base)
        return self.nodes(base) | self.elements(base)

    def _call(self, call: ir.Call) -> frozenset[str]:
        view = self.view_of(call)
        if view == "no":
            return frozenset()
        if isinstance(call.fn, ir.Attribute) and call.fn.name in ("pop", "get", "setdefault"):
            return self._item_of(call.fn.base) | self._all(call.args[1:])
        if view in ("view", "maybe"):
            if isinstance(call.fn, ir.Attribute):
                return self.nodes(call.fn.base)
            return self._all(call.args[:1])
        return self._all(self._given_back(call))

    def _given_back(self, call: ir.Call) -> list[ir.Expr]:
        """The arguments that the result of a user's function may share memory with."""
        effects = self.effects(call)
        if effects is not None:
            actuals = self.bind(call)
            return [actuals[f] for f in sorted(effects.returned) if f in actuals]
        return [e for e in ir.children(call) if not isinstance(e, ir.Ref)]

    def written(self, stmt: ir.Stmt) -> tuple[str, ...]:
        """The names a statement writes through (not those it binds)."""
        match stmt:
            case ir.Store() | ir.Update(target=ir.Index() | ir.Attribute()):
                return tuple(sorted(_base_names(stmt.target)))
            case ir.Update(target=ir.Var(name)):
                return (name,) if self.holds_memory(stmt.target) else ()
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                return tuple(sorted(self._written_by(call)))
            case _:
                return ()

    def _written_by(self, call: ir.Call) -> frozenset[str]:
        found: set[str] = set()
        for name, value in call.kwargs:
            if name == "out":
                found |= self.nodes(value)
        match call.fn:
            case ir.Attribute(base, method) if method in MUTATING_METHODS:
                found |= _base_names(base)
            case ir.Ref(text=text) if text.rpartition(".")[2] in WRITING_FUNCTIONS and call.args:
                found |= self.nodes(call.args[0])
        effects = self.effects(call)
        if effects is not None:
            actuals = self.bind(call)
            for formal in sorted(effects.written):
                if formal in actuals:
                    found |= self._all((actuals[formal],))
        return frozenset(found)


def key_parts(key: ir.Expr) -> tuple[ir.Expr, ...]:
    """The parts of a key per axis; a list in brackets is one part (an index array)."""
    return key.items if isinstance(key, ir.Display) and key.form == "tuple" else (key,)


def element(name: str) -> str:
    """The node that stands for all elements of a container."""
    return name if name.endswith("[*]") else f"{name}[*]"


def surely_fancy(key: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> bool:
    """Whether indexing with `key` certainly copies (an integer or boolean array in it)."""
    parts = key_parts(key)
    return any(kind_of(p).form in ("array", "list") for p in parts if not isinstance(p, ir.Slice))


def surely_basic(key: ir.Expr, kind_of: Callable[[ir.Expr], Kind]) -> bool:
    """Whether `key` consists of integers, slices, None and Ellipsis only."""
    parts = key_parts(key)

    def basic(part: ir.Expr) -> bool:
        if isinstance(part, ir.Slice):
            return True
        if isinstance(part, ir.Const):
            return part.value is None or part.value is Ellipsis or type(part.value) is int
        kind = kind_of(part)
        return kind.form == "number" and kind.dtype == "int"

    return all(map(basic, parts))


def _base_names(expr: ir.Expr) -> frozenset[str]:
    """The name at the root of `A[k].T[j]`."""
    while True:
        match expr:
            case ir.Var(name):
                return frozenset((name,))
            case ir.Index(base, _) | ir.Attribute(base, _):
                expr = base
            case ir.Call(fn=ir.Attribute() as fn):
                expr = fn
            case ir.Call(args=(first, *_)):
                expr = first
            case _:
                return frozenset()


Pairs = frozenset[tuple[str, str]]


class _Flow:
    """Forward flow of the pairs of live names that may share memory; collects conflicts."""

    def __init__(self, facts: Structure, sources: Sources) -> None:
        self.facts = facts
        self.sources = sources
        self.edges: set[tuple[str, str]] = set()
        self.direct: dict[str, ir.Stmt] = {}
        self.conflicts: dict[tuple[str, str], ir.Stmt] = {}

    def block(self, block: ir.Block, pairs: Pairs) -> Pairs:
        for stmt in block:
            pairs = self.statement(stmt, pairs)
        return pairs

    def statement(self, stmt: ir.Stmt, pairs: Pairs) -> Pairs:
        match stmt:
            case ir.If():
                return self.block(stmt.body, pairs) | self.block(stmt.orelse, pairs)
            case ir.While():
                return self._loop(stmt, pairs)
            case ir.For():
                return self._loop(stmt, pairs)
        live = self.facts.live_after[id(stmt)]
        for node in self.sources.written(stmt):
            self.direct.setdefault(node, stmt)
            for a, b in pairs:
                if a == node and b != node and _owner(b) in live:
                    self.conflicts.setdefault((node, b), stmt)
        if isinstance(stmt, ir.Assign):
            pairs = self._bind(stmt.target, stmt.value, pairs)
        pairs = self._stored(stmt, pairs)
        return frozenset(p for p in pairs if _owner(p[0]) in live and _owner(p[1]) in live)

    def _loop(self, stmt: ir.For | ir.While, pairs: Pairs) -> Pairs:
        while True:
            inside = pairs
            if isinstance(stmt, ir.For):
                inside = self._bind((stmt.target,), stmt.iter, pairs)
            after = pairs | self.block(stmt.body, inside)
            if after == pairs:
                return pairs
            pairs = after

    def _bind(self, target: ir.Target, value: ir.Expr, pairs: Pairs) -> Pairs:
        """New pairs for names bound to (items of) a value."""
        names = ir.target_names(target)
        bound = {n for name in names for n in (name, element(name))}
        pairs = frozenset(p for p in pairs if p[0] not in bound and p[1] not in bound)
        items = self.sources.elements(value)
        whole = self.sources.nodes(value) | (items if isinstance(target, tuple) else frozenset())
        for name in names:
            if self.sources.holds_memory(ir.Var(name)):
                pairs = self._join(name, whole - bound, pairs)
                if self.sources.kind_of(ir.Var(name)).form not in ("array", "value"):
                    pairs = self._join(element(name), items - bound, pairs)
        return pairs

    def _join(self, node: str, shared: frozenset[str], pairs: Pairs) -> Pairs:
        """`node` may share memory with `shared`, and with what these share memory with."""
        more = shared | {b for a, b in pairs if a in shared}
        for other in more - {node}:
            self.edges.add((node, other))
        new = {(node, o) for o in more} | {(o, node) for o in more}
        return pairs | frozenset(p for p in new if p[0] != p[1])

    def _stored(self, stmt: ir.Stmt, pairs: Pairs) -> Pairs:
        """A value put into a container stays reachable through it."""
        container, values = _container_store(stmt, self.sources)
        return self._join(element(container), values, pairs) if container else pairs


def _owner(node: str) -> str:
    return node.removesuffix("[*]")


def _container_store(stmt: ir.Stmt, sources: Sources) -> tuple[str, frozenset[str]]:
    """(container, what it now refers to) for `xs[i] = v`, `xs.append(v)`, `obj.w = v`."""
    match stmt:
        case ir.Store(target=target, value=value):
            (base, *_) = sorted(_base_names(target)) or [""]
            if base and sources.kind_of(ir.Var(base)).form != "array":
                return base, sources.nodes(value) | sources.elements(value)
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), method), args=args)):
            if method in MUTATING_METHODS and sources.kind_of(ir.Var(base)).form != "array":
                found = (sources.nodes(a) | sources.elements(a) for a in args)
                return base, frozenset().union(*found)
    return "", frozenset()


def analyse_aliases(function: ir.Function, facts: Structure, sources: Sources) -> Aliases:
    """Alias classes, written classes and paths; refuses sharing that is not understood."""
    flow = _Flow(facts, sources)
    flow.block(function.body, frozenset())
    aliases = Aliases(_classes(flow.edges), direct=frozenset(flow.direct))
    aliases.written = frozenset(aliases.class_of(name) for name in flow.direct)
    for (written, other), stmt in flow.conflicts.items():
        _resolve(written, other, stmt, aliases, facts, sources)
    return aliases


def _classes(edges: set[tuple[str, str]]) -> dict[str, str]:
    parent: dict[str, str] = {}

    def find(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for a, b in sorted(edges):
        parent[find(a)] = find(b)
    return {name: find(name) for name in sorted(parent)}


def _resolve(
    written: str, other: str, stmt: ir.Stmt, aliases: Aliases, facts: Structure, sources: Sources
) -> None:
    """Make the views among two sharing names paths of their common base, or refuse."""
    for name in (written, other):
        _follow(name, aliases, facts, sources)
    if aliases.root(written) == aliases.root(other):
        return
    seen, name = _spoken(other), _owner(other)
    raise UnsupportedError(
        f"{_spoken(written)} is written in place while {seen} may share its memory",
        stmt.origin.place,
        f"The write may be seen through {seen}, and which of its entries is not known before "
        f"the program runs. Copy one of them where they part, as in `{name} = {name}.copy()`.",
    )


def _spoken(node: str) -> str:
    if node.endswith("[*]"):
        return f"an element of `{_owner(node)}`"
    return f"`{node}`"


def _follow(name: str, aliases: Aliases, facts: Structure, sources: Sources) -> None:
    """Record `name` (and its bases) as paths as far as that is statically sound."""
    while name not in aliases.paths:
        definition = facts.single(name)
        if not isinstance(definition, ir.Assign) or definition.target != name:
            return
        view = definition.value
        bases = _base_names(view)
        if len(bases) != 1 or not _is_static_view(view, sources):
            return
        last = facts.last_use(name)
        if any(facts.rebound_between(n, definition, last) for n in sorted(ir.names_in(view))):
            return
        aliases.paths[name] = view
        (name,) = bases


def _is_static_view(view: ir.Expr, sources: Sources) -> bool:
    match view:
        case ir.Var():
            return True
        case ir.Index(_, key):
            return surely_basic(key, sources.kind_of)
        case ir.Attribute(_, name):
            return name in ("T", "real", "imag", "mT")
        case ir.Call():
            return sources.view_of(view) == "view"
        case _:
            return False


def effects_of(function: ir.Function, facts: Structure, sources: Sources) -> Effects:
    """Which parameters a function may write, and which its result may share memory with."""
    flow = _Flow(facts, sources)
    flow.block(function.body, frozenset())
    classes = _classes(flow.edges)
    written = {classes.get(n, n) for n in flow.direct}
    result = function.body[-1] if function.body else None
    returned: set[str] = set()
    if isinstance(result, ir.Return) and result.value is not None:
        shared = sources.nodes(result.value) | sources.elements(result.value)
        returned = {classes.get(n, n) for n in shared}

    def touching(found: set[str]) -> frozenset[str]:
        params = function.param_names
        return frozenset(
            p for p in params if any(classes.get(n, n) in found for n in (p, element(p)))
        )

    return Effects(touching(written), touching(returned))
