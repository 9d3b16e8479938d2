"""What a derivative asks of its arguments besides their values: what they are.

The answers are `structures`; a derivative that asks for them is made for arguments like those of
the call.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ir, runtime
from ..errors import UnknownClassError, UnknownRankError

__all__ = ["Asked", "asked_by", "asks_for_ranks", "runs_over_names", "takes_arrays"]

_ASKING = (
    *(runtime.require_array, runtime.require_mutable, runtime.require_ndim),
    *(runtime.require_values, runtime.sorting_order),
)


@dataclass(frozen=True)
class Asked:
    """Whether it matters which arguments are dicts (`names`, whatever their keys), which are lists
    (`lists`), which are numbers and of how many axes the arrays are (`ranks`), and which are None
    (`nothing`)."""

    names: bool
    lists: bool
    ranks: bool
    nothing: bool


def asked_by(made: Callable[[], Any]) -> Asked:
    """What a derivative asks that `made` gives (a `pipeline.Derived`); one that cannot be made yet
    may ask for what its refusal is about."""
    try:
        derived = made()
    except UnknownRankError:
        return Asked(True, True, True, True)
    except UnknownClassError:
        return Asked(True, False, True, True)
    functions = derived.module.functions
    every = (derived.lowered.function, *functions)
    return Asked(
        any(map(runs_over_names, every)) or any(map(saves_contents, functions)),
        any(map(takes_arrays, every)) or any(map(saves_contents, functions)),
        any(map(asks_for_ranks, functions)),
        any(map(asks_objects, functions)),
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
    one: that makes a new list, and a view of an array.

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

    return any(
        tells_apart(part)
        for stmt in ir.statements(function.body)
        for value in ir.expressions(stmt)
        for part in ir.walk(value)
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
    return any(obj in _ASKING for obj in _called(function) if isinstance(obj, types.FunctionType))


def asks_objects(function: ir.Function) -> bool:
    """Whether a function asks objects when it runs for what they have under a name: a parameter
    may be a module, or None where one is chosen then."""
    return any(obj is runtime.method_of for obj in _called(function))


def _called(function: ir.Function) -> Iterator[Any]:
    """What a function calls, where the text says which object that is."""
    return (
        getattr(part.fn, "obj", None)
        for stmt in ir.statements(function.body)
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
        if isinstance(part, ir.Call)
    )
