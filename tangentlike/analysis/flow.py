"""How values flow between local names: the edges that activity follows.

`flow_edges` reads a function into a `Flow`: pairs (from, to) where `to` depends differentiably on
`from`, groups of names that may share memory, and which groups are written. It looks at no order
of statements: names are webs, so little is lost.

A container has two sides: what it *holds* (a node of its own, `name[*]`: writing
into `row` after `row = rows[0]` is seen through `rows`, and through whatever was put into
`rows`), and the container itself (`rows[0] = v` changes no array that was in `rows`). For an
array, and for anything not known to be a container, the two are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import ir, runtime
from ..frontend.operands import is_shape_query
from ..frontend.owners import is_numpy
from ..ir.kind import UNKNOWN, Kind
from .constructors import record_class
from .memory import GIVING_ANY, UNSEEN, Effects
from .operations import (
    PUTTING,
    bind_actuals,
    changes_its_object,
    is_constant,
    is_container_method,
    may_join_lists,
    operands,
    outputs,
    rule_object,
    written_position,
)
from .shifts import cancelled_extrema

EffectsOf = Callable[[ir.Call], "Effects | None"]
OUTSIDE = "<outside>"  # the node for objects that belong to the module, not to the function
MANAGED = "<managed>"  # the node for what context managers give: who made them knows it, too
ASKED = "<asked>"  # the node for what functions that are not known now are given
_WRITING = frozenset(["fill", "put", "sort", "partition", "itemset", "resize"])  # array methods


def writes_outside(stmt: ir.OpaqueStmt) -> bool:
    """Whether a statement is `name = value` for a name declared `global` or `nonlocal`."""
    return stmt.text.partition(" = ")[0].isidentifier()


@dataclass
class Flow:
    """Dependence edges, sharing groups, and the names somebody writes through."""

    successors: dict[str, list[str]] = field(default_factory=dict)
    predecessors: dict[str, list[str]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    written: dict[str, ir.Stmt] = field(default_factory=dict)
    written_groups: frozenset[str] = frozenset()  # known once the flow is closed
    sizes: dict[str, int] = field(default_factory=dict)  # names in a group, once closed

    def edge(self, source: str, target: str) -> None:
        self.successors.setdefault(source, []).append(target)
        self.predecessors.setdefault(target, []).append(source)

    def group(self, name: str) -> str:
        """The representative of the names that may share memory with `name`."""
        root = name
        while self.parents.get(root, root) != root:
            root = self.parents[root]
        while self.parents.get(name, name) != root:
            self.parents[name], name = root, self.parents.get(name, name)
        return root

    def share(self, a: str, b: str) -> None:
        first, second = self.group(a), self.group(b)
        if first != second:
            self.parents[second] = first

    def is_written(self, name: str) -> bool:
        """Whether the memory behind `name` may be written in place, under whatever name."""
        return self.group(name) in self.written_groups

    def is_alone(self, name: str) -> bool:
        """Whether no other name may share memory with `name`."""
        return self.sizes.get(self.group(name), 1) == 1

    def close(self) -> None:
        """Make every written group one value: a write under one name shows under all. (No name of
        it stands for all: any of them may turn out to be a number or a string.)"""
        self.written_groups = frozenset(self.group(name) for name in self.written)
        for name in dict.fromkeys((*self.parents, *self.parents.values())):
            root = self.group(name)
            self.sizes[root] = self.sizes.get(root, 0) + 1
            if root in self.written_groups:
                self.edge(name, f"{root}[memory]")
                self.edge(f"{root}[memory]", name)


def flow_edges(
    function: ir.Function,
    kinds: Mapping[str, Kind],
    book: Any,
    effects: EffectsOf | None = None,
) -> Flow:
    """The flow of a function; `effects` knows what a user's function writes and returns.

    >>> from ..frontend.lower import program
    >>> flow_edges(program("b = a; c = b"), {}, None).successors
    {'a': ['b'], 'b': ['c']}
    """
    reader = _Reader(kinds, book, effects, cancelled_extrema(function, kinds))
    for stmt in ir.statements(function.body):
        reader.statement(stmt)
    reader.flow.close()
    return reader.flow


@dataclass(eq=False)
class _Reader:
    kinds: Mapping[str, Kind]
    book: Any
    effects: EffectsOf | None
    cancelled: frozenset[str] = frozenset()
    flow: Flow = field(default_factory=Flow)

    # ------------------------------------------------------------------- statements

    def statement(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Assign(target=target, value=value):
                self._bind(target, value, stmt)
            case ir.Store(target=target, value=value):
                self._store(target.base, value, stmt)
            case ir.Update(target=ir.Index(base, _), value=value):
                self._write_items(base, value, stmt)
            case ir.Update(target=target, value=value):
                name = target if isinstance(target, ir.Var) else target.base
                self._store(name, value, stmt, whole=isinstance(target, ir.Var))
            case ir.Do(value=value):
                self._bind((), value, stmt)
            case ir.Enter(target=target, context=context) if target:
                self._depend((target,), context)
                self._depend((MANAGED,), ir.Var(target))
            case ir.OpaqueStmt(values=values) if writes_outside(stmt):
                for value in values:
                    self._depend((OUTSIDE,), value)
            case ir.For(target=target, iter=iterable):
                self._iterate(target, iterable, stmt)
            case _:
                pass

    def _store(self, base: ir.Expr, value: ir.Expr, stmt: ir.Stmt, whole: bool = False) -> None:
        """`base[...] = value`, `base.x = value`, or `base += value`."""
        if not ir.names_in(base):
            self._depend((OUTSIDE,), value)
        for name in sorted(ir.names_in(base)):
            if not whole or self._memory(name):
                self.flow.written.setdefault(name, stmt)
            self._depend((name,), value)
            if self._kind(name).form not in ("array", "value", "number"):
                for held in self.operands(value):
                    self._hold(name, held)

    def _write_items(self, base: ir.Expr, value: ir.Expr, stmt: ir.Stmt) -> None:
        """`xs[i] += value` writes into the item, if that is an array; it holds no new one."""
        if not ir.names_in(base):
            self._depend((OUTSIDE,), value)
        for name in sorted(ir.names_in(base)):
            self.flow.written.setdefault(name, stmt)
            self._depend((name,), value)
            inside, kind = self.inside(name), self._kind(name)
            held = kind.items or (kind.item,)
            if inside != name and not all(k is not None and k.form == "number" for k in held):
                self.flow.written.setdefault(inside, stmt)
                self._depend((inside,), value)
                self.flow.edge(name, inside)

    def _hold(self, container: str, value: str) -> None:
        """`value` is reachable through `container` from now on."""
        if self._memory(value):
            self.flow.share(self.inside(container), value)
            self.flow.share(self.inside(container), self.inside(value))
            self._link(container)

    def _link(self, container: str) -> None:
        """What is written inside a container is written in it."""
        inside = self.inside(container)
        if inside != container:
            self.flow.edge(inside, container)

    def _bind(self, target: ir.Target, value: ir.Expr, stmt: ir.Stmt) -> None:
        if isinstance(target, tuple) and self._is_dict(value):
            return  # what is unpacked are keys
        names = ir.target_names(target)
        if not self.cancelled.issuperset(names):
            self._depend(names, value)
        self._share(target, value)
        if isinstance(value, ir.Call):
            self._effects(value, stmt)

    def _depend(self, names: Iterable[str], value: ir.Expr) -> None:
        sources = self.sources(value)
        for name in names:
            for source in sources:
                self.flow.edge(source, name)

    def _iterate(self, target: ir.Target, iterable: ir.Expr, stmt: ir.Stmt) -> None:
        if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
            obj, args = iterable.fn.obj, iterable.args
            if obj is range:
                return
            if obj is enumerate and isinstance(target, tuple) and len(target) == 2:
                return self._iterate(target[1], args[0], stmt)
            if obj is zip and isinstance(target, tuple) and len(target) == len(args):
                for part, arg in zip(target, args, strict=True):
                    self._iterate(part, arg, stmt)
                return None
            if obj in (enumerate, zip, reversed):
                for arg in args:
                    self._iterate(target, arg, stmt)
                return None
        if self._is_dict(iterable):
            return None  # keys carry no derivative
        key = ir.Index(iterable, ir.Var("$any"))
        return self._bind(target, key, stmt)

    # ------------------------------------------------------------------ expressions

    def sources(self, expr: ir.Expr) -> tuple[str, ...]:
        """The names on which the value of an expression depends differentiably."""
        return tuple(n for n in self.operands(expr) if not self._kind(n).discrete)

    def operands(self, expr: ir.Expr) -> tuple[str, ...]:
        """The names whose value or memory may be in the value of an expression."""
        return operands(expr, self.kinds, self.book)

    def _union(self, exprs: Iterable[ir.Expr]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for e in exprs for name in self.operands(e)))

    def _sources(self, exprs: Iterable[ir.Expr]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for e in exprs for name in self.sources(e)))

    def _constant(self, expr: ir.Expr) -> bool:
        return is_constant(expr, self.kinds, self.book)

    # ---------------------------------------------------------------------- sharing

    def _is_dict(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Var) and self._kind(expr.name).form == "dict"

    def _kind(self, name: str) -> Kind:
        return self.kinds.get(name, UNKNOWN)

    def _memory(self, name: str) -> bool:
        """Whether a name may stand for something that can be written in place."""
        return self._kind(name).form not in ("number", "other")

    def inside(self, name: str) -> str:
        """The node for what a container holds; of anything else, the name itself."""
        return f"{name}[*]" if self._kind(name).form in ("list", "tuple", "dict") else name

    def _share(self, target: ir.Target, value: ir.Expr) -> None:
        """Record what the bound names may share memory with."""
        names = [n for n in ir.target_names(target) if self._memory(n)]
        match value:
            case ir.Var(other) if isinstance(target, str):
                for name in names:
                    if self._memory(other):
                        self.flow.share(name, other)
                        self.flow.share(self.inside(name), self.inside(other))
                        self._link(name)
            case ir.Var(other) | ir.Index(ir.Var(other), _) | ir.Attribute(ir.Var(other), _):
                self._part_of(names, other)
            case ir.Call():
                self._share_call(names, value, isinstance(target, tuple))
            case _:
                for name in names:
                    for operand in self.operands(value):
                        self._hold(name, operand)

    def _part_of(self, names: Iterable[str], whole: str) -> None:
        for name in names:
            if self._memory(whole):
                self._link(whole)
                self.flow.share(self.inside(whole), name)
                self.flow.share(self.inside(whole), self.inside(name))
                self._link(name)

    def _share_call(self, names: list[str], call: ir.Call, several: bool) -> None:
        for out in outputs(call, self.kinds):
            for operand in self.operands(out):
                self._part_of(names, operand)
        obj = rule_object(call, self.kinds)
        rule = self.book.find(obj) if self.book is not None and obj is not None else None
        if self._constant(call):
            return
        if is_container_method(call, self.kinds):
            assert isinstance(call.fn, ir.Attribute)
            for whole in sorted(ir.names_in(call.fn.base))[:1]:
                self._part_of(names, whole)
        elif rule is None:
            for name in names:
                for operand in self._returned(call, obj):
                    self._hold(name, operand)
                for operand in self._returned(call, obj, whole=not several):
                    if self.inside(name) != name and self.inside(operand) != operand:
                        self.flow.share(name, operand)
                    elif self.inside(name) != name:  # (a container that an object holds)
                        self._part_of((name,), operand)
            if names and self._repeats(call):
                for name in names[1:]:
                    self._hold(name, names[0])
                    self._hold(names[0], name)
        elif may_join_lists(call, self.kinds):
            for name in names:
                for operand in self.operands(call):
                    if self._kind(operand).form in ("unknown", "list", "tuple", "dict"):
                        self.flow.share(self.inside(name), self.inside(operand))
                        self._link(name)
        elif rule.view_of(call) != "no":
            bases = call.args[:1] or (call,)
            if isinstance(call.fn, ir.Attribute):
                bases = (call.fn.base,)
            elif obj in GIVING_ANY:
                bases = call.args
            for base in bases:
                for operand in self.operands(base):
                    self._part_of(names, operand)

    def _repeats(self, call: ir.Call) -> bool:
        """Whether two items of what a user's function returns may share memory."""
        effects = None if self.effects is None else self.effects(call)
        return effects is not None and effects.twice

    def _returned(self, call: ir.Call, obj: Any, whole: bool = False) -> tuple[str, ...]:
        """The names whose memory the result of a user's function may share; if `whole`, of what
        it may be itself."""
        effects = None if self.effects is None else self.effects(call)
        if effects is UNSEEN:
            return self._union(ir.arguments(call))
        actuals = None if effects is None else bind_actuals(obj, call)
        if effects is None or actuals is None:
            return self.operands(call)
        given = effects.whole if whole else effects.returned
        return self._union(e for f in sorted(given) for e in actuals.get(f, ()))

    # ---------------------------------------------------------------------- effects

    def _effects(self, call: ir.Call, stmt: ir.Stmt) -> None:
        """What a call writes besides its result."""
        for out in outputs(call, self.kinds):
            self._written(self.operands(out), self.sources(call), stmt)
        if isinstance(call.fn, ir.Attribute) and is_container_method(call, self.kinds):
            at = PUTTING.get(call.fn.name)
            if at is not None and len(call.args) > at:
                self._store(call.fn.base, call.args[at], stmt)
            if call.fn.name == "update":
                for _, value in call.kwargs:
                    self._store(call.fn.base, value, stmt)
            return
        if (
            isinstance(call.fn, ir.Attribute)
            and call.fn.name in _WRITING
            and changes_its_object(call, self.kinds)
        ):
            self._written(sorted(ir.names_in(call.fn.base)), self._sources(call.args), stmt)
            return
        obj = rule_object(call, self.kinds)
        if obj is runtime.Shadow.take or obj is runtime.Shadow.take_at:
            self._written(self.operands(call.args[0]), (), stmt)  # (it is taken away there)
            return
        known = obj is not None and self.book is not None and not self._constant(call)
        if written_position(obj) is not None and call.args:
            target = self.operands(call.args[0])
            self._written(target, self._sources(call.args[1:]), stmt)
            return
        if self._constant(call) or (known and self.book.find(obj) is not None):
            return
        if record_class(call) is not None:
            return
        if is_numpy(obj) or obj in (set, frozenset):
            return  # NumPy writes arguments in the functions above only
        self._user_call(call, obj, stmt)

    def _user_call(self, call: ir.Call, obj: Any, stmt: ir.Stmt) -> None:
        """A function without a rule may write its arguments, unless its source says which. One
        that only the run knows is refused then if it does (`runtime.functions`): it is asked by a
        derivative for what it is given, which counts as used by others."""
        effects = None if self.effects is None else self.effects(call)
        if isinstance(call.fn, ir.Var) and isinstance(stmt, ir.Assign):
            for source in self.sources(call):
                self.flow.edge(source, ASKED)
            if effects is UNSEEN:  # (what writes its own object, or gives that, is refused)
                given = ir.arguments(call)
                targets = self._union(given)
                self._written(targets, self._sources(given), stmt)
                for name in targets:
                    for other in targets:
                        self._hold(name, other)
            return
        actuals = None if effects is None else bind_actuals(obj, call)
        if effects is None or actuals is None:
            targets = self.operands(call)
        else:
            targets = self._union(e for f in sorted(effects.written) for e in actuals.get(f, ()))
        self._written(targets, self.sources(call), stmt)
        for container, held in () if effects is None else sorted(effects.kept):
            for name in self._union((actuals or {}).get(container, ())):
                for value in self._union((actuals or {}).get(held, ())):
                    self._hold(name, value)

    def _written(self, targets: Iterable[str], sources: Iterable[str], stmt: ir.Stmt) -> None:
        for target in targets:
            if not self._memory(target):
                continue
            for node in dict.fromkeys((target, self.inside(target))):
                self.flow.written.setdefault(node, stmt)
            for source in sources:  # (what a container holds may depend on what it held)
                if source != self.inside(target):
                    self.flow.edge(source, self.inside(target))
            if self.inside(target) != target:
                self.flow.edge(target, self.inside(target))
            self._link(target)


def computed_from(function: ir.Function, names: Iterable[str]) -> frozenset[str]:
    """These names and all that are computed from their values (not only from their shapes), with
    derivatives or without: `k = hash(x.tobytes())`."""
    found = set(names)
    before = 0
    while len(found) > before:
        before = len(found)
        for stmt in ir.statements(function.body):
            if any(_uses_one_of(expr, found) for expr in ir.expressions(stmt)):
                found.update(ir.binds(stmt))
    return frozenset(found)


def _uses_one_of(expr: ir.Expr, names: set[str]) -> bool:
    if ir.names_in(expr).isdisjoint(names) or is_shape_query(expr):
        return False
    inner = ir.children(expr)
    return not inner or any(_uses_one_of(part, names) for part in inner)
