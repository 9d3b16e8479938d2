"""Which live names may share memory at each statement: pairs, followed forward.

A write in place that may be seen through another live name is a *conflict*. A pair of a node
`xs[*]` with itself says that two items of `xs` may share memory, as in `[row] * 2`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, KeysView
from typing import Any

import numpy as np

from .. import ir
from ..ir.dataflow import Problem, solve
from ..rules.index_kinds import key_parts
from .memory import Sources, base_names, element, surely_basic
from .operations import MUTATING_METHODS, rule_object, written_position
from .structure import NameSets, Structure, entry_is_there

# --------------------------------------------------------------------------------------------------
# Pairs of nodes that may share memory, as a value: one row of partners for each node.
#
# Many views of one array make every two of them a pair. With the partners of a node as one mask,
# following the pairs through a program costs a few operations a statement and live node.


class Pairs:
    """A symmetric relation between nodes; operations give a new relation.

    >>> pairs = Pairs(NameSets()).linked("v", ["a"]).linked("w", ["a", "v"])
    >>> sorted(pairs.partners(["v"])), ("v", "w") in pairs, ("v", "v") in pairs
    (['a', 'w'], True, False)
    >>> sorted(pairs.without(["a"]).partners(["v"]))
    ['w']
    """

    def __init__(self, sets: NameSets, rows: dict[str, int] | None = None) -> None:
        self._sets = sets
        self._rows = {} if rows is None else rows  # no row is empty

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return self._sets.has(self._rows.get(pair[0], 0), pair[1])

    def __bool__(self) -> bool:
        return bool(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(frozenset(self._rows.items()))

    def __or__(self, other: Pairs) -> Pairs:
        rows = dict(self._rows)
        for node, partners in other._rows.items():
            rows[node] = rows.get(node, 0) | partners
        return Pairs(self._sets, rows)

    def partners(self, nodes: Iterable[str]) -> frozenset[str]:
        """Everything that is in a pair with one of the nodes."""
        found = 0
        for node in nodes:
            found |= self._rows.get(node, 0)
        return frozenset(self._sets.names(found))

    def linked(self, node: str, others: Iterable[str]) -> Pairs:
        """With a pair of a node and each of the others (which may be the node itself)."""
        rows, bit, partners = dict(self._rows), self._sets.mask((node,)), 0
        for other in others:
            partners |= self._sets.mask((other,))
            rows[other] = rows.get(other, 0) | bit
        if partners:
            rows[node] = rows.get(node, 0) | partners
        return Pairs(self._sets, rows)

    @property
    def nodes(self) -> KeysView[str]:
        """The nodes that are in some pair."""
        return self._rows.keys()

    def without(self, nodes: Collection[str]) -> Pairs:
        """The pairs in which none of some nodes is."""
        if self._rows.keys().isdisjoint(nodes):
            return self
        gone, rows = self._sets.mask(nodes), dict[str, int]()
        for node, row in self._rows.items():
            left = row & ~gone
            if left and node not in nodes:
                rows[node] = left
        return Pairs(self._sets, rows)


# --------------------------------------------------------------------------------------------------
# The names that may share memory at each statement.


class Sharing(Problem[Pairs]):
    """Forward flow of the pairs of live names that may share memory, run when made.

    `edges`: nodes that may ever share, by one step or several; `direct`: node written through
    -> where; `joined`: name -> where something else may come to share its memory; `conflicts`:
    (node written, live node that may see it) -> where. What is where is told by numbers of
    statements, or by the statements.
    """

    forward = True

    def __init__(
        self,
        facts: Structure,
        sources: Sources,
        watched: Iterable[str] = (),
        unseen: Sources | None = None,
    ) -> None:
        self.facts = facts
        self.sources = sources
        self.unseen = unseen  # what says more of what is written
        self._stores = functools.partial(container_stores, sources=sources)
        self._known: dict[tuple[Any, int], Any] = {}  # (nothing in it refers to this)
        self.edges: set[tuple[str, str]] = set()
        self.direct: dict[str, set[int]] = {}
        self.joined: dict[str, set[int]] = {}
        self._here = 0  # the number of the statement that is looked at
        self.indexed: set[str] = set()  # names that something is written into: no numbers
        self.resized: set[str] = set()  # of a list, the length may change, of an object the fields
        self.conflicts: dict[tuple[str, str], ir.Stmt] = {}
        self.repeated = False  # whether two items of the result may share memory
        self.repeating: set[str] = set()  # containers, two items of which may when one is read
        self.filled_twice: set[str] = set()  # parameters into which one memory is put twice
        self.changed: set[str] = set()  # parameters of which what was given is written
        self.changed_unseen: set[str] = set()  # the same by what `unseen` says is written
        self.changed_inside: set[str] = set()  # the same, not only by replacing what they hold
        self.given_back: set[str] = set()  # parameters with which the result may share memory
        self.given_whole: set[str] = set()  # the same, the result itself and not what it holds
        self._bits: dict[str, int] = {}  # node -> its owner, as a set
        self.bottom = self._given = Pairs(NameSets())
        for name in watched:
            for node in (name, element(name)):
                self._given = self._given.linked(node, (_as_given(node),))
        solve(facts.function, self, facts.index)

    @property
    def classes(self) -> dict[str, str]:
        """Node -> representative of everything that may ever share memory with it."""
        return classes_of(self.edges)

    def boundary(self, function: ir.Function) -> Pairs:
        return self._given

    def join(self, a: Pairs, b: Pairs) -> Pairs:
        return a | b

    def enter(self, stmt: ir.For | ir.Try, pairs: Pairs) -> Pairs:
        if isinstance(stmt, ir.Try):
            return pairs
        self._here = self.facts.number(stmt)
        items = ir.Const(None) if self._gives_keys(stmt.iter) else stmt.iter
        return self._bind((stmt.target,), items, pairs)

    def _of(self, ask: Callable[[Any], Any], node: Any) -> Any:
        """What the sources say of a statement or an expression, the same in each round."""
        known = self._known.get((ask, id(node)))
        if known is None:
            known = self._known[ask, id(node)] = node, ask(node)
        return known[1]

    def transfer(self, stmt: ir.Stmt, pairs: Pairs) -> Pairs:
        if ir.is_compound(stmt) or (not pairs and _makes_array(stmt)):
            return pairs
        self._here = self.facts.number(stmt)
        if isinstance(stmt, ir.Return) and stmt.value is not None:
            self.repeated |= self._repeats(stmt.value, pairs)
            whole = self.sources.nodes(stmt.value)
            shared = whole | self.sources.elements(stmt.value)
            self.given_whole |= {_param(n) for n in pairs.partners(whole) if _is_given(n)}
            self.given_back |= {_param(n) for n in pairs.partners(shared) if _is_given(n)}
        self.indexed |= self._indexed_by(stmt) | changed_by_method(stmt)
        if self.unseen is not None:
            seen_by = pairs.partners(self._of(self.unseen.written, stmt))
            self.changed_unseen |= {_param(n) for n in seen_by if _is_given(n)}
        for node in self._of(self.sources.written, stmt):
            self.direct.setdefault(node, set()).add(self._here)
            self._written(node, stmt, pairs)
            if (
                assigned_field(stmt)
                or self._may_add_key(stmt)
                or not (self._indexed_by(stmt) or isinstance(stmt, ir.Store | ir.Update))
            ):
                self.resized.add(node)
        if isinstance(stmt, ir.Assign):
            pairs = self._bind(stmt.target, stmt.value, pairs)
        elif isinstance(stmt, ir.Enter) and stmt.target:
            pairs = self._bind((stmt.target,), _all_given(stmt.context), pairs)
        pairs = self._stored(stmt, pairs)
        if not pairs:
            return pairs
        after, bits = self.facts.live.after[self.facts.number(stmt)], self._bits
        for node in pairs.nodes - bits.keys():
            bits[node] = -1 if _is_given(node) else self.facts.sets.mask((owner(node),))
        return pairs.without({n for n in pairs.nodes if not bits[n] & after and bits[n] >= 0})

    def _written(self, node: str, stmt: ir.Stmt, pairs: Pairs) -> None:
        """The live nodes that see a write, and the containers of which two items see it."""
        for other in sorted(pairs.partners((node,))):
            if _is_given(other):
                self.changed.add(_param(other))
                if not _replaces_item(node, other, stmt):
                    self.changed_inside.add(_param(other))
            elif self._is_seen(owner(other), stmt) and not self._are_apart(node, other, stmt):
                if owner(other) != owner(node):
                    self.conflicts.setdefault((node, other), stmt)
                if (other, other) in pairs:
                    self.conflicts.setdefault((other, other), stmt)

    def _is_seen(self, name: str, stmt: ir.Stmt) -> bool:
        """Whether what a statement writes may be looked at under a name afterwards."""
        facts = self.facts
        return facts.is_live_after(stmt, name) and facts.is_looked_into_after(stmt, name)

    def _are_apart(self, written: str, other: str, stmt: ir.Stmt) -> bool:
        """Whether what a statement changes is a list or dict itself, and `other` an array."""
        whole = written == owner(written) and other == owner(other)
        if not whole or self.sources.kind_of(ir.Var(other)).form not in _NUMERIC:
            return False
        changed = self.sources.kind_of(ir.Var(written)).form in ("list", "dict")
        return changed or _changes_list(stmt)

    def _may_add_key(self, stmt: ir.Stmt) -> bool:
        """Whether a store may give a dict a new key: `d[k] = v`."""
        match stmt:
            case ir.Store(target=ir.Index(base, key) as target):
                form = self.sources.kind_of(base).form
                if form == "dict":
                    return not entry_is_there(stmt, target, self.facts, self.sources)
                known = form in ("array", "list", "tuple", "value")
                return not (known or surely_basic(key, self.sources.kind_of))
        return False

    def _indexed_by(self, stmt: ir.Stmt) -> frozenset[str]:
        """The name whose items a statement writes: `a[k] = v`, `np.add.at(a, k, v)`."""
        match stmt:
            case ir.Store(target=target) | ir.Update(target=ir.Index() as target):
                return base_names(target)
            case ir.Do(value=ir.Call(args=(ir.Var(name), *_)) as call):
                if written_position(rule_object(call, self.sources.kinds)) is not None:
                    return frozenset((name,))
        return frozenset()

    def _gives_keys(self, iterable: ir.Expr) -> bool:
        """Whether a loop runs over the keys of a dict, which share no memory with its values."""
        match iterable:
            case ir.Call(ir.Ref(obj=obj), (inner,), ()) if obj in _RUNNING:
                return self._gives_keys(inner)
        return isinstance(iterable, ir.Var) and self.sources.kind_of(iterable).form == "dict"

    def _bind(self, target: ir.Target, value: ir.Expr, pairs: Pairs) -> Pairs:
        """New pairs for names bound to (items of) a value."""
        names = ir.target_names(target)
        bound = {n for name in names for n in (name, element(name))}
        twice = self._repeats(value, pairs)
        items = self._of(self.sources.elements, value)
        whole = self._of(self.sources.nodes, value) | (
            items if isinstance(target, tuple) else frozenset()
        )
        self.repeating.update(owner(n) for n in whole if n != owner(n) and (n, n) in pairs)
        held_twice = twice or _repeating(items, pairs)
        items |= pairs.partners(items)  # (the value may be the old `m`, as in `m = m.T`)
        whole |= pairs.partners(whole)
        known = isinstance(target, str)  # (of several names, one may share memory with another)
        if known:
            left = self._left_by(value, pairs)
            self.edges.update((n, node) for n in sorted(bound) for node in left)
            self._joined(left)
            items, whole = items - left, whole - left
        pairs = pairs.without(bound)
        for name in names:
            if self.sources.holds_memory(ir.Var(name)):
                pairs = self._join(name, whole - bound, pairs, known)
                if self.sources.kind_of(ir.Var(name)).form not in ("array", "value"):
                    pairs = self._join(element(name), items - bound, pairs, known)
                    if held_twice:
                        pairs = pairs.linked(element(name), (element(name),))
        if twice and isinstance(target, tuple):
            pairs = self._linked_items(target, pairs)
        return pairs

    def _left_by(self, value: ir.Expr, pairs: Pairs) -> frozenset[str]:
        """The items of `xs` in `v = xs.pop()`: what is taken out of a container shares no memory
        with what is left there, unless two of its items share some."""
        match value:
            case ir.Call(ir.Attribute(ir.Var(name) as base, "pop")):
                held = element(name)
                if (
                    self.sources.kind_of(base).form in ("list", "dict")
                    and (held, held) not in pairs
                ):
                    return frozenset((held,))
        return frozenset()

    def _repeats(self, value: ir.Expr, pairs: Pairs) -> bool:
        """Whether two items of a value may share memory."""
        if isinstance(value, ir.Var):
            held = element(value.name)
            return (held, held) in pairs
        items = (self._holding(item) for item in self._of(self.sources.items, value))
        return self._of(self.sources.repeats, value) or self._overlap(tuple(items), pairs)

    def _holding(self, nodes: frozenset[str]) -> frozenset[str]:
        """Without the items of a display of numbers that is read here only: `[0.0]` in `[0.0] * n`
        holds no memory."""
        return frozenset(n for n in nodes if n == owner(n) or not self._holds_nothing(owner(n)))

    def _holds_nothing(self, name: str) -> bool:
        made = self.facts.single(name)
        if not isinstance(made, ir.Assign) or not isinstance(made.value, ir.Display):
            return False
        read_once = len(self.facts.used_by.get(name, ())) == 1
        return read_once and not any(map(self.sources.holds_memory, made.value.items))

    def _linked_items(self, target: tuple[ir.Target, ...], pairs: Pairs) -> Pairs:
        """`x, y = pair(a)` where both items may be one array, or hold one."""
        names = [n for n in ir.target_names(target) if self.sources.holds_memory(ir.Var(n))]
        nodes: frozenset[str] = frozenset()
        for name in names:
            pairs = self._join(name, nodes, pairs)
            own = {name}
            if self.sources.kind_of(ir.Var(name)).form not in ("array", "value"):
                pairs = self._join(element(name), nodes, pairs)
                own.add(element(name))
            nodes |= own
        return pairs

    def _join(self, node: str, shared: frozenset[str], pairs: Pairs, known: bool = False) -> Pairs:
        """`node` may share memory with `shared`, and with what these share memory with (which is
        `known` where `shared` has it already)."""
        if not _is_given(node):
            self.edges.update((node, o) for o in shared if o != node and not _is_given(o))
        more = (shared if known else shared | pairs.partners(shared)) - {node}
        if more:
            self._joined(more | {node})
        return pairs.linked(node, more)

    def _joined(self, nodes: Iterable[str]) -> None:
        for name in map(owner, nodes):
            self.joined.setdefault(name, set()).add(self._here)

    def _overlap(self, items: tuple[frozenset[str], ...], pairs: Pairs) -> bool:
        """Whether two of the items may share memory."""
        seen: set[str] = set()
        for item in items:
            reached = item | pairs.partners(item)
            if reached & seen:
                return True
            seen |= reached
        return False

    def _stored(self, stmt: ir.Stmt, pairs: Pairs) -> Pairs:
        """A value put into a container stays reachable through it, by whatever name."""
        for container, values in self._of(self._stores, stmt):
            before = pairs  # (what is put there is put once, by however many names)
            reached = pairs.partners((container,))
            same = {owner(node) for node in reached}
            for held in (element(name) for name in sorted(same | {container})):
                there = before.partners((held,)) | {held}
                if self._overlap((there, values), before) or _repeating(values, before):
                    pairs = pairs.linked(held, (held,))
                    if not _is_by_slice(stmt):  # (as arrays are written)
                        self.filled_twice |= {_param(n) for n in reached if _is_given(n)}
                pairs = self._join(held, values, pairs)
        return pairs


def _all_given(context: ir.Expr) -> ir.Expr:
    """What a context manager may give: any part of what it was made from."""
    if isinstance(context, ir.Call):
        return ir.Display("tuple", ir.arguments(context))
    return context


def _is_by_slice(stmt: ir.Stmt) -> bool:
    """Whether a statement writes several items of one thing: `u[1:-1] = v`."""
    key = getattr(getattr(stmt, "target", None), "key", None)
    return key is not None and any(isinstance(part, ir.Slice) for part in key_parts(key))


def _repeating(nodes: frozenset[str], pairs: Pairs) -> bool:
    """Whether one of the nodes stands for items of which two may share memory."""
    return any((node, node) in pairs for node in nodes)


@ir.of_node
def _makes_array(stmt: ir.Stmt) -> bool:
    """Whether a statement binds a name to what a ufunc computes, which nothing else shares."""
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(ir.Ref(obj=np.ufunc() as ufunc), args, ())):
            return len(args) == ufunc.nin and not any(map(ir.is_starred, args))
    return False


_NUMERIC = ("array", "value", "number")
_RUNNING = (reversed, enumerate, list, sorted)
_GIVEN = " as given"  # ends the node of what a parameter referred to when the function was called


def _as_given(node: str) -> str:
    held = "[*]" if node.endswith("[*]") else ""
    return f"{owner(node)}{_GIVEN}{held}"


def _is_given(node: str) -> bool:
    return owner(node).endswith(_GIVEN)


def _param(node: str) -> str:
    return owner(node).removesuffix(_GIVEN)


def _replaces_item(written: str, given: str, stmt: ir.Stmt) -> bool:
    """Whether a statement that writes a parameter writes nothing that this holds, if it is a
    container: `p.w = v`, `p[k] = v`, `p.pop()`."""
    if isinstance(stmt, ir.Store) and isinstance(stmt.target, ir.Attribute):
        return True
    return written == owner(written) and given == owner(given)


def changed_by_method(stmt: ir.Stmt) -> frozenset[str]:
    """The name whose items a method changes: `xs.append(v)`, `v = xs.pop()`."""
    match stmt:
        case (
            ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), method)))
            | ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name), method)))
        ) if method in MUTATING_METHODS:
            return frozenset((name,))
    return frozenset()


def _changes_list(stmt: ir.Stmt) -> bool:
    """Whether a statement calls a method that surely changes a list: `xs.append(v)`."""
    match getattr(stmt, "value", None):
        case ir.Call(fn=ir.Attribute(ir.Var(), method)):
            return method in MUTATING_METHODS and not hasattr(np.ndarray, method)
    return False


def assigned_field(stmt: ir.Stmt) -> str:
    """The attribute that a statement assigns, or ''."""
    match stmt:
        case ir.Store(target=ir.Attribute(_, name)) | ir.Update(target=ir.Attribute(_, name)):
            return name
    return ""


def may_resize(stmt: ir.Stmt, sources: Sources) -> bool:
    """Whether a list, dict or set may have another length after a statement that writes it."""
    match stmt:
        case ir.Store(target=ir.Index(base, key)):
            form = sources.kind_of(base).form
            entry = form in ("array", "value", "tuple") or surely_basic(key, sources.kind_of)
            within = form in ("list", "unknown") and isinstance(key, ir.Slice)
            return within or form == "dict" or not entry
        case ir.Update(target=ir.Var() as name):
            return sources.kind_of(name).form not in ("array", "value", "number")
        case ir.Store() | ir.Update():
            return False
        case ir.Do(value=ir.Call(fn=ir.Attribute(_, "sort" | "reverse"))):
            return False
    return True


def owner(node: str) -> str:
    return node.removesuffix("[*]")


_TAKING_OUT = ("pop", "remove", "clear", "sort", "reverse")  # these put nothing in


_HOLDING = ("list", "tuple", "dict")


def container_stores(stmt: ir.Stmt, sources: Sources) -> list[tuple[str, frozenset[str]]]:
    """(container, what it now refers to) for `xs[i] = v`, `xs.append(v)`, `obj.w = v`, and for
    what a function that is called puts into its arguments."""
    found: list[tuple[str, tuple[ir.Expr, ...]]] = []
    match stmt:
        case ir.Store(target=target, value=value):
            found += [(base, (value,)) for base in sorted(base_names(target))]
        case ir.Update(target=target, value=value) if sources.kind_of(value).form in _HOLDING:
            found += [(base, (value,)) for base in sorted(base_names(target))]  # `xs += [v]`
        case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(base), method))) if (
            method in _TAKING_OUT
        ):  # `v = xs.pop()`
            found.append((base, ()))
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), method)) as call):
            if method in _TAKING_OUT:
                found.append((base, ()))
            elif method in MUTATING_METHODS:
                found.append((base, ir.arguments(call)))
        case ir.Do(value=ir.Call() as call) | ir.Assign(value=ir.Call() as call):
            found += [(base, (value,)) for base, value in sources.kept(call)]
            found += [(base, ()) for base in sources.changed(call)]
    return [
        (base, frozenset().union(*(sources.nodes(v) | sources.elements(v) for v in values)))
        for base, values in found
        if sources.kind_of(ir.Var(base)).form != "array"
    ]


def classes_of(edges: set[tuple[str, str]]) -> dict[str, str]:
    """Node -> representative of everything that edges lead to from it."""
    parent: dict[str, str] = {}

    def find(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for a, b in sorted(edges):
        parent[find(a)] = find(b)
    return {name: find(name) for name in sorted(parent)}
