"""Generator functions of the user's: loops through them, lists of them, both modes, order two."""

import contextlib
import itertools
import warnings

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 1.2, -0.7, 0.9])


def steps(x):
    for i in range(3):
        x = np.sin(x) + i
        yield x


def pair(x):
    yield x * 2
    yield np.exp(x)


def parts(x):
    for i in range(len(x)):
        if x[i] > 0:
            yield x[i] ** 2
        else:
            yield -x[i]


def endless(x):
    while True:
        yield x
        x = np.sin(x)


def in_place(x):
    x = x.copy()
    for _ in range(3):
        yield x
        x *= 1.5


def nested(x):
    for a in steps(x):
        yield from (b * np.sum(a) for b in parts(a))
    yield np.sum(x)


def stopping(x, most=2):
    for n, v in enumerate(x):
        if n > most:
            return
        yield v * v


def through(x):
    s = 0.0
    for y in steps(x):
        s = s + np.sum(y**2)
    return s


def left(x):
    s = 0.0
    for y in steps(x):
        if np.sum(y) > 4:
            break
        for v in y:
            if v > 0.9:
                continue
            s = s + v**2
        s = s + np.sum(y**3)
    return s


def skipped(x):
    s = 0.0
    for v in parts(x):
        if v < 0.5:
            continue
        s = s + v**3
    return s


def returned_inside(x):
    s = 0.0
    for y in endless(x):
        for v in y:
            s = s + v**2
            if s > 4:
                return s * v
    return s


def counted(x):
    s = 0.0
    for i, y in enumerate(endless(x), 2):
        if i > 4:
            break
        s = s + i * np.sum(y**2)
    return s


def beside(x):
    s = 0.0
    for a, y, b in zip(x, endless(x), [x[0], x[1]], strict=False):
        s = s + a * b * np.sum(y**2)
    return s


def two_beside(x):
    s = 0.0
    for a, b in zip(steps(x), pair(x), strict=False):
        s = s + np.sum(a * b)
    return s


def changing(x):
    s = 0.0
    for y in in_place(x):
        s = s + np.sum(y**2)
    return s


def changed_between(x):
    x = x * 1.0
    s = 0.0
    for i, v in enumerate(stopping(x)):
        x[i + 1] = 3.0 * v
        s = s + v
    return s


def collected(x):
    ys, (a, b) = list(nested(x)), pair(x)
    return sum(stopping(x)) * ys[0] + max(parts(x)) * np.sum(a * b) + sum(v * v for v in ys[1:3])


def collected_in_place(x):
    ys = list(in_place(x))
    return np.sum(ys[0] * ys[1])


def inner(x):
    def made(n, by=2.0):
        if n > 10:
            return
        for i in range(n):
            yield x[i] * i + by

    return np.prod(np.array([v + x[0] for v in made(4)])) + sum(made(3, by=x[1]))


@contextlib.contextmanager
def by_sign(x):
    if x[0] > 0:
        yield x * 2
    else:
        yield x * 3


def managed(x):
    with by_sign(x) as y:
        s = np.sum(y**2)
    with by_sign(-x) as y:
        return s * np.sum(y**3)


class Net:
    def __init__(self, weights):
        self.weights = weights

    def layers(self):
        for i, w in enumerate(self.weights):
            if i > 0:
                yield w * self.weights[0]

    def __iter__(self):
        yield self.weights[0]
        yield self.weights[1] * 2.0

    def act(self, x):
        return np.tanh(self.weights[1] * x)

    def forward(self, x):
        for w in self.layers():
            x = self.act(w * x)
        return x

    def total(self):
        return sum(self.layers())

    def bump(self, v):
        self.weights[1] = v
        return v


def methods(x):
    net = Net([x[0], x[1], x[2]])
    a, b = net.layers()
    s = a * b + max(net) + net.total() ** 2 + np.sum(net.forward(x))
    for u, v in zip(net, net.layers(), strict=False):
        s = s + u * v
    return s


OUTER = Net([0.5, 1.5, 2.5])


def methods_of_a_constant(x):
    s = np.sum(x)
    for w in OUTER.layers():
        s = s * np.sum(np.sin(w * x))
    return s


