import numpy as np
from tangentlike.runtime import broadcast_like, reached, unbroadcast


def with_errstate_grad(x):
    # primal
    with np.errstate(divide='ignore', invalid='ignore'):
        sin_x = np.sin(x)
        ratio = sin_x / x
    mask = x == 0.0
    # adjoint
    # return np.sum(np.where(x == 0.0, 1.0, ratio))
    where_mask_bar = broadcast_like(1.0, np.where(mask, 1.0, ratio))
    ratio_bar = unbroadcast(np.where(mask, 0.0, where_mask_bar), ratio)
    unselected = reached(np.logical_not(mask), ratio_bar)
    with np.errstate(divide='ignore', invalid='ignore'):
        # ratio = np.sin(x) / x
        sin_x_bar = unbroadcast(ratio_bar / np.where(unselected, x, 1.0), sin_x)
        x_bar = unbroadcast(
            (
                -ratio_bar / np.where(unselected, x, 1.0)
                * np.where(unselected, ratio, 0.0)
            ),
            x,
        )
        x_bar += sin_x_bar * np.where(unselected, np.cos(x), 0.0)
    return x_bar
