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
def test_global(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before, second, pair = tl.grad(f), tl.grad(tl.grad(f)), tl.hvp(f)
    assert (before(2.0), second(2.0), pair(2.0, 1.0)) == (8.0, 4.0, 4.0)
    monkeypatch.setitem(globals(), "helper", cube)
    assert before(2.0) == tl.grad(f)(2.0) == 24.0
    assert second(2.0) == pair(2.0, 1.0) == tl.grad(tl.grad(f))(2.0) == 24.0
    assert tl.jvp(f, (2.0,), (1.0,)) == (16.0, 24.0)
    assert tl.vjp(f, 2.0)[1](1.0) == (24.0,)
    assert "cube" in before.source and "square" not in before.source


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
