"""What is written after its last use has no part in a gradient, infinite as it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X, Y = np.array([1.0, 2.0, 10.0]), np.array([0.5, 0.25, 2.0])


def blown_up(x, y):
    y[0] += np.sum(x)
    x[::2] -= 9.0
    x *= np.exp(np.cosh(100 * x))
    return np.mean(y)


def blow_up(x):
    x *= np.exp(np.cosh(100 * x))


def blow_up_and_tell(x):
    x *= np.exp(np.cosh(100 * x))
    return 2.0 * x, x


def by_a_helper(x, y):
    y[0] += np.sum(x)
    blow_up(x)
    return np.mean(y)


def by_a_helper_with_results(x, y):
    z = x * y
    y[0] += np.sum(x) * z[1]
    a, b = blow_up_and_tell(x)
    return np.mean(y * z)


def by_a_helper_in_a_branch(x, y):
    y[0] += np.sum(x)
    if y[0] > 0.0:
        blow_up(x)
    return np.mean(y)


def part_of_an_array(x, y):
    tail = x[1:]
    y[0] += np.sum(x * x)
    blow_up(tail)
    return np.mean(y)


@pytest.mark.parametrize(
    "fn",
    [
        *(blown_up, by_a_helper, by_a_helper_with_results, by_a_helper_in_a_branch),
        part_of_an_array,
    ],
    ids=lambda fn: fn.__name__,
)
def test_gradient_is_finite(fn: Callable[..., Any]) -> None:
    v, u = np.array([1.0, 2.0, -1.0]), np.array([0.5, -0.25, 1.0])
    with np.errstate(all="ignore"):
        expected = agreement.slope(fn, (X, Y), [v, u])
        bars = tl.grad(fn, wrt=("x", "y"))(X, Y)
        _, pullback = tl.vjp(fn, X, Y)
        assert tl.jvp(fn, (X, Y), (v, u))[1] == pytest.approx(expected, rel=1e-6)
    for x_bar, y_bar in (bars, pullback(1.0), pullback(1.0)):
        assert x_bar @ v + y_bar @ u == pytest.approx(expected, rel=1e-6)
