"""What several passes ask about the same program, computed once for each."""

from __future__ import annotations

from functools import cached_property

from ... import ir
from ...analysis.liveness import Liveness, liveness
from .effects import pinned_names
from .facts import Facts
from .patterns import patterns_of
from .reality import RealNames
from .shapes import Shapes
from .sharing import Sharing

_LAST = 0  # where the latest liveness is kept: the next program has most of its statements


class Analyses:
    """Facts that follow from the program text; each computed when first asked for."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.function = function
        self.facts = facts

    @cached_property
    def patterns(self) -> int:
        """The forms that its statements have."""
        found = 0
        for stmt in self.function.body:
            found |= patterns_of(stmt)
        return found

    @cached_property
    def pinned(self) -> frozenset[str]:
        """Names that must stay what they are."""
        return pinned_names(self.function, self.facts)

    @cached_property
    def live(self) -> Liveness:
        """Which names are live where."""
        _, known = self.facts.cache.get(_LAST, (None, None))
        found = liveness(self.function, self.pinned, known)
        self.facts.cache[_LAST] = (None, found)
        return found

    @cached_property
    def sharing(self) -> Sharing:
        """Which names may share memory."""
        return Sharing(self.function, self.facts)

    @cached_property
    def shapes(self) -> Shapes:
        """What is known of the shapes of names."""
        return Shapes(self.function, self.facts)

    @cached_property
    def real(self) -> RealNames:
        """Which names are surely bound to real values."""
        return RealNames(self.function, self.facts)


def analyses(function: ir.Function, facts: Facts) -> Analyses:
    """The analyses of a program, shared by the passes that leave it as it is."""
    known = facts.cache.get(id(function))
    if known is None or known[0] is not function:
        known = facts.cache[id(function)] = (function, Analyses(function, facts))
    found: Analyses = known[1]
    return found
