"""Rules of the module `math`: Python numbers stay Python numbers."""

from __future__ import annotations

import math

from .. import ir
from .book import KindOf, rule
from .kinds_of import any_number, number
from .tables import partials

partials(
    {
        "math.exp": "y",
        "math.exp2": "math.log(2.0) * y",
        "math.expm1": "y + 1.0",
        "math.log2": "1.0 / (math.log(2.0) * x)",
        "math.log10": "1.0 / (math.log(10.0) * x)",
        "math.log1p": "1.0 / (1.0 + x)",
        "math.sqrt": "0.5 / y",
        "math.cbrt": "1.0 / (3.0 * y * y)",
        # trigonometry
        "math.sin": "math.cos(x)",
        "math.cos": "-math.sin(x)",
        "math.tan": "1.0 + y * y",
        "math.asin": "1.0 / math.sqrt(1.0 - x * x)",
        "math.acos": "-1.0 / math.sqrt(1.0 - x * x)",
        "math.atan": "1.0 / (1.0 + x * x)",
        "math.sinh": "math.cosh(x)",
        "math.cosh": "math.sinh(x)",
        "math.tanh": "1.0 - y * y",
        "math.asinh": "1.0 / math.sqrt(1.0 + x * x)",
        "math.acosh": "1.0 / math.sqrt(x * x - 1.0)",
        "math.atanh": "1.0 / (1.0 - x * x)",
        "math.radians": "math.pi / 180.0",
        "math.degrees": "180.0 / math.pi",
        # signs, distances, sums
        "math.copysign(a, b)": ("math.copysign(a != 0.0, a) * math.copysign(1.0, b)", "0.0"),
        "math.fmod(a, b)": ("1.0", "-math.trunc(a / b)"),
        "math.remainder(a, b)": ("1.0", "-round((a - y) / b)"),
        "math.nextafter(x, towards)": ("1.0", "0.0"),
        "math.fma(a, b, c)": ("b", "a", "1.0"),
        # special functions
        "math.erf": "2.0 / math.sqrt(math.pi) * math.exp(-x * x)",
        "math.erfc": "-2.0 / math.sqrt(math.pi) * math.exp(-x * x)",
        "math.gamma": "y * polygamma(0, x)",
        "math.lgamma": "polygamma(0, x)",
    },
    kind=number,
)


@rule(math.log, builder=True, kind=number)
def log(call: ir.Call, kind_of: KindOf) -> str:
    if len(call.args) < 2:
        return "def log(y, x):\n    dy_dx = 1.0 / x\n"
    return (
        "def log(y, x, base):\n"
        "    dy_dx = 1.0 / (math.log(base) * x)\n"
        "    dy_dbase = -(y / (math.log(base) * base))\n"
    )


@rule(math.pow, kind=number)
def power(y, x, p):
    if p == 2:
        dy_dx = 2.0 * x
    else:
        dy_dx = power_slope(x, p)
    dy_dp = y * log_or_zero(x)


# ------------------------------------------------------------------------- trigonometry


@rule(math.atan2, kind=number)
def atan2(y, a, b):
    r2 = a * a + b * b
    dy_da = ratio_or_zero(b, r2)
    dy_db = -ratio_or_zero(a, r2)


# ---------------------------------------------------------------- signs, distances, sums


@rule(math.fabs, kind=number)
def fabs(y, x):
    # copysign of 1 or 0: the derivative at 0 is 0.
    dy_dx = math.copysign(x != 0.0, x)


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


# -------------------------------------------------------------------- special functions
