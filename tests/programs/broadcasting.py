"""Broadcasting of every kind, reductions over axes, products with batches."""

import numpy as np

from .registry import Program


def row_and_column(x, y):
    return np.sum(np.sin(x[:, None] * y) + x.reshape(-1, 1) ** 2)


def scalar_and_matrix(s, a):
    return np.sum(np.exp(-s * a) + a / (1.0 + s * s) - s)


def size_one_axes(a, b):
    return np.sum((a + b) * (a - 2.0 * b))


def ranks_differ(x, a, t):
    return np.sum(x * a + np.tanh(t * x) * a)


def bias_over_batch(x, w, b):
    return np.sum(np.maximum(x @ w + b, 0.0) ** 2)


def standardised(x):
    z = (x - x.mean(axis=0)) / (x.std(axis=0) + 0.1)
    return np.sum(z**3)


def layer_norm(x, gain, shift):
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    return np.sum(np.sin(gain * (x - mean) / np.sqrt(var + 1e-5) + shift))


def softmax_rows(a):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return np.sum(p * p * np.arange(a.shape[1]))


def pairwise_distances(x, y):
    d = x[:, None, :] - y[None, :, :]
    return np.sum(np.sqrt(np.sum(d * d, axis=-1) + 0.1))


def batched_matmul(a, b):
    return np.sum(np.tanh(a @ b) ** 2)


def matrix_vector_products(a, x):
    return x @ a @ x + np.sum(a @ x) + np.sum(x @ a)


def einsum_and_tensordot(a, b):
    c = np.einsum("ij,jk->ik", a, b)
    d = np.tensordot(a, b, axes=1)
    return np.sum(c * np.sin(d)) + np.einsum("ij,ij->", a, b.T)


def outer_and_inner(x, y):
    return np.sum(np.outer(x, y) ** 2) + np.inner(x, x) * np.dot(x[:2], y)


def reductions(a):
    s = a.sum(axis=0) * a.mean(axis=1, keepdims=True)
    return np.sum(s) + np.prod(a[0]) + np.max(a, axis=1).sum() - np.min(a) + np.linalg.norm(a)


def broadcast_to_and_tile(x):
    y = np.broadcast_to(x, (4, 3))
    z = np.tile(x, 2) * np.repeat(x, 2)
    return np.sum(y * np.arange(4.0)[:, None]) + np.sum(z**2)


def stacked(x, y):
    a = np.stack([x, y, x * y])
    b = np.concatenate([x, y[:2]])
    c = np.vstack([a, x]) + np.hstack([x, 1.0])[:3]
    return np.sum(a @ a.T) + np.sum(b**3) + np.sum(c**2)


def cumulative(x):
    return np.sum(np.cumsum(x) ** 2) + np.sum(np.diff(x) ** 3) + np.sum(np.cumprod(x))


def transposed(a):
    t = np.transpose(a, (2, 0, 1))
    s = np.swapaxes(a, 0, 1).reshape(3, -1)
    return np.sum(t[0] * t[1]) + np.sum(s @ s.T * 0.5)


def zero_d_over_vector(t, x):
    return np.sum(np.cos(t * x) + t)


def logsumexp_rows(a):
    m = np.max(a, axis=1)
    return np.sum(m + np.log(np.sum(np.exp(a - m[:, None]), axis=1)))


PROGRAMS = [
    Program(row_and_column, lambda rng: (rng.normal(size=3), rng.normal(size=4)), (0, 1)),
    Program(scalar_and_matrix, lambda rng: (0.7, rng.normal(size=(2, 3))), (0, 1)),
    Program(
        size_one_axes,
        lambda rng: (rng.normal(size=(3, 1, 2)), rng.normal(size=(1, 4, 1))),
        (0, 1),
    ),
    Program(
        ranks_differ,
        lambda rng: (rng.normal(size=3), rng.normal(size=(2, 4, 3)), rng.normal(size=(4, 1))),
        (0, 1, 2),
    ),
    Program(
        bias_over_batch,
        lambda rng: (rng.normal(size=(5, 3)), rng.normal(size=(3, 2)), rng.normal(size=2)),
        (0, 1, 2),
    ),
    Program(standardised, lambda rng: (rng.normal(size=(5, 2)),)),
    Program(
        layer_norm,
        lambda rng: (rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=4)),
        (0, 1, 2),
    ),
    Program(softmax_rows, lambda rng: (rng.normal(size=(3, 4)),)),
    Program(
        pairwise_distances,
        lambda rng: (rng.normal(size=(3, 2)), rng.normal(size=(4, 2))),
        (0, 1),
    ),
    Program(
        batched_matmul,
        lambda rng: (rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 2))),
        (0, 1),
    ),
    Program(
        matrix_vector_products, lambda rng: (rng.normal(size=(3, 3)), rng.normal(size=3)), (0, 1)
    ),
    Program(
        einsum_and_tensordot,
        lambda rng: (rng.normal(size=(3, 4)), rng.normal(size=(4, 3))),
        (0, 1),
    ),
    Program(outer_and_inner, lambda rng: (rng.normal(size=3), rng.normal(size=2)), (0, 1)),
    Program(reductions, lambda rng: (rng.normal(size=(2, 3)),)),
    Program(broadcast_to_and_tile, lambda rng: (rng.normal(size=3),), tolerance=1e-6),
    Program(stacked, lambda rng: (rng.normal(size=3), rng.normal(size=3)), (0, 1)),
    Program(cumulative, lambda rng: (rng.normal(size=5),)),
    Program(transposed, lambda rng: (rng.normal(size=(3, 3, 2)),)),
    Program(zero_d_over_vector, lambda rng: (np.array(0.4), rng.normal(size=4)), (0, 1)),
    Program(logsumexp_rows, lambda rng: (rng.normal(size=(3, 4)),)),
]
