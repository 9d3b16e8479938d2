# for a: float[m, m], n: int
from __future__ import annotations

import numpy as np


def cholesky_logdet_grad(a: np.ndarray, n: int):
    # primal
    a = a.copy()
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] * a[j, k]
        a[j, j] = np.sqrt(a[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
    # adjoint
    a_bar = np.diag(2.0 / np.diag(a))        # return 2.0 * np.sum(np.log(np.diag(a)))
    for j in reversed(range(n)):
        for i in reversed(range(j + 1, n)):
            old_bar = a_bar[i, j] / a[j, j]  # a[i, j] /= a[j, j]
            a_bar[i, j] = old_bar
            a_bar[j, j] -= old_bar * a[i, j]
            for k in reversed(range(j)):
                product_bar = -a_bar[i, j]   # a[i, j] -= a[i, k] * a[j, k]
                a_bar[j, k] += product_bar * a[i, k]
                a_bar[i, k] += product_bar * a[j, k]
        a_bar[j, j] = 0.5 * a_bar[j, j] / a[j, j]  # a[j, j] = np.sqrt(a[j, j])
        for k in reversed(range(j)):
            a_bar[j, k] -= 2.0 * a_bar[j, j] * a[j, k]  # a[j, j] -= a[j, k] * a[j, k]
    return a_bar
