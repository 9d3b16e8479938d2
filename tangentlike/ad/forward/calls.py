"""Calls of the user's own functions become calls of their tangent functions."""

from __future__ import annotations

import dataclasses

from ... import ir
from ...analysis.hidden_writes import late_places
from ...analysis.memory import element
from ...ir.kind import OTHER
from ...ir.names import Names
from ..specialize.late import function_name, late_request
from .state import Tangents


def user_call(
    stmt: ir.Assign | ir.Do, target: ir.Target | None, call: ir.Call, state: Tangents
) -> list[ir.Stmt]:
    """`y = g(a, b)` becomes `y, y_dot = g_jvp(a, b, a_dot=a_dot)`.

    The plain call stays where no derivative goes in, or none comes out: neither in the
    result nor in an argument that g writes.
    """
    assert isinstance(call.fn, ir.Ref)
    callees = state.context.callees
    zeros = [] if target is None else state.zeros_of(target)
    if not state.operands(call):
        return [stmt, *zeros]
    actuals = callees.bind(call)
    dots = {formal: state.tangent(actual) for formal, actual in actuals.items()}
    active = tuple(formal for formal, dot in dots.items() if dot is not None)
    wanted = target is not None and any(n in state.active for n in ir.target_names(target))
    effects = callees.effects_here(call, state.kind_of)
    written = active if effects is None else [f for f in active if f in effects.written]
    if not active or not (wanted or written):
        return [stmt, *zeros]
    from .functions import tangent_parameters

    kinds = {formal: state.kind_of(actual) for formal, actual in actuals.items()}
    exposed = _is_exposed(call, target, state)
    fn = callees.tangent(call.fn.obj, active, kinds, exposed, call.at)
    names = tangent_parameters(callees.lowered(call.fn.obj).function, active)
    given = tuple((names[formal], dots[formal] or ir.Const(0.0)) for formal in active)
    both = ir.Call(fn, call.args, (*call.kwargs, *given), call.at)
    if isinstance(stmt, ir.Do) or target is None:
        return [dataclasses.replace(stmt, value=both)]
    return [dataclasses.replace(stmt, target=(target, state.target(target)), value=both)]


def _is_exposed(call: ir.Call, target: ir.Target | None, state: Tangents) -> bool:
    """Whether what a call is given or gives back may be written in place, here or further out."""
    names = ir.names_in(call) | frozenset(() if target is None else ir.target_names(target))
    return any(state.is_written(node) for n in names for node in (n, element(n)))


def late_call(stmt: ir.Assign, call: ir.Call, state: Tangents) -> list[ir.Stmt]:
    """`y = f(x)` of a function that only the running program knows:
    `f_jvp = tangent_of(f, 1, (0,))` and `y, y_dot = f_jvp(x, x0_dot=x_dot)`."""
    places = late_places(call, state.active)
    name = state.fresh(f"{function_name(call)}_jvp", OTHER)
    made = late_request(call, places, "tangent_of", state.context)
    arguments = dict(enumerate(call.args)) | dict(call.kwargs)
    # As `derive_call` names the parameters, and `tangent_parameters` their tangents.
    formals = [f"x{p}" if isinstance(p, int) else p for p in arguments]
    names = Names(formals)
    dots = tuple(
        (
            names.fresh(f"x{p}_dot" if isinstance(p, int) else f"{p}_dot"),
            state.tangent_or_zeros(arguments[p]),
        )
        for p in places
    )
    both = ir.Call(ir.Var(name), call.args, (*call.kwargs, *dots), call.at)
    return [
        ir.Assign(name, made, stmt.origin),
        dataclasses.replace(stmt, target=(stmt.target, state.target(stmt.target)), value=both),
    ]
