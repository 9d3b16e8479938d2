"""Data outside of a function that stands for something else after the first derivative was made: all
derivatives that are made later follow, whatever was read before."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, -0.7, 1.1])
ONES = np.ones(3)
SCALE: Any = 2.0
MODULE: Any = types.ModuleType("settings_rebound")
CONFIG: Any = types.SimpleNamespace(k=2.0)
TABLE: Any = {"k": 2.0}


class Settings:
    k: Any = 2.0


class Layer:
    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return x * self.k

    def by_global(self, x: Any) -> Any:
        return np.sum(x**3 * SCALE * self.k)


LAYER: Any = Layer(2.0)
FIXED = Layer(1.0)


def by_name(x: Any) -> Any:
    return np.sum(x**3 * SCALE)


def by_entry(x: Any) -> Any:
    return x[0] ** 3 * SCALE + x[1] ** 3 * x[2] * SCALE


def by_module(x: Any) -> Any:
    return np.sum(x**3 * MODULE.K)


def by_class(x: Any) -> Any:
    return np.sum(x**3 * Settings.k)


def by_called_object(x: Any) -> Any:
    return np.sum(LAYER(x) ** 3)


def by_object(x: Any) -> Any:
    return np.sum(x**3 * CONFIG.k)


def by_key(x: Any) -> Any:
    return np.sum(x**3 * TABLE["k"])


def by_method(x: Any) -> Any:
    return FIXED.by_global(x)


def cubed(x: Any) -> Any:
    return x**3 * SCALE


def by_helper(x: Any) -> Any:
    return np.sum(cubed(x))


def long_helper(x: Any) -> Any:
    for _ in range(2):
        x = np.sin(x) * SCALE + np.cos(x) * SCALE**2 + np.tanh(x * SCALE)
    return x


def by_long_helper(x: Any) -> Any:
    return np.sum(long_helper(x) ** 2)


@tl.checkpoint
def step(x: Any) -> Any:
    return np.sin(x) * SCALE + np.cos(x * SCALE)


def by_checkpoint(x: Any) -> Any:
    for _ in range(3):
        x = step(x)
    return np.sum(x**2)


def by_inner_function(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return y**3 * SCALE

    return np.sum(inner(x)) + np.sum([v**3 * SCALE for v in x])


def by_write(x: Any) -> Any:
    rows = [x * SCALE] * 2
    rows[0] *= x
    return np.sum(rows[1] ** 2)


def closure() -> tuple[Any, Any]:
    k: Any = 2.0

    def by_cell(x: Any) -> Any:
        return np.sum(x**3 * k)

    def put(value: Any) -> None:
        nonlocal k
        k = value

    return by_cell, put


by_cell, put = closure()
FUNCTIONS = (
    *(by_name, by_entry, by_module, by_class, by_called_object, by_object, by_key, by_method),
    *(by_helper, by_long_helper, by_checkpoint, by_inner_function, by_write, by_cell),
)


def bind_anew(k: Any) -> None:
    global SCALE, CONFIG, TABLE, LAYER
    SCALE, CONFIG, TABLE, LAYER = k, types.SimpleNamespace(k=k), {"k": k}, Layer(k)
    MODULE.K = Settings.k = k
    put(k)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "settings_rebound", MODULE)
    bind_anew(2.0)
    yield
    bind_anew(2.0)


def slope(f: Any, x: Any) -> Any:
    return np.array([(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)])


def differences(f: Any) -> Any:
    """The Hessian from values alone."""
    steps = 1e-4 * np.eye(3)
    rows = [
        [f(X + a + b) - f(X + a - b) - f(X - a + b) + f(X - a - b) for a in steps] for b in steps
    ]
    return np.array(rows) / 4e-8


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", ["grad", "jvp", "vjp", "hessian"])
def test_second_order_after_the_first(f: Any, first: str) -> None:
    gradient, hessian = tl.grad(f), tl.hessian(f)
    begun = {
        "grad": lambda: gradient(X),
        "jvp": lambda: tl.jvp(f, (X,), (ONES,)),
        "vjp": lambda: tl.vjp(f, X)[1](1.0),
        "hessian": lambda: hessian(X),
    }
    begun[first]()
    for k in (3.0, 1.5):
        bind_anew(k)
        expected = pytest.approx(differences(f), rel=1e-4, abs=1e-5)
        assert gradient(X) == pytest.approx(slope(f, X), rel=1e-5)
        assert hessian(X) == expected
        assert tl.hessian(f)(X) == expected
        assert tl.jacfwd(gradient)(X) == expected
        assert tl.jacrev(tl.grad(f))(X) == expected
        by_sum = tl.grad(lambda x: np.sum(gradient(x)))(X)
        assert by_sum == pytest.approx(differences(f) @ ONES, rel=1e-4, abs=1e-5)
