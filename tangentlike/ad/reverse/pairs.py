"""Reverse mode in two functions: `f_fwd(...) -> (value, tape)`, `f_bwd(tape, y_bar) -> adjoints`.

The tape is a plain tuple of what the backward function reads: stacks, values, and parameters by
reference, whose content the reverse sweep restores in place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.hidden_writes import is_late
from ...analysis.memory import Effects, element
from ...analysis.operations import is_python_function, rule_object, written_position
from ...errors import InternalError, not_by_names
from ...ir.kind import OTHER
from ...runtime.records import attribute_of
from ..context import Context
from ..specialize.callees import CallSite, Pair
from ..specialize.late import late_pair
from .adjoints import OWNED
from .functions import Primal, Reverse, bundle, is_restored, seed_name


@dataclasses.dataclass(frozen=True)
class ReversedPair:
    """Two functions: whether `bwd` takes an adjoint of the result, whether it restores what is in
    the result, and of which arguments `bwd` reads none; and how they were made."""

    fwd: ir.Function
    bwd: ir.Function
    takes_seed: bool
    restores: bool
    unseen: frozenset[str]
    transform: Reverse


def reverse_pair(
    primal: Primal,
    context: Context,
    names: tuple[str, str],
    order: tuple[tuple[str, ...], tuple[str, ...]],
    bare: bool,
    protect: bool,
    seeded: bool | None = None,
    unread: frozenset[str] = frozenset(),
) -> ReversedPair:
    """`f_fwd` and `f_bwd`, and what their callers have to know.

    What is `unread` by callers after `f_bwd` it does not restore for them.
    `order` is (formals whose adjoints are returned, formals whose buffers are passed in);
    `seeded` says whether `f_bwd` takes that adjoint, where calls of it were already made.
    """
    transform = Reverse(primal, context)
    transform.apart = True
    transform.unread = unread
    returned, written = order
    result = transform.result
    value = result.value if result is not None and result.value is not None else ir.Const(None)
    depends = bool(ir.names_in(value) & primal.active) or protect
    takes_seed = depends if seeded is None else seeded
    tape = context.names.fresh("tape")
    seed = context.names.fresh(seed_name(value))
    params = [ir.Param(tape)]
    if takes_seed:
        params.append(ir.Param(seed))
    transform.adjoints.given = frozenset(written)
    for formal in written:
        if context.kind_of(ir.Var(formal)).form == "number":  # what is added to it would be lost
            raise InternalError("pairs", f"`{formal}` is a number, and has a buffer")
        if primal.aliases.has_variable(formal):
            transform.adjoints.state[formal] = OWNED
        params.append(ir.Param(transform.adjoints.bar(formal).name))
    seeds = transform.seed(value, ir.Var(seed)) if takes_seed and depends else []
    before, after = transform.run(seeds, returned)
    origin = ir.Origin(primal.function.place, "adjoint")
    bars = tuple(map(transform.result_adjoint, returned))
    answer = ir.Return(bundle(bars, bare) if bars else None, origin)
    backward = (*after, answer)
    taped = taped_names(backward, before, primal, {p.name for p in params})
    unpack = unpack_tape(tape, taped, origin)
    end = ir.Return(
        ir.Display("tuple", (value, ir.Display("tuple", tuple(map(ir.Var, taped))))),
        result.origin if result is not None else origin,
    )
    head = (*(transform.protect() if protect else ()), *_checks(written, primal, context))
    before = bind_everywhere(before, taped, primal)
    fwd = dataclasses.replace(primal.function, name=names[0], body=(*head, *before, end))
    body = (*unpack, *backward)
    bwd = ir.Function(names[1], tuple(params), body, primal.function.place, empties=(tape,))
    restores = is_restored(value, primal, context)
    return ReversedPair(fwd, bwd, takes_seed, restores, transform.unseen, transform)


def _checks(written: tuple[str, ...], primal: Primal, context: Context) -> ir.Block:
    """That what has a buffer is not a number: what is added to that would be lost."""
    origin = ir.Origin(primal.function.place)
    unsure = [n for n in written if context.kind_of(ir.Var(n)).form in ("unknown", "value")]
    check = context.helper("require_mutable") if unsure else None
    return tuple(ir.Do(ir.Call(check, (ir.Var(name),)), origin) for name in unsure if check)


def taped_names(
    backward: ir.Block, before: ir.Block, primal: Primal, own: set[str]
) -> tuple[str, ...]:
    """The names that the backward function reads and the forward function binds, in order."""
    free: list[str] = []
    free_names(backward, set(own), free)
    made = list(primal.function.param_names)
    made += [n for s in ir.statements(before) for n in ir.binds(s)]
    wanted = set(free)
    return tuple(dict.fromkeys(n for n in made if n in wanted))


def free_names(block: ir.Block, bound: set[str], free: list[str]) -> None:
    """Names read in a block before it certainly binds them."""
    for stmt in block:
        free.extend(n for n in sorted(ir.reads(stmt)) if n not in bound)
        for inner in ir.blocks(stmt):
            free_names(inner, set(bound) | set(ir.binds(stmt)), free)
        if not ir.blocks(stmt):
            bound.update(ir.binds(stmt))


def unpack_tape(tape: str, taped: tuple[str, ...], origin: ir.Origin) -> ir.Block:
    """`a, b = tape`, for the names that were taped."""
    origin = dataclasses.replace(origin, role="restore")
    if not taped:
        return ()
    return (ir.Assign(taped, ir.Var(tape), origin),)


def bind_everywhere(before: ir.Block, taped: tuple[str, ...], primal: Primal) -> ir.Block:
    """A taped name that only one branch binds is None where that branch is not taken."""
    sure = set(primal.function.param_names) | {
        n for s in before if not ir.blocks(s) or isinstance(s, ir.Try) for n in ir.binds(s)
    }
    for stmt in before:
        if isinstance(stmt, ir.If):
            sure |= _both(stmt)
    origin = ir.Origin(primal.function.place, "save")
    missing = [n for n in taped if n not in sure]
    return (*(ir.Assign(n, ir.Const(None), origin) for n in missing), *before)


def _both(stmt: ir.If) -> set[str]:
    sides = []
    for block in ir.blocks(stmt):
        names = {n for s in block if not ir.blocks(s) for n in ir.binds(s)}
        for inner in block:
            if isinstance(inner, ir.If):
                names |= _both(inner)
        sides.append(names)
    return sides[0] & sides[1]


def _is_read(call: ir.Call, context: Context) -> bool:
    """Whether a call is of a function that is differentiated by its source."""
    obj = rule_object(call, context.kinds)
    if not isinstance(call.fn, ir.Ref) or not is_python_function(obj):
        return False
    ruled = context.book.find(obj) is not None or context.book.is_nondifferentiable(obj)
    return not ruled and written_position(obj) is None  # (`add_at` accumulates, by itself)


def _effects(call: ir.Call, context: Context) -> Effects:
    return context.callees.effects_here(call, context.kind_of) or Effects()


def active_formals(
    call: ir.Call, active: frozenset[str], context: Context
) -> tuple[frozenset[str], frozenset[str]]:
    """The parameters of a user's function that a call gives what is active, and those of them that
    the function writes."""
    actuals = context.callees.bind(call)
    taken = frozenset(f for f, a in actuals.items() if ir.names_in(a) & active)
    return taken, taken & _effects(call, context).written


def writing_calls(function: ir.Function, active: frozenset[str], context: Context) -> Iterator[int]:
    """The statements, by their ids, that call a user's function alone for what it writes into what
    is active: the calls of a derivative stand for them."""
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                if _is_read(call, context) and active_formals(call, active, context)[1]:
                    yield id(stmt)


# --------------------------------------------------------------------------------------------------
# Active calls of user functions become calls of their forward functions, which keep a tape.


@dataclasses.dataclass(eq=False)
class CallConversion(ir.Rewriter):
    """Rewrites `y = g(a)` to `y, tape = g_fwd(a)` where adjoints or writes pass through it."""

    active: frozenset[str]
    aliases: Aliases
    context: Context
    counters: dict[int, str]
    sites: dict[int, CallSite] = dataclasses.field(default_factory=dict)

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
        if not _is_read(call, self.context):
            return False
        taken, written = active_formals(call, self.active, self.context)
        changes = bool(written) or (bool(taken) and bool(set(ir.binds(stmt)) & self.active))
        return changes or self._empties_shared(call, self.context.callees.bind(call))

    def _empties_shared(self, call: ir.Call, actuals: Mapping[str, ir.Expr]) -> bool:
        """Whether a backward function would empty a tape that the sweep reads as well: what stands
        for the call leaves it full (`stacks_by_position`)."""
        tapes = attribute_of(rule_object(call, self.context.kinds), "__empties__", ())
        given = frozenset[str]().union(*(ir.names_in(actuals[tape]) for tape in tapes))
        return any(given.intersection(site.results) for site in self.sites.values())

    def _effects(self, call: ir.Call) -> Effects:
        return _effects(call, self.context)

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
                both = (first, second)
                guards.append(self.context.check("require_apart", both, ir.Origin(place)))
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
        own = call.fn.text.removesuffix(".py_func").removesuffix(".__wrapped__")
        tape = context.fresh(f"{own.rpartition('.')[2]}_tape", OTHER)
        if isinstance(stmt, ir.Do):
            result: ir.Target = context.unread()
        else:
            result = stmt.target
        new = ir.Assign((result, tape), dataclasses.replace(call, fn=pair.fwd), stmt.origin)
        others = (ir.names_in(given) for f, given in actuals.items() if f not in pair.adjoints)
        self.sites[id(new)] = CallSite(
            pair,
            result,
            tape,
            tuple(_name(actuals[f]) for f in pair.adjoints),
            tuple(_name(actuals[f]) for f in pair.written),
            self._changed(call, pair),
            frozenset().union(*others),
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
