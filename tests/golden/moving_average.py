from __future__ import annotations

import numpy as np
from tangentlike.runtime import unbroadcast, unstack, zeros_like


def moving_average_grad(xs: np.ndarray, rate: float):
    # primal
    mean = 0.0
    means, saved = [], []
    for x in xs:
        product = (1.0 - rate) * mean
        saved.append((product, mean))
        mean = product + rate * x
        means.append(mean)
    # adjoint
    means_bar = unstack(2.0 * np.stack(means))  # return np.sum(np.stack(means) ** 2)
    mean_bar, rate_bar, xs_bar = zeros_like(mean), 0.0, zeros_like(xs)
    for i in reversed(range(len(xs))):
        x = xs[i]
        product, mean = saved.pop()
        mean_bar += means_bar.pop()          # means.append(mean)
        # mean = (1.0 - rate) * mean + rate * x
        product_bar = unbroadcast(mean_bar, product)
        product2_bar = unbroadcast(mean_bar, x)
        x_bar, mean_bar = product2_bar * rate, product_bar * (1.0 - rate)
        rate_bar += np.sum(product2_bar * x) - np.sum(product_bar * mean)
        xs_bar[i] += x_bar
    return xs_bar, rate_bar
