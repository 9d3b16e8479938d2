"""Checkpointed loops as functions of their own: what is carried, read and written is then known.

    for t in tl.checkpointed(range(n), every=k):        h = f_loop(h, w, n, k)
        h = np.tanh(w @ h)                        ->

where `f_loop` is the loop, and `f_steps(h, w, start, stop)` some of its rounds. To every
analysis this is a call as any other; `transform.checkpointing.loops` knows how it is reversed.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import ir, runtime
from ...analysis.structure import Structure, definitely_assigned, structure
from ...errors import Place, UnsupportedError
from ...frontend.checkpoints import checkpointed
from ...frontend.lower import Lowered, names_of, reaching, renamed_webs
from ...frontend.signatures import give_signature
from ...ir.identity import ByIdentity
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from ..context import BINARY_OF, operation
from ..loops import indexed, is_call, length

Options = tuple[tuple[str, ir.Expr], ...]


@dataclass(frozen=True)
class LoopPlan:
    """A checkpointed loop: `steps` runs the rounds from `start` to `stop` (its last parameters);
    `carried` are the names it returns; `rounds` says how many rounds there are, `test` whether
    there is one more where that is not known; `options` are those of `checkpointed`."""

    steps: Any
    carried: tuple[str, ...]
    rounds: ir.Expr | None
    test: ir.Expr | None
    options: Options
    place: Place


def mark_of(stmt: ir.Stmt) -> ir.Call | None:
    """The call of `checkpointed` around what a loop goes through, or its test."""
    match stmt:
        case ir.For(iter=ir.Call() as call) | ir.While(test=ir.Call() as call):
            return call if is_call(call, checkpointed) else None
    return None


def strip(function: ir.Function) -> ir.Function:
    """A function whose loops are plain loops.

    `for t in checkpointed(range(n), every=k): B` -> `for t in range(n): B`
    """
    return ir.with_body(function, _stripped(function.body))


def _stripped(block: ir.Block) -> ir.Block:
    return ir.rewrite(block, after=_plain)


def _plain(stmt: ir.Stmt) -> ir.Stmt:
    mark = mark_of(stmt)
    if mark is None:
        return stmt
    if isinstance(stmt, ir.For):
        return dataclasses.replace(stmt, iter=mark.args[0])
    assert isinstance(stmt, ir.While)
    return dataclasses.replace(stmt, test=mark.args[0])


def has_marks(function: ir.Function) -> bool:
    """Whether a function has checkpointed loops."""
    return any(mark_of(stmt) is not None for stmt in ir.statements(function.body))


class Outlines:
    """The functions made of checkpointed loops. `lowered` and `plans` go by a function
    object that stands for each: of whole loops (these have a plan) and of steps."""

    def __init__(self) -> None:
        self.lowered = ByIdentity[Lowered]()
        self.plans = ByIdentity[LoopPlan]()

    def run(
        self,
        lowered: Lowered,
        kinds: Mapping[str, Kind],
        swapped: Mapping[int, tuple[str, ...]],
    ) -> Lowered:
        """A function with calls in the place of its checkpointed loops; `swapped` are the arrays
        of which rounds write copies (`ad.checkpoint.choices`), by the id of the loop."""
        if not has_marks(lowered.function):
            return lowered
        function = lowered.function
        work = _Outlining(self, lowered, kinds, structure(function), swapped)
        return dataclasses.replace(lowered, function=work.rewritten(function))

    def stand_in(self, function: ir.Function, lowered: Lowered) -> Any:
        """A function object that stands for a function that we made."""
        scope = lowered.scope
        home = scope.fn if scope.fn is not None else _template
        made = types.FunctionType(_template.__code__, scope.globals, function.name)  # type: ignore[arg-type]
        made.__module__, made.__qualname__ = home.__module__, function.name
        any_kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, any_kind) for name in function.param_names]
        give_signature(made, inspect.Signature(parameters))
        self.lowered[made] = dataclasses.replace(lowered, function=function)
        return made


def _template() -> None:
    """Its code stands in functions that are never called."""


@dataclass
class _Outlining(ir.Rewriter):
    """One function's loops."""

    outlines: Outlines
    lowered: Lowered
    kinds: Mapping[str, Kind]
    facts: Structure
    swapped: Mapping[int, tuple[str, ...]]
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        self.names = names_of(self.lowered.function)
        self.bound = definitely_assigned(self.facts)

    def statement(self, stmt: ir.Stmt) -> ir.Stmt | None:
        mark = mark_of(stmt)
        if mark is None or not isinstance(stmt, ir.For | ir.While):
            return None
        options = _options(mark, stmt)
        body = ir.rewrite(stmt.body, self._rebound)
        _refuse_jumps(body)
        carried, inputs = self._flow(stmt)
        plain = _plain(dataclasses.replace(stmt, body=body))
        assert isinstance(plain, ir.For | ir.While)
        own = tuple(_own(n, plain) for n in self.swapped.get(id(stmt), ()) if n in carried)
        steps = self._steps(plain, carried, inputs, own)
        header = ir.reads(plain) - frozenset(ir.binds(plain))
        named = frozenset().union(*(ir.names_in(value) for _, value in options))
        params = self._ordered(header | named | set(inputs))
        whole = dataclasses.replace(plain, body=_stripped(body))
        loop = self._made("loop", params, (*own, whole), carried, stmt)
        obj = self.outlines.stand_in(loop, self.lowered)
        rounds, test = None, None
        if isinstance(plain, ir.For):
            rounds = length(plain.iter)
        else:
            test = plain.test
        self.outlines.plans[obj] = LoopPlan(
            steps, carried, rounds, test, options, stmt.origin.place
        )
        call = ir.Call(ir.Ref(loop.name, obj), tuple(map(ir.Var, params)), at=stmt.origin.place)
        if not carried:
            return ir.Do(call, stmt.origin)
        target: ir.Target = carried if len(carried) > 1 else carried[0]
        return ir.Assign(target, call, stmt.origin)

    def _steps(
        self,
        loop: ir.For | ir.While,
        carried: tuple[str, ...],
        inputs: tuple[str, ...],
        own: tuple[ir.Stmt, ...],
    ) -> Any:
        """The function of some rounds, its own checkpointed loops being calls again."""
        start, stop = self.names.fresh("start"), self.names.fresh("stop")
        some = ir.Call(ir.RANGE, (ir.Var(start), ir.Var(stop)))
        if isinstance(loop, ir.While):
            part = ir.For(self.names.fresh("_"), some, loop.body, loop.origin)
        elif is_call(loop.iter, range) and len(loop.iter.args) == 1:
            part = dataclasses.replace(loop, iter=some)
        else:
            part = dataclasses.replace(indexed(loop, self.names.fresh("i"), loop.body), iter=some)
        taken = set(inputs)
        if isinstance(loop, ir.For) and part.target != loop.target:
            taken |= ir.reads(loop)
        params = (*self._ordered(taken), start, stop)
        steps = self._made("steps", params, (*own, part), carried, loop)
        obj = self.outlines.stand_in(steps, self.lowered)
        inner = self.outlines.run(self.outlines.lowered[obj], self.kinds, self.swapped)
        self.outlines.lowered[obj] = inner
        return obj

    def _made(
        self,
        what: str,
        params: Iterable[str],
        body: ir.Block,
        carried: tuple[str, ...],
        loop: ir.Stmt,
    ) -> ir.Function:
        value: ir.Expr = ir.Const(None)
        if carried:
            names = tuple(map(ir.Var, carried))
            value = names[0] if len(names) == 1 else ir.Display("tuple", names)
        function = self.lowered.function
        made = ir.Function(
            f"{function.name}_{what}",
            tuple(map(ir.Param, params)),
            (*body, ir.Return(value, loop.origin)),
            loop.origin.place,
            free=function.free,
        )
        if not set(made.param_names) & {n for stmt in body for n in ir.binds(stmt)}:
            return made
        return renamed_webs(made, reaching(made), self.names)[0]  # (a copy has a name of its own)

    # ----------------------------------------------------------------- what flows through it

    def _flow(self, loop: ir.For | ir.While) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names a round hands on (to the next one, or to what follows), and those that the
        rounds start from: these first, then what they read."""
        inside = list(ir.statements(loop.body))
        bound = {n for s in inside for n in ir.binds(s) if not self._is_write(s)}
        read = {n for s in inside for n in ir.reads(s)}
        live = self.facts.live_in(self.facts.block(loop, 0))
        if isinstance(loop, ir.While):
            live |= ir.reads(loop)
        carried = {n for n in bound if n in live or self.facts.is_live_after(loop, n)}
        for name in sorted(carried):
            if not self.bound.is_bound_before(loop, name):
                raise UnsupportedError(
                    f"`{name}` may have no value yet where this checkpointed loop begins",
                    loop.origin.place,
                    f"Give `{name}` a value before the loop: saved states hold what one iteration "
                    "passes to the next.",
                )
        inputs = carried | (read & live) - frozenset(ir.binds(loop))
        return self._ordered(carried), self._ordered(inputs)

    def _ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """In the order in which the function binds them."""
        function = self.lowered.function
        known = dict.fromkeys(
            (*function.param_names, *(n for s in ir.statements(function.body) for n in ir.binds(s)))
        )
        wanted = set(names)
        return tuple(n for n in known if n in wanted)

    def _is_write(self, stmt: ir.Stmt) -> bool:
        """Whether `a += b` writes an array, which stays the same object."""
        return (
            isinstance(stmt, ir.Update)
            and isinstance(stmt.target, ir.Var)
            and self.kinds.get(stmt.target.name, UNKNOWN).form in ("array", "list")
        )

    def _rebound(self, stmt: ir.Stmt) -> ir.Stmt | None:
        """`s += v` of a number as `s = s + v`; of what may be an array it is refused, since the
        state that is kept would be another one."""
        if not isinstance(stmt, ir.Update) or not isinstance(stmt.target, ir.Var):
            return None
        if self._is_write(stmt):
            return stmt
        name = stmt.target.name
        if self.kinds.get(name, UNKNOWN).form != "number":
            raise UnsupportedError(
                f"`{name}` may be a number (rebound here) or an array (written in place)",
                stmt.origin.place,
                "A checkpointed loop saves these in different ways. "
                f"Write `{name} = {name} {BINARY_OF[stmt.op.obj].text} ...` or "
                f"`{name}[...] {BINARY_OF[stmt.op.obj].text}= ...`. In the function that is "
                "differentiated itself, an annotation (`x: float` or `x: np.ndarray`) says which.",
            )
        return ir.Assign(name, operation(stmt), stmt.origin)


def _own(name: str, loop: ir.Stmt) -> ir.Stmt:
    """`u = copy(u)`."""
    call = ir.Call(ir.Ref("copy", runtime.copy), (ir.Var(name),))
    return ir.Assign(name, call, loop.origin)


def _options(mark: ir.Call, stmt: ir.Stmt) -> Options:
    """The options of `checkpointed`, as far as the text shows it is sound."""
    given = tuple((k, v) for k, v in mark.kwargs if v != ir.Const(None))
    words = [k for k, _ in given]
    hint, message = "", ""
    if len(mark.args) != 1 or not set(words) <= {"every", "snapshots", "schedule", "to"}:
        message = "this call of checkpointed cannot be read"
        hint = "Pass the iterations first, and every=, snapshots=, schedule= or to= by name."
    elif len({"every", "snapshots", "schedule"} & set(words)) > 1:
        message = "checkpointed takes one of every=, snapshots= and schedule="
        hint = "Leave out the others."
    elif isinstance(stmt, ir.While) and "snapshots" not in words:
        message = "how many iterations a while loop makes is not known beforehand"
        hint = "Say how many states may be saved: checkpointed(test, snapshots=30)."
    if message:
        raise UnsupportedError(message, stmt.origin.place, hint)
    return given


def _refuse_jumps(block: ir.Block) -> None:
    """A step runs as often as it did: it cannot decide again to leave the loop."""
    for stmt in ir.breaks(block):
        raise UnsupportedError(
            "a checkpointed loop cannot be left by `break` or `return`",
            stmt.origin.place,
            "Put the condition in `while tl.checkpointed(condition, snapshots=c)`.",
        )
