from __future__ import annotations

import numpy as np


def smooth_jvp(a: np.ndarray, steps, a_dot: np.ndarray):
    a = a.copy()
    a_dot = a_dot.copy()
    for _ in range(steps):
        product_dot = 0.5 * (a[2:] * a_dot[:-2] + a[:-2] * a_dot[2:])
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
        a_dot[1:-1] += product_dot
    return np.sum(a), np.sum(a_dot)
