from __future__ import annotations

import numpy as np
from tangentlike.runtime import scalar_seed, zeros_like


def interpolate_grad(x: float, table: np.ndarray):
    # primal
    k = int(x)
    t = x - k
    # adjoint
    # return (1.0 - t) * table[k] + t * table[k + 1]
    total_bar = scalar_seed((1.0 - t) * table[k] + t * table[k + 1])
    t_bar = np.sum(total_bar * table[k + 1])
    table_bar = zeros_like(table)
    table_bar[k + 1] += total_bar * t
    table_bar[k] += total_bar * (1.0 - t)
    t_bar -= np.sum(total_bar * table[k])
    return t_bar, table_bar
