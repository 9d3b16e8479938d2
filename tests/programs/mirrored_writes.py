"""Writes whose tangents and adjoints must share memory, or be ordered, just as the arrays do:
overlapping slices, arrays that a helper or a class makes together, `at` with keys of all sorts."""

from dataclasses import dataclass
from types import SimpleNamespace

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


def views_in_loop(x):
    a = x * x
    for v in [a[:3], a[3:]]:
        v *= 2.0
    for v in (a[:2], a[2:4], a[4:]):
        v[:] = np.sin(v) * v[0]
    return np.sum(a * x)


def views_by_number(x):
    a = x * x
    parts = [a[:2], a[2:4], a[4:]]
    for i in range(3):
        parts[i][:] = parts[i] * x[i]
    for i in range(2):
        parts[i] *= parts[i + 1]
    return np.sum(a * x)


def views_by_key(x):
    a = x * x
    views = {"low": a[:3], "high": a[3:]}
    for key in views:
        views[key][0] *= x[0]
    views["low"][:] = views["high"]
    return np.sum(a * x)


def buffers_in_turn(x):
    buffers = [x * x, np.zeros(6)]
    for t in range(3):
        old, new = buffers[t % 2], buffers[(t + 1) % 2]
        new[1:] = old[:-1] * x[1:]
        new[0] = old[-1]
    return np.sum(buffers[1] * x)


def views_in_namespace(x):
    a = x * x
    s = SimpleNamespace(low=a[:3], high=a[3:])
    s.low[:] = s.high * x[:3]
    s.high *= 2.0
    return np.sum(a * x)


def array_in_namespace(x):
    s = SimpleNamespace(a=x * x)
    v = s.a[:3]
    v[:] = x[3:]
    s.a[1] *= v[0]
    return np.sum(s.a * x)


@dataclass
class Views:
    a: np.ndarray
    part: np.ndarray


def views_in_dataclass(x):
    a = x * x
    views = Views(a, a[1:3])
    views.part[:] = views.a[3:5] * x[0]
    views.a[2] *= 2.0
    return np.sum(a * x)


class Held:
    def __init__(self, v):
        self.v = v


def view_held_and_updated(a):
    b = a * a
    held = Held(b[1])
    held.v += 1.0
    return np.sum(b * b * a)


def view_held_and_written(a):
    b = a * a
    held = Held(b[1])
    held.v[:2] = a[0, :2] ** 2
    held.v *= a[2]
    return np.sum(b * b * a)


class Entries:
    def __init__(self, n):
        self.data = np.zeros(n)
        self.count = 0

    def push(self, v):
        self.data[self.count] = v
        self.count += 1

    def replace(self, data):
        self.data = data * self.data


class Layer:
    def __init__(self, w):
        self.w = w

    def forward(self, x):
        self.x = x
        self.y = np.tanh(self.w * x)
        return self.y

    def backward(self, g):
        slope = g * (1.0 - self.y**2)
        self.gradient = np.sum(slope * self.x)
        return slope * self.w


def attributes_made_by_methods(x):
    layer = Layer(x[0])
    y = layer.forward(x)
    g = layer.backward(2.0 * y)
    return np.sum(g**2) + layer.gradient**2


def one_entry_pushed(x):
    entries = Entries(4)
    entries.push(x[0])
    return np.sum(entries.data) ** 2


def data_replaced(x):
    entries = Entries(6)
    entries.data += 1.0
    entries.replace(x)
    return np.sum(entries.data * x)


def slice_updated(x):
    a = x * x
    b = a
    b[0] = x[1]
    c = a[1:]
    c *= 2
    return np.sum(a * a * x)


def parts_updated(x):
    z = x + 1j * x[::-1]
    z.imag += x
    z.real *= x
    return np.sum(np.abs(z) ** 2 * x)


PROGRAMS = [
    Program(view_held_and_updated, _square),
    Program(view_held_and_written, _square),
    Program(one_entry_pushed, _six),
    Program(attributes_made_by_methods, _six),
    Program(data_replaced, _six),
    Program(slice_updated, _six),
    Program(parts_updated, _six),
    Program(views_in_loop, _six),
    Program(views_by_number, _six),
    Program(views_by_key, _six),
    Program(buffers_in_turn, _six),
    Program(views_in_namespace, _six),
    Program(array_in_namespace, _six),
    Program(views_in_dataclass, _six),
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
