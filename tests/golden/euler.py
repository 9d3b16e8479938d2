from __future__ import annotations

import numpy as np


def euler_grad(x0: float, k: float, n: int):
    # primal
    x = x0
    saved = []
    for _ in range(n):
        sin_x = np.sin(x)
        saved.append((sin_x, x))
        x = x + 0.01 * (k * x - x * x * sin_x)
    # adjoint
    x_bar = 1.0                              # return x
    k_bar = 0.0
    for sin_x, x in reversed(saved):
        # x = x + 0.01 * (k * x - x * x * np.sin(x))
        difference_bar = 0.01 * x_bar
        product_bar = -difference_bar
        x_bar += product_bar * (x * x) * np.cos(x) + 2.0 * (product_bar * sin_x) * x
        k_bar += difference_bar * x
        x_bar += difference_bar * k
    return x_bar, k_bar
