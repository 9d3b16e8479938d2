from __future__ import annotations

import numpy as np


def textbook_grad(x1: float, x2: float):
    x1_bar = x2                              # return np.log(x1) + x1 * x2 - np.sin(x2)
    x1_bar += 1.0 / x1
    return x1_bar, x1 - np.cos(x2)
