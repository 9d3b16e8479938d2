# for w: float[n, n], x: float[n]
from __future__ import annotations

import numpy as np


def hidden_grad(w: np.ndarray, x: np.ndarray):
    # primal
    h = np.tanh(w @ x)
    # adjoint
    h_bar = 2.0 * x * h                      # return np.sum(h * h * x)
    return h_bar
