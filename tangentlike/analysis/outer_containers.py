"""Which lists and dicts of the module, or of an enclosing function, a name may stand for or hold.

    LOG, GROUPS = [], {}

    def remember(x):                def group(x, k):
        log = LOG                       GROUPS[k].append(x)
        log.append(x)

Both put what they are given into something that outlives the call. An array shares its memory with
its views; a container is one thing, and what is written is either it or something that it holds,
so that both are followed apart: `out = [LOG]` may be appended to, `out[0]` may not.
"""

from __future__ import annotations

import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ir
from ..runtime.records import attribute_of
from .memory import Sources, base_names
from .operations import MUTATING_METHODS, operands, written_position
from .outer_arrays import is_outer_array, live

Found = Mapping[int, ir.Ref]  # containers by their id
_CHANGING = (list, dict, deque, MutableSet)
_COPYING = (list, tuple, dict, sorted, reversed, zip, enumerate, map, filter, set)
_TAKING = ("get", "pop", "popitem", "popleft", "setdefault")
_GATHERING = ("values", "items", "copy")
_COLLECTIONS = ("list", "tuple", "dict")
_DEPTH = 4
_MOST_ITEMS = 1000


@dataclass(frozen=True)
class Boxes:
    """The outer containers that a value may be, and those that it may hold."""

    itself: Found = field(default_factory=dict)
    inside: Found = field(default_factory=dict)

    def __or__(self, other: Boxes) -> Boxes:
        return Boxes({**self.itself, **other.itself}, {**self.inside, **other.inside})

    @property
    def whole(self) -> Found:
        return {**self.itself, **self.inside}

    @property
    def item(self) -> Boxes:
        """An item: one of those inside, or one that is put there later."""
        open_ones = {key: ref for key, ref in self.itself.items() if _may_hold_others(ref.obj)}
        found = {**self.inside, **open_ones}
        return Boxes(found, found)


NONE = Boxes()


@dataclass
class OuterContainers:
    """What the names of a function may be. `given_back` says that of what a user's function
    returns."""

    sources: Sources
    given_back: Callable[[ir.Call], Boxes]
    names: dict[str, Boxes] = field(default_factory=dict)

    def follow(self, function: ir.Function) -> OuterContainers:
        """Go through the statements until nothing new is found."""
        changed = True
        while changed:
            changed = False
            for stmt in ir.statements(function.body):
                for name, value in self._bound(stmt):
                    known = self.names.get(name, NONE)
                    new = known | value
                    if new.itself.keys() != known.itself.keys():
                        changed = True
                    if new.inside.keys() != known.inside.keys():
                        changed = True
                    self.names[name] = new
        return self

    def _bound(self, stmt: ir.Stmt) -> Iterator[tuple[str, Boxes]]:
        """Names that a statement binds, or puts something into, and what it is."""
        match stmt:
            case ir.Assign(target=str(name), value=value):
                yield name, self.of(value)
            case ir.Assign(target=target, value=value) | ir.For(target=target, iter=value):
                item = self.of(value).item
                yield from ((name, item | item.item) for name in ir.target_names((target,)))
            case ir.Store(target=target, value=value):
                held = Boxes({}, self.of(value).whole)
                yield from ((base, held) for base in base_names(target))
        match getattr(stmt, "value", None):
            case ir.Call(fn=ir.Attribute(ir.Var(base), method)) as call:
                if method in MUTATING_METHODS:
                    yield base, Boxes({}, self._all(_given(call)).whole)
            case ir.Call() as call:
                for base, value in self.sources.kept(call):
                    yield base, Boxes({}, self.of(value).whole)

    def of(self, expr: ir.Expr) -> Boxes:
        """The outer containers that a value may be or hold."""
        known = live(expr)
        if known is not None:
            inside = dict(_boxes_in(known, _DEPTH))
            return Boxes({id(known.obj): known} if is_box(known.obj) else {}, inside)
        match expr:
            case ir.Var(name):
                return self.names.get(name, NONE)
            case ir.Index(base, ir.Slice()):
                return Boxes({}, self.of(base).item.whole)  # (a list of the same items)
            case ir.Index(base, _) | ir.Attribute(base, _):
                return self.of(base).item
            case ir.Call():
                return self._result(expr)
            case ir.Display():
                return Boxes({}, self._all(ir.children(expr)).whole)
            case ir.Lazy():
                return self._all(ir.children(expr))
            case ir.Opaque():
                found = self._all(ir.children(expr))
                collected = self.sources.kind_of(expr).form in _COLLECTIONS
                return Boxes({}, found.whole) if collected else found
            case _:
                return NONE

    def _result(self, call: ir.Call) -> Boxes:
        sources = self.sources
        match call.fn:
            case ir.Attribute(base, method) if method in _TAKING:
                return self.of(base).item | self._all(_given(call))
            case ir.Attribute(base, method) if method in _GATHERING:
                return Boxes({}, self.of(base).item.whole)
            case ir.Ref(obj=obj) if any(obj is known for known in _COPYING):
                return Boxes({}, self._all(_given(call)).whole)
        if sources.view_of(call) == "no" or not sources.holds_memory(call):
            return NONE
        return self._all(sources.shared_by(call)) | self.given_back(call)

    def _all(self, exprs: Iterable[ir.Expr]) -> Boxes:
        found = NONE
        for expr in exprs:
            found |= self.of(expr)
        return found

    def changed_by(self, stmt: ir.Stmt) -> Found:
        """The outer containers that a statement puts something into."""
        found: dict[int, ir.Ref] = {}
        for target in _changed_places(stmt, self.sources):
            found |= self.of(target).itself
        for call in _calls(stmt):
            effects = self.sources.effects(call) if isinstance(call.fn, ir.Ref) else None
            if effects is not None:
                actuals = self.sources.bind(call)
                for formal in sorted(effects.written & actuals.keys()):
                    found |= self.of(actuals[formal]).whole
        return found


