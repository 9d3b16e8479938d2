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


@pytest.mark.parametrize(
    "f",
    [
        *(largest, sorted_by_a_lambda, sorted_in_place, grouped),
        *(any_of_a_wrapped_one, any_by_what_hands_it_on),
    ],
)
def test_writes_that_are_not_followed_are_refused(f: Any) -> None:
    """Each gave the gradient of a program without these writes."""
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
