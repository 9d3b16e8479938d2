"""Special functions that derivatives of the module `math` need and `math` lacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# Bernoulli numbers B_2, B_4, ... of the asymptotic series.
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
_ASYMPTOTIC_FROM = 18.0


def polygamma(order: int, x: float) -> float:
    """The derivative of `log(gamma(x))` of order `order + 1`, for a real `x`.

    Upwards by the recurrence to where the asymptotic series holds to double precision.
    nan at the poles 0, -1, -2, ...
    """
    if x <= 0 and x == math.floor(x):
        return math.nan
    sign = -1.0 if order % 2 else 1.0
    total, factorial = 0.0, math.factorial(order)
    while x < _ASYMPTOTIC_FROM + order:
        total -= sign * factorial / x ** (order + 1)
        x += 1.0
    return total + _asymptotic(order, x)


def _asymptotic(order: int, x: float) -> float:
    if order == 0:
        series = math.log(x) - 0.5 / x
        for k, b in enumerate(_BERNOULLI, 1):
            series -= b / (2 * k * x ** (2 * k))
        return series
    series = math.factorial(order - 1) / x**order + math.factorial(order) / (2 * x ** (order + 1))
    for k, b in enumerate(_BERNOULLI, 1):
        rising = math.factorial(2 * k + order - 1) / math.factorial(2 * k)
        series += b * rising / x ** (2 * k + order)
    return -series if order % 2 == 0 else series


_NODES = 256  # exact to double precision up to where the function overflows


def bessel_i(order: int, x: Any) -> Any:
    """The modified Bessel function of the first kind of integer order.

    The mean of `exp(x cos t) cos(order t)` over a period, by the trapezoidal rule, which
    converges exponentially for a periodic integrand.

    >>> bool(np.isclose(bessel_i(0, 1.5), np.i0(1.5), rtol=1e-14))
    True
    """
    t = 2.0 * np.pi * np.arange(_NODES) / _NODES
    values = np.exp(np.expand_dims(x, -1) * np.cos(t)) * np.cos(order * t)
    return np.mean(values, axis=-1)
