from __future__ import annotations

import numpy as np


def normalise_grad(x: np.ndarray):
    # primal
    x2 = x - np.mean(x)
    sqrt_total = np.sqrt(np.mean(x2 * x2) + 1e-6)
    x3 = x2 / sqrt_total
    # adjoint
    x_bar = 3.0 * x3**2                      # return np.sum(x**3)
    x_bar = x_bar / sqrt_total               # x = x / np.sqrt(np.mean(x * x) + 1e-6)
    x_bar -= np.sum(x_bar * x3) / sqrt_total / np.size(x) * x2
    x_bar -= np.sum(x_bar) / x.size          # x = x - np.mean(x)
    return x_bar
