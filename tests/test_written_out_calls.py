"""Objects whose attributes share memory: calls that are given them are written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.3, 0.7, -0.4, 1.1])
scale = 0.5


class Grid:
    """A field with a view of its first column, and a log."""

    def __init__(self, n, h=1.5):
        self.u = np.zeros((n, n))
        self.left = self.u[:, 0]
        self.h = h
        self.log = []

    @property
    def inner(self):
        return self.u[1:-1, 1:-1]

    def step(self, k):
        u = self.u
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * self.inner
        self.inner[...] += k * lap / self.h**2
        self.left[:] = np.sin(u[:, 1])
        self.log.append(u.sum())
        return self


def heated(x):
    g = Grid(4)
    g.u[1, :] = x
    for _ in range(3):
        g.step(0.1).inner[0] *= x[:2]
    return np.sum(g.u[2]) ** 2 + g.log[0] * g.log[-1]


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)


def folded(x):
    s = Stack()
    for v in x:
        s.push(v)
    while len(s) > 1:
        s.push(s.pop() * s.pop() + 1.0)
    return s.pop()


@dataclass
class State:
    q: Any
    p: Any
    t: float = 0.0
    seen: list = field(default_factory=list)

    def kick(self, dt):
        self.p = self.p - dt * np.sin(self.q)
        return self

    def drift(self, dt):
        self.q = self.q + dt * self.p
        self.t += dt * self.q[0]
        self.seen.append(self.t)


def kicked(x):
    s = State(x[:2], x[2:])
    for _ in range(3):
        s.kick(0.05).drift(0.1)
        s.kick(0.05)
    return np.sum(s.q**2) + np.sum(s.p * s.q) * s.t + s.seen[1]


class Halves:
    """Two views of one array, swapped in place."""

    def __init__(self, a):
        self.whole = a
        self.low, self.high = a[:2], a[2:]

    def mix(self, scale, *weights, times=2):
        low = self.low
        for w in weights:
            low = low * w
        scale = scale * times
        self.high += scale * low
        self.low *= self.high

    def turned(self):
        self.whole[:] = self.whole[::-1].copy()
        return self.low


def mixed(x):
    h = Halves(x * 1.0)
    h.mix(scale, x[0], 2.0)
    low = h.turned()
    h.mix(0.1, times=3)
    return low @ h.high + np.sum(h.whole**3)


def shared_by_two(x):
    a = x * 2.0
    h, g = Halves(a), Halves(a)
    h.mix(0.5, x[1])
    g.low[0] = h.high[1] * x[2]
    g.mix(0.2)
    return np.sum(h.whole * x) + a[0] * a[3]


PROGRAMS = [heated, folded, kicked, mixed, shared_by_two]


@pytest.mark.thorough
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_right(f: Callable[..., Any]) -> None:
    v = np.array([0.4, -0.2, 0.9, 0.3])
    gradient, before = tl.grad(f), X.copy()
    assert agreement.close(float(gradient(X) @ v), agreement.slope(f, (X,), [v]), 1e-6)
    assert agreement.close(float(tl.jvp(f, (X,), (v,))[1]), float(gradient(X) @ v), 1e-12)
    curve = agreement.slope(lambda x: gradient(x) @ v, (X,), [v])
    assert agreement.close(float(tl.hvp(f)(X, v) @ v), curve, 1e-6)
    np.testing.assert_array_equal(X, before)


def test_calls_stay_calls_where_nothing_is_shared() -> None:
    def f(x):
        s = State(x[:2], x[2:])
        s.kick(0.1)
        return np.sum(s.p**2)

    assert "State_kick_fwd(s, 0.1" in tl.grad(f).source


def shadowed(x):
    scale = x[0]  # what the body of `rescale` calls so is another one
    h = Tuned(x * 1.0)
    h.rescale()
    h.low *= scale
    return np.sum(h.whole)


class Tuned(Halves):
    def rescale(self):
        self.low *= scale


def test_names_mean_what_they_meant() -> None:
    try:
        got = tl.grad(shadowed)(X)
    except tl.UnsupportedError:
        return
    v = np.array([0.4, -0.2, 0.9, 0.3])
    assert agreement.close(float(got @ v), agreement.slope(shadowed, (X,), [v]), 1e-6)


def test_objects_in_a_list_that_write_their_views() -> None:
    def in_a_list(x):
        grids = [Halves(x * 1.0), Halves(x * 2.0)]
        for k in range(2):
            grids[k].mix(0.5)
        return np.sum(grids[0].whole)

    v = np.array([0.4, -0.2, 0.9, 0.3])
    assert agreement.close(
        float(tl.grad(in_a_list)(X) @ v), agreement.slope(in_a_list, (X,), [v]), 1e-6
    )


class Pair:
    def __init__(self, a, inner):
        self.a, self.inner = a, inner


def attribute_updated_by_itself(x):
    p = x * x
    g = Pair(p, p[1:-1])
    g.inner += 0.1 * (g.a[2:] - g.inner)
    return np.sum(g.a**2)


def test_an_attribute_that_its_own_update_reads() -> None:
    tl.check_grads(attribute_updated_by_itself, (X,))
