"""What several passes ask about the same program, worked out once for each (`ir.facts`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from ... import ir
from ...analysis.liveness import Liveness, liveness
from ...ir.facts import Facts as Manager
from .effects import Effect, pinned_names
from .facts import Facts
from .patterns import patterns_of
from .reality import RealNames
from .shapes import Shapes
from .sharing import Sharing

_T = TypeVar("_T")
_S = TypeVar("_S", bound=ir.Stmt)
_LAST = 0  # where the latest liveness is kept: the next program has most of its statements


def _patterns(function: ir.Function) -> int:
    found = 0
    for stmt in function.body:
        found |= patterns_of(stmt)
    return found


def _of_facts(analysis: Callable[[ir.Function, Facts], _T]) -> Callable[[ir.Function, Manager], _T]:
    """An analysis that is told the facts about the function that the passes are given."""

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
_PINNED = _of_facts(pinned_names)
_SHARING = _of_facts(Sharing)
_SHAPES = _of_facts(Shapes)
_REAL = _of_facts(RealNames)


class Analyses:
    """Facts about one program; each worked out when first asked for."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.function = function
        self.manager = facts.manager
        self.manager.setting = facts

    @cached_property
    def patterns(self) -> int:
        """The forms that its statements have."""
        return self.manager.get(_patterns, self.function)

    @cached_property
    def pinned(self) -> frozenset[str]:
        """Names that must stay what they are."""
        return self.manager.get(_PINNED, self.function)

    @cached_property
    def live(self) -> Liveness:
        """Which names are live where."""
        return self.manager.get(_liveness, self.function)

    @cached_property
    def sharing(self) -> Sharing:
        """Which names may share memory."""
        return self.manager.get(_SHARING, self.function)

    @cached_property
    def shapes(self) -> Shapes:
        """What is known of the shapes of names."""
        return self.manager.get(_SHAPES, self.function)

    @cached_property
    def real(self) -> RealNames:
        """Which names are surely bound to real values."""
        return self.manager.get(_REAL, self.function)


def preserved(old: ir.Function, new: ir.Function, facts: Facts, pass_: str) -> ir.Function:
    """What a pass made of a function, with the facts of that which surely hold of it: no pass
    makes code that reads names later, and one that takes statements away, or writes what they
    compute elsewhere, gives no name another shape."""
    known = [_PINNED] if not facts.manager.get(_PINNED, old) else []
    return facts.manager.keep(old, new, known + _PRESERVED.get(pass_, []))


_PRESERVED = {"nest_single_uses": [_SHAPES], "remove_dead_code": [_SHAPES]}


def analyses(function: ir.Function, facts: Facts) -> Analyses:
    """The analyses of a program, shared by the passes that leave it as it is."""
    return Analyses(function, facts)


class Asking(ir.Rewriter):
    """A pass over one program, which works facts out when it first asks for them: most passes find
    nothing to do before they need any. `indentation` is that of the block it is at."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.facts = facts
        self.known = analyses(function, facts)
        self.indentation = 4

    def nested(self, stmt: _S) -> _S:
        """A statement with its nested blocks rewritten."""
        if not ir.is_compound(stmt):
            return stmt
        self.indentation += 4
        new = super().nested(stmt)
        self.indentation -= 4
        return new

    def can_move(self, effect: Effect, across: Iterable[Effect]) -> bool:
        """Whether what an expression with this effect gives is the same on the other side of
        statements: none of them binds a name that it reads, or writes what it reads."""
        for other in across:
            if not other.binds.isdisjoint(effect.reads):
                return False
            if other.writes and self.sharing.meet(effect.content, other.writes):
                return False
        return True

    @property
    def pinned(self) -> frozenset[str]:
        """Names that must stay what they are."""
        return self.known.pinned

    @property
    def live(self) -> Liveness:
        """Which names are live where."""
        return self.known.live

    @property
    def sharing(self) -> Sharing:
        """Which names may share memory."""
        return self.known.sharing

    @property
    def shapes(self) -> Shapes:
        """What is known of the shapes of names."""
        return self.known.shapes
