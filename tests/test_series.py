"""Polynomials and series that are objects: made, evaluated, derived and integrated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Legendre, Polynomial

import tangentlike as tl
from tests.sampled import one_in

C, X = np.array([0.3, 0.7, 0.4, 0.9]), np.array([0.2, 0.5])


def evaluated(c: Any, x: Any) -> Any:
    p = np.poly1d(c)
    return p(x) * p(0.5)


def derived(c: Any, x: Any) -> Any:
    slope = np.poly1d(c).deriv()
    s = 0.0
    for v in x:
        s = s + slope(v) * slope.integ()(v)
    return s + np.sum(slope.deriv(1)(x))


def from_low_to_high(c: Any, x: Any) -> Any:
    p = Polynomial(c)
    return p(x) + p.integ()(x) ** 2


def of_other_families(c: Any, x: Any) -> Any:
    return Chebyshev(c)(x) * np.polynomial.Legendre([c[0], 0.5, c[1]])(x) + Legendre(c)(x)


def constant_one(c: Any, x: Any) -> Any:
    p = np.poly1d([1.0, 2.0, 0.5])
    return p(x) * c[0]


FUNCTIONS = (evaluated, derived, from_low_to_high, of_other_families, constant_one)


@pytest.mark.parametrize("f", one_in(2, FUNCTIONS), ids=lambda f: f.__name__)
def test_right(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (C, X), order=2 if f is evaluated else 1)
    v = np.cos(C)
    gradient = tl.grad(lambda c: np.sum(f(c, X)))
    curve = (gradient(C + 1e-5 * v) - gradient(C - 1e-5 * v)) @ v / 2e-5
    np.testing.assert_allclose(tl.hvp(lambda c: np.sum(f(c, X)))(C, v) @ v, curve, rtol=1e-6)


def slope_of_series(c: Any, x: Any) -> Any:
    return Polynomial(c).deriv()(x)


def test_derivative_of_a_series() -> None:
    tl.check_grads(slope_of_series, (C, X))


def multiplied(c: Any, x: Any) -> Any:
    p = np.poly1d(c)
    return (p * p)(x)


def test_other_uses_are_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match=r"no derivative rule for np.poly1d[^^]*\^"):
        tl.grad(multiplied)(np.ones(3), 0.5)
