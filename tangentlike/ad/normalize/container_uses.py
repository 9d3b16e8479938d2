"""Whether a function uses a container of the module `collections` as it would a list or dict."""

from __future__ import annotations

import builtins
import operator
from collections import Counter, OrderedDict, defaultdict, deque

from ... import ir

# Methods of a deque that change it; those with a bound may let an item fall out.
CHANGES = ("append", "appendleft", "pop", "popleft", "extend", "remove", "clear", "reverse")
_BOUNDED = ("append", "appendleft", "pop", "popleft", "clear")
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
                return self.key(key) and self.value(value)
            case ir.For(iter=iterable):
                return self.header(iterable) and not self.is_changed(stmt.body)
            case ir.If() | ir.While():
                return self.test(stmt.test, stays=isinstance(stmt, ir.If))
            case ir.OpaqueStmt() | ir.Enter() | ir.Leave():
                return False
        return all(map(self.value, ir.expressions(stmt)))

    def method(self, call: ir.Call) -> bool:
        assert isinstance(call.fn, ir.Attribute)
        given = (*call.args, *(value for _, value in call.kwargs))
        simple = self.cls is not deque or not (call.kwargs or (call.fn.name == "pop" and given))
        return call.fn.name in self.methods and simple and all(map(self.value, given))

    def value(self, expr: ir.Expr) -> bool:
        """Whether an expression uses the container only to read from it, at once."""
        match expr:
            case ir.Var():
                return expr.name != self.name
            case ir.Index(ir.Var(self.name), key):
                return self.key(key)
            case ir.Lazy():
                return self.test(expr, stays=False)
            case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is fn for fn in _READING):
                rest = (value for _, value in expr.kwargs)
                inner = (arg for arg in args if arg != ir.Var(self.name))
                return all(map(self.value, (*inner, *rest)))
        return all(map(self.value, ir.children(expr)))

    def key(self, key: ir.Expr) -> bool:
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
