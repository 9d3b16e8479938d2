"""Helpers that are defined anew after a derivative was made: the derivative follows."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def square(x: Any) -> Any:
    return x * x


def cube(x: Any) -> Any:
    return x * x * x


helper = square
tools = types.ModuleType("tools")
tools.helper = square  # type: ignore[attr-defined]


def by_global(x: Any) -> Any:
    return helper(x) * 2.0


def by_module(x: Any) -> Any:
    return tools.helper(x) * 2.0


def through(x: Any) -> Any:
    return by_global(x) + 0.0


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "helper", square)
    monkeypatch.setattr(tools, "helper", square)


@pytest.mark.parametrize("f", [by_global, through])
@pytest.mark.parametrize("short", [0, 8])
def test_global(f: Any, short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangentlike.ad.normalize.short_calls.SHORT", short)
    before, second, pair = tl.grad(f), tl.grad(tl.grad(f)), tl.hvp(f)
    assert (before(2.0), second(2.0), pair(2.0, 1.0)) == (8.0, 4.0, 4.0)
    monkeypatch.setitem(globals(), "helper", cube)
    assert before(2.0) == tl.grad(f)(2.0) == 24.0
    assert second(2.0) == pair(2.0, 1.0) == tl.grad(tl.grad(f))(2.0) == 24.0
    assert tl.jvp(f, (2.0,), (1.0,)) == (16.0, 24.0)
    assert tl.vjp(f, 2.0)[1](1.0) == (24.0,)
    assert ("cube" in before.source) == (short == 0) and "square" not in before.source


def test_module(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tl.grad(by_module)
    assert before(2.0) == 8.0
    monkeypatch.setattr(tools, "helper", cube)
    assert before(2.0) == tl.grad(by_module)(2.0) == 24.0


def test_closure_of_a_loop() -> None:
    found = []
    for power in (2, 3):
        inner = square if power == 2 else cube

        def f(x: Any) -> Any:
            return inner(x)  # noqa: B023

        found.append(tl.grad(f)(2.0))
    assert found == [4.0, 12.0]


def test_closure_rebound() -> None:
    inner = np.sin

    def f(x: Any) -> Any:
        return inner(x)

    before = tl.grad(f)
    assert before(0.5) == np.cos(0.5)
    inner = np.cos
    assert before(0.5) == -np.sin(0.5)


def test_known_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(x: Any, g: Any) -> Any:
        return g(x)

    derivative = tl.grad(apply)
    assert derivative(2.0, by_global) == 8.0
    monkeypatch.setitem(globals(), "helper", cube)
    assert derivative(2.0, by_global) == 24.0


def test_derivative_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    slope = tl.grad(by_global)

    def f(x: Any) -> Any:
        return slope(x) * x

    outer = tl.grad(f)
    assert outer(2.0) == 16.0
    monkeypatch.setitem(globals(), "helper", cube)
    assert outer(2.0) == 72.0


class Layer:
    def __init__(self, weight: float) -> None:
        self.weight = weight

    def scaled(self, x: Any) -> Any:
        return self.weight * x


class Cubed(Layer):
    def scaled(self, x: Any) -> Any:
        return self.weight * x**3


def test_data_is_read_live() -> None:
    """Rebinding data makes no new derivative."""
    scale = 2.0

    def f(x: Any) -> Any:
        return scale * x * x

    derivative = tl.grad(f)
    assert derivative(1.0) == 4.0
    made = derivative.__wrapped__
    scale = 3.0
    assert derivative(1.0) == 6.0 and derivative.__wrapped__ is made


def test_another_class() -> None:
    def loss(model: Any, x: float) -> Any:
        return model.scaled(x)

    derivative = tl.grad(loss, wrt=1)
    assert derivative(Layer(2.0), 2.0) == 2.0
    assert derivative(Cubed(2.0), 2.0) == 24.0


# Methods that are patched, defaults and code that are replaced.


class Base:
    k = 2.0

    def __init__(self, w: float) -> None:
        self.w = w

    @property
    def scale(self) -> float:
        return self.w * 2.0

    @staticmethod
    def act(v: Any) -> Any:
        return v * v

    @classmethod
    def times(cls, v: Any) -> Any:
        return v * cls.k

    def layer(self, v: Any) -> Any:
        return self.act(v) * self.scale + self.times(v)

    def __mul__(self, v: Any) -> Any:
        return self.w * v

    def __len__(self) -> int:
        return 2


class Derived(Base):
    pass


PATCHES: dict[str, Any] = {
    "scale": property(lambda self: self.w**2),
    "act": staticmethod(lambda v: v**3),
    "times": classmethod(lambda cls, v: v**2 * cls.k),
    "layer": lambda self, v: v**2 * self.w,
    "__mul__": lambda self, v: 3.0 * self.w * v,
    "__len__": lambda self: 5,
    "k": 7.0,
}
model = Derived(0.4)


def of_object(m: Any, x: Any) -> Any:
    return (m.layer(x) + (m * x) ** 2) * len(m)


def of_outer_object(x: Any) -> Any:
    return of_object(model, x)


def of_made_object(x: Any) -> Any:
    return of_object(Derived(x), x)


def slope(f: Any, x: float, h: float = 1e-5) -> float:
    return float(f(x + h) - f(x - h)) / (2.0 * h)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PATCHES)
@pytest.mark.parametrize("cls", [Base, Derived])
def test_patched_method(name: str, cls: type, monkeypatch: pytest.MonkeyPatch) -> None:
    by_object = tl.grad(of_object, wrt=1)
    gradients = {
        lambda x: of_object(model, x): lambda x: by_object(model, x),
        of_outer_object: tl.grad(of_outer_object),
        of_made_object: tl.grad(of_made_object),
    }
    second = tl.hvp(of_outer_object)

    def check() -> None:
        for f, gradient in gradients.items():
            np.testing.assert_allclose(gradient(0.7), slope(f, 0.7), rtol=1e-7)
        tangent = tl.jvp(of_outer_object, (0.7,), (1.0,))[1]
        np.testing.assert_allclose(tangent, slope(of_outer_object, 0.7), rtol=1e-7)
        curvature = slope(gradients[of_outer_object], 0.7)
        np.testing.assert_allclose(second(0.7, 1.0), curvature, rtol=1e-7, atol=1e-9)

    check()
    with monkeypatch.context() as patch:
        patch.setattr(cls, name, PATCHES[name], raising=False)
        check()
    check()


def test_defaults_of_a_helper() -> None:
    def scaled(x: Any, k: Any = 2.0, *, n: int = 1) -> Any:
        return k * x ** (n + 1)

    def f(x: Any) -> Any:
        return np.sum(scaled(x))

    gradient, x = tl.grad(f), np.array([0.5, 2.0])
    assert np.allclose(gradient(x), 4.0 * x)
    scaled.__defaults__ = (np.array([1.0, 5.0]),)
    assert np.allclose(gradient(x), [1.0, 20.0])
    scaled.__kwdefaults__["n"] = 2
    assert np.allclose(gradient(x), [0.75, 60.0])
    scaled.__code__ = (lambda x, k=0.0, *, n=0: k * np.sin(x)).__code__
    assert np.allclose(gradient(x), np.cos(x) * [1.0, 5.0])


def test_defaults_of_the_function() -> None:
    def f(x: Any, p: Any = 2.0, *, mode: str = "square") -> Any:
        return np.sum(p * x * x) if mode == "square" else np.sum(p * x)

    gradient, product, x = tl.grad(f), tl.hvp(f), np.array([0.5, 2.0])
    assert np.allclose(gradient(x), 4.0 * x)
    assert np.allclose(product(x, x), 4.0 * x)
    f.__defaults__ = (np.array([1.0, 5.0]),)
    assert np.allclose(gradient(x), [1.0, 20.0])
    assert np.allclose(product(x, x), [1.0, 20.0])
    f.__kwdefaults__ = {"mode": "linear"}
    assert np.allclose(gradient(x), [1.0, 5.0])
    f.__code__ = (lambda x, p=0.0, *, mode="": np.sum(p * x**3)).__code__
    assert np.allclose(gradient(x), 3.0 * np.array([1.0, 5.0]) * x * x)


def test_defaults_of_closures() -> None:
    def make(c: float, power: int) -> Any:
        def f(x: Any, p: int = power) -> Any:
            return c * x**p

        return f

    assert [tl.grad(make(c, p))(2.0) for c, p in [(1.0, 2), (2.0, 2), (2.0, 3)]] == [4.0, 8.0, 24.0]


def test_data_of_a_class_makes_no_new_derivative() -> None:
    class Counting:
        calls = 0
        c = 2.0

        def value(self, x: Any) -> Any:
            return self.c * x * x

    counting = Counting()

    def f(x: Any) -> Any:
        return counting.value(x)

    gradient = tl.grad(f)
    assert gradient(1.0) == 4.0
    made = gradient.__wrapped__
    Counting.calls, Counting.c = 1, 3.0
    assert gradient(1.0) == 6.0 and gradient.__wrapped__ is made
