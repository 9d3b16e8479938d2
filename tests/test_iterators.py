"""Loops that run through iterators: once in the primal, and once more in the reverse sweep."""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.sampled import one_in

X = np.array([[0.3, 0.5, 0.7], [0.9, 0.2, 0.4]])


def entries(x: Any) -> Any:
    s = 0.0
    for (i, j), v in np.ndenumerate(x):
        s = s + v * v * i + v * j
    return s


def entries_written(x: Any) -> Any:
    y = np.zeros_like(x)
    for k, v in np.ndenumerate(x):
        y[k] = v * v * y[0, 0] + v
    return y


def entries_collected(x: Any) -> Any:
    return np.array([v**2 for _, v in np.ndenumerate(x * x)])


def pairs(x: Any) -> Any:
    s = 0.0
    for n, (i, j) in enumerate(itertools.product(range(2), range(3))):
        s = s + n * x[i, j] ** 2
    return s


def beside_entries(x: Any) -> Any:
    s = 0.0
    for v, k in zip(x.flat, np.ndindex(x.shape), strict=True):
        s = s + v * x[k] * k[1]
    return s


def generated(x: Any) -> Any:
    columns = (2 - j for j in range(3))
    s = 0.0
    for n, j in enumerate(columns):
        s = s + n * x[0, j] ** 2
    return s


def named(x: Any) -> Any:
    rows = iter([1, 0])
    s = 0.0
    for n, i in enumerate(rows):
        s = s + n * x[i] ** 2
    return s


FUNCTIONS = (entries, entries_written, entries_collected, pairs, beside_entries, generated, named)


@pytest.mark.parametrize("f", one_in(2, FUNCTIONS), ids=lambda f: f.__name__)
def test_right(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (X,), order=2)


def in_two_loops(x: Any) -> Any:
    places = np.ndindex(x.shape)
    s = 0.0
    for k in places:
        s = s + x[k] ** 2
    for k in places:
        s = s + x[k]
    return s


def in_a_loop(x: Any) -> Any:
    places = np.ndindex(x.shape)
    s = 0.0
    for n in range(2):
        for k in places:
            s = s + n * x[k] ** 2
    return s


def begun(x: Any) -> Any:
    rows = iter(range(2))
    s = x[next(rows)]
    for i in rows:
        s = s + x[i] ** 2
    return s


def counted_beside_a_list_made_later(x: Any) -> Any:
    places, s = itertools.count(), 0.0
    parts = [x[0, 0], x[0, 0] * x[1, 1]]
    parts.append(x[0, 1])
    for k, v in zip(places, parts):
        s = s + (k + 1) * v * v
    return s


def cycled_beside_a_list(x: Any) -> Any:
    signs, s = itertools.cycle([1.0, x[0, 0]]), 0.0
    for sign, v in zip(signs, [x[0, 0], x[1, 1], x[0, 1] ** 2]):
        s = s + sign * v
    return s


@pytest.mark.parametrize("f", [counted_beside_a_list_made_later, cycled_beside_a_list])
def test_endless_beside_what_is_made_later(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (X,), order=2)


@pytest.mark.parametrize("f", [in_two_loops, in_a_loop, begun], ids=lambda f: f.__name__)
def test_refused(f: Callable[..., Any]) -> None:
    """Of an iterator each loop gets what the ones before it have left."""
    with pytest.raises(tl.UnsupportedError, match=r"is an iterator[^^]*\^"):
        tl.grad(f)(X)


def written_meanwhile(x: Any) -> Any:
    s = 0.0
    for v in itertools.chain(x, x):
        s = s + v * v
        x[0] = 0.5
    return s


def written_by_another_name(x: Any) -> Any:
    y = x[:2]
    s = 0.0
    for v in itertools.islice(y, 2):
        s = s + v * v
        x[1] = 3.0
    return s


