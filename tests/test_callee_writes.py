"""Callees that write an argument through a view of it, and return nothing: right, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def writes_row(x, v):
    row = x[0]
    row[1] = v[0] * v[1]


def by_row(v):
    x = np.ones((2, 3))
    writes_row(x, v)
    return np.sum(x * x)


def writes_reshaped(x, v):
    flat = x.reshape(-1)
    flat[1:4] = v * v


def by_reshaped(v):
    x = np.ones((2, 3))
    writes_reshaped(x, v)
    return np.sum(x * x)


def scatters_reshaped(x, places, v):
    np.add.at(x.reshape(-1), places, v)


def by_scatter(v):
    x = np.ones((2, 3))
    scatters_reshaped(x, np.array([0, 1, 1]), v)
    return np.sum(x * x)


def writes_rows(x, v):
    for row in x:
        row[:2] += v[:2] * v[1:]


def by_rows(v):
    x = np.ones((2, 3))
    writes_rows(x, v)
    return np.sum(x * x)


def writes_item(xs, v):
    first, _ = xs
    first[0] = v[0] * v[1]


def by_item(v):
    xs = [np.ones(3), np.ones(3)]
    writes_item(xs, v)
    return np.sum(xs[0] * xs[0])


@pytest.mark.parametrize("f", [by_row, by_reshaped, by_scatter, by_rows, by_item])
def test_right_or_refused(f: Callable[..., Any]) -> None:
    v = np.array([1.0, 2.0, 3.0])
    expected = [(f(v + 1e-6 * e) - f(v - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    try:
        found = tl.grad(f)(v)
    except tl.UnsupportedError:
        pass
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    _, change = tl.jvp(f, (v,), (np.ones(3),))
    np.testing.assert_allclose(change, np.sum(expected), rtol=1e-6)


def test_a_row_is_followed() -> None:
    np.testing.assert_allclose(tl.grad(by_row)(np.array([1.0, 2.0, 3.0])), [8.0, 4.0, 0.0])
