from __future__ import annotations

import numpy as np
from tangentlike.runtime import unbroadcast


def smooth_grad(a: np.ndarray, steps):
    # primal
    a = a.copy()
    product2_saved = []
    a_saved = []
    for _ in range(steps):
        product2 = 0.5 * (a[:-2] * a[2:])
        product2_saved.append(product2)
        a_saved.append(a[1:-1].copy())
        a[1:-1] += product2
    # adjoint
    a_bar = np.ones_like(a)
    for _ in reversed(range(steps)):
        product2 = product2_saved.pop()      # a[1:-1] += 0.5 * (a[:-2] * a[2:])
        a[1:-1] = a_saved.pop()
        product_bar = 0.5 * unbroadcast(a_bar[1:-1], product2)
        a_bar[2:] += unbroadcast(product_bar * a[:-2], a[2:])
        a_bar[:-2] += unbroadcast(product_bar * a[2:], a[:-2])
    return a_bar
