"""Rules of NumPy's elementwise functions."""

from __future__ import annotations

import math

import numpy as np

from .book import nondifferentiable, rule
from .kinds_of import comparison, elementwise

# ruff: noqa: F821, F841

# ------------------------------------------------------------- exponentials, logarithms


@rule(np.exp)
def exp(y, x):
    dy_dx = y


@rule(np.exp2)
def exp2(y, x):
    dy_dx = math.log(2.0) * y


@rule(np.expm1)
def expm1(y, x):
    dy_dx = y + 1.0


@rule(np.log)
def log(y, x):
    dy_dx = 1.0 / x


@rule(np.log2)
def log2(y, x):
    dy_dx = 1.0 / (math.log(2.0) * x)


@rule(np.log10)
def log10(y, x):
    dy_dx = 1.0 / (math.log(10.0) * x)


@rule(np.log1p)
def log1p(y, x):
    dy_dx = 1.0 / (1.0 + x)


@rule(np.logaddexp)
def logaddexp(y, a, b):
    dy_da = exp_of_difference(a, y)
    dy_db = exp_of_difference(b, y)


@rule(np.logaddexp2)
def logaddexp2(y, a, b):
    dy_da = exp_of_difference(math.log(2.0) * a, math.log(2.0) * y)
    dy_db = exp_of_difference(math.log(2.0) * b, math.log(2.0) * y)


# ------------------------------------------------------------------------- trigonometry


@rule(np.sin)
def sin(y, x):
    dy_dx = np.cos(x)


@rule(np.cos)
def cos(y, x):
    dy_dx = -np.sin(x)


@rule(np.tan)
def tan(y, x):
    dy_dx = 1.0 + y * y


@rule(np.arcsin)
def arcsin(y, x):
    dy_dx = 1.0 / np.sqrt(1.0 - x * x)


@rule(np.arccos)
def arccos(y, x):
    dy_dx = -1.0 / np.sqrt(1.0 - x * x)


@rule(np.arctan)
def arctan(y, x):
    dy_dx = 1.0 / (1.0 + x * x)


@rule(np.arctan2)
def arctan2(y, a, b):
    r2 = a * a + b * b
    dy_da = ratio_or_zero(b, r2)
    dy_db = -ratio_or_zero(a, r2)


@rule(np.sinh)
def sinh(y, x):
    dy_dx = np.cosh(x)


@rule(np.cosh)
def cosh(y, x):
    dy_dx = np.sinh(x)


@rule(np.tanh)
def tanh(y, x):
    dy_dx = 1.0 - y * y


@rule(np.arcsinh)
def arcsinh(y, x):
    dy_dx = 1.0 / np.sqrt(1.0 + x * x)


@rule(np.arccosh)
def arccosh(y, x):
    # Two roots, because that of x*x - 1 has another branch for complex x.
    dy_dx = 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))


@rule(np.arctanh)
def arctanh(y, x):
    dy_dx = 1.0 / (1.0 - x * x)


@rule(np.sinc)
def sinc(y, x):
    dy_dx = sinc_derivative(x, 1)


@rule(np.deg2rad, np.radians)
def radians(y, x):
    dy_dx = math.pi / 180.0


@rule(np.rad2deg, np.degrees)
def degrees(y, x):
    dy_dx = 180.0 / math.pi


@rule(np.hypot)
def hypot(y, a, b):
    dy_da = ratio_or_zero(a, y)
    dy_db = ratio_or_zero(b, y)


# --------------------------------------------------------------------- roots, reciprocal


@rule(np.sqrt)
def sqrt(y, x):
    dy_dx = 0.5 / y


@rule(np.cbrt)
def cbrt(y, x):
    dy_dx = 1.0 / (3.0 * y * y)


@rule(np.square)
def square(y, x):
    dy_dx = 2.0 * x


@rule(np.reciprocal)
def reciprocal(y, x):
    dy_dx = -y * y


# ------------------------------------------------------------------ larger, smaller, clip


@rule(np.maximum)
def maximum(y, a, b):
    if b == 0:
        dy_da = np.heaviside(a, 0.5)
    else:
        dy_da = greater_share(a, b)
    dy_db = greater_share(b, a)


@rule(np.minimum)
def minimum(y, a, b):
    dy_da = greater_share(b, a)
    dy_db = greater_share(a, b)


@rule(np.fmax)
def fmax(y, a, b):
    dy_da = np.where(np.isnan(b), 1.0, greater_share(a, b))
    dy_db = np.where(np.isnan(a), 1.0, greater_share(b, a))


@rule(np.fmin)
def fmin(y, a, b):
    dy_da = np.where(np.isnan(b), 1.0, greater_share(b, a))
    dy_db = np.where(np.isnan(a), 1.0, greater_share(a, b))
