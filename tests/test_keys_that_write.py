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


def by_parameter(xs, key):
    return max(xs, key=key)


def largest_by_a_helper(a, b):
    by_parameter([a, b], bent)
    return np.sum(a * b)


def captured_key(a, b):
    n = 2.0
    best = max([a, b], key=lambda v: bent(v) * n)
    return np.sum(a * b * best)


def smallest_of_several(a, b):
    least = min(a, 2.0 * b, key=bent)
    return np.sum(a * b) + np.sum(least**2)


def in_a_test(a, b):
    while max((a, b), key=bent)[0] > 0.01:
        a = a * 0.5
    return np.sum(a * b)


def in_descending_order(a, b):
    rows = [b, a]
    rows.sort(key=bent, reverse=True)
    return np.sum(rows[0] ** 2 * rows[1])


def asked_of_all(a, b):
    if any(bent(v) > 0.05 for v in (a, b)) and all(bent(v) > -5.0 for v in (a, b)):
        return np.sum(a * b)
    return np.sum(a + b)


def numbers_of_those(a, b):
    count = len([1 for v in (a, b) if bent(v) > 0.1]) + sum(1 for v in (a, b) if bent(v) > 0.02)
    flags = {name: bent(v) > 0.0 for name, v in zip("ab", (a, b), strict=True)}
    return np.sum(a * b) * (count + flags["a"])


def looped_over(a, b):
    for flag in (bent(v) > 0.1 for v in (a, b)):
        a = a * (2.0 if flag else 1.0)
    return np.sum(a * b)


def asked_of_what_hands_it_on(a, b):
    if handed_on(a) is None and wrapped(b) > 0.0:
        return np.sum(a * b)
    return np.sum(a)


FOLLOWED = [
    *(largest, sorted_by_a_lambda, sorted_in_place, largest_by_a_helper, captured_key),
    *(smallest_of_several, in_a_test, in_descending_order, asked_of_all, numbers_of_those),
    *(looped_over, any_of_a_wrapped_one, any_by_what_hands_it_on, asked_of_what_hands_it_on),
]


@pytest.mark.parametrize("f", FOLLOWED)
def test_what_keys_and_items_write_is_followed(f: Any) -> None:
    """They are the loops that they abbreviate. (The last gave the gradient of a program without
    these writes.)"""
    tl.check_grads(f, (A, B))


def any_of_rows(a, b):
    any(bent(v) > 3.0 for row in ([a, b], [b, a]) for v in row)
    return np.sum(a * b)


@pytest.mark.parametrize("f", [grouped, any_of_rows])
def test_writes_that_are_not_followed_are_refused(f: Any) -> None:
    for mode in ("reverse", "forward"):
        with pytest.raises(tl.UnsupportedError, match="may write its arguments, and is"):
            tl.autodiff(f, wrt=(0, 1), mode=mode).source  # noqa: B018


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
