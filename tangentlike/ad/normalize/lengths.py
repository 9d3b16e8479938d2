"""What a loop runs over, and what may change how long that is while it runs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable

from ... import ir
from ...analysis.memory import base_names, element
from ...analysis.sharing import Sharing, changed_by_method, may_resize, owner
from ...analysis.structure import Structure, structure
from ...ir.kind import INT, UNKNOWN
from ..context import Context
from ..loops import SIZED, by_position, is_call, rounds, sources_of


@dataclasses.dataclass
class Changes:
    """What the body of a loop may change, by whatever name."""

    function: ir.Function
    context: Context

    @functools.cached_property
    def facts(self) -> Structure:
        return structure(self.function)

    @functools.cached_property
    def classes(self) -> dict[str, str]:
        """What may share memory in the function."""
        return Sharing(self.facts, self.context.sources()).classes

    def among(self, names: Iterable[str], body: Iterable[ir.Stmt]) -> list[str]:
        """Those of the names whose memory some statements may write, as a whole or in part."""
        sources = self.context.sources()
        written = {node for stmt in body for node in sources.written(stmt)}
        if not written:
            return []
        changed = {self._class(n) for node in written for n in (node, owner(node))}
        return [n for n in names if any(self._class(e) in changed for e in self._reached(n))]

    def resized(self, loop: ir.For) -> list[str]:
        """The sequences that a loop runs over and that may have another length on the way."""
        fixed = (*SIZED, "dict", "set")
        names = [name for name in sources_of(loop.iter) if self.form(name) not in fixed]
        if not names:
            return []
        sources, items = self.context.sources(), _items_of(loop)
        resizing = [stmt for stmt in ir.statements(loop.body) if may_resize(stmt, sources)]
        if loop.origin.place.is_emitted:
            # (A derivative's text empties stacks, and none of its loops backwards runs over those.
            # What it changes by the name that a loop runs over is surely no stack.)
            itself = frozenset[str]().union(*map(_changed_itself, resizing))
            stacks = _gone_through_backwards(loop.iter) - itself
            names = [name for name in names if name not in stacks]
        resizing = [s for s in resizing if not _changed_itself(s) & items]
        return [
            name
            for name in names
            if self.among((name,), (s for s in resizing if not self._is_of_another(s, name)))
        ]

    def _is_of_another(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether a statement changes lists that are surely not the one of a name: both names have
        one value each, and one of the two is a list made for it."""
        changed = _changed_itself(stmt)
        if name in changed or not all(map(self._has_one_value, (name, *changed))):
            return False
        return bool(changed) and (self._is_made(name) or all(map(self._is_made, changed)))

    def _has_one_value(self, name: str) -> bool:
        return self._is_made(name) or self.facts.is_given(name)

    def _is_made(self, name: str) -> bool:
        match getattr(self.facts.single(name), "value", None):
            case ir.Display("list"):
                return True
            case ir.Index(base, ir.Slice()):
                return self.context.kind_of(base).form == "list"
        return False

    def form(self, name: str) -> str:
        return self.context.kind_of(ir.Var(name)).form

    def _class(self, node: str) -> str:
        return self.classes.get(node, node)

    def _reached(self, name: str) -> tuple[str, ...]:
        """The nodes of what a loop over a name asks (an object says by `__iter__` what it
        yields)."""
        return (name,) if self.form(name) == "list" else (name, element(name))


def _gone_through_backwards(iterable: ir.Expr) -> frozenset[str]:
    calls = (part for part in ir.walk(iterable) if is_call(part, reversed))
    return frozenset(name for call in calls for name in sources_of(call))


def _items_of(loop: ir.For) -> frozenset[str]:
    """The names of a loop's items, which are not what it runs over."""
    items, body = {*ir.target_names(loop.target)}, [*ir.statements(loop.body)]
    bound = ir.bindings(stmt for stmt in body if not isinstance(stmt, ir.Update))
    for stmt in body:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(other)) if other in items:
                items |= {name} if bound[name] == 1 else set()
    return frozenset(items)


