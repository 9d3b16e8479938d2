"""Forward mode by its own stages: values, tangents, aliasing, and the text."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.ad.forward.functions import tangent_parameters
from tangentlike.errors import UnsupportedError
from tangentlike.frontend.lower import lower
from tangentlike.ir.kind import FLOAT, Kind
from tests import agreement
from tests.tangents import tangent_function, tangent_source

RNG = np.random.default_rng(0)
ARRAY = Kind("array", "float")


def vector(n: int = 4) -> np.ndarray:
    return np.random.default_rng(n).uniform(0.5, 1.5, n)


def matrix(n: int = 3, m: int = 3) -> np.ndarray:
    return np.random.default_rng(n * m).uniform(0.5, 1.5, (n, m))


def agrees(f: Callable[..., Any], *args: Any, wrt: tuple[str, ...] | None = None) -> None:
    """f's tangent is its directional derivative, its value is right, its arguments are kept."""
    names = list(lower(f).function.param_names)
    wrt = tuple(names) if wrt is None else wrt
    positions = [names.index(name) for name in wrt]
    f_jvp = tangent_function(f, wrt)
    directions = agreement.directions_for(args, positions, 3)
    dots = tangent_parameters(lower(f).function, wrt)
    before = copy.deepcopy(args)
    given = {dots[n]: directions[k] for n, k in zip(wrt, positions, strict=True)}
    value, tangent = f_jvp(*args, **given)
    assert agreement.same_bits(args, before), "an argument was changed"
    assert agreement.close(float(value), float(agreement.call(f, args)), 1e-12)
    expected = agreement.slope(f, args, directions)
    assert agreement.close(float(tangent), expected, 1e-7), (float(tangent), expected)


# ------------------------------------------------------------------------------- text


def test_one_tangent_below_each_statement() -> None:
    def f(x, y):
        a = np.sin(x)
        return a * y

    assert tangent_source(f, ("x",), {"x": FLOAT, "y": FLOAT}).splitlines() == [
        "def f_jvp(x, y, x_dot):",
        "    a = np.sin(x)",
        "    a_dot = np.cos(x) * x_dot",
        "    product = a * y",
        "    product_dot = y * a_dot",
        "    return product, product_dot",
    ]


def test_tangents_are_keywords_where_parameters_have_defaults() -> None:
    def f(x, k=2.0):
        return x * k

    assert "def f_jvp(x, k=2.0, *, x_dot):" in tangent_source(f, ("x",))


def test_taken_names_are_left_alone() -> None:
    def f(x, x_dot):
        y = x * x_dot
        y_dot = y + 1.0
        return y_dot * y

    agrees(f, 1.5, 2.5)


def test_loops_run_over_values_and_tangents() -> None:
    def f(xs, ys):
        s = 0.0
        for i, x in enumerate(xs):
            s = s + x * i
        for x, y in zip(xs, ys):
            s = s + x * y
        for y in reversed(ys):
            s = s * y
        return s

    text = tangent_source(f, ("xs",))
    assert "for i, (x, x_dot) in enumerate(zip(xs, xs_dot)):" in text
    assert "in zip(xs, ys, xs_dot):" in text
    agrees(f, vector(), vector(4) * 0.5)
    agrees(f, list(vector()), list(vector(4) * 0.5))


def test_the_primal_is_left_as_it_is_where_nothing_is_active() -> None:
    def f(x, n):
        k = 0
        while k < n:
            k += 1
        return x * k

    text = tangent_source(f, ("x",))
    assert "k_dot" not in text and "n_dot" not in text


# ------------------------------------------------------------------------------ values


def test_rebinding_reads_old_and_new_values() -> None:
    def f(x, p, n):
        for _ in range(n):
            x = x**p
            x = np.tanh(x)
            p = p / x
        return x * p

    agrees(f, 0.7, 1.3, 3, wrt=("x", "p"))


def test_broadcast_results_have_broadcast_tangents() -> None:
    def f(x, b):
        y = x + b
        z = b - y
        s = 0.0
        for row in z:
            s = s + np.sum(np.sin(row))
        return s

    agrees(f, 0.3, matrix(2, 3), wrt=("x",))
    agrees(f, vector(3), matrix(2, 3), wrt=("x",))
    agrees(f, matrix(1, 3), matrix(2, 1))


def test_numbers_that_become_arrays() -> None:
    def f(x, a):
        s = x
        s += a
        s *= a
        t = x * 2.0
        t *= a
        t += x
        return np.sum(s * t)

    agrees(f, 0.5, vector(), wrt=("x",))
    agrees(f, 0.5, vector())


