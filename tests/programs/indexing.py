"""Reads by index: elements, slices, strides, new axes, gathers with repeats, masks."""

import numpy as np

from .registry import Program, vector


def elements(x):
    return x[0] * x[1] + np.sin(x[-1]) * x[2] ** 2 + x[0]


def slices(x):
    return np.sum(x[1:] * x[:-1]) + np.sum(x[::2] ** 3) - x[-2:].sum()


def backwards(x):
    return np.sum(x * x[::-1] * np.arange(len(x)))


def matrix_entries(a):
    return a[0, 1] * a[1][2] - a[-1, -1] * a[1, 0] ** 2


def matrix_slices(a):
    inner = a[1:-1, 1:-1]
    lap = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4.0 * inner
    return np.sum(lap * lap * inner)


def rows_and_columns(a):
    s = 0.0
    for i in range(a.shape[0]):
        s = s + a[i] @ a[i] * np.sum(a[:, i % 2])
    return s


def new_axes(x, y):
    d = x[:, None] - y[None, :]
    return np.sum(np.exp(-d * d)) + np.sum(x[np.newaxis] * 2.0)


def ellipsis(a):
    return np.sum(a[..., 0] * a[..., -1]) + np.sum(a[0, ...] ** 2)


def gather(x, index):
    return np.sum(x[index] * np.arange(1.0, 1.0 + len(index)))


def gather_rows(table, tokens):
    return np.sum(np.tanh(table[tokens].mean(axis=0)))


def gather_pairs(a, rows, columns):
    picked = a[rows, columns]
    return np.sum(picked * picked[::-1])


def cross_entropy(logits, labels):
    z = logits - logits.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -logp[np.arange(len(labels)), labels].mean()


def masked(x):
    positive = x > 0.0
    return np.sum(np.log(x[positive])) + np.sum(x[~positive] ** 2)


def take_and_diag(a):
    return np.sum(np.take(a, [2, 0, 2], axis=1) ** 2) + np.sum(np.diag(a) ** 3) + np.trace(a)


def by_argmax(x):
    k = np.argmax(x)
    return x[k] * x[k - 1]


def chosen_by_loop(x, index):
    s = 0.0
    for k, i in enumerate(index):
        s = s * 0.5 + x[i] ** (k + 1)
    return s


def index_array_element(x, index):
    s = 1.0
    for k in range(len(index)):
        s = s + x[index[k]] * s
    return s


def total_variation(image):
    dx = image[1:, :] - image[:-1, :]
    dy = image[:, 1:] - image[:, :-1]
    return np.sum(np.sqrt(dx[:, :-1] ** 2 + dy[:-1, :] ** 2 + 1e-3))


def autocorrelation(x, lags):
    s = 0.0
    n = len(x)
    for k in range(1, lags):
        s = s + np.dot(x[: n - k], x[k:]) ** 2 / k
    return s


def unpacked_row(a):
    x, y, z = a[1]
    (p, q, _), _ = a[0], a[1]
    return x * y * z + p * q


def moving_slice_bounds(x):
    lo = 0
    s = 0.0
    while lo < len(x):
        hi = min(lo + 2, len(x))
        s = s + np.prod(x[lo:hi]) * (1.0 + s)
        lo = hi
    return s


def interpolated(table, t):
    i = int(t)
    f = t - i
    return (1.0 - f) * table[i] + f * table[i + 1]


PROGRAMS = [
    Program(elements, vector(4)),
    Program(slices, vector(6)),
    Program(backwards, vector(5)),
    Program(matrix_entries, lambda rng: (rng.normal(size=(3, 3)),)),
    Program(matrix_slices, lambda rng: (rng.normal(size=(4, 5)),)),
    Program(rows_and_columns, lambda rng: (rng.normal(size=(3, 3)),)),
    Program(new_axes, lambda rng: (rng.normal(size=3), rng.normal(size=4)), (0, 1)),
    Program(ellipsis, lambda rng: (rng.normal(size=(2, 3, 2)),)),
    Program(gather, lambda rng: (rng.normal(size=4), np.array([0, 2, 2, 3, 0]))),
    Program(gather_rows, lambda rng: (rng.normal(size=(5, 3)), np.array([4, 1, 1]))),
    Program(
        gather_pairs,
        lambda rng: (rng.normal(size=(3, 3)), np.array([0, 2, 0]), np.array([1, 1, 1])),
    ),
    Program(cross_entropy, lambda rng: (rng.normal(size=(4, 3)), np.array([0, 2, 1, 2]))),
    Program(masked, vector(6)),
    Program(take_and_diag, lambda rng: (rng.normal(size=(3, 3)),)),
    Program(by_argmax, vector(5)),
    Program(chosen_by_loop, lambda rng: (rng.uniform(0.5, 1, 4), [2, 0, 2])),
    Program(index_array_element, lambda rng: (rng.normal(size=4), np.array([3, 1, 3]))),
    Program(total_variation, lambda rng: (rng.normal(size=(4, 4)),)),
    Program(autocorrelation, lambda rng: (rng.normal(size=6), 4)),
    Program(unpacked_row, lambda rng: (rng.normal(size=(2, 3)),)),
    Program(moving_slice_bounds, vector(5)),
    Program(interpolated, lambda rng: (rng.normal(size=5), 2.3), (0, 1)),
]
