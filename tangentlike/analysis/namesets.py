"""Sets of names as bit masks: one machine operation each, however many names a function has.

An analysis that carries a set from statement to statement would otherwise copy it at each of
them, which makes it quadratic in the length of the function.
"""

from __future__ import annotations

from collections.abc import Iterable


class NameSets:
    """Numbers names as they come; a set of them is an integer (`|`, `&`, `& ~`, `bool`).

    >>> sets = NameSets()
    >>> both, one = sets.mask(["a", "b"]), sets.mask(["b"])
    >>> sets.names(both), sets.names(both & ~one)
    (('a', 'b'), ('a',))
    """

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self._by_bit: list[str] = []

    def bit(self, name: str) -> int:
        """The number of a name."""
        found = self.index.get(name)
        if found is None:
            found = self.index[name] = len(self._by_bit)
            self._by_bit.append(name)
        return found

    def mask(self, names: Iterable[str]) -> int:
        """The set of some names."""
        found = 0
        for name in names:
            found |= 1 << self.bit(name)
        return found

    def has(self, mask: int, name: str) -> bool:
        """Whether a name belongs to a set."""
        bit = self.index.get(name)
        return bit is not None and bool(mask >> bit & 1)

    def names(self, mask: int) -> tuple[str, ...]:
        """The names of a set, in the order in which they were first met."""
        found = []
        while mask:
            lowest = mask & -mask
            found.append(self._by_bit[lowest.bit_length() - 1])
            mask ^= lowest
        return tuple(found)
