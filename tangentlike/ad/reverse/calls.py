"""Active calls of user functions become calls of their forward functions, which keep a tape."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.hidden_writes import is_late
from ...analysis.memory import Effects, element
from ...analysis.operations import is_python_function, rule_object, written_position
from ...errors import not_by_names
from ...ir.kind import OTHER
from ...runtime.records import attribute_of
from ..context import Context
from ..specialize.callees import CallSite, Pair
from ..specialize.late import late_pair


class CallConversion(ir.Rewriter):
    """Rewrites `y = g(a)` to `y, tape = g_fwd(a)` where adjoints or writes pass through it."""

    def __init__(
        self,
        active: frozenset[str],
        aliases: Aliases,
        context: Context,
        counters: dict[int, str],
    ) -> None:
        self.active = active
        self.aliases = aliases
        self.context = context
        self.counters = counters
        self.sites: dict[int, CallSite] = {}

    def function(self, function: ir.Function) -> ir.Function:
        """The function with calls of pairs."""
        return self.rewritten(function)

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                if self._converts(call, stmt):
                    return (*self._guards(call, stmt), self._convert(stmt, call))
                if isinstance(stmt, ir.Assign) and is_late(call, self.active):
                    made, site = late_pair(stmt, call, self.active, self.context)
                    self.sites[id(made[-1])] = site
                    return made
        new = self.inside(stmt)
        if id(stmt) in self.counters:
            self.counters[id(new)] = self.counters[id(stmt)]
        return new

    def _converts(self, call: ir.Call, stmt: ir.Stmt) -> bool:
        obj = rule_object(call, self.context.kinds)
        book = self.context.book
        if not isinstance(call.fn, ir.Ref) or not is_python_function(obj):
            return False
        if book.find(obj) is not None or book.is_nondifferentiable(obj):
            return False
        if written_position(obj) is not None:
            return False  # `add_at` accumulates: a statement of its own
        actuals = self.context.callees.bind(call)
        taken = {f for f, a in actuals.items() if ir.names_in(a) & self.active}
        effects = self._effects(call)
        gives = bool(set(ir.binds(stmt)) & self.active)
        changes = bool(taken) and (gives or bool(taken & effects.written))
        return changes or self._empties_shared(call, actuals)

    def _empties_shared(self, call: ir.Call, actuals: Mapping[str, ir.Expr]) -> bool:
        """Whether a backward function would empty a tape that the sweep reads as well: what stands
        for the call leaves it full (`own_stacks`)."""
        tapes = attribute_of(rule_object(call, self.context.kinds), "__empties__", ())
        given = frozenset[str]().union(*(ir.names_in(actuals[tape]) for tape in tapes))
        return any(given.intersection(site.results) for site in self.sites.values())

    def _effects(self, call: ir.Call) -> Effects:
        context = self.context
        return context.callees.effects_here(call, context.kind_of) or Effects()

    def _guards(self, call: ir.Call, stmt: ir.Stmt) -> list[ir.Stmt]:
        """A callee takes its parameters for different arrays: what it writes must be apart from
        its other arguments. The same name twice is refused; views are compared when it runs."""
        place = call.at or stmt.origin.place
        actuals = self.context.callees.bind(call)
        effects = self._effects(call)
        guards: list[ir.Stmt] = []
        for formal in sorted(effects.written & actuals.keys()):
            for other in actuals:
                first, second = actuals[formal], actuals[other]
                if other == formal or not self._may_share(first, second):
                    continue
                if first == second:
                    raise not_by_names(place)
                check = ir.Call(self.context.helper("require_apart"), (first, second))
                guards.append(ir.Do(check, ir.Origin(place)))
        return guards

    def _may_share(self, first: ir.Expr, second: ir.Expr) -> bool:
        if not isinstance(first, ir.Var) or not isinstance(second, ir.Var):
            return False
        kinds = (self.context.kind_of(first).form, self.context.kind_of(second).form)
        if "number" in kinds or "other" in kinds:
            return False
        held = [
            {self.aliases.class_of(node) for node in (name, element(name))}
            for name in (first.name, second.name)
        ]
        return bool(held[0] & held[1])

    def _convert(self, stmt: ir.Assign | ir.Do, call: ir.Call) -> ir.Assign:
        context = self.context
        assert isinstance(call.fn, ir.Ref)
        wanted = isinstance(stmt, ir.Assign)
        pair = context.callees.pair(call, self.active, context.kind_of, wanted)
        actuals = context.callees.bind(call)
        tape = context.fresh(f"{call.fn.text.rpartition('.')[2]}_tape", OTHER)
        if isinstance(stmt, ir.Do):
            result: ir.Target = context.unread()
        else:
            result = stmt.target
        new = ir.Assign((result, tape), dataclasses.replace(call, fn=pair.fwd), stmt.origin)
        self.sites[id(new)] = CallSite(
            pair,
            result,
            tape,
            tuple(_name(actuals[f]) for f in pair.adjoints),
            tuple(_name(actuals[f]) for f in pair.written),
            self._changed(call, pair),
        )
        return new

    def _changed(self, call: ir.Call, pair: Pair) -> tuple[str, ...]:
        """What a callee writes that carries no derivative, by the caller's names."""
        assert isinstance(call.fn, ir.Ref)
        effects = self._effects(call)
        actuals = self.context.callees.bind(call)
        values = (actuals.get(f) for f in sorted(effects.written - set(pair.written)))
        return tuple(v.name for v in values if isinstance(v, ir.Var))


def _name(expr: ir.Expr) -> str:
    assert isinstance(expr, ir.Var)
    return expr.name
