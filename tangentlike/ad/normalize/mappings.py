"""Reads of dicts written out: the key first, then the entry at that key.

What `d.items()` yields mixes keys, which carry no derivative, with values, which do. A loop over
the keys that reads `d[key]` says the same and leaves one way to read a dict:

    for name, p in d.items(): B         for name in list(d.keys()): p = d[name]; B
    v = d.get(name, other)              if name in d: v = d[name]  else: v = other
    xs = list(d.values())               vs = []; for key in ...: vs.append(d[key]);  xs = list(vs)

Only dicts that carry derivatives are rewritten, those that a loop over them changes, and `get` with
a default that carries one. What a loop takes from another dict is made a list where that may
change, and where it may be something else than a dict: the reverse sweep goes through it again.

    for k, n in counts.items(): B       items = list(counts.items());  for k, n in items: B

Everything else stays as it was written.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, field

from ... import ir
from ...analysis.evidence import contents, told_apart
from ...analysis.memory import element
from ...analysis.operations import MUTATING_METHODS, is_container_method
from ...analysis.sharing import owner
from ...ir.facts import fact
from ...ir.index import ProgramIndex
from ..context import Context
from ..loops import is_call

_VIEWS = ("items", "values")


@dataclass(frozen=True)
class _View:
    """`items` or `values` of a dict, perhaps sorted (by key)."""

    method: str
    source: ir.Var
    is_sorted: bool = False


def reads_by_key(function: ir.Function, varied: Collection[str], context: Context) -> ir.Function:
    """`for k, v in d.items(): s = s * v` -> `for k in list(d.keys()): v = d[k]; s = s * v`."""
    dicts = {name for name, kind in context.kinds.items() if kind.form == "dict"}
    steady = frozenset(dicts - _changed(function))
    near = frozenset(_looped_beside(function)) - _used_otherwise(function)
    alone = steady - _of_other_names(function, context)
    looped = _looped(function, near, alone)
    read_late = _changed_while_read(function, context)
    normalizer = _Normalizer(read_late.union(varied), context, looped, steady, alone, near)
    normalizer.live, normalizer.temporaries = _seen_as_views(function, context), context.temporaries
    body = normalizer.block(function.body)
    if not normalizer.changed:
        return function
    return ir.with_body(function, ir.without_unread(body, normalizer.made))


def reads_dicts(function: ir.Function) -> bool:
    """Whether anything in a function is written as `reads_by_key` would not have it."""
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(), method))):
                if method in (*_VIEWS, "keys", "get"):
                    return True
    return False


@dataclass
class _Normalizer(ir.Rewriter):
    varied: frozenset[str]
    context: Context
    looped: frozenset[str] = frozenset()  # names that loops run over, sorted or not
    steady: frozenset[str] = frozenset()  # dicts in which nothing is changed
    alone: frozenset[str] = frozenset()  # those of them that have no other name, either
    near: frozenset[str] = frozenset()  # names that are used in headers of loops beside them only
    temporaries: Collection[str] = ()
    live: frozenset[str] = frozenset()  # names whose views are seen to be no lists
    made: set[str] = field(default_factory=set)  # names that stand for views of dicts
    changed: bool = False

    def block(self, block: ir.Block) -> ir.Block:
        views: dict[str, _View] = {}
        out: list[ir.Stmt] = []
        for stmt in block:
            out += self.parts(stmt, views)
            bound = {n for s in ir.statements((stmt,)) for n in ir.binds(s)}
            for name in [n for n, v in views.items() if n in bound or v.source.name in bound]:
                del views[name]
            self.remember(stmt, views)
        return tuple(out)

    def remember(self, stmt: ir.Stmt, views: dict[str, _View]) -> None:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call() as call):
                found = self.view(call, views)
                if found is not None:
                    views[name] = found
                    self.made.add(name)

    def view(self, call: ir.Call, views: dict[str, _View]) -> _View | None:
        match call:
            case ir.Call(fn=ir.Attribute(ir.Var(name) as base, method), args=(), kwargs=()):
                known = method in _VIEWS and name in self.varied
                return _View(method, base) if known else None
            case ir.Call(fn=ir.Ref(obj=builtins.sorted), args=(ir.Var(name),), kwargs=()):
                found = views.get(name)
                if found is None or found.method != "items" or found.source.name not in self.alone:
                    return None
                return dataclasses.replace(found, is_sorted=True)
        return None

    def parts(self, stmt: ir.Stmt, views: dict[str, _View]) -> list[ir.Stmt]:
        match stmt:
            case ir.For():
                return self.loop(stmt, views)
            case ir.Assign(target=str(name)) if name in self.live:
                return [stmt]
            case ir.Assign(
                value=ir.Call(fn=ir.Attribute(ir.Var(name) as base, "get"), args=args) as call
            ) if is_container_method(call, self.context.kinds):
                carried = {name, *(n for arg in args for n in ir.names_in(arg))} & self.varied
                if carried and args and not stmt.value.kwargs:  # type: ignore[union-attr]
                    text = "if key in d:\n    result = d[key]\nelse:\n    result = other"
                    key, other = args if len(args) > 1 else (*args, ir.Const(None))
                    return self.instead(stmt, text, d=base, key=key, other=other)
            case ir.Assign(target=str(name), value=ir.Call() as call) if (
                name in self.context.temporaries
            ):
                found = self.view(call, views)
                if found is not None and found.is_sorted and name not in self.looped:
                    return [stmt]  # (of pairs in a list)
                if found is not None and (found.method == "values" or name not in self.looped):
                    return self.listed(stmt, found)
                if found is None and name in self.looped and self.is_strange(call):
                    return self.instead(
                        stmt, f"{name}_view = d; result = list({name}_view)", d=call
                    )
            case ir.Assign(target=str(name), value=ir.Call() as call) if name not in self.near:
                found = self.view(call, views)
                if found is not None and found.source.name in self.alone and not found.is_sorted:
                    return self.listed(stmt, found)
            case ir.Assign(target=tuple(), value=ir.Call() as call):
                found = self.view(call, views)
                if found is not None and not found.is_sorted:
                    name = self.context.temporary(found.method)
                    unpacked = ir.Assign(stmt.target, ir.Var(name), stmt.origin)
                    return [*self.listed(dataclasses.replace(stmt, target=name), found), unpacked]
        return [self.inside(stmt)]

    def is_strange(self, call: ir.Call) -> bool:
        """Whether it is a view of a dict that may change, or of what may be no dict."""
        match call:
            case ir.Call(fn=ir.Attribute(ir.Var(name), method), args=(), kwargs=()):
                return method in (*_VIEWS, "keys") and name not in self.steady
        return False

    def instead(self, stmt: ir.Stmt, text: str, **given: ir.Expr) -> list[ir.Stmt]:
        self.changed = True
        return self.context.instead(stmt, text, **given)

    def listed(self, stmt: ir.Stmt, view: _View) -> list[ir.Stmt]:
        """`vs = d.values()` as the list of these values, `d.items()` as that of pairs."""
        before, keys = self.keys(view, stmt.origin)
        text = "result = []\nfor key in keys:\n    value = d[key]\n    result.append(value)"
        if view.method == "items":
            text = text.replace(
                "result.append(value)", "pair = (key, value)\n    result.append(pair)"
            )
        return [*before, *self.instead(stmt, text, d=view.source, keys=keys)]

    def loop(self, stmt: ir.For, views: dict[str, _View]) -> list[ir.Stmt]:
        before: list[ir.Stmt] = []
        reads: list[ir.Stmt] = []
        target, iterable = self.header(stmt.target, stmt.iter, views, stmt.origin, before, reads)
        body = (*reads, *self.inside(stmt).body)
        return [*before, ir.For(target, iterable, body, stmt.origin)]

    def header(
        self,
        target: ir.Target,
        iterable: ir.Expr,
        views: dict[str, _View],
        origin: ir.Origin,
        before: list[ir.Stmt],
        reads: list[ir.Stmt],
    ) -> tuple[ir.Target, ir.Expr]:
        """A loop's header over keys; `before` and `reads` take what must stand before the loop
        and at the head of its body."""

        def inner(part: ir.Target, arg: ir.Expr) -> tuple[ir.Target, ir.Expr]:
            return self.header(part, arg, views, origin, before, reads)

        match iterable:
            case ir.Var(name) if name in views:
                return self.entries(target, iterable, views[name], origin, before, reads)
            case ir.Call(args=(first, *rest)) if is_call(iterable, reversed):
                target, first = inner(target, first)
            case ir.Call(args=(first, *rest)) if is_call(iterable, enumerate):
                if not isinstance(target, tuple) or len(target) != 2:
                    return target, iterable
                second, first = inner(target[1], first)
                target = (target[0], second)
            case ir.Call(args=args) if is_call(iterable, zip) and isinstance(target, tuple):
                if len(args) != len(target):
                    return target, iterable
                pairs = [inner(part, arg) for part, arg in zip(target, args, strict=True)]
                target = tuple(part for part, _ in pairs)
                return target, dataclasses.replace(iterable, args=tuple(arg for _, arg in pairs))
            case _:
                return target, iterable
        return target, dataclasses.replace(iterable, args=(first, *rest))

    def entries(
        self,
        target: ir.Target,
        iterable: ir.Expr,
        view: _View,
        origin: ir.Origin,
        before: list[ir.Stmt],
        reads: list[ir.Stmt],
    ) -> tuple[ir.Target, ir.Expr]:
        """The header over the keys of one dict; the entry is read at the head of the body."""
        items = view.method == "items"
        if items and not (isinstance(target, tuple) and len(target) == 2):
            return target, iterable
        self.changed = True
        made, keys = self.keys(view, origin)
        before += made
        key: ir.Target = ""
        value: ir.Target = target
        if items and isinstance(target, tuple):
            key, value = target
        name = key if isinstance(key, str) and key else self.context.temporary("key")
        if isinstance(key, tuple):
            self.unpack(key, ir.Var(name), origin, reads)
        self.unpack(value, ir.Index(view.source, ir.Var(name), origin.place), origin, reads)
        return name, keys

    def unpack(
        self, target: ir.Target, value: ir.Expr, origin: ir.Origin, out: list[ir.Stmt]
    ) -> None:
        """Bind a target, nested ones in steps."""
        if isinstance(target, str):
            out.append(ir.Assign(target, value, origin))
            return
        parts = [p if isinstance(p, str) else self.context.temporary("part") for p in target]
        out.append(ir.Assign(tuple(parts), value, origin))
        for name, part in zip(parts, target, strict=True):
            if not isinstance(part, str):
                self.unpack(part, ir.Var(name), origin, out)

    def keys(self, view: _View, origin: ir.Origin) -> tuple[list[ir.Stmt], ir.Expr]:
        """The list of keys that a loop runs over, by a name of its own."""
        seen, keys = (
            self.context.temporary("keys_view"),
            self.context.temporary(f"{view.source.name}_keys"),
        )
        call = ir.Call(ir.Attribute(view.source, "keys"), (), at=origin.place)
        ordered = ir.Ref("sorted", sorted) if view.is_sorted else ir.LIST
        listed = ir.Call(ordered, (ir.Var(seen),), at=origin.place)
        return [ir.Assign(seen, call, origin), ir.Assign(keys, listed, origin)], ir.Var(keys)


def _changed(function: ir.Function) -> set[str]:
    """The names of containers that get other items, or whose items are changed."""
    found: set[str] = set()
    items: dict[str, str] = {}  # (what is bound to an item, and of what)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Index(ir.Var(base), _)):
                items[name] = base
            case ir.Store(target=target) | ir.Update(target=target):
                found |= ir.names_in(target)
            case ir.Do(value=ir.Call(fn=ir.Attribute(base, _))):
                found |= ir.names_in(base)
            case ir.Assign(value=ir.Call(fn=ir.Attribute(base, method))):
                found |= ir.names_in(base) if method in MUTATING_METHODS else set()
    return found | {items[name] for name in found & items.keys()}


def _changed_while_read(function: ir.Function, context: Context) -> frozenset[str]:
    """The dicts of which a loop over their values or items changes what it has still to read."""
    views: dict[str, str] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(
                target=str(name), value=ir.Call(fn=ir.Attribute(ir.Var(source), method))
            ) if method in _VIEWS:
                views[name] = source
    if not views:
        return frozenset()
    found: set[str] = set()
    sources, others = context.sources(), _of_other_names(function, context) | _items(function)
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.For):
            body = ir.statements(stmt.body)
            written = {owner(node) for inner in body for node in sources.written(inner)}
            for source in {views[name] for name in ir.names_in(stmt.iter) & views.keys()}:
                if source in written or (source in others and written & others):
                    found.add(source)
    return frozenset(found)


def _items(function: ir.Function) -> set[str]:
    """The names that are bound to items of something, or to what a loop takes from it."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.For() | ir.Assign(value=ir.Index() | ir.Attribute()):
                found.update(ir.binds(stmt))
    return found


