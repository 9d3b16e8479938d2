"""Loops over objects, `sum` and `+=` of them, and `dataclasses.replace`, as the calls of methods
that Python makes.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import operator
import types
from collections.abc import Callable, Mapping, Sequence

from ... import ir
from ...analysis.constructors import is_replace, post_initialiser
from ...analysis.kind_of import field_kind
from ...frontend.lower import Lowered, instead, lowered_again
from ...ir.facts import fact
from ...ir.index import all_names
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from ...rules.index_kinds import element_kind
from ...runtime import live_items
from ...runtime.records import attribute_of
from ..context import BINARY_OF, operation
from .decided_tests import with_own_names
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
# say something else. (Where it carries derivatives, such a list is refused.) So it is with what
# `reversed(v)` asks, by `__reversed__` or by places, and with the entries that `dict(v)` takes.

_TAKING = (
    *(builtins.list, builtins.tuple, builtins.sum, builtins.sorted, builtins.min, builtins.max),
    *(builtins.zip, builtins.enumerate, builtins.any, builtins.all, live_items),
)
_COMPARING = (builtins.min, builtins.max)
_OF_LISTS = ("extend", "extendleft")
_BACKWARDS = """
size = len(v)
items = []
for k in reversed(range(size)):
    item = v[k]
    items.append(item)
result = items"""
_ENTRIES = """
keys = v.keys()
items = {}
for k in keys:
    item = v[k]
    items[k] = item
