import numpy as np
from tangentlike.runtime import (
    add_at, broadcast_like, extremum_share, matmul_bar_b, unbroadcast, zeros_like,
)


def softmax_cross_entropy_grad(w, b, x, labels):
    # primal
    scores = x @ w + b
    max_scores = np.max(scores, axis=1, keepdims=True)
    scores2 = scores - max_scores
    exp_scores = np.exp(scores2)
    sum_exp_scores = np.sum(exp_scores, axis=1)
    log_z = np.log(sum_exp_scores)
    arange = np.arange(x.shape[0])
    picked = scores2[arange, labels]
    difference = log_z - picked
    # adjoint
    # return np.mean(log_z - picked)
    difference_bar = broadcast_like(1.0 / np.size(difference), difference)
    log_z_bar = unbroadcast(difference_bar, log_z)
    picked_bar = -unbroadcast(difference_bar, picked)
    # picked = scores[np.arange(x.shape[0]), labels]
    scores2_bar = zeros_like(scores2)
    add_at(scores2_bar, (arange, labels), picked_bar)
    # log_z = np.log(np.sum(np.exp(scores), axis=1))
    scores2_bar += np.expand_dims(log_z_bar / sum_exp_scores, 1) * exp_scores
    # scores = scores - np.max(scores, axis=1, keepdims=True)
    scores_bar = unbroadcast(scores2_bar, scores)
    max_scores_bar = -unbroadcast(scores2_bar, max_scores)
    scores_bar = scores_bar + max_scores_bar * extremum_share(scores, max_scores, 1)
    # scores = x @ w + b
    return matmul_bar_b(scores_bar, x, w), unbroadcast(scores_bar, b)
