from __future__ import annotations

import numpy as np
from tangentlike.runtime import accumulate, scalar_seed, unbroadcast, zeros_like
from tests.golden_programs import State


def leapfrog_grad(q: float, p: float, n: int):
    # primal
    s = State(q, p)
    saved = []
    for _ in range(n):
        product = 0.1 * np.sin(s.q)
        p = s.p - product
        product2 = 0.1 * p
        saved.append((product, product2, s))
        s = State(s.q + product2, p)
    s_q = s.q
    s_p = s.p
    # adjoint
    product3_bar = scalar_seed(s_q * s_p)    # return s.q * s.p
    s_bar = zeros_like(s)
    s_bar.p = accumulate(s_bar.p, unbroadcast(product3_bar * s_q, s_p))
    s_bar.q = accumulate(s_bar.q, unbroadcast(product3_bar * s_p, s_q))
    for _ in reversed(range(n)):
        product, product2, s = saved.pop()
        total_bar = s_bar.q                  # s = State(s.q + 0.1 * p, p)
        p_bar = s_bar.p + 0.1 * unbroadcast(total_bar, product2)
        s_bar = zeros_like(s)
        s_bar.q = accumulate(s_bar.q, unbroadcast(total_bar, s.q))
        # p = s.p - 0.1 * np.sin(s.q)
        s_bar.q = accumulate(s_bar.q, -0.1 * unbroadcast(p_bar, product) * np.cos(s.q))
        s_bar.p = accumulate(s_bar.p, unbroadcast(p_bar, s.p))
    q_bar = s_bar.q                          # s = State(q, p)
    p_bar = s_bar.p
    return q_bar, p_bar
