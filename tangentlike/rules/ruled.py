"""Reading a function to differentiate it: what it says, or a call of it where it has a rule."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.lower import Lowered, Scope, plain_helpers, read_once
from ..frontend.owners import is_numpy, module_of
from ..frontend.primal import global_names
from ..ir.kind import Kind
from ..runtime.records import attribute_of
from .book import KindOf, RuleBook, operation
from .definitions import as_defined
from .namespaces import with_namespace
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
) -> Lowered:
    """A function in the normal form, with its operations as the rules know them.

    Where the book has a rule for the function itself its body is not looked at:
    `def f(x, k=2.0): ...` is then `def f(x, k=2.0): return f(x, k)`. With `managers`, context
    managers are written out. `namespace` is the module that arrays name as theirs. The outer names
    in `lent` are parameters.
    """
    if isinstance(fn, types.FunctionType) and book.find(fn) is not None:
        lowered = _call_of(fn)
    elif lent and isinstance(fn, types.FunctionType):
        lowered = read_once(fn, managers, lent, _helpers_naming(fn, lent, book))
    else:
        lowered = read_once(fn, managers)
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
    for p in inspect.signature(fn, follow_wrapped=False).parameters.values():
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
