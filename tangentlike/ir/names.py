"""One allocator for every name that a derivative invents."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Container, Iterable

_RESERVED = frozenset(dir(builtins)) | frozenset(keyword.kwlist)


class Names:
    """Hands out names that nothing has yet: primal temporaries, adjoints, stacks and tapes alike.

    >>> names = Names(["x", "x_bar"])
    >>> names.fresh("x_bar"), names.fresh("w_bar"), names.fresh("w_bar"), names.fresh("sum")
    ('x_bar2', 'w_bar', 'w_bar2', 'sum2')
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken) | _RESERVED
        self._next: dict[str, int] = {}  # names are never given back, so counting can go on

    def fresh(self, wanted: str) -> str:
        """`wanted` itself if it is free, else the next of `wanted2`, `wanted3`, ..."""
        wanted = wanted.replace("·", "")  # (of a field that is named like one of arrays)
        name, count = wanted, self._next.get(wanted, 2)
        while name in self._taken:
            name, count = f"{wanted}{count}", count + 1
        self._next[wanted] = count
        self._taken.add(name)
        return name

    def take(self, names: Iterable[str]) -> None:
        """Mark names as used."""
        self._taken.update(names)

    def __contains__(self, name: object) -> bool:
        return name in self._taken


def unused(wanted: str, taken: Container[str]) -> str:
    """`wanted` itself if nothing has it, else with as many underscores as it takes."""
    while wanted in taken:
        wanted += "_"
    return wanted
