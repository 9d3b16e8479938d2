from __future__ import annotations

from tangentlike.runtime import unbroadcast


def diffuse_grad(a: np.ndarray, steps):
    # primal
    a = a.copy()
    product_saved = []
    difference_saved = []
    product2_saved = []
    a_saved = []
    for _ in range(steps):
        product = 2.0 * a[1:-1]
        product_saved.append(product)
        difference = a[:-2] - product
        difference_saved.append(difference)
        product2 = 0.25 * (difference + a[2:])
        product2_saved.append(product2)
        a_saved.append(a[1:-1].copy())
        a[1:-1] += product2
    # adjoint
    a_bar = 2.0 * a                          # return np.sum(a * a)
    for _ in reversed(range(steps)):
        # a[1:-1] += 0.25 * (a[:-2] - 2.0 * a[1:-1] + a[2:])
        product = product_saved.pop()
        difference = difference_saved.pop()
        product2 = product2_saved.pop()
        a[1:-1] = a_saved.pop()
        total_bar = 0.25 * unbroadcast(a_bar[1:-1], product2)
        difference_bar = unbroadcast(total_bar, difference)
        a_bar[2:] += unbroadcast(total_bar, a[2:])
        a_part_bar = unbroadcast(difference_bar, a[:-2])
        a_bar[1:-1] += 2.0 * unbroadcast(-difference_bar, product)
        a_bar[:-2] += a_part_bar
    return a_bar
