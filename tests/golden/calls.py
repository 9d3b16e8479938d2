from __future__ import annotations

import numpy as np
from tangentlike.runtime import scalar_seed, unbroadcast
from tests.golden_programs import GRAVITY


def calls_grad(a: float, c: float):
    # primal
    scale_a = a * c + GRAVITY
    scale_scale_a = scale_a * c + GRAVITY
    # adjoint
    product_bar = scalar_seed(scale_scale_a * a)  # return scale(scale(a, c), c) * a
    a_bar = np.sum(product_bar * scale_scale_a)
    product3_bar = unbroadcast(product_bar * a, scale_a)
    c_bar = np.sum(product3_bar * scale_a)
    product2_bar = np.sum(product3_bar * c)
    a_bar += product2_bar * c
    c_bar += product2_bar * a
    return a_bar, c_bar
