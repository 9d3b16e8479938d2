"""Writes by NumPy's functions: ufunc.at, out=, where=, sort, put, fill_diagonal, copyto."""

import numpy as np

from .registry import Program, vector

_INDEX = np.array([1, 3, 1, 0])


def _vector_and_index(rng):
    return rng.normal(size=4), _INDEX


def _matrix(n, m):
    return lambda rng: (rng.normal(size=(n, m)),)


def add_at_repeats(x, index):
    y = np.zeros(4)
    np.add.at(y, index, x * x)
    np.add.at(y, index[::-1], 0.5 * x)
    return np.sum(y**3)


def subtract_at(x, index):
    y = np.ones(4)
    np.subtract.at(y, index, np.sin(x))
    return np.sum(y * y)


def add_at_rows(x, index):
    y = np.zeros((3, 2))
    np.add.at(y, index, x)
    np.add.at(y, (index, 0), x[:, 1])
    return np.sum(y * y)


def add_at_in_loop(x, index):
    y = np.ones(4)
    for _ in range(3):
        np.add.at(y, index, 0.1 * y[1] * x)
    return np.sum(y * y)


def multiply_at(x, index):
    y = np.ones(4)
    np.multiply.at(y, index, x)
    return np.sum(y * y)


def maximum_at(x, index):
    y = np.zeros(4)
    np.maximum.at(y, index, x)
    return np.sum(y * y)


def at_rows_and_masks(x, index):
    m, weights = np.outer(x, x), np.ones(len(x))
    np.multiply.at(m, [1, 1], x)
    np.maximum.at(m, x > 0.1, 2.0 * m[1])
    np.exp.at(m, slice(0, 2))
    np.multiply.at(weights, index, 2.0)
    return np.sum(m * m) * np.sum(weights * x)


def out_of_ufunc(x):
    y = np.empty_like(x)
    z = np.empty_like(x)
    np.multiply(x, x, out=y)
    np.sin(y, y)
    np.add(y, x, out=z)
    return np.sum(y * z)


def out_in_loop(x, steps):
    y = np.ones_like(x)
    work = np.empty_like(x)
    for _ in range(steps):
        np.multiply(y, x, out=work)
        np.cos(work, out=work)
        np.add(y, work, out=y)
    return np.sum(y * y)


def out_of_slice(x):
    y = np.zeros(6)
    np.sin(x, out=y[1:4])
    np.multiply(y[1:4], y[2:5], out=y[:3])
    return np.sum(y * y)


def out_of_matmul(a, x):
    y = np.empty(3)
    np.matmul(a, x, out=y)
    np.dot(a, y.copy(), out=y)
    return y @ y


def out_of_reduction(a):
    s = np.empty(3)
    np.sum(a * a, axis=0, out=s)
    np.cumsum(s, out=s)
    return s @ s


def out_given_back(x):
    y = np.empty_like(x)
    z = np.exp(x, out=y)
    z *= 2.0
    return np.sum(y * z)


def out_and_where(x):
    y = np.full_like(x, 0.5)
    np.sqrt(x, out=y, where=x > 0.0)
    return np.sum(y * x)


def where_of_divide(x, d):
    r = np.zeros_like(x)
    np.divide(x, d, out=r, where=d != 0.0)
    return np.sum(r * r)


def sorted_in_place(x):
    y = x * x
    y.sort()
    return y @ np.arange(1.0, 5.0)


def sorted_axis(a):
    b = np.sin(a)
    b.sort(axis=0)
    return np.sum(b * np.arange(6.0).reshape(3, 2))


def put_flat(x, index):
    y = np.ones((2, 3))
    np.put(y, index, x)
    return np.sum(y**2 * np.arange(6.0).reshape(2, 3))


def put_method(x, index):
    y = x * x
    y.put(index, x[:2])
    return np.sum(y**2 * np.arange(4.0))


def put_along_axis(a, order):
    b = np.zeros_like(a)
    np.put_along_axis(b, order, a * a, axis=1)
    return np.sum(b * np.arange(6.0).reshape(2, 3))


