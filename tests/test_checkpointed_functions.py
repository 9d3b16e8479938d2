"""Which functions `tl.checkpoint` takes: what captures values, methods, one of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

W, X = np.array([0.3, 0.4, 0.5]), np.array([0.7, 0.2, 0.1])


class Layer:
    def __init__(self, w: Any) -> None:
        self.w = w

    def step(self, x: Any) -> Any:
        return np.tanh(self.w * x)

    def run(self, x: Any) -> Any:
        step = tl.checkpoint(self.step)
        for _ in range(3):
            x = step(x)
        return np.sum(x * x)


@tl.checkpoint
def stepped(layer, x):
    return layer.step(x) * x


def closure(w, x):
    def step(h):
        return np.tanh(w * h)

    again = tl.checkpoint(step)
    for _ in range(3):
        x = again(x)
    return np.sum(x * x)


def decorated(w, x):
    @tl.checkpoint
    def step(h):
        return np.tanh(w * h)

    return np.sum(step(step(x)) ** 2)


def of_lambda(w, x):
    return np.sum(tl.checkpoint(lambda h: np.tanh(w * h))(x) ** 2)


def method(w, x):
    return Layer(w).run(x)


def object_given(w, x):
    layer = Layer(w)
    return np.sum(stepped(layer, stepped(layer, x)))


def sine(x):
    return np.sin(x)


def cube(x):
    return x**3


def one_of_two(w, x):
    if w[0] > 0.0:
        f = tl.checkpoint(sine)
    else:
        f = tl.checkpoint(cube)
    return np.sum(f(x * w))


@pytest.mark.parametrize(
    "fn",
    [closure, decorated, of_lambda, method, object_given, one_of_two],
    ids=lambda f: f.__name__,
)
def test_both_modes_and_second_derivatives(fn: Callable[..., Any]) -> None:
    tl.check_grads(fn, (W, X))
    gradient, v = tl.grad(fn), X[::-1].copy()
    slope = (gradient(W + 1e-6 * v, X) - gradient(W - 1e-6 * v, X)) / 2e-6
    np.testing.assert_allclose(tl.hvp(fn)(W, X, v=v), slope, atol=1e-8)


def test_what_captures_values_runs_again_in_the_reverse_sweep() -> None:
    for fn in (closure, of_lambda, one_of_two):
        assert "checkpointed_" in str(tl.grad(fn).source)


def test_methods_from_outside() -> None:
    layer = Layer(W)
    step = tl.checkpoint(layer.step)
    np.testing.assert_array_equal(step(X), layer.step(X))
    found = tl.grad(lambda x: np.sum(step(x)))(X)
    np.testing.assert_allclose(found, tl.grad(lambda x: np.sum(layer.step(x)))(X), rtol=1e-14)


def test_a_method_that_changes_its_object_is_refused() -> None:
    class Counter(Layer):
        def step(self, x: Any) -> Any:
            self.w = self.w + 1.0
            return self.w * x

    with pytest.raises(TypeError, match="return the new value instead"):
        tl.grad(lambda c, x: c.run(x))(Counter(W), X)
