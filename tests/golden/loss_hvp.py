# for w: float[n, m], b: float[m], x: float[k, n], y: float[k, m]
import numpy as np


def loss_grad_jvp(w, b, x, y, w_dot, b_dot):
    p = np.tanh(x @ w + b)
    p_dot = (1.0 - p * p) * (x @ w_dot + b_dot)
    r = p - y
    r_bar = 2.0 * r
    r_bar_dot = 2.0 * p_dot
    total_bar_dot = (1.0 - p * p) * r_bar_dot - 2.0 * r_bar * (p * p_dot)
    b_bar_dot = np.sum(total_bar_dot, axis=0)
    return x.T @ total_bar_dot, b_bar_dot