def test_inactive_and_active_definitions_of_one_name() -> None:
    def f(x, c):
        y = np.zeros(3)
        if c > 0:
            y = x * 2.0
        z = 1.0
        for i in range(3):
            z = z * y[i] + 1.0
        return z

    agrees(f, vector(3), 1.0, wrt=("x",))
    agrees(f, vector(3), -1.0, wrt=("x",))


# ------------------------------------------------------------------ writes and sharing


def test_writes_are_mirrored() -> None:
    def f(a, x):
        a[0] = x * a[1]
        a[1:] += a[:-1]
        a[1:] *= a[:-1]
        a[2] /= x
        a[0] **= 2
        a[::2] = 1.5
        a[1] -= x
        return np.sum(a * a)

    agrees(f, vector(), 0.7)


def test_views_of_tangents_follow_views_of_values() -> None:
    def f(a):
        row = a[1]
        column = a.T[0]
        row *= row
        column[1] = row[2]
        row += column
        return np.sum(a * a)

    agrees(f, matrix())


def test_a_tangent_owns_its_memory_where_the_value_does() -> None:
    def f(x, b):
        y = x + b  # y_dot must not be x_dot
        y[0] = 0.0
        z = y + b
        y[1] *= 2.0
        return np.sum(x * z * y)

    agrees(f, vector(), vector(4) * 0.3)
    agrees(f, vector(), vector(4) * 0.3, wrt=("x",))


def test_swapped_buffers() -> None:
    def f(u, n):
        v = np.zeros_like(u)
        for _ in range(n):
            v[1:-1] = 0.5 * (u[2:] + u[:-2]) + u[1:-1] ** 2
            u, v = v, u
        return np.sum(u * u)

    agrees(f, vector(6), 3, wrt=("u",))


def test_a_key_that_the_write_changes() -> None:
    def f(x):
        i = np.array([1, 2, 0])
        a = np.zeros(3)
        for k in range(3):
            a[i[k]] = x * k
            i[k] = k
            a[i[k]] += x * a[2]
        return np.sum(a * np.arange(3.0))

    agrees(f, 0.4)


def test_lists_and_dicts() -> None:
    def f(x, y):
        xs = [x, 1.0]
        xs.append(x * y)
        xs.insert(0, y)
        d = {"a": x, "b": 2.0}
        d["c"] = y * y
        xs[1] += d["c"]
        ys = [3.0]
        ys.extend(xs)
        last = ys.pop()
        s = 0.0
        for v in ys:
            s = s + v * v
        for key in d:
            s = s * d[key]
        for _, v in d.items():
            s = s + v
        return s * last + d.get("z", x)

    agrees(f, 0.7, 1.3)
    agrees(f, 0.7, 1.3, wrt=("y",))


def test_arguments_that_are_structures() -> None:
    def f(params, xs):
        s = 0.0
        for w, b in params["layers"]:
            s = s + np.sum(w * b)
        first, (second, third) = xs
        return s * first + second * third

    params = {"layers": [(vector(3), vector(3)), (vector(2), vector(2))]}
    agrees(f, params, (1.0, (2.0, 3.0)))


def flattened(a, x):
    v = a.ravel()
    v[0] = x
    w = (a * 2.0).reshape(-1)
    w[2] = 3.0 * x
    return np.sum(a) * np.sum(w * w)


@pytest.mark.parametrize("order", ["C", "F"])
def test_views_that_depend_on_the_layout(order: Any) -> None:
    a = np.array(matrix(2, 3), order=order)
    value, tangent = tangent_function(flattened, ("a", "x"))(a, 0.5, a_dot=a * 0.3, x_dot=0.7)
    expected = agreement.slope(flattened, (a, 0.5), (a * 0.3, 0.7))
    assert agreement.close(float(tangent), expected, 1e-7)
    assert value == flattened(a.copy(order="K"), 0.5)


def test_a_tangent_of_another_layout_is_refused_where_it_matters() -> None:
    a = matrix(2, 3)
    with pytest.raises(ValueError, match="laid out in memory"):
        tangent_function(flattened, ("a",))(a, 0.5, a_dot=np.asfortranarray(a))


# ------------------------------------------------------------------------------- calls


def scaled(v, k=2.0, *, shift=0.0):
    return v * k + shift


def damped(a, x):
    a[0] = a[0] * x
    a[1:] -= x
    return a


