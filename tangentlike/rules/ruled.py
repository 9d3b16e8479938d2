"""Reading a function to differentiate it: what it says, or a call of it where it has a rule."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.lower import Lowered, Scope, plain_helpers, read_once
from ..frontend.owners import is_installed, is_numpy, is_of_runtime, module_of
from ..frontend.primal import global_names
from ..frontend.resolve import note_module_asked
from ..frontend.signatures import plain_signature
from ..frontend.survey import Imported
from ..ir.facts import fact
from ..ir.kind import Kind, asks_for_namespace, asks_modules
from ..ir.names import Names
from ..pytree import leaves
from ..runtime import require_module
from ..runtime.records import attribute_of
from ..runtime.standard import home_of
from .book import KindOf, RuleBook, operation
from .definitions import as_defined
from .twins import as_numpy

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
}


def lower_ruled(
    fn: Callable[..., Any],
    book: RuleBook | ForeignBook | Any,
    managers: bool = False,
    namespace: types.ModuleType | None = None,
    lent: tuple[str, ...] = (),
    cells: bool = False,
) -> Lowered:
    """A function in the normal form, with its operations as the rules know them.

    Where the book has a rule for the function itself its body is not looked at:
    `def f(x, k=2.0): ...` is then `def f(x, k=2.0): return f(x, k)`. With `managers`, context
    managers are written out. `namespace` is the module that arrays name as theirs. The outer names
    in `lent` are parameters. With `cells`, captured variables that are bound again are in cells.
    """
    if isinstance(fn, types.FunctionType) and book.find(fn) is not None:
        lowered = _call_of(fn)
    elif lent and isinstance(fn, types.FunctionType):
        lowered = read_once(fn, managers, lent, _helpers_naming(fn, lent, book), cells)
    else:
        lowered = read_once(fn, managers, cells=cells)
    return as_defined(as_numpy(with_namespace(lowered, namespace)))


def _helpers_naming(fn: types.FunctionType, lent: tuple[str, ...], book: Any) -> tuple[str, ...]:
    """The functions by which one names what it is lent; not those that have a rule."""
    found: tuple[str, ...] = ()
    for name, helper in plain_helpers(fn).items():
        named = {*global_names(helper.__code__)}
        if not named.isdisjoint((*lent, *found)) and book.find(helper) is None:
            found += (name,)
    return found


def _call_of(fn: types.FunctionType) -> Lowered:
    place = Place(fn.__code__.co_filename, fn.__code__.co_firstlineno, f"def {fn.__name__}(...)")
    params: list[ir.Param] = []
    args: list[ir.Expr] = []
    kwargs: list[tuple[str, ir.Expr]] = []
    for p in plain_signature(fn).parameters.values():
        if p.kind not in _KINDS:
            raise UnsupportedError(
                f"`{fn.__name__}` has a rule, and starred parameters",
                place,
                f"Write a function that calls it: `def g(x): return {fn.__name__}(x)`.",
            )
        params.append(ir.Param(p.name, _KINDS[p.kind], _default(p)))
        if p.kind is p.KEYWORD_ONLY:
            kwargs.append((p.name, ir.Var(p.name)))
        else:
            args.append(ir.Var(p.name))
    scope, origin = Scope.of(fn), ir.Origin(place)
    result = "result" if "result" not in [p.name for p in params] else "result_"
    call = ir.Call(_spelled(fn, scope), tuple(args), tuple(kwargs), place)
    body = (ir.Assign(result, call, origin), ir.Return(ir.Var(result), origin))
    function = ir.Function(fn.__name__, tuple(params), body, place)
    return Lowered(function, scope, frozenset((result,)))


def _default(param: inspect.Parameter) -> ir.Expr | None:
    value = param.default
    if value is param.empty:
        return None
    plain = value is None or isinstance(value, (bool, int, float, str))
    return ir.Const(value) if plain else ir.Ref(f"default_{param.name}", value)


def _spelled(fn: types.FunctionType, scope: Scope) -> ir.Ref:
    """`Solver.step` for a method that can be reached so, the plain name for anything else."""
    root, *path = fn.__qualname__.split(".")
    try:
        found = scope.lookup(root)
        for name in path:
            found = getattr(found, name)
    except (KeyError, AttributeError):
        found = None
    return ir.Ref(fn.__qualname__ if found is fn else fn.__name__, fn)


# --------------------------------------------------------------------------------------------------
# Kinds where arrays are not NumPy's: what NumPy gives as a number is an array of rank 0.
#
# On CuPy `np.sum(x)` and `x[0]` are arrays without dimensions: `s += t` writes into `s`, and
# `x[0]` shares memory with `x`. A program that computes with them means something else there, so
# nothing may be derived from their being numbers.


# Of these a number is a number whatever it is made from.
_HOST_NUMBERS = (np.size, np.ndim, np.ndarray.item, np.ndarray.size, np.ndarray.ndim)


class ForeignBook:
    """A rule book that claims of no array operation that its result is a number."""

    def __init__(self, book: RuleBook) -> None:
        self._book = book

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(self._book, name)  # (looked up once: asked often)
        return found

    def entry_kind(self, kind: Kind) -> Kind:
        """The kind of an entry of an array, given what it is in NumPy. (Its shape is not claimed:
        what has no axes is taken for what cannot be written.)"""
        return replace(kind, form="value", shape=None) if kind.form == "number" else kind

    def result_kind(self, call: ir.Call, kind_of: KindOf) -> Kind:
        """What is known of a call's result.

        Only Python's own arithmetic, of numbers, gives numbers.
        """
        kind = self._book.result_kind(call, kind_of)
        if kind.form != "number" or not self._is_array_operation(call, kind_of):
            return kind
        return self.entry_kind(kind)

    def _is_array_operation(self, call: ir.Call, kind_of: KindOf) -> bool:
        obj = operation(call.fn)
        if obj in _HOST_NUMBERS or isinstance(obj, type):
            return False
        if is_numpy(obj):
            return True
        if attribute_of(obj, "__objclass__", None) is np.ndarray:
            return True
        arguments = ir.arguments(call)
        if obj in (sum, min, max, abs, pow) or module_of(obj) == "_operator":
            return any(kind_of(a).form not in ("number", "other") for a in arguments)
        return False


# --------------------------------------------------------------------------------------------------
# Array modules that a function asks its arrays for: `xp = x.__array_namespace__()`.
#
# before::                                  after, where arrays are NumPy's::
#
#     xp = x.__array_namespace__()              namespace = x.__array_namespace__()
#     y = xp.tanh(x)                            require_module(namespace, xp)
#                                               y = xp.tanh(x)
#
# Such a name is read like one that the function imports (`import numpy as xp`): the arguments of
# the call tell which module it is, and the check that it is that one runs with the derivative.


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
    if not hasattr(module, name):
        raise UnsupportedError(
            f"`{text}` is the module of {module.__name__.rpartition('.')[2]}, and has no `{name}`",
            stmt.origin.place,
            "Write it with functions that it has; docs/cupy.md lists those of the array API.",
        )
    return getattr(module, name)
