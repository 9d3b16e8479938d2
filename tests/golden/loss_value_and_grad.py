import numpy as np
from tangentlike.runtime import matmul_bar_b, unbroadcast


def loss_value_and_grad(w, b, x, y):
    # primal
    xw = x @ w
    p = np.tanh(xw + b)
    r = p - y
    sum_product = np.sum(r * r)
    # adjoint
    r_bar = 2.0 * r                          # return np.sum(r * r)
    p_bar = unbroadcast(r_bar, p)            # r = p - y
    xw_bar = unbroadcast(p_bar * (1.0 - p * p), xw)  # p = np.tanh(x @ w + b)
    w_bar = matmul_bar_b(xw_bar, x, w)
    return sum_product, w_bar