def factorial(n, x):
    if n == 0:
        return 1.0
    return n * x * factorial(n - 1, x)


def test_calls_of_helpers() -> None:
    def f(x, y):
        a = scaled(x)
        b = scaled(y, k=x, shift=a)
        c = scaled(2.0)
        return a * b * c + factorial(3, y)

    agrees(f, 0.7, 1.3)


def test_helpers_that_write_their_arguments() -> None:
    def f(a, x):
        b = damped(a, x)
        damped(b[1:], x)
        return np.sum(a * b)

    agrees(f, vector(), 0.7)
    agrees(f, vector(), 0.7, wrt=("x",))


def test_a_plain_call_stays_where_no_derivative_goes_in() -> None:
    def f(x, n):
        return x * scaled(n)

    assert "scaled_jvp" not in tangent_source(f, ("x",))


# --------------------------------------------------------------------------- structure


def test_the_tangent_has_the_structure_of_the_value() -> None:
    def f(x, y):
        return x * x, [y, 2.0], {"x": x, "none": None}

    f_jvp = tangent_function(f, ("x",))
    value, tangent = f_jvp(3.0, 5.0, x_dot=1.0)
    assert value == (9.0, [5.0, 2.0], {"x": 3.0, "none": None})
    assert tangent == (6.0, [0.0, 0.0], {"x": 1.0, "none": None})


def test_a_constant_result_has_zero_tangent() -> None:
    def f(x, a):
        return a

    value, tangent = tangent_function(f, ("x",))(1.0, vector(), x_dot=1.0)
    assert np.array_equal(tangent, np.zeros(4)) and value.shape == (4,)


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("xs = [x, 2.0 * x]\n    xs.sort()\n    return xs[0]", "sort"),
        ("ys = {v * x for v in range(3)}\n    return sum(ys)", "not differentiated"),
    ],
)
def test_refusals(text: str, message: str, tmp_path: Any) -> None:
    path = tmp_path / "refused.py"
    path.write_text(f"def f(x):\n    {text}\n")
    namespace: dict[str, Any] = {"np": np}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    with pytest.raises(UnsupportedError, match=message):
        tangent_source(namespace["f"], ("x",))


class Pair(NamedTuple):
    left: Any
    right: Any


def field_written(x, c):
    a = x * 1.0
    left = Pair(a, c).left
    left[1:] = c * left[:-1]
    return np.sum(a * a)


def joined_list_written(x, c):
    a = x * 1.0
    rows = [a] + [c * x]
    first = rows[0]
    first[1:] = c * first[:-1]
    return np.sum(a * a)


@pytest.mark.parametrize("fn", [field_written, joined_list_written])
def test_what_a_container_holds_is_written(fn: Callable[..., Any]) -> None:
    x, x_dot, step = vector(3), np.array([1.0, -0.5, 2.0]), 1e-6
    value, tangent = tl.jvp(fn, (x, 0.5), (x_dot, 0.3))
    ahead, behind = (fn(x + s * x_dot, 0.5 + 0.3 * s) for s in (step, -step))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * step), rtol=1e-7)
    assert value == fn(x, 0.5)


# ------------------------------------------------------------ updates without a derivative


def floored(x):
    y = x * 2.0
    y[1:] //= x[1:]
    s = x[0]
    s //= 0.07
    return np.sum(y * x) + s * x[2]


def floored_in_a_list(x):
    rows = [x * 1.0, x * 2.0]
    for i in range(2):
        rows[i] //= 0.3
    return np.sum(rows[0] * x + rows[1] * x)


def floored_through_another_name(x):
    rows = [x * 2.0]
    rows.append(rows[0])
    rows[0] //= 0.5
    return np.sum(rows[1] * x)


def floored_attribute(x):
    o = types.SimpleNamespace(v=x * 3.0, d={"a": x[0] * 5.0})
    o.v //= 0.4
    o.d["a"] //= 0.3
    return np.sum(o.v * x) * o.d["a"]


@pytest.mark.parametrize(
    "f", [floored, floored_in_a_list, floored_through_another_name, floored_attribute]
)
def test_floor_division_in_place(f) -> None:
    x = np.array([0.33, 0.57, 0.71])
    slope = (f(x + 1e-7) - f(x - 1e-7)) / 2e-7
    assert tl.jvp(f, (x,), (np.ones(3),))[1] == pytest.approx(slope, rel=1e-6)
    assert np.sum(tl.grad(f)(x)) == pytest.approx(slope, rel=1e-6)
