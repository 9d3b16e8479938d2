"""Writes through views and aliases, into indices and masks, and into buffers from outside."""

# ruff: noqa: B008 (programs as people write them)

import numpy as np

from .registry import Program, vector

_BUFFER = np.zeros(4)
_VECTOR = vector(4, 0.2, 1.5)


def _matrix(n, m):
    return lambda rng: (rng.uniform(0.2, 1.5, (n, m)),)


def index_array_written(x):
    idx = np.array([0, 1, 2, 3])
    y = x[idx] * x
    idx[0] = 2
    idx += 1
    idx %= 4
    z = x[idx] * y
    idx[:] = idx[::-1]
    return np.sum(z * x[idx])


def order_swapped(x):
    order = np.argsort(x)
    y = x[order] ** 2
    order[0], order[1] = (order[1], order[0])
    return np.sum(y * x[order] * np.arange(4.0))


def index_in_loop(x):
    idx = np.arange(4)
    s = 0.0
    for k in range(3):
        s += np.sum(x[idx] * x) ** 2
        idx[k] = idx[k + 1]
    return s


def counts(x):
    count = np.zeros(2)
    total = np.zeros(2)
    for i in range(4):
        k = i % 2
        count[k] += 1
        total[k] += x[i] ** 2 / count[k]
    return np.sum(total / count)


def mask_rewritten(x):
    mask = x > 0.5
    y = np.where(mask, x * x, x)
    mask &= x > 1.0
    mask[0] = True
    y[mask] *= x[mask]
    mask[:] = ~mask
    return np.sum(y[mask] ** 2) + np.sum(y)


def chain_effect(a):
    y = a * a
    y[0][1] = a[1, 1] * a[2, 2]
    y[1, :][2] *= a[0, 0]
    y.T[2][0] += y[0, 1]
    y[::-1][0, 0] = 2.0 * y[1, 1]
    return np.sum(y * y)


def fancy_chain_no_effect(x):
    y = x * x
    y[[0, 1]][0] = 5.0 * x[2]
    y[x > 0.1][0] = 7.0
    y.copy()[0] = 3.0
    y.flatten()[1] = 2.0
    np.array(y)[2] = 9.0
    return np.sum(y * x)


def asarray_effect(x):
    y = x * x
    z = np.asarray(y)
    z[0] = x[1] * y[2]
    np.asarray(y)[1] = 3.0 * y[0]
    np.atleast_2d(y)[0, 3] *= y[0]
    return np.sum(y * y)


def view_method(x):
    y = x * x
    z = y.view()
    z[0] = x[1] * y[2]
    return np.sum(y * y)


def squeeze_swap(a):
    b = a * a
    np.squeeze(b[None])[0] = b[1]
    np.swapaxes(b, 0, 1)[0] *= 2.0
    np.expand_dims(b, 0)[0, 1] += b[0]
    np.moveaxis(b, 0, 1)[2] = b[:, 1]
    return np.sum(b * b)


def ascontiguous(x):
    y = x * x
    z = np.ascontiguousarray(y)
    z[0] = 5.0 * x[1]
    return np.sum(y * y)


def astype_no_copy(x):
    y = x * x
    z = y.astype(float, copy=False)
    z[0] = 5.0 * x[1]
    return np.sum(y * y)


def row_views_outlive(a):
    b = a.copy()
    r0 = b[0]
    r1 = b[1]
    for k in range(3):
        r0[k] = r1[k] * b[2, k]
        r1[k] += r0[k - 1]
    return r0 @ r1 + np.sum(b)


def row_view_rebound(a):
    b = a.copy()
    row = b[0]
    for k in range(1, 3):
        row *= b[k]
        row = b[k]
    row[0] = 3.0 * b[0, 0]
    return np.sum(b * b)


def parameter_transposed(a):
    a = a.T
    a[0] *= a[1]
    a = a[::-1]
    a[0, 1:] += a[2, :-1]
    return np.sum(a * a * np.arange(9.0).reshape(3, 3))


def np_apply(a):
    out = np.zeros((3, 4))
    for i, row in enumerate(a):
        for j, v in enumerate(row):
            out[i, j] += v * row[j - 1]
        row[0] = out[i, 1]
    return np.sum(out) + np.sum(a * a)


def zip_rows(a):
    b = np.zeros_like(a)
    for src, dst in zip(a, b):
        dst[:] = src * src[::-1]
        dst[0] += src[1]
    return np.sum(b * b)


def shape_attribute(x):
    y = x * x
    y.shape = (2, 2)
    y[0] *= y[1]
    return np.sum(y)


def real_update(x):
    z = x + 1j * x[::-1]
    z.real *= 2.0
    z.imag[:] = z.real * x
    z.real[1:] += z.imag[:-1]
    return np.sum(np.abs(z) ** 2)


def global_buffer(x):
    _BUFFER[:] = x * x
    _BUFFER[1:] += _BUFFER[:-1]
    return np.sum(_BUFFER * x)


def default_buffer(x, out=np.zeros(4)):
    out[:] = x * x
    out[1:] *= out[:-1]
    return np.sum(out * x)


def into_helper(p, q):
    p[0] = np.sin(q[1])


def renamed_for_helper(x):
    y, z = np.cos(x), x * 2.0
    w = y
    w += 0.3
    if x[0] > 0.1:
        into_helper(z, w)
    else:
        z = np.cos(y)
    return np.sum(z * z)


PROGRAMS = [
    Program(renamed_for_helper, _VECTOR),
    Program(index_array_written, _VECTOR),
    Program(order_swapped, _VECTOR),
    Program(index_in_loop, _VECTOR),
    Program(counts, _VECTOR),
    Program(mask_rewritten, _VECTOR),
    Program(chain_effect, _matrix(3, 3)),
    Program(fancy_chain_no_effect, _VECTOR),
    Program(asarray_effect, _VECTOR),
    Program(view_method, _VECTOR),
    Program(squeeze_swap, _matrix(2, 3)),
    Program(ascontiguous, _VECTOR),
    Program(astype_no_copy, _VECTOR),
    Program(row_views_outlive, _matrix(3, 3)),
    Program(row_view_rebound, _matrix(3, 3)),
    Program(parameter_transposed, _matrix(3, 3)),
    Program(np_apply, _matrix(3, 4)),
    Program(zip_rows, _matrix(3, 4)),
    Program(shape_attribute, _VECTOR),
    Program(real_update, _VECTOR),
    Program(global_buffer, _VECTOR),
    Program(default_buffer, _VECTOR),
]
