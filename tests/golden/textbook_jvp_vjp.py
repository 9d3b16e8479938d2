from __future__ import annotations

import numpy as np


def textbook_jvp_vjp(x1: float, x2: float, x1_dot: float, x2_dot: float, y_bar):
    # primal
    ratio = x1_dot / x1
    cos_x = np.cos(x2)
    difference_dot = ratio + (x2 * x1_dot + x1 * x2_dot) - cos_x * x2_dot
    sin_x = np.sin(x2)
    # adjoint
    # return np.log(x1) + x1 * x2 - np.sin(x2), difference_dot
    difference_bar, difference_dot_bar = y_bar[0], y_bar[1]
    x2_bar = difference_bar * x1 - difference_bar * cos_x
    x1_bar = difference_bar * x2 + difference_bar / x1
    # difference_dot = x1_dot / x1 + (x2 * x1_dot + x1 * x2_dot) - np.cos(x2) * x2_dot
    x2_bar += difference_dot_bar * x2_dot * sin_x + difference_dot_bar * x1_dot
    x1_bar += difference_dot_bar * x2_dot - difference_dot_bar * (ratio / x1)
    return (np.log(x1) + x1 * x2 - sin_x, difference_dot), (x1_bar, x2_bar)
