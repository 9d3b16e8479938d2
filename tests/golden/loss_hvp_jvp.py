import numpy as np


def loss_grad_jvp_jvp(w, b, x, y, w_dot, b_dot, w_dot2, b_dot2):
    p = np.tanh(x @ w + b)
    p_dot2 = (1.0 - p * p) * (x @ w_dot2 + b_dot2)
    total2 = x @ w_dot + b_dot
    p_dot = (1.0 - p * p) * total2
    p_dot_dot = -2.0 * total2 * (p * p_dot2)
    r = p - y
    r_bar = 2.0 * r
    r_bar_dot2 = 2.0 * p_dot2
    r_bar_dot = 2.0 * p_dot
    r_bar_dot_dot = 2.0 * p_dot_dot
    product4_dot = (1.0 - p * p) * r_bar_dot_dot - 2.0 * r_bar_dot * (p * p_dot2)
    product5 = 2.0 * r_bar
    product5_dot = 2.0 * r_bar_dot2
    product6 = p * p_dot
    product7_dot = product6 * product5_dot + product5 * (p_dot * p_dot2 + p * p_dot_dot)
    total_bar_dot_dot = product4_dot - product7_dot
    b_bar_dot_dot = np.sum(total_bar_dot_dot, axis=0)
    w_bar_dot_dot = x.T @ total_bar_dot_dot
    return w_bar_dot_dot, b_bar_dot_dot
