"""Writes to arrays of which only the run can say how they share memory."""

import numpy as np

from .registry import Program, vector

_VECTOR = vector(4, 0.2, 1.5)


def _matrix(rng):
    return (rng.uniform(0.2, 1.5, (3, 4)),)


def copied_or_not(x: np.ndarray):
    y = np.sin(x)
    z = y if y[0] > 0.6 else y.copy()
    z[1:] *= x[1:]
    return np.sum(y * z)


def row_or_column(a: np.ndarray):
    b = a * a
    part = b[0, :3]
    for k in range(3):
        if b[k, k] > 0.5:
            part = b[:, k]
        part *= a[k, 0]
        b[k] += 0.1 * part[0]
    return np.sum(b * a)


def ping_pong(x: np.ndarray):
    old, new = x * 1.0, np.zeros(4)
    for k in range(4):
        new[1:-1] = old[:-2] * old[2:] + 0.1 * old[1:-1]
        new[0] = old[-1]
        if new[1] > 0.2 * k:
            old, new = new, old
        else:
            new = old
    return np.sum(old * x) + new[1]


def raveled(a: np.ndarray):
    b = a * a
    flat = np.ravel(b.T)
    flat[2:] *= 0.5
    whole = b.reshape(-1)
    whole[1] = whole[0] * a[1, 1]
    return np.sum(b * a) + np.sum(flat)


def ravel_of_argument(a: np.ndarray):
    flat = np.ravel(a)
    flat[2:] *= flat[1:-1]
    return np.sum(a * a) + flat[3]


def contiguous(a: np.ndarray):
    b = a * 2.0
    first, second = np.ascontiguousarray(b), np.ascontiguousarray(b.T)
    first[0] *= b[1]
    second[0] *= 3.0
    return np.sum(b * b) + np.sum(second)


def larger(p: np.ndarray, q: np.ndarray):
    if p[0] > q[0]:
        return p
    q[0] *= 2.0
    return q


def one_given_back(x: np.ndarray):
    y, z = np.sin(x), np.cos(x)
    which = larger(y, z)
    which[1:] *= x[:-1]
    y[2] += which[0] * z[1]
    return np.sum(y * z)


def fill_from(p: np.ndarray, q: np.ndarray):
    r = p if q[0] > 0.5 else p[::-1]
    r[0] = q[1] * p[2]
    p[1] += r[0]


def written_by_helper(x: np.ndarray):
    y = x * x
    fill_from(y, x)
    fill_from(y[1:], x)
    return np.sum(y * x)


def offset_views(x: np.ndarray):
    y = np.sin(x)
    n = 1 if y[0] < 0.7 else 2
    left, right = y, y[n:]
    if n == 1:
        left = y[:-n]
    right += left[0] * x[0]
    left[1] = right[0] * right[1]
    return np.sum(y * y) + left[1]


def complex_parts(x: np.ndarray):
    z = x * (1.0 + 2.0j)
    part = z.real if x[0] > 0.7 else z.imag
    part[1:] *= x[:-1]
    z[0] = part[2] * 1j
    return np.sum(np.abs(z) ** 2)


def diagonal_by_einsum(a: np.ndarray):
    b = a * a
    diagonal = np.einsum("ii->i", b[:, :3])
    turned = np.einsum("ij->ji", b)
    diagonal[1:] = a[0, 1:3]
    return np.sum(turned.T * a)


def copied_from_part(a: np.ndarray):
    b = a * a
    part = b[1:]
    flat = part.T.reshape(-1) if a[0, 0] > 0.7 else part.reshape(-1)
    flat[1:] *= 0.5
    b[2] += flat[:4]
    return np.sum(b * a) + flat[0]


PROGRAMS = [
    Program(copied_from_part, _matrix),
    Program(diagonal_by_einsum, _matrix),
    Program(copied_or_not, _VECTOR),
    Program(row_or_column, _matrix),
    Program(ping_pong, _VECTOR),
    Program(raveled, _matrix),
    Program(ravel_of_argument, _matrix),
    Program(contiguous, _matrix),
    Program(one_given_back, _VECTOR),
    Program(written_by_helper, _VECTOR),
    Program(offset_views, _VECTOR),
    Program(complex_parts, _VECTOR),
]
