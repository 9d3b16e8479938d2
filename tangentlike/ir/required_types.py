"""What a derivative checks of its arguments when it runs: what kinds of values they are."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any

from .. import ir, runtime

_NAMESPACE = "__array_namespace__"  # the method of the array API standard

_ASKING = (
    *(runtime.require_array, runtime.require_mutable),
    *(runtime.require_values, runtime.require_sequence, runtime.sorting_order, runtime.Shadow),
)


def asks_for_ranks(function: ir.Function) -> bool:
    """Whether a function checks when it runs that something is an array, or a number: what
    `x += v` does to the caller's `x` depends on it."""
    called = [obj for obj in _called(function) if isinstance(obj, (types.FunctionType, type))]
    return any(obj in _ASKING for obj in called)


def asks_modules(function: ir.Function) -> bool:
    """Whether a function asks arrays for the module whose they are."""
    return any(asks_for_namespace(part) for part in ir.walk_block(function.body))


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
        for part in ir.walk_block(function.body)
        if isinstance(part, ir.Call)
    )
