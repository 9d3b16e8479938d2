"""Modules that are values: `def model(xp, w): return xp.tanh(w)`, and `xp = np` in a function.

before::                         after::
    y = xp.tanh(x)                   y = np.tanh(x)

Which module a name stands for is a fact about it (`Kind.module`), told by the call for a parameter,
so that a function which is given one is read once for each module.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping

import numpy as np

from ... import ir
from ...frontend.lower import Lowered, Scope
from ...ir.kind import NOTHING, UNKNOWN, Kind
from ...rules.definitions import as_defined
from ...rules.twins import as_numpy
from ...runtime import require_class, require_module, require_none


def functions_of_modules(lowered: Lowered, kinds: Mapping[str, Kind]) -> Lowered:
    """The function with what it takes from modules that are values, by the modules' names."""

    def module_of(expr: ir.Expr) -> types.ModuleType | None:
        match expr:
            case ir.Var(name):
                return kinds.get(name, UNKNOWN).module
            case ir.Attribute(ir.Var(name), field):
                of = kinds.get(name, UNKNOWN)
                return dict(of.fields).get(field, UNKNOWN).module
        return None

    ufuncs = _named_ufuncs(lowered.function)

    def expr(e: ir.Expr) -> ir.Expr:
        e = ir.rebuild(e, expr)
        if isinstance(e, ir.Attribute) and e.base in ufuncs:
            return dataclasses.replace(e, base=ufuncs[e.base])
        module = module_of(e.base) if isinstance(e, ir.Attribute) else None
        if module is None or not isinstance(e, ir.Attribute) or not hasattr(module, e.name):
            return e
        return ir.Ref(f"{_spelled(module, lowered.scope)}.{e.name}", getattr(module, e.name))

    body = ir.rewrite(lowered.function.body, expression=expr)
    if body is lowered.function.body:
        return lowered
    function = dataclasses.replace(lowered.function, body=body)
    return as_defined(as_numpy(dataclasses.replace(lowered, function=function)))


def _named_ufuncs(function: ir.Function) -> dict[ir.Expr, ir.Expr]:
    """The names that stand for one ufunc wherever they are read: `xp_add = np.add`."""
    bound = ir.bindings(list(ir.statements(function.body)), function.param_names)
    found: dict[ir.Expr, ir.Expr] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Ref(obj=np.ufunc()) as value):
                if bound[name] == 1:
                    found[ir.Var(name)] = value
    return found


def module_check(name: str, kind: Kind, function: ir.Function, scope: Scope) -> ir.Stmt | None:
    """The check that a parameter is the module it was taken for."""
    if kind.module is None or name not in function.param_names:
        return None
    expected = ir.Ref(_spelled(kind.module, scope), kind.module)
    check = ir.Ref(require_module.__name__, require_module)
    return ir.Do(
        ir.Call(check, (ir.Var(name), expected), at=function.place), ir.Origin(function.place)
    )


def _spelled(module: types.ModuleType, scope: Scope) -> str:
    """How a function calls a module: NumPy by its alias, others by their names."""
    root, dot, rest = module.__name__.partition(".")
    return f"{scope.numpy_alias if root == np.__name__ else root}{dot}{rest}"


# --------------------------------------------------------------------------------------------------
# What a function that was read for certain classes of objects checks first.


def guarded(lowered: Lowered, given: Mapping[str, Kind]) -> Lowered:
    """A function that begins with `require_class(layer, Layer)` for each object it is given, and
    with `require_none(xp)` for each None."""
    function = lowered.function
    origin = ir.Origin(function.place)
    checks: list[ir.Stmt] = [
        ir.Do(
            ir.Call(
                ir.Ref("require_class", require_class),
                (ir.Var(name), ir.Ref(kind.cls.__name__, kind.cls)),
                at=function.place,
            ),
            origin,
        )
        for name, kind in given.items()
        if kind.has_methods and kind.cls is not None and name in function.param_names
    ]
    modules = (module_check(n, k, function, lowered.scope) for n, k in given.items())
    checks += [check for check in modules if check is not None]
    nothing = ir.Ref("require_none", require_none)
    checks += [
        ir.Do(ir.Call(nothing, (ir.Var(name),), at=function.place), origin)
        for name, kind in given.items()
        if kind == NOTHING and name in function.param_names
    ]
    checks = [check for check in checks if check not in function.body[: len(checks)]]
    return lowered.with_body((*checks, *function.body)) if checks else lowered
