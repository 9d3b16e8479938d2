"""Lists that grow and shrink: their adjoints have the length that they had at that moment."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.sampled import one_in


def looped_then_popped(b):
    p = [b, 2.0 * b]
    s = 0.0
    for x in p:
        s = s + np.sum(x * x)
    v = p.pop()
    return s + np.sum(v * v * v)


def looped_then_appended(b):
    p = [b, 2.0 * b]
    s = 0.0
    for x in p:
        s = s + np.sum(x * x)
    p.append(b * b)
    return s


def shrinking_in_a_loop(b):
    p = [b, 2.0 * b]
    s = 0.0
    for _ in range(2):
        for x in p:
            s = s + np.sum(x * x)
        v = p.pop()
        s = s + np.sum(v * v * v)
    return s


def stack_of_work(b):
    p = [b, 2.0 * b]
    s = 0.0
    while p:
        v = p.pop()
        s = s + np.sum(v * v * v)
        if len(p) == 1 and np.sum(v) > 0.0:
            p.append(v * v * 0.1)
            p.append(-v)
    return s


def under_another_name(b):
    p = [b, 2.0 * b]
    q = p
    s = np.sum(p[0] * len(q))
    for x in q:
        s = s + np.sum(x * x)
    p.append(b * b)
    for x in q:
        s = s + np.sum(x * x * x)
    q.pop()
    for x in p:
        s = s + np.sum(x * x * x * x)
    return s


def popped_unused(b):
    p = [b, 2.0 * b, b * b]
    v = p.pop()
    n = len(v)
    return np.sum(p[0] * p[1]) * n


def popped_for_nothing(b):
    p = [b]
    for i in range(3):
        p.append(b * p[-1])
        if i == 1:
            p.pop()
    return np.sum(p[0] * p[1] * p[2])


def pop_of_what_is_still_read(a, b):
    p = []
    p.append(b)
    p.append(np.sin(b))
    c = p.pop() + p[0] * 0.3
    a[1:] += c[:-1]
    return np.sum(a * a)


def popped_beside_what_is_updated(b):
    p = [np.sin(b), b * b, 2.0 * b]
    last = p.pop()
    p[-1] += b
    p[0] *= p[1]
    return np.sum(p[-1] * last * p[0])


def lengths_of_a_growing_dict(b):
    d = {}
    for k in ("a", "b", "a", "c"):
        w = 2.0 if k in d else 3.0
        d[k] = b * w * (len(d) + 1.0)
    d["a"] = d["a"] * d["b"]
    return np.sum(d["a"] * np.sin(d["c"])) * len(d)


def length_under_another_name_of_a_dict(b):
    d = {"a": b}
    e = d
    for k in (1, 2):
        e[k] = b * b * len(d)
    return np.sum(e[1] * d[2])


def result_that_its_derivative_reads(b):
    c = np.tanh(0.1 * b)
    c[b > 1.5] *= 0.7
    return np.sum(b * c)


LISTS = [looped_then_popped, looped_then_appended, shrinking_in_a_loop, stack_of_work]
LISTS += [under_another_name, popped_unused, popped_for_nothing]
LISTS += [popped_beside_what_is_updated, lengths_of_a_growing_dict]
LISTS += [length_under_another_name_of_a_dict, result_that_its_derivative_reads]


@pytest.mark.parametrize("f", LISTS, ids=lambda f: f.__name__)
def test_gradient(f: Callable[..., Any]) -> None:
    b = np.array([1.0, 2.0, 3.0])
    expected = [(f(b + 1e-6 * e) - f(b - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(tl.grad(f)(b), expected, rtol=1e-6)


@pytest.mark.parametrize("f", one_in(3, LISTS), ids=lambda f: f.__name__)
def test_second_derivative(f: Callable[..., Any]) -> None:
    b, v = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 0.5])
    gradient = tl.grad(f)
    product = tl.hvp(f)(b, v)
    step = 1e-6 * v
    differences = (gradient(b + step) - gradient(b - step)) / 2e-6
    np.testing.assert_allclose(product, differences, rtol=1e-5)
    try:
        _, pullback = tl.vjp(gradient, b)
    except tl.UnsupportedError:  # the items of a list that shrinks are on a stack
        return
    np.testing.assert_allclose(pullback(v)[0], product, rtol=1e-9)


def test_second_derivative_of_a_popped_list() -> None:
    a, b, v = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 0.5])
    gradient = tl.grad(pop_of_what_is_still_read, wrt=("a", "b"))
    _, pullback = tl.vjp(gradient, a, b)
    by_a, by_b = pullback((v, v))
    (_, (dot_a, dot_b)) = tl.jvp(gradient, (a, b), (v, v))
    np.testing.assert_allclose(np.concatenate([by_a, by_b]), np.concatenate([dot_a, dot_b]))


def twice_in_a_list(b):
    p = [b, 2.0 * b, b]
    last = p.pop()
    p[0] += b
    return np.sum(last * p[0])


def known_by_another_list(b):
    p = [np.sin(b), 2.0 * b]
    q = p
    last = p.pop()
    q.append(last)
    q[1] += b
    return np.sum(last * p[1] * p[0])


@pytest.mark.parametrize("f", [twice_in_a_list, known_by_another_list], ids=lambda f: f.__name__)
def test_what_was_popped_may_be_left_in_the_list(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (np.array([1.0, 2.0, 3.0]),))


def repeated_in_place(xs, y):
    xs *= 2
    return sum(xs) * y


def replaced_in_place(xs, y):
    xs[:] = [v * y for v in xs]
    return sum(xs) * xs[0]


@pytest.mark.parametrize("f", [repeated_in_place, replaced_in_place])
def test_what_a_write_does_depends_on_whether_it_is_a_list(f: Callable[..., Any]) -> None:
    tl.check_grads(f, ([1.5, -0.5], 0.7))
    bars = tl.grad(f, wrt=(0, 1))(np.array([1.5, -0.5]), 0.7)
    assert bars[0].shape == (2,)


def set_that_grows(x):
    seen, s = {7}, 0.0
    for j in range(len(seen)):
        s = s + x[j] * x[j]
        seen.add(j)
    return s


def set_that_shrinks(x):
    seen, s = {1, 2}, 0.0
    for j in range(len(seen)):
        s = s + 2.0 * x[j]
        seen.intersection_update({9})
    return s


def deque_that_grows(x):
    queue, s = collections.deque([1]), 0.0
    for j in range(len(queue) + 1):
        s = s + 2.0 * x[j]
        queue.appendleft(j)
    return s


def deque_that_shrinks(x):
    queue, s = collections.deque([1, 2, 3]), 0.0
    for j in range(len(queue)):
        s = s + 2.0 * x[j]
        queue.popleft()
    return s


def dict_with_a_new_key(x):
    found, s = {5: 1}, 0.0
    for j in range(len(found)):
        s = s + 2.0 * x[j]
        found[j] = 3
    return s


def dict_with_a_default(x):
    found, s = {5: 1}, 0.0
    for j in range(len(found)):
        s = s + 2.0 * x[j]
        found.setdefault(j, 2)
    return s


def list_with_other_items(x):
    items, s = [1, 2], 0.0
    for j in range(len(items)):
        s = s + 2.0 * x[j]
        items[0:1] = [5, 6]
    return s


def list_by_another_name(x):
    items, s = [1, 2], 0.0
    others = items
    for j in range(len(items)):
        s = s + 2.0 * x[j]
        others.append(3)
    return s


def _grow(items):
    items.append(4)


def list_that_a_function_changes(x):
    items, s = [1, 2], 0.0
    for _, j in enumerate(range(len(items))):
        s = s + 2.0 * x[j]
        _grow(items)
    return s


def counts_that_shrink(x):
    counts, s = collections.Counter({1: 2, 3: 3}), 0.0
    for j in range(3):
        s = s + x[counts[3]] * x[j]
        counts.subtract({3: 1})
    return s


OF_HEADERS = [
    counts_that_shrink,
    *(set_that_grows, set_that_shrinks, deque_that_grows, deque_that_shrinks),
    *(dict_with_a_new_key, dict_with_a_default, list_with_other_items),
    *(list_by_another_name, list_that_a_function_changes),
]


@pytest.mark.parametrize("by_identity", [False, True], ids=["by name", "by identity"])
@pytest.mark.parametrize("f", OF_HEADERS, ids=lambda f: f.__name__)
def test_a_loop_goes_back_as_often_as_it_ran(f: Callable[..., Any], by_identity: bool) -> None:
    x, tangent = np.linspace(0.5, 2.0, 9), np.linspace(-1.0, 1.0, 9)
    df: Any = tl.grad(f)
    if by_identity:
        made = df.__tangentlike__.derive().specialized_for((x,), {}).by_identity
        df = lambda x: made.call((x,), {})  # noqa: E731
    expected = (f(x + 1e-6 * tangent) - f(x - 1e-6 * tangent)) / 2e-6
    assert np.dot(df(x), tangent) == pytest.approx(expected, abs=1e-7)
    assert tl.autodiff(f, mode="forward")(x, tangent)[1] == pytest.approx(expected, abs=1e-7)


def test_a_length_that_the_loop_leaves_alone_is_read_again() -> None:
    def f(x: np.ndarray, items: list[float]) -> float:
        y = np.zeros(3)
        for j in range(len(items)):
            y[j] = x[j] * x[j]
        return float(np.sum(y))

    df = tl.grad(f)
    df(np.ones(3), [1.0, 2.0])
    assert "for j in reversed(range(len(items)))" in df.source


def runs_over_what_a_function_grows(x):
    items, s = [1, 2], 0.0
    for v in items:
        s = s + 2.0 * x[v]
        if len(items) < 4:
            _grow(items)
    return s


def runs_over_what_a_slice_grows(x):
    items, s = [1, 2], 0.0
    for v in items:
        s = s + 2.0 * x[v]
        if len(items) < 4:
            items[2:2] = [5]
    return s


def runs_over_items_that_a_slice_adds(x):
    items, s = [x[1], x[2]], 0.0
    for v in items:
        s = s + v * v
        if len(items) < 4:
            items[len(items) :] = [3.0 * v]
    return s


GROWING = [runs_over_what_a_function_grows, runs_over_what_a_slice_grows]
GROWING += [runs_over_items_that_a_slice_adds]


def grows_by_another_name(x):
    items, s = [x[0], x[1] * 2.0], 0.0
    other = items
    for v in items:
        s = s + np.sin(v) * v
        other.append(x[3] * v)
        if len(items) > 6:
            break
    return s + items[-1]


def grows_beside_others(x):
    items, s = [x[0], x[1] * 2.0, x[2]], 0.0
    other = items
    for n, (v, w) in enumerate(zip(items, x, strict=False)):
        s = s + np.sin(v) * w * (n + 1)
        if n < 3:
            other.append(x[n] * v)
    return s + items[-1]


def shortens_and_lengthens(x):
    items, s = [x[0], x[1] * 2.0, x[2], x[3], x[4]], 0.0
    other = items
    for v in items:
        s = s + np.sin(v) * v
        if v > 0.9:
            other.insert(0, items.pop() * v)
        if len(items) > 6 or s > 6.0:
            break
    return s + items[-1]


def grows_in_a_generator(x):
    items, s = [x[0], x[1] * 2.0], 0.0
    other = items
    for v in (u * u for u in items):
        s = s + np.sin(v)
        if len(items) < 5:
            other.append(x[3] * v)
    return s + items[-1]


def grows_rows(x):
    rows, s = [[x[0]], [x[1] * 2.0, x[2]]], 0.0
    for row in rows:
        for v in row:
            s = s + np.sin(v) * v
            if len(row) < 4:
                row.append(s * x[3])
            if len(rows) < 3:
                rows.append([s, v])
    return s


class Listed:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def put(self, item):
        self.items.append(item)


def grows_what_an_object_goes_through(x):
    listed, s = Listed([0, 1]), 0.0
    for k in listed:
        if len(listed.items) < 4:
            listed.put(k + 1)
        s = s + x[k] ** 2
    return s


def grows_a_field(x):
    listed, s = Listed([0, 1]), 0.0
    for k in iter(listed.items):
        if len(listed.items) < 4:
            listed.items.append(k + 1)
        s = s + x[k] ** 2
    return s


def grows_what_has_an_iterator(x):
    items, s = [x[0], x[1] * 2.0], 0.0
    left = iter(items)
    for v in left:
        s = s + np.sin(v) * v
        if len(items) < 5:
            items.append(v * x[3])
    return s


GROWING += [grows_by_another_name, grows_beside_others, shortens_and_lengthens, grows_rows]
GROWING += [grows_in_a_generator, grows_what_an_object_goes_through, grows_a_field]
GROWING += [grows_what_has_an_iterator]


def differences(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    return np.array([(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(len(x))])


@pytest.mark.thorough
@pytest.mark.parametrize("f", GROWING, ids=lambda f: f.__name__)
def test_a_list_that_a_loop_runs_over_is_not_taken_to_stay_as_long(f: Callable[..., Any]) -> None:
    x, v = np.linspace(0.5, 1.1, 6), np.linspace(-0.4, 1.0, 6)
    df = tl.grad(f)
    np.testing.assert_allclose(df(x), differences(f, x), rtol=1e-6, atol=1e-8)
    tangents = [tl.jvp(f, (x,), (e,))[1] for e in np.eye(6)]
    np.testing.assert_allclose(tangents, df(x), rtol=1e-9, atol=1e-12)
    expected = differences(lambda x: np.dot(df(x), v), x)
    np.testing.assert_allclose(tl.hvp(f)(x, v), expected, rtol=1e-6, atol=1e-7)
    twice = tl.grad(lambda x: np.dot(df(x), v))(x)
    np.testing.assert_allclose(twice, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("given", [Listed, list], ids=["object", "list"])
def test_what_is_given_may_grow_while_it_is_gone_through(given: Any) -> None:
    def f(x, listed):
        s = 0.0
        for k in listed:
            items = listed if isinstance(listed, list) else listed.items
            if len(items) < 4:
                items.append(k + 1)
            s = s + x[k] ** 2
        return s

    x = np.linspace(0.5, 1.1, 6)
    expected = differences(lambda x: f(x, given([0, 1])), x)
    np.testing.assert_allclose(tl.grad(f)(x, given([0, 1])), expected, rtol=1e-6, atol=1e-9)
    tangent = tl.autodiff(f, mode="forward")(x, given([0, 1]), np.ones(6))[1]
    assert tangent == pytest.approx(np.sum(expected))


# ---------------------------------------- lists of which the loop that goes through them backwards
# changes the length: of a kind that the text shows, and of one that it does not


def _scaled(x):
    return [v * 1.1 for v in x]


def grows_backwards(x, make):
    xs, s = make(x), 0.0
    for k, v in enumerate(reversed(xs)):
        s = s * 0.5 + v * v
        if k == 1:
            xs.append(x[0] * v)
    return s + sum(xs)


def shrinks_backwards(x, make):
    xs, s = make(x), 0.0
    for v in reversed(xs):
        s = s * 0.5 + v * v
        xs.pop()
    return s + sum(xs)


def grows_in_front_backwards(x, make):
    xs, s = make(x), 0.0
    for v in reversed(xs):
        s = s * 0.5 + v * v
        if len(xs) < 6:
            xs.insert(0, v * 0.3)
    return s + sum(xs)


def shrinks_in_front_backwards(x, make):
    xs, s = make(x), 0.0
    for k, v in enumerate(reversed(xs)):
        s = s * 0.5 + v * v * (k + 1)
        if k == 0:
            del xs[:2]
    return s + sum(xs)


def both_ways(x, make):
    xs, s = make(x), 0.0
    other = xs
    for n, (u, v, w) in enumerate(zip(x, reversed(xs), xs, strict=False)):
        s = s * 0.5 + u * v * w
        other.append(v * w) if n < 2 else other.pop()
    return s + sum(xs)


def inside_of_another_backwards(x, make):
    xs, s = make(x), 0.0
    for v in reversed(xs):
        for w in reversed(xs):
            s = s * 0.5 + v * w
            if len(xs) > 2:
                xs.pop(0)
    return s


def backwards_with_else(x, make):
    rows, s = [make(x)[:2], make(x)[2:4], make(x)[1:3]], 0.0
    for a, b in reversed(rows):
        s = s * 0.5 + a * b
        if a > 100.0:
            break
        if len(rows) > 2:
            del rows[1:]
    else:
        s = s * s
    return s


BACKWARDS = [grows_backwards, shrinks_backwards, grows_in_front_backwards, both_ways]
BACKWARDS += [shrinks_in_front_backwards, inside_of_another_backwards, backwards_with_else]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("f", "make"),
    [*((f, _scaled) for f in BACKWARDS[::2]), *((f, None) for f in BACKWARDS[1::3])],
    ids=lambda value: getattr(value, "__name__", "list"),
)
def test_a_list_that_a_loop_goes_through_backwards_may_get_another_length(
    f: Any, make: Any
) -> None:
    x, v = np.array([0.5, 1.5, -0.7, 0.9]), np.array([0.3, -0.2, 0.5, 1.0])

    def listed(x: Any) -> Any:
        return f(x, list)

    def made(x: Any) -> Any:
        return f(x, make)

    loss = listed if make is None else made
    df = tl.grad(loss)
    np.testing.assert_allclose(df(x), differences(loss, x), rtol=1e-6, atol=1e-8)
    tangents = [tl.jvp(loss, (x,), (e,))[1] for e in np.eye(4)]
    np.testing.assert_allclose(tangents, df(x), rtol=1e-9, atol=1e-12)
    expected = differences(lambda x: np.dot(df(x), v), x)
    np.testing.assert_allclose(tl.hvp(loss)(x, v), expected, rtol=1e-6, atol=1e-7)
    twice = tl.grad(lambda x: np.dot(df(x), v))(x)
    np.testing.assert_allclose(twice, expected, rtol=1e-6, atol=1e-7)
    if make is not None:  # a text without types, of which `make` is any function
        shown = dict(globals())
        exec(tl.grad(f).source, shown)
        np.testing.assert_allclose(shown[f"{f.__name__}_grad"](x, make), df(x), rtol=1e-9)


def test_items_of_a_list_that_a_loop_runs_over_may_be_set_sorted_and_reversed() -> None:
    def f(x: np.ndarray) -> float:
        items, s = [3, 1, 2], 0.0
        for v in items:
            s = s + x[v] * x[v]
            items[2] = 4
            items.reverse()
            items.sort()
        return s

    x = np.linspace(0.5, 2.0, 9)
    expected = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(9)]
    np.testing.assert_allclose(tl.grad(f)(x), expected, rtol=1e-6)


# ------------------------------------------------- dicts that a loop over their values changes


def _put(table, key, value):
    table[key] = value


def sets_a_later_key(x):
    table, s = {1: 2, 2: 3}, 0.0
    for k, v in table.items():
        s = s + x[v] * x[k]
        table[2] = 7
    return s


def sets_a_later_value(x):
    table, s = {1: 2, 2: 3}, 0.0
    for n, v in enumerate(table.values()):
        s = s + x[v] * x[n]
        table.update({2: 8})
    return s


def sets_it_by_another_name(x):
    table, s = {1: 2, 2: 3}, 0.0
    other = table
    for k, v in table.items():
        s = s + x[v] * x[k]
        other[2] = 7
    return s


def sets_it_in_a_function(x):
    table, s = {1: 2, 2: 3}, 0.0
    for k, v in table.items():
        s = s + x[v] * x[k]
        _put(table, 2, 7)
    return s


def sets_it_in_a_dict_of_dicts(x):
    tables, s = {"a": {1: 2, 2: 3}}, 0.0
    for _, table in tables.items():
        for k, v in table.items():
            s = s + x[v] * x[k]
            tables["a"][2] = 7
    return s


def goes_through_a_view_twice(x):
    table, s = {1: 2, 2: 3}, 0.0
    values = table.values()
    for v in values:
        s = s + x[v]
        table[2] = 7
    for v in values:
        s = s * x[v]
    return s


SETTING = [sets_a_later_key, sets_a_later_value, sets_it_by_another_name, sets_it_in_a_function]
SETTING += [sets_it_in_a_dict_of_dicts, goes_through_a_view_twice]


@pytest.mark.parametrize("f", SETTING, ids=lambda f: f.__name__)
def test_values_that_a_loop_over_them_sets_are_read_when_it_comes_to_them(
    f: Callable[..., Any],
) -> None:
    x = np.linspace(0.5, 2.0, 9)
    expected = np.array([(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(9)])
    np.testing.assert_allclose(tl.grad(f)(x), expected, rtol=1e-6)
    tangents = [tl.jvp(f, (x,), (e,))[1] for e in np.eye(9)]
    np.testing.assert_allclose(tangents, expected, rtol=1e-6)


def test_an_iterator_of_several_lists_that_the_loop_over_it_grows_is_refused() -> None:
    def f(x):
        items, s = [1, 2], 0.0
        other = items
        left = zip(items, x, strict=False)
        for v, w in left:
            s = s + x[v] * w
            if len(items) < 4:
                other.append(3)
        return s

    x = np.linspace(0.5, 2.0, 9)
    for run in (lambda: tl.grad(f)(x), lambda: tl.jvp(f, (x,), (x,))):
        with pytest.raises(tl.UnsupportedError, match="changed in a loop over the iterator"):
            run()


def columns_that_get_longer(x):
    rows, total = [list(x), list(x * 2.0)], 0.0
    for a, b in zip(*rows):
        rows.append(a)
        total = total + np.sin(a) * b
    return total


def places(count):
    return [list(range(count)), list(range(count))]


def places_that_get_more(x):
    both, total = places(2), 0.0
    for i, j in zip(*both):
        both.append([i, j])
        total = total + np.sin(x[i]) * x[j]
    return total


@pytest.mark.parametrize("f", [columns_that_get_longer, places_that_get_more])
def test_a_starred_header_that_the_loop_makes_longer(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (np.array([0.3, 0.7]),), order=2)


def as_long_as_the_data(p, x):
    out = []
    for v in x:
        out.append(np.tanh(p * v))
    return np.sum((np.array(out) - x) ** 2)


def one_more_than_the_rounds(p, x):
    states = [p]
    for k in range(1, len(x)):
        states.append(states[-1] * x[k] + p)
    return np.mean((np.array(states) - x) ** 2)


def left_early(p, x):
    out = []
    for v in x:
        if v > 1.0:
            break
        out.append(p * v)
    return np.sum(np.array(out) * p) + np.sum(x)


def appended_now_and_then(p, x):
    out = []
    for v in x:
        if v > 0.6:
            out.append(p * v)
    return np.sum(np.array(out) * (p + out[0]))


def popped_afterwards(p, x):
    out = []
    for v in x:
        out.append(p * v)
    last = out.pop()
    return np.sum(np.array(out)) * last


def seen_while_it_grows(p, x):
    out, total = [], 0.0
    for v in x:
        out.append(p * v)
        total = total + np.mean(np.array(out) ** 2)
    return total


def one_in_each_round(p, x):
    total = 0.0
    for v in x:
        row = []
        for w in x:
            row.append(np.sin(p * v * w))
        total = total + np.mean(row) * np.dot(np.array(row), x)
    return total


FILLED = [as_long_as_the_data, one_more_than_the_rounds, left_early, appended_now_and_then]
FILLED += [popped_afterwards, seen_while_it_grows, one_in_each_round]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("f", FILLED, ids=lambda f: f.__name__)
def test_arrays_of_lists_that_a_loop_fills(f: Callable[..., Any], typed: bool) -> None:
    x = np.linspace(0.5, 1.1, 5)
    df = tl.grad(f, (0, 1), example=(0.7, x) if typed else None)
    for length in (5, 3):
        p_bar, x_bar = df(0.7, x[:length])
        assert p_bar == pytest.approx(
            (f(0.7 + 1e-6, x[:length]) - f(0.7 - 1e-6, x[:length])) / 2e-6
        )
        expected = differences(lambda v: f(0.7, v), x[:length])
        np.testing.assert_allclose(x_bar, expected, rtol=1e-6, atol=1e-8)
        tangents = [tl.jvp(f, (0.7, x[:length]), (0.0, e))[1] for e in np.eye(length)]
        np.testing.assert_allclose(tangents, x_bar, rtol=1e-9, atol=1e-12)


def test_the_length_of_such_a_list_is_that_of_what_the_loop_goes_over() -> None:
    source = tl.grad(as_long_as_the_data, (0, 1), example=(0.7, np.ones(5))).source
    assert not [h for h in ("unbroadcast", "nest_like", "scalar_seed") if h in source], source
    source = tl.grad(left_early, example=(0.7, np.ones(5))).source
    assert "nest_like" not in source  # (a list of numbers, however long)


class Scaled:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def of(self, v):
        return np.tanh(self.w * v + self.b)


def made_of_what_is_given(pairs, v):
    layers = [Scaled(w, b) for w, b in pairs]
    for layer in layers:
        v = layer.of(v)
    return v


def made_and_grown(pairs, v):
    rows = pairs[:]
    kept = rows
    for w, b in rows:
        if len(rows) < 4:
            kept.append((0.5 * w, b * v))
        v = v + np.sin(w * b)
    return v


def grown_while_another_is_gone_through(pairs, v):
    out = [v]
    for w, b in pairs:
        out.append(out[-1] * w + b)
        for _ in out:
            if len(out) < 5:
                out.append(out[-1] * 0.5)
    return sum(out)


@pytest.mark.thorough
def test_a_list_that_is_made_is_not_one_that_is_given() -> None:
    pairs = [(0.3, 0.7), (1.1, -0.4), (0.6, 0.2)]
    for f in (made_of_what_is_given, made_and_grown, grown_while_another_is_gone_through):
        tl.check_grads(f, (pairs, 0.5), wrt=(0, 1), order=2)
    text = tl.grad(made_of_what_is_given, example=(pairs, 0.5)).source
    assert "while" not in text and "index_saved" not in text, text
