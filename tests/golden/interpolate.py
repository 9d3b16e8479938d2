from __future__ import annotations

import numpy as np
from tangentlike.runtime import scalar_seed, unbroadcast


def interpolate_grad(x: float, table: np.ndarray):
    # primal
    k = int(x)
    t = x - k
    difference = 1.0 - t
    product = difference * table[k]
    product2 = t * table[k + 1]
    # adjoint
    # return (1.0 - t) * table[k] + t * table[k + 1]
    total_bar = scalar_seed(product + product2)
    product_bar = unbroadcast(total_bar, product)
    product2_bar = unbroadcast(total_bar, product2)
    t_bar = unbroadcast(product2_bar * table[k + 1], t)
    table_bar = np.zeros_like(table)
    table_bar[k + 1] += product2_bar * t
    table_bar[k] += product_bar * difference
    t_bar -= unbroadcast(product_bar * table[k], difference)
    return t_bar, table_bar
