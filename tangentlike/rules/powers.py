"""Rules of powers, plain where the exponent is a literal, guarded elsewhere.

The derivative by the base is 0 where the exponent is 0, that by the exponent 0 where the
base is 0; a negative base needs no logarithm unless the exponent is differentiated.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from . import kinds_of
from .book import rule


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
