"""Views that are written: rows, splits, items of lists and dicts, attributes, arguments of helpers."""

from types import SimpleNamespace

import numpy as np

from .registry import Program, vector

_VECTOR = vector(5, 0.3, 1.4)
_six = vector(6, 0.3, 1.4)


def _matrix(n, m):
    return lambda rng: (rng.normal(size=(n, m)),)


def rows_whole(a):
    b = a * 1.0
    for row in b:
        row[:] = row * row
    for row in b.T:
        row *= a[0]
    return np.sum(b)


def rows_enumerate(a):
    b = np.zeros((3, 3))
    for i, row in enumerate(b):
        row[:] = a[i] * a[0]
        row[i] = 0.0
    return np.sum(b * b)


def rows_zip(a):
    b = np.zeros((3, 3))
    for row, src in zip(b, a):
        row[:] = src * a[0]
        row[1:] += row[:-1]
    return np.sum(b * b)


def rows_argument(a):
    for row in a:
        row /= np.sum(row * row)
    return np.sum(a[0] * a[1])


def rows_nested(a):
    b = a * 1.0
    for row in b:
        for j in range(3):
            row[j] = row[j] ** 2 + row[j - 1]
    return np.sum(b)


def split_written(x):
    y = x * x
    left, right = np.split(y, 2)
    left[:] = right * x[:3]
    right += left
    return np.sum(y * y)


def split_index(x):
    y = x * x
    parts = np.split(y, 3)
    parts[0][:] = x[:2]
    parts[1] *= parts[0]
    return np.sum(y * y)


def hsplit_vsplit(a):
    b = a * a
    left, right = np.hsplit(b, 2)
    t, u = np.vsplit(b, 2)
    left *= right
    t[0] = u[1]
    return np.sum(b * a)


def unpack_rows(a):
    b = a * a
    p, q, r, s = b
    p[:] = q * r
    s *= p
    return np.sum(b * a)


def unpack_transposed(a):
    b = a * a
    u, v = b.T
    u *= v
    v[1:] = u[:-1]
    return np.sum(b * a)


def dict_views(x):
    y = x * x
    d = {"lo": y[:2], "hi": y[2:]}
    d["lo"][:] = x[1:3]
    d["hi"][0] *= x[0]
    return np.sum(y * y)


def dict_views_read(x):
    y = x * x
    d = {"lo": y[:2], "hi": y[2:]}
    y[1] = x[0] * x[1]
    return np.sum(d["lo"] ** 2)


def attribute_views(x):
    y = x * x
    s = SimpleNamespace()
    s.lo = y[:2]
    s.lo[:] = x[1:3]
    return np.sum(y * y)


class Grid:
    def __init__(self, x):
        self.u = x * x
        self.inner = self.u[1:-1]

    def step(self, x):
        self.inner += 0.1 * x[1:-1]
        self.u[0] = self.inner[0]


def object_views(x):
    g = Grid(x)
    g.step(x)
    g.step(x)
    return np.sum(g.u**2)


def view_outlives(x):
    y = x * x
    v = y[1:4]
    y[:] = np.sin(x)
    y[2] *= v[0]
    return np.sum(v * v) * y[0]


def view_outlives_rebinding(x):
    y = x * x
    v = y[1:4]
    y = x * 2.0
    y[:] = x
    v[:] *= y[:3]
    return np.sum(v * v) * y[0]


def view_of_views(x):
    y = x * x
    v = y[1:][::-1][:3]
    v[0] = x[0]
    w = v[1:]
    w *= x[:2]
    return np.sum(y * y)


def list_views(x):
    y = x * x
    rows = [y[:2], y[2:]]
    rows[0][:] = x[1:3]
    return np.sum(y * y)


def list_of_rows(a):
    b = a * a
    rows = list(b)
    rows[1] *= rows[0]
    return np.sum(b * a)


def list_views_loop(a):
    b = a * a
    rows = [b[i] for i in range(3)]
    for r in rows:
        r[:] = np.sin(r)
    return np.sum(b * a)


def tuple_views_read(x):
    y = x * x
    t = (y[:2], y[2:])
    y[0] = x[1]
    return np.sum(t[0]) * np.sum(y)


def add_into(u, v):
    u += v * v
    v[0] = u[1]


def callee_same_twice(x):
    y = x * x
    add_into(y, y)
    return np.sum(y * x)


def callee_overlapping(x):
    y = x * x
    add_into(y[1:], y[:-1])
    return np.sum(y * x)


def callee_disjoint(x):
    y = x * x
    add_into(y[:2], y[3:])
    return np.sum(y * x)


