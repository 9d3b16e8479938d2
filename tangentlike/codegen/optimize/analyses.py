"""What several passes ask about the same program, worked out once for each (`ir.facts`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Any, TypeVar

from ... import ir
from ...analysis.structure import Liveness, liveness
from ...ir.facts import Facts as Manager
from .effects import Effect, pinned_names
from .facts import Facts, numpy_name, runtime_name
from .shapes import RealNames, Shapes
from .sharing import Sharing

_T = TypeVar("_T")
_S = TypeVar("_S", bound=ir.Stmt)
_LAST = 0  # where the latest liveness is kept: the next program has most of its statements


def _patterns(function: ir.Function) -> int:
    found = 0
    for stmt in function.body:
        found |= patterns_of(stmt)
    return found


def of_facts(analysis: Callable[[ir.Function, Facts], _T]) -> Callable[[ir.Function, Manager], _T]:
    """An analysis that is given the facts about the function that the passes work on."""

    def asked(function: ir.Function, manager: Manager) -> _T:
        return analysis(function, manager.setting)

    asked.asks = True  # type: ignore[attr-defined]
    asked.__name__ = analysis.__name__
    return asked


def _liveness(function: ir.Function, manager: Manager) -> Liveness:
    cache: dict[Any, Any] = manager.setting.cache
    _, known = cache.get(_LAST, (None, None))
    found = liveness(function, manager.get(_PINNED, function), known)
    cache[_LAST] = (None, found)
    return found


_liveness.asks = True  # type: ignore[attr-defined]
_PINNED = of_facts(pinned_names)
_SHARING = of_facts(Sharing)
_SHAPES = of_facts(Shapes)
_REAL = of_facts(RealNames)


def _answer(analysis: Callable[..., _T]) -> cached_property[_T]:
    return cached_property(lambda known: known.manager.get(analysis, known.function))


class Analyses:
    """Facts about one program; each worked out when first asked for."""

    patterns = _answer(_patterns)  # the forms that its statements have
    pinned = _answer(_PINNED)  # names that must stay what they are
    live = _answer(_liveness)  # which names are live where
    sharing = _answer(_SHARING)  # which names may share memory
    shapes = _answer(_SHAPES)  # what is known of the shapes of names
    real = _answer(_REAL)  # which names are surely bound to real values

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.function = function
        self.facts = facts
        self.manager = facts.manager
        self.manager.setting = facts

    def can_move(self, effect: Effect, across: Iterable[Effect]) -> bool:
        """Whether what an expression with this effect gives is the same on the other side of
        statements: none of them binds a name that it reads, or writes what it reads."""
        for other in across:
            if not other.binds.isdisjoint(effect.reads):
                return False
            if self.meet(effect.content, other.writes):
                return False
        return True

    def meet(self, content: Iterable[str], writes: Collection[str]) -> bool:
        """Whether a write through one of `writes` may change what is read through `content`. (Most
        write nothing: who shares memory is worked out where something is written.)"""
        return bool(writes) and self.sharing.meet(content, writes)


def preserved(old: ir.Function, new: ir.Function, facts: Facts, pass_: str) -> ir.Function:
    """What a pass made of a function, with the facts of that which surely hold of it: no pass
    makes code that reads names later, and one that takes statements away, or writes what they
    compute elsewhere, gives no name another shape."""
    known = [_PINNED] if not facts.manager.get(_PINNED, old) else []
    return facts.manager.keep(old, new, known + _PRESERVED.get(pass_, []))


_PRESERVED = {"nest_single_uses": [_SHAPES], "remove_dead_code": [_SHAPES]}


class Asking(ir.Rewriter, Analyses):
    """A pass over one program, which works facts out when it first asks for them: most passes find
    nothing to do before they need any. `indentation` is that of the block it is at."""

    indentation = 4

    def nested(self, stmt: _S) -> _S:
        """A statement with its nested blocks rewritten."""
        if not ir.is_compound(stmt):
            return stmt
        self.indentation += 4
        new = super().nested(stmt)
        self.indentation -= 4
        return new


# --------------------------------------------------------------------------------------------------
# What a pass looks for: a pass of whose pattern no statement is costs nothing.
#
# Each form of statement that some pass begins at has a bit. The bits of a statement are worked out
# once, those of a program by one `or` for each statement.

IN_PLACE = ("+", "-", "*", "/", "//", "%", "**", "@")
_REPEATED = ("+", "-", "*", "/", "//", "%", "len")


COPY = 1  # `x = y`, `x = 1.0`
BRANCH = 2
ZERO = 4  # `x_bar = 0.0`, `x_bar = zeros_like(x)`
ADDITION = 8  # `x_bar += e`
TAKEN = 16  # `A_bar[k] = 0.0`
REDUCTION = 32  # `t_bar = unbroadcast(g, t)`
COPIED = 64  # `A_bar[k].copy()` somewhere in it
READ = 128  # `t = x[i]`, `t = a.T`, `n = m - 1`, `t_bar = np.ones_like(t)`
OWN = 256  # `x = x + e`, `A[k] = A[k] * e`
NEW_LIST = 512  # `saved = []`


@ir.of_node
def patterns_of(stmt: ir.Stmt) -> int:
    """The forms that a statement, or one in it, has."""
    found = 0
    for block in ir.blocks(stmt):
        for inner in block:
            found |= patterns_of(inner)
    match stmt:
        case ir.Assign():
            found |= _of_assignment(stmt)
        case ir.Update(op=op):
            if op.obj in (operator.iadd, operator.isub):
                found |= ADDITION
        case ir.Store(target=ir.Index(), value=value):
            found |= TAKEN if value == ir.Const(0.0) else 0
            found |= OWN if _is_arithmetic(value) else 0
        case ir.If():
            found |= BRANCH
    if stmt.origin.is_derived and any(map(_copies, ir.expressions(stmt))):
        found |= COPIED
    return found


def _of_assignment(stmt: ir.Assign) -> int:
    found = 0
    match stmt.value:
        case ir.Var() | ir.Const():
            found |= COPY
        case ir.Display(form="list", items=()):
            found |= NEW_LIST
        case ir.Index() | ir.Attribute(name="T"):
            found |= READ
        case ir.Call(fn=ir.Ref(text=text, obj=obj)):
            found |= READ if text in _REPEATED else 0
            found |= OWN if text in IN_PLACE else 0
            if stmt.origin.is_derived:
                found |= _OF_HELPERS.get(runtime_name(obj) or numpy_name(obj), 0)
    if isinstance(stmt.value, ir.Const) and stmt.value == ir.Const(0.0):
        found |= ZERO
    return found


_OF_HELPERS = {
    **{"unbroadcast": REDUCTION, "zeros_like": ZERO},
    **{"ones_like": READ, "full_like": READ},
}


def _is_arithmetic(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref) and expr.fn.text in IN_PLACE


@ir.of_node
def _copies(expr: ir.Expr) -> bool:
    """Whether a copy is made in an expression."""
    for part in ir.parts_of(expr):
        if type(part) is ir.Attribute and part.name == "copy":
            return True
        if type(part) is ir.Ref and runtime_name(part.obj) == "copy":
            return True
    return False
