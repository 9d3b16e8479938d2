"""Targets of writes: several at once, tuples, swaps, updates, every ufunc.at, out= and where=,
sort, fill_diagonal, single precision, arrays made without values.
"""

import numpy as np

from .registry import Program, vector

_VECTOR = vector(5, 0.3, 1.4)


def _matrix(n, m):
    return lambda rng: (rng.normal(size=(n, m)),)


def three_targets(x):
    y = np.zeros(5)
    z = np.zeros(3)
    y[0] = z[1] = w = x[2] * x[0]
    y[1] *= w
    return np.sum(y * y) + np.sum(z**3) + w


def three_slices(x):
    y = np.zeros(5)
    z = np.zeros(3)
    a = y[1:4] = z[:] = np.sin(x[:3])
    y[2] = 0.0
    return np.sum(y * y) + np.sum(z**3) + np.sum(a * x[2:])


def three_same_array(x):
    a = np.zeros(5)
    b = c = a
    b[1] = x[0] * x[1]
    c[2:] = x[:3] * b[1]
    return np.sum(a * a)


def tuple_targets(x):
    y = np.zeros(5)
    y[0], (y[1], y[2:4]) = x[0] * x[1], (x[2], x[3:] ** 2)
    return np.sum(y * y)


def tuple_from_call(x):
    y = np.zeros(5)
    y[0], y[1] = divmod(x[3] * 4.0, 0.9)
    y[2:4], y[4] = np.sin(x[:2]), y[1]
    return np.sum(y * y)


def starred_targets(x):
    y = np.zeros(5)
    y[0], *rest = x * x
    y[1] = rest[2]
    return np.sum(y * y)


def swap_three(x):
    y = np.sin(x)
    y[0], y[1], y[2] = y[2], y[0], y[1]
    return np.sum(y * x)


def swap_slices(x):
    y = np.sin(x)
    y[:2], y[3:] = y[3:].copy(), y[:2].copy()
    return np.sum(y * x)


def swap_slices_wrong(x):
    y = np.sin(x)
    y[:2], y[3:] = y[3:], y[:2]
    return np.sum(y * x)


def swap_rows(a):
    b = a * a
    b[0], b[2] = b[2], b[0]
    return np.sum(b * a)


def matmul_aug(a):
    b = np.sin(a)
    b @= a
    b[:] @= b
    return np.sum(b * a)


def matmul_aug_slice(a):
    b = np.sin(a)
    b[1:, 1:] @= a[:2, :2]
    return np.sum(b * a)


def aug_all(a):
    b = np.sin(a) + 2.0
    b += a
    b -= a * a
    b *= a
    b /= 2.0 + a * a
    b[0] += a[1]
    b[1:] -= a[:2]
    b[:, 0] *= a[:, 1]
    b[b > 100] /= 2.0
    b[[0, 2]] **= 2
    b[[0, 0], [1, 1]] += a[0, :2]
    return np.sum(b * a)


def aug_pow_array(x):
    y = x * 1.0
    y **= x
    y[1:] **= 2.0
    y[[0, 3]] **= x[:2]
    y[y > 0.5] *= x[0]
    return np.sum(y)


def floor_mod(x):
    y = x * 7.0
    y %= 1.7
    y[1:] %= x[:-1]
    return np.sum(y * x)


def ufunc_divide_at(x):
    y = np.ones(5)
    np.divide.at(y, np.array([1, 1, 3]), x[:3])
    return np.sum(y * y)


def ufunc_power_at(x):
    y = x + 1.0
    np.power.at(y, np.array([1, 3]), x[:2])
    return np.sum(y * y)


def ufunc_minimum_at(x):
    y = np.ones(5)
    np.minimum.at(y, np.array([1, 1, 3]), x[:3])
    return np.sum(y * y)


def ufunc_negative_at(x):
    y = x * 1.0
    np.negative.at(y, [1, 3])
    np.sin.at(y, [0, 2])
    np.square.at(y, [0, 0])
    return np.sum(y * x)


def ufunc_multiply_at_rep(x):
    y = x + 1.0
    np.multiply.at(y, [1, 1, 3], x[:3])
    return np.sum(y * y)


def ufunc_logaddexp_at(x):
    y = x + 1.0
    np.logaddexp.at(y, [1, 1, 3], x[:3])
    return np.sum(y * y)


def ufunc_add_at_slice(x):
    y = x + 1.0
    np.add.at(y, slice(1, 3), x[:2])
    np.add.at(y, x > 0.8, 1.0)
    np.add.at(y, 2, x[0])
    return np.sum(y * y)


def where_out_divide(x):
    out = np.zeros_like(x)
    d = np.where(x > 0.8, x, 0.0)
    np.divide(1.0, d, out=out, where=d > 0)
    np.sqrt(x, out=out, where=x < 0.5)
    return np.sum(out * out)


def where_out_self(x):
    y = x * 1.0
    np.multiply(y, y, out=y, where=y > 0.8)
    np.log(y, where=y > 0.8, out=y)
    return np.sum(y * x)


