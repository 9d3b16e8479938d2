import numpy as np
from tangentlike.runtime import (
    accumulate, broadcast_like, matmul_bar_a, matmul_bar_b, zeros_like,
)
from tests.programs.checkpoints import cell


def cell_fwd(h, w, x):
    z = np.tanh(w @ h + x)
    sin_z = np.sin(z)
    return z * sin_z, (h, w, z, sin_z)


def cell_bwd(tape, product_seed):
    h, w, z, sin_z = tape
    z_bar = product_seed * sin_z + product_seed * z * np.cos(z)  # return z * np.sin(z)
    wh_bar = z_bar * (1.0 - z * z)           # z = np.tanh(w @ h + x)
    return matmul_bar_b(wh_bar, w, h), matmul_bar_a(wh_bar, w, h)


def checkpointed_cell_fwd(h, w, x):
    y = cell(h, w, x)
    return y, (h, w, x)


def checkpointed_cell_bwd(tape, y_bar):
    h, w, x = tape
    _, cell_tape = cell_fwd(h, w, x)
    return cell_bwd(cell_tape, y_bar)


def decorated_call_grad(w, h, xs):
    # primal
    cell_tape_saved = []
    for x in xs:
        new, cell_tape = checkpointed_cell_fwd(h, w, x)
        cell_tape_saved.append(cell_tape)
        h = new
    # adjoint
    w_bar = zeros_like(w)
    h_bar = broadcast_like(1.0, h)
    for cell_tape in reversed(cell_tape_saved):
        h_bar, w_part = checkpointed_cell_bwd(cell_tape, h_bar)  # h = cell(h, w, x)
        w_bar = accumulate(w_bar, w_part)
    return w_bar, h_bar
