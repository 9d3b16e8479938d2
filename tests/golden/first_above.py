# for xs: float[:], level: float
import numpy as np


def first_above_grad(xs, level):
    # primal
    total = 0.0
    count = 0
    for x in xs:
        count = count + 1
        if not x < 0.0:
            total += x * x
            if total > level:
                break
    # adjoint
    xs_bar = np.zeros_like(xs)
    for i in reversed(range(count)):
        x = xs[i]
        x_bar = 0.0                          # if x < 0.0:
        if not x < 0.0:
            x_bar += 2.0 * x                 # total += x * x
        xs_bar[i] += x_bar
    return xs_bar
