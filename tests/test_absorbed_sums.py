"""Sums over broadcast axes that are left to their readers, zeros that are overwritten, tapes that
are shortened: where broadcasting and overlapping entries really occur."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests.sampled import one_in

RNG = np.random.default_rng(0)


def row_under_matrix(w: Any, x: Any, b: Any) -> Any:
    for _ in range(2):
        x = np.tanh(w @ x + b)[0]
    return np.sum(x)


def scaled_sum(w: Any, x: Any, b: Any) -> Any:
    s = 0.0
    for k in range(2):
        s = s + np.sum(np.sin(0.5 * (w @ x) - k * b) * b)
    return s


def number_over_matrix(w: Any, x: Any, b: Any) -> Any:
    return np.sum((x @ x) * w) + np.sum((x @ w) * b + x @ x)


def stacks_of_matrices(w: Any, x: Any, b: Any) -> Any:
    return np.sum((b[:, None, :] @ w + b) * (b @ w)[:, :1])


def through_a_helper(w: Any, x: Any, b: Any) -> Any:
    return np.sum(layer(w, layer(w, x, x), b))


def layer(w: Any, x: Any, b: Any) -> Any:
    h = w @ x
    for _ in range(2):
        h = np.tanh(w @ h + b) if b.ndim == 1 else h * 0.5
    return np.tanh(h + b)


PROGRAMS = [
    row_under_matrix,
    scaled_sum,
    number_over_matrix,
    stacks_of_matrices,
    through_a_helper,
]


@pytest.mark.parametrize("program", one_in(2, PROGRAMS), ids=lambda f: f.__name__)
def test_products_under_something_larger(program: Any) -> None:
    w, x, b = RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=(4, 3))
    tl.check_grads(program, (w, x, b), order=2)


def test_no_shape_is_kept() -> None:
    source = tl.grad(row_under_matrix, wrt=("w", "b")).source
    assert "wx" not in source and "saved.append((tanh_total, x))" in source


def test_a_tape_holds_what_is_read() -> None:
    source = tl.grad(through_a_helper).source
    assert "wh_saved" not in source


def overlapping(a: Any) -> Any:
    for i in range(len(a)):
        a[i] = a[i - 1] * a[i] + 0.5 * a[(i + 1) % len(a)] * a[-1]
    return np.sum(a * a)


def shifted(a: Any) -> Any:
    for _ in range(2):
        a[1:] = a[:-1] * a[1:] + a[1:] * a[-1]
    return np.sum(a * a)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("program", [overlapping, shifted], ids=lambda f: f.__name__)
def test_entries_added_to_while_one_is_taken(program: Any, n: int) -> None:
    a = RNG.uniform(0.5, 1.0, n)
    tl.check_grads(program, (a,), order=2)
    told = tl.grad(program, example=(a,))
    np.testing.assert_allclose(told(a), tl.grad(program)(a), rtol=1e-12)
