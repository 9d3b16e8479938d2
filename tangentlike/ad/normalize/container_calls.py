"""Calls on lists, dicts and records, said with the few operations that both modes know.

    v = d.setdefault(k, other)      if k not in d: d[k] = other
                                    v = d[k]
    k, v = d.popitem()              keys = list(d); k = keys[-1]; v = d.pop(k)
    v = d.pop(k, other)             if k in d: v = d.pop(k)  else: v = other
    ys = sorted(xs, key=size)       order = sorting_order(xs, key=size); ys = take_items(xs, order)
    xs.sort()                       order = ...; items = take_items(xs, order); xs[:] = items
    xs.remove(v)                    place = xs.index(v); xs.pop(place)
    s = s._replace(q=v)             s = replaced(s, "q", v)
    ys = d.copy()                   ys = dict(d)
    m = list(zip(xs, ys))           m = []; for x, y in zip(xs, ys): m.append((x, y))
    us, vs = zip(*rows)             us, vs = columns(rows)
    x = max(xs, key=size)           order = sorting_order(xs, key=size, reverse=True)
                                    x = xs[order[0]]
    d = p._asdict()                 d = {"u": p.u, "v": p.v}
    d.update(e, u=x, **options)     d.update(e, u=x); d.update(options)
    m = sum(rows, [])               m = []; for row in rows: for item in row: m.append(item)

Only what carries derivatives is touched; everything else stays as it was written. (What
`setdefault` gives is part of the dict, whether it carries derivatives or not.)
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Collection, Iterator

from ... import ir, runtime
from ...analysis.constructors import is_replace
from ...frontend.lower import gathering
from ..context import Context
from ..specialize.function_values import is_partial, starred_name

_METHODS = ("setdefault", "pop", "popitem", "sort", "remove", "update", "copy")
_OF_RECORDS = ("_replace", "_asdict")
_HEADERS = (zip, enumerate, reversed)
_COPIES = {"list": ir.LIST, "dict": ir.DICT}
_ORDER = ir.Ref("sorting_order", runtime.sorting_order)
_TAKE = ir.Ref("take_items", runtime.take_items)
_COLUMNS = ir.Ref("columns", runtime.columns)
_NAMED_ITEMS = ir.Ref("named_items", runtime.named_items)
_REPLACED = ir.Ref("replaced", runtime.replaced)


def container(arg: ir.Expr) -> ir.Expr | None:
    """The container whose items a starred argument stands for, if that is a name."""
    assert isinstance(arg, ir.Opaque)
    text = arg.text.lstrip("*")
    if text.isidentifier() and len(arg.values) == 1 and arg.names == (text,):
        return arg.values[0]
    if not arg.values and len(arg.refs) == 1 and arg.refs[0].text == text:
        return arg.refs[0]
    return None


def plain_container_calls(
    function: ir.Function, varied: Collection[str], context: Context
) -> ir.Function:
    """`d.setdefault(k, v)` -> `if not k in d: d[k] = v`, and so on, for containers that carry
    derivatives."""
    normalizer = _Normalizer(frozenset(varied), context)
    return normalizer.rewritten(function)


def calls_containers(function: ir.Function) -> bool:
    """Whether anything in a function is written as `plain_container_calls` would not have it."""
    for stmt in ir.statements(function.body):
        match getattr(stmt, "value", None):
            case ir.Call(fn=ir.Attribute(_, method)) if method in _METHODS or method in _OF_RECORDS:
                return True
            case ir.Call(fn=ir.Ref(obj=obj)) if obj in (sorted, *_HEADERS) or is_replace(obj):
                return True
            case ir.Call(fn=ir.Ref(obj=builtins.max | builtins.min), kwargs=kwargs):
                if "key" in dict(kwargs):
                    return True
            case ir.Call(fn=ir.Ref(obj=builtins.sum), args=args, kwargs=kwargs):
                if len(args) + len(kwargs) == 2:
                    return True
        if isinstance(stmt, ir.For) and any(map(ir.is_starred, ir.walk(stmt.iter))):
            return True
    return False


@dataclasses.dataclass
class _Normalizer(ir.Rewriter):
    varied: frozenset[str]
    context: Context
    partials: dict[str, ir.Call] = dataclasses.field(default_factory=dict)  # temporaries

    def block(self, block: ir.Block) -> ir.Block:
        block = super().block(block)
        read = {n for s in ir.statements(block) for n in ir.reads(s)}
        unread = self.partials.keys() - read
        gone = [s for s in block if isinstance(s, ir.Assign) and s.target in unread]
        return tuple(s for s in block if s not in gone) if gone else block

    def statement(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                made = self.call(stmt, call)
                yield from (stmt,) if made is None else made
                name = stmt.target if isinstance(stmt, ir.Assign) else None
                if isinstance(name, str) and is_partial(call) and name in self.context.temporaries:
                    self.partials[name] = call
            case ir.For():
                before: list[ir.Stmt] = []
                header = self.header(stmt.iter, stmt.origin, before)
                yield from before
                loop = self.inside(stmt)
                yield loop if header == loop.iter else dataclasses.replace(loop, iter=header)
            case _:
                yield self.inside(stmt)

    def call(self, stmt: ir.Assign | ir.Do, call: ir.Call) -> list[ir.Stmt] | None:
        match call:
            case ir.Call(fn=ir.Ref(obj=builtins.sorted), args=(ir.Var() as xs,)):
                if isinstance(stmt, ir.Assign) and self.is_sorted_here(xs, call):
                    return self.sorted(stmt, xs, call.kwargs)
            case ir.Call(fn=ir.Ref(obj=builtins.max | builtins.min)):
                return self.extreme(stmt, call) if isinstance(stmt, ir.Assign) else None
            case ir.Call(fn=ir.Ref(obj=builtins.sum), args=(lists, *starts), kwargs=kwargs):
                given = (*starts, *dict(kwargs).values())
                return self.joined(stmt, lists, given[0]) if given else None
            case ir.Call(fn=ir.Ref(obj=builtins.zip)) if (rows := self.rows(call)) is not None:
                known = isinstance(stmt, ir.Assign) and (
                    isinstance(stmt.target, tuple) or stmt.target in self.context.temporaries
                )
                made = ir.Call(_COLUMNS, (rows,), at=call.at)
                return [dataclasses.replace(stmt, value=made)] if known else None
            case ir.Call(fn=ir.Ref(obj=builtins.zip | builtins.enumerate | builtins.reversed)):
                return self.listed(stmt, call) if isinstance(stmt, ir.Assign) else None
            case ir.Call(fn=ir.Ref(obj=runtime.replaced)) if isinstance(stmt, ir.Assign):
                return self.taken_apart(stmt, call)
            case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name) as record,)):
                if isinstance(stmt, ir.Assign) and is_replace(obj):
                    return self.replaced(stmt, record, call)
            case ir.Call(fn=ir.Attribute(ir.Var(name) as base, method)) if (
                name in self.varied and method != "update"
            ):
                return self.method(stmt, base, method, call)
            case ir.Call(fn=ir.Attribute(ir.Var() as base, "setdefault")):
                # (What is given may be changed, which is then a write into the entry.)
                known = isinstance(stmt, ir.Assign) and self.context.kind_of(base).form == "dict"
                return self.method(stmt, base, "setdefault", call) if known else None
            case ir.Call(fn=ir.Attribute(ir.Var() as base, "pop"), args=(_, other)):
                carried = ir.names_in(other) & self.varied
                return self.method(stmt, base, "pop", call) if carried else None
            case ir.Call(fn=ir.Attribute(ir.Var() as base, "update")) if isinstance(stmt, ir.Do):
                return (
                    self.updates(stmt, call) if self.context.kind_of(base).form == "dict" else None
                )
            case ir.Call(fn=ir.Attribute(ir.Var() as base, "_replace")):
                return self.replaced(stmt, base, call) if isinstance(stmt, ir.Assign) else None
        return None

    def joined(
        self, stmt: ir.Assign | ir.Do, rows: ir.Expr, start: ir.Expr
    ) -> list[ir.Stmt] | None:
        """A sum of lists, or of tuples, is one of all their items."""
        form = self.context.kind_of(start).form
        if form not in ("list", "tuple"):
            return None
        text = "items = list(start)\nfor row in rows:\n    for item in row: items.append(item)"
        text += f"\nresult = {form}(items)" if form == "tuple" else "\nresult = items"
        return self.context.instead(stmt, text, rows=rows, start=start)

    def rows(self, expr: ir.Expr) -> ir.Expr | None:
        """The list whose columns `zip(*rows)` yields, if they carry derivatives."""
        match expr:
            case ir.Call(fn=ir.Ref(obj=builtins.zip), args=(star,), kwargs=()):
                name = starred_name(star)
                return ir.Var(name) if name in self.varied else None
        return None

    def header(self, iterable: ir.Expr, origin: ir.Origin, before: list[ir.Stmt]) -> ir.Expr:
        """What a loop runs over, with columns made before it."""
        rows = self.rows(iterable)
        if rows is not None:
            name = self.context.temporary("columns")
            call = ir.Call(_COLUMNS, (rows,), at=origin.place)
            before.append(ir.Assign(name, call, origin))
            return ir.Var(name)
        if isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref):
            args = tuple(self.header(arg, origin, before) for arg in iterable.args)
            return dataclasses.replace(iterable, args=args)
        return iterable

    def extreme(self, stmt: ir.Assign, call: ir.Call) -> list[ir.Stmt] | None:
        """The first of the largest, or smallest, items by a key; a default where there is none."""
        words = dict(call.kwargs)
        if words.keys() == {"key", "default"} and len(call.args) == 1:
            other = words.pop("default")
            plain = dataclasses.replace(call, kwargs=tuple(words.items()))
            made = self.extreme(stmt, plain)
            if made is None and not ir.names_in(other) & self.varied:
                return None
            made = made or [dataclasses.replace(stmt, value=plain)]
            some = ir.Call(ir.GREATER, (ir.Call(ir.LEN, call.args), ir.Const(0)))
            otherwise = (dataclasses.replace(stmt, value=other),)
            return [ir.If(some, tuple(made), otherwise, stmt.origin)]
        if [word for word, _ in call.kwargs] != ["key"] or any(map(ir.is_starred, call.args)):
            return None
        assert isinstance(call.fn, ir.Ref)
        if len(call.args) > 1:
            if not ir.names_in(call) & self.varied:
                return None
            items = self.context.temporary("items")
            listed = ir.Assign(items, ir.Display("list", call.args), stmt.origin)
            self.varied |= {items}
            one = dataclasses.replace(call, args=(ir.Var(items),))
            return [listed, *(self.extreme(stmt, one) or ())]
        xs = call.args[0]
        if not isinstance(xs, ir.Var) or not self.is_sorted_here(xs, call):
            return None
        descending = (("reverse", ir.Const(True)),) if call.fn.obj is max else ()
        before, xs, order = self.order(stmt, xs, (*call.kwargs, *descending))
        first = ir.Index(xs, ir.Index(ir.Var(order), ir.Const(0)), stmt.origin.place)
        return [*before, dataclasses.replace(stmt, value=first)]

    def is_sorted_here(self, xs: ir.Var, call: ir.Call) -> bool:
        """Whether items that carry derivatives are put into an order, or their key does."""
        captured = self.partials.get(_name(dict(call.kwargs).get("key")))
        if captured is not None and ir.names_in(captured) & self.varied:
            return True
        return xs.name in self.varied and self.context.kind_of(xs).form != "dict"

    def method(
        self, stmt: ir.Assign | ir.Do, base: ir.Var, method: str, call: ir.Call
    ) -> list[ir.Stmt] | None:
        match method, call.args:
            case (("setdefault" | "pop"), (key, other)) if _computes(key):
                place = self.context.temporary("place")  # (it may read the dict itself)
                args = (ir.Var(place), other)
                call = dataclasses.replace(call, args=args)
                named = dataclasses.replace(stmt, value=call)
                rest = self.method(named, base, method, call) or [named]
                return [ir.Assign(place, key, stmt.origin), *rest]
            case "setdefault", (key, other):
                text = "if not key in d: d[key] = other"
                text += "\nresult = d[key]" if isinstance(stmt, ir.Assign) else ""
                return self.context.instead(stmt, text, d=base, key=key, other=other)
            case "pop", (key, other):
                text = "if key in d:\n    result = d.pop(key)"
                text += "\nelse:\n    result = other" if isinstance(stmt, ir.Assign) else ""
                return self.context.instead(stmt, text, d=base, key=key, other=other)
            case "sort", () if isinstance(stmt, ir.Do) and not self._sorts_array(base, call):
                before, xs, order = self.order(stmt, base, call.kwargs)
                text = "items = take_items(xs, order); old[:] = items"
                given = {"xs": xs, "order": ir.Var(order), "old": base}
                return [*before, *self.context.instead(stmt, text, **given)]
            case "remove", (value,) if isinstance(stmt, ir.Do):
                text = "place = xs.index(value); xs.pop(place)"
                return self.context.instead(stmt, text, xs=base, value=value)
            case "popitem", ():  # (the newest entry)
                keys = f"{base.name}_keys"
                text = f"{keys} = list(d); key = {keys}[-1]; value = d.pop(key)"
                return self.context.instead(stmt, f"{text}; result = (key, value)", d=base)
            case "copy", () if isinstance(stmt, ir.Assign):
                again = _COPIES.get(self.context.kind_of(base).form)
                copied = None if again is None else ir.Call(again, (base,), at=call.at)
                return None if copied is None else [dataclasses.replace(stmt, value=copied)]
            case "_asdict", ():
                return [dataclasses.replace(stmt, value=ir.Call(_NAMED_ITEMS, (base,), at=call.at))]
            case "_replace", () if isinstance(stmt, ir.Assign):
                return self.replaced(stmt, base, call)
        return None

    def updates(self, stmt: ir.Assign | ir.Do, call: ir.Call) -> list[ir.Stmt] | None:
        """What stands behind `**` is taken by calls of its own."""
        stars = [arg for arg in call.args if ir.is_starred(arg)]
        more = [entries for entries in map(container, stars) if entries is not None]
        if not stars or len(more) < len(stars):
            return None
        plain = tuple(arg for arg in call.args if not ir.is_starred(arg))
        calls = [dataclasses.replace(call, args=plain)] if plain or call.kwargs else []
        calls += [dataclasses.replace(call, args=(entries,), kwargs=()) for entries in more]
        return [dataclasses.replace(stmt, value=one) for one in calls]

    def _sorts_array(self, base: ir.Var, call: ir.Call) -> bool:
        """Whether `b.sort(...)` is surely the method of an array."""
        options = {word for word, _ in call.kwargs}
        return self.context.kind_of(base).form == "array" or bool(options - {"key", "reverse"})

    def listed(self, stmt: ir.Assign, call: ir.Call) -> list[ir.Stmt] | None:
        """What `zip` and the like yield, as a list: something takes all of it."""
        stars = any(isinstance(arg, ir.Opaque) for arg in call.args)
        if not ir.names_in(call) & self.varied or stars:
            return None
        if isinstance(stmt.target, tuple):
            whole = self.context.temporary("items")
            unpacked = dataclasses.replace(stmt, value=ir.Var(whole))
            made = self.listed(dataclasses.replace(stmt, target=whole), call)
            return None if made is None else [*made, unpacked]
        if stmt.target not in self.context.temporaries:
            return None
        return self.context.instead(stmt, gathering(call), taken=call)

    def sorted(
        self, stmt: ir.Assign, xs: ir.Var, kwargs: tuple[tuple[str, ir.Expr], ...]
    ) -> list[ir.Stmt]:
        before, xs, order = self.order(stmt, xs, kwargs)
        items = ir.Call(_TAKE, (xs, ir.Var(order)), at=stmt.origin.place)
        return [*before, dataclasses.replace(stmt, value=items)]

    def order(
        self, stmt: ir.Stmt, xs: ir.Var, kwargs: tuple[tuple[str, ir.Expr], ...]
    ) -> tuple[list[ir.Stmt], ir.Var, str]:
        """Statements that name the places of the items in their order. A key that captures values
        is called here, item by item, so that it is a function like any other."""
        out: list[ir.Stmt] = []
        origin = stmt.origin
        if self.context.kind_of(xs).form == "dict":
            names = self.context.temporary(f"{xs.name}_keys")
            out.append(ir.Assign(names, ir.Call(_COPIES["list"], (xs,), at=origin.place), origin))
            xs = ir.Var(names)
        places, options = xs, dict(kwargs)
        partial = self.partials.get(_name(options.get("key")))
        if partial is not None:
            del options["key"]
            places = ir.Var(self.context.temporary("keys"))
            item, key = self.context.temporary("item"), self.context.temporary("key")
            target, *args = partial.args
            called = ir.Call(target, (*args, ir.Var(item)), partial.kwargs, partial.at)
            append = ir.Call(ir.Attribute(places, "append"), (ir.Var(key),))
            out.append(ir.Assign(places.name, ir.Display("list", ()), origin))
            body = (ir.Assign(key, called, origin), ir.Do(append, origin))
            out.append(ir.For(item, xs, body, origin))
        order = self.context.temporary("order")
        call = ir.Call(_ORDER, (places,), tuple(options.items()), origin.place)
        return [*out, ir.Assign(order, call, origin)], xs, order

    def replaced(self, stmt: ir.Assign, record: ir.Var, call: ir.Call) -> list[ir.Stmt] | None:
        """One field after the other."""
        read = ir.names_in(call) & self.varied
        if not read or not call.kwargs or (call.args and isinstance(call.fn, ir.Attribute)):
            return None
        found: list[ir.Stmt] = []
        latest = record
        for field, value in call.kwargs[:-1]:
            name = self.context.temporary(f"{record.name}_new")
            new = ir.Call(_REPLACED, (latest, ir.Const(field), value), at=call.at)
            found.append(ir.Assign(name, new, stmt.origin))
            latest = ir.Var(name)
        field, value = call.kwargs[-1]
        last = ir.Call(_REPLACED, (latest, ir.Const(field), value), at=call.at)
        return [*found, *(self.taken_apart(stmt, last) or [dataclasses.replace(stmt, value=last)])]

    def taken_apart(self, stmt: ir.Assign, record: ir.Call) -> list[ir.Stmt] | None:
        """What is unpacked has a name first, whose adjoint has the fields of a record."""
        if isinstance(stmt.target, str):
            return None
        name = self.context.temporary("record")
        whole = ir.Assign(name, record, stmt.origin)
        return [whole, dataclasses.replace(stmt, value=ir.Var(name))]


def _computes(key: ir.Expr) -> bool:
    """Whether a key calls something, which is done once."""
    return any(isinstance(part, ir.Call | ir.Opaque) for part in ir.walk(key))


def _name(expr: ir.Expr | None) -> str:
    return expr.name if isinstance(expr, ir.Var) else ""
