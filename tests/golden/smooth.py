from __future__ import annotations

import numpy as np


def smooth_grad(a: np.ndarray, steps):
    # primal
    a = a.copy()
    a_saved = []
    for _ in range(steps):
        a_saved.append(a[1:-1].copy())
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    # adjoint
    a_bar = np.ones_like(a)
    for _ in reversed(range(steps)):
        a[1:-1] = a_saved.pop()
        product_bar = 0.5 * a_bar[1:-1]      # a[1:-1] += 0.5 * (a[:-2] * a[2:])
        a_bar[2:] += product_bar * a[:-2]
        a_bar[:-2] += product_bar * a[2:]
    return a_bar
