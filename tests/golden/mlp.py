import numpy as np
from tangentlike.runtime import (
    add_at, matmul_bar_a, matmul_bar_b, unbroadcast, zeros_like,
)


def mlp_grad(params, x, y):
    # primal
    total = x @ params['w1'] + params['b1']
    h = np.maximum(total, 0.0)
    p = h @ params['w2'] + params['b2']
    difference = p - y
    # adjoint
    # return np.mean((p - y) ** 2)
    p_bar = unbroadcast(2.0 * difference / np.size(difference), p)
    params_bar = zeros_like(params)          # p = h @ params["w2"] + params["b2"]
    add_at(params_bar, 'b2', unbroadcast(p_bar, params['b2']))
    h_bar = matmul_bar_a(p_bar, h, params['w2'])
    add_at(params_bar, 'w2', matmul_bar_b(p_bar, h, params['w2']))
    # h = np.maximum(x @ params["w1"] + params["b1"], 0.0)
    total_bar = h_bar * np.heaviside(total, 0.5)
    add_at(params_bar, 'b1', unbroadcast(total_bar, params['b1']))
    add_at(params_bar, 'w1', matmul_bar_b(total_bar, x, params['w1']))
    return params_bar
