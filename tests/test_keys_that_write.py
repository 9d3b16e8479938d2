"""Functions that write what they are given, where an order is asked for or code goes as text."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

A, B = np.array([0.3, 0.7, -0.2]), np.array([0.4, 0.6, 0.9])


def bent(v):
    v *= np.sin(v)
    return v[0]


def logged(fn):
    @functools.wraps(fn)
    def around(*args, **kwargs):
        return fn(*args, **kwargs)

    return around


wrapped = logged(bent)


def handed_on(*args):
    bent(*args)


def largest(a, b):
    max((a, b), key=bent)
    return np.sum(a * b)


def sorted_by_a_lambda(a, b):
    sorted((a, b), key=lambda v: 2.0 * bent(v))
    return np.sum(a * b)


def sorted_in_place(a, b):
    rows = [a, b]
    rows.sort(key=wrapped)
    return np.sum(a * b)


def grouped(a, b):
    for _, rows in itertools.groupby([a, b], key=handed_on):
        list(rows)
    return np.sum(a * b)


def any_of_a_wrapped_one(a, b):
    any(wrapped(v) for v in (a, b))
    return np.sum(a * b)


def any_by_what_hands_it_on(a, b):
    any(handed_on(v) for v in (a, b))
    return np.sum(a * b)


def least_of_a_list(a, b):
    rows = [a * 1.0, b * 1.0, a * b]
    least = min(rows, key=bent)
    least[1] = rows[0][2] * 2.0
    return np.sum(rows[0] * rows[1] - rows[2])


def sorted_backwards(a, b):
    rows = sorted([a, b], key=bent, reverse=True)
    rows.sort(key=lambda v: -bent(v))
    return np.sum(rows[0] * rows[1] + rows[0])


def all_in_two_loops(a, b):
    if all(bent(v) < 0.9 for rows in ([a, b], [b]) for v in rows if v[0] > 0.0):
        a = a * b
    return np.sum(a * b)


def several_in_one_line(a, b):
    n = len([bent(v) > 0.0 for v in (a, b)]) + sum(bent(v) > 0.0 for v in (a, b))
    return (n + sorted([a, b], key=bent)[0][1]) * np.sum(a * b)


def asked_in_a_loop(a, b):
    a, b, n = a * 1.0, b * 1.0, 0
    while any(bent(v) > 0.01 for v in [a, b]):
        a, n = a * 0.5, n + 1
    return np.sum(a * b) * n


def one_row_twice(a, b):
    rows = [a, a]
    rows.sort(key=lambda v: bent(v) * 2.0)
    return np.sum(rows[0] * b)


FOLLOWED = (
    one_row_twice,
    *(largest, sorted_by_a_lambda, sorted_in_place, any_of_a_wrapped_one),
    *(any_by_what_hands_it_on, least_of_a_list, sorted_backwards, all_in_two_loops),
    *(several_in_one_line, asked_in_a_loop),
)


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_writes_where_an_order_or_a_truth_is_asked_for(f: Any) -> None:
    def own(a, b):
        return f(a.copy(), b.copy())

    tl.check_grads(own, (A, B), order=2)


def test_writes_that_are_not_followed_are_refused() -> None:
    """It gave the gradient of a program without these writes."""
    for mode in ("reverse", "forward"):
        with pytest.raises(tl.UnsupportedError, match="may write its arguments, and is"):
            tl.autodiff(grouped, wrt=(0, 1), mode=mode).source  # noqa: B018


def counted(a, b):
    calls = [0]

    def first(v):
        calls[0] += 1
        return v[0]

    least = min((a, b), key=first)
    return np.sum(a * least) * calls[0]


def ordered(a, b):
    rows = sorted((a, b), key=lambda v: -np.sum(v))
    return np.sum(a * rows[0])


@pytest.mark.parametrize("f", [counted, ordered])
def test_keys_that_write_no_array(f: Any) -> None:
    tl.check_grads(f, (A, B))
