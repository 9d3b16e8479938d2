"""Rules of NumPy's elementwise functions."""

from __future__ import annotations

import cmath
import math
import operator

import numpy as np

from .. import ir
from ..ir.kind import Kind
from . import kinds_of
from .book import KindOf, rule
from .kinds_of import any_number, elementwise, float_elementwise, number, unknown
from .tables import partials

# ------------------------------------------------------------- exponentials, logarithms


partials(
    {
        "np.exp": "y",
        "np.exp2": "math.log(2.0) * y",
        "np.expm1": "y + 1.0",
        "np.log": "1.0 / x",
        "np.log2": "1.0 / (math.log(2.0) * x)",
        "np.log10": "1.0 / (math.log(10.0) * x)",
        "np.log1p": "1.0 / (1.0 + x)",
        "np.logaddexp(a, b)": ("exp_of_difference(a, y)", "exp_of_difference(b, y)"),
        "np.logaddexp2(a, b)": (
            "exp_of_difference(math.log(2.0) * a, math.log(2.0) * y)",
            "exp_of_difference(math.log(2.0) * b, math.log(2.0) * y)",
        ),
        # trigonometry
        "np.sin": "np.cos(x)",
        "np.cos": "-np.sin(x)",
        "np.tan": "1.0 + y * y",
        "np.arctan": "1.0 / (1.0 + x * x)",
        "np.sinh": "np.cosh(x)",
        "np.cosh": "np.sinh(x)",
        "np.tanh": "1.0 - y * y",
        "np.arcsinh": "1.0 / np.sqrt(1.0 + x * x)",
        "np.arctanh": "1.0 / (1.0 - x * x)",
        "np.sinc": "sinc_derivative(x, 1)",
        "np.deg2rad": "math.pi / 180.0",
        "np.radians": "math.pi / 180.0",
        "np.rad2deg": "180.0 / math.pi",
        "np.degrees": "180.0 / math.pi",
        "np.hypot(a, b)": ("ratio_or_zero(a, y)", "ratio_or_zero(b, y)"),
        # roots, reciprocal
        "np.sqrt": "0.5 / y",
        "np.cbrt": "1.0 / (3.0 * y * y)",
        "np.square": "2.0 * x",
        "np.reciprocal": "-y * y",
        # larger, smaller, clip
        "np.fmax(a, b)": (
            "np.where(np.isnan(b), 1.0, greater_share(a, b))",
            "np.where(np.isnan(a), 1.0, greater_share(b, a))",
        ),
        "np.fmin(a, b)": (
            "np.where(np.isnan(b), 1.0, greater_share(b, a))",
            "np.where(np.isnan(a), 1.0, greater_share(a, b))",
        ),
        # remainders and signs
        "np.fmod(a, b)": ("1.0", "-np.trunc(a / b)"),
        "np.fabs": "np.sign(x)",
        "np.heaviside(x, at_zero)": ("0.0", "x == 0"),
        "np.ldexp(x, exponent)": ("2.0**exponent", "0.0"),
        "math.ldexp(x, exponent)": ("2.0**exponent", "0.0"),
        "np.nextafter(x, towards)": ("1.0", "0.0"),
        # several results in a tuple
        "np.i0": "bessel_i(1, x)",
        "bessel_i(order, x)": "0.5 * (bessel_i(order - 1, x) + bessel_i(order + 1, x))",
    }
)


# ------------------------------------------------------------------------- trigonometry


@rule(np.arcsin)
def arcsin(y, x):
    # The root has one sign on the branch cut, where complex results have either.
    if is_real(x):
        dy_dx = 1.0 / np.sqrt(1.0 - x * x)
    else:
        dy_dx = 1.0 / np.cos(y)


@rule(np.arccos)
def arccos(y, x):
    if is_real(x):
        dy_dx = -1.0 / np.sqrt(1.0 - x * x)
    else:
        dy_dx = -1.0 / np.sin(y)


@rule(np.arctan2)
def arctan2(y, a, b):
    r2 = a * a + b * b
    dy_da = ratio_or_zero(b, r2)
    dy_db = -ratio_or_zero(a, r2)


@rule(np.arccosh)
def arccosh(y, x):
    # Two roots, because that of x*x - 1 has another branch for complex x.
    dy_dx = 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))


# ------------------------------------------------------------------ larger, smaller, clip


@rule(np.maximum)
def maximum(y, a, b):
    if b == 0:
        dy_da = np.heaviside(a, 0.5)
    elif is_literal(b):
        dy_da = np.heaviside(a - b, 0.5)
    else:
        dy_da = greater_share(a, b)
    if a == 0:
        dy_db = np.heaviside(b, 0.5)
    elif is_literal(a):
        dy_db = np.heaviside(b - a, 0.5)
    else:
        dy_db = greater_share(b, a)


