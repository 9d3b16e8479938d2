"""Arguments that NumPy and `itertools` take and that are seldom given: places that do not ascend,
one of several outputs, a diagonal of another length, bounds that are None."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.7, -1.3, 1.9])


def shorter_diagonal(x):
    m = np.outer(x, x)
    np.fill_diagonal(m, x[:2])
    return np.sum(m**2 * np.arange(9).reshape(3, 3))


def longer_diagonal(x):
    m = np.outer(x, x)
    np.fill_diagonal(m, np.concatenate([x, 2.0 * x]))
    return np.sum(m**3)


def falling_places(x):
    a, b, c = np.split(x**2, [2, 1])
    return np.sum(a) * np.sum(np.sin(c)) + b.size


def places_of_columns(x, places=(3, 1, -1)):
    parts = np.split(np.outer(x, x), places, axis=1)
    return sum(k * np.sum(part**2) for k, part in enumerate(parts, 1))


def columns(x, places=(2, 1)):
    left, _, right = np.hsplit(np.outer(x, x), places)
    return np.sum(left**3) * np.sum(np.sin(right))


def one_of_two_outputs(x):
    out = np.empty_like(x)
    fraction, whole = np.modf(1.7 * x, out)
    return np.sum(fraction**2) + np.sum(whole * x) + np.sum(out * x)


def the_other_output(x):
    out = np.empty_like(x)
    quotient, rest = np.divmod(3.3 * x, 0.7, out=(None, out))
    return np.sum(quotient * x) + np.sum(rest**2) + np.sum(out * x)


def masked_quotient(x):
    inverse = np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.0)
    return np.sum(inverse * x**3)


def items_of(x, n=6):
    for k in range(n):
        yield x[k % 3] * k


def all_items(x, n=None):
    return sum(v**2 for v in islice(items_of(x), n))


def every_other_item(x, n=None):
    return sum(v**2 for v in islice(items_of(x), 1, n, 2))


def all_squares(x, n=None):
    return sum(v**2 for v in islice((u * u for u in x), n))


def from_the_first(x, n=None, step=None):
    total = 0.0
    for v in islice((np.sin(u) for u in x), n, None, step):
        total = total + v**2
    return total


PROGRAMS = [
    shorter_diagonal,
    longer_diagonal,
    falling_places,
    places_of_columns,
    columns,
    one_of_two_outputs,
    the_other_output,
    masked_quotient,
    all_items,
    every_other_item,
    all_squares,
    from_the_first,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_both_modes_and_order_two(f):
    tl.check_grads(f, (X,), order=2)
    tangents = [tl.jvp(f, (X,), (along,))[1] for along in np.eye(3)]
    np.testing.assert_allclose(tl.grad(f)(X), tangents)


def test_a_masked_quotient_has_a_text_for_all_types():
    assert "np.where" in tl.grad(masked_quotient).source


def test_places_that_are_seen_to_ascend_need_no_helper():
    def ascending(x):
        a, b, c = np.split(x**2, (1, 2))
        return np.sum(a * b) * c

    assert "unsplit" not in tl.grad(lambda x: np.sum(ascending(x)), example=(X,)).source
