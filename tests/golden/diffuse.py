from __future__ import annotations


def diffuse_grad(a: np.ndarray, steps):
    # primal
    a = a.copy()
    for _ in range(steps):
        a[1:-1] += 0.25 * (a[:-2] - 2.0 * a[1:-1] + a[2:])
    # adjoint
    a_bar = 2.0 * a                          # return np.sum(a * a)
    for _ in reversed(range(steps)):
        # a[1:-1] += 0.25 * (a[:-2] - 2.0 * a[1:-1] + a[2:])
        total_bar = 0.25 * a_bar[1:-1]
        a_bar[2:] += total_bar
        a_bar[1:-1] -= 2.0 * total_bar
        a_bar[:-2] += total_bar
    return a_bar
