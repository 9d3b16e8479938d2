"""Functions as values: what is refused, what the text says, and derivatives of derivatives.

The programs themselves are in tests/programs/function_values.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.pipeline.stages import Request, derive
from tests.programs import function_values as programs


def run_twice(f: Callable[..., Any], x: Any) -> Any:
    return f(x) + f(2.0 * x)


def kept_then_named(a, x):
    fs = [lambda t: a * t]
    if (a := a * 2.0) > 0.0:
        x = fs[0](x)
    return x


def compared_with_one_of_them(a, x):
    grow = lambda t: a * t  # noqa: E731
    for step in [grow, lambda t: a + t]:
        x = step(x) if step is grow else 2.0 * step(x)
    return x


def compared_with_another(a, x):
    for step in [np.sin, lambda t: a + t]:
        x = step(x) if step is np.sin else 2.0 * step(x)
    return x


def written_by_one_of_them(a, x):
    held = np.array([a, x])

    def grow(t):
        held[0] = held[0] * t
        return held[0]

    for step in [grow, lambda t: t * a]:
        x = step(x)
    return x * held[0]


def made_of_each_other(a, x):
    f = lambda t: t * a  # noqa: E731
    for _ in range(2):
        f = (lambda g: lambda t: np.sin(g(t)))(f)
    return f(x)


def all_with_the_last_value(a, x):
    steps = [lambda t: t * a + k for k in range(3)]  # noqa: B023
    return steps[0](x) + sum(step(x) for step in steps)


def hides_what_is_captured(x, k):
    def f(t):
        return t * k

    def g(k):
        return run_twice(f, k)

    return g(x)


def hides_in_a_value(x, k):
    def f(t):
        return t * k

    def g(k):
        return run_twice(f, k)

    return run_twice(g, x)


def map_of_a_rebound_function(x, k):
    f = np.sin
    total = 0.0
    for y in map(f, [x, k]):
        total = total + y
        f = np.cos
    return total


def endless(f, x, n):
    return x if n == 0 else endless(lambda t: f(f(t)), x, n - 1)


def without_end(a, x):
    return endless(lambda t: a * t, x, 3)


@pytest.mark.parametrize(
    ("fn", "args", "message"),
    [
        (kept_then_named, (0.5, 0.3), "`a` is bound more than once"),
        (compared_with_one_of_them, (0.5, 0.3), "a function is compared with one that is defined"),
        (compared_with_another, (0.5, 0.3), "a function is compared with one that is defined"),
        (all_with_the_last_value, (0.5, 0.3), "is not differentiated, and `a` in it"),
        (hides_what_is_captured, (0.3, 0.5), "has a `k` of its own"),
        (hides_in_a_value, (0.3, 0.5), "has a `k` of its own"),
        (map_of_a_rebound_function, (0.3, 0.5), "map"),
        (without_end, (0.5, 0.3), "without end"),
    ],
)
def test_refused(fn: Any, args: Any, message: str) -> None:
    with pytest.raises(tl.UnsupportedError, match=message):
        tl.grad(fn)(*args)
    with pytest.raises(tl.UnsupportedError, match=message):
        tl.jvp(fn, args, args)


def test_what_a_kept_function_writes_is_seen() -> None:
    tl.check_grads(written_by_one_of_them, (0.5, 0.3), wrt=(0, 1))


def gone_through_twice(w, x):
    for f in [lambda v: np.sin(v * w), lambda v: v * v + w]:
        x = f(x)
    return np.sum(x)


def of_its_gradient(w, x):
    return np.sum(tl.grad(gone_through_twice, wrt=(0, 1))(w, x)[0] * x)


def test_kept_functions_in_second_derivatives() -> None:
    w, x = np.array([0.4, 0.7]), np.array([0.6, 0.3])
    step = 1e-6 * np.array([1.0, -2.0])
    change = of_its_gradient(w + step, x) - of_its_gradient(w - step, x)
    assert tl.grad(of_its_gradient)(w, x) @ step == pytest.approx(0.5 * change, rel=1e-6)
    derived = derive(gone_through_twice, Request("grad", ("w",)))
    alone: dict[str, Any] = {}
    exec(derived.standalone(), alone)
    np.testing.assert_array_equal(
        alone["gone_through_twice_grad"](w, x), tl.grad(gone_through_twice)(w, x)
    )


def called(x, f):
    return np.sum(f(x) * x)


def writes(v):
    v[0] = 1.0
    return v * 2.0


class Model:
    def __init__(self, w: Any) -> None:
        self.w = w

    def apply(self, x: Any) -> Any:
        return self.w * x


def test_refused_when_it_runs() -> None:
    x = np.array([0.3, 0.5])
    with pytest.raises(tl.UnsupportedError, match="not a plain function"):
        tl.grad(called)(x, 3.0)
    with pytest.raises(tl.UnsupportedError, match="not a plain function"):
        tl.jvp(called, (x, 3.0), (x, None))


def test_one_that_writes_what_it_is_given() -> None:
    x = np.array([0.3, 0.5])
    tl.check_grads(called, (x, writes), wrt=0, order=2)
    np.testing.assert_array_equal(x, [0.3, 0.5])


@pytest.mark.parametrize(
    "f", [np.sin, lambda v: v**3, functools.partial(np.power, 2.0), Model(2.0).apply]
)
def test_any_plain_function_can_be_given(f: Any) -> None:
    x = np.array([0.3, 0.5])
    step = 1e-6 * np.array([1.0, -2.0])
    slope = (called(x + step, f) - called(x - step, f)) / 2e-6
    assert np.isclose(tl.grad(called)(x, f) @ step * 1e6, slope)
    assert np.isclose(tl.jvp(called, (x, f), (step * 1e6, None))[1], slope)


def scalar(x, f):
    return f(f(x) * x)


def test_second_order_of_what_only_the_run_knows() -> None:
    first = tl.grad(scalar)
    expected = (first(0.7 + 1e-6, np.sin) - first(0.7 - 1e-6, np.sin)) / 2e-6
    assert np.isclose(tl.grad(first)(0.7, np.sin), expected, rtol=1e-6)
    assert np.isclose(tl.jvp(first, (0.7, np.sin), (1.0, None))[1], expected, rtol=1e-6)


SMOOTH = ["composition", "nested_twice", "partial_rates", "decorated_inside", "seen_at_the_call"]
TWICE_IN_REVERSE = ("composition", "decorated_inside")


@pytest.mark.parametrize("name", SMOOTH)
def test_second_order(name: str) -> None:
    f = getattr(programs, name)
    first = tl.grad(f, wrt=1)
    expected = (first(0.6, 0.5 + 1e-6) - first(0.6, 0.5 - 1e-6)) / 2e-6
    if name in TWICE_IN_REVERSE:
        assert np.isclose(tl.grad(first, wrt=1)(0.6, 0.5), expected, rtol=1e-6)
    assert np.isclose(tl.jvp(first, (0.6, 0.5), (0.0, 1.0))[1], expected, rtol=1e-6)


def defaults_of_one_another(a, x):
    def f(t, s=2.0 * a):
        return t * s

    def g(t, n=2):
        return f(t) if n == 0 else run_twice(lambda v: g(v, n - 1), t)

    return run_twice(g, x) + f(x)


def test_a_function_brings_its_defaults_along() -> None:
    tl.check_grads(defaults_of_one_another, (0.5, 0.3))


def test_the_text_names_the_user_s_functions() -> None:
    text = tl.grad(programs.lotka_volterra).source
    assert "def rhs_fwd(state, t, *, a, b, c, d):" in text
    assert "partial" not in text


def test_a_file_of_its_own() -> None:
    text = derive(programs.square_root, Request("grad", ("a",))).standalone()
    assert "tangentlike" not in text.replace("tangentlike ", "")
    with pytest.raises(tl.UnsupportedError, match="not known until run time"):
        derive(programs.given_by_the_caller, Request("grad", ("x",))).standalone()


def test_a_function_that_carries_nothing_is_printed_as_it_is() -> None:
    def f(x):
        def late(v):
            return v[1]

        return x * len(sorted([(1, 2), (2, 1)], key=late)) * max([1, 2], key=lambda v: -v)

    df = tl.grad(f)
    assert df(3.0) == 2.0
    assert "key=lambda v: -v" in df.source


BUFFER, NAMES = np.zeros(2), [0.0]


def gives_buffer(x):
    return BUFFER


def gives_list(x):
    return NAMES


def halved(x):
    return 0.5 * x


TABLE = {"halved": halved, "buffer": gives_buffer}


def written_result(x, f):
    y = f(x)
    y[0] = x[1]
    return np.sum(f(x))


def written_result_of_table(x, key):
    y = TABLE[key](x)
    y[0] = x[1]
    return np.sum(TABLE[key](x) * y)


class Cell:
    def __init__(self, w):
        self.w = w


def kept_beside_a_table(x, key):  # what is stored in an object is in no table of functions
    cell = Cell(x)
    cell.w = TABLE[key](cell.w * x)
    return np.sum(cell.w * TABLE[key](x))


@pytest.mark.parametrize(
    ("fn", "given"), [(written_result, gives_buffer), (written_result_of_table, "buffer")]
)
def test_a_function_that_gives_what_lies_outside_is_refused(fn: Any, given: Any) -> None:
    x = np.array([0.3, 0.5])
    with pytest.raises(tl.UnsupportedError, match="`gives_buffer`.* returns `BUFFER` itself"):
        tl.grad(fn)(x, given)
    with pytest.raises(tl.UnsupportedError, match="`gives_buffer`.* returns `BUFFER` itself"):
        tl.jvp(fn, (x, given), (x, None))
    with pytest.raises(tl.UnsupportedError, match="returns `NAMES` itself"):
        tl.grad(called)(x, gives_list)
    assert not BUFFER.any()


def test_functions_of_a_table_share_no_memory() -> None:
    x = np.array([0.3, 0.5])
    tl.check_grads(kept_beside_a_table, (x, "halved"), wrt=0)
    tl.check_grads(written_result_of_table, (x, "halved"), wrt=0)


KEPT: dict[Any, Any] = {"sin": np.sin}


def array_put_into_a_table(x):
    KEPT["buffer"] = np.zeros(2)
    b = KEPT["buffer"]
    b[0] = x[0]
    return np.sum(KEPT["buffer"]) + np.sum(KEPT["sin"](x))


def test_what_else_is_in_a_table_of_functions_is_followed() -> None:
    for mode in ("reverse", "forward"):
        with pytest.raises(tl.UnsupportedError, match="carries derivatives into `KEPT`"):
            tl.autodiff(array_put_into_a_table, mode=mode)(np.ones(2), 1.0)
