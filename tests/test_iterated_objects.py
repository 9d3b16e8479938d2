"""Objects that are gone through, and methods that are partials of others."""

import functools

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.3, 0.7, 1.2, 0.5])


class Row:
    def __init__(self, items):
        self.items_ = items

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)

    def __getitem__(self, k):
        return self.items_[k]

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self, other))


class Lazy(Row):
    def __iter__(self):
        for item in self.items_:
            yield 2.0 * item


class Power:
    def __init__(self, w):
        self.w = w

    def power(self, x, n, scale=1.0):
        return scale * (self.w * x) ** n

    square = functools.partialmethod(power, n=2)
    cube = functools.partialmethod(power, n=3, scale=0.5)


def loop(x):
    row = Row([x[0], x[1], x[2] * x[3]])
    s = 0.0
    for k, a in enumerate(row):
        s = s * 2.0 + k * a * a
    return s * len(row)


def unpacked(x):
    a, b = Row([x[0], x[1] * x[2]])
    c, *d = Row([x[3], a, b])
    return a * b * c + sum(d)


def taken(x):
    row = Row([x[0], x[1], x[2] * x[3]])
    return sum(row) * max(row) + sum(a * a for a in row) * list(row)[1] + row @ row


def of_argument(x):
    return taken(x) + _through(Row([x[1], x[0]]), x[2])


def _through(row, t):
    for a in row:
        t = t * a + 1.0
    return t


def partial_methods(x):
    p = Power(x[0])
    return p.square(x[1]) + p.cube(x[2]) * p.square(2.0)


@pytest.mark.parametrize("f", [loop, unpacked, taken, of_argument, partial_methods])
def test_derivatives(f):
    v = np.array([0.4, -0.2, 0.9, 0.3])
    slope = agreement.slope(f, (X,), [v])
    gradient = tl.grad(f)
    assert abs(gradient(X) @ v - slope) < 1e-7
    assert abs(tl.jvp(f, (X,), (v,))[1] - slope) < 1e-7
    curve = agreement.slope(lambda x: gradient(x) @ v, (X,), [v])
    assert abs(tl.hvp(f)(X, v) @ v - curve) < 1e-6
    assert abs(tl.vjp(gradient, X)[1](v)[0] @ v - curve) < 1e-6


def test_what_yields_is_gone_through_as_it_yields():
    """`reversed(row)` asked its `__getitem__`, which gives other values."""

    def f(row, t):
        for a in row:
            t = t * a
        return t

    assert tl.grad(f, wrt="t")(Lazy([1.0, 2.0]), 3.0) == 8.0
    for run in (tl.grad(f), lambda row, t: tl.jvp(f, (row, t), (row, t))):
        with pytest.raises(tl.UnsupportedError, match="asked for its items|a Lazy yields"):
            run(Lazy([1.0, 2.0]), 3.0)
