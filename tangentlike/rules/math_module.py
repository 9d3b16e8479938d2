"""Rules of the module `math`: Python numbers stay Python numbers."""

from __future__ import annotations

import math

from .. import ir
from .book import KindOf, rule
from .kinds_of import any_number, number


@rule(math.exp, kind=number)
def exp(y, x):
    dy_dx = y


@rule("math.exp2", kind=number)
def exp2(y, x):
    dy_dx = math.log(2.0) * y


@rule(math.expm1, kind=number)
def expm1(y, x):
    dy_dx = y + 1.0


@rule(math.log, builder=True, kind=number)
def log(call: ir.Call, kind_of: KindOf) -> str:
    if len(call.args) < 2:
        return "def log(y, x):\n    dy_dx = 1.0 / x\n"
    return (
        "def log(y, x, base):\n"
        "    dy_dx = 1.0 / (math.log(base) * x)\n"
        "    dy_dbase = -(y / (math.log(base) * base))\n"
    )


@rule(math.log2, kind=number)
def log2(y, x):
    dy_dx = 1.0 / (math.log(2.0) * x)


@rule(math.log10, kind=number)
def log10(y, x):
    dy_dx = 1.0 / (math.log(10.0) * x)


@rule(math.log1p, kind=number)
def log1p(y, x):
    dy_dx = 1.0 / (1.0 + x)


@rule(math.sqrt, kind=number)
def sqrt(y, x):
    dy_dx = 0.5 / y


@rule("math.cbrt", kind=number)
def cbrt(y, x):
    dy_dx = 1.0 / (3.0 * y * y)


@rule(math.pow, kind=number)
def power(y, x, p):
    if p == 2:
        dy_dx = 2.0 * x
    else:
        dy_dx = power_slope(x, p)
    dy_dp = y * log_or_zero(x)


# ------------------------------------------------------------------------- trigonometry


@rule(math.sin, kind=number)
def sin(y, x):
    dy_dx = math.cos(x)


@rule(math.cos, kind=number)
def cos(y, x):
    dy_dx = -math.sin(x)


@rule(math.tan, kind=number)
def tan(y, x):
    dy_dx = 1.0 + y * y


@rule(math.asin, kind=number)
def asin(y, x):
    dy_dx = 1.0 / math.sqrt(1.0 - x * x)


@rule(math.acos, kind=number)
def acos(y, x):
    dy_dx = -1.0 / math.sqrt(1.0 - x * x)


@rule(math.atan, kind=number)
def atan(y, x):
    dy_dx = 1.0 / (1.0 + x * x)


@rule(math.atan2, kind=number)
def atan2(y, a, b):
    r2 = a * a + b * b
    dy_da = ratio_or_zero(b, r2)
    dy_db = -ratio_or_zero(a, r2)


@rule(math.sinh, kind=number)
def sinh(y, x):
    dy_dx = math.cosh(x)


@rule(math.cosh, kind=number)
def cosh(y, x):
    dy_dx = math.sinh(x)


@rule(math.tanh, kind=number)
def tanh(y, x):
    dy_dx = 1.0 - y * y


@rule(math.asinh, kind=number)
def asinh(y, x):
    dy_dx = 1.0 / math.sqrt(1.0 + x * x)


@rule(math.acosh, kind=number)
def acosh(y, x):
    dy_dx = 1.0 / math.sqrt(x * x - 1.0)


@rule(math.atanh, kind=number)
def atanh(y, x):
    dy_dx = 1.0 / (1.0 - x * x)


@rule(math.radians, kind=number)
def radians(y, x):
    dy_dx = math.pi / 180.0


@rule(math.degrees, kind=number)
def degrees(y, x):
    dy_dx = 180.0 / math.pi


# ---------------------------------------------------------------- signs, distances, sums


@rule(math.fabs, kind=number)
def fabs(y, x):
    # copysign of 1 or 0: the derivative at 0 is 0.
    dy_dx = math.copysign(x != 0.0, x)


@rule(math.copysign, kind=number)
def copysign(y, a, b):
    dy_da = math.copysign(a != 0.0, a) * math.copysign(1.0, b)
    dy_db = 0.0


@rule(math.fmod, kind=number)
def fmod(y, a, b):
    dy_da = 1.0
    dy_db = -math.trunc(a / b)


@rule(math.remainder, kind=number)
def remainder(y, a, b):
    dy_da = 1.0
    dy_db = -round((a - y) / b)


@rule(math.nextafter, kind=number)
def nextafter(y, x, towards):
    dy_dx = 1.0
    dy_dtowards = 0.0


@rule(math.hypot, builder=True, kind=number)
def hypot(call: ir.Call, kind_of: KindOf) -> str:
    params = [f"x{place}" for place in range(len(call.args))]
    lines = "".join(f"    dy_d{x} = ratio_or_zero({x}, y)\n" for x in params)
    return f"def hypot(y, {', '.join(params)}):\n{lines}    pass\n"


@rule(math.dist, kind=number)
def dist(y, p, q):
    direction = difference_over(p, q, y)
    y_dot = dot_items(direction, p_dot) - dot_items(direction, q_dot)
    p_bar = scale_items(y_bar, direction)
    q_bar = scale_items(-y_bar, direction)


@rule(math.fsum, kind=number)
def fsum(y, xs):
    y_dot = math.fsum(xs_dot)
    xs_bar = sum_items_bar(y_bar, xs)


@rule(math.prod, kind=any_number)
def prod(y, xs, start=1):
    slopes = products_of_others(xs, start)
    y_dot = dot_items(slopes, xs_dot) + math.prod(xs) * start_dot
    xs_bar = scale_items(y_bar, slopes)
    start_bar = y_bar * math.prod(xs)


@rule("math.sumprod", kind=number)
def sumprod(y, p, q):
    y_dot = dot_items(q, p_dot) + dot_items(p, q_dot)
    p_bar = scale_items(y_bar, q)
    q_bar = scale_items(y_bar, p)


@rule("math.fma", kind=number)
def fma(y, a, b, c):
    dy_da = b
    dy_db = a
    dy_dc = 1.0


# -------------------------------------------------------------------- special functions


@rule(math.erf, kind=number)
def erf(y, x):
    dy_dx = 2.0 / math.sqrt(math.pi) * math.exp(-x * x)


@rule(math.erfc, kind=number)
def erfc(y, x):
    dy_dx = -2.0 / math.sqrt(math.pi) * math.exp(-x * x)


@rule(math.gamma, kind=number)
def gamma(y, x):
    dy_dx = y * polygamma(0, x)


@rule(math.lgamma, kind=number)
def lgamma(y, x):
    dy_dx = polygamma(0, x)
