import numpy as np
from tangentlike.runtime import add_at, scalar_seed, unbroadcast, zeros_like


def nested_target_grad(x, y):
    # primal
    s = y
    parts7 = [(x, (x * y, [y])), (2.0, (x, [x]))]
    product2_saved = []
    product3_saved = []
    s_saved = []
    for w, (b, (c,)) in parts7:
        product2 = w * s
        product2_saved.append(product2)
        product3 = b * c
        product3_saved.append(product3)
        s_saved.append(s)
        s = np.tanh(product2 + product3)
    # adjoint
    s_bar = scalar_seed(s)                   # return s
    parts7_bar = zeros_like(parts7)
    for i in reversed(range(len(parts7))):
        w, (b, (c,)) = parts7[i]
        product2 = product2_saved.pop()      # s = np.tanh(w * s + b * c)
        product3 = product3_saved.pop()
        total_bar = s_bar * (1.0 - s * s)
        s = s_saved.pop()
        product2_bar = unbroadcast(total_bar, product2)
        product3_bar = unbroadcast(total_bar, product3)
        b_bar = unbroadcast(product3_bar * c, b)
        c_bar = product3_bar * b
        w_bar = unbroadcast(product2_bar * s, w)
        s_bar = product2_bar * w
        parts7_bar[i][0] += w_bar
        parts7_bar[i][1][0] += b_bar
        add_at(parts7_bar[i][1][1], 0, c_bar)
    parts3_bar = parts7_bar[0]
    parts5_bar = parts7_bar[1][1]
    x_bar = parts5_bar[0] + parts5_bar[1][0] + parts3_bar[0] + parts3_bar[1][0] * y
    return x_bar
