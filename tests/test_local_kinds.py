"""Arrays that are equally long in one place alone: no sums over broadcast axes where they are, the
sums that there have to be where they only look like it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

X = np.array([0.5, 1.2, -0.7])


def shrinking(x: Any) -> Any:
    """A lattice: each level is one shorter."""
    v = x * x
    while len(v) > 1:
        v = 0.3 * v[1:] + np.sum(x) * v[:-1]
    return v[0]


def columns(x: Any) -> Any:
    """Below the diagonal, as factorizations go."""
    a = np.outer(x, x) + np.diag(1.0 + x * x)
    low = np.zeros_like(a)
    for j in range(3):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return np.sum(low**2 * a)


def kept_from_the_iteration_before(x: Any) -> Any:
    v, old, total = x * 1.0, x[:1], 0.0
    for i in range(2):
        if i > 0:
            total += np.sum((old * v[1:]) ** 2)  # (two entries times one)
        old = v[1:]
        v = v[:-1]
    return total


def kept_without_a_value_before(x: Any) -> Any:
    v, total = x * 1.0, 0.0
    for i in range(2):
        if i > 0:
            total += np.sum((first * v[1:]) ** 2)  # noqa: F821
        first = v[1:]
        v = 2.0 * first[1:] + first[:1] if i > 4 else v[:-1] * first[:1]
    return total


def bounds_of_the_iteration_before(x: Any) -> Any:
    total, old = 0.0, x * 0.0
    for j in range(2):
        if j > 0:
            total += np.sum(old * x[j + 1 :] ** 2)
        old = x[j + 1 :] * 3.0
    return total


def a_bound_that_is_counted(x: Any) -> Any:
    k, total = 1, 0.0
    for _ in range(2):
        first = x[k:]
        k += 1
        total += np.sum((first * x[k:]) ** 2)
        k -= 1
        total += np.sum(first * x[k:])
    return total


def from_the_end(x: Any) -> Any:
    k = len(x) - 1
    first = x[-k:]
    return np.sum((first * x[k:]) ** 3)


def bound_in_a_branch(x: Any) -> Any:
    v, total = x * 1.0, 0.0
    for i in range(2):
        first = v[1:]
        if i == 0:
            v = v[:-1]
        total += np.sum((first * v[1:]) ** 2)
    return total


def after_the_loop(x: Any) -> Any:
    v = x * 1.0
    for _ in range(1):
        first = v[1:]
        v = v[1:]
    return np.sum((first * v[1:]) ** 2)


def left_early(x: Any) -> Any:
    v, total = x * 1.0, 0.0
    for i in range(3):
        first = v[1:]
        if i == 1:
            break
        v = v[:-1]
        total += np.sum(first * v[1:])
    return total + np.sum((first * v) ** 2)


def caught(x: Any) -> Any:
    v, first = x * 1.0, x * 1.0
    try:
        first = v[1:]
        v = v[1:]
        v = v[[0, 7]]
    except IndexError:
        return np.sum((first * v[1:]) ** 2)
    return np.sum(first)


def updated(x: Any) -> Any:
    v, w = np.sum(x), x[1:]
    total = 0.0
    for _ in range(2):
        total += np.sum((v * w) ** 2)
        v = v + w
    return total


PROGRAMS = [
    *(shrinking, columns, kept_from_the_iteration_before, bounds_of_the_iteration_before),
    *(a_bound_that_is_counted, from_the_end, bound_in_a_branch, after_the_loop, left_early),
    *(caught, updated, kept_without_a_value_before),
]


@pytest.mark.every
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Any) -> None:
    check_grads(f, (X,))
    known = tl.grad(f, example=(X,))
    np.testing.assert_allclose(known(X), tl.jacobian(f, mode="forward")(X), rtol=1e-9)
    second = tl.hvp(f)(X, np.array([0.3, -0.2, 0.5]))
    step = 1e-6 * np.array([0.3, -0.2, 0.5])
    want = (known(X + step) - known(X - step)) / 2e-6
    np.testing.assert_allclose(second, want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", [shrinking, columns])
def test_no_sums_where_lengths_are_equal(f: Any) -> None:
    source = tl.grad(f, example=(X,)).source
    assert "unbroadcast(low_bar" not in source and "unbroadcast(total_bar" not in source
