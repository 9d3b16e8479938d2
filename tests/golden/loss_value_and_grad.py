import numpy as np
from tangentlike.runtime import matmul_bar_b, unbroadcast


def loss_value_and_grad(w, b, x, y):
    # primal
    p = np.tanh(x @ w + b)
    r = p - y
    # adjoint
    r_bar = 2.0 * r                          # return np.sum(r * r)
    p_bar = unbroadcast(r_bar, p)            # r = p - y
    # p = np.tanh(x @ w + b)
    return np.sum(r * r), matmul_bar_b(p_bar * (1.0 - p * p), x, w)
