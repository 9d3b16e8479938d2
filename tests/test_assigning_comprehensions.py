"""Comprehensions that bind names of the function by `:=`, and generator expressions that stand in
a `zip` or an `enumerate` all of which is taken at once."""

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.5, -0.2, 0.4])


def each_again(x):
    p = [(k := v * v) + k for v in x]
    return sum(p) * k


def in_a_test(x):
    return sum(y * y for v in x if (y := v * v) > 0.1) + y


def carried_on(x):
    t = 0.0
    p = [t := t + v * v for v in x]
    return p[2] * t


def in_rounds(x):
    k, s = 2, 0.0
    for _ in range(2):
        p = [(k := v * k) for v in x]
        s = s + k
    return s + p[0]


def nested(x):
    p = [[(k := v * w) for w in x] for v in x]
    return p[1][2] * k


def of_a_dict(x):
    d = {i: (s := v * 2) for i, v in enumerate(x)}
    return d[1] * s


def in_a_helper(x):
    def squares(z):
        return [(q := v * v) * q for v in z]

    return sum(squares(x)) * sum(squares(x * x))


def zips_in_zips(x):
    p = list(zip((a * 2 for a in x), zip(x, (a * a for a in x if a > 0))))
    return p[1][1][1] * p[0][0]


def beside_a_filter(x):
    return sum(a * b for a, b in zip(x, (c * c for c in x if c > 0)))


def sorted_pairs(x):
    p = sorted(zip((c * c for c in x), range(4)))
    return p[0][0] * p[1][0]


def counted(x):
    p = list(enumerate(zip(x, (v * w for v in x for w in x))))
    return p[2][1][1] * p[1][1][0]


ALL = (each_again, in_a_test, carried_on, in_rounds, nested, of_a_dict, in_a_helper)
ALL += (zips_in_zips, beside_a_filter, sorted_pairs, counted)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_both_modes(f):
    tl.check_grads(f, (X,))


@pytest.mark.parametrize("f", (carried_on, counted), ids=lambda f: f.__name__)
def test_second_order(f):
    tl.check_grads(f, (X,), order=2)


def test_what_stays_as_it_is_binds_nothing():
    def first_large(x):
        found = any((b := v) > 0.4 for v in x)
        return b * np.sum(x) * found

    with pytest.raises(tl.UnsupportedError, match="assignment expression"):
        tl.grad(first_large)(X)