result = items"""


def objects_as_lists(
    lowered: Lowered,
    kinds: Mapping[str, Kind],
    kind: Callable[[ir.Expr], Kind],
    lookup: MethodLookup,
) -> Lowered:
    """The function with a list for each object that is gone through."""
    normalizer = _Normalizer(kinds, kind, lookup, Names(all_names(lowered.function)))
    body = normalizer.block(lowered.function.body)
    return lowered.with_body(body, normalizer.made) if normalizer.made else lowered


def _yields(kind: Kind, lookup: MethodLookup) -> bool:
    return bool(kind.cls and kind.has_methods and lookup.iteration(kind.cls))


@dataclasses.dataclass(eq=False)
class _Normalizer(ir.Rewriter):
    kinds: Mapping[str, Kind]
    kind: Callable[[ir.Expr], Kind]
    lookup: MethodLookup
    names: Names
    made: set[str] = dataclasses.field(default_factory=set)

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
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                taken = self.given(call, stmt.origin, before)
                return [*before, ir.replaced(stmt, value=taken)] if before else [stmt]
        return None

    def given(self, call: ir.Call, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Expr:
        """A call that is given lists and dicts for what it goes through."""
        match call:
            case ir.Call(fn=ir.Ref(obj=builtins.dict), args=(ir.Var() as value,)):
                items = self.entries(value, origin, before)
            case ir.Call(fn=ir.Attribute(ir.Var() as base, method), args=(ir.Var() as value,)) if (
                method in (*_OF_LISTS, "update") and not self.kind(base).has_methods
            ):
                items = self.entries(value, origin, before) if method == "update" else value
                if items is value and _yields(self.kinds.get(value.name, UNKNOWN), self.lookup):
                    items = ir.Var(self.named(f"{value.name}_items"))
                    listed = ir.Call(ir.LIST, (value,), at=origin.place)
                    before.append(ir.Assign(items.name, listed, origin))
            case _:
                return self.taken(call, origin, before)
        return call if items is value else dataclasses.replace(call, args=(items,))

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
            case ir.Call(fn=ir.Ref(obj=builtins.reversed), args=(ir.Var() as value,)):
                turned = self.backwards(value, origin, before)
                if turned is None:
                    return expr
                return turned if loop else ir.Call(ir.Ref("iter", iter), (turned,), at=expr.at)
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
            listed = ir.Call(ir.LIST, (value,), at=origin.place)
        else:
            return value
        name = self.named(f"{value.name}_items")
        before.append(ir.Assign(name, listed, origin))
        return ir.Var(name)

    def backwards(self, value: ir.Var, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Expr | None:
        """The list of what `reversed(v)` yields, of an object."""
        cls = self.class_of(value)
        if cls is not None and self.lookup.iteration(cls, "__reversed__"):
            listed = ir.Call(ir.Attribute(value, "__reversed__"), (), at=origin.place)
            name = self.named(f"{value.name}_items")
            before.append(ir.Assign(name, listed, origin))
            return ir.Var(name)
        by_place = _method(cls, "__getitem__") and not hasattr(cls, "__reversed__")
        return self.collected(value, _BACKWARDS, origin, before) if by_place else None

    def entries(self, value: ir.Var, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Expr:
        """A dict with the entries of an object that has `keys`; of anything else itself."""
        cls = self.class_of(value)
        of_keys = _method(cls, "keys") and _method(cls, "__getitem__")
        return self.collected(value, _ENTRIES, origin, before) if of_keys else value

    def class_of(self, value: ir.Var) -> type | None:
        kind = self.kinds.get(value.name, UNKNOWN)
        return kind.cls if kind.has_methods else None

    def collected(
        self, value: ir.Var, text: str, origin: ir.Origin, before: list[ir.Stmt]
    ) -> ir.Expr:
        """What a text collects of an object, by a name of its own."""
        name = self.named(f"{value.name}_items")
        stmt = ir.Assign(name, value, origin)
        before += instead(stmt, text, self.names, self.made, "np", v=value)
        return ir.Var(name)


# --------------------------------------------------------------------------------------------------
# Fields and properties that are named like attributes of arrays: `gas.T` of an object, `gas.T = t`
# of anything. What carries no derivative where it is an array's, `box.size`, may stand inside of
# expressions; what may carry some is read in a statement of its own.

_NO_ARRAYS = frozenset(("T", "size", "ndim", "itemsize", "nbytes"))  # (which cannot be assigned)


def fields_marked(
    lowered: Lowered, kinds: Mapping[str, Kind], looked_up: frozenset[str] = frozenset()
) -> Lowered:
    """The function in which such fields cannot be taken for the attributes of arrays; those of the
    names `looked_up` may be properties where no class is known."""
    taken_out: list[str] = []
    meant = functools.partial(_meant, kinds, looked_up)

    def expr(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Call(fn=ir.Attribute() as method):
                return ir.rebuild(e, lambda p: ir.rebuild(p, expr) if p is method else expr(p))
            case ir.Attribute(base, name, at) if name in ir.OF_ARRAYS:
                asked = meant(base, name)
                if "field" in asked or ("property" in asked and name in ir.QUERIES):
                    taken_out.extend(ir.QUERIES & {name})
                    return ir.Attribute(base, ir.field_name(name), at)
        return ir.rebuild(e, expr)

    def whole(stmt: ir.Stmt) -> ir.Stmt | None:
        """A statement in which nothing but such an attribute is read."""
        match stmt:
            case ir.Assign(value=ir.Attribute(ir.Var() as base, name, at)) if (
                plain := ir.plain_name(name)
            ) in ir.OF_ARRAYS:
                asked = meant(base, plain)
                named = ir.field_name(plain) if "field" in asked else name
                named = plain if "property" in asked else named  # (the class tells what it does)
                if named == name:
                    return stmt
                return ir.replaced(stmt, value=ir.Attribute(base, named, at))
        return None

    def stored(stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Store(ir.Attribute(base, name, at)) | ir.Update(ir.Attribute(base, name, at)):
                asked = meant(base, name) if name in ir.OF_ARRAYS else ()
                if "field" in asked or "object" in asked or ("" in asked and name in _NO_ARRAYS):
                    return ir.replaced(stmt, target=ir.Attribute(base, ir.field_name(name), at))
        return stmt

    body = ir.rewrite(lowered.function.body, whole, expr, stored)
    if body is lowered.function.body:
        return lowered
    marked = dataclasses.replace(lowered, function=ir.with_body(lowered.function, body))
    return lowered_again(marked) if taken_out else marked


def _meant(
    kinds: Mapping[str, Kind], looked_up: frozenset[str], base: ir.Expr, name: str
) -> frozenset[str]:
    """What may be read by a name that arrays have (see `_meant_of`)."""
    kind = kinds.get(base.name, UNKNOWN) if isinstance(base, ir.Var) else UNKNOWN
    if name in looked_up and kind.is_open:
        return frozenset(("property",))
    return frozenset(_meant_of(one, name) for one in kind.among or (kind,))


def _meant_of(kind: Kind, name: str) -> str:
    """What is read of an object by a name that arrays have: a "field" that may carry derivatives,
    a "property", something "discrete", anything of an "object" of whatever class; "" where it is
    not known to be an object."""
    if kind.form != "object" and not (kind.form == "tuple" and (kind.names or kind.cls)):
        return ""
    held = inspect.getattr_static(kind.cls, name, None)
    if isinstance(held, (property, functools.cached_property)):
        return "property" if kind.has_methods else ""
    if name in ir.LIKE_ARRAYS:
        return "field"
    if callable(held) or field_kind(kind, name).discrete:
        return "discrete"
    return "field" if kind.cls is not None else "object"


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

_ZERO = ir.Const(0)
_ADDING = """
for item in rest:
    total = total + item
