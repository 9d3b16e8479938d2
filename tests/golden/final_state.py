import numpy as np
from tangentlike.runtime import matmul_bar_a, matmul_bar_b, zeros_like


def final_state_grad(w, u, xs):
    # primal
    h, h_saved = np.zeros(w.shape[0]), []
    for x in xs:
        h_saved.append(h)
        h = np.tanh(w @ h + u @ x)
    # adjoint
    u_bar, w_bar, h_bar = zeros_like(u), zeros_like(w), np.ones_like(h)
    for x in reversed(xs):
        total_bar = h_bar * (1.0 - h * h)    # h = np.tanh(w @ h + u @ x)
        h = h_saved.pop()
        u_bar += matmul_bar_a(total_bar, u, x)
        w_bar += matmul_bar_a(total_bar, w, h)
        h_bar = matmul_bar_b(total_bar, w, h)
    return w_bar, u_bar
