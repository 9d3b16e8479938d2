"""Facts about functions, each worked out once for each function object.

A function never changes, so what is known of it never goes stale: a pass that changes something
returns another function, of which nothing is known yet except what the pass says it preserves.
An *analysis* is anything that is called with a function: a class such as `ProgramIndex`, or a
function. One that needs other facts, or the setting in which it is asked (kinds, rules), is
called with both and says so by the attribute `asks = True`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from .nodes import Function

_T = TypeVar("_T")
Analysis = Callable[..., _T]


class Facts:
    """Answers analyses; `setting` is what those that ask for it find in `facts.setting`.

    >>> from tangentlike.frontend.lower import program
    >>> from .index import ProgramIndex
    >>> f, facts = program("y = a * b; return y"), Facts()
    >>> facts.get(ProgramIndex, f) is facts.get(ProgramIndex, f)
    True

    The facts are kept with the function (and are gone with it), apart for each manager, until that
    has to `forget` them. `runs` counts the analyses that were run, by whichever manager.
    """

    runs: ClassVar[int] = 0

    def __init__(self, setting: Any = None, lasting: bool = False) -> None:
        self.setting = setting
        self.computed: dict[str, int] = {}  # how often each analysis was run
        self._asked: list[weakref.ref[Function]] | None = None if lasting else []

    def get(self, analysis: Analysis[_T], function: Function) -> _T:
        """What an analysis says of a function; worked out when first asked for."""
        try:
            known: _T = function.__dict__["_facts"][self][analysis]
            return known
        except KeyError:
            facts = self._known(function)
        name = getattr(analysis, "__name__", repr(analysis))
        self.computed[name] = self.computed.get(name, 0) + 1
        Facts.runs += 1
        asks = getattr(analysis, "asks", False)
        found: _T = analysis(function, self) if asks else analysis(function)
        facts[analysis] = found
        return found

    def keep(self, old: Function, new: Function, preserved: Iterable[Analysis[Any]]) -> Function:
        """`new`, which a pass made of `old`, with those facts of `old` that the pass preserves."""
        if new is not old:
            before, now = self._known(old), self._known(new)
            now.update((a, before[a]) for a in preserved if a in before and a not in now)
        return new

    def forget(self) -> None:
        """All that was found goes. Facts refer to their function and it to them: without this,
        every version of a program would stay until the next garbage collection."""
        for asked in self._asked or ():
            function = asked()
            if function is not None:
                function.__dict__["_facts"].pop(self, None)
        self.setting, self._asked = None, []

    def _known(self, function: Function) -> dict[Analysis[Any], Any]:
        kept: dict[Facts, dict[Analysis[Any], Any]] | None = function.__dict__.get("_facts")
        if kept is None:
            kept = {}
            object.__setattr__(function, "_facts", kept)
        found = kept.get(self)
        if found is None:
            found = kept[self] = {}
            if self._asked is not None:
                self._asked.append(weakref.ref(function))
        return found


GENERAL = Facts(lasting=True)  # for facts that follow from the text of a function alone


def fact(analysis: Analysis[_T], function: Function) -> _T:
    """What an analysis that needs nothing but the function says of it, worked out once."""
    return GENERAL.get(analysis, function)
