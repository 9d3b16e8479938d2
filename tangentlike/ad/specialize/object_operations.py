"""Loops over objects, `sum` and `+=` of them, and `dataclasses.replace`, as the calls of methods
that Python makes.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import operator
import types
from collections.abc import Callable, Mapping

from ... import ir
from ...analysis.constructors import post_initialiser
from ...analysis.record_types import is_replace
from ...frontend.lower import Lowered
from ...ir.index import all_names
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from ...rules.index_kinds import element_kind
from ...runtime.records import attribute_of
from ..context import BINARY_OF
from .method_lookup import MethodLookup

# --------------------------------------------------------------------------------------------------
# Loops over objects whose class says by `__iter__` what they yield: the list of it.
#
# before::                         after::
#     for a in v:                      v_items = Vec_iter(v)
#         s = s + a                    for a in v_items:
#                                          s = s + a
#
# `Vec_iter` is `__iter__` with `list(...)` where it returns `iter(...)`. Of an object that yields
# in another way `list(v)` is taken for a loop: the sweep would ask its `__getitem__`, which may
# say something else. (Where it carries derivatives, such a list is refused.)

_TAKING = (
    *(builtins.list, builtins.tuple, builtins.sum, builtins.sorted, builtins.min, builtins.max),
    *(builtins.zip, builtins.enumerate, builtins.any, builtins.all),
)
_COMPARING = (builtins.min, builtins.max)


def objects_as_lists(
    lowered: Lowered,
    kinds: Mapping[str, Kind],
    kind: Callable[[ir.Expr], Kind],
    lookup: MethodLookup,
) -> Lowered:
    """The function with a list for each object that is gone through."""
    speller = _Speller(kinds, kind, lookup, Names(all_names(lowered.function)))
    body = speller.block(lowered.function.body)
    return lowered.with_body(body, speller.made) if speller.made else lowered


def _yields(kind: Kind, lookup: MethodLookup) -> bool:
    return kind.cls is not None and lookup.iteration(kind.cls) is not None


class _Speller(ir.Rewriter):
    def __init__(
        self,
        kinds: Mapping[str, Kind],
        kind: Callable[[ir.Expr], Kind],
        lookup: MethodLookup,
        names: Names,
    ) -> None:
        self.kinds = kinds
        self.kind = kind
        self.lookup = lookup
        self.names = names
        self.made: set[str] = set()

    def named(self, wanted: str) -> str:
        name = self.names.fresh(wanted)
        self.made.add(name)
        return name

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt] | None:
        before: list[ir.Stmt] = []
        match stmt:
            case ir.For():
                header = self.taken(stmt.iter, stmt.origin, before, loop=True, any_way=True)
                return [*before, dataclasses.replace(self.inside(stmt), iter=header)]
            case ir.Assign(target=tuple(), value=ir.Var() as value):
                items = self.items(value, stmt.origin, before)
                return [*before, dataclasses.replace(stmt, value=items)]
            case ir.Assign(target=tuple(), value=value) if _yields(self.kind(value), self.lookup):
                name = self.named("whole")
                again = dataclasses.replace(stmt, value=ir.Var(name))
                return [ir.Assign(name, value, stmt.origin), again]  # (next time it is a name)
            case ir.Assign(value=ir.Call() as call):
                taken = self.taken(call, stmt.origin, before)
                return [*before, dataclasses.replace(stmt, value=taken)] if before else [stmt]
        return None

    def taken(
        self,
        expr: ir.Expr,
        origin: ir.Origin,
        before: list[ir.Stmt],
        loop: bool = False,
        any_way: bool = False,
    ) -> ir.Expr:
        """An expression that goes through its arguments, or is gone through, with lists."""
        match expr:
            case ir.Var() if loop:
                return self.items(expr, origin, before, any_way)
            case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is known for known in _TAKING):
                if len(args) > 1 and any(obj is known for known in _COMPARING):
                    return expr  # (the arguments themselves)
                count = len(args) if obj is builtins.zip else 1
                items = tuple(
                    self.taken(arg, origin, before, True, any_way) for arg in args[:count]
                )
                items += args[count:]
                return expr if items == args else dataclasses.replace(expr, args=items)
        return expr

    def items(
        self, value: ir.Var, origin: ir.Origin, before: list[ir.Stmt], any_way: bool = False
    ) -> ir.Expr:
        kind = self.kinds.get(value.name, UNKNOWN)
        if _yields(kind, self.lookup):
            listed = ir.Call(ir.Attribute(value, "__iter__"), (), at=origin.place)
        elif any_way and isinstance(getattr(kind.cls, "__iter__", None), types.FunctionType):
            listed = ir.Call(ir.Ref("list", list), (value,), at=origin.place)
        else:
            return value
        name = self.named(f"{value.name}_items")
        before.append(ir.Assign(name, listed, origin))
        return ir.Var(name)


# --------------------------------------------------------------------------------------------------
# `sum` of objects, as the additions that it makes.
#
# before::                         after::
#     r = sum(vs, zero)                total = zero
#                                      for item in vs:
#                                          total = total + item
#                                      r = total
#
# Without a start it begins with `total = 0 + vs[0]`, which calls `__radd__` (the rest follows).

_PLUS = ir.Ref("+", operator.add)
_ZERO = ir.Const(0)


def sums_of_objects(lowered: Lowered, kind: Callable[[ir.Expr], Kind]) -> Lowered:
    """The function with a loop for each `sum` of objects of a known class."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def named(wanted: str) -> ir.Var:
        name = names.fresh(wanted)
        made.add(name)
        return ir.Var(name)

    def parts(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=builtins.sum)) as call):
                found = _items_and_start(call)
                if found is not None and _is_object(element_kind(kind(found[0]))):
                    return _loop(stmt, *found, named)
        return None

    body = ir.rewrite(lowered.function.body, parts)
    return lowered.with_body(body, made)


