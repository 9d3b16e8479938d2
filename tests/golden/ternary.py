from __future__ import annotations


def ternary_grad(x: float, y: float):
    # primal
    if x > y:
        z = x
    else:
        z = 0.5 * (x + y)
    # adjoint
    z_bar = 2.0 * z                          # return z * z
    y_bar = 0.0                              # z = x if x > y else 0.5 * (x + y)
    if x > y:
        x_bar = z_bar
    else:
        x_bar = 0.5 * z_bar
        y_bar += x_bar
    return x_bar, y_bar
