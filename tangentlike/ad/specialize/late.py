"""Calls of functions that only the running program knows.

before::                     after (reverse)::
    y = f(x, n)                  f_fwd, f_bwd = pair_of(f, 2, (0,))
                                 y, f_tape = f_fwd(x, n)

`pair_of` derives `f` when the program comes there, and refuses a function that writes its
arguments: the text around the call takes them for unchanged. Where adjoints are found by identity
it is taken to write all of them, `pair_of(f, 2, (0,), writes=True)`, and its backward function is
given the shadow: `f_bwd(f_tape, bars)`. So is its tangent function in a text that is made for that.
What may be held outside of the functions is not to be written there, either: `outer=(1,)`.
Methods and computed attributes that an earlier run was told of are looked up there as they are
here: `looked_up=("area",)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from ... import ir
from ...analysis.hidden_writes import Place, late_places
from ...analysis.outer_objects import is_code
from ...ir.kind import OTHER
from ..context import Context
from .callees import CallSite, Pair


def late_request(
    call: ir.Call, places: tuple[Place, ...], helper: str, context: Context
) -> ir.Call:
    """`pair_of(f, 2, (0,))`: what is needed of the function when the program runs."""
    wrt = ir.Display("tuple", tuple(map(ir.Const, places)))
    words = tuple(ir.Const(word) for word, _ in call.kwargs)
    named = (ir.Display("tuple", words),) if words else ()
    args = (call.fn, ir.Const(len(call.args)), wrt, *named)
    writes = (("writes", ir.Const(True)),) if context.unseen_writes else ()
    arguments = (*enumerate(call.args), *call.kwargs)
    outer = tuple(ir.Const(place) for place, e in arguments if _is_outer(e, context))
    kept = (("outer", ir.Display("tuple", outer)),) if writes and outer else ()
    asked = tuple(map(ir.Const, sorted(context.looked_up)))
    asking = (("looked_up", ir.Display("tuple", asked)),) if asked else ()
    return ir.Call(context.helper(helper), args, (*writes, *kept, *asking), call.at)


def _is_outer(given: ir.Expr, context: Context) -> bool:
    """Whether what a call is given may be held outside of the functions."""
    if isinstance(given, ir.Var):
        return given.name in context.outer
    return isinstance(given, ir.Ref) and not is_code(given.obj)


def function_name(call: ir.Call) -> str:
    assert isinstance(call.fn, ir.Var)
    return call.fn.name


def late_pair(
    stmt: ir.Assign, call: ir.Call, active: Collection[str], context: Context
) -> tuple[tuple[ir.Stmt, ...], CallSite]:
    """The statements for one such call, and the call as the reverse sweep sees it."""
    places = late_places(call, active)
    name = function_name(call)
    fwd, bwd, tape = (context.fresh(f"{name}_{end}", OTHER) for end in ("fwd", "bwd", "tape"))
    request = late_request(call, places, "pair_of", context)
    made = ir.Assign((fwd, bwd), request, stmt.origin)
    new = ir.Assign((stmt.target, tape), dataclasses.replace(call, fn=ir.Var(fwd)), stmt.origin)
    arguments = dict(enumerate(call.args)) | dict(call.kwargs)
    operands = tuple(e.name for e in (arguments[p] for p in places) if isinstance(e, ir.Var))
    # (They are names of this function, where a pair that is known is two functions.)
    pair = Pair(ir.Var(fwd), ir.Var(bwd), adjoints=operands)  # type: ignore[arg-type]
    others = frozenset().union(*map(ir.names_in, arguments.values()))
    return (made, new), CallSite(pair, stmt.target, tape, operands, (), others=others)