result = total"""
_SUM = f"total = start{_ADDING.replace('rest', 'items')}"
_SUM_OF_ALL = f"first = items[0]; rest = items[1:]; total = 0 + first{_ADDING}"


def sums_of_objects(lowered: Lowered, kind: Callable[[ir.Expr], Kind]) -> Lowered:
    """The function with a loop for each `sum` of objects of a known class."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=builtins.sum)) as call):
                found = _items_and_start(call)
                if found is not None and _is_object(element_kind(kind(found[0]))):
                    items, start = found
                    text = _SUM_OF_ALL if start == _ZERO else _SUM
                    return instead(stmt, text, names, made, "np", items=items, start=start)
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


# --------------------------------------------------------------------------------------------------
# `+=` of objects and of their items, as the methods that it calls.
#
# before::                         after::
#     a += b                           a = a.__iadd__(b)         (or `a = a + b`, without one)
#     c[k] += v                        item = c[k]
#                                      item += v
#                                      c[k] = item
#
# The second where `c` has `__getitem__` and `__setitem__`, or the item is such an object.


def updates_as_methods(lowered: Lowered, kind_of: Callable[[ir.Expr], Kind]) -> Lowered:
    """The function without updates of objects whose classes are known."""
    names = Names(all_names(lowered.function))
    made: set[str] = set()

    def class_of(expr: ir.Expr) -> type | None:
        kind = kind_of(expr)
        return kind.cls if kind.form == "object" else None

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Update(target=ir.Var() as target):
                call = updated(stmt, class_of(target))
                return [stmt] if call is None else [ir.Assign(target.name, call, stmt.origin)]
            case ir.Update(target=ir.Index(base) | ir.Attribute(base) as place):
                cls = class_of(base)
                reads = cls is not None and _is_code(cls, place)
                if reads or updated(stmt, class_of(place)) is not None:
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
        return operation(stmt)
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


# --------------------------------------------------------------------------------------------------
# Loops over names that are written out, or over a dict whose keys are known, in which attributes
# are asked for, or set, by these.
#
# before::                             after::
#     for k, v in options.items():         v = options["w"]
#         setattr(self, k, v)              self.w = v
#                                          v2 = options["b"]
#                                          self.b = v2


_BY_NAME = (setattr, getattr, hasattr)
_ASKING = (operator.contains, len, list, sorted)  # they change no dict, and keep none


def sets_by_names(function: ir.Function) -> bool:
    """Whether a loop asks for attributes, or sets them, by names."""
    return any(
        isinstance(s, ir.For) and bool(_asked_by(s.body)) for s in ir.statements(function.body)
    )


def _asked_by(block: ir.Block) -> set[str]:
    calls = (p for stmt in ir.statements(block) for e in ir.expressions(stmt) for p in ir.walk(e))
    return {
        call.args[1].name
        for call in calls
        if isinstance(call, ir.Call) and isinstance(call.fn, ir.Ref) and len(call.args) > 1
        if any(call.fn.obj is known for known in _BY_NAME) and isinstance(call.args[1], ir.Var)
    }


