import numpy as np
from tangentlike.runtime import matmul_bar_b, unbroadcast


def loss_grad(w, b, x, y):
    # primal
    p = np.tanh(x @ w + b)
    r = p - y
    # adjoint
    r_bar = 2.0 * r                          # return np.sum(r * r)
    p_bar = unbroadcast(r_bar, p)            # r = p - y
    total_bar = p_bar * (1.0 - p * p)        # p = np.tanh(x @ w + b)
    return matmul_bar_b(total_bar, x, w), unbroadcast(total_bar, b)
