from __future__ import annotations

import numpy as np
from tangentlike.runtime import unbroadcast, zeros_like


def swap_buffers_grad(a: np.ndarray, n):
    # primal
    a = a.copy()
    b, saved, b_saved = np.zeros_like(a), [], []
    for _ in range(n):
        product = a[:-1] * a[1:]
        b_saved.append(b[1:].copy())
        b[1:] = product
        a_old = a
        saved.append((product, a, b))
        a, b = b, a_old
    # adjoint
    b_bar, a_bar = zeros_like(b), np.ones_like(a)
    for product, a, b in reversed(saved):
        a_old_bar = b_bar                    # a, b = b, a
        b_bar = a_bar
        a_bar = a_old_bar
        b[1:] = b_saved.pop()
        product_bar = unbroadcast(b_bar[1:], product)  # b[1:] = a[:-1] * a[1:]
        a_part_bar, a_part2_bar = product_bar * a[1:], product_bar * a[:-1]
        b_bar[1:] = 0.0
        a_old_bar[1:] += a_part2_bar
        a_old_bar[:-1] += a_part_bar
    return a_bar
