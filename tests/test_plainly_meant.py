"""Calls that mean one thing are taken so; others are refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([1.0, 2.0, 3.0])


def cube(x):
    return x**3


def total(x, y=2.0):
    return np.sum(x * x * y)


def of_module(x, xp):
    return xp.sum(xp.sin(x))


def applied(k, x):
    return k(x)


@pytest.mark.parametrize(
    "make", [tl.grad, tl.value_and_grad, tl.autodiff, tl.jacobian, tl.hessian, tl.hvp,
             tl.sparse_jacobian, tl.sparse_hessian]
)  # fmt: skip
@pytest.mark.parametrize("wrt", [None, 1.5, {"x"}, b"x"])
def test_wrt_that_names_nothing(make: Callable, wrt: Any) -> None:
    with pytest.raises(tl.TangentlikeError, match="wrt takes positions and parameter names, not"):
        make(cube, wrt=wrt)


def test_wrt_of_numpy() -> None:
    assert tl.grad(cube, wrt=np.int64(0))(2.0) == 12.0
    assert tl.grad(total, wrt=np.array([0, 1]))(2.0, 3.0) == (12.0, 4.0)
    assert tl.grad(total, wrt=range(2))(2.0, 3.0) == (12.0, 4.0)


def test_the_only_argument_may_stand_by_itself() -> None:
    tl.check_grads(cube, 1.0, order=2)
    tl.check_grads(total, X)
    tl.check_grads(lambda p: np.sum(p["a"] * p["b"]), {"a": X, "b": 2.0})
    assert tl.jvp(cube, 2.0, 1.0) == (8.0, 12.0)
    assert tl.jvp(total, X, X) == (28.0, 56.0)
    assert tl.jvp(cube, 2.0, None) == (8.0, 0.0)
    assert tl.grad(cube, example=1.0)(2.0) == 12.0
    assert np.array_equal(tl.grad(total, example=X)(X), 4.0 * X)
    assert np.array_equal(tl.grad(total, example=[X, 3.0])(X, 3.0), 6.0 * X)


def test_check_grads_fails_where_the_only_argument_stands_by_itself() -> None:
    @tl.checkpoint
    def wrong(x):
        return tl.stop_gradient(x) * x

    with pytest.raises(tl.TangentlikeError, match="disagrees"):
        tl.check_grads(wrong, 1.5)


@pytest.mark.parametrize("given", [((2.0,), 1.0), (2.0, (1.0,)), (X, (X,)), ([X], X)])
def test_one_by_itself_and_one_in_a_tuple(given: Any) -> None:
    with pytest.raises(tl.TangentlikeError, match="jvp takes a tuple of arguments"):
        tl.jvp(total, *given)


def test_an_example_with_too_many_arguments() -> None:
    with pytest.raises(tl.TangentlikeError, match="example= has 3 arguments, and cube has 1"):
        tl.grad(cube, example=(1.0, 2.0, 3.0))


@pytest.mark.parametrize("make", [tl.grad, tl.jacobian, tl.value_and_grad])
def test_an_example_with_a_module_or_a_function(make: Callable) -> None:
    found = make(of_module, example=(X, np))(X, np)
    gradient = found[1] if make is tl.value_and_grad else found
    np.testing.assert_allclose(gradient, np.cos(X))
    assert make(applied, wrt=1, example=(cube, 1.0))(cube, 2.0) in (12.0, (8.0, 12.0))
    other = make(applied, wrt=1, example=(np.sin, 1.0))(np.sin, 0.0)
    assert other in (1.0, (0.0, 1.0))


def test_what_has_the_attributes_of_an_array_as_functions_is_none() -> None:
    class Like:
        def __init__(self, rate):
            self.rate = rate

        def shape(self):
            return ()

        def dtype(self):
            return "f8"

        def ndim(self):
            return 0

    def f(x, like):
        return like.rate * x**2

    assert tl.grad(f)(3.0, Like(2.0)) == 12.0
    tl.check_grads(f, (3.0, Like(2.0)), wrt=0)
