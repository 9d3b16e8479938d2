import numpy as np
from tangentlike.runtime import (
    add_at, broadcast_like, pair_of, scalar_seed, unbroadcast, zeros_like,
)
from tests.programs.function_values import ACTIVATIONS


def by_name_grad(w, x, name):
    # primal
    part_fwd, part_bwd = pair_of(ACTIVATIONS[name], 1, (0,))
    part_product, part_tape = part_fwd(w * x)
    sum_part_product = np.sum(part_product)
    part2_fwd, part2_bwd = pair_of(ACTIVATIONS['tanh'], 1, (0,))
    part2_w_0, part2_tape = part2_fwd(w[0])
    # adjoint
    # return np.sum(ACTIVATIONS[name](w * x)) + ACTIVATIONS["tanh"](w[0])
    total_bar = scalar_seed(sum_part_product + part2_w_0)
    sum_part_product_bar = np.sum(total_bar)
    w_0_bar = part2_bwd(part2_tape, total_bar)
    w_bar = zeros_like(w)
    add_at(w_bar, 0, w_0_bar)
    part_product_bar = broadcast_like(sum_part_product_bar, part_product)
    product_bar = part_bwd(part_tape, part_product_bar)
    w_bar += unbroadcast(product_bar * x, w)
    return w_bar, unbroadcast(product_bar * w, x)
