"""Array modules that a function asks its arrays for: `xp = x.__array_namespace__()`.

before::                                  after, where arrays are NumPy's::

    xp = x.__array_namespace__()              namespace = x.__array_namespace__()
    y = xp.tanh(x)                            require_module(namespace, xp)
                                              y = xp.tanh(x)

Such a name is read like one that the function imports (`import numpy as xp`): the arguments of the
call tell which module it is, and the check that it is that one runs with the derivative.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable
from typing import Any

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.lower import Lowered
from ..frontend.owners import is_installed, is_of_runtime, module_of
from ..frontend.resolve import note_module_asked
from ..frontend.survey import Imported
from ..ir.facts import fact
from ..ir.kind import asks_for_namespace, asks_modules
from ..ir.names import Names
from ..pytree import leaves
from ..runtime import require_module
from ..runtime.standard import home_of


def with_namespace(lowered: Lowered, module: types.ModuleType | None) -> Lowered:
    """A function that knows the module it asks for, if there is one."""
    function = lowered.function
    if module is None:
        if fact(asks_modules, function):
            note_module_asked()
        return lowered
    bound = ir.bindings(list(ir.statements(function.body)), function.param_names)
    known: dict[str, ir.Ref] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=value) if bound[name] == 1:
                if asks_for_namespace(value):
                    known[name] = ir.Ref(name, module)
    if not known:
        return lowered
    reader = _Reader(known, bound, Names([*bound, *function.param_names]))
    body = reader.block(function.body)
    imports = {ref.text: Imported(module, module.__name__) for ref in reader.roots.values()}
    scope = dataclasses.replace(lowered.scope, imports={**lowered.scope.imports, **imports})
    made = frozenset((*lowered.temporaries, *reader.asked))
    function = dataclasses.replace(function, body=body)
    return dataclasses.replace(lowered, function=function, scope=scope, temporaries=made)


def refuse_unwrapped(functions: Iterable[ir.Function]) -> None:
    """Refuse what sees that arrays of the standard are wrapped while a derivative runs: programs
    that ask for the very class of an array, and arrays that no argument brings."""
    for function in functions:
        for param in function.params:
            if isinstance(param.default, ir.Ref):
                _refuse(param.default, function.place)
        for stmt in ir.statements(function.body):
            parts = [*ir.walk_statement(stmt)]
            held = [stmt, *parts]
            refs = [ref for part in held for ref in getattr(part, "refs", ())]
            for ref in (*refs, *(part for part in parts if isinstance(part, ir.Ref))):
                _refuse(ref, stmt.origin.place)


def _refuse(ref: ir.Ref, place: Place | None) -> None:
    if _asks_type(ref):
        raise UnsupportedError(
            "`type` is asked for the class of a value, which for arrays of the array API standard "
            "is another one while a derivative runs",
            place,
            "Write isinstance(x, ..) instead of type(x) is ...",
        )
    held = [ref.obj, *leaves.arrays(ref.obj)] if not callable(ref.obj) else []
    homes = [home for value in held if (home := home_of(type(value)))]
    if homes:
        raise UnsupportedError(
            f"`{ref.text}`, which is defined outside, is or holds an array of {homes[0]}",
            place,
            "Pass it as an argument: the derivative finds the array's module by the arguments.",
        )


def _asks_type(ref: ir.Ref) -> bool:
    code = getattr(ref.obj, "__code__", None)
    if ref.obj is type:
        return True
    own = not is_of_runtime(ref.obj) and not is_installed(module_of(ref.obj))
    return isinstance(code, types.CodeType) and own and "type" in code.co_names


class _Reader(ir.Rewriter):
    """Puts what modules hold for the names of it; `known` are the names of modules."""

    def __init__(self, known: dict[str, ir.Ref], bound: Any, names: Names) -> None:
        self.roots = dict(known)
        self.asked: list[str] = []
        self._known, self._bound, self._names = known, bound, names

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        match stmt:
            case ir.Assign(target=str(name), value=value) if name in self.roots:
                asked = self._names.fresh("namespace")
                self.asked.append(asked)
                check = ir.Ref(require_module.__name__, require_module)
                call = ir.Call(check, (ir.Var(asked), self.roots[name]), at=stmt.origin.place)
                first = dataclasses.replace(stmt, target=asked, value=self._expr(value, stmt))
                return first, ir.Do(call, stmt.origin)
            case ir.Assign(target=str(name), value=ir.Attribute() as value):
                found = self._expr(value, stmt)
                inner = isinstance(found, ir.Ref) and isinstance(found.obj, types.ModuleType)
                if inner and self._bound[name] == 1:
                    self._known[name] = found  # type: ignore[assignment]
                    return ()
        return self.inside(ir.map_statement(stmt, lambda e: self._expr(e, stmt)))

    def _expr(self, expr: ir.Expr, stmt: ir.Stmt) -> ir.Expr:
        if isinstance(expr, ir.Var):
            return self._known.get(expr.name, expr)
        expr = ir.rebuild(expr, lambda e: self._expr(e, stmt))
        match expr:
            case ir.Attribute(ir.Ref(text=text, obj=types.ModuleType() as module), name):
                if text.partition(".")[0] in self.roots:
                    return ir.Ref(f"{text}.{name}", _member(module, text, name, stmt))
        return expr


def _member(module: types.ModuleType, text: str, name: str, stmt: ir.Stmt) -> Any:
    found = getattr(module, name, None)
    if found is None:
        raise UnsupportedError(
            f"`{text}` is the module of {module.__name__.rpartition('.')[2]}, and has no `{name}`",
            stmt.origin.place,
            "Write it with functions that it has; docs/cupy.md lists those of the array API.",
        )
    return found
