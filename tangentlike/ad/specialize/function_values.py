"""Function values: what a name stands for that is called, where that can be seen.

A function value is written as what it is made of: a reference, or `partial(g, a, k=b)` of one. A
local function is the partial of a function that takes what it captures (`frontend.lifting`).
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from ... import ir
from ...frontend.lifting import PARTIAL, rebound_names
from .operators import derivative_value, operator_name

FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc)
_NUMBERS = (int, float, complex, np.number)


def is_partial(expr: Any) -> bool:
    """Whether an expression is `functools.partial(...)` of something."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, *_)):
            return obj is functools.partial
    return False


def is_function(expr: Any) -> bool:
    """Whether an expression refers to a function of Python or NumPy, or a class of numbers."""
    if not isinstance(expr, ir.Ref):
        return False
    if isinstance(expr.obj, type):
        return issubclass(expr.obj, _NUMBERS)
    return isinstance(expr.obj, FUNCTIONS)


def starred_name(expr: ir.Expr) -> str:
    """The name in `*xs` or `**options`; "" for anything else."""
    match expr:
        case ir.Opaque(text=text, names=(name,), values=(ir.Var(now),)):
            return now if text.lstrip("*") == name and text != name else ""
    return ""


def unwrapped(fn: ir.Ref) -> ir.Expr:
    """What a `functools.partial` or a cached function of the module stands for."""
    obj = fn.obj
    if isinstance(obj, functools._lru_cache_wrapper):
        return unwrapped(ir.Ref(f"{fn.text}.__wrapped__", obj.__wrapped__))
    if isinstance(obj, functools.partial):
        target = unwrapped(ir.Ref(f"{fn.text}.func", obj.func))
        args = (
            ir.Index(ir.Ref(f"{fn.text}.args", obj.args), ir.Const(i)) for i in range(len(obj.args))
        )
        words = ir.Ref(f"{fn.text}.keywords", obj.keywords)
        kwargs = tuple((word, ir.Index(words, ir.Const(word))) for word in obj.keywords)
        if is_partial(target):
            assert isinstance(target, ir.Call)
            return ir.Call(PARTIAL, (*target.args, *args), (*target.kwargs, *kwargs))
        return ir.Call(PARTIAL, (target, *args), kwargs)
    return fn


class FunctionValues:
    """Which names of a function stand for which functions; `learn` goes through it in order."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.rebound = rebound_names(function)
        self.counts: dict[str, int] = dict.fromkeys(function.param_names, 1)
        for stmt in ir.statements(function.body):
            for name in ir.binds(stmt):
                self.counts[name] = self.counts.get(name, 0) + 1
        self.known: dict[str, ir.Expr] = {}

    def value_of(self, expr: ir.Expr) -> ir.Expr | None:
        """The function an expression stands for: a reference, or a partial of one whose
        arguments are atoms or function values in turn; None where that is not known."""
        match expr:
            case ir.Var(name):
                return self.known.get(name)
            case ir.Ref():
                found = unwrapped(expr)
                return found if is_function(found) or is_partial(found) else None
            case ir.Index(base=ir.Var(name), key=ir.Const(int(position))):
                items = self.known.get(name)
                if isinstance(items, ir.Display) and -len(items.items) <= position < len(
                    items.items
                ):
                    return self.value_of(items.items[position])
            case ir.Call(args=(first, *args)) if is_partial(expr):
                target = self.value_of(first)
                if target is None or isinstance(target, ir.Display):
                    return None
                args = [self.expanded(a) for a in args]
                kwargs = {word: self.expanded(a) for word, a in expr.kwargs}
                if isinstance(target, ir.Call):
                    kwargs = {**dict(target.kwargs), **kwargs}
                    args = [*target.args[1:], *args]
                    target = target.args[0]
                return ir.Call(PARTIAL, (target, *args), tuple(kwargs.items()), expr.at)
            case ir.Call(args=(first, *_)) if operator_name(expr) == "function":
                inner = self.value_of(first)
                if isinstance(inner, ir.Ref | ir.Call):
                    return derivative_value(expr, inner)
        return None

    def expanded(self, expr: ir.Expr) -> ir.Expr:
        value = self.value_of(expr)
        return expr if value is None or isinstance(value, ir.Display) else value

    def learn(self, stmt: ir.Stmt) -> None:
        """Remember the function that a statement binds a name to."""
        match stmt:
            case ir.Assign(target=str(name), value=value) if self.counts[name] == 1:
                if isinstance(value, ir.Display):
                    if self.stays(name, value):
                        self.known[name] = value
                    return
                known = self.value_of(value)
                if known is not None:
                    self.known[name] = known

    def stays(self, name: str, value: ir.Display) -> bool:
        """Whether a container holds the same items as long as its name lives."""
        again = {i.name for i in value.items if isinstance(i, ir.Var)} & self.rebound
        if again and not (again <= self.made_with and self.counts[name] == 1):
            return False
        return value.form == "tuple" or name in self.read_only

    @functools.cached_property
    def made_with(self) -> frozenset[str]:
        """The names of functions that stand in the same block just before a display of them, and
        get their values again only together with it (but where an exception comes between)."""
        if any(isinstance(s, ir.Try) for s in ir.statements(self.function.body)):
            return frozenset()
        blocks = [b for s in ir.statements(self.function.body) for b in ir.blocks(s)]
        found: set[str] = set()
        for block in (self.function.body, *blocks):
            fresh: set[str] = set()
            for stmt in block:
                match stmt:
                    case ir.Assign(target=str(name), value=value) if self.counts[name] == 1:
                        if is_partial(value):
                            fresh.add(name)
                            continue
                        if isinstance(value, ir.Display):
                            found |= fresh & ir.names_in(value)
                fresh.clear()
        return frozenset(found)

    @functools.cached_property
    def read_only(self) -> frozenset[str]:
        """The names of containers that are only read, item by item or starred."""
        found = {n for s in ir.statements(self.function.body) for n in ir.binds(s)}
        pending = [e for s in ir.statements(self.function.body) for e in ir.expressions(s)]
        for stmt in ir.statements(self.function.body):
            match stmt:
                case (
                    ir.Store(target=target)
                    | ir.Update(target=target)
                    | ir.Return(value=ir.Var() as target)
                ):
                    found -= ir.names_in(target)
        while pending:
            match pending.pop():
                case ir.Var(name):
                    found.discard(name)
                case ir.Index(base=ir.Var(), key=key):
                    pending.append(key)
                case ir.Attribute(base=ir.Var(), name="get" | "keys"):
                    pass
                case ir.Opaque() as code if ir.is_starred(code):
                    pending += [v for v in code.values if not isinstance(v, ir.Var)]
                case expr:
                    pending += ir.children(expr)
        return frozenset(found)


def known_result(function: ir.Function) -> ir.Expr | None:
    """The function value that a function returns, if that can be seen."""
    last = function.body[-1] if function.body else None
    if not isinstance(last, ir.Return) or last.value is None:
        return None
    values = FunctionValues(function)
    for stmt in function.body:
        values.learn(stmt)
    return values.value_of(last.value)
