"""What calls of user functions do to their arguments, found once for each function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...analysis.memory import Effects
from ...errors import UnsupportedError
from ...frontend.lower import Lowered
from ...ir.kind import Kind

# (function, what is known of its parameters) -> effects
Finder = Callable[[Lowered, Mapping[str, Kind]], Effects]
_Key = tuple[int, frozenset[tuple[str, Kind]]]


class CalleeEffects:
    """Effects by function, and by which parameters are known to be arrays, or to hold some or
    numbers."""

    def __init__(self, lowered: Callable[[Any], Lowered], find: Finder) -> None:
        self._lowered = lowered
        self._find = find
        self._found: dict[_Key, Effects] = {}
        self._keep: list[Any] = []  # so that ids stay unique

    def of(self, obj: Any, kinds: Mapping[str, Kind] | None = None) -> Effects | None:
        """What a call may write and return of its arguments; None if it has no source."""
        if not inspect.isfunction(obj):
            return None
        key = (id(obj), frozenset((kinds or {}).items()))
        if key not in self._found:
            self._keep.append(obj)
            self._found[key] = Effects()  # a recursive call sees the estimate so far
            try:
                lowered = self._lowered(obj)
            except UnsupportedError:
                del self._found[key]
                return None
            while True:
                found = self._find(lowered, kinds or {})
                if found == self._found[key]:
                    break
                self._found[key] = found
        return self._found[key]

    def here(self, obj: Any, kinds: Mapping[str, Kind]) -> Effects | None:
        """The effects of a call that gives these kinds of arguments: what is a number is neither
        written nor shared, and what is an array does not come to hold what is written into it."""
        effects = self.of(obj)
        if effects is None or not effects.written | effects.returned:
            return effects
        told = {f: k for f, k in kinds.items() if k.tells_ranks and k.form != "number"}
        holds = any(kind.form != "array" for kind in told.values())
        if told and effects.written and (holds or effects.returned or effects.kept):
            effects = self.of(obj, told) or effects
        return effects.without([f for f, kind in kinds.items() if kind.form == "number"])


__all__ = ["CalleeEffects"]
