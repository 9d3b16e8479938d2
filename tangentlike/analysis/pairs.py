"""Pairs of nodes that may share memory, as a value: one row of partners for each node.

Many views of one array make every two of them a pair. With the partners of a node as one mask,
following the pairs through a program costs a few operations a statement and live node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .namesets import NameSets


class Pairs:
    """A symmetric relation between nodes; operations give a new relation.

    >>> pairs = Pairs(NameSets()).linked("v", ["a"]).linked("w", ["a", "v"])
    >>> sorted(pairs.partners(["v"])), ("v", "w") in pairs, ("v", "v") in pairs
    (['a', 'w'], True, False)
    >>> sorted(pairs.kept(lambda node: node != "a").partners(["v"]))
    ['w']
    """

    def __init__(self, sets: NameSets, rows: dict[str, int] | None = None) -> None:
        self._sets = sets
        self._rows = {} if rows is None else rows  # no row is empty

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return self._sets.has(self._rows.get(pair[0], 0), pair[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(frozenset(self._rows.items()))

    def __or__(self, other: Pairs) -> Pairs:
        rows = dict(self._rows)
        for node, partners in other._rows.items():
            rows[node] = rows.get(node, 0) | partners
        return Pairs(self._sets, rows)

    def partners(self, nodes: Iterable[str]) -> frozenset[str]:
        """Everything that is in a pair with one of the nodes."""
        found = 0
        for node in nodes:
            found |= self._rows.get(node, 0)
        return frozenset(self._sets.names(found))

    def linked(self, node: str, others: Iterable[str]) -> Pairs:
        """With a pair of a node and each of the others (which may be the node itself)."""
        rows, bit, partners = dict(self._rows), self._sets.mask((node,)), 0
        for other in others:
            partners |= self._sets.mask((other,))
            rows[other] = rows.get(other, 0) | bit
        if partners:
            rows[node] = rows.get(node, 0) | partners
        return Pairs(self._sets, rows)

    def kept(self, keep: Callable[[str], bool]) -> Pairs:
        """The pairs of which both nodes are kept."""
        gone = self._sets.mask(node for node in self._rows if not keep(node))
        if not gone:
            return self
        left = ((node, row & ~gone) for node, row in self._rows.items() if keep(node))
        return Pairs(self._sets, {node: row for node, row in left if row})