@rule(np.minimum)
def minimum(y, a, b):
    if b == 0:
        dy_da = np.heaviside(-a, 0.5)
    elif is_literal(b):
        dy_da = np.heaviside(b - a, 0.5)
    else:
        dy_da = greater_share(b, a)
    if a == 0:
        dy_db = np.heaviside(-b, 0.5)
    elif is_literal(a):
        dy_db = np.heaviside(a - b, 0.5)
    else:
        dy_db = greater_share(a, b)


@rule(np.clip, np.ndarray.clip)
def clip(y, a, a_min=None, a_max=None):
    if a_min is None and a_max is None:
        dy_da = 1.0
        dy_da_min = 0.0
        dy_da_max = 0.0
    elif a_min is None and a_max is not None:
        dy_da = a <= a_max
        dy_da_min = 0.0
        dy_da_max = a > a_max
    elif a_max is None and a_min is not None:
        dy_da = a >= a_min
        dy_da_min = a < a_min
        dy_da_max = 0.0
    elif a_min is not None and a_max is not None:
        dy_da = (a >= a_min) & (a <= a_max)
        dy_da_min = (a < a_min) & (a_min <= a_max)
        dy_da_max = (a > a_max) | (a_min > a_max)
    else:  # either may be None when it runs, which nothing is compared with then
        dy_da = y == a
        dy_da_min = (y == a_min) & (y != a)
        dy_da_max = (y == a_max) & (y != a) & (y != a_min)


# ------------------------------------------------------------------- remainders and signs


