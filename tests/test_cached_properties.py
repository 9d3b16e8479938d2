"""`functools.cached_property`: computed when it is first asked for, and stored in the object."""

import dataclasses
import functools

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.5, -0.2, 0.4])


class Box:
    def __init__(self, w):
        self.w = w

    @functools.cached_property
    def sine(self):
        return np.sin(self.w)

    @functools.cached_property
    def places(self):
        return np.arange(4.0)

    @functools.cached_property
    def product(self):
        return self.sine * self.w

    def total(self):
        return np.sum(self.product * self.sine)


class Longer(Box):
    @functools.cached_property
    def extra(self):
        return self.sine.sum() * self.w[0]


OUTER = Box(np.array([1.0, 2.0, 3.0, 4.0]))


def asked_twice(x):
    b = Box(x)
    return np.sum(b.sine * b.sine * b.places)


def kept_when_the_field_changes(x):
    b = Box(x)
    y = b.sine
    b.w = x * 2
    return np.sum(b.sine * y * b.w)


def of_a_field_of_another_rank(x):
    b = Box(x[0])
    y = b.sine * 2
    b.w = x
    return np.sum(b.sine * b.w * y)


def inherited(x):
    return Box(x).total() * Longer(x * x).extra


def in_rounds(x):
    total = 0.0
    for i in range(2):
        b = Longer(x * i)
        total = total + b.extra * b.extra + b.total()
    return total


def in_a_branch(x):
    b = Box(x)
    y = b.sine if x[0] > 0 else x
    return np.sum(b.sine * y)


def written_in_place(x):
    b = Box(x)
    b.sine[0] = x[1] * 2
    return np.sum(b.sine * b.w)


def of_the_module(x):
    return np.sum(OUTER.sine * x * OUTER.places)


def of_objects_in_a_list(x):
    boxes = [Box(x), Box(x * x)]
    return sum(b.total() for b in boxes) + sum(np.sum(b.sine) for b in boxes)


ALL = (asked_twice, kept_when_the_field_changes, of_a_field_of_another_rank, inherited, in_rounds)
ALL += (in_a_branch, written_in_place, of_the_module, of_objects_in_a_list)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_both_modes(f):
    tl.check_grads(f, (X,))


@pytest.mark.thorough
@pytest.mark.parametrize("f", ALL[1:2], ids=lambda f: f.__name__)
def test_second_order(f):
    tl.check_grads(f, (X,), order=2)


def test_what_an_argument_stores():
    """The object of the caller stays as it is."""

    def loss(b, x):
        return np.sum(b.sine * x * b.places)

    box = Box(X.copy())
    tl.check_grads(loss, (box, X.copy()))
    bar, x_bar = tl.grad(loss, wrt=(0, 1))(box, X.copy())
    np.testing.assert_allclose(bar.w, np.cos(X) * X * np.arange(4.0))
    np.testing.assert_allclose(x_bar, np.sin(X) * np.arange(4.0))
    assert list(vars(box)) == ["w"]


@dataclasses.dataclass(frozen=True)
class Scale:
    w: np.ndarray

    @functools.cached_property
    def norm(self):
        return np.sum(self.w**2) ** 0.5


def test_frozen_dataclasses():
    """They are stored in what is frozen, too (a FrozenInstanceError)."""

    def made(x):
        found = Scale(x * x)
        return found.norm * x[0] + found.norm

    tl.check_grads(made, (X,))
    given = Scale(X)
    bar = tl.grad(lambda c: c.norm**2)(given)
    assert list(vars(given)) == ["w"]
    np.testing.assert_allclose(bar.w, 2.0 * X)
    second = tl.jvp(tl.grad(lambda c: c.norm**2), (given,), (Scale(np.ones_like(X)),))[1]
    np.testing.assert_allclose(second.w, 2.0 * np.ones_like(X))
