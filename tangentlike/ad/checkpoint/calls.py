"""The pairs of checkpointed calls: arguments are kept, and the rest is computed again.

A checkpointed call `y = step(h, w)` keeps its arguments, and runs the ordinary pair later:

    def checkpointed_step_fwd(h, w):            def checkpointed_step_bwd(tape, y_bar):
        y = step(h, w)                              h, w = tape
        return y, (h, w)                            _, step_tape = step_fwd(h, w)
                                                    return step_bwd(step_tape, y_bar)
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ... import ir
from ...analysis.aliases import Aliases, effects_of
from ...analysis.structure import structure
from ...errors import InternalError, UnsupportedError
from ...ir.kind import BOOL, INT, OTHER, Kind
from ...runtime import schedules
from ..context import Context
from ..normalize.iterators import gone_through
from ..reverse.adjoints import Adjoints
from ..reverse.pairs import free_names, unpack_tape
from ..specialize.callees import Pair, Request
from .outline import LoopPlan


def schedule_call(name: str, *args: ir.Expr, **kwargs: ir.Expr) -> ir.Call:
    """A call of a function of `runtime.schedules`."""
    ref = ir.Ref(name, getattr(schedules, name))
    return ir.Call(ref, args, tuple(kwargs.items()))


@dataclass
class Maker:
    """What the pairs of checkpointed calls and loops need; `inner` is the pair that is run
    again, of what the function `again` says."""

    pair: Pair
    request: Request
    context: Context
    effects_written: frozenset[str]
    adjoints: Adjoints = field(init=False)
    inner: Pair = field(init=False)

    def __post_init__(self) -> None:
        self.function = self.again = self.request.lowered.function
        self.formals = self.function.param_names
        self.adjoints = Adjoints(self.context, Aliases())
        self.place = self.function.place
        self.tape = self.fresh("tape", OTHER)
        self.written = tuple(p for p in self.formals if p in self.effects_written)
        for name in self.written:
            form = self.context.kind_of(ir.Var(name)).form
            if form in ("list", "tuple", "dict"):
                raise UnsupportedError(
                    f"a checkpointed call or loop changes the {form} `{name}`; only arrays that "
                    "it writes can be saved",
                    self.place,
                    "Return new values instead, or write into an array made beforehand.",
                )

    # ---------------------------------------------------------------------------- statements

    def fresh(self, wanted: str, kind: Any = None) -> str:
        name = self.context.names.fresh(wanted)
        if kind is not None:
            self.context.kinds[name] = kind
        return name

    def origin(self, role: str) -> ir.Origin:
        return ir.Origin(self.place, role)

    def assign(self, target: ir.Target, value: ir.Expr, role: str = "adjoint") -> ir.Assign:
        return ir.Assign(target, value, self.origin(role))

    def copied(self, name: str) -> ir.Expr:
        """The content of an array that is written."""
        if self.context.kind_of(ir.Var(name)).form == "array":
            return ir.Call(ir.Attribute(ir.Var(name), "copy"))
        return ir.Call(self.context.helper("copy"), (ir.Var(name),))

    def put_back(self, name: str, saved: ir.Expr) -> ir.Stmt:
        if self.context.kind_of(ir.Var(name)).form == "array":
            place = ir.Index(ir.Var(name), ir.Const(Ellipsis))
            return ir.Store(place, saved, self.origin("restore"))
        return ir.Do(schedule_call("put_back", ir.Var(name), saved), self.origin("restore"))

    def bars(self, names: Iterable[str]) -> tuple[ir.Expr, ...]:
        return tuple(self.adjoints.bar(name) for name in names)

    def backwards(self, seed: ir.Expr, inner_tape: str) -> ir.Expr:
        """The call of the inner backward function."""
        args: list[ir.Expr] = [ir.Var(inner_tape)]
        if self.inner.result_active:
            args.append(seed)
        return ir.Call(self.inner.bwd, (*args, *self.bars(self.inner.written)))

    def finished(
        self, before: list[ir.Stmt], value: ir.Expr, after: list[ir.Stmt], params: list[str]
    ) -> tuple[ir.Function, ir.Function]:
        """Both functions: what the second reads and the first has goes over the tape."""
        free: list[str] = []
        free_names(tuple(after), {self.tape, *params}, free)
        had = (*self.formals, *(n for s in ir.statements(tuple(before)) for n in ir.binds(s)))
        taped = tuple(n for n in dict.fromkeys(had) if n in set(free))
        kept = ir.Display("tuple", tuple(map(ir.Var, taped)))
        answer = ir.Return(ir.Display("tuple", (value, kept)), self.origin("primal"))
        body = (*self._iterators_refused(taped), *before, answer)
        fwd = dataclasses.replace(self.function, name=self.pair.fwd.text, body=body)
        unpack = unpack_tape(self.tape, taped, self.origin("restore"))
        own = tuple(map(ir.Param, (self.tape, *params)))
        return fwd, ir.Function(self.pair.bwd.text, own, (*unpack, *after), self.place)

    def _iterators_refused(self, taped: tuple[str, ...]) -> Iterator[ir.Stmt]:
        """Checks that nothing is given of which the first run leaves nothing to the second."""
        taken = frozenset(gone_through(self.again, self.context))
        for name in taped:
            given = name in self.formals and name not in self.request.active
            form = self.context.kind_of(ir.Var(name)).form
            if given and (form == "other" or (form == "unknown" and name in taken)):
                yield self.context.check("require_again", (ir.Var(name),), self.origin("primal"))


# --------------------------------------------------------------------------------- calls


def call_pair(
    pair: Pair, request: Request, context: Context, written: frozenset[str], inside: Any
) -> tuple[ir.Function, ir.Function]:
    """The pair of a checkpointed call; `inside` is the function without its checkpoint."""
    make = Maker(pair, request, context, written)
    names = make.formals
    args = tuple(ir.Var(p.name) for p in make.function.params if p.kind != "keyword")
    kwargs = tuple((p.name, ir.Var(p.name)) for p in make.function.params if p.kind == "keyword")
    step = ir.Call(ir.Ref(make.function.name, inside), args, kwargs, make.place)
    wanted = pair.result_active
    make.inner = context.callees.pair(step, frozenset(request.active), context.kind_of, wanted)
    if not pair.recursive:
        pair.adjoints = make.inner.adjoints
        pair.result_active = make.inner.result_active
    pair.restores = False  # (the backward function restores what it computes again)
    kept = {name: make.fresh(f"{name}_before") for name in make.written}
    before: list[ir.Stmt] = [make.assign(kept[n], make.copied(n), "save") for n in kept]
    y = make.fresh("y") if wanted else ""
    value: ir.Expr = ir.Var(y) if wanted else ir.Const(None)
    called = dataclasses.replace(step, fn=_as_called(make.function.name, request, inside))
    before.append(
        make.assign(y, called, "primal") if wanted else ir.Do(called, make.origin("primal"))
    )
    after: list[ir.Stmt] = [make.put_back(n, ir.Var(kept[n])) for n in kept]
    tape = make.fresh(f"{make.function.name}_tape", OTHER)
    unread = "_" if "_" not in names else make.fresh("_")
    again = dataclasses.replace(step, fn=make.inner.fwd)
    after.append(make.assign((unread, tape), again, "restore"))
    seed = make.fresh("y_bar")
    params = [seed] if pair.result_active else []
    params += [make.adjoints.bar(name).name for name in pair.written]
    back = make.backwards(ir.Var(seed), tape)
    after += _answer(make, back)
    return make.finished(before, value, after, params)


def _answer(make: Maker, back: ir.Expr) -> list[ir.Stmt]:
    """Return what the inner backward function gives, as the pair promises it."""
    pair, inner = make.pair, make.inner
    if pair.adjoints == inner.adjoints:
        if not pair.adjoints:
            end = ir.Return(None, make.origin("adjoint"))
            return [ir.Do(back, make.origin("adjoint")), end]
        return [ir.Return(back, make.origin("adjoint"))]
    names = tuple(make.adjoints.bar(n).name for n in inner.adjoints)
    out: list[ir.Stmt] = [make.assign(names if len(names) > 1 else names[0], back)]
    for missing in set(pair.adjoints) - set(inner.adjoints):
        out.append(make.assign(make.adjoints.bar(missing).name, make.adjoints.zeros(missing)))
    bars = make.bars(pair.adjoints)
    value = bars[0] if len(bars) == 1 else ir.Display("tuple", bars)
    return [*out, ir.Return(value, make.origin("adjoint"))]


def _as_called(name: str, request: Request, inside: Any) -> ir.Ref:
    """The function as its own module knows it, where that is the checkpointed one."""
    try:
        known = request.lowered.scope.lookup(name)
    except KeyError:
        known = None
    return ir.Ref(name, known if known is request.callee else inside)


# --------------------------------------------------------------------------------------------------
# The pairs of checkpointed loops.
#
# The forward function keeps the state at the start of stretches of rounds on a stack; the backward
# function goes through the moves of a schedule (`runtime.schedules`) to come back. The state is
# what a round hands to the next, and a copy of each array that the rounds write.


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
        self.options = dict(plan.options)
        self.on_disk = self.options.pop("to", None)
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
        self.again = context.callees.lowered(steps).function
        taken = self.again.param_names
        params = (*taken[:-2], self.start, self.stop)
        self.steps = ir.Call(
            ir.Ref(steps.__name__, steps), tuple(map(ir.Var, params)), at=self.plan.place
        )
        varied = context.varied(self.function, self.request.active)
        self.active = tuple(p for p in params if p in varied)
        indexed = {
            part.base.name
            for stmt in ir.statements(self.again.body)
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
        parts = schedule_call("stretches", ir.Var(self.rounds), **self.options)
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
        rounds, limit = ir.Var(self.rounds), self.options["snapshots"]
        count = ir.Call(ir.LEN, (ir.Var(self.kept),))
        origin = self.origin("save")
        keep = [*self._push("save"), self._call_of(self.kept, "append", rounds)]
        body: tuple[ir.Stmt, ...] = (
            ir.If(_compared("==", count, limit), self._given_up(limit), (), origin),
            ir.If(_compared("<", count, limit), tuple(keep), (), origin),
            self.assign(self.start, rounds, "primal"),
            self.assign(self.rounds, ir.Call(ir.ADD, (rounds, ir.Const(1))), "primal"),
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
        out.append(self._moves() if "snapshots" in self.options else self._last_first())
        bars = self.bars(self.pair.adjoints)
        out.append(ir.Return(_bundle(bars) if bars else None, self.origin("adjoint")))
        return params, out

    def _last_first(self) -> ir.Stmt:
        """Where each stretch is reversed as a whole: the stretches backwards."""
        parts = ir.Call(
            ir.REVERSED, (schedule_call("stretches", ir.Var(self.rounds), **self.options),)
        )
        return ir.For((self.start, self.stop), parts, self._reversed(), self.origin("adjoint"))

    def _moves(self) -> ir.Stmt:
        """Where states are kept anew on the way back: the moves of the schedule."""
        options = dict(self.options)
        if self.plan.test is not None:
            options["kept"] = ir.Var(self.kept)
        keep = self.fresh("keep", BOOL)
        step = (ir.If(ir.Var(keep), self._again(), self._reversed(), self.origin("adjoint")),)
        moves = schedule_call("moves_back", ir.Var(self.rounds), **options)
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
