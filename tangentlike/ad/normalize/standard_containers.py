"""Containers of the module `collections`, said with the lists and dicts that they behave like: a
defaultdict, a Counter and an OrderedDict as dicts, a deque as a list (see `_DEQUES`).

    d = defaultdict(list)           d = {}
    xs = d[k]                       if k not in d: d[k] = []
                                    xs = d[k]
    c = Counter(); c[k] += v        c = {}; if k not in c: c[k] = 0
                                    c[k] += v
    d = OrderedDict(pairs)          d = dict(pairs)

Only containers that carry derivatives (and every deque and defaultdict: the reverse sweep knows
what a list does, and which entries are made), and that the function uses in no way in which a list
or dict differs: one that it returns, passes on, or stores stays what it is. Of a defaultdict that
does, or that is given, the entries that reading it makes are made by statements as well:

    v = d[k]                        if k not in d: d[k] = missing_entry(d, k)
                                    v = d[k]
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection
from typing import Any

from ... import ir
from ...frontend.owners import is_numpy
from ...frontend.primal import makes_entries, may_lose_items
from ...ir.kind import Kind
from ..context import Context

_CLASSES = (deque, defaultdict, Counter, OrderedDict)
# What making a deque and its methods are: of one without a `maxlen`, and of one that has it.
_DEQUES = {
    "": "result = []",
    "deque": "result = list(arg)",
    "popleft": "result = q.pop(0)",
    "appendleft": "result = q.insert(0, arg)",
    "extendleft": "items = list(arg); q[:0] = items[::-1]",
    "rotate": """
        length = len(q); place = length - arg % max(length, 1)
        end = q[place:]; start = q[:place]; q = end + start""",
}
_NEWEST = "longer = q + item; start = max(len(longer) - limit, 0); q = longer[start:]"
_BOUNDED_DEQUES = {
    **_DEQUES,
    "": "limit = maxlen; result = []",
    "deque": """
        limit = maxlen; items = list(arg)
        start = max(len(items) - limit, 0); result = items[start:]""",
    "append": f"item = [arg]; {_NEWEST}",
    "extend": f"item = list(arg); {_NEWEST}",
    "appendleft": "item = [arg]; longer = item + q; q = longer[:limit]",
}
_MISSING_ENTRY = "\n    entry = missing(d, key)\n    d[key] = entry"
_DEFAULTS: dict[Any, ir.Expr] = {
    list: ir.Display("list", ()),
    dict: ir.Display("dict", ()),
    float: ir.Const(0.0),
    int: ir.Const(0),
}


# What stands before `q.append(v)` where `q` may be a deque: one that is full loses an item.
_MAKES_ROOM = "if len(q) == getattr(q, 'maxlen', None):\n    q.{}()"
# What stands for `q.rotate(arg)` of a deque that a call gives.
_ROTATES = """for turn in range(arg % max(len(q), 1)):
    item = q.pop()
    q.appendleft(item)"""


def as_lists_and_dicts(
    function: ir.Function, wrt: Collection[str], context: Context
) -> ir.Function:
    """`q = deque(); q.appendleft(x)` -> `q = []; q.insert(0, x)`, for what carries derivatives."""
    found: dict[str, _Container] = {}
    made = [call.fn for s in ir.statements(function.body) if (call := _made(s)) is not None]
    if made:
        varied = context.varied(function, wrt)
        found = {
            name: container
            for name, container in _containers(function, context).items()
            if (name in varied or container.cls in (deque, defaultdict))
            and used_like(container.cls, name, container.is_bounded, function)
        }
    builder = context.callees.builder
    makes = (
        builder is not None and _reads_unknown(function, context) and builder.makes(makes_entries)
    )
    loses = _puts_into_unknown(function, context)
    if not found and not makes and not loses and not _given_defaults(function, context):
        return function
    return _Normalizer(found, context, makes, loses).rewritten(function)


def _puts_into_unknown(function: ir.Function, context: Context) -> bool:
    """Whether a function puts items at an end of what may be a deque, and be full: nothing is known
    of it, and the program makes deques, is given some, or no call has told what it is given."""
    builder = context.callees.builder
    puts = (_put_at_an_end(stmt, context) for stmt in ir.statements(function.body))
    names = {name for name in puts if name}
    if builder is None or function.place.is_emitted:
        return False
    if any(kind.cls is deque for kind in context.kinds.values()):
        return True
    if not names or builder.makes(may_lose_items):
        return bool(names)
    bound = (s for s in ir.statements(function.body) if isinstance(s, ir.Assign))
    names -= {s.target for s in bound if isinstance(s.value, ir.Attribute)}  # (its class is read)
    return bool(names) and not builder.reading.specialized


def _put_at_an_end(stmt: ir.Stmt, context: Context) -> str:
    """The name of what an item is put into at an end, if nothing is known of it; else ''."""
    match stmt:
        case ir.Do(value=ir.Call(ir.Attribute(ir.Var(name) as q, "append" | "appendleft"), (_,))):
            kind = context.kind_of(q)
            return name if kind.form == "unknown" or kind.cls is deque else ""
    return ""


def _given_defaults(function: ir.Function, context: Context) -> bool:
    """Whether a function may read a defaultdict that it does not make."""
    if any(kind.cls is defaultdict for kind in context.kinds.values()):
        return True
    reads = (part for part in ir.walk_block(function.body) if isinstance(part, ir.Index))
    return any(isinstance(part.base, ir.Ref) and _has_default(part.base.obj) for part in reads)


def _reads_unknown(function: ir.Function, context: Context) -> bool:
    """Whether a function of the user's reads an item of what nothing is known of. (A derivative's
    text makes such entries by statements.)"""
    return not function.place.is_emitted and any(
        isinstance(part, ir.Index) and _may_be_dict(context.kind_of(part.base))
        for part in ir.walk_block(function.body)
    )


def _may_be_dict(kind: Kind) -> bool:
    """Whether something may be a dict of a class that is not known."""
    return kind.form == "unknown" or (kind.form == "dict" and kind.length is None)


def _has_default(obj: Any) -> bool:
    return isinstance(obj, defaultdict) and obj.default_factory is not None


@dataclasses.dataclass(frozen=True)
class _Container:
    """What a name stands for; `default` makes an entry that is missing."""

    cls: type
    default: ir.Expr | None = None
    maxlen: str = ""

    @property
    def is_bounded(self) -> bool:
        return bool(self.maxlen)


def _made(stmt: ir.Stmt) -> ir.Call | None:
    """The call by which a statement makes a container of the module `collections`."""
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Ref(obj=obj)) as call):
            starred = any(map(ir.is_starred, call.args)) or any(not k for k, _ in call.kwargs)
            return call if any(obj is cls for cls in _CLASSES) and not starred else None
    return None


def _containers(function: ir.Function, context: Context) -> dict[str, _Container]:
    """The names that stand for one kind of container wherever they are bound."""
    found: dict[str, _Container | None] = dict.fromkeys((*function.param_names, *function.free))
    for stmt in ir.statements(function.body):
        call = _made(stmt)
        container = None if call is None else _container(call)
        for name in () if isinstance(stmt, ir.Update) else ir.binds(stmt):  # (`q += xs` extends)
            before = found.setdefault(name, container)
            if before != container:
                found[name] = None
    known = {name: container for name, container in found.items() if container is not None}
    for name, container in known.items():
        if container.is_bounded:
            maxlen = context.temporary(f"{name}_maxlen")
            known[name] = dataclasses.replace(container, maxlen=maxlen)
    return known


def _container(call: ir.Call) -> _Container | None:
    assert isinstance(call.fn, ir.Ref)
    words = dict(call.kwargs)
    match call.fn.obj, call.args:
        case cls, args if cls is deque and len(args) <= 2 and words.keys() <= {"maxlen"}:
            limit = _limit(call)
            return _Container(deque, maxlen="" if limit is None else "maxlen")
        case cls, (ir.Ref(obj=made), *_) if cls is defaultdict and len(call.args) <= 2:
            default = next((e for kind, e in _DEFAULTS.items() if made is kind), None)
            if isinstance(made, types.FunctionType):
                default = ir.Call(call.args[0], ())
            return None if default is None else _Container(defaultdict, default)
        case cls, () if cls is Counter and not words:
            return _Container(Counter, ir.Const(0))
        case cls, _ if cls is OrderedDict and (call.args or words):
            return _Container(OrderedDict)
    return None


def _computes_value(stmt: ir.Stmt, update: ir.Update) -> bool:
    """Whether a statement before an update is of the same line, and does not find its place."""
    found = ir.names_in(update.target).intersection(ir.binds(stmt))
    return stmt.origin.place == update.origin.place and not found


def _limit(call: ir.Call) -> ir.Expr | None:
    """The `maxlen` that a deque is given, unless it has none."""
    limit = dict(call.kwargs).get("maxlen", call.args[1] if len(call.args) > 1 else None)
    return None if limit == ir.Const(None) else limit


@dataclasses.dataclass
class _Normalizer(ir.Rewriter):
    found: dict[str, _Container]
    context: Context
    makes: bool = False  # defaultdicts: what nothing is known of may be one
    loses: bool = False  # what nothing is known of may be a deque, and lose items
    present: frozenset[tuple[str, str]] = frozenset()  # a dict, and a key that it surely has

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            *before, last = self.parts(stmt)
            if before and isinstance(last, ir.Update):  # Python looks there before it computes
                at = len(out)
                while at and _computes_value(out[at - 1], last):
                    at -= 1
                out[at:at] = before
            else:
                out += before
            out.append(last)
        return tuple(out)

    def parts(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        made = _made(stmt)
        if made is not None and isinstance(stmt, ir.Assign) and stmt.target in self.found:
            return self.constructed(stmt, made, self.found[str(stmt.target)])
        if made is not None and isinstance(made.fn, ir.Ref) and made.fn.obj is defaultdict:
            assert isinstance(stmt, ir.Assign)
            explicit = dataclasses.replace(made, fn=self.context.helper("ExplicitDefaults"))
            stmt = dataclasses.replace(stmt, value=explicit)
        before, stmt = self.with_entries(stmt)
        match stmt:
            case ir.Do(value=ir.Call(ir.Attribute(ir.Var() as q, "rotate"), (*shift,), ())) if (
                self.context.kind_of(q).cls is deque
            ):
                arg = shift[0] if shift else ir.Const(1)
                return [*before, *self.context.instead(stmt, _ROTATES, q=q, arg=arg)]
        name = _put_at_an_end(stmt, self.context) if self.loses else ""
        if name and name not in self.found:
            left = stmt.value.fn.name == "appendleft"  # type: ignore[union-attr]
            text = _MAKES_ROOM.format("pop" if left else "popleft")
            return [*before, *self.context.instead(stmt, text, q=ir.Var(name)), stmt]
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name) as base, method)) as call) | (
                ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(name) as base, method)) as call)
            ):
                container = self.found.get(name)
                if container is not None and container.cls is deque and method in CHANGES:
                    arg = call.args[0] if call.args else ir.Const(1)  # (of `rotate`)
                    return [*before, *self.deque(stmt, method, container, q=base, arg=arg)]
        if not ir.is_compound(stmt):
            return [*before, stmt]
        outer = self.present
        if isinstance(stmt, ir.For):
            self.present |= _keys_run_over(stmt)
        stmt = self.inside(stmt)
        self.present = outer
        return [*before, stmt]

    # ------------------------------------------------------------------- where one is made

    def constructed(self, stmt: ir.Assign, call: ir.Call, container: _Container) -> list[ir.Stmt]:
        if container.cls is deque:
            items = () if call.args[:1] == (ir.Const(None),) else call.args[:1]
            given = {"arg": items[0]} if items else {}
            limit = _limit(call) or ir.Const(None)
            return self.deque(stmt, "deque" if items else "", container, maxlen=limit, **given)
        args = call.args[1:] if container.cls is defaultdict else call.args
        if not args and not call.kwargs:
            return [dataclasses.replace(stmt, value=ir.Display("dict", ()))]
        if not args:
            keys = tuple(ir.Const(word) for word, _ in call.kwargs)
            entries = ir.Display("dict", tuple(value for _, value in call.kwargs), keys)
            return [dataclasses.replace(stmt, value=entries)]
        return [dataclasses.replace(stmt, value=ir.Call(ir.DICT, args, call.kwargs, call.at))]

    def deque(
        self, stmt: ir.Assign | ir.Do, method: str, container: _Container, **given: ir.Expr
    ) -> list[ir.Stmt]:
        """What a method of a deque, or making one, does to the list that stands for it."""
        texts = _BOUNDED_DEQUES if container.is_bounded else _DEQUES
        if method not in texts:
            return [stmt]
        given["limit"] = ir.Var(container.maxlen)
        return self.context.instead(stmt, texts[method], **given)

    def with_entries(self, stmt: ir.Stmt) -> tuple[list[ir.Stmt], ir.Stmt]:
        """A statement with the entries made beforehand that it reads and that may be missing."""
        before: list[ir.Stmt] = []
        helper = self.context.helper

        def entry(expr: ir.Expr, at_once: bool = True) -> ir.Expr:
            match expr:
                case ir.Index(ir.Ref(obj=obj) as base, key) if _has_default(obj):
                    return ir.Call(helper("existing_entry"), (base, key), at=stmt.origin.place)
                case ir.Index(ir.Var(name) as base, key) if name in self.found:
                    return self._read(stmt, base, key, expr, before)
                case ir.Index(base, key) if not _slices(key) and (text := self._making(base)):
                    if not at_once:
                        return ir.Call(helper("existing_entry"), (base, key), at=stmt.origin.place)
                    key = self._named_key(key, stmt, before)
                    given = {"missing": helper("missing_entry"), "makes": helper("makes_entry")}
                    before.extend(self.context.instead(stmt, text, d=base, key=key, **given))
                    return ir.Index(base, key, expr.at)
                case ir.Lazy():
                    at_once = False
            return ir.rebuild(expr, lambda inner: entry(inner, at_once))

        if isinstance(stmt, ir.Update):  # (of `d[k] = v`, only the key is read)
            outer = isinstance(stmt.target, ir.Index) and isinstance(stmt.target.base, ir.Ref)
            target = stmt.target if outer else entry(stmt.target)
            assert isinstance(target, ir.Var | ir.Index | ir.Attribute)
            return before, dataclasses.replace(stmt, target=target, value=entry(stmt.value))
        often = isinstance(stmt, ir.While)  # (its test is made again and again)
        return before, ir.map_statement(stmt, expr=lambda expr: entry(expr, not often))

    def _read(
        self, stmt: ir.Stmt, base: ir.Var, key: ir.Expr, expr: ir.Index, before: list[ir.Stmt]
    ) -> ir.Expr:
        """The read of an entry of a dict that stands for a container, made `before` if need be."""
        container = self.found[base.name]
        default = container.default
        there = isinstance(key, ir.Var) and (base.name, key.name) in self.present
        if default is None or there:
            return expr
        key = self._named_key(key, stmt, before)
        if container.cls is Counter and not isinstance(stmt, ir.Update):
            return ir.Call(ir.Attribute(base, "get"), (key, default), at=stmt.origin.place)
        text = "if not key in d: d[key] = default"
        if isinstance(default, ir.Call):
            text = "if not key in d:\n    entry = default\n    d[key] = entry"
            default = dataclasses.replace(default, at=stmt.origin.place)
        before.extend(self.context.instead(stmt, text, d=base, key=key, default=default))
        return ir.Index(base, key, expr.at)

    def _making(self, base: ir.Expr) -> str:
        """The statements that make an entry that `base` lacks; none if it is not a defaultdict."""
        kind = self.context.kind_of(base)
        if kind.cls is defaultdict:
            return f"if not key in d:{_MISSING_ENTRY}"
        if self.makes and _may_be_dict(kind) and not isinstance(base, ir.Ref):
            return f"if makes(d, key):{_MISSING_ENTRY}"
        return ""

    def _named_key(self, key: ir.Expr, stmt: ir.Stmt, before: list[ir.Stmt]) -> ir.Expr:
        """A key that is read three times is worked out once."""
        parts = key.items if isinstance(key, ir.Display) else (key,)
        if all(isinstance(part, ir.Atom) for part in parts):
            return key
        name = self.context.temporary("key")
        before.append(ir.Assign(name, key, stmt.origin))
        return ir.Var(name)


def _slices(key: ir.Expr) -> bool:
    """Whether a key is, or has, a slice, which is none of a dict."""
    return any(isinstance(part, ir.Slice) for part in ir.walk(key))


def _keys_run_over(loop: ir.For) -> frozenset[tuple[str, str]]:
    """The dict whose keys a loop runs over, with the name of the key, if its body takes none out
    (a loop variable is never bound again)."""
    match loop:
        case ir.For(target=str(key), iter=ir.Var(name)):
            taking = ("pop", "clear")
            taken = any(
                isinstance(part, ir.Attribute) and part.base == ir.Var(name) and part.name in taking
                for stmt in ir.statements(loop.body)
                for expr in ir.expressions(stmt)
                for part in ir.walk(expr)
            )
            return frozenset() if taken else frozenset({(name, key)})
    return frozenset()


# --------------------------------------------------------------------------------------------------
# Whether a function uses a container of the module `collections` as it would a list or dict.


# Methods of a deque that change it; those with a bound may let an item fall out.
CHANGES = (
    *("append", "appendleft", "pop", "popleft", "extend", "extendleft", "insert"),
    *("remove", "clear", "reverse", "rotate"),
)
_BOUNDED = ("append", "appendleft", "extend", "pop", "popleft", "clear", "rotate")
_OF_MAPPING = ("items", "keys", "values", "get", "pop")
_METHODS: dict[type, tuple[str, ...]] = {
    deque: (*CHANGES, "index", "count"),
    defaultdict: (*_OF_MAPPING, "setdefault", "update", "clear"),
    OrderedDict: (*_OF_MAPPING, "setdefault", "update", "clear"),
    Counter: _OF_MAPPING,
}
_READING = (
    *(len, bool, operator.not_, operator.contains, builtins.sum, max, min, list, tuple, sorted),
    *(zip, enumerate, reversed),
)
_MAKES_ENTRIES = (defaultdict, Counter)


def used_like(cls: type, name: str, is_bounded: bool, function: ir.Function) -> bool:
    """Whether a list (of a deque) or dict in its place would do the same in all of a function."""
    methods = _BOUNDED if is_bounded else _METHODS[cls]
    uses = _Uses(cls, name, methods)
    return all(map(uses.statement, ir.statements(function.body)))


class _Uses:
    def __init__(self, cls: type, name: str, methods: tuple[str, ...]):
        self.cls = cls
        self.name = name
        self.methods = methods

    def statement(self, stmt: ir.Stmt) -> bool:
        if self.name not in ir.reads(stmt):
            return True
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(self.name), _)) as call) | (
                ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(self.name), _)) as call)
            ):
                return self.method(call)
            case ir.Store(target=ir.Index(ir.Var(self.name), key), value=value):
                return self.as_key(key) and self.value(value)
            case ir.Update(ir.Var(self.name), ir.Ref(obj=operator.iadd), value):
                return "insert" in self.methods and self.value(value)
            case ir.For(iter=iterable):
                return self.header(iterable) and not self.is_changed(stmt.body)
            case ir.If() | ir.While():
                return self.test(stmt.test, stays=isinstance(stmt, ir.If))
            case ir.OpaqueStmt() | ir.Enter() | ir.Leave():
                return False
        return all(map(self.value, ir.expressions(stmt)))

    def method(self, call: ir.Call) -> bool:
        assert isinstance(call.fn, ir.Attribute)
        given = ir.arguments(call)
        simple = self.cls is not deque or not (call.kwargs or (call.fn.name == "pop" and given))
        return call.fn.name in self.methods and simple and all(map(self.value, given))

    def value(self, expr: ir.Expr) -> bool:
        """Whether an expression uses the container only to read from it, at once."""
        match expr:
            case ir.Var():
                return expr.name != self.name
            case ir.Index(ir.Var(self.name), key):
                return self.as_key(key)
            case ir.Lazy():
                return self.test(expr, stays=False)
            case ir.Call(fn=ir.Ref(obj=obj), args=args) if self.is_reading(obj):
                rest = (value for _, value in expr.kwargs)
                inner = (arg for arg in args if arg != ir.Var(self.name))
                return all(map(self.value, (*inner, *rest)))
        return all(map(self.value, ir.children(expr)))

    def is_reading(self, obj: Any) -> bool:
        """Whether a function reads what is in such a container, and does nothing else with it: of
        a deque NumPy makes the array that it makes of a list."""
        return any(obj is fn for fn in _READING) or (self.cls is deque and is_numpy(obj))

    def as_key(self, key: ir.Expr) -> bool:
        return not isinstance(key, ir.Slice) and self.value(key)

    def header(self, iterable: ir.Expr) -> bool:
        return iterable == ir.Var(self.name) or self.value(iterable)

    def test(self, expr: ir.Expr, stays: bool) -> bool:
        """A test: `stays` says that it is made once, after all of its parts are worked out."""
        if expr == ir.Var(self.name):
            return True
        if isinstance(expr, ir.Lazy) and expr.form in ("and", "or"):
            return all(self.test(item, stays=False) for item in expr.items)
        entries = (e for e in ir.walk(expr) if isinstance(e, ir.Index))
        makes = self.cls in _MAKES_ENTRIES  # (where it is read, a missing entry is made)
        if makes and not stays and any(entry.base == ir.Var(self.name) for entry in entries):
            return False
        if isinstance(expr, ir.Lazy):
            return all(map(self.value, ir.children(expr)))
        return self.value(expr)

    def is_changed(self, block: ir.Block) -> bool:
        """Whether a block may add items or take some away: Python refuses that in a loop."""
        for stmt in ir.statements(block):
            match stmt:
                case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(self.name), method))) | (
                    ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(self.name), method)))
                ):
                    if self.cls is deque and method in CHANGES:
                        return True
        return False
