# for xs: float[:], w: float
from __future__ import annotations

import numpy as np


def skip_negative_grad(xs: np.ndarray, w: float):
    # primal
    total, saved = 0.0, []
    for x in xs:
        if not x < 0.0:
            sqrt_product = np.sqrt(w * x)
            saved.append((sqrt_product, total))
            total += sqrt_product * total
    # adjoint
    total_bar = 1.0                          # return total
    w_bar, xs_bar = 0.0, np.zeros_like(xs)
    for i in reversed(range(len(xs))):
        x = xs[i]
        x_bar = 0.0                          # if x < 0.0:
        if not x < 0.0:
            sqrt_product, total = saved.pop()
            sqrt_product_bar = total_bar * total  # total += np.sqrt(w * x) * total
            total_bar += total_bar * sqrt_product
            product_bar = 0.5 * sqrt_product_bar / sqrt_product
            w_bar += product_bar * x
            x_bar += product_bar * w
        xs_bar[i] += x_bar
    return xs_bar, w_bar
