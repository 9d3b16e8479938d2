"""Calls: what a callee claims, writes, returns and keeps; calls that write by `out`."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.7, -1.3, 2.1])


def claims_an_integer(n: int, x):
    t = n * x
    return np.sum(t * t)


def annotated_wrongly(x):
    return claims_an_integer(x, x)


def cube(x):
    return np.sum(x**3)


slope = tl.grad(cube)


def derivative_inside(x):
    return np.sum(slope(x) ** 2)


def doubled(a):
    a *= 2.0
    return a


def returns_its_argument(x):
    y = x * 1.0
    z = doubled(y)
    z[0] = z[1] * z[2]
    return np.sum(y * y)


def both(p, c):
    return np.tanh(p + c), p[0] * np.cos(c)


def result_written_later(x):
    c, u = both(x, x[1])
    c[0] += 0.3 * u
    return np.sum(c * c) + u


def mix(p, q):
    p[1:] += q[:-1] * q[1:]


def views_given(x):
    m = np.outer(x, x)
    mix(m[0, :], m[1, :])
    return np.sum(m * m)


def result_unused(x):
    y = x * 2.0
    mix(y, x)
    return np.sum(y * y)


def write_front(p):
    p[:2] = p[1:] * 0.5


def items_of_what_a_callee_writes(x):
    a = x * 1.0
    s = 0.0
    for e in a:  # the item is read before the call changes it
        write_front(a)
        s = s + np.sin(e) * s + e
    return s


GOOD = [
    items_of_what_a_callee_writes,
    annotated_wrongly,
    derivative_inside,
    returns_its_argument,
    result_written_later,
    views_given,
    result_unused,
]


@pytest.mark.parametrize("fn", GOOD, ids=lambda fn: fn.__name__)
def test_calls(fn) -> None:
    x = X.copy()
    tl.check_grads(fn, (x,))
    np.testing.assert_array_equal(x, X)


def test_the_same_array_twice_where_one_is_written() -> None:
    def twice(x):
        y = x * 1.0
        mix(y, y)
        return np.sum(y * y * x)

    tl.check_grads(twice, (X.copy(),))


def test_overlapping_views_given_to_a_function_that_writes_one() -> None:
    def overlapping(x):
        y = x * 1.0
        mix(y[:2], y[1:])
        return np.sum(y)

    steps = 1e-6 * np.eye(len(X))
    slopes = [(overlapping(X + step) - overlapping(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(tl.grad(overlapping)(X), slopes, rtol=1e-6)


# ---------------------------------------------------------------------------------- out


def out_cumsum(x):
    y = np.zeros(3)
    np.cumsum(x, 0, None, y)
    return np.sum(y * y)


def out_dot(x):
    y = np.zeros((3, 3))
    np.dot(x[:, None], x[None], y)
    return np.sum(y * y)


def out_clip(x):
    y = np.zeros(3)
    np.clip(x, -1.0, 9.0, y)
    return np.sum(y * y)


def out_concatenate(x):
    y = np.zeros(6)
    np.concatenate([x, 2.0 * x], 0, y)
    return np.sum(y * y)


def out_accumulate(x):
    y = np.zeros(3)
    np.maximum.accumulate(x, 0, None, y)
    return np.sum(y * y)


def out_method(x):
    y = np.zeros(3)
    x.cumsum(0, None, y)
    return np.sum(y * y)


def out_keyword_and_result(x):
    y = np.zeros(3)
    z = np.multiply(x, x, out=y)
    return np.sum(y * z)


def out_masked(x):
    y = np.ones(3)
    np.log(x, out=y, where=x > 0.0)
    return np.sum(y * y)


OUT = [
    out_cumsum,
    out_dot,
    out_clip,
    out_concatenate,
    out_accumulate,
    out_method,
    out_keyword_and_result,
    out_masked,
]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("fn", OUT, ids=lambda fn: fn.__name__)
def test_out(fn) -> None:
    tl.check_grads(fn, (X,))


def shuffled(x, rng):
    y = x * 1.0
    rng.shuffle(y)
    return y[0]


@pytest.mark.parametrize("fn", [shuffled], ids=lambda fn: fn.__name__)
def test_writes_that_are_not_known_are_refused(fn) -> None:
    with pytest.raises(tl.UnsupportedError):
        tl.grad(fn)(X, np.random.default_rng(0))


def test_a_result_that_is_constant_must_be_a_scalar_all_the_same() -> None:
    with pytest.raises(tl.TangentlikeError, match=r"shape \(3,\)"):
        tl.grad(np.floor)(X)


# ---------------------------------------------------------------- the caller's own arrays


def update_of_a_parameter(x: np.ndarray):
    x += 1.0
    return np.sum(x * x)


def update_by_its_own_view(m: np.ndarray):
    m -= m.T * 0.5
    return np.sum(np.sin(m))


def update_in_a_loop(x: np.ndarray):
    for _ in range(3):
        x *= x + 0.5
    return np.sum(x)


def update_in_a_branch(x: np.ndarray):
    if x[0] > 0.0:
        x *= 2.0
    return np.sum(x * x)


OWN = [update_of_a_parameter, update_by_its_own_view, update_in_a_loop, update_in_a_branch]


@pytest.mark.parametrize("fn", OWN, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("known", [False, True])
def test_a_gradient_leaves_its_arguments_alone(fn, known) -> None:
    x = np.outer(X, X) if fn is update_by_its_own_view else X.copy()
    before = x.copy()
    df = tl.grad(fn, example=(x,) if known else None)
    gradient = df(x)
    np.testing.assert_array_equal(x, before)
    tl.jvp(fn, (x,), (np.ones_like(x),))
    np.testing.assert_array_equal(x, before)
    value, pullback = tl.vjp(fn, x)
    np.testing.assert_allclose(pullback(1.0)[0], gradient)
    np.testing.assert_array_equal(x, before)
    tl.check_grads(lambda a: fn(a.copy()), (x,))


def item_of_a_list_replaced(x):
    p = [x * 2.0, x * x]
    p[0] = np.sin(p[1])
    y = x if x[0] > 5.0 else p[0]
    return np.sum(p[0] * p[1] * y)


def test_the_adjoint_of_a_replaced_item_has_its_shape() -> None:
    tl.check_grads(item_of_a_list_replaced, (X,))


def test_each_function_of_a_chain_is_inferred_once_for_each_kind(monkeypatch):
    """What a helper returns was inferred again for each function above it: a class library whose
    layers call helpers in a chain took minutes."""
    from tangentlike.pipeline import builder

    asked = []
    find = builder.Builder.result_kind

    def counting(self, lowered, kinds):
        asked.append(lowered.function.name)
        return find(self, lowered, kinds)

    monkeypatch.setattr(builder.Builder, "result_kind", counting)
    lines = ["class Layer:", "    def __init__(self, w):", "        self.w = w"]
    lines += ["    def m0(self, x):", "        return np.tanh(self.w * x)"]
    for i in range(1, 12):
        lines += [
            f"    def m{i}(self, x):",
            f"        y = self.m{i - 1}(x)",
            "        return [y[0]]",
        ]
    lines += ["def chained(x, layer):", "    return np.sum(layer.m11(x)[0])"]
    source = "\n".join(lines)
    linecache.cache["<chain>"] = (len(source), None, source.splitlines(keepends=True), "<chain>")
    made = {"np": np, "__name__": "chain"}
    exec(compile(source, "<chain>", "exec"), made)
    x = np.array([0.5, 0.7])
    gradient = tl.grad(made["chained"])(x, made["Layer"](2.0))
    assert np.allclose(gradient, [2.0 / np.cosh(1.0) ** 2, 0.0])
    assert 12 <= len(asked) < 200


def scaled_sine(x, k):
    for _ in range(1):  # (a sequence of few operations would stand where it is called)
        y = np.sin(x * k) * x
    return y


def calls_with_other_arguments_active(x, k):
    first = scaled_sine(x, k)
    second = scaled_sine(first, 2.0)
    return np.sum(scaled_sine(np.ones(3), k) * second)


def test_a_helper_is_printed_once_for_what_is_the_same() -> None:
    args = np.linspace(0.2, 0.9, 3), np.array([0.5, 1.5, 0.25])
    gradient = tl.grad(calls_with_other_arguments_active, wrt=(0, 1))
    gradient(*args)
    text = gradient.source
    # One forward function; a backward function for each choice of what is wanted of it.
    assert text.count("def scaled_sine_fwd") < text.count("def scaled_sine_bwd") == 3
    bodies = [part.partition(":\n")[2] for part in text.split("\n\n\n")[1:]]
    assert len(set(bodies)) == len(bodies)
    tl.check_grads(calls_with_other_arguments_active, args, wrt=(0, 1))
    tl.check_grads(calls_with_other_arguments_active, args, wrt=1, order=2)
