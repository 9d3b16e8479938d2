from __future__ import annotations

import numpy as np
from tangentlike.runtime import (
    accumulate, require_class, scalar_seed, unbroadcast, zeros_like,
)
from tests.golden_programs import Spring


def stored_energy_grad(spring: Spring, x: np.ndarray):
    # primal
    require_class(spring, Spring)
    spring_rest = spring.rest
    stretch = x - spring_rest
    product = 0.5 * spring.k
    sum_product = np.sum(stretch * stretch)
    # adjoint
    # return 0.5 * spring.k * np.sum(stretch * stretch)
    product2_bar = scalar_seed(product * sum_product)
    stretch_bar = 2.0 * unbroadcast(product2_bar * product, sum_product) * stretch
    spring_bar = zeros_like(spring)
    spring_bar.k += 0.5 * (product2_bar * sum_product)
    x_bar = unbroadcast(stretch_bar, x)      # stretch = x - spring.rest
    spring_rest_bar = -unbroadcast(stretch_bar, spring_rest)
    spring_bar.rest = accumulate(spring_bar.rest, spring_rest_bar)
    return spring_bar, x_bar
