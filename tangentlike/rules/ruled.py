"""Reading a function to differentiate it: what it says, or a call of it where it has a rule."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from .. import ir
from ..errors import Place, UnsupportedError
from ..frontend.lower import Lowered, Scope, plain_helpers, read_once
from ..frontend.primal import global_names
from .book import RuleBook
from .definitions import as_defined
from .foreign import ForeignBook
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