@rule(np.remainder, operator.mod, operator.imod)
def remainder(y, a, b):
    dy_da = 1.0
    dy_db = -(a // b)


@rule(np.copysign)
def copysign(y, a, b):
    # The sign of b decides alone; at a = 0 the derivative is 0, as that of abs.
    dy_da = np.sign(a) * np.copysign(1.0, b)
    dy_db = 0.0


@rule(np.nan_to_num)
def nan_to_num(y, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if copy is True:
        y_dot = np.where(np.isfinite(x), x_dot, 0.0) + np.isnan(x) * nan_dot
        x_bar = np.isfinite(x) * y_bar
        nan_bar = unbroadcast(np.isnan(x) * y_bar, nan)


@rule(np.unwrap)
def unwrap(y, p, discont=None, axis=-1, period=6.283185307179586):
    dy_dp = 1.0


# ------------------------------------------------------------- several results in a tuple


def _pair(call: ir.Call, kind_of: KindOf) -> Kind:
    parts = elementwise(call, kind_of)
    return Kind("tuple", items=(parts, parts))


@rule(np.modf, math.modf, kind=_pair)
def modf(y, x):
    y_dot = (x_dot, zeros_like(x))
    x_bar = y_bar[0]


@rule(np.divmod, divmod, kind=_pair)
def divmod_(y, a, b):
    y_dot = (zeros_like(y[0]), broadcast_like(a_dot - y[0] * b_dot, y[1]))
    a_bar = unbroadcast(y_bar[1], a)
    b_bar = unbroadcast(-(y_bar[1] * y[0]), b)


@rule(np.frexp, math.frexp, kind=_pair)
def frexp(y, x):
    y_dot = (x_dot * 2.0 ** -y[1], zeros_like(y[1]))
    x_bar = y_bar[0] * 2.0 ** -y[1]


@rule(np.real_if_close, view="maybe", kind=unknown)
def real_if_close(y, a, tol=100):
    # Of complex values the data decide whether the result is real: refused.
    if is_real(a):
        y_dot = a_dot
        a_bar = y_bar


# --------------------------------------------------------------------------------------------------
# Rules of powers, plain where the exponent is a literal, guarded elsewhere.
#
# The derivative by the base is 0 where the exponent is 0, that by the exponent 0 where the
# base is 0; a negative base needs no logarithm unless the exponent is differentiated.


@rule(operator.pow, operator.ipow, np.power, np.float_power, pow, kind=kinds_of.power)
def power(y, x, p):
    if p == 0:
        dy_dx = 0.0
    elif p == 1:
        dy_dx = 1.0
    elif p == 2:
        dy_dx = 2.0 * x
    elif p == 0.5:
        dy_dx = 0.5 / y
    elif p == -1:
        dy_dx = -(y * y)
    elif p > 0:
        dy_dx = 1.0 * p * x ** (p - 1)
    elif p < 0:
        dy_dx = 1.0 * p * y / x
    else:
        dy_dx = power_slope(x, p)
    if x > 0:
        dy_dp = y * math.log(x)
    else:
        dy_dp = y * log_or_zero(x)


# --------------------------------------------------------------------------------------------------
# Rules that tell complex from real values.
#
# The adjoint of a complex z = u + i v, for a real loss L, is `z_bar = dL/du + i dL/dv`; hence a
# holomorphic f adds `conj(f'(z)) * y_bar`, and a real argument takes the real part of what
# it gets.
#
# The adjoint of a real value may come with an imaginary part that means nothing (its part of
# `np.concatenate([r, z])`). Real operations keep it apart; an operation that is real of complex
# arguments drops it: `np.real(y_bar)`, which is `y_bar` where no argument can be complex.


@rule(abs, np.absolute, kind=float_elementwise)
def absolute(y, x):
    if is_real(x):
        dy_dx = np.sign(x)
    else:
        unit = ratio_or_zero(x, y)
        y_dot = np.real(np.conj(unit) * x_dot)
        x_bar = np.real(y_bar) * unit


@rule(np.sign)
def sign(y, x):
    if is_real(x):
        dy_dx = 0.0
    else:
        # z / |z| changes only across the direction of z.
        size = np.abs(x)
        y_dot = ratio_or_zero(x_dot - y * np.real(np.conj(y) * x_dot), size)
        x_bar = ratio_or_zero(y_bar - y * np.real(np.conj(y) * y_bar), size)


@rule(np.real, np.ndarray.real, view="maybe", kind=float_elementwise)
def real(y, x):
    y_dot = np.real(x_dot)
    if is_complex(x):
        x_bar = np.real(y_bar) + 0j
    else:
        x_bar = adjoint_of_real(y_bar, x)


@rule(np.imag, np.ndarray.imag, view="maybe", kind=float_elementwise)
def imag(y, x):
    y_dot = np.imag(x_dot)
    if is_complex(x):
        x_bar = 1j * np.real(y_bar)
    else:
        x_bar = adjoint_of_imag(y_bar, x)


@rule(np.conjugate, kind=elementwise)
def conjugate(y, x):
    y_dot = np.conj(x_dot)
    x_bar = np.conj(y_bar)


def _conjugated(call, kind_of):
    """A real array is this itself; of a complex one of rank 0 it is a number."""
    kind = elementwise(call, kind_of)
    if kind.form != "array" or kind.rank or kind.dtype in ("float", "int", "bool"):
        return kind
    number = kind.rank == 0 and kind.dtype == "complex"
    return Kind("number" if number else "value", kind.dtype, kind.shape)


@rule(np.ndarray.conj, np.ndarray.conjugate, view="maybe", kind=_conjugated)
def conjugate_method(y, x):
    # The method returns a real array itself, not a copy.
    y_dot = x_dot.conjugate()
    x_bar = np.conj(y_bar)


@rule(np.angle, kind=float_elementwise)
def angle(y, z, deg=False):
    if deg:
        slope = (180.0 / math.pi) * ratio_or_zero(z, np.abs(z) ** 2)
    else:
        slope = ratio_or_zero(z, np.abs(z) ** 2)
    y_dot = np.imag(np.conj(slope) * z_dot)
    z_bar = cast_like(1j * np.real(y_bar) * slope, z)


def _complex(call: object, kind_of: KindOf) -> Kind:
    return Kind("number", "complex", ())


@rule(complex, kind=_complex)
def complex_(y, re, im=0.0):
    dy_dre = 1.0
    dy_dim = 1j


# --------------------------------------------------------------------------------------------------
# Rules of the modules `cmath` and `math`: Python numbers stay Python numbers.

partials(
    {
        "cmath.exp": "y",
        "cmath.log": "1.0 / x",
        "cmath.log10": "1.0 / (math.log(10.0) * x)",
        "cmath.sqrt": "0.5 / y",
        "cmath.sin": "cmath.cos(x)",
        "cmath.cos": "-cmath.sin(x)",
        "cmath.tan": "1.0 + y * y",
        "cmath.asin": "1.0 / cmath.cos(y)",
        "cmath.acos": "-1.0 / cmath.sin(y)",
        "cmath.atan": "1.0 / (1.0 + x * x)",
        "cmath.sinh": "cmath.cosh(x)",
        "cmath.cosh": "cmath.sinh(x)",
        "cmath.tanh": "1.0 - y * y",
        "cmath.asinh": "1.0 / cmath.cosh(y)",
        "cmath.acosh": "1.0 / cmath.sinh(y)",
        "cmath.atanh": "1.0 / (1.0 - x * x)",
        "cmath.rect(r, phi)": ("cmath.rect(1.0, phi)", "1j * y"),
    },
    kind=_complex,
)


@rule(cmath.phase, kind=number)
def phase(y, z):
    slope = ratio_or_zero(z, np.abs(z) ** 2)
    y_dot = np.imag(np.conj(slope) * z_dot)
    z_bar = cast_like(1j * np.real(y_bar) * slope, z)


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
def power_of_numbers(y, x, p):
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
