"""Distributions of SciPy that hold their parameters, spelled as calls that are given them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING, Any

from .. import ir

if TYPE_CHECKING:
    from ..frontend.lower import Lowered

_METHODS = ["logpdf", "pdf", "logpmf", "pmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"]


def parameters_given(lowered: Lowered) -> Lowered:
    """A lowered function in which densities are asked of distributions and their parameters.

    before::                            after::
        d = stats.norm(m, scale=s)
        y = d.logpdf(x)                     y = stats.norm.logpdf(x, m, scale=s)

    A distribution that is used in any other way stays, and is refused where it carries
    derivatives.
    """
    every = list(ir.statements(lowered.function.body))
    frozen = {s.target: s.value for s in every if _is_frozen(s)}  # type: ignore[attr-defined]
    if not frozen:
        return lowered
    bound = ir.bindings(every, lowered.function.param_names)
    asked: Counter[str] = Counter()
    for stmt in every:
        asked.update(_asked(part) for expr in ir.expressions(stmt) for part in ir.walk(expr))
    read = Counter(
        part.name
        for stmt in every
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
        if isinstance(part, ir.Var)
    )
    known = {
        name: made
        for name, made in frozen.items()
        if asked[name] == read[name] and all(bound[n] == 1 for n in (name, *ir.names_in(made)))
    }

    def expr(e: ir.Expr) -> ir.Expr:
        if _asked(e) not in known:
            return ir.rebuild(e, expr)
        assert isinstance(e, ir.Call) and isinstance(e.fn, ir.Attribute)
        made, method = known[_asked(e)], e.fn.name
        fn = ir.Ref(f"{made.fn.text}.{method}", getattr(made.fn.obj, method))
        return ir.Call(fn, (*e.args, *made.args), made.kwargs, e.at)

    def without(stmt: ir.Stmt) -> ir.Instead:
        return () if _is_frozen(stmt) and stmt.target in known else None  # type: ignore[union-attr]

    function = ir.with_body(lowered.function, ir.rewrite(lowered.function.body, without, expr))
    return dataclasses.replace(lowered, function=function)


def _asked(expr: ir.Expr) -> str:
    """The name of the distribution that is asked for a density or the like, or ''."""
    match expr:
        case ir.Call(ir.Attribute(ir.Var(name), method), (_,), ()) if method in _METHODS:
            return name
    return ""


def _is_frozen(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(ir.Ref(obj=obj), args)):
            return _is_distribution(obj) and not any(map(ir.is_starred, args))
    return False


def _is_distribution(obj: Any) -> bool:
    module = str(getattr(type(obj), "__module__", ""))
    return module.startswith("scipy.stats") and (hasattr(obj, "logpdf") or hasattr(obj, "logpmf"))
