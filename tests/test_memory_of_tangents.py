"""Tangents share memory where their values do, and nowhere else: also those of what functions give,
of what they keep in their arguments, and where a real tangent meets a complex value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.generator_orders import SECOND_ORDER, expected_curvature

X = np.array([0.5, 0.7, 0.9])
PROGRAMS: list[Callable[..., Any]] = []
FORWARD_ONLY: list[Callable[..., Any]] = []


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(fn)
    return fn


def plus(v):
    return v + 1.0


def plus_twice_called(v):
    return plus(v)


@program
def result_is_written(x):
    z = plus(x)
    z *= 2.0
    return np.sum(z * x)


@program
def argument_is_written(x):
    y = x * 1.0
    z = plus(y)
    y *= 2.0
    return np.sum(z * y)


@program
def argument_of_an_inner_call_is_written(x):
    y = x * 1.0
    z = plus_twice_called(y)
    y *= 2.0
    return np.sum(z * y)


def several(v):
    w = v - 1.0
    return v, w, plus(v), +w


@program
def several_results(x):
    y = x * 1.0
    a, b, c, d = several(y)
    a *= 2.0
    b *= 3.0
    c += a
    d *= c
    return np.sum(a * b * c * d * y)


def keep(v, items, table):
    items.append(v + 1.0)
    table["k"] = v - 0.5


@program
def kept_in_arguments(x):
    items, table = [], {}
    keep(x, items, table)
    items[0] *= 2.0
    table["k"][1:] *= 3.0
    return np.sum(items[0] * table["k"] * x)


class Layer:
    def __init__(self, x):
        self.w = x + 1.0
        self.v = x

    def scale(self):
        self.w *= 3.0
        self.v *= 2.0


@program
def kept_in_an_object(x):
    y = x * 2.0
    layer = Layer(y)
    layer.scale()
    return np.sum(layer.w * x * y)


def shifted_back(v, n):
    if n == 0:
        return v + 1.0
    return shifted_back(v, n - 1)


@program
def recursive(x):
    z = shifted_back(x, 2)
    z *= 2.0
    return np.sum(z * x)


def swapped(a, b):
    return b - 1.0, a - 1.0


@program
def in_a_loop(x):
    a, b = x * 1.0, x * 2.0
    for i in range(3):
        a, b = swapped(a, b)
        a[i] *= 3.0
        b[0] = a[1]
    return np.sum(a * b)


ACTS = {"plus": lambda v: v + 1.0, "same": lambda v: v, "both": lambda v: (v + 1.0, v)}


@program
def function_known_at_run_time(x, name="plus"):
    y = x * 1.0
    act = ACTS[name]
    z = act(y)
    z *= 2.0
    y *= z
    return np.sum(z * y)


@program
def function_that_gives_its_argument(x, name="same"):
    y = x * 1.0
    act = ACTS[name]
    z = act(y)
    z *= 2.0
    return np.sum(z * y)


def function_that_gives_both(x, name="both"):
    y = x * 1.0
    act = ACTS[name]
    z, w = act(y)
    z *= 2.0
    w *= 3.0
    return np.sum(z * y * w)


FORWARD_ONLY.append(function_that_gives_both)


def complex_of(v):
    return v + 0j, [v + 0j], {"k": v - 0j}


@program
def complex_results(x):
    z, items, table = complex_of(x)
    z *= 2.0j
    items[0] *= 3.0j
    table["k"] *= x
    return np.sum(np.abs(x * items[0] * z * table["k"] + 1.0))


@program
def complex_display(x):
    c = np.array([x[0], 1j, x[1]])
    c[0] = c[0] * 1j + x[0]
    d = np.concatenate([x, [1j]])
    d[0] = d[1] * 1j + x[0]
    return np.sum(np.abs(c + x) ** 2) + np.sum(np.abs(d) ** 2)


@program
def complex_output(x):
    m = np.outer(x, x)
    c = m + 0j
    np.fft.fft(m, None, -1, None, c)
    return np.sum(np.abs(c) ** 2 * m)


@program
def complex_parts(x):
    z = x + 0j
    r = z.real
    r += x
    z *= 2j
    np.add.at(z, [0, 0, 1], x * 1j)
    return np.sum(np.abs(z + 1) ** 2)


@program
def complex_in_a_branch(x):
    z = x if x[0] > 9.0 else x + 0j
    z[0] *= 1j
    return np.sum(np.abs(z + x))


@pytest.mark.parametrize("fn", [*PROGRAMS, *FORWARD_ONLY], ids=lambda fn: fn.__name__)
def test_forward(fn: Callable[..., Any]) -> None:
    v = np.array([1.0, 2.0, -1.0])
    value, tangent = tl.jvp(fn, (X,), (v,))
    assert value == pytest.approx(fn(X.copy()), rel=1e-12)
    assert tangent == pytest.approx(agreement.slope(fn, (X,), [v]), rel=1e-6)
    if fn in PROGRAMS:
        assert tl.grad(fn)(X) @ v == pytest.approx(tangent, rel=1e-9)


def test_only_what_is_written_is_copied() -> None:
    def plain(x):
        return np.sum(plus(x) * x)

    text = tl.jacobian(plain, mode="forward").source
    assert "plus_jvp" in text
    assert "+x_dot" not in text and "copy" not in text


def popped(xs):
    xs.pop(0)
    return 0.5


def popped_into_a_name(xs):
    q = xs.pop(0)
    return 0.5 if q is not None else 0.25


def deleted(xs):
    del xs[0]
    return 0.5


def reduced(d):
    d.pop("a")
    d["b"] = 2.0
    return 0.5


def extended(d):
    d.setdefault("c", []).append(1.0)
    return 0.5


def overwritten(x):
    x[0] = 3.0
    return 0.5


@pytest.mark.parametrize(
    ("fn", "x", "moves"),
    [
        (popped, [1.0, 2.0], True),
        (popped_into_a_name, [1.0, 2.0], True),
        (deleted, [1.0, 2.0], True),
        (reduced, {"a": 1.0}, True),
        (extended, {"c": [1.0]}, True),
        (overwritten, X, True),
    ],
)
def test_arguments_stay_as_they_are(fn: Callable[..., Any], x: Any, moves: bool) -> None:
    given = copy.deepcopy(x)
    for tangent in (None, copy.deepcopy(x)) if moves else (None,):
        assert tl.jvp(fn, (given,), (tangent,))[0] == 0.5
        assert repr(given) == repr(x)
    tl.vjp(fn, given)
    assert repr(given) == repr(x)
    tl.linearize(fn, given)
    assert repr(given) == repr(x)


def held_twice(v: Any) -> Any:
    return {"v": v, "n": [v]}


def in_two_containers(x: Any) -> Any:
    y = x * 1.0
    d = {"v": y, "n": [y]}
    d["n"][0] *= x[0]
    return np.sum(d["v"] ** 2)


def in_what_a_function_gave(x: Any) -> Any:
    d = held_twice(x * 1.0)
    e = held_twice(d["v"])
    e["n"][0] *= x[0]
    d["n"][0] /= x[1]
    d["n"].append(x[2])
    d["n"][1] *= x[0]
    return np.sum(d["n"][0] * e["v"]) * d["n"][1]


@pytest.mark.parametrize("f", [in_two_containers, in_what_a_function_gave])
def test_items_of_what_may_be_a_list_are_written_where_they_lie(f: Any) -> None:
    """The tangent of the item was replaced in its list, and the other name saw the one before."""
    x, v = np.array([0.7, 0.3, 1.1]), np.array([1.0, -0.5, 0.3])
    expected = agreement.slope(f, (x,), [v])
    assert tl.jvp(f, (x,), (v,))[1] == pytest.approx(expected, rel=1e-6)
    assert tl.grad(f)(x) @ v == pytest.approx(expected, rel=1e-6)


def copied_then_written(b: Any, m: Any) -> Any:
    q = np.asfortranarray(m)  # (a copy, of a matrix in C order)
    q[0] = np.sin(b)
    return np.sum(np.sin(m)) + np.sum(q**3)


def transposed_then_written(b: Any, m: Any) -> Any:
    q = m.T.ravel()
    q[1:3] *= b[:2]
    return np.sum(m**3) + np.sum(q**2)


@pytest.mark.parametrize("f", [copied_then_written, transposed_then_written])
def test_the_tangent_of_a_tangent_of_a_copy_is_a_copy(f: Any) -> None:
    """It was the tangent of what is copied, and what is written into the copy was found there."""
    args = np.array([0.7, 0.3, 1.1]), np.arange(9.0).reshape(3, 3) * 0.2
    along = [agreement.directions_for(args, (0, 1), seed) for seed in (5, 6)]
    expected = expected_curvature(f, args, *along)
    for way in SECOND_ORDER:
        assert way(f, args, (0, 1), *along, []) == pytest.approx(expected, rel=1e-5), way


# ------------------------------------------------------ what derivatives inside give is written


def squared_sum(v, w):
    return np.sum((v + w) ** 2)


def of_both(x, w):
    a, b = tl.grad(squared_sum, wrt=(0, 1))(x, w)
    a *= 3.0
    return np.sum(a * b)


def of_value_and_both(x, w):
    value, (a, b) = tl.value_and_grad(squared_sum, wrt=(0, 1))(x, w)
    a[0] = 3.0
    return np.sum(a * b) * value


def of_items(x, w):
    def taken_apart(p):
        a, b = p
        return squared_sum(a, b)

    g = tl.grad(taken_apart)([x, w])
    g[0] *= 3.0
    return np.sum(g[0] * g[1])


def of_a_seed(x, w):
    seed = w * 2.0
    _, pull = tl.vjp(lambda v: v + 1.0, x)
    (g,) = pull(seed)
    g *= 3.0
    return np.sum(g * seed * x)


def of_a_tangent(x, w):
    along = w * 2.0
    (y, z), (t, u) = tl.jvp(lambda v: (v, v), (x,), (along,))
    t *= 3.0
    y += w  # (what the function gives is `x` itself)
    return np.sum(t * u * along * y * z * x)


@pytest.mark.parametrize("f", [of_both, of_value_and_both, of_items, of_a_seed, of_a_tangent])
def test_what_a_derivative_gives_is_its_own(f):
    tl.check_grads(f, (np.array([1.0, 2.0]), np.array([0.5, -0.3])), wrt=(0, 1), order=2)
