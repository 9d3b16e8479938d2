"""Functions that replace items of a list or dict while the caller holds such an item by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.3, 0.7, -0.4])


def zeroed(d):
    d["a"] = np.zeros(3)


def put(xs, k, v):
    xs[k] = v


def doubled(d):
    d["a"] *= 2.0


def doubled_all(xs):
    for i in range(len(xs)):
        xs[i] = xs[i] * 2


def first_from_second(d):
    e = d
    e["a"] = e["b"]


def written_and_replaced(xs):
    xs[0][1] = 0.0
    xs[0] = xs[1] * 2


class Table:
    def __init__(self):
        self.d = {}

    def put(self, k, v):
        self.d[k] = v


def an_item_is_left(x):
    d = {"a": x * 2}
    v = d["a"]
    zeroed(d)
    v *= x[0]
    return v @ v + np.sum(d["a"])


def an_item_is_written_by_the_function(x):
    d = {"a": x * 2}
    v = d["a"]
    doubled(d)
    return v @ v


def an_item_comes_twice(x):
    d = {"a": x * 2, "b": x * 3}
    v = d["a"]
    first_from_second(d)
    d["b"] *= x[0]
    return v @ d["a"]


def an_item_is_written_then_left(x):
    xs = [x * 1, x * 2]
    a = xs[0]
    written_and_replaced(xs)
    return a @ xs[0]


def all_items_are_left(x):
    xs = [x * 1, x * 2]
    a = xs[0]
    doubled_all(xs)
    a *= x[0]
    return a @ xs[0] + sum(xs) @ x


def replaced_by_what_is_read(x):
    xs = [x * 1, x * 2]
    row = xs[0]
    put(xs, 0, row * x[0])
    row[1] = x[2] ** 2
    return row @ xs[0]


def through_an_object(x):
    table = Table()
    table.put("a", x * 2)
    v = table.d["a"]
    table.put("a", x * x)
    v *= x[0]
    return v @ table.d["a"]


def nothing_held(x):
    xs = [x * 1, x * 2]
    put(xs, 0, xs[1] * x[0])
    doubled_all(xs)
    return xs[0] @ xs[1]


def an_array_is_written(x):
    y = x * 2
    put(y, 0, x[1])
    v = y[:2]
    put(y, 1, x[2] * v[0])
    return y @ y + v[1]


def entries_by_keys(x):
    d = {"a": x, "b": x[1] * x}
    for k in set(d) - {"c"}:
        d[k] = d[k] * x[2]
    return d["a"] @ d["b"]


def entries_that_leave(x):
    d = {"a": x[0], "b": x[1]}
    for k in ("a", "b"):
        v = d[k]
        d.pop(k)
        d[k] = v * x[2] * len(d)
    return d["a"] + d["b"] * x[0]


HELD = [
    an_item_is_left,
    an_item_is_written_by_the_function,
    an_item_comes_twice,
    an_item_is_written_then_left,
    all_items_are_left,
    replaced_by_what_is_read,
    through_an_object,
]
RIGHT = [nothing_held, an_array_is_written, entries_by_keys]


def agrees(f: Callable[..., float]) -> bool:
    v = np.array([0.4, -1.1, 0.8])
    expected = agreement.slope(f, (X,), [v])
    _, change = tl.jvp(f, (X,), (v,))
    assert agreement.close(float(change), expected, 1e-6)
    return agreement.close(float(tl.grad(f)(X) @ v), expected, 1e-6)


def check_second_order(f: Callable[..., float]) -> None:
    gradient = tl.grad(f)
    expected = agreement.slope(lambda x: gradient(x) @ X, (X,), [X])
    (found,) = tl.vjp(gradient, X.copy())[1](X)
    assert agreement.close(float(found @ X), expected, 1e-6)
    assert agreement.close(float(tl.hvp(f)(X, X) @ X), expected, 1e-6)


@pytest.mark.parametrize("f", HELD)
def test_right_or_refused_where_an_item_is_held(f: Callable[..., float]) -> None:
    """Each gave a wrong gradient, or may: the name is a view of what has left its place."""
    try:
        assert agrees(f)
    except tl.UnsupportedError as refusal:
        assert "memory that may be shared" in str(refusal)


def test_entries_that_are_taken_out_between() -> None:
    assert agrees(entries_that_leave)


@pytest.mark.parametrize("f", RIGHT)
def test_right_in_both_modes_and_orders(f: Callable[..., float]) -> None:
    assert agrees(f)
    gradient = tl.grad(f)
    expected = agreement.slope(lambda x: gradient(x) @ X, (X,), [X])
    assert agreement.close(float(tl.grad(lambda x: gradient(x) @ X)(X.copy()) @ X), expected, 1e-6)
    assert agreement.close(float(tl.hvp(f)(X, X) @ X), expected, 1e-6)


class Plain:
    pass


def assign(o, v):
    o.v = v


def scale(x):
    x *= np.sin(x)


def an_attribute(x):
    o = Plain()
    o.v = x
    assign(o, x * 3)
    return np.sum(o.v**2)


def an_array(x):
    y = x * 1
    scale(y)
    return np.sum(y * y)


def an_entry(x):
    d = {"a": x}
    put(d, "a", x * 3)
    return np.sum(d["a"] ** 2)


@pytest.mark.parametrize("f", [an_attribute, an_array, an_entry])
def test_what_a_function_without_a_result_writes_counts(f: Callable[..., float]) -> None:
    assert agrees(f)


def lists_as_items(x: np.ndarray) -> float:
    rows = [[x[0], x[1]], x[1:]]
    first = rows[0]
    rows[0] = x * 2.0
    rows[1] = [x[2] * first[0]]
    return np.sum(rows[0] * rows[0]) * first[1] * rows[1][0]


def never_read(x):
    hs = [np.sin(x), np.cos(x)]
    y = np.sum(hs[0] * x)
    hs[0] = x[:2]
    return y + np.sum(hs[1])


def by_a_constant(x):
    hs = [np.sin(x), np.cos(x[:2])]
    y = np.sum(hs[0] * x)
    hs[0] = np.ones(2)
    return y + np.sum(hs[1])


def a_number_by_an_array(x):
    hs = [np.sum(x), np.cos(x)]
    hs[0] = hs[0] * x
    hs[1] = np.sum(hs[0] * hs[1])
    return np.sum(hs[1] * hs[0])


def exchanged_in_a_loop(x):
    hs = [x[:1], x[1:]]
    for i in range(2):
        hs[0], hs[1] = hs[1], hs[0] * 2.0
        hs[i] = hs[i] * np.sum(hs[1 - i])
    return np.sum(hs[0]) * np.sum(hs[1])


def shortened(hs, x):
    a = hs[0] * 2.0
    hs[0] = x[:2] * np.sum(a)
    hs[1] = np.sum(hs[1])
    return np.sum(a)


def by_a_function(x):
    hs = [np.sin(x), np.cos(x)]
    y = np.sum(hs[1] * hs[0])
    return y + shortened(hs, x) + np.sum(hs[0]) * hs[1]


def under_two_names(x):
    hs = [np.sin(x), np.cos(x)]
    gs = hs
    y = np.sum(gs[0] * x)
    hs[0] = x[:2] * y
    return np.sum(gs[0] * gs[0]) + y


def in_branches(x):
    hs = [np.sin(x), np.cos(x)]
    y = 0.0
    for i in range(3):
        if i % 2 == 0:
            y = y + np.sum(hs[0] * hs[0])
            hs[0] = hs[0][:-1] * y
        else:
            hs[1] = hs[0][:2]
            hs[0] = np.sum(hs[1]) * x
    return y + np.sum(hs[1])


def until_it_is_short(x):
    hs = [np.sin(x), np.cos(x)]
    y = 0.0
    while len(hs[0]) > 1:
        y = y + np.sum(hs[0] * hs[0])
        hs[0] = hs[0][1:] * hs[1][1]
    return y


def numbers_and_arrays(x):
    state = {"w": x * 1.0, "n": 0, "loss": 0.0}
    for _ in range(2):
        state["n"] += 1
        state["loss"] += np.sum(state["w"] ** 2)
        state["w"] = state["w"][1:] * state["n"]
    return state["loss"] + np.sum(state["w"])


def a_copied_dict(x):
    p = {"u": x * 0.9}
    q = dict(p)
    q["u"] = q["u"] * x[0]
    a = p["u"] + q["u"]
    for _ in range(3):
        p = {"u": x * 0.5}
        q = dict(p)
        q["u"] = q["u"] * x[0]
    return np.sum(a)


OTHERS = [
    a_copied_dict,
    lists_as_items,
    never_read,
    by_a_constant,
    a_number_by_an_array,
    exchanged_in_a_loop,
    by_a_function,
    under_two_names,
    in_branches,
    until_it_is_short,
    numbers_and_arrays,
]


@pytest.mark.parametrize("f", OTHERS)
def test_an_item_of_another_structure_is_replaced(f: Callable[..., float]) -> None:
    """Its place in the adjoint has the structure of what was there before."""
    assert agrees(f)
    gradient = tl.grad(f)
    gradient(X)
    assert "Shadow()" not in gradient.source
    check_second_order(f)


def added_to_a_dict(x):
    d = {"a": x}
    d["b"] = d["a"][:2]
    for k in ("a", "b", "c"):
        d[k] = d["a"][1:] * 2.0 if k == "a" else d["a"] * 3.0
    return np.sum(d["a"] ** 2) + np.sum(d["b"] ** 2) + np.sum(d["c"] ** 2)


def test_an_entry_that_may_not_have_been_there() -> None:
    """No zeros can be made like it, so adjoints are found by identity."""
    assert agrees(added_to_a_dict)
    gradient = tl.grad(added_to_a_dict)
    gradient(X)
    assert "Shadow()" in gradient.source


class Cell:
    def __init__(self, w):
        self.w = w


def updated_in_a_list(x):
    xs = [x * 1.0, x * 2.0]
    k = xs[0]
    xs[0] += x[::-1]
    xs[0] *= x
    return np.sum(k * k * xs[1])


def updated_in_a_list_of_another_name(x):
    k = x * 1.5
    xs = [k, x]
    xs[0] -= x[0]
    return np.sum(k * xs[1])


def updated_in_a_dict(x):
    d = {"a": x * 1.0}
    k = d["a"]
    d["a"] **= 2
    return np.sum(k * d["a"] + k)


def updated_in_a_loop(x):
    xs = [x * 1.0, x * 2.0, x + 1.0]
    first, second, _ = xs
    for i in range(3):
        row = xs[i]
        xs[i] *= x[0]
        first = first + row
    return np.sum(first * second)


def updated_in_an_object(x):
    cells = [Cell(x * 1.0)]
    k = cells[0].w
    cells[0].w *= x[::-1]
    return np.sum(k * k)


def updated_in_a_function(x):
    d = {"a": x * 1.0}
    k = d["a"]
    doubled(d)
    return np.sum(k * k * d["a"])


UPDATED = [
    updated_in_a_list,
    updated_in_a_list_of_another_name,
    updated_in_a_dict,
    updated_in_a_loop,
    updated_in_an_object,
    updated_in_a_function,
]


@pytest.mark.parametrize("f", UPDATED)
def test_an_item_is_updated_that_has_another_name(f: Callable[..., float]) -> None:
    """`xs[0] += v` changes the array itself, which is seen under its other name."""
    assert agrees(f)
    check_second_order(f)


def test_an_item_of_an_argument_is_updated() -> None:
    def f(rows, y):
        k = rows[0]
        rows[0] *= y
        return np.sum(k * k * rows[1])

    args = ([X * 2.0, X + 1.0], X[::-1].copy())
    directions = agreement.directions_for(args, (0, 1), 3)
    expected = agreement.slope(f, args, directions)
    found = agreement.inner(directions, list(tl.grad(f, wrt=(0, 1))(*args)))
    assert agreement.close(found, expected, 1e-6)


def given_back(xs):
    return xs


def lengthened(xs):
    xs.append(xs[0] * 2.0)
    return xs


def first_replaced(xs, v):
    xs[0] = v
    return xs


def given_back_with_an_item(xs, ys):
    return xs, ys[0]


class Holder:
    def __init__(self, xs):
        self.xs = xs

    def get(self):
        return self.xs


def under_the_name_of_the_result(x):
    xs = [x]
    k = given_back(xs)
    k[0] = x[::-1] * x[0]
    return np.sum(xs[0] * x)


def after_it_was_lengthened(x):
    xs = [x]
    k = lengthened(xs)
    k[0] = x[::-1] * x
    k.append(xs[1] * x)
    return np.sum(xs[0] * xs[1] * xs[2])


def after_it_was_written(x):
    xs = [x, x * 2.0]
    k = first_replaced(xs, x * x)
    k[1] = x[::-1] * x
    return np.sum(xs[0] * xs[1])


def one_of_two_results(x):
    xs = [x]
    k, z = given_back_with_an_item(xs, [x * 2.0])
    k[0] = z * x
    return np.sum(xs[0] * z)


def the_result_of_a_method(x):
    xs = [x]
    k = Holder(xs).get()
    k[0] = x[::-1] * x
    return np.sum(xs[0])


def a_dict_that_a_method_gives(x):
    d = {"a": x}
    k = Holder(d).get()
    k["a"] = x[::-1] * x
    k["b"] = x * x
    return np.sum(d["a"] * d["b"])


def a_list_that_a_method_gives_grows(x):
    xs = [x]
    h = Holder(xs)
    h.get().append(x[::-1] * x)
    return np.sum(h.xs[1])


def a_dict_in_a_dict(x):
    d = {"u": {"a": x}}
    k = given_back(d["u"])
    k["a"] = x[::-1] * x
    return np.sum(d["u"]["a"])


def lists_in_a_loop(x):
    rows = [[x], [x * 2.0]]
    for row in rows:
        k = given_back(row)
        k[0] = x[::-1] * row[0]
    return np.sum(rows[0][0] * rows[1][0])


def on_one_branch(x):
    xs = [x]
    k = given_back(xs) if x[0] > 0.0 else [x * 2.0]
    k[0] = x[::-1] * x
    return np.sum(xs[0])


GIVEN_BACK = [
    under_the_name_of_the_result,
    after_it_was_lengthened,
    after_it_was_written,
    one_of_two_results,
    the_result_of_a_method,
    a_dict_that_a_method_gives,
    a_list_that_a_method_gives_grows,
    a_dict_in_a_dict,
    lists_in_a_loop,
    on_one_branch,
]


@pytest.mark.parametrize("f", GIVEN_BACK)
def test_a_container_that_is_given_back_is_written(f: Callable[..., float]) -> None:
    """The result is the argument itself: what is put into the one is in the other."""
    assert agrees(f)
    check_second_order(f)


def numbers_then_an_array(s, x):
    d = {}
    for v in [s, x]:
        d[0] = v
    return np.sum(d[0] * d[0]) + s * s


def slices_in_two_places(s, x):
    rows = [0.0, 0.0]
    for n in range(4):
        rows[n % 2] = x[:n] * s
    return np.sum(rows[0] ** 2) + np.sum(rows[1] ** 3)


def one_element_then_all(s, x):
    rows = {}
    for n in range(4):
        rows[n % 2] = x[0] * s if n < 2 else x * s
    return np.sum(rows[0] ** 2) + np.sum(rows[1])


def tuples_by_a_test(s, x):
    d = {p[0][0] * s > 90.0: p for p in [(x[: n + 1],) for n in range(3)]}
    return sum(np.sum(p[0] ** 2) * s for p in d.values())


def in_one_branch(s, x):
    d = {}
    d[0] = s * 2.0
    if x[0] < 90.0:
        d[0] = x * s
    return np.sum(d[0] ** 2)


def at_the_end_of_a_loop(s, x):
    rows = [None] * 3
    for n in range(3):
        rows[n] = x[:n] * s
        if n == 2:
            rows[0] = s * s
    return sum(np.sum(r) * s for r in rows)


def the_best_so_far(s, x):
    best = {"at": None, "cost": 1e9}
    for n in (3, 1, 2):
        at = x[:n] * s
        cost = np.sum((at - 0.3) ** 2)
        if cost < best["cost"]:
            best["at"] = at
            best["cost"] = cost
    return np.sum(best["at"] ** 2) + best["cost"]


def put_by_a_function(s, x):
    held = [0.0]

    def put(v):
        held[0] = v

    for v in [s, x]:
        put(v)
    return np.sum(held[0] ** 2) + s


UNREAD = [numbers_then_an_array, slices_in_two_places, one_element_then_all, tuples_by_a_test]
UNREAD += [in_one_branch, at_the_end_of_a_loop, the_best_so_far, put_by_a_function]


@pytest.mark.parametrize("f", UNREAD)
def test_an_item_is_replaced_by_one_of_another_structure_unread(f: Callable[..., float]) -> None:
    """What was there before gets zeros of its own structure."""
    args, u, v = (0.7, X), (0.4, 0.3 * X[::-1]), (-0.2, X * X)
    expected = agreement.slope(f, args, u)

    def along(gradient: Callable[..., Any]) -> Callable[..., float]:
        return lambda s, x: gradient(s, x)[0] * u[0] + gradient(s, x)[1] @ u[1]

    gradient = tl.grad(f, wrt=(0, 1))
    shown = dict(globals())
    exec(str(gradient.source), shown)
    typed = tl.grad(f, wrt=(0, 1), example=args)
    for made in (gradient, typed, shown[f"{f.__name__}_grad"]):
        s_bar, x_bar = made(*args)
        assert np.shape(s_bar) == ()
        assert x_bar.shape == (3,)
        assert agreement.close(along(made)(*args), expected, 1e-6)
    assert agreement.close(tl.jvp(f, args, u)[1], expected, 1e-6)
    curvature = agreement.slope(along(gradient), args, v)
    s_bar, x_bar = tl.vjp(gradient, *args)[1](u)
    assert agreement.close(s_bar * v[0] + x_bar @ v[1], curvature, 1e-6)
    s_dot, x_dot = tl.jvp(gradient, args, v)[1]
    assert agreement.close(s_dot * u[0] + x_dot @ u[1], curvature, 1e-6)
