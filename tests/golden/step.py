from __future__ import annotations

import numpy as np
from tangentlike.runtime import copy, require_floats, unbroadcast, zeros_like


def relax_fwd(p: np.ndarray, b: np.ndarray, n):
    require_floats(p)
    saved, p_saved, p_saved2 = [], [], []
    for _ in range(n):
        pn = p.copy()
        product = pn[:-2] * pn[2:]
        ratio = (product + b[1:-1]) / 3.0
        saved.append((pn, product, ratio))
        p_saved.append(p[1:-1].copy())
        p[1:-1] = ratio
        p_saved2.append(copy(p[0]))
        p[0] = p[1]
    return None, (p, b, n, saved, p_saved, p_saved2)


def relax_bwd(tape, p_bar):
    p, b, n, saved, p_saved, p_saved2 = tape
    b_bar = zeros_like(b)
    for pn, product, ratio in reversed(saved):
        p[0] = p_saved2.pop()
        p_1_bar = copy(p_bar[0])             # p[0] = p[1]
        p_bar[0] = 0.0
        p_bar[1] += p_1_bar
        p[1:-1] = p_saved.pop()
        # p[1:-1] = (pn[:-2] * pn[2:] + b[1:-1]) / 3.0
        total_bar = unbroadcast(p_bar[1:-1], ratio) / 3.0
        p_bar[1:-1] = 0.0
        product_bar = unbroadcast(total_bar, product)
        b_bar[1:-1] += unbroadcast(total_bar, b[1:-1])
        pn_bar = zeros_like(pn)
        pn_bar[2:] = product_bar * pn[:-2]
        pn_bar[:-2] += product_bar * pn[2:]
        p_bar += pn_bar                      # pn = p.copy()
    return b_bar


def step_grad(p: np.ndarray, b: np.ndarray, c: float):
    # primal
    p, b = p.copy(), b.copy()
    saved, b_saved = [], []
    for _ in range(3):
        product = c * p[2:]
        product2 = product * p[:-2]
        b_saved.append(b[1:-1].copy())
        b[1:-1] = product2
        _, relax_tape = relax_fwd(p, b, 2)
        saved.append((product, product2, relax_tape))
    # adjoint
    p_bar = 2.0 * p                          # return np.sum(p * p)
    b_bar, c_bar = zeros_like(b), 0.0
    for product, product2, relax_tape in reversed(saved):
        b_bar += relax_bwd(relax_tape, p_bar)  # relax(p, b, 2)
        b[1:-1] = b_saved.pop()
        # b[1:-1] = c * p[2:] * p[:-2]
        product2_bar = unbroadcast(b_bar[1:-1], product2)
        product_bar = product2_bar * p[:-2]
        p_bar[:-2] += product2_bar * product
        c_bar += np.sum(product_bar * p[2:])
        p_bar[2:] += product_bar * c
        b_bar[1:-1] = 0.0
    return p_bar, b_bar, c_bar
