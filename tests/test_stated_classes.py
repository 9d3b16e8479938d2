"""Classes known from annotations: the derivative's source is there before a call."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


class Layer:
    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.w)


class Doubled(Layer):
    def __call__(self, x: Any) -> Any:
        return 2.0 * (x @ self.w)


@dataclass
class Model:
    first: Layer
    rest: list[Layer]
    rate: float = 0.5

    def predict(self, x: Any) -> Any:
        x = self.first(x)
        for layer in self.rest:
            x = layer(x)
        return x * self.rate


class Base(ABC):
    @abstractmethod
    def energy(self, x: Any) -> Any: ...


class Open:
    def energy(self, x: Any) -> Any:
        raise NotImplementedError


class Spring(Open):
    def __init__(self, k: float) -> None:
        self.k = k

    def energy(self, x: Any) -> Any:
        return self.k * np.sum(x * x)


class Bowl(Base):
    def __init__(self, k: float) -> None:
        self.k = k

    def energy(self, x: Any) -> Any:
        return np.sum(x**4) * self.k


def loss(model: Model, x: np.ndarray) -> Any:
    return np.sum(model.predict(x) ** 2)


def plain_loss(model, x):
    return np.sum(model.predict(x) ** 2)


def one(layer: Layer, x):
    return np.sum(layer(x) ** 2)


def maybe(x, layer: Layer = None):  # type: ignore[assignment]
    if layer is None:
        return np.sum(x * x)
    return np.sum(layer(x))


def scaled(x, by: Layer):
    return np.sum(x * x * by)


def of_base(system: Base, x):
    return system.energy(x)


def of_open(system: Open, x):
    return system.energy(x)


X = np.random.default_rng(1).normal(size=(4, 3))


def layer(seed: int, cls: type[Layer] = Layer) -> Layer:
    return cls(np.random.default_rng(seed).normal(size=(3, 3)))


def model(cls: type[Layer] = Layer) -> Model:
    return Model(layer(0), [layer(1, cls), layer(2, cls)])


def test_source_without_a_call() -> None:
    for made in (tl.grad(loss), tl.autodiff(loss, mode="forward", wrt=(0, 1))):
        assert "require_class(model, Model)" in made.source
        assert "Model_predict" in made.source


@pytest.mark.parametrize("cls", [Layer, Doubled])
def test_the_objects_of_a_call_are_believed(cls: Any) -> None:
    m = model(cls)
    got, expected = tl.grad(loss, wrt=(0, 1))(m, X), tl.grad(plain_loss, wrt=(0, 1))(m, X)
    np.testing.assert_array_equal(got[1], expected[1])
    for a, b in zip(got[0].rest, expected[0].rest, strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a.w, b.w)
    step, up, down = 1e-6, copy.deepcopy(m), copy.deepcopy(m)
    up.rest[0].w[1, 2] += step
    down.rest[0].w[1, 2] -= step
    expected = (loss(up, X) - loss(down, X)) / (2 * step)
    assert got[0].rest[0].w[1, 2] == pytest.approx(expected, rel=1e-6)


def test_another_class_than_is_stated() -> None:
    df = tl.grad(one, wrt=1)
    assert "require_class(layer, Layer)" in df.source
    stated = df.__wrapped__  # (afterwards it is the version that was used last)
    other = layer(0, Doubled)
    np.testing.assert_allclose(df(other, X), 8.0 * X @ other.w @ other.w.T)
    with pytest.raises(TypeError, match="written for a Layer and got a Doubled"):
        stated(other, X)


def test_what_is_no_object() -> None:
    np.testing.assert_allclose(tl.grad(maybe)(X), 2.0 * X)
    w = layer(0).w
    expected = (1.0 - np.tanh(X @ w) ** 2) @ w.T
    np.testing.assert_allclose(tl.grad(maybe)(X, layer(0)), expected)
    np.testing.assert_allclose(tl.grad(scaled)(X, 3.0), 6.0 * X)
    np.testing.assert_allclose(tl.grad(scaled, wrt=1)(X, 3.0), np.sum(X * X))
    _, tangent = tl.jvp(scaled, (X, 3.0), (X, 1.0))
    np.testing.assert_allclose(tangent, 7.0 * np.sum(X * X))


@pytest.mark.parametrize("fn, system", [(of_base, Bowl(0.3)), (of_open, Spring(0.3))])
def test_a_class_that_leaves_the_method_to_others(fn: Any, system: Any) -> None:
    df = tl.grad(fn, wrt=(0, 1))
    tl.check_grads(fn, (system, X), wrt=1)
    by_system, _ = df(system, X)
    assert by_system.k == pytest.approx(system.energy(X) / system.k)


def test_second_order() -> None:
    v, step = np.random.default_rng(3).normal(size=X.shape), 1e-5
    got = tl.hvp(loss, wrt=1)(model(), X, v)
    df = tl.grad(plain_loss, wrt=1)
    expected = (df(model(), X + step * v) - df(model(), X - step * v)) / (2 * step)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


def counted(layer, k: int):
    return np.sum(layer(X)) * k


def test_classes_stay_known_where_another_annotation_does_not_hold() -> None:
    got, expected = tl.grad(counted)(layer(0), 2.5), tl.grad(counted)(layer(0), 1)
    np.testing.assert_allclose(got.w, 2.5 * expected.w)
