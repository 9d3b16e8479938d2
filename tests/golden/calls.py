from __future__ import annotations

from tests.golden_programs import GRAVITY


def calls_grad(a: float, c: float):
    # primal
    scale_a = a * c + GRAVITY
    # adjoint
    scale_a_bar = a * c                      # return scale(scale(a, c), c) * a
    return scale_a * c + GRAVITY + scale_a_bar * c, a * scale_a + scale_a_bar * a
