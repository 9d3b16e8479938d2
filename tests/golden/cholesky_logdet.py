from __future__ import annotations

import numpy as np
from tangentlike.runtime import undiag


def cholesky_logdet_grad(a: np.ndarray, n: int):
    # primal
    a = a.copy()
    a_part_saved = []
    sqrt_a_part3_saved = []
    a_part4_saved = []
    a_part5_saved = []
    a_part6_saved = []
    new_saved = []
    for j in range(n):
        for k in range(j):
            a_part_saved.append(a[j, k])
            a[j, j] -= a[j, k] * a[j, k]
        sqrt_a_part3 = np.sqrt(a[j, j])
        sqrt_a_part3_saved.append(sqrt_a_part3)
        a[j, j] = sqrt_a_part3
        for i in range(j + 1, n):
            for k in range(j):
                a_part4_saved.append(a[i, k])
                a_part5_saved.append(a[j, k])
                a[i, j] -= a[i, k] * a[j, k]
            a_part6_saved.append(a[j, j])
            new = a[i, j] / a[j, j]
            new_saved.append(new)
            a[i, j] = new
    # adjoint
    a_bar = undiag(2.0 / np.diag(a), a)      # return 2.0 * np.sum(np.log(np.diag(a)))
    for j in reversed(range(n)):
        sqrt_a_part3 = sqrt_a_part3_saved.pop()  # a[j, j] = np.sqrt(a[j, j])
        for i in reversed(range(j + 1, n)):
            a_part6 = a_part6_saved.pop()    # a[i, j] /= a[j, j]
            new = new_saved.pop()
            new_bar = a_bar[i, j]
            a_bar[i, j] = new_bar / a_part6
            a_bar[j, j] -= new_bar * (new / a_part6)
            for k in reversed(range(j)):
                a_part4 = a_part4_saved.pop()  # a[i, j] -= a[i, k] * a[j, k]
                a_part5 = a_part5_saved.pop()
                product2_bar = -a_bar[i, j]
                a_bar[j, k] += product2_bar * a_part4
                a_bar[i, k] += product2_bar * a_part5
        a_bar[j, j] = 0.5 * a_bar[j, j] / sqrt_a_part3  # a[j, j] = np.sqrt(a[j, j])
        for k in reversed(range(j)):
            a_part = a_part_saved.pop()      # a[j, j] -= a[j, k] * a[j, k]
            a_bar[j, k] -= 2.0 * a_bar[j, j] * a_part
    return a_bar
