"""Objects that are gone through, and methods that are partials of others."""

import functools
import itertools

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.sampled import one_in

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


@pytest.mark.parametrize("f", one_in(2, [loop, unpacked, taken, of_argument, partial_methods]))
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
    assert tl.grad(f)(Lazy([1.0, 2.0]), 3.0).items_ == [24.0, 12.0]
    assert tl.jvp(f, (Lazy([1.0, 2.0]), 3.0), (Lazy([1.0, 0.5]), 1.0)) == (24.0, 38.0)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __iter__(self):
        return iter((self.x, self.y))

    def dot(self, other):
        return self.x * other.x + self.y * other.y


def points_of(x):
    return [Point(x[0], x[1]), Point(x[2], x[3]), Point(x[1] * x[2], x[3])]


def two_by_two(x):
    points = [Point(a, b) for a, b in itertools.pairwise(x)]
    total = 0.0
    for p, q in itertools.combinations(points, 2):
        total += p.dot(q)
    for p in itertools.chain(points, points[:1]):
        total += p.dot(p)
    for p, q in itertools.product(points, points[1:]):
        total += p.dot(q) * q.x
    return total + sum(p.dot(q) for p, q in itertools.pairwise(points))


def added_up_by_slices(x):
    points = [Point(a, b) for a, b in itertools.pairwise(x)]
    middle = points[0]
    for p in points[1:]:
        middle = middle + p
    return middle.dot(sum(points[1:], points[0]))


def rows_of_arrays(x):
    scaled = [k * x for k in range(1, 4)]
    return sum(np.sum((a - b) ** 3) for a, b in itertools.combinations(scaled, 2))


@pytest.mark.parametrize("f", one_in(3, [two_by_two, added_up_by_slices, rows_of_arrays], 1))
def test_lists_filled_here_and_gone_through_by_iterators(f) -> None:
    tl.check_grads(f, (X,))
    v = np.array([0.2, -1.0, 0.5, 0.3])
    change = agreement.slope(lambda y: np.sum(tl.grad(f)(y) * v), (X,), (v,))
    assert agreement.close(np.sum(tl.hvp(f)(X, v) * v), change, 1e-6)


def of_a_class_not_seen(x):
    total = 0.0
    for p, q in itertools.zip_longest(points_of(x), points_of(x)):
        total += p.dot(q)
    return total


def test_objects_of_a_class_not_seen() -> None:
    """`dot` is a method of theirs, which is looked up."""
    tl.check_grads(of_a_class_not_seen, (X,))


def stored_into_on_the_way(x):
    row, s = Row([v * 1.0 for v in x]), 0.0
    for a in row:
        s = s + a
        row.items_[2] = s * x[0]
    return s


def differences(f, direction):
    h = 1e-5 * direction
    return (f(X + h) - f(X - h)) / 2e-5


def test_what_is_gone_through_is_what_stands_there_in_each_round() -> None:
    f, direction = stored_into_on_the_way, np.arange(4.0)
    tl.check_grads(f, (X,))
    first = tl.grad(f)
    _, second = tl.jvp(first, (X,), (direction,))
    np.testing.assert_allclose(second, differences(first, direction), rtol=1e-5, atol=1e-8)
