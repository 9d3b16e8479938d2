"""Programs with priority queues (`heapq`), and with sets of what was visited."""

from __future__ import annotations

import bisect
import heapq
from collections import defaultdict

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import iterator_programs

X = np.array([0.7, 0.3, 0.5, 0.9, 0.1])


def two_least(x):
    heap = []
    for v in x:
        heapq.heappush(heap, v)
    return heapq.heappop(heap) * 2.0 + heapq.heappop(heap) ** 2


def by_key(x):
    most = heapq.nlargest(2, x)
    least = heapq.nsmallest(3, x, key=lambda v: -v)
    return sum(most) + sum(least) ** 2


def replaced(x):
    heap = [v * v for v in x]
    heapq.heapify(heap)
    a = heapq.heapreplace(heap, x[0] * 5.0)
    b = heapq.heappushpop(heap, x[1])
    return a * b + heap[0] * heap[2]


def shortest_path(x):
    edges = {0: [(1, 0), (2, 1)], 1: [(3, 2)], 2: [(3, 3)], 3: []}
    distance, heap, done = {0: 0.0}, [(0.0, 0)], set()
    while heap:
        d, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        for other, edge in edges[node]:
            through = d + x[edge] ** 2
            if other not in distance or through < distance[other]:
                distance[other] = through
                heapq.heappush(heap, (through, other))
    return distance[3]


def of_integers(x):
    heap = [3, 1, 2]
    heapq.heapify(heap)
    return x[heapq.heappop(heap)] ** 2


class Graph:
    def __init__(self):
        self.near = defaultdict(dict)

    def edge(self, a, b, length):
        self.near[a][b] = length

    def lengths(self, start):
        found, heap = {start: 0.0}, [(0.0, start)]
        while heap:
            d, u = heapq.heappop(heap)
            for v, length in self.near[u].items():
                if v not in found or d + length < found[v]:
                    found[v] = d + length
                    heapq.heappush(heap, (found[v], v))
        return found


def paths_in_an_object(x):
    graph = Graph()
    for a, b, length in zip("aabcc", "bccde", x, strict=True):
        graph.edge(a, b, length)
    found = graph.lengths("a")
    return found["d"] * found["e"] + found["b"]


PROGRAMS = (two_least, by_key, replaced, shortest_path, of_integers, paths_in_an_object)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_heaps(f):
    slopes = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(tl.grad(f)(X), slopes, atol=1e-8)
    v = np.array([1.0, -2.0, 0.5, 0.3, 3.0])
    assert tl.jvp(f, (X,), (v,))[1] == pytest.approx(np.dot(slopes, v))


def test_what_only_holds_integers_stays_as_it_is():
    assert "heapq.heappop(heap)" in tl.grad(of_integers).source


def test_heaps_are_those_of_python():
    rng = np.random.default_rng(0)
    ours, pythons = [], []
    for _ in range(400):
        value, draw = int(rng.integers(20)), rng.uniform()
        if draw < 0.5 or not ours:
            step, given = "heappush", (value,)
        else:
            step = ("heappop", "heapreplace", "heappushpop")[int(draw * 6.0) % 3]
            given = () if step == "heappop" else (value,)
        results = [
            getattr(iterator_programs, step)(ours, *given),
            getattr(heapq, step)(pythons, *given),
        ]
        assert results[0] == results[1]
        assert ours == pythons
    values = rng.integers(20, size=31).tolist()
    ours, pythons = list(values), list(values)
    iterator_programs.heapify(ours)
    heapq.heapify(pythons)
    assert ours == pythons
    for n in (0, 3, 40):
        assert iterator_programs.nlargest(n, values) == heapq.nlargest(n, values)
        assert iterator_programs.nsmallest(n, values) == heapq.nsmallest(n, values)


def taken(values):
    return values.pop()


def visited(x):
    pairs, done, total = [(x[0], 0), (x[1], 1), (x[2], 1)], set(), 0.0
    while pairs:
        value, name = taken(pairs)
        if name in done:
            continue
        done.add(name)
        total = total + value * value * len(done)
    return total


def gone_through(x):
    pairs, seen = [(x[0], 0), (x[1], 1)], set()
    while pairs:
        value, _ = taken(pairs)
        seen.add(value * 2.0)
    return sum(seen)


def test_a_set_of_what_was_visited():
    expected = np.array([4.0 * X[0], 0.0, 2.0 * X[2], 0.0, 0.0])
    np.testing.assert_allclose(tl.grad(visited)(X), expected)
    assert tl.jvp(visited, (X,), (X,))[1] == pytest.approx(expected @ X)
    with pytest.raises(tl.UnsupportedError, match="an item of a set"):
        tl.grad(gone_through)(X)


def kept_in_order(x):
    least, most = [x[0]], []
    for v in x[1:]:
        bisect.insort(least, v * v)
        bisect.insort_left(most, v, key=np.negative)
    return least[0] * 2.0 + least[1] * least[-1] + most[0] * bisect.bisect(least, 0.2)


@pytest.mark.thorough
def test_insort():
    tl.check_grads(kept_in_order, np.array([0.3, 0.7, -0.4, 1.1]), order=2)