def rounds_by_names(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with the rounds of such loops one after the other."""
    if not fact(sets_by_names, lowered.function):
        return lowered
    rounds = _Rounds(lowered, kinds)
    body = ir.rewrite(lowered.function.body, after=rounds.statement)
    if body is lowered.function.body:
        return lowered
    return with_own_names(lowered.with_body(ir.without_unread(body, rounds.looped)))


class _Rounds:
    def __init__(self, lowered: Lowered, kinds: Mapping[str, Kind]) -> None:
        self.temporaries = lowered.temporaries
        self.kinds = kinds
        self.every = list(ir.statements(lowered.function.body))
        self.counts = ir.bindings(self.every, lowered.function.param_names)
        self.views = {
            stmt.target: stmt.value
            for stmt in self.every
            if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
            if self.counts[stmt.target] == 1
        }
        self.looped: set[str] = set()  # what loops went over that are written out, and its names

    def statement(self, stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        asked = _asked_by(stmt.body) if isinstance(stmt, ir.For) else set()
        if not asked or not isinstance(stmt, ir.For):
            return None
        targets = (stmt.target,) if isinstance(stmt.target, str) else stmt.target
        names = [target for target in targets if isinstance(target, str)]
        body, rows = list(ir.statements(stmt.body)), self.rows(stmt)
        left = any(isinstance(part, ir.Break | ir.Return) for part in body)
        copies = {  # (of a name that is read after the loop)
            s.target: s.value.name
            for s in stmt.body[: len(names)]
            if isinstance(s, ir.Assign) and isinstance(s.target, str)
            if isinstance(s.value, ir.Var) and s.value.name in names
        }
        bound = [name for part in body for name in ir.binds(part)]
        rebound = any(bound.count(name) != (name in copies) for name in (*names, *copies))
        if left or rebound or {*map(len, rows)} != {len(names)}:
            return None
        found: list[ir.Stmt] = []
        for row in rows:
            known = {n: e for n, e in zip(names, row, strict=True) if isinstance(e, ir.Const)}
            known.update((c, known[name]) for c, name in copies.items() if name in known)
            if not asked & {*names, *copies} <= known.keys():
                return None
            found += [ir.Assign(n, e, stmt.origin) for n, e in zip(names, row, strict=True)]
            block = ir.renamed(stmt.body, known)
            found += ir.rewrite(block, expression=_attribute_by_name, after=_by_name)
        self.looped.update(ir.names_in(stmt.iter) & self.views.keys(), names)
        return tuple(found)

    def rows(self, stmt: ir.For) -> Sequence[tuple[ir.Expr, ...]]:
        """What each round gives the names of the header; nothing where that is not known."""
        header = self.shown(stmt.iter)
        match header:
            case ir.Display(form="tuple" | "list", items=items):
                own = header is stmt.iter or ir.names_in(stmt.iter) <= self.temporaries
                rows: list[tuple[ir.Expr, ...]] = [(item,) for item in items]
                if not isinstance(stmt.target, str):
                    parts = map(self.shown, items)
                    rows = [p.items if isinstance(p, ir.Display) else () for p in parts]
                read = [atom.name for row in rows for atom in row if isinstance(atom, ir.Var)]
                steady = all(self.counts[name] == 1 for name in read)
                return rows if steady and (own or header.form == "tuple") else ()
            case ir.Call(ir.Attribute(ir.Var() as of, "items" | "keys" as method), ()):
                paired = method == "items"
            case _ if isinstance(stmt.iter, ir.Var):
                of, paired = stmt.iter, False
            case _:
                return ()
        written = _written_keys(of.name, self.views.get(of.name), self.every)
        keys = [ir.Const(key) for key in self.kinds.get(of.name, UNKNOWN).names or written]
        if not paired:
            return [(key,) for key in keys]
        return [(key, ir.Index(of, key, stmt.origin.place)) for key in keys]

    def shown(self, expr: ir.Expr) -> ir.Expr:
        """What a name is bound to, if it is once."""
        return self.views.get(expr.name, expr) if isinstance(expr, ir.Var) else expr


def _attribute_by_name(e: ir.Expr) -> ir.Expr:
    match ir.rebuild(e, _attribute_by_name):
        case ir.Call(ir.Ref(obj=builtins.getattr), (base, ir.Const(str(name))), (), at):
            return ir.Attribute(base, name, at)
        case new:
            return new


def _by_name(stmt: ir.Stmt) -> ir.Stmt | None:
    match stmt:
        case ir.Assign(
            value=ir.Call(ir.Ref(obj=builtins.getattr), (base, ir.Const(str(name)), other), at=at)
        ):
            there = ir.Call(ir.HASATTR, (base, ir.Const(name)), at=at)
            read = dataclasses.replace(stmt, value=ir.Attribute(base, name, at))
            return ir.If(there, (read,), (dataclasses.replace(stmt, value=other),), stmt.origin)
        case ir.Do(
            ir.Call(ir.Ref(obj=builtins.setattr), (base, ir.Const(str(name)), value), at=at)
        ):
            return ir.Store(ir.Attribute(base, name, at), value, stmt.origin)
    return None


def _written_keys(name: str, value: ir.Expr | None, every: Sequence[ir.Stmt]) -> tuple[str, ...]:
    """The keys of a dict that is written out, and of which items are only read."""
    match value:
        case ir.Display(form="dict", keys=keys):
            found = tuple(key.value for key in keys if isinstance(key, ir.Const))
            if len(found) < len(keys) or not all(isinstance(key, str) for key in found):
                return ()
        case _:
            return ()
    own = ir.Var(name)

    def reads(e: ir.Expr) -> bool:
        if ir.is_starred(e):
            return True
        match e:
            case ir.Call(ir.Attribute(base, "items" | "keys" | "values" | "get")) if base == own:
                return all(map(reads, ir.arguments(e)))
            case ir.Index(base, key) if base == own:
                return reads(key)
            case ir.Call(ir.Ref(obj=obj)) if any(obj is known for known in _ASKING):
                return True
        return e != own and all(map(reads, ir.children(e)))

    for stmt in every:
        if isinstance(stmt, ir.Store | ir.Update) and name in ir.names_in(stmt.target):
            return ()
        if isinstance(stmt, ir.OpaqueStmt) and name in ir.reads(stmt):
            return ()
        parts = (e for e in ir.expressions(stmt) if not (isinstance(stmt, ir.For) and e == own))
        if not all(map(reads, parts)):
            return ()
    return found
