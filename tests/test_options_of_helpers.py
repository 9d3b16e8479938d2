"""Options (`axis=-1`, `keepdims=True`) that a helper hands on: its pair is made for what the call,
or the default, says."""

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_sum_exp(x, axis=None, keepdims=False):
    m = np.max(x, axis=axis, keepdims=True)
    s = np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)) + m
    return s if keepdims else np.squeeze(s, axis=axis)


def log_softmax(x, axis=-1):
    return x - log_sum_exp(x, axis, True)


def mean_of(x, axis, keepdims=False):
    return np.mean(x, axis=axis, keepdims=keepdims)


def rebound(x, axis=None):
    if axis is None:
        axis = 0
    return np.sum(x, axis=axis)


def along(x, n, axis=0):
    if n == 0:
        return np.sum(x**2, axis=axis)
    return along(np.sin(x), n - 1, axis=axis) * 0.5 + along(x, n - 1, axis=1 - axis)


class Scaled:
    def __init__(self):
        self.w = np.ones(3)

    def centred(self, x, axis=-1, keepdims=True):
        return (x - np.mean(x, axis=axis, keepdims=keepdims)) * self.w


def attention(q, k, v):
    return np.sum((softmax(q @ k.T) @ v) ** 2)


def both_axes(x):
    return np.sum(log_softmax(x) ** 2) + np.sum(log_softmax(x, 0) ** 2) + log_sum_exp(x)


def in_loops(x):
    s = 0.0
    for axis in range(2):
        s = s + np.sum(mean_of(x, axis) ** 2)
    for kept in (True, False):
        s = s + np.sum(mean_of(x, 0, kept) ** 2)
    return s + np.sum(rebound(x) ** 2) + np.sum(rebound(x, 1) ** 2)


def recursive(x):
    return np.sum(along(x, 2) ** 2)


def by_method(x):
    scaled = Scaled()
    return np.sum(scaled.centred(x) ** 3) + np.sum(scaled.centred(x.T @ x, axis=0) ** 2)


def inactive(x):
    known = mean_of(np.arange(9.0).reshape(3, 3), 0)
    return np.sum(known * mean_of(x, axis=0))


@pytest.mark.parametrize("fn", [both_axes, in_loops, recursive, by_method, inactive])
def test_right_whatever_the_options_are(fn):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 3))
    tl.check_grads(fn, (x,))


def test_defaults_are_known_inside():
    a = np.random.default_rng(1).random((3, 4))
    df = tl.grad(attention, wrt=(0, 1, 2))
    df(a, a, a)
    tl.check_grads(attention, (a, a + 1.0, a - 1.0), wrt=(0, 1, 2))
    assert "unbroadcast" not in df.source and "axis=-1" in df.source


def test_one_pair_for_each_option():
    df = tl.grad(both_axes)
    df(np.ones((3, 3)))
    assert df.source.count("def log_softmax_fwd") == 2
    assert not any("axis=axis" in line.split("#")[0] for line in df.source.splitlines())


def test_what_carries_no_derivative_calls_the_function_as_it_is():
    df = tl.grad(inactive)
    df(np.ones((3, 3)))
    assert "mean_of(np.arange(9.0).reshape(3, 3), 0)" in df.source


def halved_unless_kept(x, axis=0, keep=False):
    total = np.sum(x, axis=axis, keepdims=keep)
    if not keep:
        total = 0.5 * total
    return total * total


def default_that_a_test_reads(x):
    return np.sum(halved_unless_kept(x) * np.cos(np.arange(x.shape[1])))


def default_of_an_inner_function(x):
    def squared(a, axis=0, keepdims=True):
        return np.sum(a, axis=axis, keepdims=keepdims) ** 2

    return np.sum(squared(x) / x)


@pytest.mark.parametrize("f", [default_that_a_test_reads, default_of_an_inner_function])
def test_defaults_of_what_was_made_for_a_call_are_as_written(f):
    """A default `False` of a function that was made for a given axis was taken for `None`."""
    x = np.linspace(1.0, 2.0, 12).reshape(3, 4) ** 2
    tl.check_grads(f, (x,))
    assert np.isclose(tl.vjp(f, x)[0], f(x))


def clipped(x, low=None, high=None):
    return np.sum(np.clip(2.0 * x, low, high) ** 2) + np.sum(x.clip(max=high) ** 3)


@pytest.mark.parametrize("high", [None, 0.7, np.array([0.3, 0.6, 0.9])])
@pytest.mark.parametrize("low", [None, 0.1, np.array([-0.3, 0.5, 0.2])])
def test_bounds_that_may_be_none(low, high):
    """What a call gives as a bound, where it is known and where it is not."""
    x, given = np.array([-0.5, 0.2, 1.3]), (low, high)
    slopes = [agreement.slope(lambda x: clipped(x, *given), (x,), [e]) for e in np.eye(3)]
    expected = np.array(slopes)
    gradient = tl.grad(clipped)
    assert np.allclose(gradient(x), tl.grad(clipped)(x, None, None))
    assert np.allclose(gradient(x, low, high), expected)
    assert np.allclose(tl.grad(lambda x: clipped(x, *given))(x), expected)
    assert np.isclose(tl.jvp(lambda x: clipped(x, *given), (x,), (x,))[1], expected @ x)


@pytest.mark.parametrize("axes", [0, 1, 2, 4])
def test_axes_that_are_added(axes):
    def f(x, n):
        return np.sum(np.array(2.0 * x, ndmin=n) ** 2)

    x = np.array([0.5, 2.0])
    assert np.allclose(tl.grad(f)(x, axes), 8.0 * x)
    assert np.isclose(tl.jvp(f, (x, axes), (x, None))[1], 8.0 * x @ x)
