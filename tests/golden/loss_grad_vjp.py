# for w: float[n, m], b: float[m], x: float[k, n], y: float[k, m]
import numpy as np


def loss_grad_vjp(w, b, x, y, y_bar):
    # primal
    p = np.tanh(x @ w + b)
    r = p - y
    r_bar = 2.0 * r
    difference = 1.0 - p * p
    total_bar = r_bar * difference
    b_bar = np.sum(total_bar, axis=0)
    w_bar = x.T @ total_bar
    # adjoint
    total_bar_bar = x @ y_bar[0] + y_bar[1]  # b_bar = np.sum(total_bar, axis=0)
    # total_bar = r_bar * (1.0 - p * p)
    r_bar_bar, p_bar = total_bar_bar * difference, -2.0 * (total_bar_bar * r_bar) * p
    r_bar2 = 2.0 * r_bar_bar                 # r_bar = 2.0 * r
    p_bar += r_bar2                          # r = p - y
    total_bar2 = p_bar * (1.0 - p * p)       # p = np.tanh(x @ w + b)
    return (w_bar, b_bar), (x.T @ total_bar2, np.sum(total_bar2, axis=0))
