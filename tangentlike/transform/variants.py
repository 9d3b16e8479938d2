"""Callees made for one way of calling them: starred parameters and functions passed as arguments.

`total(*parts)` called with two arguments is the function

    def total(parts_0, parts_1):  parts = (parts_0, parts_1);  ...

and `twice(f, x)` called with `np.sin` is `twice` with `np.sin` where it says `f`. Such a variant
is called just as the original is, so nothing else has to know of it. Where a call of a variant
carries no derivative it becomes a call of the original again (`restored`).
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ir
from ..errors import UnsupportedError
from ..frontend import Lowered
from ..names import Names

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc)
_KINDS = {
    "positional": inspect.Parameter.POSITIONAL_ONLY,
    "any": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "*": inspect.Parameter.VAR_POSITIONAL,
    "keyword": inspect.Parameter.KEYWORD_ONLY,
    "**": inspect.Parameter.VAR_KEYWORD,
}


def is_starred(expr: ir.Expr) -> bool:
    """Whether an argument is written `*xs` or `**options`."""
    return isinstance(expr, ir.Opaque) and expr.text.startswith("*")


class Variants:
    """The variants of one transform, each made once. `lowered` gives a function's own form."""

    def __init__(self, lowered: Callable[[Any], Lowered]) -> None:
        self._lowered_of = lowered
        self._made: dict[Any, types.FunctionType] = {}
        self.lowered: dict[int, Lowered] = {}  # of variants, by id
        self.original: dict[int, Any] = {}  # variant (by id) -> the function it was made from

    def of_call(self, call: ir.Call) -> ir.Call:
        """The same call, of the variant that fits it; itself where the function does as it is."""
        assert isinstance(call.fn, ir.Ref)
        fn = call.fn.obj
        if any(map(is_starred, call.args)) or id(fn) in self.original:
            return call
        bound = _bind(fn, call)
        if bound is None:
            return call
        signature, arguments = bound
        starred = {
            name: value
            for name, value in arguments.items()
            if signature.parameters[name].kind in (_KINDS["*"], _KINDS["**"])
        }
        missing = _starred_names(signature) - starred.keys()
        functions = {
            name: value
            for name, value in arguments.items()
            if isinstance(value, ir.Ref) and isinstance(value.obj, _FUNCTIONS)
        }
        if not starred and not missing and not functions:
            return call
        key = (
            id(fn),
            tuple((n, tuple(v) if isinstance(v, dict) else len(v)) for n, v in starred.items()),
            tuple((name, ref.key) for name, ref in functions.items()),
        )
        if key not in self._made:
            self._make(key, call.fn, starred, functions)
        return dataclasses.replace(call, fn=ir.Ref(call.fn.text, self._made[key]))

    def _make(
        self, key: Any, fn: ir.Ref, starred: dict[str, Any], functions: dict[str, ir.Ref]
    ) -> None:
        lowered = self._lowered_of(fn.obj)
        function = _with_plain_parameters(lowered.function, starred)
        function = _with_functions(function, functions)
        obj = fn.obj
        variant = types.FunctionType(
            obj.__code__, obj.__globals__, obj.__name__, obj.__defaults__, obj.__closure__
        )
        variant.__module__, variant.__qualname__ = obj.__module__, obj.__qualname__
        variant.__kwdefaults__ = obj.__kwdefaults__
        variant.__signature__ = _signature(function)  # type: ignore[attr-defined]
        self._made[key] = variant
        self.lowered[id(variant)] = dataclasses.replace(lowered, function=function)
        self.original[id(variant)] = obj

    def restored(self, function: ir.Function) -> ir.Function:
        """A function in which what calls a variant calls the original."""
        if not self.original:
            return function

        def expr(e: ir.Expr) -> ir.Expr:
            if isinstance(e, ir.Ref) and id(e.obj) in self.original:
                return ir.Ref(e.text, self.original[id(e.obj)])
            return ir.rebuild(e, expr)

        def block(b: ir.Block) -> ir.Block:
            return tuple(ir.map_statement(s, expr=expr, block=block) for s in b)

        return dataclasses.replace(function, body=block(function.body))


def _bind(fn: Any, call: ir.Call) -> tuple[inspect.Signature, dict[str, Any]] | None:
    try:
        signature = inspect.signature(fn)
        return signature, dict(signature.bind(*call.args, **dict(call.kwargs)).arguments)
    except (TypeError, ValueError):
        return None  # refused where the call is differentiated


def _starred_names(signature: inspect.Signature) -> set[str]:
    kinds = (_KINDS["*"], _KINDS["**"])
    return {name for name, p in signature.parameters.items() if p.kind in kinds}


def _with_plain_parameters(function: ir.Function, starred: dict[str, Any]) -> ir.Function:
    """`def f(*xs)` as `def f(xs_0, xs_1): xs = (xs_0, xs_1)`."""
    names = Names(function.param_names)
    for stmt in ir.statements(function.body):
        names.take((*ir.binds(stmt), *ir.reads(stmt)))
    origin = ir.Origin(function.place)
    params: list[ir.Param] = []
    head: list[ir.Stmt] = []
    for param in function.params:
        if param.kind == "*":
            count = len(starred.get(param.name, ()))
            items = [names.fresh(f"{param.name}_{n}") for n in range(count)]
            params += [ir.Param(item) for item in items]
            value: ir.Expr = ir.Display("tuple", tuple(map(ir.Var, items)))
        elif param.kind == "**":
            items = list(starred.get(param.name, ()))
            _refuse_taken(items, function, names)
            params += [ir.Param(item, "keyword") for item in items]
            keys = tuple(map(ir.Const, items))
            value = ir.Display("dict", tuple(map(ir.Var, items)), keys)
        else:
            params.append(param)
            continue
        head.append(ir.Assign(param.name, value, origin))
    # (What stands before a `*` cannot be left out any more: it is given by position.)
    if any(p.kind == "*" for p in function.params):
        params = _without_early_defaults(params)
    return dataclasses.replace(function, params=tuple(params), body=(*head, *function.body))


def _without_early_defaults(params: Sequence[ir.Param]) -> list[ir.Param]:
    last = max((i for i, p in enumerate(params) if p.kind != "keyword"), default=-1)
    plain = last >= 0 and params[last].default is None
    return [
        dataclasses.replace(p, default=None) if plain and i < last and p.kind != "keyword" else p
        for i, p in enumerate(params)
    ]


def _refuse_taken(items: Sequence[str], function: ir.Function, names: Names) -> None:
    for item in items:
        if names.fresh(item) != item:
            raise UnsupportedError(
                f"the keyword argument `{item}` has the name of a local variable of "
                f"{function.name}",
                function.place,
                "Rename the variable: derivatives pass each keyword argument by its name.",
            )


def _with_functions(function: ir.Function, functions: dict[str, ir.Ref]) -> ir.Function:
    """A function with the functions it is given where it says the parameter's name."""
    bound = {name for stmt in ir.statements(function.body) for name in ir.binds(stmt)}
    values: dict[str, ir.Expr] = {n: f for n, f in functions.items() if n not in bound}
    if not values:
        return function

    def block(b: ir.Block) -> ir.Block:
        return tuple(
            ir.map_statement(s, expr=lambda e: ir.substitute(e, values), block=block) for s in b
        )

    return dataclasses.replace(function, body=block(function.body))


def _signature(function: ir.Function) -> inspect.Signature:
    """The signature of a lowered function; what a default is does not matter here."""
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(p.name, _KINDS[p.kind], default=empty if p.default is None else None)
            for p in function.params
        ]
    )
