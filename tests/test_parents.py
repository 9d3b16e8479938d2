"""`super()`: methods, properties and values of the class that comes next."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl

W = np.array([0.3, -0.7, 1.1])
X = np.array([0.5, 1.2, -0.4])


class First:
    k = 3.0
    table = np.array([1.0, 2.0, 3.0])

    def __init__(self, w):
        self.held = w

    @property
    def w(self):
        return self.held * 2.0

    @staticmethod
    def square(v):
        return v * v

    @classmethod
    def scaled(cls, v):
        return v * cls.k

    def energy(self, v):
        return np.sum(v * self.w)


class Second(First):
    def __init__(self, w):
        super().__init__(w * w)

    @property
    def w(self):
        return super().w + 1.0

    @classmethod
    def scaled(cls, v):
        return super().scaled(v) * v

    def energy(self, v):
        here = super()
        parts = here.square(self.held) * here.scaled(v) + super().table
        return super().energy(v) * super().k + np.sum(parts)


class Third(Second):
    k = 0.5

    def __init__(self, w, plain=True):
        if plain:
            super(Second, self).__init__(w)
        else:
            super().__init__(w)

    @property
    def w(self):
        return super().w * super(Second, self).w

    @classmethod
    def scaled(cls, v):
        return super().scaled(v) + super(Second, cls).scaled(v)

    def energy(self, v):
        return super(Second, self).energy(v) + 2.0 * super().energy(v)

    def of_another(self, other, v):
        return super(Second, other).energy(v)


class Fourth(Second):
    def __init__(self, w, near=True):
        if near:
            Second.__init__(self, w)
        else:
            First.__init__(self, w * 2.0)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: Second(x).energy(W),
        lambda x: Third(x).energy(W),
        lambda x: Third(x, False).energy(x),
        lambda x: Third(x).of_another(Third(x * 2.0), W),
        lambda x: Fourth(x).energy(W) + Fourth(x, x[0] < 0).energy(x),
        lambda x: np.sum(Second.scaled(x) * Third.scaled(x)) + np.sum(Third(x).scaled(W * x)),
        lambda x: sum(o.energy(W) * np.sum(o.w) for o in (First(x), Second(x), Third(x))),
    ],
)
def test_classes_that_come_next(fn):
    tl.check_grads(fn, (X,), order=1)


@pytest.mark.thorough
def test_classes_that_come_next_to_second_order():
    tl.check_grads(lambda x: Third(x).energy(W), (X,), order=2)
    tl.check_grads(lambda x: Third(x).of_another(Third(x * 2.0), W), (X,), order=2)
