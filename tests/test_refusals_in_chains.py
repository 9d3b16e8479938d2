"""What is refused far down a chain of calls is refused, and never taken for what has no derivative.

A statement that is refused is cut out of its function. What is left of that function may give
nothing back and write nothing; its callers must not take it for a function that does so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

scipy_signal = pytest.importorskip("scipy.signal")
wiener = scipy_signal.wiener

X = np.array([1.0, 3.0, 2.0, 5.0])


# ------------------------------------------------------------ what every call reaches


def smoothed(x):
    return np.sum(wiener(x))


def through(x):
    return smoothed(x)


def result(x):
    return through(x)


def beside_another_part(x):
    return through(x) + np.sum(x)


def in_a_comprehension(x):
    return sum([through(x * k) for k in range(2)])


def applied(f, r):
    return np.sum(wiener(f(r)))


def applied_through(f, r):
    return applied(f, r)


def of_a_closure(x):
    return applied_through(lambda t: x * t, 2.0)


def repeated(f, r, args):
    rest = tl.stop_gradient(f(r, *args))
    for _ in range(2):
        r = r + f(r, *args) - rest * 0
    return r


def repeated_through(f, r, args=()):
    return repeated(f, r, args)


def of_starred_arguments(x):
    return np.sum(repeated_through(lambda t: x * t, 2.0))


class Layer:
    def forward(self, x):
        return wiener(x)


class Net:
    def __init__(self):
        self.layer = Layer()

    def __call__(self, x):
        return self.layer.forward(x)

    def loss(self, x):
        return np.sum(self(x))


NET = Net()


def of_methods(x):
    return NET.loss(x)


def of_an_object_made_inside(x):
    return Net().loss(x)


def write_entry(x, out):
    out[0] = np.sum(wiener(x))


def write_through(x, out):
    write_entry(x, out)


def of_an_entry(x):
    out = np.zeros(2)
    write_through(x, out)
    return np.sum(out)


def write_item(x, d):
    d["a"] = np.sum(wiener(x))


def write_item_through(x, d):
    write_item(x, d)


def of_an_item(x):
    d = {"a": 1.0}
    write_item_through(x, d)
    return d["a"]


class Box:
    pass


def write_attribute(x, o):
    o.v = np.sum(wiener(x))


def write_attribute_through(x, o):
    write_attribute(x, o)


def of_an_attribute(x):
    o = Box()
    o.v = 0.0
    write_attribute_through(x, o)
    return o.v


REACHED = (
    *(result, beside_another_part, in_a_comprehension, of_a_closure),
    *(of_methods, of_an_object_made_inside, of_an_entry, of_an_item, of_an_attribute),
)


@pytest.mark.parametrize("loss", REACHED, ids=lambda f: f.__name__)
def test_what_every_call_reaches_is_refused(loss: Callable[..., Any]) -> None:
    for derivative in (lambda: tl.grad(loss)(X), lambda: tl.jvp(loss, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError):
            derivative()


def test_what_looked_like_it_is_differentiated() -> None:
    tl.check_grads(of_starred_arguments, (0.7,))


# ------------------------------------------------------------------ what a call may reach


def array_or_integer(x, flag):
    if flag:
        return wiener(x)
    return 0


def array_or_integer_through(x, flag):
    return array_or_integer(x, flag)


def integer(x, flag):
    return np.sum(array_or_integer_through(x, flag) * 1.0) + np.sum(x**2)


def number_or_none(x, flag):
    if flag:
        return np.sum(wiener(x))
    return None


def number_or_none_through(x, flag):
    return number_or_none(x, flag)


def none(x, flag):
    v = number_or_none_through(x, flag)
    return np.sum(x**2) if v is None else v


def named(x, flag):
    if flag:
        return "a", wiener(x)
    return "b", 0


def named_through(x, flag):
    return named(x, flag)


def a_pair(x, flag):
    _, v = named_through(x, flag)
    return np.sum(v) * 1.0 + np.sum(x**2)


def rebound(x, flag):
    n = 0
    if flag:
        n = wiener(x)[0]
    return n


def rebound_through(x, flag):
    return rebound(x, flag)


def rebound_number(x, flag):
    return rebound_through(x, flag) * 1.0 + np.sum(x**2)


def items(x, flag):
    out = []
    if flag:
        out.append(wiener(x))
    return out


def items_through(x, flag):
    return items(x, flag)


def a_list(x, flag):
    total = np.sum(x**2)
    for v in items_through(x, flag):
        total += np.sum(v)
    return total


@pytest.mark.parametrize("loss", [integer, none, a_pair, rebound_number, a_list])
def test_what_a_call_may_reach_raises_there_and_only_there(loss: Callable[..., Any]) -> None:
    df = tl.grad(loss)
    np.testing.assert_allclose(df(X, False), 2.0 * X)
    assert tl.jvp(loss, (X, False), (X, None))[1] == pytest.approx(2.0 * np.sum(X * X))
    with pytest.raises(tl.UnsupportedError):
        df(X, True)
    with pytest.raises(tl.UnsupportedError):
        tl.jvp(loss, (X, True), (X, None))


# ---------------------------------------------- calls of the same functions without derivatives


def fill(buf, x, flag):
    if flag:
        buf[:] = wiener(x)
    return np.sum(x)


def fill_through(buf, x, flag):
    return fill(buf, x, flag)


def a_buffer_that_is_read_again(x):
    buf = np.arange(4.0)
    a = x * buf * x
    fill_through(buf, np.array([3.0, 1.0, 4.0, 1.0]), True)
    return np.sum(a) + fill_through(buf, x, False)


class Filled:
    def __init__(self):
        self.buf = np.arange(4.0)

    def fill(self, x, flag):
        if flag:
            self.buf[:] = wiener(x)
        return np.sum(x)

    def through(self, x, flag):
        return self.fill(x, flag)


def an_attribute_that_is_read_again(x):
    o = Filled()
    a = x * o.buf * x
    o.through(np.array([3.0, 1.0, 4.0, 1.0]), True)
    return np.sum(a) + o.through(x, False)


def test_what_was_cut_out_may_write() -> None:
    """The general text is refused; what a call decides may leave nothing of what was cut out."""
    with pytest.raises(tl.UnsupportedError):
        str(tl.grad(a_buffer_that_is_read_again).source)
    tl.check_grads(a_buffer_that_is_read_again, (X,))
    with pytest.raises(tl.UnsupportedError):
        tl.grad(an_attribute_that_is_read_again)(X)


def shares(x, smooth=False):
    y = x
    if smooth:
        y = x - wiener(x)
    return y / np.sum(y)


def shares_through(x, smooth=False):
    return shares(x, smooth)


@pytest.mark.parametrize("smooth", [False, True])
def test_what_was_cut_out_runs_for_constants(smooth: bool) -> None:
    def loss(x):
        reference = shares_through(np.array([3.0, 1.0, 4.0, 1.0]), smooth)
        return np.sum((shares_through(x**2) - reference) ** 2)

    tl.check_grads(loss, (X,))