def _of_other_names(function: ir.Function, context: Context) -> frozenset[str]:
    """The names of containers that may be changed under another name."""
    found = contents(function, context.book).exposed
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(other)):
                found |= {name, other}
    return found


def _seen_as_views(function: ir.Function, context: Context) -> frozenset[str]:
    """The names of views that a list cannot stand for: their class is asked for, or a function is
    given them that may change the dict meanwhile."""
    sources: dict[str, str] = {}
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(
                target=str(name), value=ir.Call(fn=ir.Attribute(ir.Var(source), method), args=())
            ) if method in _VIEWS:
                sources[name] = source
        for part in (part for expr in ir.expressions(stmt) for part in ir.walk(expr)):
            match part:
                case ir.Call(fn=ir.Ref(obj=obj), args=args):
                    names = {arg.name for arg in args if isinstance(arg, ir.Var)} & sources.keys()
                    if obj is isinstance or obj is type:
                        found |= names
                    elif names and context.is_callee(obj):
                        if fact(told_apart, context.callees.lowered(obj).function):
                            found |= names
                        written = _containers(context.sources().written(stmt), context)
                        found |= names if written - names - set(map(element, names)) else set()
    return frozenset(found)


def _containers(names: Collection[str], context: Context) -> set[str]:
    """Those of some names that may stand for dicts, or for what holds some."""
    numerical = ("array", "number", "value")
    return {name for name in names if context.kind_of(ir.Var(name)).form not in numerical}


