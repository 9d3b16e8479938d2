# for w: float[n, n], u: float[n, m], xs: float[:, m]
import numpy as np


def final_state_grad(w, u, xs):
    # primal
    h, h_saved = np.zeros(w.shape[0]), []
    for x in xs:
        h_saved.append(h)
        h = np.tanh(w @ h + u @ x)
    # adjoint
    u_bar, w_bar, h_bar = np.zeros_like(u), np.zeros_like(w), np.ones_like(h)
    total_bar_rows, h_rows = [], []
    for x in reversed(xs):
        total_bar = h_bar * (1.0 - h * h)    # h = np.tanh(w @ h + u @ x)
        h = h_saved.pop()
        total_bar_rows.append(total_bar)
        h_rows.append(h)
        h_bar = w.T @ total_bar
    u_bar += np.array(total_bar_rows).T @ xs[::-1]  # h = np.tanh(w @ h + u @ x)
    w_bar += np.array(total_bar_rows).T @ np.array(h_rows)
    return w_bar, u_bar
