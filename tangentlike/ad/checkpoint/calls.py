"""The pairs of checkpointed calls: arguments are kept, and the rest is computed again.

A checkpointed call `y = step(h, w)` keeps its arguments, and runs the ordinary pair later:

    def checkpointed_step_fwd(h, w):            def checkpointed_step_bwd(tape, y_bar):
        y = step(h, w)                              h, w = tape
        return y, (h, w)                            _, step_tape = step_fwd(h, w)
                                                    return step_bwd(step_tape, y_bar)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ... import ir
from ...analysis.aliases import Aliases
from ...errors import UnsupportedError
from ...ir.kind import OTHER
from ...runtime import schedules
from ..context import Context
from ..reverse.adjoints import Adjoints
from ..reverse.pairs import free_names, unpack_tape
from ..specialize.callees import Pair, Request


def schedule_call(name: str, *args: ir.Expr, **kwargs: ir.Expr) -> ir.Call:
    """A call of a function of `runtime.schedules`."""
    ref = ir.Ref(name, getattr(schedules, name))
    return ir.Call(ref, args, tuple(kwargs.items()))


@dataclass
class Maker:
    """What the pairs of checkpointed calls and loops need; `inner` is the pair that is run
    again."""

    pair: Pair
    request: Request
    context: Context
    effects_written: frozenset[str]
    adjoints: Adjoints = field(init=False)
    inner: Pair = field(init=False)

    def __post_init__(self) -> None:
        self.function = self.request.lowered.function
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
        fwd = dataclasses.replace(
            self.function, name=self.pair.fwd.text, body=(*before, answer), doc=""
        )
        unpack = unpack_tape(self.tape, taped, self.origin("restore"))
        own = tuple(map(ir.Param, (self.tape, *params)))
        return fwd, ir.Function(self.pair.bwd.text, own, (*unpack, *after), self.place)


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
