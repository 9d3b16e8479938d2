"""Operators applied to functions that only the running program knows.

before::                             after::
    g = tl.grad(f)                       g = derivative_of(tl.grad, f)
    y = g(x)                             y = g(x)
    z, dz = tl.jvp(f, (x,), (v,))        f_jvp = jvp_of(tl.jvp, f, (x,), (v,))
                                         z, dz = f_jvp((x,), (v,))

What `derivative_of` gives is a function like any other, which is differentiated when the program
calls it. A function that itself carries derivatives is left to be refused: the derivative by what
it captures would be lost.
"""

from __future__ import annotations

import dataclasses

from ... import ir
from ...analysis.activity import varied_names
from ...frontend.marks import mark_of
from ...ir.kind import OTHER
from ..context import Context


def late_operators(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """A function that calls no operator of a function which is not known."""
    calls = [stmt for stmt in ir.statements(function.body) if _operator(stmt)]
    if not calls:
        return function
    names = {id(stmt): context.names.fresh("jvp_of") for stmt in calls}
    for name in names.values():
        context.kinds[name] = OTHER

    def replaced(stmt: ir.Stmt) -> list[ir.Stmt]:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
        call = stmt.value
        if _operator(stmt) == "function":
            made = ir.Call(context.helper("derivative_of"), (call.fn, *call.args), call.kwargs)
            return [dataclasses.replace(stmt, value=made)]
        name = names[id(stmt)]
        made = ir.Call(context.helper("jvp_of"), (call.fn, *call.args), call.kwargs, call.at)
        called = ir.Call(ir.Var(name), call.args[1:], (), call.at)
        return [ir.Assign(name, made, stmt.origin), dataclasses.replace(stmt, value=called)]

    whole = _rewritten(function, {id(s): replaced(s) for s in calls})
    effects = context.sources().effects
    varied = varied_names(whole, wrt, context.kinds, context.book, effects)
    chosen = [s for s in calls if not ir.names_in(s.value.args[0]) & varied]  # type: ignore[union-attr]
    return _rewritten(function, {id(s): replaced(s) for s in chosen}) if chosen else function


def _operator(stmt: ir.Stmt) -> str:
    """What the operator in a statement gives, if its function is a value of this function."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var() | ir.Index(), *rest))):
            gives = mark_of(obj, "derives") or ""
            if gives == "function" or (gives == "tangent" and len(rest) == 2):
                return gives
    return ""


def _rewritten(function: ir.Function, parts: dict[int, list[ir.Stmt]]) -> ir.Function:
    """The function with other statements for some, by their ids."""
    return ir.with_body(function, ir.rewrite(function.body, lambda stmt: parts.get(id(stmt))))
