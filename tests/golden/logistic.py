# for w: float[n], x: float[m, n], y: float[m]
import numpy as np
from tangentlike.runtime import exp_of_difference


def logistic_value_and_grad(w, x, y):
    # primal
    z = x @ w
    logaddexp = np.logaddexp(0.0, z)
    # adjoint
    # return np.mean(np.logaddexp(0.0, z) - y * z)
    difference_bar = 1.0 / y.size
    z_bar = difference_bar * exp_of_difference(z, logaddexp) - difference_bar * y
    return np.mean(logaddexp - y * z), x.T @ z_bar  # z = x @ w
