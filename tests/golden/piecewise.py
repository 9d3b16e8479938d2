from __future__ import annotations

import numpy as np


def piecewise_grad(x: float):
    # primal
    if not x > 2.0:
        if not x > 0.0:
            exp_x = np.exp(x)
    # adjoint
    if x > 2.0:
        x_bar = 2.0 * x                      # return x * x
    elif x > 0.0:
        x_bar = 4.0                          # return 4.0 * x - 4.0
    else:
        x_bar = -exp_x                       # return -np.exp(x)
    return x_bar
