"""The table of kinks in docs/semantics.md, row by row: value, and no warning on the way.

Each row: the text of the table, a program, where, and the derivative in reverse and forward mode.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import extremum_share
from tangentlike.testing import check_grads

PAGE = Path(__file__).parent.parent / "docs" / "semantics.md"
INF = np.inf

KINKS: list[tuple[str, Callable[..., Any], Any, Any]] = [
    ("`abs(x)` at 0", lambda x: np.sum(np.abs(x)), np.array([0.0, -2.0]), [0.0, -1.0]),
    ("`abs(x)` at 0", lambda x: np.sum(np.fabs(x)), np.array([0.0, 2.0]), [0.0, 1.0]),
    ("`abs(x)` at 0", lambda x: np.abs(x), np.float64(0.0), 0.0),
    ("`max`, `min`, `maximum`", lambda x: np.max(x), np.array([2.0, 2.0, 1.0]), [0.5, 0.5, 0.0]),
    ("`max`, `min`, `maximum`", lambda x: np.min(x), np.array([2.0, 1.0, 1.0]), [0.0, 0.5, 0.5]),
    ("`max`, `min`, `maximum`", lambda x: np.sum(np.maximum(x, 1.0)), np.array([1.0]), [0.5]),
    ("`max`, `min`, `maximum`", lambda x: np.sum(np.minimum(x, 1.0)), np.array([1.0]), [0.5]),
    ("`sort`", lambda x: np.sort(x)[0], np.array([1.0, 1.0]), [1.0, 0.0]),
    ("`clip`", lambda x: np.sum(np.clip(x, 0.0, 1.0)), np.array([0.0, 1.0, 2.0]), [1.0, 1.0, 0.0]),
    ("`x**0.`", lambda x: np.sum(x**0.0), np.array([0.0, 1.0]), [0.0, 0.0]),
    ("`x**y` by y", lambda x: np.sum(np.power(0.0, x)), np.array([2.0]), [0.0]),
    ("`x**3.`", lambda x: np.sum(x**3.0), np.array([-2.0, 0.0]), [12.0, 0.0]),
    ("`hypot`", lambda x: np.hypot(x[0], x[1]), np.zeros(2), [0.0, 0.0]),
    ("`hypot`", lambda x: np.arctan2(x[0], x[1]), np.zeros(2), [0.0, 0.0]),
    ("`hypot`", lambda x: np.sum(np.sinc(x)), np.array([0.0]), [0.0]),
    ("`norm` at 0", lambda x: np.linalg.norm(x), np.zeros(2), [0.0, 0.0]),
    ("`norm` at 0", lambda x: np.sum(np.linalg.norm(x, axis=1)), np.zeros((1, 2)), [[0.0, 0.0]]),
    ("`norm` at 0", lambda x: np.std(x), np.full(3, 2.0), [0.0, 0.0, 0.0]),
    ("`prod`", lambda x: np.prod(x), np.array([0.0, 2.0, 3.0]), [6.0, 0.0, 0.0]),
    ("`prod`", lambda x: np.sum(np.cumprod(x)), np.array([2.0, 0.0, 3.0]), [1.0, 8.0, 0.0]),
    ("`sign`", lambda x: np.sum(np.sign(x) * x), np.array([0.0, 2.0]), [0.0, 1.0]),
    ("`sign`", lambda x: np.sum(np.floor(x) + np.round(x)), np.array([1.0]), [0.0]),
]


@pytest.mark.parametrize(("text", "fn", "x", "expected"), KINKS)
def test_kink(text: str, fn: Callable[..., Any], x: Any, expected: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(tl.grad(fn)(x), expected, atol=1e-14)
        for direction in (np.ones_like(x), np.arange(1.0, np.size(x) + 1).reshape(np.shape(x))):
            slope = np.sum(direction * np.asarray(expected))
            np.testing.assert_allclose(tl.jvp(fn, (x,), (direction,))[1], slope, atol=1e-14)
    assert f"| {text}" in PAGE.read_text()


class Law:
    def __init__(self) -> None:
        self.power = 3.0


def by_a_field(x: Any) -> Any:
    law = Law()
    y = np.sum(x**law.power)
    law.power = x[1]
    return y * law.power


def by_an_entry(x: Any) -> Any:
    law = {"power": 3.0, "scale": x[1]}
    return np.sum(np.power(x, law["power"])) * law["scale"] + math.pow(x[0], law["power"])


def by_an_array(x: Any) -> Any:
    return np.sum(x ** np.array([2.0, x[1]]))


@pytest.mark.parametrize("f", [by_a_field, by_an_entry, by_an_array])
def test_exponents_that_do_not_vary_beside_what_does(f: Callable[..., Any]) -> None:
    """The tangent of 0 that a field or an entry has does not meet the logarithm of a negative
    base, in any of the second derivatives either."""
    x, v = np.array([-0.4, 0.9]), np.array([0.3, -0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_grads(f, (x,), order=2)
        forward = tl.autodiff(f, mode="forward")
        expected = (tl.grad(f)(x + 1e-6 * v) - tl.grad(f)(x - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(tl.vjp(forward, x, v)[1]((0.0, 1.0))[0], expected, rtol=1e-6)
        np.testing.assert_allclose(tl.vjp(tl.grad(f), x)[1](v)[0], expected, rtol=1e-6)


def test_square_root_at_zero_is_infinite() -> None:
    with np.errstate(all="ignore"):
        assert tl.grad(lambda x: np.sqrt(x))(np.float64(0.0)) == INF
    assert "| `sqrt` at 0 | infinite" in PAGE.read_text()


BRANCHES: list[Callable[..., Any]] = [
    lambda x: np.sum(np.where(x > 0.0, np.sqrt(x), 0.0)),
    lambda x: np.sum(np.where(x > 0.0, np.log(x), -x)),
    lambda x: np.sum(np.where(x == 0.0, 1.0, np.sin(x) / x)),
    lambda x: np.sum(np.select([x > 0.0], [np.sqrt(x)], 0.0)),
]


@pytest.mark.parametrize("fn", BRANCHES)
def test_branch_not_taken(fn: Callable[..., Any]) -> None:
    x = np.array([0.0, 1.0, 4.0])
    with np.errstate(all="ignore"):
        assert np.all(np.isfinite(tl.grad(fn)(x)))
        assert np.isfinite(tl.jvp(fn, (x,), (np.ones(3),))[1])


def test_the_gradient_of_a_norm_is_a_number_times_the_vector():
    def length(x):
        return np.linalg.norm(x)

    assert "return ratio_or_zero(1.0, np.linalg.norm(x)) * x" in tl.grad(length).source


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_zeros_have_zero_slopes_at_both_orders(axis, keepdims):
    def cubes(x):
        return np.sum(np.linalg.norm(x, axis=axis, keepdims=keepdims) ** 3)

    def lengths(x):
        return np.sum(np.linalg.norm(x, axis=axis, keepdims=keepdims))

    x, zeros = np.array([[0.3, -1.2, 0.0], [2.0, 0.4, 0.0]]), np.zeros((2, 3))
    for fn in (cubes, lengths):
        check_grads(fn, (x[:, :2],), order=2)
        assert not np.any(tl.grad(fn)(zeros))
        assert not np.any(tl.jvp(fn, (zeros,), (x,))[1])
        assert not np.any(tl.hvp(fn)(zeros, x))


@pytest.mark.parametrize(("axis", "where"), [(0, True), (1, True), (None, True), (0, "some")])
def test_shares_of_ties_and_without(axis, where):
    """In each lane that has a largest entry its weights add up to one, and ties share."""
    x = np.array([[1.0, 3.0, 3.0, np.nan], [2.0, 0.5, 3.0, 1.0], [2.0, 1.0, 0.0, 4.0]])
    for table in (x, x[:, :2], np.sort(x[:, :3], axis=None).reshape(3, 3)):
        mask = True if where is True else table < 2.5
        top = np.max(table, axis=axis, keepdims=True, where=mask, initial=-np.inf)
        share = extremum_share(table, top, axis, mask)
        hit = (table == top) & mask
        count = np.broadcast_to(np.sum(hit, axis=axis, keepdims=True), table.shape)
        np.testing.assert_array_equal(share[hit], 1.0 / count[hit])
        assert not np.any(share[~hit]) and share.dtype == table.dtype
