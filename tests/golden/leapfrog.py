from __future__ import annotations

import numpy as np
from tangentlike.runtime import zeros_like
from tests.golden_programs import State


def leapfrog_grad(q: float, p: float, n: int):
    # primal
    s = State(q, p)
    s_saved = []
    for _ in range(n):
        p = s.p - 0.1 * np.sin(s.q)
        s_saved.append(s)
        s = State(s.q + 0.1 * p, p)
    # adjoint
    s_bar = zeros_like(s)                    # return s.q * s.p
    s_bar.p += s.q
    s_bar.q += s.p
    for s in reversed(s_saved):
        total_bar = s_bar.q                  # s = State(s.q + 0.1 * p, p)
        p_bar = s_bar.p + 0.1 * total_bar
        s_bar = zeros_like(s)
        s_bar.q += total_bar
        s_bar.q -= 0.1 * p_bar * np.cos(s.q)  # p = s.p - 0.1 * np.sin(s.q)
        s_bar.p += p_bar
    return s_bar.q, s_bar.p                  # s = State(q, p)
