"""Which names may share memory, and what that means for a program that writes in place.

Reverse and forward mode treat every name as a *value* of its own. That is right exactly as long
as no write through one name is seen through another that is read later. `analyse_aliases`
follows, flow-sensitively, the pairs of live names that may share memory (so a swap of two
buffers, or a view read before the next write, is seen to be harmless). Where a write *is* seen
through another name, the one that was made as a view (`row = A[i]`) becomes a **path**: its
adjoint is the same view of the base's adjoint buffer. What this does not cover is refused, and
then differentiated with adjoints by identity.

`classes` (flow-insensitive) says which names' contents a write may change: what the reverse
sweep must restore.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from .. import ir, runtime
from ..errors import not_by_names
from .memory import (
    OVERLAPPING,
    READ_ONLY,
    VIEW_ATTRIBUTES,
    Effects,
    Sources,
    base_names,
    element,
    surely_basic,
)
from .operations import rule_object
from .sharing import Sharing, assigned_field, container_stores, owner
from .structure import Structure

SHARED = "(shared)"  # stands for all adjoints that are found by identity


def rebased(view: ir.Expr, base: ir.Expr) -> ir.Expr:
    """The same view of another array: `row = m[i].T` rebased on `m_bar` is `m_bar[i].T`."""
    match view:
        case ir.Var():
            return base
        case ir.Index(inner, key):
            return ir.Index(rebased(inner, base), key)
        case ir.Attribute(inner, name):
            return ir.Attribute(rebased(inner, base), name)
        case ir.Call(fn=ir.Attribute() as fn):
            return ir.Call(rebased(fn, base), view.args, view.kwargs)
        case ir.Call(fn=ir.Ref(obj=runtime.mirrored_view), args=(first, *_)):
            return rebased(first, base)  # (it gives its first argument back)
        case ir.Call(args=(first, *rest)):
            return ir.Call(view.fn, (rebased(first, base), *rest), view.kwargs)
        case _:
            return view


@dataclass
class Aliases:
    """`classes`: name -> representative; `written`: representatives of classes somebody writes;
    `direct`: names written through; `paths`: name -> the view it is, of another name;
    `resized`: representatives of classes that may hold lists whose length changes; `found`:
    names of what has its adjoint found by identity; `built`: names of new arrays that are written
    before anything else refers to them, and never again: nobody sees their content change but who
    reads it by this name, so it counts as a class of its own."""

    classes: dict[str, str] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    direct: frozenset[str] = frozenset()
    paths: dict[str, ir.Expr] = field(default_factory=dict)
    resized: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    built: frozenset[str] = frozenset()

    def class_of(self, name: str) -> str:
        return self.classes.get(name, name)

    def is_written(self, name: str) -> bool:
        """Whether the content behind a name may change after the name was bound."""
        return bool(self.contents(name))

    def is_resized(self, name: str) -> bool:
        """Whether a name may be a list whose length changes after the name was bound."""
        return self.class_of(name) in self.resized

    def contents(self, name: str) -> tuple[str, ...]:
        """The written classes that hold what is behind a name and, for a container, in it."""
        found = dict.fromkeys((self.content_of(name), self.content_of(element(name))))
        return tuple(c for c in found if c in self.written)

    def content_of(self, name: str) -> str:
        """The class of what changes when the content behind a name does."""
        return _alone(name) if name in self.built else self.class_of(name)

    def may_be_restored(self, name: str) -> bool:
        """Whether undoing writes may change what is behind a name, whenever it was bound."""
        built = {self.class_of(other) for other in self.built}
        return self.is_written(name) or not built.isdisjoint(
            (self.class_of(name), self.class_of(element(name)))
        )

    def through(self, name: str) -> ir.Expr:
        """A name as a view of its root: `row` is `m[i]` where that is its path."""
        if name not in self.paths:
            return ir.Var(name)
        view = self.paths[name]
        (base,) = base_names(view)
        return rebased(view, self.through(base))

    def root(self, name: str) -> str:
        """The name whose adjoint buffer serves `name` (itself unless it is a path); one for all
        whose adjoints are found by identity."""
        while name in self.paths:
            (name,) = base_names(self.paths[name])
        return SHARED if name in self.found else name

    def has_variable(self, name: str) -> bool:
        """Whether the adjoint of `name` is a variable of its own, not a view of another."""
        return name not in self.paths and name not in self.found


def analyse_aliases(sharing: Sharing) -> Aliases:
    """Alias classes, written classes and paths; refuses sharing that is not understood."""
    aliases = Aliases(sharing.classes, direct=frozenset(sharing.direct))
    aliases.built = _built(sharing, aliases)
    aliases.written = frozenset(map(aliases.content_of, sharing.direct))
    kind_of = sharing.sources.kind_of
    lists = (n for n in sharing.resized if kind_of(ir.Var(owner(n))).form != "array")
    aliases.resized = frozenset(aliases.class_of(name) for name in lists)
    for (written, other), stmt in sharing.conflicts.items():
        if not _only_unseen(stmt, sharing.sources):
            _resolve(written, other, stmt, aliases, sharing)
    return aliases


def _alone(name: str) -> str:
    return f"{name} alone"


def _built(sharing: Sharing, aliases: Aliases) -> frozenset[str]:
    """The names of arrays that are complete before anything else refers to them.

    `new` in this loop; not `u`, which later rounds read under another name than it is written::

        for _ in range(n):
            new = np.zeros_like(u)
            new[1:-1] = 0.5 * (u[2:] + u[:-2])
            new[0] = 1.0
            u = new
    """
    built = {node for node in sharing.direct if _is_built(node, sharing)}
    others = {aliases.class_of(node) for node in sharing.direct.keys() - built}
    return frozenset(name for name in built if aliases.class_of(name) not in others)


def _is_built(node: str, sharing: Sharing) -> bool:
    """Whether all that writes an array of this name comes before what refers to it."""
    facts, index = sharing.facts, sharing.facts.index
    made = facts.single(node)
    if owner(node) != node or not isinstance(made, ir.Assign) or made.target != node:
        return False
    form = sharing.sources.kind_of(ir.Var(node)).form
    if form != "array" and not (form == "value" and node in sharing.indexed):
        return False
    if sharing.sources.nodes(made.value) | sharing.sources.elements(made.value):
        return False
    left = set(sharing.direct[node])
    joined = sharing.joined.get(node, set())
    for stmt in index.following(made):
        inside = range(facts.number(stmt), index.ends[facts.number(stmt)])
        if not joined.isdisjoint(inside):
            break
        if any(_may_hand_on(inner, node, sharing.sources) for inner in ir.statements((stmt,))):
            break
        left.difference_update(inside)
    return not left


def _may_hand_on(stmt: ir.Stmt, name: str, sources: Sources) -> bool:
    """Whether a statement may make what no name of the function stands for refer to an array."""
    if name not in ir.reads(stmt):
        return False
    match stmt:
        case ir.Do():
            return name not in sources.written(stmt)
        case ir.Store(target=target, value=value) if not base_names(target):
            return name in sources.nodes(value) | sources.elements(value)
        case ir.Assign() | ir.Store() | ir.Update() | ir.If() | ir.For() | ir.While():
            calls = (e for v in ir.expressions(stmt) for e in ir.walk(v) if isinstance(e, ir.Call))
            return any(name in ir.names_in(call) and sources.may_hide(call) for call in calls)
    return not isinstance(stmt, ir.Return)


def _only_unseen(stmt: ir.Stmt, sources: Sources) -> bool:
    """Whether nothing but calls of unknown functions, within a function that a statement calls, may
    write: what they are given has no adjoint, and is saved with all that it holds."""
    value = getattr(stmt, "value", None)
    called = isinstance(value, ir.Call) and isinstance(value.fn, ir.Ref)
    return called and not replace(sources, idle=frozenset()).written(stmt)


def _resolve(written: str, other: str, stmt: ir.Stmt, aliases: Aliases, sharing: Sharing) -> None:
    """Make the views among two sharing names paths of their common base, or refuse."""
    if written == other or _updates_item(stmt, sharing.sources):
        raise not_by_names(stmt.origin.place)  # (two elements may be the same array)
    owners = (owner(written), owner(other))
    for name in owners:
        _follow(name, aliases, sharing)
    if aliases.root(owners[0]) != aliases.root(owners[1]):
        raise not_by_names(stmt.origin.place)
    # (else an item of `a` is the same view of `a_bar`, be `a` an array or a list)


def _updates_item(stmt: ir.Stmt, sources: Sources) -> bool:
    """Whether it is `xs[k] += v` of a list or dict: by names another item takes the place of the
    one there, so that who has that under another name would see nothing of the change."""
    match stmt:
        case ir.Update(target=ir.Index(base)):
            return sources.kind_of(base).form in ("list", "tuple", "dict")
    return False


def _follow(name: str, aliases: Aliases, sharing: Sharing) -> None:
    """Record `name` (and its bases) as paths as far as that is statically sound."""
    while name not in aliases.paths:
        view = _static_view(name, sharing)
        if view is None:
            return
        (base,) = base_names(view)
        aliases.paths[name] = view
        name = base


def _static_view(name: str, sharing: Sharing) -> ir.Expr | None:
    """The expression that a name is a view by, wherever the name is used."""
    facts = sharing.facts
    definition = facts.single(name)
    if not isinstance(definition, ir.Assign) or definition.target != name:
        return None
    home = facts.home[name]
    if facts.block_of(definition) != home or name in facts.live_in(home):
        return None
    view = definition.value
    if len(base_names(view)) != 1 or not _is_view(view, name, sharing):
        return None
    if isinstance(view, ir.Index | ir.Attribute) and base_names(view) & sharing.repeating:
        return None  # (another item may be the same array, and its adjoint is that of both)
    if name in sharing.direct and _makes_list(view, sharing.sources):
        return None  # (an item that is replaced is not a view any more)
    last = _end_of_views(name, definition, sharing)
    if any(facts.rebound_between(n, definition, last) for n in sorted(ir.names_in(view))):
        return None
    if isinstance(view, ir.Attribute) and _assigned_between(view.name, definition, last, sharing):
        return None
    if isinstance(view, ir.Index) and _replaced_between(name, view, definition, last, sharing):
        return None
    return view


def _replaced_between(
    name: str, item: ir.Index, first: ir.Stmt, last: int, sharing: Sharing
) -> bool:
    """Whether an item of a list or dict may be replaced while the name that was read from it is
    used: `v = d[k]; d[k] = 2.0 * v; v[:] = x`. (What is put into `v` itself leaves `v` in `d`.)"""
    facts, sources = sharing.facts, sharing.sources
    if sources.kind_of(item.base).form not in ("list", "dict", "unknown"):
        return False
    start = facts.number(first)
    (base,) = base_names(item.base)
    same = {owner(n) for n, c in sharing.classes.items() if c == sharing.classes.get(base)}
    return any(
        container in (same | {base}) - {name} and not _adds_only(stmt, item.key)
        for stmt in ir.statements(facts.function.body)
        if start < facts.number(stmt) <= last
        for container, _ in container_stores(stmt, sources)
    )


def _adds_only(stmt: ir.Stmt, key: ir.Expr) -> bool:
    """Whether what a statement puts into a container leaves the item at `key` there."""
    match stmt, key:
        case ir.Do(value=ir.Call(fn=ir.Attribute(_, "append"))), _:
            return True
        case ir.Store(target=ir.Index(_, ir.Const(str() as other))), ir.Const(str() as own):
            return other != own
        case ir.Store(target=ir.Index(_, ir.Const(int() as other))), ir.Const(int() as own):
            return other != own and other >= 0 and own >= 0
    return False


def _assigned_between(field: str, first: ir.Stmt, last: int, sharing: Sharing) -> bool:
    """Whether an attribute of this name, of whatever object, is assigned while a name that was
    read from it is used."""
    facts = sharing.facts
    start = facts.number(first)
    return any(
        start < facts.number(stmt) <= last and field in _assigned(stmt, sharing.sources)
        for stmt in ir.statements(facts.function.body)
    )


def _assigned(stmt: ir.Stmt, sources: Sources) -> frozenset[str]:
    """The attributes that a statement assigns, be it in what it calls."""
    if assigned_field(stmt):
        return frozenset((assigned_field(stmt),))
    value = getattr(stmt, "value", None)
    effects = sources.effects(value) if isinstance(value, ir.Call) else None
    return frozenset() if effects is None else effects.assigned


def _makes_list(view: ir.Expr, sources: Sources) -> bool:
    """Whether an expression makes a list of views, as `np.split(a, 2)` does."""
    return isinstance(view, ir.Call) and sources.kind_of(view).form in ("list", "tuple")


def _end_of_views(name: str, definition: ir.Stmt, sharing: Sharing) -> int:
    """The number up to which `name` may be used, by itself or through what is a view of it."""
    facts = sharing.facts
    last, found, waiting = 0, {name}, [name]
    while waiting:
        seen = waiting.pop()
        last = max(last, facts.end_of_use(seen, definition))
        for stmt in facts.used_by.get(seen, ()):
            match stmt:
                case ir.Assign(target=str(view), value=value) if view not in found:
                    if seen in sharing.sources.nodes(value):
                        found.add(view)
                        waiting.append(view)
    return last


def _is_view(view: ir.Expr, name: str, sharing: Sharing) -> bool:
    sources = sharing.sources
    match view:
        case ir.Var():
            return True
        case ir.Index(base, ir.Slice()) if sources.kind_of(base).form in ("list", "tuple"):
            return False  # (a new list)
        case ir.Index(_, key):
            # An item that may be a number is not a view; what has items itself is none.
            form = sources.kind_of(ir.Var(name)).form
            indexed = name in sharing.indexed or form in ("array", "object")
            fixed = sources.kind_of(view.base).form == "tuple"  # (its items are never replaced)
            named = sources.kind_of(view.base).form == "dict"  # (whose items any key names)
            return (indexed or fixed) and (named or surely_basic(key, sources.kind_of))
        case ir.Attribute(base, attribute):
            is_view = _is_view_attribute(base, attribute, sources)
            return is_view or sources.kind_of(base).form == "object"
        case ir.Call() if rule_object(view, sources.kinds) in (*OVERLAPPING, *READ_ONLY):
            return False
        case ir.Call():
            return sources.view_of(view) == "view"
        case _:
            return False


def _is_view_attribute(base: ir.Expr, name: str, sources: Sources) -> bool:
    """Whether `a.T` is a view: `a.imag` of a real array is none, but zeros that are read-only."""
    complex_only = name == "imag" and sources.kind_of(base).dtype != "complex"
    return name in VIEW_ATTRIBUTES and not complex_only


def effects_of(function: ir.Function, facts: Structure, sources: Sources) -> Effects:
    """Which parameters a function may write, and which its result may share memory with."""
    unseen = _asking_unseen(function, sources)
    sharing = Sharing(facts, sources, function.param_names, unseen)
    result = function.body[-1] if function.body else None
    value = result.value if isinstance(result, ir.Return) else None
    single = isinstance(value, ir.Var) and value.name in function.param_names
    identity = value.name if isinstance(value, ir.Var) and single else ""
    if identity in facts.definitions:
        identity = ""
    assigned = (_assigned(stmt, sources) for stmt in ir.statements(function.body))
    every = frozenset().union(*assigned)
    writes, kept = frozenset(sharing.changed), _kept(function.param_names, sharing.classes)
    kept |= {(name, name) for name in sharing.filled_twice}  # (two items of it are one memory)
    kept = frozenset((container, held) for container, held in kept if container in writes)
    returned, inside = frozenset(sharing.given_back), frozenset(sharing.changed_inside)
    whole = frozenset(sharing.given_whole)
    rebound = _may_rebind(identity, function, sharing)
    known = (writes, returned, identity, sharing.repeated, every, kept, inside)
    return Effects(*known, frozenset(sharing.changed_unseen), whole, rebound)


def _asking_unseen(function: ir.Function, sources: Sources) -> Sources | None:
    """What says which parameters calls of unknown functions and methods may write as well, in a
    function that is given nothing with derivatives; None where it has no such calls."""
    calls = [getattr(stmt, "value", None) for stmt in ir.statements(function.body)]
    if not any(isinstance(call, ir.Call) and sources.may_hide(call) for call in calls):
        return None
    idle = frozenset(function.param_names).union(
        *(ir.reads(stmt) | frozenset(ir.binds(stmt)) for stmt in ir.statements(function.body))
    )
    return replace(sources, idle=idle)


def _may_rebind(name: str, function: ir.Function, sharing: Sharing) -> bool:
    """Whether `p += v` may bind a number to a new object: nothing tells that p is an array."""
    if name in sharing.indexed or sharing.sources.kind_of(ir.Var(name)).form not in _OPEN:
        return False
    return any(
        isinstance(stmt, ir.Update) and stmt.target == ir.Var(name)
        for stmt in ir.statements(function.body)
    )


_OPEN = ("unknown", "value")  # what may be a number or an array


def _kept(params: Iterable[str], classes: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """The pairs of parameters of which the first may come to hold (parts of) the second."""
    behind = {p: {classes.get(n, n) for n in (p, element(p))} for p in params}
    return frozenset(
        (p, q) for p, found in behind.items() for q in behind if p != q and found & behind[q]
    )
