# for w: float[n, m], b: float[m], x: float[k, n], y: float[k, m]
import numpy as np


def loss_grad(w, b, x, y):
    # primal
    p = np.tanh(x @ w + b)
    r = p - y
    # adjoint
    r_bar = 2.0 * r                          # return np.sum(r * r)
    total_bar = r_bar * (1.0 - p * p)        # p = np.tanh(x @ w + b)
    return x.T @ total_bar, np.sum(total_bar, axis=0)
