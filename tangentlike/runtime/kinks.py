"""Partials with a guard: finite where the mathematics is, and silent about it.

Each function is again differentiable by a rule, to any order.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np


def greater_share(a: Any, b: Any) -> Any:
    """What `a` gets of the adjoint of `maximum(a, b)`: 1 if it is greater, half of a tie."""
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return 1.0 if a > b else 0.5 if a == b else 0.0
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        raise TypeError(
            "max and min of two tuples or lists have no derivative here: put the two into one "
            "list, as in max([a, b])"
        )
    dtype = np.result_type(a, b)
    if type(a) is np.ndarray or type(b) is np.ndarray:  # (ties are rare, and looking is cheap)
        share = np.greater(a, b).astype(dtype if dtype.kind == "f" else float)
        ties = np.equal(a, b)
        return np.where(ties, share.dtype.type(0.5), share) if ties.any() else share
    share = np.where(a == b, 0.5, np.where(a > b, 1.0, 0.0))
    return share.astype(dtype) if dtype.kind == "f" and dtype != share.dtype else share


def reciprocal_or_zero(x: Any) -> Any:
    """`1 / x`, and 0 at 0."""
    if isinstance(x, (float, int, complex)):
        return 1.0 / x if x != 0 else 0.0
    return np.where(x == 0, 0.0, 1.0 / np.where(x == 0, 1.0, x))


def ratio_or_zero(a: Any, b: Any) -> Any:
    """`a / b`, and 0 where `b` is 0."""
    if isinstance(b, (float, int, complex)):
        return a / b if b != 0 else 0.0 * a
    return np.where(b == 0, 0.0, a / np.where(b == 0, 1.0, b))


def log_or_zero(x: Any) -> Any:
    """`log(x)`, 0 at 0, and nan for negative numbers; no warnings."""
    if isinstance(x, (float, int)):
        return math.log(x) if x > 0 else 0.0 if x == 0 else math.nan
    if isinstance(x, complex):
        return cmath.log(x) if x != 0 else 0.0
    with np.errstate(invalid="ignore"):
        return np.log(np.where(x == 0, 1.0, x))


def times_log(s: Any, t: Any, x: Any) -> Any:
    """`s * t * log(x)`, 0 where `s`, `t` or `x` is 0, also of a negative `x`: nothing comes of an
    exponent that does not vary, as one that stands in a container of what does."""
    product = s * t
    if isinstance(product, (float, int, complex)):
        return product * log_or_zero(x) if product != 0 else product * 0.0
    with np.errstate(invalid="ignore"):
        return np.where(product == 0, 0.0, product * log_or_zero(x))[()]


def power_slope(x: Any, p: Any) -> Any:
    """`p * x**(p - 1)`, the derivative of a power by its base; 0 where `p` is 0."""
    if isinstance(p, (float, int)):
        if p == 0:
            return 0.0 * x
        if isinstance(x, (float, int)):
            try:
                return p * x ** (p - 1.0)
            except ZeroDivisionError:  # Python raises where arrays have inf
                return math.copysign(math.inf, p)
        with np.errstate(divide="ignore"):
            return p * x ** (p - 1.0)
    p = np.asarray(p) if isinstance(p, (list, tuple)) else p
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p == 0, 0.0, p * np.power(x, p - 1.0))


def exp_of_difference(a: Any, y: Any) -> Any:
    """`exp(a - y)`, also where both are infinite: 1 for inf, 1/2 for -inf.

    The weight of `a` in `y = logaddexp(a, b)`; two operands of -inf share equally.
    """
    with np.errstate(invalid="ignore"):
        weight = np.exp(a - y)
    tie = np.isinf(y) & (a == y)
    if not isinstance(tie, np.ndarray) and isinstance(tie, (bool, np.bool_)):
        return (1.0 if a > 0 else 0.5) if tie else weight
    return np.where(tie, np.where(a > 0, 1.0, 0.5), weight).astype(weight.dtype)


def logistic(one: Any, m: Any) -> Any:
    """`one / (one + np.exp(m))`."""
    return one / (one + np.exp(m))


def log_ratio(a: Any, b: Any) -> Any:
    """`np.log(a / b)`."""
    return np.log(a / b)


_SERIES_BELOW = 0.5  # in units of pi * x; the recurrence loses digits below
_SERIES_TERMS = 12


def sinc_derivative(x: Any, order: int) -> Any:
    """The derivative of `np.sinc` of a given order, exact at 0.

    From `sinc(x) = integral of cos(pi x t) over 0 <= t <= 1`: away from 0 by
    `t s_n = sin(t + n pi/2) - n s_(n-1)` with t = pi x, near 0 by the power series.
    """
    t = math.pi * x
    small = abs(t) < _SERIES_BELOW + order
    away = np.where(small, 1.0, t)
    found = np.sin(away) / away
    for n in range(1, order + 1):
        found = (np.sin(away + n * math.pi / 2.0) - n * found) / away
    near = np.where(small, t, 0.0)
    series = 0.0 * near
    # Terms (-1)^k t^(2k) / (2k+1)!, differentiated `order` times.
    first = (order + 1) // 2
    for k in range(first, first + _SERIES_TERMS + 2 * order):
        falling = math.factorial(2 * k) // math.factorial(2 * k - order)
        factor = (-1.0) ** k * falling / math.factorial(2 * k + 1)
        series = series + factor * near ** (2 * k - order)
    return math.pi**order * np.where(small, series, found)


# --------------------------------------------------------------------------------------------------
# Special functions that derivatives of the module `math` need and `math` lacks.


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
