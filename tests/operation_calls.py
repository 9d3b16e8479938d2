"""Small programs for the list of operations that are statements, and constants its calls use."""

from __future__ import annotations

import numpy as np

GX = np.array([0.0, 0.3, 0.6, 0.9, 1.2])
GY = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
GX5 = GX
B3 = np.array([0.5, 1.2, 0.7])
B4 = np.array([0.5, 1.2, 0.7, 0.2])
I5 = np.array([0, 2, 1, 2, 3])
IA = np.array([[0], [1], [0]])
BM = np.array([True, False, True, True, False])
M = np.random.default_rng(1).uniform(0.2, 1.0, (2, 4))
M25 = np.ones((2, 5))
S = np.random.default_rng(2).uniform(0.2, 1.0, (4, 4))
BAND = np.array([[0.0], [1.0], [0.0]])


def written(x):
    y = x.copy()
    y[1] = x[0] * x[2]
    return y


def updated(x):
    y = x.copy()
    y[1:] += x[:-1] * x[1:]
    return y


def copied_by_name(x):
    y = x * 2.0
    np.copyto(dst=y, src=x**3, where=BM)
    np.put(y, ind=[0, 2], v=x[:2] * x[1])
    return y


def filled_by_entries(x):
    y = np.ndarray(shape=x.shape, dtype=x.dtype)
    for i in range(len(x)):
        y[i] = x[i] ** 2
    return y


def put_along(x):
    y = x * 2.0
    np.put_along_axis(y, IA, x[:, :1] ** 2, axis=1)
    return y


def put(x):
    y = x * 2.0
    np.put(y, [0, 2], x[1:3] ** 2)
    return y


def put_around(x):
    y = x * 2.0
    np.put(y, [[13, -1], [5, 0]], x[0, :3] ** 2, mode="wrap")
    np.put(y, [2, -9, 99], x[1, :3] ** 2, mode="clip")
    return y


def put_method(x):
    y = x * 2.0
    y.put([0, 2], x[1:3] ** 2)
    return y


def put_mask(x):
    y = x * 2.0
    np.putmask(y, BM, x[:2] ** 2)
    return y


def placed(x):
    y = x * 2.0
    np.place(y, BM, x[:2] ** 2)
    return y


def copied(x):
    y = np.zeros(x.shape)
    np.copyto(y, x**2)
    return y


def diagonal_filled(x):
    y = x * 2.0
    np.fill_diagonal(y, x[0, 0] ** 2)
    return y


def diagonals_filled(x):
    y = x * 2.0
    np.fill_diagonal(y, x[0] ** 2, wrap=True)
    return y


def filled(x):
    y = np.empty(3)
    y.fill(x[0] ** 2)
    return y


def sorted_inside(x):
    y = x * 2.0
    y.sort()
    return y


def sorted_along(x):
    y = np.sin(x)
    y.sort(axis=0)
    return y


def partitioned(x):
    y = x * 2.0
    y.partition(2)
    return np.sort(y[:3])


def added(x):
    y = x * 2.0
    y += x * x
    return y


def multiplied(x):
    y = x * 2.0
    y *= x
    return y


def applied(x):
    y = x * 2.0
    y @= S
    return y


def into(x):
    y = np.empty_like(x)
    np.sin(x, out=y)
    return y * x


def into_two(x):
    part, whole = np.empty_like(x), np.empty_like(x)
    np.modf(3.0 * x, out=(part, whole))
    return part * whole * x


def into_where(x):
    y = x * 3.0
    np.sin(x, out=y, where=x > 0.5)
    return y


def scattered(x):
    y = x * 3.0
    np.add.at(y, [0, 0, 1], x[:3])
    return y


def resized(x):
    y = x * 3.0
    y.resize((2, 2))
    return y


def flat_written(x):
    y = np.outer(x, x).T
    y.flat[7] = x[0] * x[1]
    y.flat[-1] += x[2]
    y.flat[::6] = x[:2] ** 2
    return y


def flat_filled(x):
    y = np.outer(x, x)
    y.flat = x * x
    return y


def flat_kept(x):
    y = np.outer(x, x)
    entries = y.flat
    y[1, 1] = x[0]
    return entries[6] * entries[3]


def flat_kept_transposed(x):
    y = np.outer(x, x)
    entries = y.T.flat
    y[0, 1] = x[0]
    return entries[5] * x[1]


def masked_sum(x):
    y = np.zeros(3)
    np.sum(x, axis=1, where=x > 0.5, out=y)
    return y


def kept_in_fortran_order(x):
    y = np.multiply(x, x, order="F")
    return y.ravel("K") * y.flatten("A") * np.arange(12.0)


def distinct_and_back(x):
    values, back = np.unique(x**2, return_inverse=True)
    return values[back] * x


def distinct_with_all(x, y):
    joined = np.concatenate([x, x[1:3]])
    values, firsts, back, counts = np.unique(joined, True, True, True)
    return values * counts * y[firsts % 5] + np.sum(values[back])
