"""Polynomials and series that are objects, spelled as the arrays of their coefficients."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import (
    Chebyshev,
    Hermite,
    HermiteE,
    Laguerre,
    Legendre,
    Polynomial,
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
)

from .. import ir

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

# Class -> its evaluation, derivative and integral, as functions of coefficients.
_FUNCTIONS: dict[Any, dict[str, Callable[..., Any]]] = {
    np.poly1d: {"": np.polyval, "deriv": np.polyder, "integ": np.polyint},
    Polynomial: {
        "": polynomial.polyval,
        "deriv": polynomial.polyder,
        "integ": polynomial.polyint,
    },
    Chebyshev: {"": chebyshev.chebval},
    Legendre: {"": legendre.legval},
    Hermite: {"": hermite.hermval},
    HermiteE: {"": hermite_e.hermeval},
    Laguerre: {"": laguerre.lagval},
}


def series_spelled(lowered: Lowered) -> Lowered:
    """A lowered function in which polynomials are arrays of coefficients.

    before::                            after::
        p = np.poly1d(c)                    p = np.asarray(c)
        q = p.deriv()                       q = np.polyder(p)
        y = q(x)                            y = np.polyval(q, x)

    A function that uses one in any other way stays as it is, and is refused where the polynomial
    carries derivatives.
    """
    every = list(ir.statements(lowered.function.body))
    classes: dict[str, Any] = {}
    for stmt in every:
        made = _class_made(stmt, classes)
        if made is not None and isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
            classes[stmt.target] = made
    if not classes or not _only_evaluated(lowered.function, every, classes):
        return lowered
    alias = lowered.scope.numpy_alias

    def expr(e: ir.Expr) -> ir.Expr:
        used = _use(e, classes)
        if used is None:
            return ir.rebuild(e, expr)
        assert isinstance(e, ir.Call)
        name, method = used
        function = _FUNCTIONS[classes[name]][method]
        module = "" if classes[name] is np.poly1d else function.__module__.partition(".")[2] + "."
        fn = ir.Ref(f"{alias}.{module}{function.__name__}", function)
        first_x = method == "" and classes[name] is not np.poly1d
        args = (*e.args, ir.Var(name)) if first_x else (ir.Var(name), *e.args)
        return ir.Call(fn, args, (), e.at)

    def statement(stmt: ir.Stmt) -> ir.Instead:
        if isinstance(stmt, ir.Assign) and _is_made(stmt.value):
            assert isinstance(stmt.value, ir.Call)
            fn = ir.Ref(f"{alias}.asarray", np.asarray)
            return dataclasses.replace(stmt, value=dataclasses.replace(stmt.value, fn=fn))
        return None

    function = ir.with_body(lowered.function, ir.rewrite(lowered.function.body, statement, expr))
    return dataclasses.replace(lowered, function=function)


def _only_evaluated(function: ir.Function, every: list[ir.Stmt], classes: dict[str, Any]) -> bool:
    """Whether the polynomials have one definition each and nothing but their functions is used."""
    bound = Counter(function.param_names)
    used: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for stmt in every:
        bound.update(ir.binds(stmt))
        for part in ir.walk_statement(stmt):
            found = _use(part, classes)
            used.update([found[0]] if found is not None else [])
            read.update([part.name] if isinstance(part, ir.Var) else [])
    return all(bound[name] == 1 and used[name] == read[name] for name in classes)


def _is_made(value: ir.Expr) -> bool:
    match value:
        case ir.Call(ir.Ref(obj=obj), (_,), ()):
            return isinstance(obj, type) and obj in _FUNCTIONS
    return False


def _class_made(stmt: ir.Stmt, classes: dict[str, Any]) -> Any:
    """The class of the polynomial that a statement makes or takes from another, or None."""
    if not isinstance(stmt, ir.Assign):
        return None
    if _is_made(stmt.value):
        return stmt.value.fn.obj  # type: ignore[union-attr]
    used = _use(stmt.value, classes)
    return classes[used[0]] if used is not None and used[1] else None


def _use(expr: ir.Expr, classes: dict[str, Any]) -> tuple[str, str] | None:
    """The polynomial that is evaluated, derived or integrated, and by which method."""
    match expr:
        case ir.Call(ir.Var(name), (_,), ()) if name in classes:
            return name, ""
        case ir.Call(ir.Attribute(ir.Var(name), method), args, ()) if name in classes:
            known = _FUNCTIONS[classes[name]]
            return (name, method) if method in known and method and len(args) < 2 else None
    return None
