import numpy as np
from tangentlike.runtime import (
    accumulate, add_at, broadcast_like, require_class, unbroadcast, zeros_like,
)


class Function:
    def __init__(self, w):
        self.w = w

    def __call__(self, v):
        w = self.w
        return v * w


class Function2:
    def __init__(self, b):
        self.b = b

    def __call__(self, v):
        b = self.b
        return np.tanh(v + b)


def kept_functions_grad(w, b, x):
    # primal
    h = x
    parts = [Function(w), Function2(b)]
    h_saved, h_saved2 = [], []
    for f in parts:
        if type(f) is Function:
            require_class(f, Function)
            w2 = f.w
            h_saved.append(h)
            h = h * w2
        else:
            require_class(f, Function2)
            b2 = f.b
            h_saved2.append(h)
            h = np.tanh(h + b2)
    # adjoint
    parts_bar = zeros_like(parts)
    h_bar = broadcast_like(1.0, h)
    for i in reversed(range(len(parts))):
        f = parts[i]
        if type(f) is Function:
            h = h_saved.pop()
            w2 = f.w
            w2_bar = unbroadcast(h_bar * h, w2)  # h = f(h)
            h_bar = unbroadcast(h_bar * w2, h)
            f_bar = zeros_like(f)
            f_bar.w = accumulate(f_bar.w, w2_bar)
        else:
            total_bar = h_bar * (1.0 - h * h)  # h = f(h)
            h = h_saved2.pop()
            b2 = f.b
            h_bar = unbroadcast(total_bar, h)
            f_bar = zeros_like(f)
            f_bar.b = accumulate(f_bar.b, unbroadcast(total_bar, b2))
        add_at(parts_bar, i, f_bar)
    return parts_bar[0].w, parts_bar[1].b
