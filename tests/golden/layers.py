import numpy as np
from tangentlike.runtime import (
    add_at, matmul_bar_a, matmul_bar_b, unbroadcast, zeros_like,
)


def layers_grad(weights, x):
    # primal
    xw_saved = []
    x_saved = []
    for w, b in weights:
        xw = x @ w
        xw_saved.append(xw)
        x_saved.append(x)
        x = np.tanh(xw + b)
    # adjoint
    weights_bar = zeros_like(weights)
    x_bar = np.ones_like(x)
    for i in reversed(range(len(weights))):
        w, b = weights[i]
        xw = xw_saved.pop()                  # x = np.tanh(x @ w + b)
        total_bar = x_bar * (1.0 - x * x)
        x = x_saved.pop()
        xw_bar = unbroadcast(total_bar, xw)
        b_bar = unbroadcast(total_bar, b)
        x_bar = matmul_bar_a(xw_bar, x, w)
        w_bar = matmul_bar_b(xw_bar, x, w)
        weights_bar[i][0] += w_bar
        add_at(weights_bar[i], 1, b_bar)
    return weights_bar
