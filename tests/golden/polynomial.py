from __future__ import annotations

import numpy as np
from tangentlike.runtime import (
    add_at, power_slope, scalar_seed, sum_items_bar, zeros_like,
)


def polynomial_grad(cs, x: float):
    # primal
    items = []
    for i, c in enumerate(cs):
        if i != 1:
            items.append(c * x**i)
    # adjoint
    # return sum([c * x**i for i, c in enumerate(cs) if i != 1])
    items_bar = sum_items_bar(scalar_seed(sum(items)), items)
    cs_bar, x_bar = zeros_like(cs), 0.0
    for i in reversed(range(len(cs))):
        c_bar = zeros_like(cs[i])
        if i != 1:
            product_bar = items_bar.pop()
            c_bar += product_bar * x**i
            x_bar += np.sum(product_bar * cs[i]) * power_slope(x, i)
        add_at(cs_bar, i, c_bar)
    return cs_bar, x_bar
