# for w: float[n, n], x: float[n]
from __future__ import annotations

import numpy as np


def hidden_grad(w: np.ndarray, x: np.ndarray):
    h = np.tanh(w @ x)
    return 2.0 * x * h                       # return np.sum(h * h * x)