def axpy(a, x, y):
    y += a * x


def axpy_same(x):
    y = x * x
    axpy(x[0], y, y)
    return np.sum(y * x)


def axpy_item(x):
    y = x * x
    axpy(2.0, y[1:], y[:-1])
    axpy(2.0, x, y)
    return np.sum(y * x)


def opaque_ufunc_at_int(x):
    n = np.zeros(5, dtype=int)
    np.add.at(n, [1, 1, 2], 1)
    return np.sum(x * n)


def preallocated_trajectory(x):
    traj = np.empty((4, 5))
    traj[0] = x
    for t in range(3):
        traj[t + 1] = traj[t] + 0.1 * np.sin(traj[t])
    return np.sum(traj**2)


def broadcast_rows(a):
    b = np.zeros((3, 3))
    b[:] = a[0]
    b[:, 1:] = a[:, :1]
    b[..., 0] = a[0, 0]
    b[1, None] = a[2]
    b[-1] += a[0]
    b[::2, ::-1] *= a[1]
    return np.sum(b * b)


def ellipsis_newaxis(a):
    b = np.zeros((3, 3))
    b[..., None][..., 0] = a
    b[None, ...][0] *= a
    return np.sum(b * b)


def swapaxes_views(a):
    b = a * a
    b.swapaxes(0, 1)[0] = a[1]
    np.moveaxis(b, 0, 1)[2] *= a[0]
    np.transpose(b)[1, 1:] = a[2, :2]
    b.reshape(-1)[::4] = 0.5 * a[0]
    b.ravel()[1] = a[0, 0]
    np.squeeze(b[:, :1])[1] = a[1, 1] ** 2
    np.atleast_2d(b)[0, 0] *= a[2, 2]
    return np.sum(b * a)


def diagonal_view(a):
    b = a * a
    np.einsum("ii->i", b)[:] = a[0]
    b[np.diag_indices(3)] *= a[1]
    b[np.triu_indices(3, 1)] = 0.0
    b[np.tril_indices(3, -1)] *= a[0]
    return np.sum(b * a)


def split_item_replaced(x):
    y = x * x
    parts = np.split(y, 3)
    parts[0] = x[:2] * 1.0
    parts[1][:] = parts[0]
    return np.sum(y * y) + np.sum(parts[0])


def split_sections(x):
    y = x * x
    a, b = np.split(y, [2])
    a *= x[:2]
    b[0] = a[1]
    return np.sum(y * y)


def split_loop(x):
    y = x * x
    for part in np.split(y, 3):
        part[1] *= part[0]
    return np.sum(y * y)


def split_loop_items(x):
    y = x * x
    parts = np.split(y, 3)
    for i in range(3):
        parts[i] *= 2.0
        parts[i][0] = x[i]
    return np.sum(y * x)


PROGRAMS = [
    Program(rows_whole, _matrix(3, 3)),
    Program(rows_enumerate, _matrix(3, 3)),
    Program(rows_zip, _matrix(3, 3)),
    Program(rows_argument, _matrix(3, 3)),
    Program(rows_nested, _matrix(3, 3)),
    Program(split_written, _six),
    Program(split_index, _six),
    Program(hsplit_vsplit, _matrix(4, 4)),
    Program(unpack_rows, _matrix(4, 2)),
    Program(unpack_transposed, _matrix(4, 2)),
    Program(dict_views, _VECTOR),
    Program(dict_views_read, _VECTOR),
    Program(attribute_views, _VECTOR),
    Program(object_views, _VECTOR),
    Program(view_outlives, _VECTOR),
    Program(view_outlives_rebinding, _VECTOR),
    Program(view_of_views, _VECTOR),
    Program(list_views, _VECTOR),
    Program(list_of_rows, _matrix(3, 3)),
    Program(list_views_loop, _matrix(3, 3)),
    Program(tuple_views_read, _VECTOR),
    Program(callee_same_twice, _VECTOR),
    Program(callee_overlapping, _VECTOR),
    Program(callee_disjoint, _VECTOR),
    Program(axpy_same, _VECTOR),
    Program(axpy_item, _VECTOR),
    Program(opaque_ufunc_at_int, _VECTOR),
    Program(preallocated_trajectory, _VECTOR),
    Program(broadcast_rows, _matrix(3, 3)),
    Program(ellipsis_newaxis, _matrix(3, 3)),
    Program(swapaxes_views, _matrix(3, 3)),
    Program(diagonal_view, _matrix(3, 3)),
    Program(split_item_replaced, _six),
    Program(split_sections, _six),
    Program(split_loop, _six),
    Program(split_loop_items, _six),
]
