"""Reverse mode over gradients of programs that write in place, to the third order."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.sampled import one_in


def squares(x: np.ndarray) -> Any:
    y = x * x
    x[0] = y[1] * x[2]
    x *= y
    return np.sum(x * y)


def views(x: np.ndarray) -> Any:
    row = x[1:]
    total = np.sum(row * row)
    x[2] = total * x[0]
    return np.sum(np.sin(row) * row) + total


def branches(x: np.ndarray) -> Any:
    c = np.sin(x)
    if x[0] < 10.0:
        y = c * c
        c[0] = y[1]
    else:
        y = np.cos(c) * c
    c *= y
    return np.sum(c * y)


def exponential_overwritten(x: np.ndarray) -> Any:
    y = np.exp(x)
    y[1:] = y[:-1] * x[1:]
    return np.sum(y * y)


def scale(v: Any, s: Any) -> None:
    v *= np.sin(v) * s
    v[0] = v[1] * v[2]


def in_callee(x: np.ndarray) -> Any:
    for _ in range(2):
        scale(x, x[2])
        scale(x[1:], 0.7)
    return np.sum(x * x)


def read_by_callee(x: np.ndarray) -> Any:
    z = weigh(x, x)
    x[1] = z * x[0]
    z = z + weigh(x, x * x)
    return z * x[1]


def weigh(p: Any, q: Any) -> Any:
    return np.sum(np.sin(p) * q)


def kept_in_list(x: np.ndarray) -> Any:
    parts = [x]
    parts.append(np.sin(x))
    y = parts.pop() + parts[0] * 0.3
    x[0] = np.sum(y * x)
    return np.sum(x * y)


def stack_of_states(x: np.ndarray) -> Any:
    total = 0.0
    for k in range(3):
        old = x.copy()
        x[1:-1] += 0.3 * old[:-2] * old[2:]
        x[k] = np.sin(x[k]) * x[k - 1]
        total = total + np.sum(x * old)
    return total


class Buffers:
    """Attributes that are swapped, written in place and assigned."""

    def __init__(self, now, then):
        self.now = now
        self.then = then

    def step(self, x):
        self.then[:] = np.tanh(self.now * x)
        self.now, self.then = self.then, self.now
        self.then *= self.now

    def start(self, now):
        self.now = now


def in_attributes(x: np.ndarray) -> Any:
    buffers = Buffers(np.ones(4), np.zeros(4))
    buffers.start(x * x)
    for _ in range(3):
        buffers.step(x)
    return np.sum(buffers.now * buffers.then * x)


def sorted_entries(x: np.ndarray) -> Any:
    p = dict(zip("abcd", x))
    p["e"] = x[0] * 2.0
    return sum(v * v * len(k) for k, v in sorted(p.items()))


def folds(x: np.ndarray) -> Any:
    total = functools.reduce(lambda p, q: p * q + 1.0, x, 1.0)
    return total * list(itertools.accumulate(x, operator.mul))[-1]


PROGRAMS = [
    squares,
    sorted_entries,
    folds,
    views,
    branches,
    exponential_overwritten,
    in_callee,
    read_by_callee,
    kept_in_list,
    stack_of_states,
    in_attributes,
]
X = np.array([0.4, -0.7, 1.1, 0.3])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_product_with_the_hessian(f: Callable[..., Any]) -> None:
    """Reverse over reverse against differences, and against forward over reverse; twice, since
    what is restored must be."""
    v = np.array([0.2, 0.9, -0.5, 0.4])
    gradient = tl.grad(f)
    _, pullback = tl.vjp(gradient, X)
    h = 1e-5
    expected = (gradient(X + h * v) - gradient(X - h * v)) / (2 * h)
    for _ in range(2):
        (product,) = pullback(v)
        np.testing.assert_allclose(product, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(product, tl.hvp(f)(X, v), rtol=1e-12, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("f", one_in(3, [squares, branches, views]), ids=lambda f: f.__name__)
def test_third_order(f: Callable[..., Any]) -> None:
    """Each reading of a gradient makes that of the next order readable."""
    v = np.array([0.2, 0.9, -0.5, 0.4])

    def curvature(x: Any) -> Any:
        return np.sum(tl.grad(slope)(x) * v)

    def slope(x: Any) -> Any:
        return np.sum(tl.grad(f)(x) * v)

    expected = agreement.slope(curvature, (X,), [v])
    ahead = tl.grad(lambda x: np.sum(tl.hvp(f)(x, v=v) * v))(X)
    assert agreement.close(float(ahead @ v), expected, 1e-6)
    third = tl.grad(curvature)(X)
    assert agreement.close(float(third @ v), expected, 1e-6)


def one_of_two(x: np.ndarray) -> Any:
    y = np.sin(x)
    z = y
    if y[0] > 0.5:
        z = 2.0 * y
    z[1:] *= x[1:]
    return np.sum(y * z)


def test_memory_that_is_shared_in_some_runs() -> None:
    test_product_with_the_hessian(one_of_two)


def key_added(params: dict[str, Any]) -> Any:
    made = dict(params)
    made["z"] = np.sin(params["b"])
    return made["z"] * np.sum(made["w"] ** 2) * made["b"]


def test_the_gradient_has_the_keys_of_the_argument() -> None:
    """And so has its seed, where the emitted gradient has entries for other keys as well."""
    params, v = {"w": X, "b": 0.7}, {"w": 2.0 * X, "b": -0.3}
    gradient = tl.grad(key_added)
    _, pullback = tl.vjp(gradient, params)
    (found,), (_, expected) = pullback(v), tl.jvp(gradient, (params,), (v,))
    np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-12)
    assert agreement.close(found["b"], expected["b"], 1e-12)


def in_memory_order(m: np.ndarray) -> Any:
    y = m * m
    m[0] = np.sin(y[1])
    flat = np.ravel(y * m, order="K")
    return np.sum(flat * np.arange(flat.size))


def test_copies_lie_in_memory_as_their_arrays() -> None:
    m = np.asfortranarray(np.linspace(0.1, 1.2, 6).reshape(2, 3))
    gradient = tl.grad(in_memory_order, example=(m,))
    _, pullback = tl.vjp(gradient, m)
    np.testing.assert_allclose(pullback(m)[0], tl.hvp(in_memory_order)(m, m), rtol=1e-12)


def turned(p: Any, c: Any) -> None:
    for k in range(2):
        p[k] = p[k + 1] * np.cos(c)


def writes_what_is_not_read_again(b: Any, m: Any, c: Any) -> Any:
    m *= np.cos(b)
    turned(b, c)
    return np.sum(m[-1])


def test_a_tape_is_left_full_for_the_sweep_over_the_sweep() -> None:
    """A backward function that gives nothing to the gradient was called as it is: it emptied the
    tape, to whose stacks the reversed forward function then had no adjoints."""
    gradient = tl.grad(writes_what_is_not_read_again, wrt=(0, 1, 2))
    args, v = (X, np.outer(X, X), 0.4), (2.0 * X, np.outer(X, X * X), 0.3)
    _, pullback = tl.vjp(gradient, *args)
    _, change = tl.jvp(gradient, args, v)
    for _ in range(2):
        found, expected = agreement.inner(v, pullback(v)), agreement.inner(v, change)
        assert agreement.close(found, expected, 1e-12)
