# for w: float[n, m], b: float[m], x: float[k, n], y: float[k, m], w_dot: float[n, m]
#     b_dot: float[m]
import numpy as np


def loss_grad_jvp_jvp(w, b, x, y, w_dot, b_dot, w_dot2, b_dot2):
    p = np.tanh(x @ w + b)
    p_dot2 = (1.0 - p * p) * (x @ w_dot2 + b_dot2)
    total = x @ w_dot + b_dot
    p_dot = (1.0 - p * p) * total
    p_dot_dot = -2.0 * total * (p * p_dot2)
    r = p - y
    r_bar = 2.0 * r
    r_bar_dot2 = 2.0 * p_dot2
    r_bar_dot = 2.0 * p_dot
    r_bar_dot_dot = 2.0 * p_dot_dot
    product_dot = (1.0 - p * p) * r_bar_dot_dot - 2.0 * r_bar_dot * (p * p_dot2)
    product2 = 2.0 * r_bar
    product2_dot = 2.0 * r_bar_dot2
    product = p * p_dot
    product3_dot = product * product2_dot + product2 * (p_dot * p_dot2 + p * p_dot_dot)
    total_bar_dot_dot = product_dot - product3_dot
    b_bar_dot_dot = np.sum(total_bar_dot_dot, axis=0)
    return x.T @ total_bar_dot_dot, b_bar_dot_dot
