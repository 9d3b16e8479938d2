import numpy as np
from tangentlike.runtime import accumulate, broadcast_like, unbroadcast


def match_literals_grad(x, kind):
    # primal
    if kind == 'square':
        y = x * x
    elif kind == 'cube' or kind == 'third':
        product = x * x
        y = product * x
    elif kind == 0 or kind == -1:
        y = np.sin(x)
    elif kind is None:
        y = x
    else:
        y = np.exp(x)
    # adjoint
    product2_bar = broadcast_like(1.0, y * x)  # return np.sum(y * x)
    y_bar = unbroadcast(product2_bar * x, y)
    x_bar = unbroadcast(product2_bar * y, x)
    if kind == 'square':
        x_bar += 2.0 * y_bar * x             # y = x * x
    elif kind == 'cube' or kind == 'third':
        product_bar = unbroadcast(y_bar * x, product)  # y = x * x * x
        x_bar = x_bar + unbroadcast(y_bar * product, x) + 2.0 * product_bar * x
    elif kind == 0 or kind == -1:
        x_bar += y_bar * np.cos(x)           # y = np.sin(x)
    elif kind is None:
        x_bar = accumulate(x_bar, y_bar)     # y = x
    else:
        x_bar += y_bar * y                   # y = np.exp(x)
    return x_bar
