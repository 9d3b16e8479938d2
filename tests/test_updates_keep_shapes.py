"""`out += v` leaves an array as large as it is, whatever is known of `v`: its adjoint is passed on
as it is, and its values are not saved for their shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

RNG = np.random.default_rng(21)


def filtered(image: Any, k: Any) -> Any:
    rows, columns = image.shape[0] - k.shape[0] + 1, image.shape[1] - k.shape[1] + 1
    out = np.zeros((rows, columns))
    for i in range(k.shape[0]):
        for j in range(k.shape[1]):
            out += k[i, j] * image[i : i + out.shape[0], j : j + out.shape[1]]
    return np.sum(np.maximum(out, 0.0))


def narrower(x: Any, y: Any) -> Any:  # what is added is broadcast
    out = np.zeros((3, len(x)))
    for k in range(3):
        out += x * np.sin(y[k:])[:1]
        out *= 1.0 + 0.1 * y[0]
    return np.sum(out**2)


def clipped(x: Any, y: Any) -> Any:  # the last slice is of length one, and is broadcast
    out = np.zeros(2)
    for k in range(len(x) - 1, -1, -2):
        out += x[k : k + 2] * y
    return np.sum(out**2)


def itself(x: Any, y: Any) -> Any:
    out = x * y
    for _ in range(2):
        out += out
        out -= np.mean(out)
    return np.sum(out**3)


CASES = {
    "filtered": (filtered, (RNG.normal(size=(6, 7)), RNG.normal(size=(3, 2)))),
    "narrower": (narrower, (RNG.normal(size=4), RNG.normal(size=3))),
    "clipped": (clipped, (RNG.normal(size=5), RNG.normal(size=1))),
    "itself": (itself, (RNG.normal(size=4), RNG.normal(size=4))),
}


@pytest.mark.parametrize("name", CASES)
def test_right(name: str) -> None:
    fn, args = CASES[name]
    check_grads(fn, args)


def test_filters_save_nothing() -> None:
    gradient = tl.grad(filtered, wrt=(0, 1))
    gradient(*CASES["filtered"][1])
    assert "saved" not in gradient.source and "unbroadcast" not in gradient.source


def test_an_array_of_the_caller_is_left_alone() -> None:
    def total(x: Any, y: Any) -> Any:
        x += y * 2.0
        return np.sum(x**2)

    x, y = np.ones(3), np.array([2.0])
    by_x, by_y = tl.grad(total, wrt=(0, 1))(x, y)
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_allclose(by_x, 10.0 * np.ones(3))
    np.testing.assert_allclose(by_y, [60.0])
