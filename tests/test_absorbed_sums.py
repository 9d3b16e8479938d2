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


def bent(x: Any, b: Any) -> Any:
    return np.sin(x) * x + b


def bent_twice(x: Any, b: Any) -> Any:
    return np.sum(bent(bent(x, b), b) ** 2)


def bent_with_gradient(x: Any, b: Any) -> Any:
    y = bent(x, b)
    return np.sum(y * b) + np.sum(tl.grad(bent_alone)(x) * y)


def bent_alone(x: Any) -> Any:
    return np.sum(bent(x, x))


def halved(x: Any, b: Any) -> Any:
    return np.sum(np.sin(x) * b) if len(x) < 2 else halved(x[::2], b[::2]) + x[-1] ** 3


@pytest.mark.thorough
@pytest.mark.parametrize("program", [bent_twice, bent_with_gradient, halved])
def test_results_that_no_call_reads(program: Any) -> None:
    """The tangent of a gradient does not need the gradient; where something does, it stays."""
    x, b, v = RNG.normal(size=(3, 4))
    tl.check_grads(program, (x, b), order=2)
    found = tl.hvp(program)(x, b, v=v)
    there, back = (tl.grad(program)(x + step * v, b) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(found, (there - back) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("helpers_are_pairs")
def test_a_tangent_is_given_alone() -> None:
    """`x_bar_dot = bent_bwd_jvp(..)`, not `x_bar, x_bar_dot = ..`."""
    x, b = RNG.normal(size=(2, 4))
    source = tl.hvp(lambda x: np.sum(bent(x, b) ** 2), example=(x,)).source
    assert "    x_bar_dot = bent_bwd_jvp(" in source and "x_bar," not in source, source
