"""Objects that are gone through, and methods that are partials of others."""

import collections.abc
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


class ByPlace:
    """What Python goes through by its places: there is no `__iter__`."""

    def __init__(self, held):
        self.held = held

    def __getitem__(self, k):
        return self.held[k] * 2.0

    def __len__(self):
        return len(self.held)


class Sequenced(ByPlace, collections.abc.Sequence):
    """(With the `__iter__` of `collections.abc`.)"""


class Counting(ByPlace):
    def __init__(self, held):
        super().__init__(held)
        self.taken = 0

    def __getitem__(self, k):
        item = self.held[k] * (1.0 + self.taken)
        self.taken += 1
        return item


class Generating(Counting):
    def __iter__(self):
        for k in range(len(self.held)):
            yield self[k]


def every_item(row):
    s = 0.0
    for k, a in enumerate(row):
        s = s * a + k
    for a, b in zip(row, row):
        s = s + a * b
        if s > 8.0:
            break
    a, b, *_ = row
    return s * a + b * sum(row) + sum([a * a for a in row])


def by_place_of_argument(x):
    return _through(ByPlace([x[1], x[0]]), x[2])


def by_place(x):
    return every_item(ByPlace(x))


def by_place_of_a_sequence(x):
    return every_item(Sequenced(x))


@pytest.mark.thorough
@pytest.mark.parametrize("f", [by_place, by_place_of_a_sequence, by_place_of_argument])
def test_objects_with_items_and_without_iter(f) -> None:
    tl.check_grads(f, (X,))
    direction = np.array([0.2, -1.0, 0.5, 0.3])
    _, second = tl.jvp(tl.grad(f), (X,), (direction,))
    np.testing.assert_allclose(second, differences(tl.grad(f), direction), rtol=1e-5, atol=1e-8)


def written_on_the_way(x):
    row, s = ByPlace([v * 1.0 for v in x]), 0.0
    for a in row:
        s = s * a + a
        row.held[2] = s
    return s


def left_early(x):
    row, s = Counting(x), 0.0
    for a in row:
        s = s * a + a
        if s > 1.0:
            break
    return s * row.taken


def seen_on_the_way(cls):
    def f(x):
        row, s = cls(x), 0.0
        for a in row:
            s = s * a + a * row.taken
        return s

    return f


@pytest.mark.parametrize(
    "f",
    [written_on_the_way, left_early, seen_on_the_way(Counting), seen_on_the_way(Generating)],
)
def test_items_that_are_seen_to_be_made_are_refused(f) -> None:
    """All items are made first: that shows where `__getitem__` counts, or reads what the loop
    writes (the gradient of the last was wrong)."""
    for derivative in (lambda: tl.grad(f)(X), lambda: tl.jvp(f, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="may (read what|change what|have no end)"):
            derivative()


# --------------------------------------------------------------------------------------------------
# What is gone through by other ways than a loop over it.


class Counted:
    """A sequence by its places alone."""

    def __init__(self, t):
        self.t = t

    def __len__(self):
        return 3

    def __getitem__(self, k):
        if k > 2:
            raise IndexError(k)
        return self.t * (k + 1)


class Turned(Counted):
    """What goes another way backwards."""

    def __iter__(self):
        for k in range(2):
            yield self.t * (k + 5)

    def __reversed__(self):
        return iter([self.t * 7.0, self.t * 2.0])


class Keyed:
    def __init__(self, t):
        self.t = t

    def keys(self):
        return ["p", "q"]

    def __getitem__(self, k):
        return self.t * 2.0 if k == "q" else self.t


MADE = {"counted": Counted, "turned": Turned, "keyed": Keyed}


def backwards(v):
    total = 0.0
    for item in reversed(v):
        total = total * 0.5 + item
    return total * sum(reversed(v)) + list(reversed(v))[1]


def reduced(v):
    return functools.reduce(lambda a, b: 2.0 * a * b, v) + functools.reduce(max, {0.5: v, 1.5: v})


def extended(v):
    items = [3.0]
    items.extend(v)
    return items[1] * items[2] * len(items)


def merged(v):
    entries = {"r": 2.0}
    entries.update(v)
    return entries["q"] * entries["r"] + dict(v)["q"] * {**v}["p"]


@pytest.mark.parametrize("way", [backwards, extended, merged, reduced])
def test_items_that_the_class_computes(way) -> None:
    """`reversed(v)`, `list.extend(v)`, `dict(v)`, `dict.update(v)`: the gradient was 0.0. And that
    of `functools.reduce(f, v)` was that of `v[0]` and `v[1:]`."""
    for cls in (Keyed,) if way is merged else (Counted, Turned):
        f = of_class(way, cls)
        step = agreement.slope(f, (0.7,), (1.0,))
        assert abs(tl.grad(f)(0.7) - step) < 1e-6
        assert abs(tl.jvp(f, (0.7,), (1.0,))[1] - step) < 1e-6
        assert abs(tl.grad(way)(cls(0.7)).t - step) < 1e-6


def of_class(way, cls):
    return lambda t: way(cls(t))


def of_name(way, name):
    return lambda t: way(MADE[name](t))


@pytest.mark.parametrize("way", [backwards, extended, merged, reduced])
def test_or_are_refused_where_only_the_run_knows_the_class(way) -> None:
    with pytest.raises(tl.UnsupportedError):
        tl.grad(of_name(way, "keyed" if way is merged else "counted"))(0.7)
