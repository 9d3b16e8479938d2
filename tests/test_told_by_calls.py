"""What only the arguments of a call, or the data of the module, tell: which values are numbers,
which are arrays, and that lists hold numbers, into which nothing can be written."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.5, 1.2, -0.7, 0.9])
EDGES = [(0, 1), (1, 2), (2, 3), (3, 1)]


def lists_in_a_list(x, edges):
    neighbours = [[] for _ in range(len(x))]
    for i, j in edges:
        neighbours[i].append(j)
        neighbours[j].append(i)
    total = 0.0
    for i in range(len(x)):
        for j in neighbours[i]:
            total += x[i] * x[j] ** 2
    return total


def set_by_default(x, edges):
    neighbours = {}
    for i, j in edges:
        neighbours.setdefault(i, []).append(j)
    return sum(x[i] * np.sum([x[j] ** 2 for j in js]) for i, js in neighbours.items())


def made_by_default(x, edges):
    neighbours = collections.defaultdict(list)
    for i, j in edges:
        neighbours[i].append(j)
    total = 0.0
    for i, js in neighbours.items():
        total += x[i] * sum(x[j] ** 2 for j in js)
    return total


def sets_of_numbers(x, edges):
    neighbours = collections.defaultdict(set)
    for i, j in edges:
        neighbours[i].add(j)
    total = 0.0
    for i in sorted(neighbours):
        for j in sorted(neighbours[i]):
            total = total + x[i] * x[j]
    return total


def counted(x, edges):
    degree = collections.Counter()
    for i, j in edges:
        degree[i] += 1
        degree[j] += 1
    return sum(x[i] ** 2 / d for i, d in degree.items())


class Graph:
    def __init__(self, edges: Any) -> None:
        self.neighbours: dict[int, list[int]] = {}
        for i, j in edges:
            self.neighbours.setdefault(i, []).append(j)

    def of(self, i: int) -> list[int]:
        return self.neighbours.get(i, [])


def asked_of_an_object(x, edges):
    graph = Graph(edges)
    return sum(x[i] * x[j] for i in range(len(x)) for j in graph.of(i))


FUNCTIONS = [
    lists_in_a_list,
    set_by_default,
    made_by_default,
    sets_of_numbers,
    counted,
    asked_of_an_object,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_lists_of_numbers_are_not_shared(f: Callable[..., Any]) -> None:
    def by_outer_data(x: Any) -> Any:
        return f(x, EDGES) * x[0]

    edges = list(EDGES)
    tl.check_grads(lambda x: by_outer_data(x), (X,))
    slope = agreement.slope(lambda x: f(x, EDGES), (X,), (X,))
    assert agreement.close(tl.grad(f)(X, edges) @ X, slope, 1e-6)
    assert edges == EDGES


def test_outer_data_is_looked_at_again() -> None:
    pairs: list[Any] = [(0, 1), (1, 2)]

    def weighted(x):
        held: list[list[Any]] = [[], []]
        for k, (_, j) in enumerate(pairs):
            held[k].append(j)
        return sum(x[j] ** 2 for js in held for j in js)

    gradient = tl.grad(weighted)
    assert np.array_equal(gradient(X), [0.0, 2 * X[1], 2 * X[2], 0.0])
    pairs[0] = (0, 3)
    assert np.array_equal(gradient(X), [0.0, 0.0, 2 * X[2], 2 * X[3]])
    pairs[1] = (1, [2, 3])  # (no numbers any more: what was relied upon does not hold)
    with pytest.raises(Exception) as found:
        gradient(X)
    assert isinstance(found.value, (TypeError, tl.TangentlikeError))


STEP = 0.1


def by_the_step(x):
    y = x
    for _ in range(3):
        y -= STEP * y**2
    return y


def test_numbers_of_the_module() -> None:
    for x in (0.7, np.float64(0.7), np.array(0.7)):
        tl.check_grads(by_the_step, (x,))


def rows_of_a_matrix(x):
    m = np.array([x, 2.0 * x])
    a, b = m[0], m[1]
    a *= b
    m[1] += a
    return np.sum(m**2)


def by_a_gradient(x):
    return tl.grad(entry_by_helper)(x) @ x


def halved(a):
    a -= a * a * 0.5
    return a


def entry_by_helper(x):
    return halved(x[0]) * halved(np.sum(x))


@pytest.mark.parametrize("f", [rows_of_a_matrix, by_a_gradient])
def test_what_an_array_is_made_of_tells_its_axes(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (X,))
    change = agreement.slope(lambda x: tl.grad(f)(x) @ X, (X,), (X,))
    assert agreement.close(tl.hvp(f)(X, X) @ X, change, 1e-6)
