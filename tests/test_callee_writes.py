"""Callees that write an argument, under another name or several of them: right, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.ad.specialize.callees import CalleeEffects
from tangentlike.analysis.memory import Effects
from tests import agreement


def writes_row(x, v):
    row = x[0]
    row[1] = v[0] * v[1]


def by_row(v):
    x = np.ones((2, 3))
    writes_row(x, v)
    return np.sum(x * x)


def writes_reshaped(x, v):
    flat = x.reshape(-1)
    flat[1:4] = v * v


def by_reshaped(v):
    x = np.ones((2, 3))
    writes_reshaped(x, v)
    return np.sum(x * x)


def scatters_reshaped(x, places, v):
    np.add.at(x.reshape(-1), places, v)


def by_scatter(v):
    x = np.ones((2, 3))
    scatters_reshaped(x, np.array([0, 1, 1]), v)
    return np.sum(x * x)


def writes_rows(x, v):
    for row in x:
        row[:2] += v[:2] * v[1:]


def by_rows(v):
    x = np.ones((2, 3))
    writes_rows(x, v)
    return np.sum(x * x)


def writes_item(xs, v):
    first, _ = xs
    first[0] = v[0] * v[1]


def by_item(v):
    xs = [np.ones(3), np.ones(3)]
    writes_item(xs, v)
    return np.sum(xs[0] * xs[0])


def writes_list(xs, v):
    xs[0] = v * v
    return xs


def by_list(v):
    xs = [v, 2.0 * v]
    ys = writes_list(xs, v)
    return np.sum(ys[0] * ys[1] * xs[1] * xs[0])


def writes_either(x, y, v):
    x[0] = v[0] * v[1]
    y[1] = x[0] * v[1]
    return x if v[0] > 0 else y


def by_either(v):
    x = v.copy()
    z = v * v
    y = writes_either(x, z, v)
    return np.sum(y * z * v)


def writes_then_rebinds(x, v):
    x[0] = v[0] * v[1]
    for _ in range(2):
        x = x * v
        x[1] = 3.0 * v[2] * x[0]
    return x


def by_rebinding(v):
    x = v.copy()
    y = writes_then_rebinds(x, v)
    return np.sum(y * x * v)


def writes_constant(c, v):
    c[0] = 5.0
    return v * c


def by_constant(v):
    c = np.ones(3)
    s = 0.0
    for i in range(3):
        y = v * c
        s = s + np.sum(y * y)
        z = writes_constant(c, v)
        c[0] = i + 2.0
        s = s + np.sum(z * c)
    return s


CALLERS = [by_row, by_reshaped, by_scatter, by_rows, by_item]
CALLERS += [by_list, by_either, by_rebinding, by_constant]


@pytest.mark.parametrize("f", CALLERS)
def test_right_or_refused(f: Callable[..., Any]) -> None:
    v = np.array([1.0, 2.0, 3.0])
    expected = [(f(v + 1e-6 * e) - f(v - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    try:
        found = tl.grad(f)(v)
    except tl.UnsupportedError:
        pass
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    _, change = tl.jvp(f, (v,), (np.ones(3),))
    np.testing.assert_allclose(change, np.sum(expected), rtol=1e-6)


def scatter_over_slice(v):
    a = np.zeros(5)
    w = v * v
    a[2] = v[0]
    np.add.at(a, slice(0, 3), w)
    return np.sum(a * a)


def test_what_is_scattered_keeps_its_adjoint() -> None:
    v = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(tl.grad(scatter_over_slice)(v), [24.0, 32.0, 120.0])


def sums_of_both_axes(x):
    y = 2.0 * x
    across = y.sum(axis=1, keepdims=True) ** 2
    return np.sum(y.sum(axis=0, keepdims=True) ** 2) + np.sum(across) + np.sum(y)


def test_adjoints_of_several_sums() -> None:
    x = np.arange(12.0).reshape(3, 4)
    y = 2.0 * x
    expected = 2.0 + 4.0 * (y.sum(0, keepdims=True) + y.sum(1, keepdims=True))
    np.testing.assert_allclose(tl.grad(sums_of_both_axes)(x), expected)


def test_a_row_is_followed() -> None:
    np.testing.assert_allclose(tl.grad(by_row)(np.array([1.0, 2.0, 3.0])), [8.0, 4.0, 0.0])


def twice(a):
    return [a, a]


def both(a):
    b = a * 2.0
    return b, b


def with_a_list(a):
    b = a * 2.0
    return b, [b]


def writes_each_of_a_list(v):
    rows = twice(v * 1.0)
    for row in rows:
        row[0] = row[0] * row[1]
    return np.sum(rows[0] ** 2)


def writes_one_of_two(v):
    x, y = both(v)
    y[0] = y[0] * x[1]
    return np.sum(x**2)


def writes_an_item(v):
    pair = both(v)
    y = pair[0]
    y[0] = y[0] * pair[1][1]
    return np.sum(pair[1] ** 2)


def writes_in_a_list(v):
    x, held = with_a_list(v)
    held[0][0] = held[0][0] * x[1]
    return np.sum(x**2)


RETURNS_ONE_ARRAY_TWICE = [
    writes_each_of_a_list,
    writes_one_of_two,
    writes_an_item,
    writes_in_a_list,
]


@pytest.mark.parametrize("f", RETURNS_ONE_ARRAY_TWICE, ids=lambda f: f.__name__)
def test_a_callee_that_returns_one_array_twice(f: Callable[..., Any]) -> None:
    v, u = np.array([0.3, 0.7]), np.array([1.0, -0.5])
    expected = (f(v + 1e-6 * u) - f(v - 1e-6 * u)) / 2e-6
    np.testing.assert_allclose(tl.grad(f, example=(v,))(v) @ u, expected, rtol=1e-6)
    _, change = tl.jvp(f, (v,), (u,))
    np.testing.assert_allclose(change, expected, rtol=1e-6)


def taken_from(a):
    x = a
    x -= a * a
    return x


def newton(a):
    x = a
    for count in range(50):
        step = (x**3 - a) / (3.0 * x**2)
        x -= step
        if abs(step) < 1e-9:
            break
    else:
        raise RuntimeError("no root found")
    return x, count


def root_by_helper(a):
    root, count = newton(a)
    assert count < 50
    return root * taken_from(a)


def entries_by_helper(x):
    return taken_from(x[0]) * taken_from(np.sum(x)) + taken_from(x[1])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (root_by_helper, 2.0),
        (root_by_helper, np.float64(2.0)),
        (entries_by_helper, np.array([1.0, 2.0, -0.5])),
    ],
)
def test_a_call_tells_numbers_from_arrays(f: Any, x: Any) -> None:
    tl.check_grads(f, (x,))
    change = agreement.slope(lambda y: np.sum(tl.grad(f)(y)), (x,), (x,))
    assert agreement.close(np.sum(tl.hvp(f)(x, x)), change, 1e-6)


def test_a_call_with_an_array_writes_it_after_one_with_a_number() -> None:
    for x in (3.0, np.array(3.0), 3.0, np.array(3.0)):
        assert tl.grad(taken_from)(x) == -5.0
        assert x == 3.0


def test_what_a_function_writes_and_gives_back_is_bound_once():
    def doubled(a, i):
        a[i] = np.tanh(a[i]) * 2
        return a

    def total(x):
        y = x.copy()
        for i in range(len(y)):
            y = doubled(y, i)
            y[i] += y[i - 1] * 0.1
        return y.sum()

    x = np.array([0.3, -0.2, 0.8])
    tl.check_grads(total, (x,), order=2)
    text = tl.grad(total).source
    assert "y = y\n" not in text  # (nor is the array saved in each round)
    assert "return\n" not in text
    assert "y_saved2" not in text


def test_effects_are_found_once_unless_a_function_calls_itself() -> None:
    found: list[Any] = []

    def find(lowered: Any, kinds: Any) -> Effects:
        found.append(lowered)
        return Effects(frozenset("x"))

    effects = CalleeEffects(lambda fn: fn, find)
    assert effects.of(writes_row) == effects.of(writes_row) == Effects(frozenset("x"))
    assert found == [writes_row]


def test_effects_found_with_an_estimate_are_found_again() -> None:
    def writes(x: Any, n: int) -> Any:
        return x if n == 0 else calls(x, n - 1)

    def calls(x: Any, n: int) -> Any:
        return writes(x, n)

    def find(lowered: Any, kinds: Any) -> Effects:
        inside = effects.of(calls if lowered is writes else writes)
        assert inside is not None
        own = frozenset("x" if lowered is writes else "")
        return Effects(inside.written | own)

    effects = CalleeEffects(lambda fn: fn, find)
    assert [effects.of(fn) for fn in (writes, calls)] == [Effects(frozenset("x"))] * 2


# ---------------------------------------------- into items of a list that only the callee is given


def _fill_first(items, v):
    items[0][:] = v


def _add_to_first(items, v):
    items[0] += v


def _fill_all(items, v):
    for item in items:
        item[:] = v


def _fill_deep(items, v):
    items[0]["k"][:] = v


def in_a_list_made_for_the_call(x, b):
    _fill_first([b], x * x)
    return np.sum(b * x)


def in_a_tuple(x, b):
    c = b * 1.0
    _fill_first((c, x), x * x)
    return np.sum(c * x)


def updated_in_a_list(x, b):
    parts = [b]
    _add_to_first(parts, x * x)
    return np.sum(b * x)


def in_two_items(x, b):
    c, d = b * 1.0, b * 2.0
    _fill_all([c, d], x * x)
    return np.sum(c * d)


def in_nested_containers(x, b):
    _fill_deep([{"k": b}], x * x)
    return np.sum(b * x)


@pytest.mark.parametrize(
    "f",
    [
        in_a_list_made_for_the_call,
        in_a_tuple,
        updated_in_a_list,
        in_two_items,
        in_nested_containers,
    ],
)
def test_what_a_callee_writes_into_items(f):
    x, b = np.array([0.3, 0.5, 0.7]), np.array([1.0, -2.0, 0.5])
    ends = [(f(x + 1e-6 * d, b.copy()), f(x - 1e-6 * d, b.copy())) for d in np.eye(3)]
    expected = np.array([(up - down) / 2e-6 for up, down in ends])
    np.testing.assert_allclose(tl.grad(f)(x, b), expected, rtol=1e-6)
    for seed in (np.ones(3), b):
        change = tl.jvp(f, (x, b), (seed, None))[1]
        np.testing.assert_allclose(change, expected @ seed, rtol=1e-6)
