"""The text that a derivative shows before any call runs by itself and gives the same gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.generator import reverse_slope, text_slope

X = np.array([0.3, -0.7, 1.1])


def energy(x):
    return np.sum(np.sin(x) * x)


def twice(x):
    return np.sin(x), (np.sum(x), x * x)


def product_inside(x):
    y = np.tanh(x)
    z = tl.hvp(energy)(np.ones(3), np.ones(3))  # (carries no derivative: it is called as it is)
    return np.sum(y * z)


def dict_filled_in_a_loop(x):
    y = np.sin(x)
    for _ in range(2):
        p = {}
        for k in range(3):
            p[k] = np.sin(y * k)
        y = p[1] * p[2]
    return np.sum(y)


def rows_of_a_matrix(x):
    m = np.zeros((3, 3))
    for k in range(3):
        m[k] = np.sin(x * k)
    return np.sum(m[1] * m[2])


def underscore_of_a_loop(x):
    y, n = x, 0
    while n < 3:
        _, (c, z) = twice(y)
        y = np.tanh(z * c)
        n += 1
    return np.sum(y)


def underscore_that_is_read(x):
    _ = x * 2.0
    y, n = x, 0
    while n < 3:
        y = np.sin(y) * _
        n += 1
    return np.sum(y)


def underscore_of_pairs(x):
    y, n = x, 0
    while n < 2:
        for _, z in zip(twice(y), twice(x)):
            if not isinstance(z, tuple):
                y = y * z
        n += 1
    return np.sum(y)


def every_half(p):
    yield p[0] * 0.5
    yield p[1] * 0.5


def generators_of_which_nothing_comes(x):
    w = 0.3 * max(every_half(x)) + min(every_half(x[1:]))
    w = 1.0
    return np.sum(x * x) * w


SHOWN = [product_inside, dict_filled_in_a_loop, rows_of_a_matrix, underscore_of_a_loop]
SHOWN += [underscore_that_is_read, underscore_of_pairs, generators_of_which_nothing_comes]


@pytest.mark.parametrize("f", SHOWN, ids=lambda f: f.__name__)
def test_right(f: Callable[..., Any]) -> None:
    directions = agreement.directions_for((X,), (0,), 3)
    expected = agreement.slope(f, (X,), directions)
    for way in (text_slope, reverse_slope):
        found = way(f, (X.copy(),), (0,), directions, [])
        assert agreement.close(found, expected, 1e-7), way.__name__


def test_no_check_of_what_was_just_made() -> None:
    """Values that were computed for a store share no memory with what is written."""
    assert "require_read_first" not in tl.grad(dict_filled_in_a_loop).source
    assert "require_read_first" in tl.grad(overlapping).source


def overlapping(a):
    b = a * 1.0
    b[:2] = b[::2]
    return np.sum(b * b)
