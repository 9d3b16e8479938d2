# for a: float[:], steps: int
from __future__ import annotations

import numpy as np


def smooth_grad_jvp(a: np.ndarray, steps, a_dot: np.ndarray):
    a = a.copy()
    a_dot = np.copy(a_dot)
    a_saved, a_saved_dot = [], []
    for _ in range(steps):
        a_saved.append(a[1:-1].copy())
        a_saved_dot.append(np.copy(a_dot[1:-1]))
        product2_dot = 0.5 * (a[2:] * a_dot[:-2] + a[:-2] * a_dot[2:])
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
        a_dot[1:-1] += product2_dot
    a_bar = np.ones_like(a)
    a_bar_dot = np.zeros_like(a_bar)
    for _ in reversed(range(steps)):
        pop_a_saved = a_saved.pop()
        pop_a_saved_dot = a_saved_dot.pop()
        a[1:-1] = pop_a_saved
        a_dot[1:-1] = pop_a_saved_dot
        product_bar = 0.5 * a_bar[1:-1]
        product_bar_dot = 0.5 * a_bar_dot[1:-1]
        a_bar[2:] += product_bar * a[:-2]
        a_bar_dot[2:] += a[:-2] * product_bar_dot + product_bar * a_dot[:-2]
        a_bar[:-2] += product_bar * a[2:]
        a_bar_dot[:-2] += a[2:] * product_bar_dot + product_bar * a_dot[2:]
    return a_bar, a_bar_dot