def place_and_putmask(x):
    y = x * x
    np.putmask(y, x > 0.0, x)
    return np.sum(y * y)


def placed(x):
    y = x * x
    np.place(y, x > 0.0, x[:2])
    return np.sum(y * y)


def fill_diagonal(a, s):
    b = a @ a
    np.fill_diagonal(b, s)
    return np.sum(b * b * a)


def fill_diagonal_vector(a, v):
    b = a * a
    np.fill_diagonal(b, v)
    return np.sum(b * b)


def fill_diagonal_wide(a, v):
    b = a * a
    np.fill_diagonal(b, v)
    return np.sum(b * b)


def copy_to(x):
    y = np.empty((2, 3))
    np.copyto(y, x)
    np.copyto(y[0], x * x)
    return np.sum(y**2)


def copy_to_where(x):
    y = np.sin(x)
    np.copyto(y, x * x, where=x > 0.0)
    return np.sum(y * x)


def einsum_out(x):
    y = np.zeros(5)
    np.einsum("i,i->i", x, x, out=y)
    return np.sum(y)


def stack_out(x):
    y = np.zeros((2, 5))
    np.stack([x, x * x], out=y)
    y[0] *= y[1]
    return np.sum(y)


def flat_iter(x):
    y = np.zeros((1, 5))
    for i, v in enumerate(x.flat):
        y.flat[i] = v * v
    return np.sum(y * x)


def bool_view(x):
    y = x * x
    m = y > 0.5
    y[m] = x[m]
    y[~m] *= 2.0
    y[m][0] = 100.0
    return np.sum(y * y)


PROGRAMS = [
    Program(add_at_repeats, _vector_and_index),
    Program(subtract_at, _vector_and_index),
    Program(add_at_rows, lambda rng: (rng.normal(size=(4, 2)), np.array([0, 2, 2, 0]))),
    Program(add_at_in_loop, _vector_and_index),
    Program(multiply_at, _vector_and_index),
    Program(maximum_at, _vector_and_index),
    Program(at_rows_and_masks, _vector_and_index),
    Program(out_of_ufunc, vector(4)),
    Program(out_in_loop, lambda rng: (rng.normal(size=3), 3)),
    Program(out_of_slice, vector(3)),
    Program(out_of_matmul, lambda rng: (rng.normal(size=(3, 3)), rng.normal(size=3)), (0, 1)),
    Program(out_of_reduction, _matrix(2, 3)),
    Program(out_given_back, vector(3)),
    Program(out_and_where, vector(5)),
    Program(
        where_of_divide,
        lambda rng: (rng.normal(size=4), np.array([1.0, -2.0, 0.5, 3.0])),
        (0, 1),
    ),
    Program(sorted_in_place, vector(4)),
    Program(sorted_axis, _matrix(3, 2)),
    Program(put_flat, lambda rng: (rng.normal(size=3), np.array([0, 4, 2]))),
    Program(put_method, lambda rng: (rng.normal(size=4), np.array([3, 1]))),
    Program(
        put_along_axis,
        lambda rng: (rng.normal(size=(2, 3)), np.argsort(rng.normal(size=(2, 3)), axis=1)),
    ),
    Program(place_and_putmask, vector(5)),
    Program(placed, vector(5)),
    Program(fill_diagonal, lambda rng: (rng.normal(size=(3, 3)), 0.7), (0, 1)),
    Program(
        fill_diagonal_vector, lambda rng: (rng.normal(size=(3, 3)), rng.normal(size=3)), (0, 1)
    ),
    Program(fill_diagonal_wide, lambda rng: (rng.normal(size=(2, 4)), 0.3), (0, 1)),
    Program(copy_to, vector(3)),
    Program(copy_to_where, vector(5)),
    Program(einsum_out, vector(5, 0.3, 1.4)),
    Program(stack_out, vector(5, 0.3, 1.4)),
    Program(flat_iter, vector(5, 0.3, 1.4)),
    Program(bool_view, vector(5, 0.3, 1.4)),
]
