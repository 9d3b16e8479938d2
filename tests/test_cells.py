"""Variables that stored functions capture and that are bound again: shared in cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.generator import loaded
from tests.generator_orders import SECOND_ORDER, expected_curvature

X = np.array([0.7, -0.4, 1.3])


def run_twice(f: Callable[..., Any], x: Any) -> Any:
    return f(x) + f(2.0 * x)


def kept_in_a_list(a, x):
    fs = []
    for k in (1.0, 2.0):
        fs.append(lambda t: t * a * k)  # noqa: B023
    total = 0.0
    for f in fs:
        total = total + f(x)
    return total


def late_values_in_a_list(x):
    fs = []
    for k in (1.0, 2.0):
        fs.append(lambda t: t * k)  # noqa: B023
    return fs[0](x)


def aliased_then_rebound(a, x):
    k = a

    def f(t):
        return k * t

    g = f
    k = 2.0 * a
    return g(x)


def kept_then_counted(a, x):
    def f(t):
        return a * t

    def grow():
        nonlocal a
        a = a * 2.0

    fs = [f]
    grow()
    return fs[0](x)


def kept_by_another_name(a, x):
    box = [None]
    outer = {"box": box}
    box[0] = lambda t: a * t
    a = 2.0 * a
    return outer["box"][0](x)


def kept_where_a_body_raises(a, x):
    fs = [lambda t: a * t]
    try:
        a = 2.0 * a
        x = x + [1.0][int(a > -9.0)]
    except IndexError:
        x = fs[0](x)
    return x


def kept_by_its_result(a, x):
    def maker(c):
        def by(t):
            return t * c * a

        return by

    f = maker(2.0)
    a = a * 2.0
    return f(x)


def kept_inside_an_inner_function(a, x):
    def inner(k):
        fs = [lambda t: t * k]
        k = 2.0 * k
        return fs[0](x)

    return inner(a)


def changes_the_outer(x):
    count = 0.0

    def f(t):
        nonlocal count
        count = count + t
        return count

    return run_twice(f, x)


def by_a_lambda_in_a_list(x, s):
    p = [lambda v: v * s, np.sin]
    s = s * 2
    y = p[0](x)
    s = s + y[0]
    return np.sum(p[0](y)) * s


def of_a_loop(x, s):
    fs = []
    for k in range(3):
        fs.append(lambda v: v * s + k)  # noqa: B023
        s = s * 1.5
    return np.sum(fs[0](x) * fs[2](x))


def assigned_by_a_hook(x, s):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v * s
        return total

    hooks = {"a": add}
    for v in x:
        hooks["a"](v)
        s = s * total
    return total * hooks["a"](x[0])


def rebound_by_a_function_inside_a_function(a, x):
    total = a

    def adder(v):
        nonlocal total
        total = v * a

        def again():
            nonlocal total
            total = total + v

        return again

    fs = [adder(x), adder(2.0 * x)]
    fs[0]()
    return total


def counted_two_functions_out(x, s):
    total = 0.0

    def adder(v):
        nonlocal total
        own = v
        total = total * s + v

        def again():
            nonlocal total, own
            total += own * 0.1
            own = own * s

        return again

    for v in x:
        fs = [adder(v * v)] * 2
        for f in fs:
            f()
    return total


def of_functions_that_call_each_other(x, s):
    w = x * s

    def inner(v):
        return v @ w

    def other(v):
        return inner(v) * s

    fs = (inner, other)
    w = w * w
    s += 1
    return fs[0](x) + fs[1](x)


def made(x, s):
    y = x

    def step(v):
        return v * y * s

    y = y * 3
    return step


def made_twice(x, s):
    fs = [made(x, s), made(x * s, s)]
    return np.sum(fs[0](x) * fs[1](x))


def bound_by_a_loop(x, s):
    k = 0.0
    fs = []
    for i in range(3):
        for k in x:
            s = s * k + i
        fs.append(lambda v: v * k * s)  # noqa: B023
    a, s = s, x[0]
    return sum(f(a) for f in fs)


DEFINED_TWICE = """
def program(x, s):
    def inside(y):
        return np.sum(np.sin(y * x))
    x = np.tanh(tl.grad(inside)(x * s))
    def inside(y):
        return np.sum(np.cos(y * x))
    x = np.tanh(tl.grad(inside)(x))
    return np.sum(x * s)
