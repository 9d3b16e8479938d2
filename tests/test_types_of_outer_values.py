"""Numbers and arrays of the module, and of closures: a derivative is made for their dtypes and ranks,
and made again where these are others."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.frontend.resolve import bound_again
from tangentlike.testing import check_grads

RATE = 1.4
KERNEL = np.array([[0.2, 0.5, 0.1], [0.3, -0.4, 0.6]])
X = np.array([0.3, -0.2, 0.7])
SHAPE, WEIGHTS = (3, 1), (0.5, np.array([0.1, 0.2, 0.3]))
HERE = sys.modules[__name__]


def pressure(x, e):
    return (RATE - 1.0) * (e - 0.5 * x * x) / RATE


def by_rate(x):
    for _ in range(2):
        x = x + pressure(x, 2.0 * x)
    return np.sum(x * x)


def by_kernel(x):
    return np.sum(np.tanh(KERNEL @ x) ** 2)


def by_tuples(x):
    first, second = WEIGHTS
    return np.sum(np.tanh(second * x + first * x[0]) ** 2) + np.sum(x.reshape(SHAPE) ** 3)


def loss_of(data: Any, rate: Any) -> Any:
    def loss(x):
        residual = data - rate * x
        return np.sum(residual * residual)

    return loss


@pytest.mark.parametrize("fn", [by_rate, by_kernel, by_tuples, loss_of(X + 1.0, 0.5)])
def test_texts_are_those_for_such_values(fn):
    check_grads(fn, (X,))
    derivative = tl.grad(fn)
    derivative(X)
    assert not {"unbroadcast", "matmul_bar", "zeros_like"} & set(derivative.source.split("("))
    assert "unbroadcast" not in derivative.source and "matmul_bar" not in derivative.source


@pytest.mark.parametrize(
    "other",
    [
        np.array([1.1, 1.2, 1.3]),
        np.array([[1.1], [1.2]]),
        np.float32(1.5),
        2,
        np.array(1.3),
        1.2 + 0.5j,
        np.array([1.5]),
    ],
    ids=["vector", "column", "single", "integer", "rank 0", "complex", "one"],
)
def test_a_number_becomes_something_else(monkeypatch, other):
    derivative, twice = tl.grad(by_rate), tl.hessian(by_rate)
    derivative(X), tl.jvp(by_rate, (X,), (X,)), twice(X)
    monkeypatch.setattr(HERE, "RATE", other)

    def by_this_rate(x):
        for _ in range(2):
            x = x + (other - 1.0) * (2.0 * x - 0.5 * x * x) / other
        return np.sum(x * x)

    if np.iscomplexobj(other):
        with pytest.raises(tl.TangentlikeError, match="complex"):
            derivative(X)
        return
    np.testing.assert_allclose(derivative(X), tl.grad(by_this_rate)(X))
    tangents = (tl.jvp(fn, (X,), (X,))[1] for fn in (by_rate, by_this_rate))
    np.testing.assert_allclose(*tangents)
    np.testing.assert_allclose(twice(X), tl.hessian(by_this_rate)(X))
    monkeypatch.setattr(HERE, "RATE", 1.4)
    check_grads(by_rate, (X,))
    np.testing.assert_allclose(derivative(X), tl.grad(loss_by(1.4))(X))


def loss_by(rate):
    def loss(x):
        for _ in range(2):
            x = x + (rate - 1.0) * (2.0 * x - 0.5 * x * x) / rate
        return np.sum(x * x)

    return loss


@pytest.mark.parametrize(
    "other", [np.ones((1, 3)), np.ones((2, 2, 3)), np.arange(6).reshape(2, 3), KERNEL[0]]
)
def test_an_array_becomes_another(monkeypatch, other):
    derivative = tl.grad(by_kernel)
    derivative(X)
    monkeypatch.setattr(HERE, "KERNEL", other)
    np.testing.assert_allclose(derivative(X), tl.grad(lambda x: np.sum(np.tanh(other @ x) ** 2))(X))


@pytest.mark.parametrize(
    ("name", "other"),
    [("SHAPE", 3), ("SHAPE", (1, 3)), ("SHAPE", (3, 1, 1)), ("WEIGHTS", (np.ones((2, 1)), 2.0))],
)
def test_a_tuple_becomes_another(monkeypatch, name, other):
    derivative = tl.grad(by_tuples)
    derivative(X)
    monkeypatch.setattr(HERE, name, other)
    check_grads(by_tuples, (X,))
    shape, (first, second) = SHAPE, WEIGHTS
    expected = tl.grad(
        lambda x, shape, first, second: (
            np.sum(np.tanh(second * x + first * x[0]) ** 2) + np.sum(x.reshape(shape) ** 3)
        )
    )
    np.testing.assert_allclose(derivative(X), expected(X, shape, first, second))


def test_an_array_takes_another_shape_in_place(monkeypatch):
    own = np.arange(3.0)
    monkeypatch.setattr(HERE, "KERNEL", own)
    derivative = tl.grad(lambda x: np.sum((KERNEL * x) ** 2))
    derivative(X)
    own.resize((3, 1), refcheck=False)
    np.testing.assert_allclose(derivative(X), 2.0 * X * np.sum(own**2))


def test_closures_of_one_function_share_a_text():
    first = tl.grad(loss_of(X + 1.0, 0.5))
    first(X)
    text = first.source
    second = tl.grad(loss_of(X - 1.0, 0.25))
    np.testing.assert_allclose(second(X), -0.5 * (X - 1.0 - 0.25 * X))
    assert second.source == text
    third = tl.grad(loss_of(np.ones((2, 3)), np.array([0.1, 0.2, 0.3])))
    check_grads(loss_of(np.ones((2, 3)), np.array([0.1, 0.2, 0.3])), (X,))
    np.testing.assert_allclose(
        third(X), -4.0 * np.array([0.1, 0.2, 0.3]) * (1.0 - np.array([0.1, 0.2, 0.3]) * X)
    )
    fourth = tl.grad(loss_of(X, np.ones((1, 3))))
    np.testing.assert_allclose(fourth(X), np.zeros(3))


def test_a_closure_variable_that_changes():
    rate = 0.5

    def loss(x):
        return np.sum((rate * x) ** 2)

    derivative = tl.grad(loss)
    np.testing.assert_allclose(derivative(X), 0.5 * X)
    rate = 2.0
    np.testing.assert_allclose(derivative(X), 8.0 * X)
    rate = np.ones((2, 1))
    np.testing.assert_allclose(derivative(X), 4.0 * X)
    rate = 1
    np.testing.assert_allclose(derivative(X), 2.0 * X)


class Gas:
    rate = 1.4
    scale = np.array([0.5, 2.0, 1.0])
    calls = 0.0

    def count(self):
        Gas.calls = self.calls + 1.0


def by_class(x):
    return np.sum((Gas.scale * x + Gas.rate * x) ** 2)


def by_module(x):
    return np.sum((HERE.RATE * x - HERE.KERNEL[0]) ** 2)


@pytest.mark.parametrize(
    ("fn", "owner", "name"), [(by_class, Gas, "rate"), (by_module, HERE, "RATE")]
)
def test_attributes_of_classes_and_modules(monkeypatch, fn, owner, name):
    check_grads(fn, (X,))
    derivative = tl.grad(fn)
    before = derivative(X)
    assert "unbroadcast" not in derivative.source
    monkeypatch.setattr(owner, name, np.ones((2, 1)))
    check_grads(fn, (X,))
    assert derivative(X).shape == (3,)
    monkeypatch.setattr(owner, name, 1.4)
    np.testing.assert_allclose(derivative(X), before)


def test_what_functions_store_is_not_known():
    assert ".calls" in bound_again(globals()) and ".rate" not in bound_again(globals())
    derivative = tl.grad(lambda x: np.sum((Gas.calls * x + x) ** 2))
    derivative(X)
    assert "unbroadcast" in derivative.source


COUNTED = 0.0


def counted(x):
    global COUNTED
    COUNTED = COUNTED + 1.0 if np.ndim(COUNTED) == 0 else COUNTED * 2.0
    return np.sum(x * x) * 1.0


def test_what_the_program_binds_again_is_not_known():
    derivative = tl.grad(counted)
    np.testing.assert_allclose(derivative(X), 2.0 * X)
    assert COUNTED > 0.0


def test_fresh_closures_take_no_memory():
    sizes = []
    for count in range(60):
        tl.grad(loss_of(X + count, 0.5 + count))(X)
        if count in (20, 59):
            gc.collect()
            sizes.append(len(gc.get_objects()))
    assert sizes[1] - sizes[0] < 12_000  # (a derivative of its own for each: 200,000)
