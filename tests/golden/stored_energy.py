# for spring: Spring(k: float, rest: float), x: float[:]
from __future__ import annotations

import numpy as np
from tangentlike.runtime import require_class, zeros_like
from tests.golden_programs import Spring


def stored_energy_grad(spring: Spring, x: np.ndarray):
    # primal
    require_class(spring, Spring)
    stretch = x - spring.rest
    # adjoint
    # return 0.5 * spring.k * np.sum(stretch * stretch)
    stretch_bar = spring.k * stretch
    spring_bar = zeros_like(spring)
    spring_bar.k += 0.5 * (stretch @ stretch)
    spring_bar.rest -= np.sum(stretch_bar)   # stretch = x - spring.rest
    return spring_bar, stretch_bar
