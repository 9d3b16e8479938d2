import numpy as np
from tangentlike.runtime import broadcast_like, reached, unbroadcast


def guarded_log_grad(x):
    # primal
    mask = x > 0.0
    log_x = np.log(x)
    # adjoint
    # return np.sum(np.where(x > 0.0, np.log(x), x))
    where_mask_bar = broadcast_like(1.0, np.where(mask, log_x, x))
    log_x_bar = unbroadcast(np.where(mask, where_mask_bar, 0.0), log_x)
    x_bar = unbroadcast(np.where(mask, 0.0, where_mask_bar), x)
    x_bar += log_x_bar / np.where(reached(mask, log_x_bar), x, 1.0)
    return x_bar
