from __future__ import annotations

import numpy as np


def distance_value_and_grad(p: float, q: float):
    # primal
    sqrt_total = np.sqrt(p * p + q * q)
    # adjoint
    q_bar, p_bar = q / sqrt_total, p / sqrt_total  # return np.sqrt(p * p + q * q)
    return sqrt_total, (p_bar, q_bar)
