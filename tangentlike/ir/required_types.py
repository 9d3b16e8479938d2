"""What a derivative asks of its arguments besides their values: what they are.

The answers are `structures`; a derivative that asks for them is made for arguments like those of
the call.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ir, runtime
from ..errors import UnknownClassError, UnknownRankError

__all__ = [
    *("Asked", "asked_by", "asks_for_namespace", "asks_for_ranks", "runs_over_names"),
    "takes_arrays",
]

_NAMESPACE = "__array_namespace__"  # the method of the array API standard

_ASKING = (
    *(runtime.require_array, runtime.require_mutable, runtime.require_ndim),
    *(runtime.require_values, runtime.require_sequence, runtime.sorting_order, runtime.Shadow),
)


@dataclass(frozen=True)
class Asked:
    """Whether it matters which arguments are dicts (`names`, whatever their keys), which are lists
    (`lists`), which are numbers and of how many axes the arrays are (`ranks`), and which are None
    (`nothing`), and which module the arrays name as theirs (`modules`)."""

    names: bool
    lists: bool
    ranks: bool
    nothing: bool
    modules: bool = False


def asked_by(made: Callable[[], Any]) -> Asked:
    """What a derivative asks that `made` gives (a `pipeline.Derived`); one that cannot be made yet
    may ask for what its refusal is about."""
    try:
        derived = made()
    except UnknownRankError:
        return Asked(True, True, True, True, True)
    except UnknownClassError:
        return Asked(True, False, True, True, True)
    functions = derived.module.functions
    every = (derived.lowered.function, *functions)
    return Asked(
        any(map(runs_over_names, every)) or any(map(saves_contents, functions)),
        any(map(takes_arrays, every)) or any(map(saves_contents, functions)),
        any(map(asks_for_ranks, functions)),
        any(map(asks_objects, functions)),
        any(map(asks_modules, every)),
    )


def runs_over_names(function: ir.Function) -> bool:
    """Whether a function runs over something that may be a dict, or takes all that it yields.

    >>> from ..frontend.lower import program
    >>> runs_over_names(program("for k in d: ks.append(k)")), runs_over_names(program("y = d[0]"))
    (True, False)
    """
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.For(iter=ir.Var()):
                return True
            case ir.For(iter=ir.Call(args=args)) if any(isinstance(a, ir.Var) for a in args):
                return True
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(), *_))):
                if obj in (list, tuple, sorted, runtime.sorting_order):
                    return True
    return False


def takes_arrays(function: ir.Function) -> bool:
    """Whether a function hands a parameter to a ufunc, which takes a list for an array, or slices
    one: that makes a new list, and a view of an array. What `p *= 2` makes of a list is longer.

    >>> from ..frontend.lower import program
    >>> takes_arrays(program("return np.multiply(x, y)")), takes_arrays(program("y = x[1:]"))
    (True, True)
    """
    params = frozenset(map(ir.Var, function.param_names))

    def tells_apart(part: ir.Expr) -> bool:
        match part:
            case ir.Index(base, ir.Slice()):
                return base in params
            case ir.Call(ir.Ref(obj=np.ufunc()), args):
                return any(arg in params for arg in args if isinstance(arg, ir.Var))
        return False

    def stored(stmt: ir.Stmt) -> bool:
        match stmt:
            case ir.Store(target=target) | ir.Update(target=ir.Index() as target):
                return tells_apart(target)
            case ir.Update(target=ir.Var() as target, op=ir.Ref(obj=operator.imul)):
                return target in params
        return False

    return any(
        stored(stmt) or any(tells_apart(part) for e in ir.expressions(stmt) for part in ir.walk(e))
        for stmt in ir.statements(function.body)
    )


def saves_contents(function: ir.Function) -> bool:
    """Whether a function saves all that a parameter holds, as entries of an array: `copy(x[...])`.
    (Of a list that is `x[:]`, and a dict or object has no such entries.)"""
    params = frozenset(map(ir.Var, function.param_names))
    return any(
        stmt.origin.role == "save" and part.base in params and part.key == ir.Const(Ellipsis)
        for stmt in ir.statements(function.body)
        for value in ir.expressions(stmt)
        for part in ir.walk(value)
        if isinstance(part, ir.Index)
    )


def asks_for_ranks(function: ir.Function) -> bool:
    """Whether a function checks when it runs that something is an array, or a number: what
    `x += v` does to the caller's `x` depends on it."""
    called = [obj for obj in _called(function) if isinstance(obj, (types.FunctionType, type))]
    return any(obj in _ASKING for obj in called)


def asks_objects(function: ir.Function) -> bool:
    """Whether a function asks objects when it runs for what they have under a name: a parameter
    may be a module, or None where one is chosen then."""
    return any(obj is runtime.method_of for obj in _called(function))


def asks_modules(function: ir.Function) -> bool:
    """Whether a function asks arrays for the module whose they are."""
    return any(
        asks_for_namespace(part)
        for stmt in ir.statements(function.body)
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
    )


def asks_for_namespace(expr: ir.Expr | None) -> bool:
    """Whether a call asks arrays for their module: by the standard's method, or by a function of
    Python that does."""
    match expr:
        case ir.Call(fn=ir.Attribute(name=name)):
            return name == _NAMESPACE
        case ir.Call(fn=ir.Ref(obj=types.FunctionType() as function)):
            if function.__name__ in ("array_namespace", "get_namespace"):
                return True
            return _NAMESPACE in function.__code__.co_names and _gives_namespace(function)
    return False


@functools.lru_cache(maxsize=256)
def _gives_namespace(function: types.FunctionType) -> bool:
    """Whether a function returns what it gets from `__array_namespace__`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    asked = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_question(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    names = {value.id for value in returned if isinstance(value, ast.Name)}
    return not names.isdisjoint(asked) or any(map(_is_question, returned))


def _is_question(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == _NAMESPACE


def _called(function: ir.Function) -> Iterator[Any]:
    """What a function calls, where the text says which object that is."""
    return (
        getattr(part.fn, "obj", None)
        for stmt in ir.statements(function.body)
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
        if isinstance(part, ir.Call)
    )
