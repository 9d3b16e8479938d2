"""Writes: elements, slices, masks and gathers of local arrays and parameters, views, aliases."""

import numpy as np

from .registry import Program, vector


def filled_by_index(x):
    y = np.zeros(len(x))
    y[0] = x[0] * x[1]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 0.5 + np.sin(x[i])
    return np.sum(y * y)


def empty_then_filled(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] * x[len(x) - 1 - i]
    return y @ x


def slice_store(x):
    y = np.ones((3, len(x)))
    y[0] = x
    y[1, :] = np.sin(x)
    y[2, 1:] = x[1:] * x[:-1]
    return np.sum(np.prod(y, axis=0))


def broadcast_store(x, s):
    y = np.zeros((2, 3))
    y[:] = x
    y[0] = s
    y[1, ::2] *= s
    return np.sum(y**3)


def parameter_written(a, steps):
    for _ in range(steps):
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    return np.sum(a)


def parameter_overwritten(a):
    first = a[0]
    a[0] = a[1] * a[1]
    a[1] = 2.0
    a[2] *= first
    return np.sum(a) + a[0] * a[2]


def scaled_in_place(x):
    y = x * 2.0
    y += x
    y *= x
    y -= 0.5
    y /= 1.0 + x * x
    y **= 2
    return np.sum(y)


def masked_store(x):
    y = x * x
    y[x < 0.0] = 0.1
    y[x > 0.5] *= 2.0
    return np.sum(y * x)


def masked_array_store(x):
    y = np.zeros_like(x)
    mask = x > 0.0
    y[mask] = np.log(x[mask])
    y[~mask] = x[~mask] ** 2
    return np.sum(y)


def gathered_store(x, index):
    y = np.ones(6)
    y[index] = x * x
    y[index[::-1]] += x
    return np.sum(np.sin(y) * np.arange(6.0))


def added_at(x, index):
    y = np.zeros(4)
    np.add.at(y, index, x * x)
    return np.sum(y**2)


def view_of_row(a):
    b = a * 1.0
    row = b[1]
    row[0] = 3.0 * row[1]
    row += b[0]
    return np.sum(b * b)


def alias_written(x):
    y = np.sin(x)
    z = y
    z[0] = x[1] * y[1]
    y[1] *= 2.0
    return np.sum(z * z)


def copy_is_apart(x):
    y = np.sin(x)
    z = y.copy()
    z[0] = 5.0
    z[1] *= y[0]
    return np.sum(y * z)


def swapped_buffers(x, steps):
    a = x.copy()
    b = np.zeros_like(x)
    for _ in range(steps):
        b[1:-1] = 0.25 * (a[:-2] + 2.0 * a[1:-1] * a[2:])
        b[0] = a[-1]
        a, b = b, a
    return np.sum(a * a)


def transposed_view(a):
    b = a.copy()
    t = b.T
    t[0] = b[:, 1] * b[0, 0]
    flat = b.reshape(-1)
    flat[-1] = flat[0] * flat[1]
    return np.sum(b**2)


def write_in_branch(x):
    y = x * x
    for i in range(len(x)):
        if x[i] > 0.0:
            y[i] = y[i - 1] * x[i]
        else:
            y[i] += 0.5
    return np.sum(y)


def helper_writes(x):
    y = np.sin(x)
    normalise(y)
    return y[0] * y[1]


def normalise(v):
    v /= np.sqrt(np.sum(v * v))
    v[0] = v[0] + v[1]


def helper_writes_and_returns(x):
    y = x * 1.0
    z = accumulate(y)
    z[0] *= 2.0
    return np.sum(y * x)


def accumulate(v):
    for i in range(1, len(v)):
        v[i] += v[i - 1]
    return v


def row_swap(a, i, j):
    b = a.copy()
    b[[i, j]] = b[[j, i]]
    b[i] *= 2.0
    return np.sum(b[0] * b[1]) + b[2, 0]


def element_swap(x):
    y = x * x
    y[0], y[1] = y[1], y[0]
    return y[0] * 2.0 + y[1] * y[2]


def slice_swap(a):
    a = a.copy()
    a[0], a[1] = a[1].copy(), a[0].copy()
    return np.sum(a[0] * np.arange(3.0)) + np.sum(a[1] ** 2)


def overwritten_every_step(x):
    work = np.zeros(3)
    s = 0.0
    for i in range(len(x)):
        work[0] = x[i]
        work[1] = np.sin(work[0])
        work[2] = work[0] * work[1]
        s += work[2] * work[1]
    return s


def saved_before_write(x):
    history = []
    y = x.copy()
    for i in range(3):
        history.append(y.copy())
        y *= np.cos(y)
    return np.sum(history[0] * history[2]) + np.sum(y)


def list_items(x):
    cells = [0.0, 0.0, 0.0]
    for i in range(3):
        cells[i] = x[i] * x[0]
    cells[1] += cells[0]
    return cells[0] * cells[1] + cells[2]


def fill_and_copyto(x):
    y = np.empty(3)
    y.fill(2.0)
    z = np.empty(3)
    np.copyto(z, x * x)
    y[1:] = z[:2]
    return np.sum(y * x)


def out_argument(x):
    y = np.empty_like(x)
    np.multiply(x, x, out=y)
    np.sin(y, out=y)
    return np.sum(y * x)


def diagonal_write(a):
    b = a @ a
    for i in range(b.shape[0]):
        b[i, i] = b[i, i] * 2.0 + a[i, 0]
    return np.sum(b * b)


def nested_rows(x):
    grid = np.zeros((3, 3))
    for i in range(3):
        row = grid[i]
        for j in range(3):
            row[j] = x[i] * x[j]
            if j > 0:
                row[j] += row[j - 1]
    return np.sum(grid[2] * grid[:, 1])


PROGRAMS = [
    Program(filled_by_index, vector(4)),
    Program(empty_then_filled, vector(4)),
    Program(slice_store, vector(4)),
    Program(broadcast_store, lambda rng: (rng.normal(size=3), 0.7), (0, 1)),
    Program(parameter_written, lambda rng: (rng.normal(size=6), 3)),
    Program(parameter_overwritten, vector(4)),
    Program(scaled_in_place, vector(3)),
    Program(masked_store, vector(6)),
    Program(masked_array_store, vector(6)),
    Program(gathered_store, lambda rng: (rng.normal(size=3), np.array([4, 0, 2]))),
    Program(added_at, lambda rng: (rng.normal(size=4), np.array([1, 3, 1, 0]))),
    Program(view_of_row, lambda rng: (rng.normal(size=(3, 3)),)),
    Program(alias_written, vector(3)),
    Program(copy_is_apart, vector(3)),
    Program(swapped_buffers, lambda rng: (rng.normal(size=5), 3)),
    Program(transposed_view, lambda rng: (rng.normal(size=(3, 3)),)),
    Program(write_in_branch, vector(5)),
    Program(helper_writes, vector(3)),
    Program(helper_writes_and_returns, vector(4)),
    Program(row_swap, lambda rng: (rng.normal(size=(3, 2)), 0, 2)),
    Program(element_swap, vector(3)),
    Program(slice_swap, lambda rng: (rng.normal(size=(2, 3)),)),
    Program(overwritten_every_step, vector(4)),
    Program(saved_before_write, vector(3)),
    Program(list_items, vector(3)),
    Program(fill_and_copyto, vector(3)),
    Program(out_argument, vector(3)),
    Program(diagonal_write, lambda rng: (rng.normal(size=(3, 3)),)),
    Program(nested_rows, vector(3)),
]
