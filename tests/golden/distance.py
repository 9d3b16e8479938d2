from __future__ import annotations

import numpy as np


def distance_value_and_grad(p: float, q: float):
    sqrt_total = np.sqrt(p * p + q * q)
    return sqrt_total, (p / sqrt_total, q / sqrt_total)
