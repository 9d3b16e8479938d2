"""Partials that are given the items of containers take them when they are made."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import tangentlike as tl
from tests import agreement

X = np.array([0.4, 0.9, 1.3])


def scaled(x, a=1.0, b=1.0):
    return np.sum(x**2) * a * b


def applied(f, x):
    return f(x)


def options_that_change(x, c):
    options = {"a": c, "b": 2.0}
    f = functools.partial(scaled, **options)
    options["a"] = 5.0
    return f(x) + f(2 * x) * c


def options_that_change_in_a_loop(x, c):
    options, total = {"a": c, "b": 2.0}, 0.0
    for _ in range(3):
        f = functools.partial(scaled, **options)
        options["a"] = options["a"] * 2.0
        total = total + f(x)
    return total


def options_bound_again(x, c):
    options = {"a": c}
    f = functools.partial(scaled, **options)
    options = {"a": 7.0}
    return f(x) + scaled(2 * x, **options)


def list_that_changes(x, c):
    items = [c, 2.0]
    f = functools.partial(lambda a, b, y: scaled(y, a, b), *items)
    items[0] = 5.0
    return f(x) + f(2 * x)


def list_that_grows(x, c):
    items = [c * x]
    f = functools.partial(scaled, *items)
    items.append(c)
    return f() * c


def handed_on(x, c):
    options = {"a": c, "b": 2.0}
    f = functools.partial(scaled, **options)
    options.update(b=3 * c)
    return applied(f, x) + f(c * x)


def options_given_again(x, c):
    options = {"a": c, "b": 2.0}
    f = functools.partial(scaled, **options)
    return f(x, b=c) * functools.partial(f, a=c * c)(x)


def words_besides(x, c):
    options = {"a": c, "b": 2.0}
    f = functools.partial(scaled, **options)
    options["b"] = c
    return f(x=x) * f(x, b=c * c) + f(2 * x, a=3.0)


def options_given(x, c, options=None):
    f = functools.partial(scaled, **({"b": 2.0} if options is None else options))
    return f(x, a=c)


def options_handed_over(x, c, **options):
    f = functools.partial(scaled, **options)
    options["b"] = 5.0
    return f(x, a=c)


def of_options(x, c):
    return options_given(x, c) + options_given(x, c, {"b": c}) + options_handed_over(x, c, b=c)


def array_that_changes(x, c):
    ab = c * x[:2]
    f = functools.partial(lambda a, b, y: scaled(y, a, b), *ab)
    ab[0] = 5.0
    return f(x)


def options_of_a_filter(x, c):
    options = {"sigma": 0.7, "mode": "nearest"}
    f = functools.partial(scipy.ndimage.gaussian_filter, **options)
    return np.sum(f(c * x) ** 2) + np.sum(f(x, order=1) ** 2)


@pytest.mark.parametrize(
    "f",
    [
        options_that_change,
        options_that_change_in_a_loop,
        options_bound_again,
        list_that_changes,
        list_that_grows,
        handed_on,
        options_given_again,
        words_besides,
        of_options,
        array_that_changes,
        options_of_a_filter,
    ],
)
def test_derivatives(f: Any) -> None:
    rng = np.random.default_rng(3)
    v, dc, c = rng.normal(size=3), float(rng.normal()), 0.8
    slope = agreement.slope(f, (X, c), [v, dc])
    x_bar, c_bar = tl.grad(f, wrt=("x", "c"))(X, c)
    assert x_bar @ v + c_bar * dc == pytest.approx(slope, rel=1e-7)
    tangent = tl.jvp(f, (X, c), (v, dc))[1]
    assert tangent == pytest.approx(x_bar @ v + c_bar * dc, rel=1e-12)
    change = (tl.grad(f)(X + 1e-6 * v, c) - tl.grad(f)(X - 1e-6 * v, c)) / 2e-6
    np.testing.assert_allclose(tl.hvp(f)(X, c, v), change, rtol=1e-6, atol=1e-7)