def _looped(function: ir.Function, near: frozenset[str], alone: frozenset[str]) -> frozenset[str]:
    """The names that loops run over, and what `sorted` makes them of: unless the dict changes
    between the two."""
    views = {
        stmt.target
        for stmt in ir.statements(function.body)
        if isinstance(stmt, ir.Assign) and ir.names_in(stmt.value) <= alone
    }
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.For):
            found |= ir.names_in(stmt.iter)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call() as call) if name in found & near:
                if _sorts_plainly(call) and ir.reads(stmt) <= views:
                    found |= ir.reads(stmt)
    return frozenset(found)


def _sorts_plainly(call: ir.Call) -> bool:
    match call:
        case ir.Call(fn=ir.Ref(obj=builtins.sorted), args=(ir.Var(),), kwargs=()):
            return True
    return False


def _looped_beside(function: ir.Function) -> set[str]:
    """The names that are bound in the block in which a loop runs over them."""
    index = fact(ProgramIndex, function)
    return {
        name
        for loop in index.statements
        if isinstance(loop, ir.For)
        for stmt in index.preceding(loop)
        for name in ir.names_in(loop.iter) & set(ir.binds(stmt))
    }


def _used_otherwise(function: ir.Function) -> set[str]:
    """The names that are read elsewhere than in the header of a loop, or of loops that stand in
    other blocks than they are bound in."""
    found: set[str] = set()
    for block in ir.all_blocks(function.body):
        bound = {name for stmt in block for name in ir.binds(stmt)}
        for stmt in block:
            read = {n for e in ir.expressions(stmt) for n in ir.names_in(e)}
            found.update(read - bound if isinstance(stmt, ir.For) else read)
    return found