def _changed_itself(stmt: ir.Stmt) -> frozenset[str]:
    """The name of what a statement changes: `v` in `v += [1.0]`, `v[k] = x`, `v.append(x)`."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            return base_names(target)
    return changed_by_method(stmt)


@dataclasses.dataclass
class _Asking:
    """A loop that asks before each item how long its lists are.

    before::                            after::
        for v in xs:                        index = 0
            xs.append(v * x)                while index < len(xs):
                                                v = xs[index]
                                                index = index + 1
                                                xs.append(v * x)
        for v in reversed(xs):              count = len(xs)
            xs.pop()                        for place in reversed(range(count)):
                                                if place < len(xs):
                                                    v = xs[place]
                                                    xs.pop()
                                                else:
                                                    break
    """

    loop: ir.For
    resized: list[str]
    context: Context
    before: list[ir.Stmt] = dataclasses.field(default_factory=list)
    items: list[tuple[ir.Expr, ir.Assign]] = dataclasses.field(default_factory=list)

    def statements(self, body: ir.Block) -> list[ir.Stmt]:
        target, iterable = self._header(self.loop.target, self.loop.iter)
        for there, item in reversed(self.items):
            body = (ir.If(there, (item, *body), (ir.Break(item.origin),), item.origin),)
        loop = dataclasses.replace(self.loop, target=target, iter=iterable, body=body)
        if not set(self.resized).intersection(sources_of(self.loop.iter)) - _gone_through_backwards(
            self.loop.iter
        ):
            return [*self.before, loop]
        return [*self.before, *by_position(loop, self.context.fresh("index", INT), body)]

    def _header(self, target: ir.Target, iterable: ir.Expr) -> tuple[ir.Target, ir.Expr]:
        """The header with lists made live, and places for the items of those gone through
        backwards."""
        match iterable:
            case ir.Var(name) if name in self.resized:
                return target, self._live(iterable)
            case ir.Call(args=(ir.Var(name) as whole,)) if (
                is_call(iterable, reversed) and name in self.resized
            ):
                return self._backwards(target, self._live(whole, ir.Const(True)))
            case ir.Call(args=(inner, *start)) if is_call(iterable, enumerate) and isinstance(
                target, tuple
            ):
                place, inner = self._header(target[1], inner)
                args = (inner, *start)
                return (target[0], place), dataclasses.replace(iterable, args=args)
            case ir.Call(args=parts) if is_call(iterable, zip) and isinstance(target, tuple):
                pairs = [self._header(t, part) for t, part in zip(target, parts, strict=True)]
                args = tuple(part for _, part in pairs)
                return tuple(t for t, _ in pairs), dataclasses.replace(iterable, args=args)
        return target, iterable

    def _live(self, whole: ir.Var, *backwards: ir.Expr) -> ir.Var:
        if self.context.kind_of(whole).form == "list":
            return whole
        live = ir.Call(self.context.helper("live_items"), (whole, *backwards))
        items = self.context.fresh(f"{whole.name}_items", UNKNOWN)
        self.before.append(ir.Assign(items, live, self.loop.origin))
        return ir.Var(items)

    def _backwards(self, target: ir.Target, whole: ir.Var) -> tuple[str, ir.Expr]:
        origin, size = self.loop.origin, ir.Call(ir.LEN, (whole,))
        count, place = (self.context.fresh(name, INT) for name in ("count", "place"))
        self.before.append(ir.Assign(count, size, origin))
        there = ir.Call(ir.LESS, (ir.Var(place), size))
        self.items.append((there, ir.Assign(target, ir.Index(whole, ir.Var(place)), origin)))
        return place, rounds(ir.Var(count))


def asks_its_length(
    loop: ir.For, resized: list[str], body: ir.Block, context: Context
) -> list[ir.Stmt]:
    """A loop that asks before each item how long its lists are (`_Asking`)."""
    return _Asking(loop, resized, context).statements(body)
