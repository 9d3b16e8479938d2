"""What a user's `tl.checkpoint(f)` and `tl.checkpointed(...)` come to, in each mode.

In forward mode nothing: both are the identity. In reverse mode a checkpointed loop becomes a
function (`outline`), and calls of it and of checkpointed functions get pairs of their own kind
(`checkpoint_pairs`), once it is sure that what runs again does the same again (`repeatable`).
"""

from __future__ import annotations

import dataclasses
import inspect
import random
import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np

from ... import ir
from ...analysis.memory import Effects, Sources
from ...analysis.operations import MUTATING_METHODS
from ...analysis.sharing import Sharing, owner
from ...analysis.structure import structure
from ...errors import Place, UnsupportedError
from ...frontend.checkpoints import checkpoint, inside_checkpoint
from ...frontend.lower import Lowered
from ...frontend.owners import is_numerical, is_ours, package_of
from ...ir.identity import ByIdentity
from ...ir.kind import Kind
from ...runtime.records import attribute_of
from ..context import Context
from ..specialize.bound_methods import with_bound_methods
from ..specialize.callees import Callees, Pair, Request
from ..specialize.function_values import is_partial
from .calls import LoopPair, call_pair
from .outline import Outlines, has_marks, mark_of, strip

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
        self._inline = ByIdentity[Any]()  # function -> it, checkpointed where it is called
        self._inside = ByIdentity[ir.Ref]()  # such a one -> the function
        self._printed = ByIdentity[ir.Ref]()
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
        function that captures values `run = partial(step, w=w)`, as `step` itself is written."""
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
            if fn not in self._inline:
                self._inline[fn] = checkpoint(fn)
            made = self._inline[fn]
            self._inside[made] = inner
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
        plan = self._outlines.plans.get(obj)
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
        if obj not in variants.original:
            return inside_checkpoint(obj)
        inside = inside_checkpoint(variants.plain(obj))
        return None if inside is None else variants.twin_of(obj, inside)

    # ----------------------------------------------------------------------------- printing

    def printed(self, function: ir.Function, emit: Callable[[Any, str], ir.Ref]) -> ir.Function:
        """A function in which loops that are run as they are have a function of the file, which
        `emit` adds, and functions checkpointed where they are called are themselves again."""
        if not self._outlines.lowered and not self._inside:
            return function

        def expr(e: ir.Expr) -> ir.Expr:
            if isinstance(e, ir.Ref):
                if e.obj in self._inside:
                    return self._inside[e.obj]
                if e.obj in self._outlines.lowered:
                    if e.obj not in self._printed:
                        self._printed[e.obj] = emit(e.obj, e.text)
                    return self._printed[e.obj]
                return e
            return ir.rebuild(e, expr)

        return ir.with_body(function, ir.rewrite(function.body, expression=expr))


# --------------------------------------------------------------------------------------------------
# Whether code that a checkpoint runs again does the same again.
#
# A random draw, a value taken from an iterator or the time of day would be another one the second
# time, and the gradient that of another function: refused, with the line.

_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_ORDINARY = frozenset(name for cls in (np.ndarray, list, dict, str, tuple) for name in dir(cls))
_DRAWS = frozenset(n for cls in _GENERATORS for n in dir(cls) if n[0] != "_") - _ORDINARY | {
    "choice", "shuffle", "permutation",
}  # fmt: skip
_ONCE = frozenset({"next", "iter", "input", "open"})
_CLOCKS = ("time", "datetime", "random", "secrets", "uuid", "os")
_METHOD = re.compile(r"\.(\w+)\s*\(")


def require_repeatable(lowered: Lowered, callees: Callees) -> None:
    """Refuse a function that may do something else when it is run again, or call one."""
    _Search(callees).function(lowered)


class _Search:
    def __init__(self, callees: Callees) -> None:
        self.callees = callees
        self.seen: set[int] = set()

    def function(self, lowered: Lowered) -> None:
        for stmt in ir.statements(lowered.function.body):
            place = stmt.origin.place
            for expr in ir.expressions(stmt):
                for part in ir.walk(expr):
                    self._part(part, place)
            if isinstance(stmt, ir.OpaqueStmt):
                self._text(stmt.text, stmt.refs, place)

    def _part(self, part: ir.Expr, place: Place) -> None:
        match part:
            case ir.Ref():
                self._object(part, place)
            case ir.Call(fn=ir.Attribute(name=name)) if name in _DRAWS:
                _refuse(f"`.{name}(...)`", place)
            case ir.Opaque():
                self._text(part.text, part.refs, place)

    def _text(self, text: str, refs: tuple[ir.Ref, ...], place: Place) -> None:
        for ref in refs:
            self._object(ref, place)
        for name in _METHOD.findall(text):
            if name in _DRAWS:
                _refuse(f"`.{name}(...)`", place)

    def _object(self, ref: ir.Ref, place: Place) -> None:
        obj = ref.obj
        owner = attribute_of(obj, "__self__", None)
        if isinstance(owner, _GENERATORS) or isinstance(obj, types.GeneratorType):
            _refuse(f"`{ref.text}`", place)
        changes = isinstance(owner, (list, dict, set)) and ref.text.rpartition(".")[2]
        if changes in MUTATING_METHODS:
            _refuse(f"`{ref.text}`", place)
        module = package_of(obj)
        if module in _CLOCKS and callable(obj):
            _refuse(f"`{ref.text}`", place)
        if ref.text in _ONCE and module in ("builtins", "io", "_io"):
            _refuse(f"`{ref.text}`", place)
        if inspect.isfunction(obj):
            self._callee(obj)

    def _callee(self, obj: Any) -> None:
        if id(obj) in self.seen or is_numerical(obj) or is_ours(obj):
            return
        self.seen.add(id(obj))
        try:
            lowered = self.callees.lowered(obj)
        except UnsupportedError:
            return  # refused where it is differentiated; else it carries no derivative
        self.function(lowered)


def _refuse(what: str, place: Place) -> None:
    raise UnsupportedError(
        f"{what} gives something else when a checkpoint runs it again",
        place,
        "Draw (or read) it before the checkpointed call or loop and pass it in.",
    )


# --------------------------------------------------------------------------------------------------
# Arrays that a checkpointed loop writes in place and hands on under other names.
#
#     for t in tl.checkpointed(range(n)):          a round of the loop begins with
#         new[1:-1] = f(u)                             u = copy(u)
#         u, new = new, u                              new = copy(new)
#
# so that it writes nothing but arrays of its own, and its state is what it hands on. Nobody can
# tell the difference as long as no other name sees what the rounds write.

Swapped = dict[int, tuple[str, ...]]


def swapped_arrays(function: ir.Function, sources: Sources) -> tuple[Swapped, frozenset[str]]:
    """The names of arrays that each checkpointed loop (by its id) both writes and binds anew, where
    the rounds may write copies instead; and the parameters that the function changes."""
    plain = strip(function)
    sharing = Sharing(structure(plain), sources, function.param_names)
    seen = {owner(node) for pair in sharing.conflicts for node in pair} | _outer(plain)
    found: Swapped = {}
    for loop in ir.statements(function.body):
        if mark_of(loop) is None or not isinstance(loop, ir.For | ir.While):
            continue
        inside = list(ir.statements(loop.body))
        written = {name for stmt in inside for name in sources.written(stmt)}
        bound = {n for s in inside if not isinstance(s, ir.Update) for n in ir.binds(s)}
        classes = {sharing.classes.get(n, n) for n in written}
        together = {owner(n) for n, c in sharing.classes.items() if c in classes} | written
        if written & bound and not together & seen:
            found[id(loop)] = tuple(sorted(together & bound))
    return found, frozenset(sharing.changed)


def _outer(function: ir.Function) -> set[str]:
    """Names that may stand for an object of no function, or a part of one."""
    return {
        name
        for stmt in ir.statements(function.body)
        for name in ir.binds(stmt)
        if any(isinstance(part, ir.Ref) for expr in ir.expressions(stmt) for part in _parts(expr))
    }


def _parts(expr: ir.Expr) -> Iterator[ir.Expr]:
    """What an expression may hand on as it is: not the functions that it calls."""
    yield expr
    match expr:
        case ir.Call(fn=ir.Ref(), args=args, kwargs=kwargs):
            inner = (*args, *(value for _, value in kwargs))
        case _:
            inner = ir.children(expr)
    for part in inner:
        yield from _parts(part)
