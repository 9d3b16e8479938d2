from __future__ import annotations


def power_until_grad(x: float, limit: float):
    # primal
    y = x
    y_saved = []
    while y < limit:
        y_saved.append(y)
        y = y * x
    # adjoint
    y_bar = 1.0                              # return y
    x_bar = 0.0
    for y in reversed(y_saved):
        x_bar += y_bar * y                   # y = y * x
        y_bar = y_bar * x
    x_bar += y_bar                           # y = x
    return x_bar