@pytest.mark.parametrize("f", [written_meanwhile, written_by_another_name])
def test_what_comes_later_is_not_read_before(f: Callable[..., Any]) -> None:
    """An iterator reads what is written while a loop goes through it; a list would not."""
    with pytest.raises(tl.UnsupportedError, match=r"chain|islice"):
        tl.grad(f)(X[0])


def keys_and_items(x: Any) -> Any:
    d = {0: x[0, 0], 1: x[0, 1]}
    return sum(k * x[0, 0] for k in itertools.chain(d, [2]))


def test_keys_are_not_taken_for_values() -> None:
    with pytest.raises(TypeError, match="a dict is passed to a function of itertools"):
        tl.grad(keys_and_items)(X)


def grouped_by_key(x):
    s = 0.0
    for positive, group in itertools.groupby([x[0], x[1], x[3], x[2]], key=lambda v: v > 0):
        s = s + (1 + positive) * sum(v**2 for v in group)
    return s


def grouped_places(x):
    s = 0.0
    for k, places in itertools.groupby(range(4), key=lambda i: i // 2):
        for i in places:
            s = s + (k + 1) * x[i] ** 2
    return s


def grouped_values(x):
    s = 0.0
    for v, group in itertools.groupby([x[0], x[0], x[1]]):
        s = s + v * len(list(group)) ** 2
    return s


def grouped_later(x):
    groups = list(itertools.groupby([0, 0, 1]))
    return sum(x[i] for _, group in groups for i in group)


@pytest.mark.parametrize("f", (grouped_by_key, grouped_places, grouped_values))
def test_groups(f):
    tl.check_grads(f, np.array([0.3, 1.2, -0.7, 0.9]))


def test_groups_that_python_has_used_up_are_refused():
    with pytest.raises(tl.UnsupportedError, match="group"):
        tl.grad(grouped_later)(np.array([0.3, 1.2]))


def exchanged_before(a, b):
    p = list(itertools.accumulate(a, lambda u, v: u * 0.5 + v))
    if p[1] > 0.1:
        a, b = b, a
    return np.sum(a * b * b) + p[-1]


def test_names_that_are_exchanged():
    """Whether they are whole numbers was asked of each by the other, without end."""
    tl.check_grads(exchanged_before, (X[0], X[1]))


def test_the_first_item_of_an_iterator_is_not_that_of_a_list():
    """`next(iter(it))` takes one item of an iterator and leaves the others."""

    def first_and_others(x, places):
        k = next(iter(places))
        return x[k] ** 2 + sum(x[j] for j in places)

    x = np.array([0.5, 1.2, -0.7])
    np.testing.assert_allclose(tl.grad(first_and_others)(x, [1, 2]), [0.0, 3.4, 1.0])
    for mode in ("forward", "reverse"):
        with pytest.raises(tl.UnsupportedError, match="items of an iterator are taken once more"):
            tl.jacobian(first_and_others, "x", mode=mode)(x, iter([1, 2]))


# ------------------------------------------------------------------ taken in parts, or by a name


def first_times_others(x):
    it = iter(x)
    first = next(it)
    total = first * first
    for v in it:
        total = total + v**2 * first
    return total


def until_none_is_left(x):
    it = iter([x * 2.0, x**2, x**3])
    total = next(it)
    while True:
        row = next(it, None)
        if row is None:
            break
        total = total * row
    return np.sum(total)


def in_pairs(x):
    it = iter(x * 2.0)
    total = 0.0
    for a, b in zip(it, it):
        total += a * b**2
    return total


def left_and_gone_on_with(x):
    it = iter(x)
    total = 0.0
    for v in it:
        if v > 1.5:
            break
        total += v**2
    for v in it:
        total += 3.0 * v * total
    return total


def with_the_next(x):
    it = iter(x)
    total = 0.0
    for v in it:
        total += v * next(it) ** 2
    return total


def items_and_rest(x):
    d = {"a": x[0], "b": x[1] * x[2], "cc": x[3]}
    it = iter(d.items())
    _, first = next(it)
    return first**2 + sum(v * len(k) for k, v in list(it)) + len(list(it))


def zip_by_a_name(x):
    pairs = zip(x, x**2)
    total = 0.0
    for i, (a, b) in enumerate(pairs):
        total += i * a * b
    largest = zip(x, x**3)
    a, b = max(largest)
    return total + a * b


def of_a_generator(x):
    def squares():
        for v in x:
            yield v * v

    made = squares()
    first = next(made)
    return first * next(made)


def maps_by_a_name(x):
    squares = map(lambda v: v * v, x)  # noqa: C417
    sines = (np.sin(v) for v in x if v > 0.6)
    large = filter(lambda v: v > 0.6, x)
    total = 0.0
    for v in squares:
        total += np.sin(v)
    if total > 0.1:
        total += sum(sines)
    for i, v in enumerate(large):
        total += i * v
    return total


def written_after_they_are_taken(x):
    a, b = x * 2.0, x * x
    it = iter([a, b])
    first = next(it) * next(it)
    b[1] *= a[0]
    a += b
    return np.sum(first * a * b)


TAKEN = (first_times_others, until_none_is_left, in_pairs, left_and_gone_on_with, with_the_next)
TAKEN = (*TAKEN, items_and_rest, zip_by_a_name, of_a_generator, maps_by_a_name)
TAKEN = (*TAKEN, written_after_they_are_taken)


@pytest.mark.parametrize("taking", TAKEN)
def test_iterators_taken_in_parts(taking):
    tl.check_grads(taking, (np.array([0.5, 1.2, 2.0, 0.8]),), order=2)


def rows_written_before_they_are_taken(m):
    m = m.copy()
    it = iter(m)
    first = next(it)
    m[1] = m[1] * first
    return np.sum(first * next(it))


def list_that_grows(x):
    xs = list(x)
    it = iter(xs)
    first = next(it)
    xs.append(first * first)
    total = 0.0
    for v in it:
        total += v**2
    return total


def late_names(x):
    k = 2.0
    scaled = (v * k for v in x[0])
    k = 3.0
    return sum(scaled) * k


def gone_through_twice(x):
    made = (v for v in x[0])
    total = 0.0
    for _ in range(3):
        total += sum(made)
    return total


def read_later(x):
    rows = [x[0], x[1]]
    made = (np.sum(v * v) for v in rows)
    rows = [x[2]]
    return sum(made) + np.sum(rows[0])


@pytest.mark.parametrize(
    "taking",
    [
        rows_written_before_they_are_taken,
        list_that_grows,
        late_names,
        gone_through_twice,
        read_later,
    ],
)
def test_iterators_whose_items_depend_on_when_they_are_made(taking):
    """Right, or refused."""
    x = np.arange(6.0).reshape(3, 2) + 0.1
    with contextlib.suppress(tl.UnsupportedError):
        tl.check_grads(taking, (x if taking is not list_that_grows else x[0],))


def counted_until(x: Any) -> Any:
    s = 0.0
    for i in itertools.count(1):
        if i > 3:
            break
        s = s + i * x[0, 0] * x[0, 1]
    return s


def counted_in_rounds(x: Any) -> Any:
    s, numbers = 0.0, itertools.count(x[1, 1], step=2.0)
    for row in x:
        for n in numbers:
            s = s + n * row[0] ** 2
            if n > 3.0 * row[2]:
                break
    return s


@pytest.mark.parametrize("f", [counted_until, counted_in_rounds])
def test_counters_that_a_loop_leaves(f: Callable[..., Any]) -> None:
    """(The list of their numbers filled the memory.)"""
    tl.check_grads(f, (X,), order=2)


def beside_twice(x: Any) -> Any:
    numbers = itertools.count()
    s = sum(n * v for n, v in zip(numbers, x[0]))
    for n, v in zip(numbers, x[1]):
        s = s + n * v * v
    return s


def beside_in_rounds(x: Any) -> Any:
    s, factors = 0.0, itertools.cycle([2.0, 3.0])
    for row in x:
        for factor, v in zip(factors, row):
            s = s + factor * v * v
    return s


@pytest.mark.parametrize("f", [beside_twice, beside_in_rounds])
def test_iterators_without_end_that_go_on_are_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(tl.UnsupportedError, match="goes on where a loop through it has stopped"):
        tl.grad(f)(X)


def until_it_settles(c):
    x = 1.0
    f = lambda x: x**3 - c[0] * x - c[1]  # noqa: E731
    df = tl.grad(f)
    for n in itertools.count():
        d = f(x) / df(x)
        x -= d
        if abs(d) < 1e-13 or n > 50:
            break
    else:
        raise RuntimeError
    return x


def test_an_endless_loop_with_an_else():
    tl.check_grads(until_it_settles, (np.array([1.0, 2.0]),), order=2)


def groups_beside_writes(x):
    out, total = {}, 0.0
    for k, places in itertools.groupby(range(6), key=lambda i: i // 2):
        places = list(places)
        out.setdefault(k % 2, {})[k] = [x[i] * x[places[0]] for i in places]
    for k in (0, 1):
        total += (k + 1) * np.prod(out[k][k]) - out[k][k].pop(0)
    return total


def test_groups_of_a_range_while_something_is_written():
    tl.check_grads(groups_beside_writes, (np.linspace(0.5, 1.0, 6),))


GENERATED = {
    "products": lambda x: sum(itertools.accumulate((v * v for v in x), operator.mul)),
    "sums": lambda x: sum(itertools.accumulate(v * v for v in x)),
    "chain": lambda x: sum(itertools.chain((v * v for v in x), x[:2])),
    "flattened": lambda x: sum(itertools.chain.from_iterable([v * v, v] for v in x)),
    "pairwise": lambda x: sum(a * b for a, b in itertools.pairwise(v * v for v in x)),
    "every pair": lambda x: sum(a * b for a, b in itertools.product((v * v for v in x), repeat=2)),
    "pairs": lambda x: sum(a * b for a, b in itertools.combinations((v * v for v in x), 2)),
    "longest": lambda x: sum(a * b for a, b in itertools.zip_longest((v * v for v in x), x[:3])),
    "array": lambda x: np.sum(np.fromiter((v * v for v in x), float, 2) * x[1:]),
}


@pytest.mark.parametrize("name", one_in(3, tuple(GENERATED)))
def test_generator_expressions_that_iterators_go_through(name: str) -> None:
    tl.check_grads(GENERATED[name], (np.array([0.4, 0.9, -0.3]),), order=2)


def test_what_an_iterator_need_not_go_through_is_not_made():
    def first_only(x):
        log = []

        def noted(v):
            log.append(v)
            return v * v

        return sum(itertools.islice((noted(v) for v in x), 1)) * len(log)

    def small_only(x):
        log = []

        def noted(v):
            log.append(v)
            return v * v

        return sum(itertools.takewhile(lambda v: v < 0.5, (noted(v) for v in x))) * len(log)

    x = np.array([0.4, 0.9, 0.3])
    tl.check_grads(first_only, (x,))
    assert tl.value_and_grad(first_only)(x)[0] == 0.4 * 0.4
    with pytest.raises(tl.UnsupportedError, match="is called within"):
        tl.grad(small_only)(x)


class Doubled(list):
    def __iter__(self):
        return (2.0 * v for v in list.__iter__(self))


DOUBLED, KEYS, VALUES = Doubled([1.0, 3.0]), {5: 1.0, 7: 2.0}, {5: 1.5, 7: 2.0}.values()
OUTSIDE = {
    "a list of its own": lambda x: sum(v * w for v, w in zip(DOUBLED, x)),
    "by number": lambda x: sum(n * v * x[n] for n, v in enumerate(DOUBLED)),
    "a dict": lambda x: sum(k * w**2 for k, w in zip(KEYS, x)),
    "values": lambda x: sum(v * w**2 for v, w in zip(VALUES, x)),
    "a set": lambda x: sum(v * w**2 for v, w in zip({3.0}, x)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_defined_outside_gives_its_items_as_python_takes_them(name: str) -> None:
    """Not by their places, where iteration is another."""
    tl.check_grads(OUTSIDE[name], (np.array([0.4, 0.9]),), order=2)


class Total:
    def __init__(self):
        self.all = 0.0

    def add(self, v):
        self.all += v
        return self.all * v


def _shorter_later(x, total):
    return sum(a * b for a, b in zip((total.add(v) for v in x), [1.0, 2.0]))


def _shorter_first(x, total):
    made = dict(zip("ab", map(total.add, x)))
    return made["a"] * made["b"]


def _between(x, total):
    s = 0.0
    for a, b, c in zip(map(total.add, x), map(total.add, x[:3]), {"p": 1.5, "q": 2.0}.values()):
        s += a * b * c
    return s


def _as_long(x, total):
    return sum(a * b * k for k, (a, b) in enumerate(zip(map(total.add, x), x[::-1])))


def _broken(x, total):
    for a, b in zip(map(total.add, x), zip(x, [1.0, 2.0])):
        if a > 0.5:
            return a * b[0] * b[1]
    return total.all * 2.0


def _joined(x, total):
    pairs = list(zip(map(total.add, x), x[1:3]))
    return pairs[0][0] * pairs[-1][1] * len(pairs)


SIDE_BY_SIDE = (_shorter_later, _shorter_first, _between, _as_long, _broken, _joined)


@pytest.mark.thorough
@pytest.mark.parametrize("f", one_in(3, SIDE_BY_SIDE))
def test_a_zip_makes_the_items_that_python_makes(f: Any) -> None:
    """One more of what comes before the one that ends, none of what comes after it."""

    def both(x):
        total = Total()
        return f(x, total) * total.all

    x = np.array([0.4, 0.9, -0.3, 0.5])
    tl.check_grads(both, (x,), order=2)
    written = Total()
    value = f(x, written) * written.all
    assert tl.value_and_grad(both)(x)[0] == pytest.approx(value)


def pairs_listed(x: Any) -> Any:
    rest = iter(x[0] * x[1])
    pairs = list(zip(rest, rest))
    return sum(a * b**2 for a, b in pairs)


def pairs_named(x: Any) -> Any:
    rest, s = iter(np.ravel(x)), 0.0
    pairs = enumerate(zip(rest, rest))
    for k, (a, b) in pairs:
        s = s + a * b**2 * (k + 1)
    return s


def pairs_sorted(x: Any) -> Any:
    rest = reversed(list(np.ravel(x)))
    return sum(a * b**2 for a, b in sorted(zip(rest, rest)))


def pairs_of_pairs(x: Any) -> Any:
    rest = zip(x[0], x[1])
    pairs = tuple(zip(rest, rest))
    return pairs[0][0][0] * pairs[0][1][1] ** 2


def with_another_between(x: Any) -> Any:
    rest, s = iter(np.ravel(x)), 0.0
    for a, b, c in zip(rest, x[1], rest):
        s = s + a * b * c**2
    return s


PAIRS = (pairs_listed, pairs_named, pairs_sorted, pairs_of_pairs)


@pytest.mark.parametrize("f", PAIRS, ids=lambda f: f.__name__)
def test_an_iterator_beside_itself(f: Callable[..., Any]) -> None:
    """Each went through what the iterator is of by itself: wrong gradients."""
    tl.check_grads(f, (X,), order=2)


def test_an_iterator_beside_itself_and_something_else() -> None:
    f = with_another_between
    for derive in (lambda: tl.grad(f)(X), lambda: tl.jvp(f, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="what a loop leaves of it"):
            derive()
