from __future__ import annotations

import numpy as np
from tangentlike.runtime import scalar_seed, unbroadcast
from tests.golden_programs import GRAVITY


def scale_fwd(a: float, c: float):
    return a * c + GRAVITY, (a, c)


def scale_bwd(tape, total_seed):
    a, c = tape
    product_bar = np.sum(total_seed)         # return a * c + GRAVITY
    a_bar, c_bar = product_bar * c, product_bar * a
    return a_bar, c_bar


def scale_bwd2(tape, total_seed):
    a, c = tape
    product_bar = unbroadcast(total_seed, a)  # return a * c + GRAVITY
    a_bar = product_bar * c
    c_bar = np.sum(product_bar * a)
    return a_bar, c_bar


def calls_grad(a: float, c: float):
    # primal
    scale_a, scale_tape = scale_fwd(a, c)
    scale_scale_a, scale_tape2 = scale_fwd(scale_a, c)
    # adjoint
    product_bar = scalar_seed(scale_scale_a * a)  # return scale(scale(a, c), c) * a
    a_bar = np.sum(product_bar * scale_scale_a)
    scale_a_bar, c_bar = scale_bwd2(scale_tape2, product_bar * a)
    a_part, c_part = scale_bwd(scale_tape, scale_a_bar)
    a_bar += a_part
    c_bar += c_part
    return a_bar, c_bar
