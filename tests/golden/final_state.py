import numpy as np
from tangentlike.runtime import matmul_bar_a, matmul_bar_b, unbroadcast


def final_state_grad(w, u, xs):
    # primal
    h = np.zeros(w.shape[0])
    wh_saved = []
    ux_saved = []
    h_saved = []
    for x in xs:
        wh = w @ h
        wh_saved.append(wh)
        ux = u @ x
        ux_saved.append(ux)
        h_saved.append(h)
        h = np.tanh(wh + ux)
    # adjoint
    u_bar = np.zeros_like(u)
    w_bar = np.zeros_like(w)
    h_bar = np.ones_like(h)
    for x in reversed(xs):
        wh = wh_saved.pop()                  # h = np.tanh(w @ h + u @ x)
        ux = ux_saved.pop()
        total_bar = h_bar * (1.0 - h * h)
        h = h_saved.pop()
        wh_bar = unbroadcast(total_bar, wh)
        u_bar += matmul_bar_a(unbroadcast(total_bar, ux), u, x)
        w_bar += matmul_bar_a(wh_bar, w, h)
        h_bar = matmul_bar_b(wh_bar, w, h)
    return w_bar, u_bar
