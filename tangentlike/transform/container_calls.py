"""Calls on lists, dicts and records, said with the few operations that both modes know.

    v = d.setdefault(k, other)      if k not in d: d[k] = other
                                    v = d[k]
    v = d.pop(k, other)             if k in d: v = d.pop(k)  else: v = other
    ys = sorted(xs, key=size)       order = sorting_order(xs, key=size); ys = take_items(xs, order)
    xs.sort()                       order = ...; items = take_items(xs, order); xs[:] = items
    xs.remove(v)                    place = xs.index(v); xs.pop(place)
    s = s._replace(q=v)             s = replaced(s, "q", v)
    ys = d.copy()                   ys = dict(d)
    m = list(zip(xs, ys))           m = []; for x, y in zip(xs, ys): m.append((x, y))

Only what carries derivatives is touched; everything else stays as it was written.
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
from collections.abc import Collection, Iterator
from typing import Any

from .. import ir, runtime
from .context import Context

IN = ir.Ref("in", operator.contains)
NOT = ir.Ref("not", operator.not_)
_METHODS = ("setdefault", "pop", "sort", "remove", "_replace", "copy")
_HEADERS = (zip, enumerate, reversed)
_COPIES = {"list": ir.Ref("list", list), "dict": ir.Ref("dict", dict)}
_ORDER = ir.Ref("sorting_order", runtime.sorting_order)
_TAKE = ir.Ref("take_items", runtime.take_items)
_REPLACED = ir.Ref("replaced", runtime.replaced)


def plain_container_calls(
    function: ir.Function, varied: Collection[str], context: Context
) -> ir.Function:
    """`d.setdefault(k, v)` -> `if not k in d: d[k] = v`, and so on, for containers that carry
    derivatives."""
    speller = _Speller(frozenset(varied), context)
    body = speller.block(function.body)
    return function if body == function.body else dataclasses.replace(function, body=body)


def calls_containers(function: ir.Function) -> bool:
    """Whether anything in a function is written as `plain_container_calls` would not have it."""
    for stmt in ir.statements(function.body):
        match getattr(stmt, "value", None):
            case ir.Call(fn=ir.Attribute(_, method)) if method in _METHODS:
                return True
            case ir.Call(fn=ir.Ref(obj=obj)) if obj in (sorted, *_HEADERS) or _replaces(obj):
                return True
    return False


def _replaces(obj: Any) -> bool:
    """Whether an object is `dataclasses.replace`, perhaps made for one way of calling it."""
    name = getattr(obj, "__qualname__", "")
    return name == "replace" and getattr(obj, "__module__", "") == dataclasses.__name__


@dataclasses.dataclass
class _Speller:
    varied: frozenset[str]
    context: Context

    def block(self, block: ir.Block) -> ir.Block:
        return tuple(new for stmt in block for new in self.statement(stmt))

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                made = self.call(stmt, call)
                yield from (stmt,) if made is None else made
            case _:
                yield ir.map_statement(stmt, block=self.block) if ir.blocks(stmt) else stmt

    def call(self, stmt: ir.Assign | ir.Do, call: ir.Call) -> list[ir.Stmt] | None:
        match call:
            case ir.Call(fn=ir.Ref(obj=builtins.sorted), args=(ir.Var(name) as xs,)):
                keys = self.context.kind_of(xs).form == "dict"
                if name in self.varied and isinstance(stmt, ir.Assign) and not keys:
                    return self.sorted(stmt, xs, call.kwargs)
            case ir.Call(fn=ir.Ref(obj=builtins.zip | builtins.enumerate | builtins.reversed)):
                temporary = isinstance(stmt, ir.Assign) and stmt.target in self.context.temporaries
                return self.listed(stmt, call) if temporary else None
            case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name) as record,)):
                if isinstance(stmt, ir.Assign) and _replaces(obj):
                    return self.replaced(stmt, record, call)
            case ir.Call(fn=ir.Attribute(ir.Var(name) as base, method)) if name in self.varied:
                return self.method(stmt, base, method, call)
            case ir.Call(fn=ir.Attribute(ir.Var() as base, "pop"), args=(_, other)):
                carried = ir.names_in(other) & self.varied
                return self.method(stmt, base, "pop", call) if carried else None
            case ir.Call(fn=ir.Attribute(ir.Var() as base, "_replace")):
                return self.replaced(stmt, base, call) if isinstance(stmt, ir.Assign) else None
        return None

    def method(
        self, stmt: ir.Assign | ir.Do, base: ir.Var, method: str, call: ir.Call
    ) -> list[ir.Stmt] | None:
        origin = stmt.origin
        match method, call.args:
            case "setdefault", (key, other):
                return self.setdefault(stmt, base, key, other)
            case "pop", (key, other):
                pop = dataclasses.replace(call, args=(key,))
                there: ir.Stmt = ir.Do(pop, origin)
                missing: ir.Block = ()
                if isinstance(stmt, ir.Assign):
                    there = ir.Assign(stmt.target, pop, origin)
                    missing = (ir.Assign(stmt.target, other, origin),)
                return [ir.If(ir.Call(IN, (key, base)), (there,), missing, origin)]
            case "sort", () if isinstance(stmt, ir.Do) and not self._sorts_array(base, call):
                items = self.temporary("items")
                whole = ir.Index(base, ir.Slice(), origin.place)
                ordered = ir.Assign(items, call, origin)
                store = ir.Store(whole, ir.Var(items), origin)
                return [*self.sorted(ordered, base, call.kwargs), store]
            case "remove", (value,) if isinstance(stmt, ir.Do):
                place = self.temporary("place")
                index = ir.Call(ir.Attribute(base, "index"), (value,), at=call.at)
                pop = ir.Call(ir.Attribute(base, "pop"), (ir.Var(place),), at=call.at)
                return [ir.Assign(place, index, origin), ir.Do(pop, origin)]
            case "copy", () if isinstance(stmt, ir.Assign):
                again = _COPIES.get(self.context.kind_of(base).form)
                copied = None if again is None else ir.Call(again, (base,), at=call.at)
                return None if copied is None else [dataclasses.replace(stmt, value=copied)]
            case "_replace", () if isinstance(stmt, ir.Assign):
                return self.replaced(stmt, base, call)
        return None

    def _sorts_array(self, base: ir.Var, call: ir.Call) -> bool:
        """Whether `b.sort(...)` is surely the method of an array."""
        options = {word for word, _ in call.kwargs}
        return self.context.kind_of(base).form == "array" or bool(options - {"key", "reverse"})

    def listed(self, stmt: ir.Assign, call: ir.Call) -> list[ir.Stmt] | None:
        """What `zip` and the like yield, as a list: something takes all of it."""
        stars = any(isinstance(arg, ir.Opaque) for arg in call.args)
        if not ir.names_in(call) & self.varied or stars or call.kwargs:
            return None
        assert isinstance(call.fn, ir.Ref)
        target: ir.Target = self.temporary("item")
        item: ir.Expr = ir.Var(str(target))
        if call.fn.obj is not reversed:
            pair = call.fn.obj is enumerate
            parts = [self.temporary("item") for _ in range(2 if pair else len(call.args))]
            target, item = tuple(parts), ir.Display("tuple", tuple(map(ir.Var, parts)))
        made = self.temporary("item")
        append = ir.Call(ir.Attribute(ir.Var(str(stmt.target)), "append"), (ir.Var(made),))
        body = (ir.Assign(made, item, stmt.origin), ir.Do(append, stmt.origin))
        empty = dataclasses.replace(stmt, value=ir.Display("list", ()))
        return [empty, ir.For(target, call, body, stmt.origin)]

    def setdefault(
        self, stmt: ir.Assign | ir.Do, base: ir.Var, key: ir.Expr, other: ir.Expr
    ) -> list[ir.Stmt]:
        entry = ir.Index(base, key, stmt.origin.place)
        store = ir.Store(entry, other, stmt.origin)
        missing = ir.Call(NOT, (ir.Call(IN, (key, base)),))
        found: list[ir.Stmt] = [ir.If(missing, (store,), (), stmt.origin)]
        if isinstance(stmt, ir.Assign):
            found.append(ir.Assign(stmt.target, entry, stmt.origin))
        return found

    def sorted(
        self, stmt: ir.Assign, xs: ir.Var, kwargs: tuple[tuple[str, ir.Expr], ...]
    ) -> list[ir.Stmt]:
        order = self.temporary("order")
        places = ir.Call(_ORDER, (xs,), kwargs, stmt.origin.place)
        items = ir.Call(_TAKE, (xs, ir.Var(order)), at=stmt.origin.place)
        return [ir.Assign(order, places, stmt.origin), dataclasses.replace(stmt, value=items)]

    def replaced(self, stmt: ir.Assign, record: ir.Var, call: ir.Call) -> list[ir.Stmt] | None:
        """One field after the other."""
        read = ir.names_in(call) & self.varied
        if not read or not call.kwargs or (call.args and isinstance(call.fn, ir.Attribute)):
            return None
        found: list[ir.Stmt] = []
        latest = record
        for field, value in call.kwargs[:-1]:
            name = self.temporary(f"{record.name}_new")
            new = ir.Call(_REPLACED, (latest, ir.Const(field), value), at=call.at)
            found.append(ir.Assign(name, new, stmt.origin))
            latest = ir.Var(name)
        field, value = call.kwargs[-1]
        last = ir.Call(_REPLACED, (latest, ir.Const(field), value), at=call.at)
        return [*found, dataclasses.replace(stmt, value=last)]

    def temporary(self, wanted: str) -> str:
        name = self.context.names.fresh(wanted)
        self.context.temporaries.add(name)
        return name