def _is_object(kind: Kind) -> bool:
    return kind.has_methods or bool(kind.among)


def _items_and_start(call: ir.Call) -> tuple[ir.Expr, ir.Expr] | None:
    match call:
        case ir.Call(args=(ir.Var() as items,), kwargs=()):
            return items, _ZERO
        case ir.Call(args=(ir.Var() as items, start), kwargs=()):
            return items, start
        case ir.Call(args=(ir.Var() as items,), kwargs=(("start", start),)):
            return items, start
    return None


def _loop(
    stmt: ir.Assign, items: ir.Expr, start: ir.Expr, named: Callable[[str], ir.Var]
) -> tuple[ir.Stmt, ...]:
    origin, place = stmt.origin, stmt.origin.place
    total, item = named("total"), named("item")
    before: tuple[ir.Stmt, ...] = (ir.Assign(total.name, start, origin),)
    if start == _ZERO:
        first, rest = named("first"), named("rest")
        before = (
            ir.Assign(first.name, ir.Index(items, _ZERO, place), origin),
            ir.Assign(rest.name, ir.Index(items, ir.Slice(ir.Const(1)), place), origin),
            ir.Assign(total.name, ir.Call(_PLUS, (_ZERO, first), at=place), origin),
        )
        items = rest
    added = ir.Assign(total.name, ir.Call(_PLUS, (total, item), at=place), origin)
    loop = ir.For(item.name, items, (added,), origin)
    return (*before, loop, dataclasses.replace(stmt, value=total))


# --------------------------------------------------------------------------------------------------
# `+=` of objects and of their items, as the methods that it calls.
#
# before::                         after::
#     a += b                           a = a.__iadd__(b)         (or `a = a + b`, without one)
#     c[k] += v                        item = c[k]
#                                      item += v
#                                      c[k] = item               (`__getitem__`, `__setitem__`)


def updates_as_methods(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function without updates of objects whose classes are known."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def class_of(expr: ir.Expr) -> type | None:
        kind = kinds.get(expr.name, UNKNOWN) if isinstance(expr, ir.Var) else UNKNOWN
        return kind.cls if kind.form == "object" else None

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Update(target=ir.Var() as target):
                call = updated(stmt, class_of(target))
                return [stmt] if call is None else [ir.Assign(target.name, call, stmt.origin)]
            case ir.Update(target=ir.Index(base) | ir.Attribute(base) as place):
                cls = class_of(base)
                if cls is not None and _is_code(cls, place):
                    item = names.fresh("item")
                    made.add(item)
                    return [
                        ir.Assign(item, place, stmt.origin),
                        dataclasses.replace(stmt, target=ir.Var(item)),
                        ir.Store(place, ir.Var(item), stmt.origin),
                    ]
        return None

    body = ir.rewrite(lowered.function.body, parts)
    return lowered.with_body(body, made)


def updated(stmt: ir.Update, cls: type | None) -> ir.Call | None:
    """The call that gives an object of a class after an update; None where it has no such
    method."""
    name, place = attribute_of(stmt.op.obj, "__name__", ""), stmt.origin.place
    if _method(cls, f"__{name}__"):
        return ir.Call(ir.Attribute(stmt.target, f"__{name}__"), (stmt.value,), at=place)
    if stmt.op.obj in BINARY_OF and _method(cls, f"__{name.removeprefix('i')}__"):
        text, op = BINARY_OF[stmt.op.obj]
        return ir.Call(ir.Ref(text, op), (stmt.target, stmt.value), at=place)
    return None


def _is_code(cls: type, place: ir.Index | ir.Attribute) -> bool:
    """Whether reading and writing an item or an attribute calls methods of the class."""
    if isinstance(place, ir.Index):
        return _method(cls, "__getitem__") and _method(cls, "__setitem__")
    return isinstance(inspect.getattr_static(cls, place.name, None), property)


def _method(cls: type | None, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), types.FunctionType)


# --------------------------------------------------------------------------------------------------
# `dataclasses.replace` of objects whose class has a `__post_init__`: the call that it makes.
#
# before::                                  after::
#     c = dataclasses.replace(p, x=v)           p_y = p.y
#                                               c = Circle(x=v, y=p_y)


def replaced_as_made(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with a call of the class for each such `replace`."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Assign(
                value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name) as base,)) as call
            ) if is_replace(obj) and post_initialiser(cls := kinds.get(name, UNKNOWN).cls):
                given = dict(call.kwargs)
                before: list[ir.Stmt] = []
                for field in (f.name for f in dataclasses.fields(cls) if f.init):  # type: ignore[arg-type]
                    if field not in given:
                        temporary = names.fresh(f"{name}_{field}")
                        made.add(temporary)
                        read = ir.Attribute(base, field, stmt.origin.place)
                        before.append(ir.Assign(temporary, read, stmt.origin))
                        given[field] = ir.Var(temporary)
                fn = ir.Ref(cls.__name__, cls)  # type: ignore[union-attr]
                again = dataclasses.replace(call, fn=fn, args=(), kwargs=tuple(given.items()))
                return [*before, dataclasses.replace(stmt, value=again)]
        return None

    body = ir.rewrite(lowered.function.body, parts)
    return lowered.with_body(body, made)
