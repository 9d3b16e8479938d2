"""Functions that return nothing write the arrays in a list that was made for them, and the caller
reads these by other names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

A, B = np.array([0.3, 0.7, -0.2]), np.array([0.4, 0.6, 0.9])
XS, D, M = [A, B, A * 0.7], {"a": A, "bb": B}, np.outer(A, B)


def bend(vs):
    for v in vs:
        v *= np.sin(v)


def bend_first(vs):
    vs[0][:] = np.sin(vs[0]) * vs[1][0]


def bend_pairs(pairs):
    for v, w in pairs:
        v *= w


def bend_items(items):
    for key, v in items:
        v *= v[1] * len(key)


def total(vs):
    return sum(np.sum(v**2) for v in vs)


def a_list_of_them(xs):
    bend([x for x in xs if np.ndim(x)])
    return total(xs)


def appended(xs):
    vs = []
    for x in xs:
        vs.append(x)
    bend_first(vs)
    return total(xs)


def some_of_them(xs):
    bend([xs[0], xs[1]])
    return total(xs)


def reversed_ones(xs):
    bend(reversed(xs))
    return total(xs)


def pairs_of_them(xs):
    bend_pairs(zip(xs[:2], xs[2:]))
    return total(xs)


def values_of_a_dict(d):
    bend(d.values())
    return total(d.values())


def items_of_a_dict(d):
    bend_items(d.items())
    return total(d.values())


def a_list_of_values(d):
    bend(list(d.values()))
    return total(d.values())


def rows(m):
    bend([m[0], m[1]])
    return np.sum(m**2)


def a_tuple_of_rows(m):
    bend((m[0], m[1]))
    bend_first((m[1], m[2]))
    return np.sum(m**2)


def rows_in_a_loop(m):
    for k in range(2):
        bend([m[k], m[k + 1][:2]])
    return np.sum(m**2)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        *((f, XS) for f in (a_list_of_them, appended, some_of_them, reversed_ones, pairs_of_them)),
        *((f, D) for f in (values_of_a_dict, items_of_a_dict, a_list_of_values)),
        *((f, M) for f in (rows, a_tuple_of_rows, rows_in_a_loop)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_they_write_counts(f: Any, x: Any) -> None:
    """The list was taken for one that no result depends on, and the writes for constants."""
    (along,) = agreement.directions_for((x,), (0,), 5)
    expected = agreement.slope(f, (x,), [along])
    assert tl.jvp(f, (x,), (along,))[1] == pytest.approx(expected, rel=1e-6)
    for options in ({}, {"example": (x,)}):
        found = tl.grad(f, **options)(x)
        assert agreement.inner([along], [found]) == pytest.approx(expected, rel=1e-6)
