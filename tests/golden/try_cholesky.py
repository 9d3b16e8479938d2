import numpy as np
from numpy.linalg import LinAlgError
from tangentlike.runtime import (
    cholesky_bar, matmul_bar_a, matmul_bar_b, solve_bar_a, solve_seed, unbroadcast,
)


def try_cholesky_grad(a, b, jitter):
    # primal
    a2 = a @ a.T + np.diag(b)
    try:
        c = np.linalg.cholesky(a2)
        failed = False
    except LinAlgError:
        failed = True
        c = np.linalg.cholesky(a2 + jitter * np.eye(3))
    y = np.linalg.solve(c, b)
    # adjoint
    y_bar = 2.0 * y                          # return np.sum(y * y)
    c_bar = solve_bar_a(solve_seed(c, y_bar, b), y, c, b)  # y = np.linalg.solve(c, b)
    if not failed:
        a2_bar = cholesky_bar(c, c_bar)      # c = np.linalg.cholesky(a)
    else:
        # c = np.linalg.cholesky(a + jitter * np.eye(3))
        a2_bar = unbroadcast(cholesky_bar(c, c_bar), a2)
    a_bar = matmul_bar_a(a2_bar, a, a.T)     # a = a @ a.T + np.diag(b)
    a_bar += matmul_bar_b(a2_bar, a, a.T).T
    return a_bar
