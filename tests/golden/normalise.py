from __future__ import annotations

import numpy as np
from tangentlike.runtime import unbroadcast


def normalise_grad(x: np.ndarray):
    # primal
    mean_x = np.mean(x)
    x2 = x - mean_x
    sqrt_total = np.sqrt(np.mean(x2 * x2) + 1e-06)
    x3 = x2 / sqrt_total
    # adjoint
    x_bar = 3.0 * x3**2                      # return np.sum(x**3)
    x_bar = x_bar / sqrt_total               # x = x / np.sqrt(np.mean(x * x) + 1e-6)
    sqrt_total_bar = unbroadcast(-x_bar * x3, sqrt_total)
    x_bar += 2.0 * (0.5 * sqrt_total_bar / sqrt_total / np.size(x)) * x2
    x_bar -= unbroadcast(x_bar, mean_x) / x.size  # x = x - np.mean(x)
    return x_bar
