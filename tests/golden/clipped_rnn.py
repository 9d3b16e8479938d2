# for w: float[m, m], h: float[m], n: int
from __future__ import annotations

import numpy as np
from tangentlike.runtime import hooked
from tests.golden_programs import clip


def clipped_rnn_grad(w: np.ndarray, h: np.ndarray, n: int):
    # primal
    saved = []
    for _ in range(n):
        tanh_wh = np.tanh(w @ h)
        saved.append((tanh_wh, h))
        h = tanh_wh
    # adjoint
    w_bar, h_bar = np.zeros_like(w), np.ones_like(h)
    for tanh_wh, h in reversed(saved):
        # h = tl.on_adjoint(np.tanh(w @ h), clip)
        wh_bar = hooked(h_bar, clip) * (1.0 - tanh_wh * tanh_wh)
        w_bar += np.outer(wh_bar, h)
        h_bar = w.T @ wh_bar
    return w_bar
