from __future__ import annotations

import numpy as np


def distance_value_and_grad(p: float, q: float):
    # primal
    sqrt_total = np.sqrt(p * p + q * q)
    # adjoint
    total_bar = 0.5 / sqrt_total             # return np.sqrt(p * p + q * q)
    q_bar = 2.0 * total_bar * q
    p_bar = 2.0 * total_bar * p
    return sqrt_total, (p_bar, q_bar)
