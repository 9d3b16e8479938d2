"""Calls that give one array as several arguments: the callee has one parameter for it.

    def axpy(y, x, c):            axpy(u, u, 2.0)    is a call of
        y += c * x                def axpy_same(y, c):
                                      y += c * y

A callee takes its parameters for different arrays, so that each has an adjoint of its own. That
is wrong where two are one array, and the callee writes it. What is one array by another name, and
what may overlap, is compared when the program runs (`require_apart`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ... import ir
from ...analysis.operations import is_python_function
from ..context import Context


def merge_same_arguments(function: ir.Function, context: Context) -> ir.Function:
    """`g(u, u)` -> `g_same(u)` wherever `g` writes one of the parameters it is given `u` for."""

    def statement(stmt: ir.Stmt) -> ir.Stmt | None:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                same = _same(call, context)
                if not same:
                    return stmt
                actuals = context.sources().bind(call)
                arrays = all(context.kind_of(actuals[f]).form == "array" for f in same)
                merged = context.callees.variants.of_same(call, same, arrays)
                return dataclasses.replace(stmt, value=merged)
        return None

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _same(call: ir.Call, context: Context) -> Mapping[str, str]:
    """Formal -> another one that is given the same array and that the callee writes."""
    if not isinstance(call.fn, ir.Ref) or not is_python_function(call.fn.obj):
        return {}
    names = [e.name for e in ir.children(call)[1:] if isinstance(e, ir.Var)]
    if len(set(names)) == len(names) or any(map(ir.is_starred, call.args)):
        return {}
    sources = context.sources()
    effects = sources.effects(call)
    if effects is None or not context.callees.variants.is_plain(call.fn.obj):
        return {}
    actuals = sources.bind(call)
    kept: dict[ir.Expr, str] = {}
    for formal in actuals:
        if formal in effects.written and sources.holds_memory(actuals[formal]):
            kept.setdefault(actuals[formal], formal)
    same = {f: kept[e] for f, e in actuals.items() if isinstance(e, ir.Var) and e in kept}
    return {formal: first for formal, first in same.items() if formal != first}