FUNCTIONS = (
    *(through, left, skipped, returned_inside, counted, beside, two_beside, changing),
    *(changed_between, collected, collected_in_place, inner, managed),
    *(methods, methods_of_a_constant),
)


TWICE = (left, beside, collected, inner)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_both_modes_and_order_two(f):
    tl.check_grads(f, X, order=2 if f in TWICE else 1)


def test_a_loop_is_the_statements_of_the_generator():
    assert "list(" not in tl.grad(through).source
    assert "items" not in tl.grad(changing).source


def rest_of(x):
    items = stopping(x)
    s = 0.0
    for v in items:
        s = s + v
        if s > 1:
            break
    for v in items:
        s = s * v
    return s


def asked(x):
    items = steps(x)
    return np.sum(next(items))


def summed_in_place(x):
    return np.sum(sum(in_place(x)))


def changed_inside(x):
    def made():
        for i in range(3):
            yield y[i] ** 2

    y = x * 1.0
    s = 0.0
    for i, v in enumerate(made()):
        y[i + 1] = v
        s = s + v
    return s


def rebound_inside(x):
    def made():
        for i in range(3):
            yield k * x[i]

    s, k = 0.0, 1.0
    for v in made():
        k = k + v
        s = s + v
    return s


def rebound_to_another(x):
    def made():
        for i in range(3):
            yield k * x[i]

    s, k = 0.0, 1.0
    for v in made():
        s = s + v
        k = 3.0
    return s


def without_end(x):
    return sum(endless(x))


def method_of_what_changes(x):
    net = Net([x[0], x[1], x[2]])
    s = 0.0
    for w in net.layers():
        s = s + net.bump(w * 2)
    return s


def field_that_changes(x):
    net = Net([x[0], x[1], x[2]])
    s = 0.0
    for w in net:
        net.weights[1] = x[3]
        s = s + w
    return s


def touch(net, v):
    net.weights[1] = v
    return v


def changed_by_another_name(x):
    net = Net([x[0], x[1], x[2]])
    other = net
    s = 0.0
    for w in net.layers():
        s = s + touch(other, w * x[3])
    return s


CHANGED = (method_of_what_changes, field_that_changes, changed_by_another_name)
REBOUND = (rebound_inside, rebound_to_another)


@pytest.mark.parametrize(
    "f",
    (*CHANGED, summed_in_place, changed_inside, without_end, *REBOUND),
    ids=lambda f: f.__name__,
)
def test_where_it_is_seen_when_items_are_made(f):
    with pytest.raises(tl.UnsupportedError, match="generator") as refusal:
        tl.grad(f)(X)
    assert "items" in str(refusal.value) or "for" in str(refusal.value)


@pytest.mark.thorough
@pytest.mark.parametrize("f", [rest_of, asked])
def test_what_is_left_is_gone_through_later(f):
    tl.check_grads(f, (X,), order=2)


def running_means(values):
    total, n = 0.0, 0
    for v in values:
        total += v
        n += 1  # noqa: SIM113
        yield total / n


def sum_of_running_means(x):
    return sum(running_means(x)) * max(running_means(x))


def rows_of_running_means(x):
    rows = [x, x**2, np.sin(x)]
    return np.sum(sum(running_means(rows)) ** 2) + sum(np.prod(row) for row in running_means(rows))


@pytest.mark.thorough
@pytest.mark.parametrize("f", [sum_of_running_means, rows_of_running_means])
def test_what_is_counted_up_is_the_generators_own(f):
    tl.check_grads(f, (X,), order=2)


def test_a_generator_has_no_gradient_itself():
    with pytest.raises(tl.UnsupportedError, match="generator"):
        tl.grad(steps)(X)


# --------------------------------------------------- handed on as the starred arguments of a call


def doubled(v):
    return 2.0 * v


def combined(a, b, c):
    return a * b - np.sum(c) * a


def starred(x):
    args = map(doubled, (x, x * x, 3.0 * x))
    return np.sum(combined(*args))


def starred_in_either_branch(x):
    args = (np.sin(v) * v for v in (x, x * x, 3.0 * x))
    if x[0] > 10.0:
        return np.sum(combined(*args)) ** 2
    return np.sum(combined(*args))


