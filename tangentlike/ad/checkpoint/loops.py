"""The pairs of checkpointed loops.

The forward function keeps the state at the start of stretches of rounds on a stack; the backward
function goes through the moves of a schedule (`runtime.schedules`) to come back. The state is
what a round hands to the next, and a copy of each array that the rounds write.
"""

from __future__ import annotations

import dataclasses
import operator

from ... import ir
from ...analysis.aliases import effects_of
from ...analysis.structure import structure
from ...errors import InternalError, UnsupportedError
from ...ir.kind import BOOL, INT, OTHER, Kind
from ..context import ADD, LEN, REVERSED
from .calls import Maker, schedule_call
from .outline import LoopPlan

_KEYED = ("array", "list", "tuple", "dict")


class LoopPair(Maker):
    """The pair of a checkpointed loop."""

    plan: LoopPlan

    def run(self, plan: LoopPlan) -> tuple[ir.Function, ir.Function]:
        """Both functions of the loop whose plan this is."""
        self.plan, self.place = plan, plan.place
        self.adjoints.place(plan.place)
        self.start, self.stop = self.fresh("start", INT), self.fresh("stop", INT)
        if set(plan.carried) & set(self.written):  # (`swapped` gives what is rebound other names)
            raise InternalError("reverse", "a checkpointed loop writes a name that it rebinds")
        self._refuse_shared()
        self._find_inner()
        self.state = (*plan.carried, *self.written)
        self.stacks = {name: self.fresh(f"{name}_saved") for name in self.state}
        self.told = dict(plan.options)
        self.on_disk = self.told.pop("to", None)
        if isinstance(plan.rounds, ir.Var):
            self.rounds = plan.rounds.name
        else:
            self.rounds = self.fresh("rounds", INT)
        value: ir.Expr = ir.Const(None)
        if plan.carried:
            value = _bundle(tuple(map(ir.Var, plan.carried)))
        before = self._forward_while() if plan.test is not None else self._forward()
        params, after = self._backward()
        return self.finished(before, value, after, params)

    def _refuse_shared(self) -> None:
        """The rounds take what they are given for different arrays, so that what one round hands
        on must be apart from what the next one writes."""
        effects = effects_of(self.function, structure(self.function), self.context.sources())
        shared = sorted(effects.returned & effects.written)
        if shared:
            raise UnsupportedError(
                f"an iteration of this checkpointed loop may pass on a part of `{shared[0]}`, "
                "which the loop writes",
                self.plan.place,
                "Pass on a copy of it.",
            )

    def _find_inner(self) -> None:
        """The pair of the rounds; adjoints of what they only read are added up in place where
        that is sure to be possible."""
        context, steps = self.context, self.plan.steps
        taken = context.callees.lowered(steps).function.param_names
        params = (*taken[:-2], self.start, self.stop)
        self.steps = ir.Call(
            ir.Ref(steps.__name__, steps), tuple(map(ir.Var, params)), at=self.plan.place
        )
        varied = context.varied(self.function, self.request.active)
        self.active = tuple(p for p in params if p in varied)
        indexed = {
            part.base.name
            for stmt in ir.statements(context.callees.lowered(steps).function.body)
            for expr in ir.expressions(stmt)
            for part in ir.walk(expr)
            if isinstance(part, ir.Index) and isinstance(part.base, ir.Var)
        }
        added = frozenset(
            p
            for p in self.active
            if p not in self.plan.carried
            and (p in indexed or context.kind_of(ir.Var(p)).form in _KEYED)
        )
        self.inner = context.callees.pair(
            self.steps, frozenset(self.active), context.kind_of, bool(self.plan.carried), added
        )

    # ------------------------------------------------------------------------- the primal

    def _stacks(self) -> list[ir.Stmt]:
        def stack() -> ir.Expr:
            if self.on_disk is None:
                return ir.Display("list", ())
            return schedule_call("stack_on_disk", self.on_disk)

        return [self.assign(name, stack(), "save") for name in self.stacks.values()]

    def _push(self, role: str) -> list[ir.Stmt]:
        """The present state on top of the stacks."""
        return [
            ir.Do(
                ir.Call(
                    ir.Attribute(ir.Var(stack), "append"),
                    (self.copied(name) if name in self.written else ir.Var(name),),
                ),
                self.origin(role),
            )
            for name, stack in self.stacks.items()
        ]

    def _run(self, role: str) -> ir.Stmt:
        """The rounds from `start` to `stop`."""
        if not self.plan.carried:
            return ir.Do(self.steps, self.origin(role))
        return self.assign(_names(self.plan.carried), self.steps, role)

    def _count(self) -> list[ir.Stmt]:
        assert self.plan.rounds is not None
        if self.plan.rounds == ir.Var(self.rounds):
            return []
        return [self.assign(self.rounds, self.plan.rounds, "primal")]

    def _forward(self) -> list[ir.Stmt]:
        """`for start, stop in stretches(n, ...): h_saved.append(h); h = steps(h, start, stop)`."""
        parts = schedule_call("stretches", ir.Var(self.rounds), **self.told)
        body = (*self._push("save"), self._run("primal"))
        return [
            *self._count(),
            *self._stacks(),
            ir.For((self.start, self.stop), parts, body, self.origin("primal")),
        ]

    def _forward_while(self) -> list[ir.Stmt]:
        """One round after the other; when as many states are kept as may be, one is given up for
        the next, or this is not kept."""
        if not self.stacks:
            raise InternalError("reverse", "a checkpointed loop has no state")
        self.kept = self.fresh("kept", Kind("list", item=INT))
        rounds, limit = ir.Var(self.rounds), self.told["snapshots"]
        count = ir.Call(LEN, (ir.Var(self.kept),))
        origin = self.origin("save")
        keep = [*self._push("save"), self._call_of(self.kept, "append", rounds)]
        body: tuple[ir.Stmt, ...] = (
            ir.If(_compared("==", count, limit), self._given_up(limit), (), origin),
            ir.If(_compared("<", count, limit), tuple(keep), (), origin),
            self.assign(self.start, rounds, "primal"),
            self.assign(self.rounds, ir.Call(ADD, (rounds, ir.Const(1))), "primal"),
            self.assign(self.stop, rounds, "primal"),
            self._run("primal"),
        )
        assert self.plan.test is not None
        return [
            *self._stacks(),
            self.assign(self.kept, ir.Display("list", ()), "save"),
            self.assign(self.rounds, ir.Const(0), "primal"),
            ir.While(self.plan.test, body, self.origin("primal")),
        ]

    def _given_up(self, limit: ir.Expr) -> ir.Block:
        """`gone = least_needed(kept, rounds)`, and that state taken off the stacks."""
        gone = self.fresh("gone", INT)
        which = schedule_call("least_needed", ir.Var(self.kept), ir.Var(self.rounds))
        stacks = (*self.stacks.values(), self.kept)
        taken = tuple(self._call_of(stack, "pop", ir.Var(gone)) for stack in stacks)
        test = _compared("<", ir.Var(gone), limit)
        return (self.assign(gone, which, "save"), ir.If(test, taken, (), self.origin("save")))

    def _call_of(self, stack: str, method: str, value: ir.Expr) -> ir.Stmt:
        call = ir.Call(ir.Attribute(ir.Var(stack), method), (value,))
        return ir.Do(call, self.origin("save"))

    # ------------------------------------------------------------------------ the reverse

    def _backward(self) -> tuple[list[str], list[ir.Stmt]]:
        """The parameters after the tape, and the loop over the moves."""
        params, out = self._seed()
        params += [self.adjoints.bar(name).name for name in self.pair.written]
        self.adjoints.out = out
        for name in dict.fromkeys((*self.active, *self.pair.adjoints)):
            if name not in self.plan.carried and name not in self.pair.written:
                self.adjoints.zero(name)
        out.append(self._moves() if "snapshots" in self.told else self._last_first())
        bars = self.bars(self.pair.adjoints)
        out.append(ir.Return(_bundle(bars) if bars else None, self.origin("adjoint")))
        return params, out

    def _last_first(self) -> ir.Stmt:
        """Where each stretch is reversed as a whole: the stretches backwards."""
        parts = ir.Call(REVERSED, (schedule_call("stretches", ir.Var(self.rounds), **self.told),))
        return ir.For((self.start, self.stop), parts, self._reversed(), self.origin("adjoint"))

    def _moves(self) -> ir.Stmt:
        """Where states are kept anew on the way back: the moves of the schedule."""
        told = dict(self.told)
        if self.plan.test is not None:
            told["kept"] = ir.Var(self.kept)
        keep = self.fresh("keep", BOOL)
        step = (ir.If(ir.Var(keep), self._again(), self._reversed(), self.origin("adjoint")),)
        moves = schedule_call("moves_back", ir.Var(self.rounds), **told)
        return ir.For((keep, self.start, self.stop), moves, step, self.origin("adjoint"))

    def _seed(self) -> tuple[list[str], list[ir.Stmt]]:
        """The adjoint of what the loop returned, as the adjoints of the carried names."""
        if not self.pair.result_active:
            return [], []
        carried = [self.adjoints.bar(name).name for name in self.plan.carried]
        if len(carried) == 1:
            return carried, []
        seed = self.fresh("state_bar")
        return [seed], [self.assign(tuple(carried), ir.Var(seed), "adjoint")]

    def _again(self) -> ir.Block:
        """Run on from the newest state, and keep what comes out."""
        newest = ir.Const(-1)
        out: list[ir.Stmt] = []
        for name, stack in self.stacks.items():
            out.append(self._restored(name, ir.Index(ir.Var(stack), newest)))
        return (*out, self._run("restore"), *self._push("restore"))

    def _restored(self, name: str, saved: ir.Expr) -> ir.Stmt:
        if name in self.written:
            return self.put_back(name, saved)
        return self.assign(name, saved, "restore")

    def _reversed(self) -> ir.Block:
        """Reverse the rounds from the newest state, which is not needed any more."""
        plan, inner = self.plan, self.inner
        out: list[ir.Stmt] = [
            self._restored(name, ir.Call(ir.Attribute(ir.Var(stack), "pop")))
            for name, stack in self.stacks.items()
        ]
        tape = self.fresh(f"{self.plan.steps.__name__}_tape", OTHER)
        result: ir.Target = _names(plan.carried) if plan.carried else "_"
        again = dataclasses.replace(self.steps, fn=inner.fwd)
        out.append(self.assign((result, tape), again, "restore"))
        varied = set(self.active)
        seeds = tuple(self.adjoints.bar(n) if n in varied else ir.Const(0.0) for n in plan.carried)
        back = self.backwards(_bundle(seeds) if seeds else ir.Const(None), tape)
        parts = {
            n: self.adjoints.bar(n).name if n in plan.carried else self.fresh(f"{n}_part")
            for n in inner.adjoints
        }
        if parts:
            out.append(self.assign(_names(tuple(parts.values())), back))
        else:
            out.append(ir.Do(back, self.origin("adjoint")))
        self.adjoints.out = out
        for name, part in parts.items():
            if name not in plan.carried:
                self.adjoints.contribute(name, ir.Var(part))
        for name in plan.carried:  # what every round binds anew passes nothing on
            if name in varied and name not in parts:
                self.adjoints.zero(name)
        return tuple(out)


def _names(names: tuple[str, ...]) -> ir.Target:
    return names if len(names) > 1 else names[0]


def _bundle(values: tuple[ir.Expr, ...]) -> ir.Expr:
    return values[0] if len(values) == 1 else ir.Display("tuple", values)


def _compared(sign: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Call(ir.Ref(sign, {"==": operator.eq, "<": operator.lt}[sign]), (left, right))
