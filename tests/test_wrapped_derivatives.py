"""What is wrapped around a derivative, a checkpoint or an operator is a function of its own:
`functools.wraps` copies the attributes by which we know ours."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def cube(x):
    return x**3


def doubled(f: Any) -> Any:
    @functools.wraps(f)
    def around(x):
        return 2.0 * f(x)

    return around


def copied(f: Any) -> Any:
    """A wrapper by hand: attributes and no `__wrapped__`."""

    def around(x):
        return 2.0 * f(x)

    around.__dict__.update({k: v for k, v in f.__dict__.items() if k != "__wrapped__"})
    around.__name__ = f.__name__
    return around


class Proxy:
    """Shows the attributes of what it holds, and does something else when called."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __call__(self, x):
        return 2.0 * cube(x)


twice_gradient = doubled(tl.grad(cube))
copied_gradient = copied(tl.grad(cube))
twice_checkpoint = doubled(tl.checkpoint(cube))


@pytest.mark.parametrize("f", [twice_gradient, copied_gradient])
def test_a_wrapper_around_a_derivative_is_differentiated_itself(f: Any) -> None:
    assert f(2.0) == 24.0
    assert tl.grad(f)(2.0) == 24.0
    assert tl.jvp(f, (2.0,), (1.0,)) == (24.0, 24.0)
    assert tl.grad(tl.grad(f))(2.0) == 12.0
    tl.check_grads(f, (2.0,), order=2)


@pytest.mark.parametrize("f", [twice_gradient, copied_gradient])
def test_so_it_is_where_it_is_called(f: Any) -> None:
    def outer(x):
        return f(x) * x

    assert tl.grad(outer)(2.0) == 72.0
    tl.check_grads(outer, (2.0,), order=2)


def test_a_wrapper_around_a_checkpoint() -> None:
    assert tl.grad(twice_checkpoint)(2.0) == 24.0

    def outer(x):
        return twice_checkpoint(x) + x

    assert tl.grad(outer)(2.0) == 25.0
    tl.check_grads(outer, (2.0,), order=2)


def test_a_proxy_of_a_derivative() -> None:
    proxy = Proxy(tl.grad(cube))
    assert tl.grad(proxy)(2.0) == 24.0


def test_a_wrapper_around_an_operator() -> None:
    @functools.wraps(tl.grad)
    def scaled(f):
        return doubled(tl.grad(f))

    def outer(x):
        return scaled(cube)(x)

    assert outer(2.0) == 24.0
    try:
        found = tl.grad(outer)(2.0)
    except tl.UnsupportedError:
        return
    assert found == 24.0


class Body:
    def __init__(self, rate):
        self.rate = rate

    @functools.partial(tl.grad, wrt="x")
    def force(self, x):
        return self.rate * np.sum(x**3)


def test_a_derivative_as_a_method() -> None:
    body, x = Body(2.0), np.array([1.0, 2.0])
    assert np.array_equal(body.force(x), [6.0, 24.0])
    assert np.allclose(tl.jacobian(body.force)(x), np.diag(12.0 * x))

    def outer(x):
        return np.sum(body.force(x) * x)

    tl.check_grads(outer, (x,), order=1)
    tl.check_grads(lambda x: np.sum(body.force(x)), (x,), order=1)
