"""How long a name stays the view it was made as, and in which order its adjoint is read and zeroed.

Each of these programs has a wrong gradient if one condition of the analysis of aliases, or of the
adjoint of a store, is left out.
"""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 1.3, -0.8, 0.9])
WEIGHTS = np.arange(1.0, 5.0)


def bound_again_after_the_use(x):
    """In the next round `row` is still the first entries, and `i` another number."""
    a = x * 1.0
    i = 0
    row = a[i : i + 2]
    for k in range(3):
        row *= x[k]
        i = i + 1
    return np.sum(a * a * x) + i


def counted_by_a_while(x):
    a = x * 1.0
    i = 0
    s = 0.0
    row = a[i : i + 2]
    while i < 3:
        row[0] = row[1] * x[i]
        s = s + np.sum(a)
        i = i + 1
    return s + np.sum(a * a)


def index_of_an_earlier_round(x):
    a = np.outer(x, x)
    i = 1
    row = a[i]
    for _ in range(2):
        row += 0.5 * x
        a[0] *= row
        i = 0
    return np.sum(a * a) + i


def reversed_onto_itself(x):
    a = x * 1.0
    r = a[::-1]
    r[:] = a
    return np.sum(a * x * WEIGHTS)


def transposed_onto_itself(x):
    a = np.outer(x, x * x)
    t = a.T
    t[:] = a
    return np.sum(a * np.arange(16.0).reshape(4, 4))


def moved_by_one(x):
    a = x * 1.0
    a[1:] = a[:-1]
    return np.sum(a * x * WEIGHTS)


def onto_itself(x):
    a = x * 1.0
    b = a
    a[...] = b
    return np.sum(a * x)


PROGRAMS = (
    *(bound_again_after_the_use, counted_by_a_while, index_of_an_earlier_round),
    *(reversed_onto_itself, transposed_onto_itself, moved_by_one, onto_itself),
)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_views_in_use(f):
    tl.check_grads(f, (X,))


def replaced_from_the_end(x):
    """`xs[-1]` is `xs[1]`: the list no longer holds `v`."""
    xs = [x * 1.0]
    xs.append(x * 2.0)
    v = xs[1]
    xs[-1] = xs[0] * 3.0
    v *= x
    return np.sum(v * v) + np.sum(xs[1] * x)


def taken_from_the_end(x):
    xs = list(np.split(x * 1.0, 2))
    v = xs[-1]
    xs[1] = xs[0] * 3.0
    v[0] = 2.0 * v[1]
    return np.sum(v * v) + np.sum(xs[1] * xs[0])


def item_of_a_parameter(xs):
    v = xs[1]
    xs[-1] = xs[0] * 3.0
    v[0] = 2.0 * v[1]
    return np.sum(v * v) + np.sum(xs[1] * xs[0])


def same_item_of_a_parameter(xs):
    v = xs[1]
    xs[1] = xs[0] * 3.0
    v[0] = 2.0 * v[1]
    return np.sum(v * v) + np.sum(xs[1] * xs[0])


def item_by_a_variable(xs):
    for i in range(2):
        v = xs[i]
        xs[i] = xs[1 - i] * 3.0
        v[0] = 2.0 * v[1]
    return np.sum(v * v) + np.sum(xs[1] * xs[0])


@pytest.mark.parametrize(
    ("f", "arg"),
    [
        (replaced_from_the_end, X),
        (taken_from_the_end, X),
        (item_of_a_parameter, [X, X[::-1] * 1.1]),
        (same_item_of_a_parameter, [X, X[::-1] * 1.1]),
        (item_by_a_variable, [X, X[::-1] * 1.1]),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_items_that_a_list_no_longer_holds(f, arg):
    """Right or refused: what was replaced has no place in the adjoint of the list."""
    try:
        tl.grad(f)(arg)
    except tl.UnsupportedError as refusal:
        assert "may share its memory" in str(refusal)
        return
    tl.check_grads(f, (arg,))


def test_replaced_rows_of_an_array_are_seen_in_views_of_them():
    def f(a):
        v = a[1]
        a[-1] = a[0] * 3.0
        v[0] = 2.0 * v[1]
        return np.sum(v * v) + np.sum(a[1] * a[0])

    tl.check_grads(f, (np.stack([X, X[::-1] * 1.1]),))
