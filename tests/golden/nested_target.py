# for x: float, y: float
import numpy as np
from tangentlike.runtime import add_at, scalar_seed, unbroadcast, zeros_like


def nested_target_grad(x, y):
    # primal
    s = y
    parts = [(x, (x * y, [y])), (2.0, (x, [x]))]
    saved = []
    for w, (b, (c,)) in parts:
        product = b * c
        saved.append((product, s))
        s = np.tanh(w * s + product)
    # adjoint
    s_bar = scalar_seed(s)                   # return s
    parts_bar = zeros_like(parts)
    for i in reversed(range(len(parts))):
        w, (b, (c,)) = parts[i]
        total_bar = s_bar * (1.0 - s * s)    # s = np.tanh(w * s + b * c)
        product, s = saved.pop()
        product2_bar = unbroadcast(total_bar, s)
        product_bar = unbroadcast(total_bar, product)
        b_bar = np.sum(product_bar * c)
        c_bar = product_bar * b
        w_bar = np.sum(product2_bar * s)
        s_bar = product2_bar * w
        parts_bar[i][0] += w_bar
        parts_bar[i][1][0] += b_bar
        add_at(parts_bar[i][1][1], 0, c_bar)
    parts2_bar = parts_bar[0]
    parts4_bar = parts_bar[1][1]
    return parts4_bar[0] + parts4_bar[1][0] + parts2_bar[0] + parts2_bar[1][0] * y
