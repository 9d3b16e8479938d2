"""Arguments that a decorator binds by a signature, as those that check units do."""

import functools
import inspect
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.4, 0.9, 1.3])


def target(x, y=2.0, *rest, k=1.0, **options):
    total = np.sum(x * x) * y + k
    for v in rest:
        total = total + v**2
    for word in options:
        total = total + options[word] ** 3
    return total


SIGNATURE = inspect.signature(target)


def binding(f):
    signature = inspect.signature(f)

    @functools.wraps(f)
    def around(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if isinstance(value, str):
                bound.arguments[name] = 2.0
        return f(*bound.args, **bound.kwargs)

    return around


@binding
def decorated(x, y=1.5, *rest, k=1.0, **options):
    return target(x, y, *rest, k=k, **options)


class Model:
    def __init__(self, w):
        self.w = w

    @binding
    def act(self, x, power=2.0):
        return np.sum(self.w * x) ** power


def every_kind(x, c):
    return decorated(x, c, 2 * c, c * c, k=c, q=3 * c)


def by_defaults(x, c):
    return decorated(x) * c + decorated(x, "two", k=c)


def by_name(x, c):
    bound = SIGNATURE.bind(x, k=c)
    return target(*bound.args, **bound.kwargs)


def replaced(x, c):
    bound = SIGNATURE.bind(x, c)
    bound.apply_defaults()
    bound.arguments["x"] = bound.arguments["x"] * c
    return target(*bound.args, **bound.kwargs)


def of_some(x, c):
    total = 0.0
    for value in SIGNATURE.bind_partial(x, c).arguments.values():
        total = total + np.sum(value) ** 2
    return total


def made_inside(x, c):
    bound = inspect.signature(target).bind(x * 2, *(c, x[0]))
    if "k" not in bound.arguments:
        bound.arguments["k"] = np.sum(x)
    return target(*bound.args, **bound.kwargs)


def of_a_method(x, c):
    return Model(c * x).act(x) + Model(x).act(x, power=c)


CALLS = [0]


def counted(f):
    signature = inspect.signature(f)

    @functools.wraps(f)
    def around(*args, **kwargs):
        CALLS[0] += 1
        bound = signature.bind_partial(*args, **kwargs)
        bound.apply_defaults()
        return f(*bound.args, **bound.kwargs)

    return around


@counted
def counting(x, y=1.5, *, k=2.0):
    return np.sum(x * x) * y + k


def beside_a_counter(x, c):
    return counting(x, c) + counting(c * x, k=c) + c


PROGRAMS = (every_kind, by_defaults, by_name, replaced, of_some, made_inside, of_a_method)


@pytest.mark.parametrize("f", (*PROGRAMS, beside_a_counter))
def test_derivatives(f: Any) -> None:
    rng = np.random.default_rng(3)
    v, dc, c = rng.normal(size=3), float(rng.normal()), 0.8
    slope = agreement.slope(f, (X, c), [v, dc])
    x_bar, c_bar = tl.grad(f, wrt=("x", "c"))(X, c)
    tangent = tl.jvp(f, (X, c), (v, dc))[1]
    assert x_bar @ v + c_bar * dc == pytest.approx(slope, rel=1e-7)
    assert tangent == pytest.approx(x_bar @ v + c_bar * dc, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("f", PROGRAMS[::2])
def test_second_order(f: Any) -> None:
    v, h = np.array([0.3, -0.2, 0.5]), 1e-6
    change = (tl.grad(f)(X + h * v, 0.8) - tl.grad(f)(X - h * v, 0.8)) / (2 * h)
    np.testing.assert_allclose(tl.hvp(f)(X, 0.8, v), change, rtol=1e-7, atol=1e-8)


def test_writes_beside_it_are_made_once() -> None:
    before = CALLS[0]
    tl.grad(beside_a_counter)(X, 0.8)
    assert CALLS[0] - before == 2


def test_defaults_that_vary_are_not_lost() -> None:
    def of_default(x, c):
        def inner(x, y=c):
            return np.sum(x) * y

        bound = inspect.signature(inner).bind(x)
        bound.apply_defaults()
        return bound.arguments["y"] * np.sum(x)

    with pytest.raises(tl.UnsupportedError, match="a function that uses"):
        tl.grad(of_default, wrt="c")(X, 0.8)


def test_arguments_that_do_not_fit_raise() -> None:
    def too_many(x):
        return target(*SIGNATURE.bind(x, x=2.0).args)

    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        tl.grad(too_many)(X)
