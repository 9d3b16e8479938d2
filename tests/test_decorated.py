"""Decorated functions are differentiated as what they show themselves to be."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return fn(*args, **kwargs)

    wrapper.calls = 0
    return wrapper


def scaled(factor):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args):
            return factor * fn(*args)

        return wrapper

    return decorate


@logged
def weighted(x, w=2.0, *, power=2):
    return np.sum(w * x**power)


@scaled(3.0)
@scaled(0.5)
def doubly(x, y, /):
    return np.sum(np.sin(x) * y)


@scaled(2.0)
def over_arrays(x, mask=np.array([1.0, 0.0, 1.0])):  # noqa: B008
    return np.sum(np.exp(x) * mask)


X = np.array([0.3, 0.7, 1.1])


@pytest.mark.parametrize(
    ("fn", "args", "wrt"),
    [
        (logged(lambda x: np.sum(x**3)), (X,), (0,)),
        (weighted, (X,), (0,)),
        (weighted, (X, 1.5), ("x", "w")),
        (doubly, (X, X**2), (0, 1)),
        (over_arrays, (X,), (0,)),
    ],
)
def test_both_modes_and_second_order(fn, args, wrt):
    check_grads(fn, args, wrt=wrt, order=2)


def test_keywords_and_defaults_are_those_of_the_function():
    df = tl.grad(weighted)
    np.testing.assert_allclose(df(X, power=3), 6.0 * X**2)
    np.testing.assert_allclose(df(X, w=1.0), 2.0 * X)
    np.testing.assert_allclose(tl.grad(weighted, wrt="w")(X), np.sum(X**2))
    with pytest.raises(TypeError, match="scale"):
        df(X, scale=2.0)


def test_the_wrapper_runs():
    before = weighted.calls
    tl.value_and_grad(weighted)(X)
    assert weighted.calls == before + 1


def test_a_wrapper_that_hides_its_parameters():
    def call(*args):
        return weighted(*args)

    np.testing.assert_allclose(tl.grad(call)(X)[0], tl.grad(weighted)(X))


def twice(f):
    @functools.wraps(f)
    def call(v):
        return f(f(v))

    return call


def test_decorators_of_functions_defined_inside():
    def outer(x):
        @twice
        @twice
        def step(v):
            return np.sin(v) * x[1]

        return step(x[0]) * twice(lambda v: v * x[0] + 1.0)(x[1])

    check_grads(outer, (np.array([0.4, 0.7]),), order=2)


def with_a_default(f):
    @functools.wraps(f)
    def given(x, weights=None, *args, **kwargs):
        weights = np.array([1.0, 2.0, 3.0]) if weights is None else weights
        return f(x, weights=weights, *args, **kwargs)  # noqa: B026

    return given


@with_a_default
def weighted_sum(x, weights=None, power=2, *, scale=1.0):
    return scale * np.sum(weights * x**power)


def test_a_decorator_that_puts_something_in_place_of_a_default():
    x = np.array([0.3, 0.5, 0.7])
    np.testing.assert_allclose(tl.grad(weighted_sum)(x), 2.0 * np.array([1.0, 2.0, 3.0]) * x)
    np.testing.assert_allclose(tl.grad(weighted_sum)(x, np.ones(3), power=3), 3.0 * x**2)
    np.testing.assert_allclose(tl.jvp(weighted_sum, (x,), (x,))[1], 2.0 * weighted_sum(x))


def shows(signature):
    """As decorators for checked units do: what is shown, and what is called, may differ."""

    def decorate(f):
        f.__signature__ = inspect.signature(signature)
        return f

    return decorate


@shows(lambda y, x: None)
def swapped(x, y):
    return x * y * y


@shows(lambda a: None)
def renamed(x, y=3.0):
    return x * y * y


@logged
@shows(lambda x, y: None)
def starred(*args, **kwargs):
    return swapped(*args, **kwargs)


@shows(lambda b, a: None)
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    @shows(lambda self, k, x: None)
    def run(self, x, k):
        return self.a * x * self.b**2 * k


@shows(lambda b, a: None)
@dataclass
class Record:
    a: float
    b: float


class Bound:
    @shows(lambda self, y, x: None)
    def __call__(self, x, y):
        return x * y * y

    @classmethod
    @shows(lambda cls, y, x: None)
    def made(cls, x, y):
        return x * y * y


def made_a_record(x, y):
    return Record(x, y).a * Record(b=y, a=x).b ** 2


@pytest.mark.parametrize(
    "fn",
    [
        swapped,
        renamed,
        starred,
        Bound(),
        Bound().__call__,
        Bound.made,
        made_a_record,
        lambda x, y: swapped(x, y),
        lambda x, y: swapped(y=y, x=x),
        lambda x, y: starred(x, y),
        lambda x, y: Pair(x, y).run(1.0, 1.0),
        lambda x, y: Pair(1.0, 1.0).run(x, k=y * y),
        lambda x, y: tl.grad(swapped)(x, y) * x,
    ],
)
def test_the_parameters_are_those_of_the_code_whatever_signature_is_stated(fn):
    """A tangent went to the parameter that `__signature__` has in this place, or to none: zero."""
    assert tl.jvp(fn, (2.0, 3.0), (1.0, 0.0)) == (18.0, 9.0)
    assert tl.jvp(fn, (2.0, 3.0), (0.0, 1.0)) == (18.0, 12.0)
    value, pull = tl.vjp(fn, 2.0, 3.0)
    assert (value, pull(1.0)) == (18.0, (9.0, 12.0))


def test_a_derivative_of_a_function_with_a_stated_signature_is_wrapped_again():
    @functools.wraps(tl.grad(swapped))
    def around(*args):
        return 2.0 * tl.grad(swapped)(*args)

    check_grads(around, (2.0, 3.0), wrt=(0, 1), order=2)
