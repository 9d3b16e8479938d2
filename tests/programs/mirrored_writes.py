"""Writes whose tangents and adjoints must share memory, or be ordered, just as the arrays do:
overlapping slices, arrays that a helper or a class makes together, `at` with keys of all sorts."""

import numpy as np

from .registry import Program, vector

_six = vector(6, 0.3, 1.4)


def _square_and_vector(rng):
    return rng.uniform(0.3, 1.4, (3, 3)), rng.uniform(0.3, 1.4, 3)


def _square(rng):
    return (rng.uniform(0.3, 1.4, (3, 3)),)


def slice_with_other_step(x):
    a = x * x
    a[::2] = a[:3]
    return np.sum(a * x)


def slices_in_step(x):
    a = x * x
    a[::2] = a[1::2]
    a[1:] = a[:-1]
    a[:] = a[::-1]
    even, odd = a[::2], a[1::2]
    even[:2] = odd[1:]
    return np.sum(a * x)


def symmetric_by_rows(a):
    b = a * a
    for i in range(3):
        b[i, :] = b[:, i]
    return np.sum(b * a)


def zeros_and_tail(n):
    a = np.zeros(n)
    return a, a[1:]


def made_together(x):
    a, tail = zeros_and_tail(6)
    a[:] = x
    tail *= x[1:]
    return np.sum(a * x)


def list_of_both(x):
    a = x * x
    return [a, a[1:]]


def made_in_list(x):
    both = list_of_both(x)
    both[1] *= x[1:]
    return np.sum(both[0] * x)


class Channel:
    def __init__(self, n):
        self.u = np.zeros(n)
        self.inner = self.u[1:-1]

    def step(self, x):
        self.inner += 0.1 * x[1:-1]
        self.u[0] = self.inner[0]
        self.inner *= self.u[1:-1]


def made_in_object(x):
    channel = Channel(6)
    channel.u[:] = x
    channel.step(x)
    return np.sum(channel.u**2)


def at_entries(a, v):
    b = a * 1.0
    i, j = np.array([0, 1, 1]), np.array([2, 0, 0])
    np.add.at(b, (i, j), v)
    np.multiply.at(b, (i, 0), v)
    np.subtract.at(b, (0, [1, 1]), v[:2])
    return np.sum(b * b)


def at_slices_and_masks(a, v):
    b = a * 1.0
    np.multiply.at(b, (slice(None), [0, 0]), a[:, 1:])
    np.power.at(b, (Ellipsis, 1), v)
    np.multiply.at(b, b > 0.9, v[0])
    np.exp.at(b, ([0, 1, 0], [0, 1, 0]))
    np.multiply.at(b, [1, 1], a[:2])
    return np.sum(b * b)


def at_after_add(x):
    a = x * 1.0
    i = np.array([0, 1, 1, 5])
    np.add.at(a, i, x[:4])
    np.multiply.at(a, [3, 3, 1], x[2:5])
    return np.sum(a * a)


def broadcast_then_written(a):
    b = a * a
    rows = np.broadcast_to(b[0], (3, 3))
    b[0, 1] = a[2, 2]
    return np.sum(rows * a)


def windows_then_written(x):
    a = x * x
    windows = np.lib.stride_tricks.sliding_window_view(a, 3)
    a[2] = x[0] * x[1]
    return np.sum(windows * windows)


PROGRAMS = [
    Program(slice_with_other_step, _six),
    Program(slices_in_step, _six),
    Program(symmetric_by_rows, _square),
    Program(made_together, _six),
    Program(made_in_list, _six),
    Program(made_in_object, _six),
    Program(at_entries, _square_and_vector, (0, 1)),
    Program(at_slices_and_masks, _square_and_vector, (0, 1)),
    Program(at_after_add, _six),
    Program(broadcast_then_written, _square),
    Program(windows_then_written, _six),
]
