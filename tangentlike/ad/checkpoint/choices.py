"""What a user's `tl.checkpoint(f)` and `tl.checkpointed(...)` come to, in each mode.

In forward mode nothing: both are the identity. In reverse mode a checkpointed loop becomes a
function (`outline`), and calls of it and of checkpointed functions get pairs of their own kind
(`checkpoint_pairs`), once it is sure that what runs again does the same again (`repeatable`).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from ... import ir
from ...analysis.memory import Effects, Sources
from ...errors import UnsupportedError
from ...frontend.checkpoints import checkpoint, inside_checkpoint
from ...frontend.lower import Lowered
from ...ir.kind import Kind
from ..context import Context
from ..specialize.bound_methods import with_bound_methods
from ..specialize.callees import Callees, Pair, Request
from ..specialize.function_values import is_partial
from .calls import call_pair
from .loops import LoopPair
from .outline import Outlines, has_marks, strip
from .repeatable import require_repeatable
from .swapped import swapped_arrays

Kinds = Callable[[ir.Function, Mapping[str, Kind]], Mapping[str, Kind]]
SourcesOf = Callable[[ir.Function, Mapping[str, Kind]], Sources]


def _is_checkpoint(stmt: ir.Stmt) -> TypeGuard[ir.Assign]:
    """Whether it is `run = tl.checkpoint(step)`."""
    match stmt:
        case ir.Assign(str(), ir.Call(ir.Ref(obj=obj))):
            return obj is checkpoint
    return False


class Checkpoints:
    """The checkpointed calls and loops of one transform; `keeps` says whether its mode has
    anything to keep."""

    def __init__(self, callees: Callees, kinds: Kinds, sources: SourcesOf, keeps: bool) -> None:
        self._callees = callees
        self._kinds = kinds
        self._sources = sources
        self._keeps = keeps
        self.copied: tuple[str, ...] = ()  # parameters of the main function: copies are written
        self._outlines = Outlines()
        self._inline: dict[int, Any] = {}  # function (by id) -> it, checkpointed where it is called
        self._inside: dict[int, ir.Ref] = {}  # such a one (by id) -> the function
        self._printed: dict[int, ir.Ref] = {}
        callees.made = self._outlines.lowered
        callees.read = lambda lowered: self.read(lowered, {}, is_main=False)

    def read(self, lowered: Lowered, given: Mapping[str, Kind], is_main: bool = True) -> Lowered:
        """A function as the mode sees it: which functions are called where is said
        (`variants`), checkpoints among them, and its loops are outlined."""
        lowered = with_bound_methods(lowered)
        lowered = dataclasses.replace(lowered, function=self._resolved(lowered.function))
        lowered = self._callees.variants.resolved(lowered)
        if not has_marks(lowered.function):
            return lowered
        if not self._keeps:
            return dataclasses.replace(lowered, function=strip(lowered.function))
        plain = strip(lowered.function)
        swapped, changed = swapped_arrays(lowered.function, self._sources(plain, given))
        if changed and not is_main:  # (the caller sees what is written)
            swapped = {}
        elif swapped:
            self.copied = tuple(sorted(changed))
        return self._outlines.run(lowered, self._kinds(plain, given), swapped)

    def _resolved(self, function: ir.Function) -> ir.Function:
        """`run = tl.checkpoint(step); y = run(x)` -> `y = step(x)`, of a checkpointed `step`; of a
        function that captures values `run = partial(step, w=w)`, as `step` itself is spelled."""
        every = list(ir.statements(function.body))
        if not any(_is_checkpoint(stmt) for stmt in every):
            return function
        bound = ir.bindings(every)
        partials = {
            stmt.target: stmt.value
            for stmt in every
            if isinstance(stmt, ir.Assign)
            and is_partial(stmt.value)
            and bound[str(stmt.target)] == 1
        }
        once = {
            stmt.target for stmt in every if _is_checkpoint(stmt) and bound[str(stmt.target)] == 1
        }
        values: dict[str, ir.Expr] = {}

        def statement(stmt: ir.Stmt) -> ir.Instead:
            if not _is_checkpoint(stmt):
                return None
            made = self._checkpointed(stmt, partials)
            if isinstance(made, ir.Ref) and stmt.target in once:
                values[str(stmt.target)] = made
                return ()
            return dataclasses.replace(stmt, value=made)

        body = ir.rewrite(function.body, statement, lambda e: ir.substitute(e, values))
        return ir.with_body(function, body)

    def _checkpointed(self, stmt: ir.Assign, partials: Mapping[Any, ir.Expr]) -> ir.Expr:
        call = stmt.value
        assert isinstance(call, ir.Call)
        inner = call.args[0] if len(call.args) == 1 and not call.kwargs else None
        whole = partials.get(inner.name) if isinstance(inner, ir.Var) else None
        if isinstance(whole, ir.Call):
            inner = whole.args[0]
        if not isinstance(inner, ir.Ref) or not inspect.isfunction(inner.obj):
            raise UnsupportedError(
                "which function is checkpointed here is not known when the derivative is made",
                call.at or stmt.origin.place,
                "Give checkpoint a function that is defined outside of this one.",
            )
        fn, chosen = inner.obj, inner
        if self._keeps and inside_checkpoint(fn) is None:
            made = self._inline.setdefault(id(fn), checkpoint(fn))
            self._inside[id(made)] = inner
            chosen = ir.Ref(inner.text, made)
        if isinstance(whole, ir.Call):
            return dataclasses.replace(whole, args=(chosen, *whole.args[1:]))
        return chosen

    # -------------------------------------------------------------------------------- pairs

    def pair(
        self, pair: Pair, request: Request, context_of: Callable[[], Context]
    ) -> tuple[tuple[ir.Function, ir.Function], Context] | None:
        """The pair of a checkpointed callee, None for any other."""
        obj, callees = request.callee, self._callees
        plan = self._outlines.plans.get(id(obj))
        inside = self._uncheckpointed(obj)
        if plan is None and inside is None:
            return None
        require_repeatable(request.lowered, callees)
        context = context_of()
        written = (callees.effects(obj) or Effects()).written
        if plan is not None:
            return LoopPair(pair, request, context, written).run(plan), context
        return call_pair(pair, request, context, written, inside), context

    def _uncheckpointed(self, obj: Any) -> Any:
        """The function inside a checkpointed one, or inside a variant of one."""
        variants = self._callees.variants
        if id(obj) not in variants.original:
            return inside_checkpoint(obj)
        original = variants.original[id(obj)]
        if inside_checkpoint(original) is None:
            return None
        return variants.twin_of(obj, inside_checkpoint(original))

    # ----------------------------------------------------------------------------- printing

    def printed(self, function: ir.Function, emit: Callable[[Any, str], ir.Ref]) -> ir.Function:
        """A function in which loops that are run as they are have a function of the file, which
        `emit` adds, and functions checkpointed where they are called are themselves again."""
        if not self._outlines.lowered and not self._inside:
            return function

        def expr(e: ir.Expr) -> ir.Expr:
            if isinstance(e, ir.Ref):
                if id(e.obj) in self._inside:
                    return self._inside[id(e.obj)]
                if id(e.obj) in self._outlines.lowered:
                    if id(e.obj) not in self._printed:
                        self._printed[id(e.obj)] = emit(e.obj, e.text)
                    return self._printed[id(e.obj)]
                return e
            return ir.rebuild(e, expr)

        return ir.with_body(function, ir.rewrite(function.body, expression=expr))
