"""A function is read once for all its versions, and again as soon as a name means something else."""

from __future__ import annotations

import numpy as np

import tangentlike as tl
from tangentlike.frontend.lower import read_once
from tests.generator import load

TEXT = """
K = 2.0

def helper(x):
    return x * K

def program(x, y=3.0):
    return np.sum(helper(x) * y * np.tanh(x))
"""


def test_the_same_reading_serves_until_something_changes() -> None:
    f = load(TEXT)
    first = read_once(f)
    assert read_once(f) is first
    f.__globals__["helper"] = lambda x: x * 5.0
    second = read_once(f)
    assert second is not first and read_once(f) is second
    f.__globals__["K"] = 7.0  # (not a name of `f`)
    assert read_once(f) is second
    f.__defaults__ = (4.0,)
    assert read_once(f) is not second


def test_other_data_and_other_functions_are_read_again() -> None:
    f = load("def program(x):\n    return K * x if x < 9.0 else later(x)\n")
    names = f.__globals__
    names["K"], names["later"] = 2.0, np.cos
    first = read_once(f)
    assert tl.grad(f)(3.0) == 2.0 and read_once(f) is first
    names["K"] = 5.0
    assert tl.grad(f)(3.0) == 5.0 and read_once(f) is not first
    first = read_once(f)
    names["later"] = np.sin
    assert read_once(f) is not first
    assert np.isclose(tl.grad(f)(9.5), np.cos(9.5))


def test_what_is_read_again_is_noted_again() -> None:
    """The version made last follows its helper as the one made first does."""
    f = load(TEXT)
    df, x = tl.grad(f), np.array([0.3, -0.4])
    want = tl.grad(lambda x: np.sum(x * 2.0 * 3.0 * np.tanh(x)))(x)
    assert np.allclose(df(x), want)
    assert np.isclose(df(0.3), want[0])  # another version, of the same reading
    f.__globals__["helper"] = lambda x: x * 4.0
    assert np.allclose(df(x), 2.0 * want)
    assert np.isclose(df(0.3), 2.0 * want[0])


def test_both_modes_and_a_second_order_begin_with_one_reading() -> None:
    f = load(TEXT)
    x = 0.3
    tl.check_grads(f, (x,), order=2)
    first = read_once(f)
    tl.jvp(f, (x,), (1.0,))
    assert read_once(f) is first
