"""Operators of objects that update, decline or reach items; objects and functions in one list;
constructors that pass their arguments on."""

import numpy as np

from .registry import Program, vector


class Vec:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        if not isinstance(other, Vec):
            return NotImplemented
        return Vec(self.x + other.x)

    def __mul__(self, other):
        if isinstance(other, Vec):
            return Vec(self.x * other.x)
        if isinstance(other, (int, float)):
            return Vec(self.x * other)
        return NotImplemented

    def __rmul__(self, other):
        return self * other

    def __isub__(self, other):
        self.x = self.x - other.x
        return self

    def __matmul__(self, other):
        return np.sum(self.x * other.x)


class Row:
    def __init__(self, items):
        self.items = items

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, value):
        self.items[i] = value


class Dense:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return self.w * x + 0.1


class Chain:
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Base:
    def __init__(self, w, scale=1.0):
        self.w = w
        self.scale = 2.0 * scale

    def at(self, t):
        return self.scale * np.sum(self.w * t)


class Squared(Base):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.mass = np.sum(self.w**2)


class Named(Squared):
    def __init__(self, power, *args, extra=1.0, **options):
        super().__init__(*args, **options)
        self.power = power * extra


def leaky(x):
    return np.maximum(x, 0.1 * x)


def updated(x):
    total = Vec(x)
    step = 0.5 * Vec(x * x)
    for _ in range(2):
        total += step * total
        total *= 2.0
    total -= step
    return total @ step


def items_updated(x):
    row = Row([x[0], x[1] * x[2]])
    row[1] += x[0] * row[0]
    row[0] *= 3.0
    return row[0] * row[1]


def chained(x):
    chain = Chain(Dense(x), np.tanh, Dense(2.0 * x), leaky)
    return np.sum(chain(x * x))


def listed(x):
    layers = [np.sin, Dense(x), leaky]
    total = x
    for layer in layers:
        total = layer(total) * x[0]
    return np.sum(total)


def passed_on(x):
    one = Squared(x, x[0])
    two = Named(x[1], x * x, scale=x[2], extra=x[0])
    return one.at(2.0) * one.mass + two.at(x[0]) * two.mass * two.power + Named(1.0, x).at(1.0)


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        return Pair(self.a + other.a, self.b * other.b)

    def __radd__(self, other):
        return self if other == 0 else Pair(self.a + other, self.b)


def summed(x):
    pairs = [Pair(v, v * v) for v in x]
    whole = sum(pairs)
    some = sum((Pair(v, 1.0 + v) for v in x[1:]), Pair(0.5, whole.a))
    more = []
    for pair in pairs:
        more.append(pair)
    last = sum(more[1:], start=more[0])
    return whole.a * whole.b + some.a * some.b + last.b


PROGRAMS = tuple(
    Program(fn, vector(3)) for fn in (updated, items_updated, chained, listed, passed_on, summed)
)
