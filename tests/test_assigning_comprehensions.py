"""Comprehensions that bind names of the function by `:=`, and generator expressions that stand in
a `zip` or an `enumerate` all of which is taken at once, or of which a slice is taken."""

import itertools

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


def the_first_that_holds(x):
    if any((y := v * 2.0) > 0.9 for v in x):
        return y * y * np.sum(x)
    return np.sum(x)


def the_first_that_does_not(x):
    y = 0.0
    if not all((y := v) > 0.0 for v in x):
        return y * y + np.sum(x * x)
    return y


def searched_in_a_loop(x):
    s, n = 0.0, 0
    for k in range(3):
        if k > 0 and any((q := v * k) > 0.7 for v in x if v > 0):
            s += q * q
    while not any((p := v * x[n]) > 0.2 for v in x):
        n += 1
    return s + p * p


def searched_in_a_comprehension(x):
    m = [w for w in x if any((t := w * v) > 0.1 for v in x)]
    return sum(m) * t


def of_a_list_of_tests(x):
    return u * x[0] if all([(u := v) < 0.45 for v in x]) else u * u  # noqa: C419


def sliced(x):
    i, item = 2, x[0]
    first = sum(itertools.islice((v * item for v in x), 3)) * item
    some = sum(itertools.islice((v * w for v in x for w in x if v > 0), 1, 6, i))
    return first + max(itertools.islice(map(lambda v, w: v * w, x, x), 1, len(x) - 1)) * some


def sliced_in_a_loop(x):
    s, i = 0.0, 2
    for a, b in zip(itertools.islice(map(np.sin, x), i), x[i:]):
        for c in itertools.islice((v * a for v in x), 1, None):
            s += a * b * c
    return s * next(itertools.islice((v * v for v in x), 2, None))


def none_is_made_after_the_last(x):
    """(A logarithm of 0 would have an infinite derivative.)"""
    zeros = np.append(x[:2], 0.0)
    return sum(itertools.islice((np.log(v) for v in zeros), 2))


def dropped_and_left_out(x):
    later = sum(itertools.dropwhile(lambda v: v > 0, (v * 1.1 for v in x)))
    others = sum(itertools.filterfalse(lambda v: v < 0.45, (v * v * 3.0 for v in x)))
    return (
        later
        * others
        * sum(
            k * sum(items) ** 2
            for k, items in itertools.groupby((v * 1.1 for v in x), lambda v: v > 0)
        )
    )


ALL = (sliced, sliced_in_a_loop, none_is_made_after_the_last, dropped_and_left_out)
ALL += (the_first_that_holds, the_first_that_does_not, searched_in_a_loop)
ALL += (searched_in_a_comprehension, of_a_list_of_tests)
ALL += (each_again, in_a_test, carried_on, in_rounds, nested, of_a_dict, in_a_helper)
ALL += (zips_in_zips, beside_a_filter, sorted_pairs, counted)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_both_modes(f):
    tl.check_grads(f, (X,))


@pytest.mark.parametrize(
    "f",
    (carried_on, counted, sliced, sliced_in_a_loop, the_first_that_holds),
    ids=lambda f: f.__name__,
)
def test_second_order(f):
    tl.check_grads(f, (X,), order=2)


def test_what_stays_as_it_is_binds_nothing():
    def first_large(x):
        found = any((b := v * w) > 0.04 for v in x for w in x)
        return b * np.sum(x) * found

    with pytest.raises(tl.UnsupportedError, match="assignment expression"):
        tl.grad(first_large)(X)
