"""Classes that only the running program knows: what they make, its methods and properties."""

import dataclasses

import numpy as np
import pytest

import tangentlike as tl

X, V = np.array([0.3, 0.5, -0.2]), np.array([0.2, -0.4, 0.7])


class Box:
    def __init__(self, w, k=2.0):
        self.w, self.k = w, k

    def get(self, y):
        return self.w * y * self.k

    @property
    def twice(self):
        return 2 * self.w


class Keeping:
    def __init__(self, w, k=1.0):
        self.w, self.seen = w * k, [w]

    def get(self, y):
        self.seen.append(y)
        return self.w + y * self.seen[0]

    @property
    def twice(self):
        return 3 * self.w


@dataclasses.dataclass
class Record:
    w: object
    k: float = 2.0

    def get(self, y):
        return self.w * y * self.k

    @property
    def twice(self):
        return self.w


CLASSES = {"box": Box, "keeping": Keeping, "record": Record}


def chosen(name):
    return CLASSES[name]


def by_a_call(x, name="keeping"):
    b = chosen(name)(x)
    return np.sum(b.get(x) * b.twice)


def by_keyword(x):
    b = chosen("box")(x, k=x[0])
    return np.sum(b.get(x) * b.twice)


def in_a_loop(x):
    total = 0.0
    for cls in (Box, Keeping, Record):
        made = cls(x)
        total = total + np.sum(made.get(x) * made.twice)
    return total


def by_a_factory(x):
    def made(cls, *args):
        return cls(*args)

    return np.sum(made(Box, x).get(x) * made(Record, x, 3.0).twice)


def in_a_comprehension(x):
    return sum(np.sum(cls(x).get(x)) for cls in CLASSES.values())


ALL = (by_a_call, by_keyword, in_a_loop, by_a_factory, in_a_comprehension)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_both_modes(f):
    slope = (f(X + 1e-6 * V) - f(X - 1e-6 * V)) / 2e-6
    assert np.isclose(tl.grad(f)(X) @ V, slope)
    assert np.isclose(tl.jvp(f, (X,), (V,))[1], slope)
