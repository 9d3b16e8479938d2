"""Masks and repeated indices as targets, overlaps, swaps, casts, views in containers."""

import numpy as np

from .registry import Program, vector

_INDEX = np.array([1, 3, 1, 0])


def _vector_and_index(rng):
    return rng.normal(size=4), _INDEX


def _matrix(n, m):
    return lambda rng: (rng.normal(size=(n, m)),)


def mask_scalar(x):
    y = np.sin(x)
    y[x > 0.0] = x[0]
    return np.sum(y * x)


def mask_array(x):
    y = np.sin(x)
    positive = x > 0.0
    y[positive] = x[positive] ** 2
    y[positive] *= y[~positive][0]
    return np.sum(y * x)


def mask_of_rows(a, keep):
    b = a * a
    b[keep] = b[keep] * a[0]
    b[keep, 1] += a[0, 0]
    return np.sum(b * b)


def mask_two_dimensional(a):
    b = np.sin(a)
    b[a < 0.0] = 0.25 * np.sum(a)
    b[b > 0.5] -= 0.1 * a[0, 0]
    return np.sum(b * b)


def repeated_target(x, index):
    y = np.zeros(4)
    y[index] = x * x
    return np.sum(y * y)


def repeated_update(x, index):
    y = np.ones(4)
    y[index] += x * x
    y[index] *= x
    return np.sum(y * y)


def repeated_pairs(x, rows, columns):
    y = np.ones((3, 3))
    y[rows, columns] = x
    y[rows, columns] += np.sin(x)
    return np.sum(y * y)


def repeated_by_list(x):
    y = np.zeros(3)
    y[[0, 2, 0]] = x[:3]
    y[[1, 1]] -= x[2:]
    return np.sum(y * y)


def overlap_forward(x):
    a = x * x
    a[1:] = a[:-1]
    return np.sum(a * x)


def overlap_backward(x):
    a = x * x
    a[:-1] = a[1:]
    a[1:] += a[:-1]
    return np.sum(a * x)


def overlap_update(x):
    a = x * x
    a[1:] *= a[:-1]
    a[::-1][1:] += 0.5 * a[1:]
    return np.sum(a * a)


def overlap_reversed(x):
    a = x * x
    a[:] = a[::-1]
    a += a[::-1]
    return np.sum(a * np.arange(4.0))


def overlap_transposed(a):
    b = a * a
    b[:] = b.T
    b += b.T
    b *= b.T
    return np.sum(b * np.arange(9.0).reshape(3, 3))


def overlap_in_loop(x, steps):
    a = x.copy()
    for _ in range(steps):
        a[1:] = a[:-1] * a[1:]
        a[0] = a[-1]
    return np.sum(a * x)


def swap_elements(x: np.ndarray, i, j):
    y = x * x
    y[i], y[j] = y[j], y[i]
    return y @ np.arange(4.0)


def swap_of_parameter(x, i, j):
    x[i], x[j] = x[j], x[i]
    return x @ np.arange(4.0)


def swap_rows_by_list(a):
    b = a * a
    b[[0, 2]] = b[[2, 0]]
    return np.sum(b * np.arange(6.0).reshape(3, 2))


def swap_rows_aliased(a):
    b = a * a
    b[0], b[1] = b[1], b[0]  # not a swap: the second row is read after it was overwritten
    return np.sum(b * np.arange(6.0).reshape(3, 2))


def narrow_store(x):
    y = np.zeros(4, dtype=np.float32)
    y[:] = x * x
    y[1] = x[0]
    return float(np.sum(y.astype(float) * x))


def narrow_update(x):
    y = np.ones(4, dtype=np.float32)
    y += x
    y *= y
    return float(y[0]) * float(y[1])


def integer_store(x):
    y = np.zeros(4, dtype=int)
    y[:] = x
    return np.sum(y * x)


def empty_filled(x):
    y = np.empty(4)
    for i in range(4):
        y[i] = x[i] * x[i - 1]
    z = np.empty((2, 4))
    z[0] = y
    z[1] = y * x
    return np.sum(z[0] * z[1])


def empty_partly_read(x):
    y = np.empty(5)
    y[1:] = np.sin(x)
    return np.sum(y[1:] * y[1:])


def views_in_list(a):
    b = a * a
    rows = [b[0], b[1]]
    rows[0][1] = a[1, 1]
    rows[1] *= 2.0
    return np.sum(b * b)


def views_in_list_by_loop(a):
    b = a * a
    rows = [b[i] for i in range(3)]
    for row in rows:
        row *= row[0]
    return np.sum(b * b)


def rows_of_array(a):
    b = a * a
    for row in b:
        row /= row.sum()
    return np.sum(b * a)


def views_in_tuple(x):
    y = np.sin(x)
    halves = (y[:2], y[2:])
    halves[1][:] = halves[0] * x[2:]
    return np.sum(y * y)


def split_views(x):
    y = np.sin(x)
    left, right = np.split(y, 2)
    left *= right
    return np.sum(y * y)