def put_names(stmt: ir.Stmt, sources: Sources, book: Any) -> set[str]:
    """The names whose values, and not only shapes, a statement may put into a container."""
    match stmt:
        case ir.Store(value=value) | ir.Update(value=value):
            given: tuple[ir.Expr, ...] = (value,)
        case _:
            given = tuple(part for call in _calls(stmt) for part in _given(call))
    return {name for part in given for name in operands(part, sources.kinds, book)}


def _calls(stmt: ir.Stmt) -> tuple[ir.Call, ...]:
    value = getattr(stmt, "value", None)
    return (value,) if isinstance(value, ir.Call) else ()


def _given(call: ir.Call) -> tuple[ir.Expr, ...]:
    return ir.arguments(call)


def _changed_places(stmt: ir.Stmt, sources: Sources) -> Iterator[ir.Expr]:
    """What a statement changes that may be a container."""
    match stmt:
        case ir.Store(target=ir.Index(base, _)) | ir.Update(target=ir.Index(base, _)):
            yield base
        case ir.Update(target=ir.Attribute(base, _)):
            yield base
        case ir.Update(target=ir.Var() as target, value=value):
            if "list" in (sources.kind_of(target).form, sources.kind_of(value).form):
                yield target
    for call in _calls(stmt):
        match call.fn:
            case ir.Attribute(base, method) if method in MUTATING_METHODS:
                yield base
            case ir.Ref(obj=obj) if written_position(obj) is not None and call.args:
                yield call.args[0]


def is_box(obj: Any) -> bool:
    """Whether something can be put into an object: a container, or an instance with attributes."""
    if isinstance(obj, _CHANGING):
        return True
    called = isinstance(attribute_of(type(obj), "__call__", None), types.FunctionType)
    code = isinstance(obj, (type, types.ModuleType)) or (callable(obj) and not called)
    code = code or is_outer_array(obj)
    return not code and isinstance(attribute_of(obj, "__dict__", None), dict)


def _may_hold_others(obj: Any) -> bool:
    """Whether a container may be given items that are containers, by what it holds now."""
    items = [item for _, item in _items(obj)]
    return not items or isinstance(obj, defaultdict) or any(map(is_box, items))


def _boxes_in(known: ir.Ref, depth: int) -> Iterator[tuple[int, ir.Ref]]:
    """The containers within an outer object."""
    for text, item in _items(known.obj) if depth else ():
        ref = ir.Ref(f"{known.text}{text}", item)
        if is_box(item):
            yield id(item), ref
        yield from _boxes_in(ref, depth - 1)


def _items(obj: Any) -> list[tuple[str, Any]]:
    if isinstance(obj, dict):
        pairs = [(f"[{key!r}]", value) for key, value in obj.items()]
    elif isinstance(obj, (list, tuple, deque)):
        pairs = [(f"[{k}]", value) for k, value in enumerate(obj)]
    elif isinstance(obj, np.ndarray) and obj.dtype.kind == "O":
        pairs = [(f"{list(k)}", value) for k, value in np.ndenumerate(obj)]
    elif is_box(obj) and not isinstance(obj, _CHANGING):
        pairs = [(f".{name}", value) for name, value in vars(obj).items()]
    else:
        pairs = []
    return pairs[:_MOST_ITEMS]