"""
of_one_name_defined_twice = loaded(DEFINED_TWICE, "twice", {"np": np, "tl": tl})["program"]


def bound_in_branches(x, s):
    if s > 0:
        w = x * s
    else:
        w = x
    f = {"f": lambda v: v * w}
    w *= 2
    y = f["f"](x)
    w = w[::-1]
    w[0] = s
    return np.sum(f["f"](y))


def with_a_default(x, s):
    hist = []
    count = 0

    def call(v, scale=s):
        nonlocal count
        count += 1
        hist.append(v * scale * count)

    for _ in range(3):
        s = s * 2
        for c in [call]:
            c(x * s)
    return np.sum(hist[0] * hist[2]) * count


def held_by_a_name_used_again(x, s):
    for _ in range(2):
        p = [lambda v: v * s]  # noqa: B023
        q = p
        p = x * s
        s = s * 2.0
        x = q[0](p)
        q = np.sin(x)
        x = x + q
    return np.sum(x)


def held_in_one_branch(x, s):
    p = x
    for i in range(3):
        if i == 1:
            p = lambda v: v * s  # noqa: B023, E731
        s = s * 1.5
        if i == 2:
            x = p(x)
    return np.sum(x)


def adding(a):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v * a

    def read(by=1.0):
        return total * by

    return {"add": add, "read": read, "scaled": lambda s, t: total * s * t}


def of_a_dict_by_what_they_take(x, s):
    kept = adding(s)
    kept["add"](x[0])
    kept["add"](x[1] * s)
    return kept["read"]() * x[2] + kept["scaled"](s, t=x[0])


# (Before a call nothing tells what `outer["box"][0]` is; what gives its cell back is refused.)
FIRST_ORDER = (kept_by_another_name, late_values_in_a_list)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (kept_in_a_list, (0.5, 0.3)),
    (late_values_in_a_list, (0.3,)),
    (aliased_then_rebound, (0.5, 0.3)),
    (kept_then_counted, (0.5, 0.3)),
    (kept_by_another_name, (0.5, 0.3)),
    (kept_where_a_body_raises, (0.5, 0.3)),
    (kept_by_its_result, (0.5, 0.3)),
    (kept_inside_an_inner_function, (0.5, 0.3)),
    (changes_the_outer, (0.3,)),
    (by_a_lambda_in_a_list, (X, 0.37)),
    (of_a_loop, (X, 0.37)),
    (assigned_by_a_hook, (X, 0.37)),
    (rebound_by_a_function_inside_a_function, (0.5, 0.3)),
    (counted_two_functions_out, (X, 0.37)),
    (of_functions_that_call_each_other, (X, 0.37)),
    (made_twice, (X, 0.37)),
    (bound_by_a_loop, (X, 0.37)),
    (of_one_name_defined_twice, (X, 0.37)),
    (bound_in_branches, (X, 0.37)),
    (with_a_default, (X, 0.37)),
    (held_by_a_name_used_again, (X, 0.37)),
    (of_a_dict_by_what_they_take, (X, 0.37)),
    (held_in_one_branch, (X, 0.37)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS)
def test_a_captured_variable_is_read_when_the_function_is_called(f: Any, args: Any) -> None:
    wrt = tuple(range(len(args)))
    u, v = (agreement.directions_for(args, wrt, seed) for seed in (5, 6))
    gradient = tl.grad(f, wrt=wrt)
    expected = agreement.slope(f, args, u)
    assert agreement.close(agreement.inner(u, list(gradient(*args))), expected, 1e-6)
    assert agreement.close(float(tl.jvp(f, args, tuple(u))[1]), expected, 1e-6)
    curvature = expected_curvature(f, args, u, v)
    assert curvature is not None
    for way in SECOND_ORDER if f not in FIRST_ORDER else ():
        assert agreement.close(way(f, args, wrt, u, v, []), curvature, 1e-6), way.__name__


def handed_to_what_calls_it(x, s):
    def scaled(t, by=0.5):
        return t * np.sin(x) * by

    if s > 5.0:
        x = 2.0 * x
    return np.sum(run_twice(lambda t: scaled(t, s), x))


def captured_beside_a_list(x, s):
    u = np.cos(s)
    if s > 5.0:
        x = np.array(list(map(lambda t: t * u, x)))  # noqa: C417
    else:

        def scaled(t, by=0.5):
            return t * np.sin(x) * by

        x = run_twice(lambda t: scaled(t, s), x)
    return np.sum(x * x)


def held_by_a_name_of_something_else(x, s):
    p = x * s
    q = p.sort
    q()
    q = np.array([0.3, 0.1, 0.4])
    p = {"fill": lambda v: q.fill(v), "sort": q.sort}
    p["fill" if s > 1.0 else "sort"](*([0.6] if s > 1.0 else []))
    p = q * x
    return np.sum(p * p) * s


@pytest.mark.parametrize(
    "f", [handed_to_what_calls_it, captured_beside_a_list, held_by_a_name_of_something_else]
)
def test_no_cell_where_all_that_a_local_function_captures_has_its_value(f: Any) -> None:
    """(The second was refused: an inner function has no value, but what it captures; so was the
    third, where `q` had been a method.)"""
    tl.check_grads(f, (X, 0.37))
    assert "_cell" not in tl.grad(f).source


def test_the_variable_is_the_item_of_a_list() -> None:
    gradient = tl.grad(by_a_lambda_in_a_list)
    gradient(X, 0.37)
    assert "s_cell = [s]" in gradient.source
    assert "lambda" not in gradient.source.partition("# primal")[2].partition("#")[0]
