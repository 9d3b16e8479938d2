"""Sets of what carries no derivative, in objects and beside what does; what a set or the keys of a
dict may not hold, since it comes out of them without its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.7, -0.4, 1.1])


class Seen:
    def __init__(self, names: Any) -> None:
        self.names = set(names)
        self.seen: set[Any] = set()
        self.out = 0.0

    def add(self, t: int, name: str, v: Any) -> None:
        if (t, name) not in self.seen:
            self.seen.add((t, name))
            if name in self.names:
                self.out = self.out + v * (t + 1)


class Node:
    def __init__(self, v: Any) -> None:
        self.v = v


def in_an_object(x):
    s = Seen(["a", "b"])
    for t in range(3):
        for k, n in enumerate(["a", "b", "c", "a"]):
            s.add(t, n, x[k] ** 2)
    return s.out * len(s.seen)


def of_pairs(x):
    seen, s = set(), 0.0
    for t in range(3):
        for k, n in enumerate(["a", "b", "c", "a"]):
            if (t, n) not in seen:
                seen.add((t, n))
                s = s + x[k] ** 2 * len(seen)
    return s


def of_what_an_argument_says(x, pairs=((0, 2), (1, 2), (0, 3))):
    places, s = set(), 0.0
    for i, j in pairs:
        places.add(i)
        places.update([j, i])
    for i in places:
        s = s * 0.5 + x[i] ** 2
    for i in sorted(set(places)):
        s = s + x[i] * s
    return s


def of_keys(x):
    d = {"a": x[0], "b": x[1], "c": x[2]}
    names, s = {"a", "b"}, 0.0
    for k in set(d):
        s = s + d[k] * x[3]
    for k in set(d.keys()) & names:
        s = s + d[k] ** 2
    return s


def asked_only(x):
    seen, s = set(), 1.0
    for v in [x[0], x[1], x[0]]:
        if v not in seen:
            seen.add(v)
            s = s * v + len(seen)
    return s


def objects_as_keys(x):
    p, q = Node(x[0]), Node(x[1])
    w = {p: x[2], q: x[3]}
    return w[p] * p.v + w[q] * q.v**2


@pytest.mark.thorough
@pytest.mark.parametrize(
    "f", [in_an_object, of_pairs, of_what_an_argument_says, of_keys, asked_only, objects_as_keys]
)
def test_sets(f: Any) -> None:
    order = 1 if f is objects_as_keys else 2  # (that the keys are on a tape is refused)
    tl.check_grads(f, X, order=order)
    made: Any = tl.grad(f)
    by_identity = made.__tangentlike__.derive().specialized_for((X,), {}).by_identity
    np.testing.assert_allclose(by_identity.call((X,), {}), made(X))


def added(x):
    seen = set()
    seen.add(2.0 * x)
    return sum(seen)


def updated(x):
    seen = set()
    seen.update([x, 2.0 * x])
    return sum(seen)


def made_of_a_list(x):
    xs = [x, 2.0 * x]
    return sum(set(xs))


def of_objects(x):
    s, nodes = 0.0, set()
    nodes.add(Node(x))
    for node in nodes:
        s += node.v
    return s


def in_a_tuple(x):
    s, nodes = 0.0, set()
    nodes.add(("a", Node(x)))
    for _, node in nodes:
        s += node.v
    return s


def as_keys(x):
    s = 0.0
    for node, weight in {Node(x): 1.0, Node(2 * x): 2.0}.items():
        s += node.v * weight
    return s


def in_keys(x):
    d: dict[Any, float] = {}
    d[("a", Node(x))] = 2.0
    s = 0.0
    for name, node in d:
        s += node.v * d[name, node]
    return s


def captured_by_keys(x):
    s = 0.0
    for f in {(lambda v: v * x): 1.0}:
        s += f(2.0)
    return s


@pytest.mark.parametrize(
    "f",
    [
        *(added, updated, made_of_a_list, of_objects, in_a_tuple),
        *(as_keys, in_keys, captured_by_keys),
    ],
)
def test_what_comes_out_of_a_set_or_of_keys_is_refused(f: Any) -> None:
    with pytest.raises(tl.UnsupportedError):
        tl.grad(f)(2.0)
    with pytest.raises(tl.UnsupportedError):
        tl.jvp(f, (2.0,), (1.0,))
