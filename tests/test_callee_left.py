"""Helpers that overwrite their arguments: what a caller, or an adjoint, reads as it was before."""

import numpy as np
import pytest

import tangentlike as tl


def smooth(steps, a, b):
    for _ in range(steps):
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        a[1:-1] = 0.3 * (b[2:] + b[:-2])


def products(steps, a):
    for _ in range(steps):
        a[1:-1] = a[2:] * a[:-2]


def scale(a, c):
    a *= c


def set_first(a, v):
    a[0] = v


def replaced(a, b):
    a[1:-1] = 0.5 * (b[2:] + b[:-2])
    return a


def both(a, b):
    smooth(1, a, b)
    products(1, b)
    smooth(1, a, b)


def nested(a, b, n):
    if n > 1:
        a[0] = b[0]
        nested(a, b, n - 1)
    else:
        a[1] = a[2] * b[1]


def nothing_read_back(a, b):
    smooth(3, a, b)
    return np.sum(a * a)


def read_before(a, b):
    s = np.sum(a * a * b)
    smooth(3, a, b)
    return s + np.sum(a * a)


def called_in_a_loop(a, b):
    for _ in range(3):
        smooth(1, a, b)
    return np.sum(np.sin(a))


def read_in_the_loop(a, b):
    s = 0.0
    for _ in range(3):
        smooth(1, a, b)
        s = s + np.sum(a**3)
    return s


def after_products(a, b):
    smooth(2, a, b)
    products(2, a)
    smooth(1, b, a)
    return np.sum(a * b)


def helper_of_a_helper(a, b):
    both(a, b)
    return np.sum(a * b)


def local_arrays(a, b):
    y = a * b
    both(y, b)
    z = np.sin(y)
    scale(y, 2.0)
    set_first(y, z[1])
    scale(y, b[1])
    return np.sum(y * z)


def through_a_view(a, b):
    rest = a[1:]
    s = np.sum(rest**2 * b[1:])
    set_first(a, b[0])
    scale(rest, 3.0)
    return s + np.sum(a**3)


def written_again(a, b):
    scale(a, b[1])
    for _ in range(2):
        set_first(a, a[1] * b[2])
        scale(a, a[1])
    return np.sum(a**2)


def given_back(a, b):
    y = a * 1.0
    z = replaced(y, b)
    w = replaced(z, b * 2)
    return np.sum(w * z * b)


def recursive(a, b):
    nested(a, b, 3)
    return np.sum(a**2 * b)


def in_a_branch(a, b):
    if a[0] > 0:
        smooth(1, a, b)
        t = a * b
        smooth(1, a, b)
    else:
        t = a
    scale(a, 2.0)
    return np.sum(t * a)


PROGRAMS = [
    *(nothing_read_back, called_in_a_loop, given_back),
    *(read_before, read_in_the_loop, after_products, helper_of_a_helper, local_arrays),
    *(through_a_view, written_again, recursive, in_a_branch),
]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_right_whatever_is_saved(fn):
    rng = np.random.default_rng(0)
    args = rng.uniform(0.5, 1.5, 6), rng.uniform(0.5, 1.5, 6)
    before = args[0].copy()
    tl.check_grads(fn, args, wrt=(0, 1))
    assert np.array_equal(args[0], before)
    value, pullback = tl.vjp(fn, *args)
    assert value == fn(*(a.copy() for a in args))
    for first, again in zip(pullback(1.0), pullback(1.0), strict=True):
        np.testing.assert_array_equal(first, again)


def test_right_when_differentiated_again():
    rng = np.random.default_rng(1)
    args = rng.uniform(0.5, 1.5, 6), rng.uniform(0.5, 1.5, 6)

    def squares(a, b):
        return np.sum(tl.grad(called_in_a_loop)(a, b) ** 2)

    tl.check_grads(squares, args, wrt=(0, 1))
