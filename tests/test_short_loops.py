"""Short loops over views that one display holds are written out: which view each round means is
then known."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl


def only_the_next(x):
    a = x * 1.0
    parts = [a[:2], a[2:], a[1:3]]
    for i in range(2):
        parts[i + 1] *= 2.0 * x[0]
    return np.sum(a * a)


def this_and_the_next(x):
    a = x * 1.0
    parts = [a[:2], a[2:], a[1:3]]
    for i in range(len(parts) - 1):
        parts[i + 1] *= parts[i]
    return np.sum(a * a)


def the_one_before(x):
    a = x * 1.0
    parts = [a[:2], a[2:]]
    for i in range(2):
        parts[i - 1] *= 2.0 * parts[i]
    return np.sum(a * a)


def from_the_end(x):
    a = x * 1.0
    parts = [a[:2], a[2:], a[1:3]]
    for i in range(3):
        parts[-i] *= parts[i]
    return np.sum(a * a)


def next_in_the_ring(x):
    a = x * 1.0
    parts = (a[:2], a[2:])
    for i in range(2):
        parts[(i + 1) % 2][0] = parts[i][1] * x[i]
    return np.sum(a * a)


def every_pair(x):
    a = x * 1.0
    parts = [a[:2], a[2:], a[1:3]]
    for i in range(len(parts)):
        for j in range(len(parts)):
            parts[i] += 0.1 * parts[j] * parts[(i * j) % 3]
    return np.sum(a * a)


def no_round(x):
    a = x * 1.0
    parts = [a[:2], a[2:], a[1:3]]
    for i in range(len(parts) - 3):
        parts[i + 1] *= 2.0 * x[0]
    return np.sum(a * a) + np.sum(parts[0] * parts[1])


def bound_again(x):
    a = x * 1.0
    parts = [a[:2], a[2:]]
    for i in range(2):
        held = parts[i - 1]
        parts[i] = held * 2.0
        held += 1.0 * x[0]
    return np.sum(a * a) + np.sum(parts[0]) + np.sum(parts[1] * parts[0])


PROGRAMS = (
    only_the_next,
    this_and_the_next,
    the_one_before,
    from_the_end,
    next_in_the_ring,
    every_pair,
    no_round,
    bound_again,
)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_views_taken_by_a_computed_index(f):
    tl.check_grads(f, (np.array([0.3, 0.7, 1.1, -0.4]),))