def flat_write(a):
    b = a * a
    b.flat[3] = a[0, 0]
    return np.sum(b * b)


def ravel_write(a):
    b = a * a
    v = b.ravel()
    v[3] = a[0, 0] * v[1]
    return np.sum(b * b)


def diagonal_by_stride(a):
    b = a * a
    b.reshape(-1)[::4] = a[0]
    return np.sum(b * b)


def real_and_imaginary(x):
    z = np.zeros(4, dtype=complex)
    z.real[:] = x
    z.imag = x[::-1] * x
    w = z * z
    return np.sum(w.real * w.imag)


def delete_by_copy(x):
    y = np.sin(x)
    del x
    y[0] = 2.0 * y[1]
    return np.sum(y * y)


def zero_dimensional(x):
    total = np.zeros(())
    for v in x:
        total += v * v
    total[...] = total * total
    return float(total) * x[0]


def ellipsis_and_newaxis(a):
    b = np.zeros((2, 3, 2))
    b[..., 0] = a
    b[:, :, 1] = a[:, ::-1]
    b[:, None, 0][:, 0] *= 2.0
    return np.sum(b[..., 0] * b[..., 1])


def broadcast_into(x, s):
    y = np.zeros((3, 4))
    y[:] = x
    y[1:, :2] = s
    y[:, 1:3] *= x[:2]
    y -= x * s
    return np.sum(y * y)


def power_in_place(x):
    y = np.abs(x) + 1.0
    y **= x
    return np.sum(y * x)


def update_through_call(x):
    y = np.sin(x)
    halve(y[1:])
    return np.sum(y * y)


def halve(v):
    v *= 0.5 * v[0]


def swap_columns_by_temporary(a):
    b = a * a
    t = b[:, 0].copy()
    b[:, 0] = b[:, 1]
    b[:, 1] = t
    return np.sum(b * np.arange(6.0).reshape(3, 2))


def swap_columns_forgotten_copy(a):
    b = a * a
    t = b[:, 0]
    b[:, 0] = b[:, 1]
    b[:, 1] = t
    return np.sum(b * np.arange(6.0).reshape(3, 2))


def bounds_in_written_list(x):
    y, starts = x * 1.0, [1, 2]
    for k in range(2):
        s = starts[k]
        y[s:-1:2] = 0.5 * (y[s - 1 : -2 : 2] + y[s + 1 :: 2] ** 2)
        starts[k] = s + 1
    return np.sum(y * y)


PROGRAMS = [
    Program(mask_scalar, vector(5)),
    Program(mask_array, vector(6)),
    Program(
        mask_of_rows,
        lambda rng: (rng.normal(size=(3, 2)), np.array([True, False, True])),
    ),
    Program(mask_two_dimensional, _matrix(3, 3)),
    Program(repeated_target, _vector_and_index),
    Program(repeated_update, _vector_and_index),
    Program(
        repeated_pairs,
        lambda rng: (rng.normal(size=4), np.array([0, 1, 0, 2]), np.array([2, 1, 2, 0])),
    ),
    Program(repeated_by_list, vector(4)),
    Program(overlap_forward, vector(4)),
    Program(overlap_backward, vector(4)),
    Program(overlap_update, vector(4)),
    Program(overlap_reversed, vector(4)),
    Program(overlap_transposed, _matrix(3, 3)),
    Program(overlap_in_loop, lambda rng: (rng.normal(size=4), 3)),
    Program(swap_elements, lambda rng: (rng.normal(size=4), 1, 3)),
    Program(swap_of_parameter, lambda rng: (rng.normal(size=4), 1, 3)),
    Program(swap_rows_by_list, _matrix(3, 2)),
    Program(swap_rows_aliased, _matrix(3, 2)),
    Program(narrow_store, vector(4), tolerance=2e-3),
    Program(narrow_update, vector(4), tolerance=2e-3),
    Program(integer_store, vector(4, 2.1, 2.9)),
    Program(empty_filled, vector(4)),
    Program(empty_partly_read, vector(4)),
    Program(views_in_list, _matrix(2, 3)),
    Program(views_in_list_by_loop, _matrix(3, 3)),
    Program(rows_of_array, _matrix(3, 3)),
    Program(views_in_tuple, vector(4)),
    Program(split_views, vector(4)),
    Program(flat_write, _matrix(2, 3)),
    Program(ravel_write, _matrix(2, 3)),
    Program(diagonal_by_stride, _matrix(3, 3)),
    Program(real_and_imaginary, vector(4)),
    Program(delete_by_copy, vector(3)),
    Program(zero_dimensional, vector(3)),
    Program(ellipsis_and_newaxis, _matrix(2, 3)),
    Program(broadcast_into, lambda rng: (rng.normal(size=4), 0.7), (0, 1)),
    Program(power_in_place, vector(3)),
    Program(update_through_call, vector(4)),
    Program(swap_columns_by_temporary, _matrix(3, 2)),
    Program(swap_columns_forgotten_copy, _matrix(3, 2)),
    Program(bounds_in_written_list, vector(7)),
]
