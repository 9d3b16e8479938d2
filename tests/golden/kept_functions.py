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


def Function_call_fwd(self, v):
    require_class(self, Function)
    w = self.w
    return v * w, (self, v)


def Function_call_bwd(tape, product_seed):
    self, v = tape
    w = self.w
    v_bar = unbroadcast(product_seed * w, v)
    self_bar = zeros_like(self)
    self_bar.w = accumulate(self_bar.w, unbroadcast(product_seed * v, w))
    return self_bar, v_bar


class Function2:
    def __init__(self, b):
        self.b = b

    def __call__(self, v):
        b = self.b
        return np.tanh(v + b)


def Function2_call_fwd(self, v):
    require_class(self, Function2)
    b = self.b
    tanh_total = np.tanh(v + b)
    return tanh_total, (self, v, tanh_total)


def Function2_call_bwd(tape, tanh_total_seed):
    self, v, tanh_total = tape
    total_bar = tanh_total_seed * (1.0 - tanh_total * tanh_total)
    b = self.b
    v_bar = unbroadcast(total_bar, v)
    self_bar = zeros_like(self)
    self_bar.b = accumulate(self_bar.b, unbroadcast(total_bar, b))
    return self_bar, v_bar


def kept_functions_grad(w, b, x):
    # primal
    h = x
    parts = [Function(w), Function2(b)]
    Function_call_tape_saved, Function2_call_tape_saved = [], []
    for f in parts:
        if type(f) is Function:
            new, Function_call_tape = Function_call_fwd(f, h)
            Function_call_tape_saved.append(Function_call_tape)
            h = new
        else:
            new2, Function2_call_tape = Function2_call_fwd(f, h)
            Function2_call_tape_saved.append(Function2_call_tape)
            h = new2
    # adjoint
    parts_bar = zeros_like(parts)
    h_bar = broadcast_like(1.0, h)
    for i in reversed(range(len(parts))):
        f = parts[i]
        if type(f) is Function:
            Function_call_tape = Function_call_tape_saved.pop()
            f_bar, h_bar = Function_call_bwd(Function_call_tape, h_bar)  # h = f(h)
        else:
            Function2_call_tape = Function2_call_tape_saved.pop()
            f_bar, h_bar = Function2_call_bwd(Function2_call_tape, h_bar)  # h = f(h)
        add_at(parts_bar, i, f_bar)
    b_bar = parts_bar[1].b
    w_bar = parts_bar[0].w
    return w_bar, b_bar
