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


def view_of_a_view(x):
    a = x * 1.0
    i = 0
    for k in range(2):
        v = a[i : i + 2]
        w = v[:1]
        i = i + 1
        w *= x[k] * a[i]
    return np.sum(a * a * x) + i


def view_of_a_view_before(x):
    a = x * 1.0
    i = 0
    v = a[i : i + 3]
    w = v[1:]
    for k in range(2):
        w *= x[k]
        i = i + 1
    return np.sum(a * a * x) + i


def copied_in_fortran_order(x):
    a = np.outer(x, x)
    b = a.copy("F")
    r = b.reshape(-1)
    r[1] = 3.0 * x[0]
    return np.sum(b * b * np.arange(16.0).reshape(4, 4)) + np.sum(r * r)


def key_array_in_branch(x):
    a = x * 1.0
    idx = np.array([0, 1])
    for k in range(3):
        if k != 1:
            a[idx] = a[idx] * a[idx + 1] * x[k]
            idx[0] = 1
        else:
            idx[1] = 2
    return np.sum(a * a * x)


def dict_items(x):
    d = {"a": x * 1.0, "b": x * 2.0}
    for k in d:
        v = d[k]
        d[k] = v * x
        v[0] = 3.0
    return np.sum(d["a"] * d["b"] * x)


PROGRAMS = (
    *(bound_again_after_the_use, counted_by_a_while, index_of_an_earlier_round),
    *(reversed_onto_itself, transposed_onto_itself, moved_by_one, onto_itself),
    *(view_of_a_view, view_of_a_view_before, key_array_in_branch, dict_items),
)


REVERSE_ONLY = (copied_in_fortran_order,)  # (forward mode asks for `np.array(a, order="F")`)


@pytest.mark.parametrize("f", REVERSE_ONLY, ids=lambda f: f.__name__)
def test_order_of_copies(f):
    direction = np.array([0.3, -0.9, 0.4, 1.2])
    slope = (f(X + 1e-6 * direction) - f(X - 1e-6 * direction)) / 2e-6
    assert np.sum(tl.grad(f)(X) * direction) == pytest.approx(slope, rel=1e-6)


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


def popped_while_in_use(x):
    xs = [x * 1.0, x * 2.0]
    v = xs[1]
    xs.pop()
    v *= x
    xs.append(x * v)
    return np.sum(xs[0] * xs[1] * xs[1]) + np.sum(v)


def popped_and_gone(x):
    xs = [x * 1.0, x * 2.0]
    v = xs[1]
    xs.pop()
    v *= x
    return np.sum(xs[0]) + np.sum(v * v)


def popped_from_the_front(x):
    xs = [x * 1.0, x * 2.0, x * x]
    v = xs[1]
    v[0] = v[1]
    taken = xs.pop(0)
    v *= x
    return np.sum(xs[0] * x) + np.sum(v * v) + np.sum(xs[1] * taken)


@pytest.mark.parametrize(
    ("f", "arg"),
    [
        (replaced_from_the_end, X),
        (taken_from_the_end, X),
        (popped_while_in_use, X),
        (popped_and_gone, X),
        (popped_from_the_front, X),
        (item_of_a_parameter, [X, X[::-1] * 1.1]),
        (same_item_of_a_parameter, [X, X[::-1] * 1.1]),
        (item_by_a_variable, [X, X[::-1] * 1.1]),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_items_that_a_list_no_longer_holds(f, arg):
    """What was replaced has no place in the adjoint of the list."""
    tl.check_grads(f, (arg,))


def test_replaced_rows_of_an_array_are_seen_in_views_of_them():
    def f(a):
        v = a[1]
        a[-1] = a[0] * 3.0
        v[0] = 2.0 * v[1]
        return np.sum(v * v) + np.sum(a[1] * a[0])

    tl.check_grads(f, (np.stack([X, X[::-1] * 1.1]),))


# ------------------------------------------------- views that are read by a store of them alone


def rows_exchanged_through_views(x):
    a = np.outer(x, x)
    a[0], a[1] = a[1], a[0]  # (both rows are what the second was)
    return np.sum(a[1] * x) + a[0, 0]


def rows_moved_down(x):
    a = np.outer(x, x * x)
    for i in range(2):
        row = a[i]
        a[i] = a[i + 1]
        a[i + 1] = row
    return np.sum(a[2] * x)


def all_of_it_copied(x):
    a = np.outer(x, x)
    b = a
    a[0] = 2.0 * a[1]
    c = np.zeros((4, 4))
    c[:] = b
    return np.sum(c * c)


def turned_around(x):
    a = np.outer(x, x * x)
    b = a.T[:, ::-1]
    a[0] *= a[1]
    c = np.zeros((4, 4))
    c[...] = b
    return np.sum(c * c * x)


def part_of_a_row(x):
    a = np.outer(x, x)
    row = a[0]
    a[0, 1:] = 2.0 * a[1, :3]
    a[1] = row
    return np.sum(a[1] ** 2)


@pytest.mark.parametrize(
    "f",
    [
        *(rows_exchanged_through_views, rows_moved_down, all_of_it_copied, turned_around),
        part_of_a_row,
    ],
)
def test_views_that_a_store_alone_reads(f):
    """What is written into the array after the view was made is read by that store: the adjoint
    of the write was left out."""
    tl.check_grads(f, (X,), order=2)
    tl.check_grads(tl.grad(f), (X,))
    example = tl.grad(f, example=(X,))(X)
    np.testing.assert_allclose(tl.grad(f)(X), example)
