import numpy as np
from tangentlike.runtime import (
    add_at, matmul_bar_a, matmul_bar_b, unbroadcast, zeros_like,
)


def layers_grad(weights, x):
    # primal
    x_saved = []
    for w, b in weights:
        x_saved.append(x)
        x = np.tanh(x @ w + b)
    # adjoint
    weights_bar, x_bar = zeros_like(weights), np.ones_like(x)
    for i in reversed(range(len(weights))):
        w, b = weights[i]
        total_bar = x_bar * (1.0 - x * x)    # x = np.tanh(x @ w + b)
        x = x_saved.pop()
        b_bar = unbroadcast(total_bar, b)
        x_bar = matmul_bar_a(total_bar, x, w)
        w_bar = matmul_bar_b(total_bar, x, w)
        weights_bar[i][0] += w_bar
        add_at(weights_bar[i], 1, b_bar)
    return weights_bar
