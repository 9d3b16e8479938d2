"""Rules of Python's operators and built-in functions."""

from __future__ import annotations

import operator

import numpy as np

from .book import nondifferentiable, rule
from .kinds_of import elementwise, matmul as matmul_kind

# ruff: noqa: F821, F841

# --------------------------------------------------------------------------- arithmetic


@rule(operator.add, operator.iadd, np.add)
def add(y, a, b):
    if is_sequence(a) or is_sequence(b):
        y_dot = a_dot + b_dot
        a_bar = y_bar[: len(a)]
        b_bar = y_bar[len(a) :]
    else:
        dy_da = 1.0
        dy_db = 1.0


@rule(operator.sub, operator.isub, np.subtract)
def subtract(y, a, b):
    dy_da = 1.0
    dy_db = -1.0


@rule(operator.mul, operator.imul, np.multiply)
def multiply(y, a, b):
    dy_da = b
    dy_db = a


@rule(operator.truediv, operator.itruediv, np.divide)
def divide(y, a, b):
    dy_da = 1.0 / b
    dy_db = -(y / b)


@rule(operator.neg, np.negative)
def negative(y, x):
    dy_dx = -1.0


@rule(operator.pos, np.positive)
def positive(y, x):
    dy_dx = 1.0
