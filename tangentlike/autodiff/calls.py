"""Active calls of user functions become calls of their forward functions, which keep a tape."""

from __future__ import annotations

import dataclasses

from .. import ir
from ..analysis.operations import is_python_function, rule_object
from ..kind import OTHER
from .callees import CallSite, Effects
from .context import Context


class CallConversion:
    """Rewrites `y = g(a)` to `y, tape = g_fwd(a)` where adjoints or writes pass through it."""

    def __init__(self, active: frozenset[str], context: Context, counters: dict[int, str]) -> None:
        self.active = active
        self.context = context
        self.counters = counters
        self.sites: dict[int, CallSite] = {}

    def function(self, function: ir.Function) -> ir.Function:
        return dataclasses.replace(function, body=self._block(function.body))

    def _block(self, block: ir.Block) -> ir.Block:
        return tuple(map(self._statement, block))

    def _statement(self, stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                if self._converts(call, stmt):
                    return self._convert(stmt, call)
        new = ir.map_statement(stmt, block=self._block)
        if id(stmt) in self.counters:
            self.counters[id(new)] = self.counters[id(stmt)]
        return new if ir.blocks(stmt) else stmt

    def _converts(self, call: ir.Call, stmt: ir.Stmt) -> bool:
        obj = rule_object(call, self.context.kinds)
        book = self.context.book
        if not isinstance(call.fn, ir.Ref) or not is_python_function(obj):
            return False
        if book.find(obj) is not None or book.is_nondifferentiable(obj):
            return False
        actuals = self.context.callees.bind(call)
        taken = {f for f, a in actuals.items() if ir.names_in(a) & self.active}
        effects = self.context.callees.effects(obj) or Effects()
        gives = bool(set(ir.binds(stmt)) & self.active)
        return bool(taken) and (gives or bool(taken & effects.written))

    def _convert(self, stmt: ir.Assign | ir.Do, call: ir.Call) -> ir.Assign:
        context = self.context
        assert isinstance(call.fn, ir.Ref)
        pair = context.callees.pair(call, self.active, context.kind_of)
        actuals = context.callees.bind(call)
        tape = context.names.fresh(f"{call.fn.text.rpartition('.')[2]}_tape")
        context.kinds[tape] = OTHER
        if isinstance(stmt, ir.Do):
            result: ir.Target = context.names.fresh("_")
            context.kinds[str(result)] = OTHER
        else:
            result = stmt.target
        new = ir.Assign((result, tape), dataclasses.replace(call, fn=pair.fwd), stmt.origin)
        self.sites[id(new)] = CallSite(
            pair,
            result,
            tape,
            tuple(_name(actuals[f]) for f in pair.adjoints),
            tuple(_name(actuals[f]) for f in pair.written),
        )
        return new


def _name(expr: ir.Expr) -> str:
    assert isinstance(expr, ir.Var)
    return expr.name
