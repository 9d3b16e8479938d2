from __future__ import annotations

import numpy as np


def textbook_jvp(x1: float, x2: float, x1_dot: float, x2_dot: float):
    # return np.log(x1) + x1 * x2 - np.sin(x2)
    difference_dot = x1_dot / x1 + (x2 * x1_dot + x1 * x2_dot) - np.cos(x2) * x2_dot
    return np.log(x1) + x1 * x2 - np.sin(x2), difference_dot
