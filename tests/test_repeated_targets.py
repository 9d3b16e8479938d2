"""A name that stands several times in one unpacking is bound by the last of its places."""

import numpy as np
import pytest

import tangentlike as tl

A, B = np.array([0.3, 0.7, -0.2, 0.5]), np.array([0.4, -0.6, 0.9, 1.1])


def halved(p):
    return p * 0.5


def three(a, b):
    return a * b, b, np.sin(a)


def last_counts(a, b):
    u, w, w, w = halved(a)
    return u * w * b[0]


def ignored_and_read(a, b):
    _, w, _ = three(a, b)
    return np.sum(w * _)


def by_identity(a, b):
    u, w, w, w = halved(a) if b[0] > 0.0 else b
    a[1:] *= b[1:]
    return u * w * a[2]


def bound_in_each_round(a, b):
    for _ in range(2):
        _, a, _ = three(a, b)
    return np.sum(_ * a)


def loop_variables(a, b):
    s, w = 0.0, 1.0
    for w, (q, w) in zip(a, zip(a, b)):
        s = s + w * w * q
    return s * w


def in_comprehensions(a, b):
    squares = sum(w * w for w, w in zip(a, b))
    return squares + sum([w * q for q, (w, w) in zip(a, zip(a, b))])


def starred_again(a, b):
    u, w, w, w = a
    (w, *w) = [a * u, b * w, a * b]
    return np.sum(w[0] * w[1]) * u


@pytest.mark.parametrize(
    "f",
    [last_counts, ignored_and_read, by_identity, bound_in_each_round]
    + [loop_variables, in_comprehensions, starred_again],
)
def test_gradient(f):
    tl.check_grads(f, (A, B), wrt=(0, 1))


def test_second_order():
    tl.check_grads(ignored_and_read, (A, B), wrt=(0, 1), order=2)
