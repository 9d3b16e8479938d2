# for xs: float[:]
from __future__ import annotations

import numpy as np


def running_product_grad(xs: np.ndarray):
    # primal
    y = 1.0
    y_saved = []
    for i in range(len(xs)):
        y_saved.append(y)
        y = y * xs[i]
    # adjoint
    y_bar = 1.0                              # return y
    xs_bar = np.zeros_like(xs)
    for i in reversed(range(len(xs))):
        y = y_saved.pop()
        xs_i_bar, y_bar = y_bar * y, y_bar * xs[i]  # y = y * xs[i]
        xs_bar[i] += xs_i_bar
    return xs_bar
