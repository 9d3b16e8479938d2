"""Groups of columns that one sweep can tell apart: graph colouring for sparse Jacobians.

Columns that share no row may be summed in one product with the Jacobian (Curtis, Powell and
Reid 1974); columns of a symmetric matrix that form a star colouring may, too, since one of
H[i, j] and H[j, i] is then alone in its place (Coleman and More 1984; the colourings are
surveyed by Gebremedhin, Manne and Pothen 2005). Both are found greedily.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Rows = Sequence[Any]  # for each row (or column) the indices of its entries


def column_colors(of_columns: Rows, of_rows: Rows) -> list[int]:
    """A colour for each column, different for any two with an entry in the same row.

    `of_columns` has the rows of each column, `of_rows` the columns of each row.

    >>> tridiagonal = [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]
    >>> column_colors(tridiagonal, tridiagonal)
    [0, 1, 2, 0]
    """
    counts = [len(rows) for rows in of_columns]
    orders = [range(len(counts)), sorted(range(len(counts)), key=lambda j: -counts[j])]
    found = [_greedy(of_columns, len(of_rows), order) for order in orders]
    return min(found, key=lambda colors: max(colors, default=-1))


def _greedy(of_columns: Rows, rows: int, order: Iterable[int]) -> list[int]:
    used: list[set[int]] = [set() for _ in range(rows)]
    colors = [0] * len(of_columns)
    for column in order:
        taken = set().union(*(used[row] for row in of_columns[column]))
        color = _first_free(taken)
        colors[column] = color
        for row in of_columns[column]:
            used[row].add(color)
    return colors


def fewest_possible(of_rows: Rows) -> int:
    """The columns of one row all need colours of their own."""
    return max((len(columns) for columns in of_rows), default=0)


def star_colors(neighbors: Rows) -> list[int]:
    """A colour for each column of a symmetric pattern: neighbours differ, and every path of four
    has three colours or more.

    `neighbors` has for each column the other columns in whose row it has an entry.

    >>> star_colors([[1, 2, 3], [0], [0], [0]])
    [0, 1, 1, 1]
    """
    counts = [len(others) for others in neighbors]
    orders = [range(len(counts)), sorted(range(len(counts)), key=lambda j: -counts[j])]
    found = [_greedy_star(neighbors, order) for order in orders]
    return min(found, key=lambda colors: max(colors, default=-1))


def _greedy_star(neighbors: Rows, order: Iterable[int]) -> list[int]:
    """Colour one node after the other with the first colour that closes no path of two colours."""
    colors = [-1] * len(neighbors)
    for v in order:
        near = [colors[w] for w in neighbors[v]]
        taken = {color for color in near if color >= 0}
        for w in neighbors[v]:
            # With v between, or w without a colour as yet, nothing two away may look like v.
            strict = colors[w] < 0 or near.count(colors[w]) > 1
            for x in neighbors[w]:
                if x == v or colors[x] < 0 or colors[x] in taken:
                    continue
                if strict or any(y != w and colors[y] == colors[w] for y in neighbors[x]):
                    taken.add(colors[x])
        colors[v] = _first_free(taken)
    return colors


def _first_free(taken: set[int]) -> int:
    color = 0
    while color in taken:
        color += 1
    return color