def starred_twice(x):
    args = map(doubled, (x, x * x, 3.0 * x))
    first = np.sum(combined(*args))
    return first + len([*args])


@pytest.mark.parametrize("fn", [starred, starred_in_either_branch])
def test_starred_arguments(fn):
    x = np.array([0.5, 0.8, 1.3])
    tl.check_grads(fn, (x,))
    gradient = tl.grad(fn)
    np.testing.assert_allclose(
        tl.jvp(gradient, (x,), (x,))[1],
        (gradient(x * (1.0 + 1e-6)) - gradient(x * (1.0 - 1e-6))) / 2e-6,
        rtol=1e-6,
    )


def test_an_iterator_that_is_empty_the_second_time():
    """It is not made a list, which would not be empty."""
    x = np.array([0.5, 0.8, 1.3])
    for derive in (lambda: tl.grad(starred_twice)(x), lambda: tl.jvp(starred_twice, (x,), (x,))):
        with pytest.raises(tl.UnsupportedError, match="is not differentiated"):
            derive()


# ------------------------------------------------------------------ items that nobody asks for


def logarithms(x):
    for v in x:
        yield np.log(v)


def slopes(x):
    for v in x:
        w = 2.0 * v
        yield np.log(w) / w
        yield w * 1.5


def summed_slice(x):
    return sum(itertools.islice(logarithms(x), 2))


def slice_of_two_yields(x):
    a, b = itertools.islice(slopes(x), 1, 3)
    return a * b + max(itertools.islice(slopes(x), 4))


def beside_a_range(x):
    return sum(v * v * (i + 1) for i, v in zip(range(2), logarithms(x)))


def rows_of_slices(x):
    rows = [sum(itertools.islice(logarithms(row), n)) for n, row in enumerate((x, x, 2.0 * x))]
    return rows[0] + rows[1] * rows[2]


def counted_slice(x):
    s = 0.0
    for i, (k, v) in enumerate(zip([1.5, 2.5], logarithms(x))):
        if i == 0 and v > 10.0:
            continue
        s = s + k * v * v
    for v in itertools.islice(logarithms(x), 1, 2):
        s = s * v
    return s


def slice_in_a_condition(x):
    if sum(itertools.islice(logarithms(x), 2)) > 1.0:
        return np.sum(np.array([v for v in itertools.islice(logarithms(x), 2) if v > 0.8]) ** 2)
    return x[0]


PARTS = (summed_slice, slice_of_two_yields, beside_a_range, rows_of_slices)


@pytest.mark.parametrize("f", (*PARTS, counted_slice, slice_in_a_condition))
def test_items_that_nobody_asks_for_are_not_made(f):
    x, zero = np.array([2.0, 3.0, 0.5, 1.0]), np.array([2.0, 3.0, 0.0, 1.0])
    tl.check_grads(f, (x,), order=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(tl.grad(f)(zero), tl.grad(f)(x))
        assert tl.jvp(f, (zero,), (x,)) == pytest.approx(tl.jvp(f, (x,), (x,)))


def as_long_as_the_condition_holds(x):
    below = itertools.takewhile(lambda v: v < 1.0, logarithms(x))
    first = sum(itertools.takewhile(lambda v: v > 0.5, logarithms(x)))
    return first * sum(v * v for v in below)


def numbered_without_end(x):
    s = 0.0
    for k, v in zip(itertools.count(1), logarithms(x)):
        s = s + k * v
        if k == 3:
            break
    return s


@pytest.mark.parametrize("f", [as_long_as_the_condition_holds, numbered_without_end])
def test_what_ends_a_loop_through_a_generator(f):
    """(The counter, made a list, would take all memory there is.)"""
    tl.check_grads(f, (np.array([2.0, 3.0, 0.5, 1.0]),), order=2)


def test_what_a_generator_writes_is_written_as_often_as_it_is_asked():
    def f(x):
        seen = []
        return sum(itertools.islice(counted_into(x, seen), 2)) * len(seen)

    x = np.array([2.0, 3.0, 0.5])
    np.testing.assert_allclose(tl.grad(f)(x), [8.0, 12.0, 0.0])


def counted_into(x, seen):
    for v in x:
        seen.append(v)
        yield v * v