def out_tuple(x):
    y = np.zeros(5)
    z = np.zeros(5)
    np.modf(x * 3.0, out=(y, z))
    return np.sum(y * x)


def out_tuple_one(x):
    y = np.zeros(5)
    np.sin(x, out=(y,))
    return np.sum(y * x)


def sorts(x):
    y = x * 1.0
    y.sort()
    y[1:].sort()
    y[::-1].sort()
    return np.sum(y * np.arange(5.0))


def sort_rows(a):
    b = a * 1.0
    b.sort(axis=0)
    b[1].sort()
    b[:, 0].sort(kind="stable")
    return np.sum(b * np.arange(12.0).reshape(3, 4))


def sort_argument(x):
    x.sort()
    return np.sum(x * np.arange(5.0))


def fill_diag(a):
    b = a * a
    np.fill_diagonal(b, a[0])
    np.fill_diagonal(b[1:, 1:], a[1, 1])
    np.fill_diagonal(b, 0.0, wrap=False)
    return np.sum(b * a)


def fill_diag_wrap(a):
    b = a * a
    np.fill_diagonal(b, a[0, 0], wrap=True)
    return np.sum(b * a)


def fill_diag_3d(a):
    b = a * a
    np.fill_diagonal(b, a[0, 0])
    return np.sum(b * a)


def cast32(x):
    y = np.zeros(5, dtype=np.float32)
    y[:] = x * x
    y[1:] += x[:-1]
    y *= x
    return np.sum(y * y)


def cast32_astype(x):
    y = x.astype(np.float32)
    y[0] = x[1]
    np.multiply(y, x, out=y, casting="same_kind")
    np.copyto(y[1:], x[:-1] * y[1:])
    return np.sum(y.astype(float) * x)


def ndarray_shape(x):
    y = np.ndarray(5)
    z = np.ndarray((2, 5))
    z[:] = x
    y[:] = x * x
    z[1] *= y
    return np.sum(z)


def ndarray_shape_kw(x):
    y = np.ndarray(shape=x.shape, dtype=x.dtype)
    y[...] = x * x
    return np.sum(y * x)


def empty_like_partial(x):
    y = np.empty_like(x)
    w = np.empty((3, 5))
    w.fill(np.nan)
    y[:3] = x[:3] ** 2
    w[0] = x * x
    w[1, :2] = w[0, 1:3] * y[:2]
    return np.sum(y[:3]) + np.sum(w[0]) + w[1, 0]


def full_nan(x):
    y = np.full(5, np.nan)
    for i in range(4):
        y[i] = x[i] * x[i + 1]
    return np.nansum(y)


def nditer_read(x):
    s = 0.0
    for v in np.nditer(x):
        s += v * v
    return s


def nditer_write(x):
    y = x * 1.0
    for v in np.nditer(y, op_flags=["readwrite"]):
        v[...] = v * v
    return np.sum(y * x)


PROGRAMS = [
    Program(three_targets, _VECTOR),
    Program(three_slices, _VECTOR),
    Program(three_same_array, _VECTOR),
    Program(tuple_targets, _VECTOR),
    Program(tuple_from_call, _VECTOR),
    Program(starred_targets, _VECTOR),
    Program(swap_three, _VECTOR),
    Program(swap_slices, _VECTOR),
    Program(swap_slices_wrong, _VECTOR),
    Program(swap_rows, _matrix(3, 3)),
    Program(matmul_aug, _matrix(3, 3)),
    Program(matmul_aug_slice, _matrix(3, 3)),
    Program(aug_all, _matrix(3, 3)),
    Program(aug_pow_array, _VECTOR),
    Program(floor_mod, _VECTOR),
    Program(ufunc_divide_at, _VECTOR),
    Program(ufunc_power_at, _VECTOR),
    Program(ufunc_minimum_at, _VECTOR),
    Program(ufunc_negative_at, _VECTOR),
    Program(ufunc_multiply_at_rep, _VECTOR),
    Program(ufunc_logaddexp_at, _VECTOR),
    Program(ufunc_add_at_slice, _VECTOR),
    Program(where_out_divide, _VECTOR),
    Program(where_out_self, _VECTOR),
    Program(out_tuple, _VECTOR),
    Program(out_tuple_one, _VECTOR),
    Program(sorts, _VECTOR),
    Program(sort_rows, _matrix(3, 4)),
    Program(sort_argument, _VECTOR),
    Program(fill_diag, _matrix(3, 3)),
    Program(fill_diag_wrap, _matrix(5, 2)),
    Program(fill_diag_3d, lambda rng: (rng.normal(size=(2, 2, 2)),)),
    Program(cast32, _VECTOR, tolerance=2e-3),
    Program(cast32_astype, _VECTOR, tolerance=2e-3),
    Program(ndarray_shape, _VECTOR),
    Program(ndarray_shape_kw, _VECTOR),
    Program(empty_like_partial, _VECTOR),
    Program(full_nan, _VECTOR),
    Program(nditer_read, _VECTOR),
    Program(nditer_write, _VECTOR),
]
