"""Short functions of the user's stand where they are called; what else there is stays a call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

X, Y = np.array([0.7, -0.4, 1.3]), np.array([0.2, 0.5, -0.8])
SCALE = 2.0


def sigmoid(z: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-z))


def scaled(x: Any, by: Any = 0.5) -> Any:
    t = SCALE * x
    return np.sin(t) * by


class Layer:
    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        t = x * self.w
        return np.tanh(t)


def of_names(x: Any, y: Any) -> Any:
    """The names of the helpers are other variables of the caller's."""
    z, t, by = x * y, x + 1.0, y
    z = sigmoid(x * z)
    for _ in range(2):
        t = scaled(t, by=z) * t
    return np.sum(z * t * by * scaled(y, 0.5))


def of_swapped(x: Any, y: Any) -> Any:
    for _ in range(3):
        x, y = sigmoid(y), scaled(x, by=0.7)
    return np.sum(x * y)


def of_an_object(x: Any, y: Any) -> Any:
    layer = Layer(y)
    return np.sum(layer(x) * y)


def view(x: Any) -> Any:
    return x[:2]


def of_a_view(x: Any, y: Any) -> Any:
    x = x.copy()
    part = view(x)
    part *= y[:2]
    return np.sum(x * x) + np.sum(view(y) * part)


@functools.cache
def kept(n: int) -> Any:
    return np.ones(n)


def of_a_cache(x: Any, y: Any) -> Any:
    return np.sum(x * kept(3) * y)


@pytest.mark.parametrize(
    "f", [of_names, of_swapped, of_an_object, of_a_view, of_a_cache], ids=lambda f: f.__name__
)
def test_gradients(f: Callable[..., Any]) -> None:
    check_grads(f, (X, Y), order=2)
    gradient = tl.grad(f, wrt=(0, 1), example=(X, Y))
    gradient(X, Y)
    assert "_bwd" not in gradient.source


def test_a_global_is_looked_up_when_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = tl.grad(lambda x: np.sum(scaled(x, 0.5)))
    for scale in (2.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        np.testing.assert_allclose(gradient(X), 0.5 * scale * np.cos(scale * X))


def test_its_code_is_that_of_the_moment() -> None:
    def helper(x: Any) -> Any:
        return x * x

    gradient = tl.grad(lambda x: np.sum(helper(x)))
    np.testing.assert_allclose(gradient(X), 2.0 * X)
    helper.__code__ = (lambda x: x * x * x).__code__
    np.testing.assert_allclose(gradient(X), 3.0 * X * X)


def test_what_a_closure_holds_is_looked_up_when_it_is_called() -> None:
    SCALE = 3.0  # (not the global of that name)

    def local(x: Any) -> Any:
        return np.sin(SCALE * x)

    def f(x: Any, g: Any) -> Any:
        return np.sum(g(x) * scaled(x))

    check_grads(lambda x: f(x, local), (X,), order=1)
    SCALE = 1.5
    check_grads(lambda x: f(x, local), (X,), order=1)


def test_a_local_variable_of_a_helper_is_not_one_of_the_callers() -> None:
    with pytest.raises((tl.TangentlikeError, TypeError, ValueError)):
        tl.grad(lambda x: np.sum(scaled(x, 0.5)), wrt="t")(X)


def test_longer_functions_and_many_calls_stay_calls() -> None:
    def many(x: Any) -> Any:
        return np.sum(sigmoid(sigmoid(sigmoid(sigmoid(x)))))

    assert "sigmoid_bwd" in tl.grad(many, example=(X,)).source
