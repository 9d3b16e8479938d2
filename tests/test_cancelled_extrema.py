"""A maximum that is subtracted for stability and cancels carries no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

# mypy: disable-error-code="no-untyped-def"

X = np.random.default_rng(3).normal(size=(4, 4))
CUBE = np.random.default_rng(4).normal(size=(3, 3, 3))


def log_sum_exp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def softmax_of_rows(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return np.sum(p**2 * x)


def rows_without_keepdims(x):
    m = x.max(axis=1)
    return np.sum((m + np.log(np.exp(x - m[:, None]).sum(axis=1))) ** 2)


def last_axis(x):
    m = np.max(x, axis=-1, keepdims=True)
    y = m[..., 0] + np.log(np.sum(np.exp(x - m), axis=-1))
    return np.sum(y * y)


def log_softmax(x):
    z = x - np.max(x, axis=-1, keepdims=True)
    y = z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))
    return -np.sum(y * np.arange(4.0))


def over_columns(x):
    m = x.max(axis=0)
    s = np.log(np.exp(x - m).sum(axis=0)) + m
    e = np.exp(x - np.max(x, axis=0))
    return np.sum(s**2) + np.sum(e / e.sum(axis=0, keepdims=True) * x)


def of_two(x):
    a, b = x[0], x[1]
    m = np.maximum(a, b)
    return np.sum((m + np.log(np.exp(a - m) + np.exp(b - m))) ** 2)


def forward_steps(x):
    s = x[0]
    for t in range(1, 4):
        m = np.max(s)
        s = np.log(np.exp(s - m) @ np.exp(x)) + m + x[t]
    return log_sum_exp(s)


def in_place(x):
    z = x * 2.0
    z -= np.max(z, axis=1, keepdims=True)
    e = np.exp(z)
    return np.sum((e / e.sum(axis=1, keepdims=True)) ** 3)


CANCELLED = [
    log_sum_exp,
    softmax_of_rows,
    rows_without_keepdims,
    last_axis,
    log_softmax,
    over_columns,
    of_two,
    forward_steps,
    in_place,
]


@pytest.mark.parametrize("fn", CANCELLED, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("example", [False, True])
def test_what_cancels_is_left_out(fn: Any, example: bool) -> None:
    gradient = tl.grad(fn, example=(X,) if example else None)
    assert "extremum_share" not in gradient.source
    assert "heaviside" not in gradient.source
    tl.check_grads(fn, X)


LABELS = np.array([2, 0, 0, 3])


def cross_entropy(x, labels):
    z = x - np.max(x, axis=1, keepdims=True)
    picked = z[np.arange(len(labels)), labels]
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - picked)


def of_the_first_row(x, labels):
    z = x - np.max(x, axis=1, keepdims=True)
    picked = z[np.arange(1), labels]
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - picked)


def in_another_order(x, labels):
    z = x - np.max(x, axis=1, keepdims=True)
    rows = np.arange(len(labels))
    rows[0] = 3
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[rows, labels])


@pytest.mark.parametrize("fn", [cross_entropy, of_the_first_row, in_another_order])
def test_entries_taken_by_labels(fn: Any) -> None:
    gradient = tl.grad(fn, example=(X, LABELS))
    assert ("extremum_share" in gradient.source) == (fn is not cross_entropy)
    tl.check_grads(fn, (X, LABELS))
    tangent = tl.jvp(fn, (X, LABELS), (X, None))[1]
    assert np.isclose(np.sum(gradient(X, LABELS) * X), tangent)


def test_second_derivatives_of_what_cancels() -> None:
    tl.check_grads(softmax_of_rows, X, order=2)
    tl.check_grads(rows_without_keepdims, X, order=2)


def returned(x):
    m = np.max(x)
    return m * np.sum(np.exp(x - m))


def other_axis(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e / np.sum(e, axis=0, keepdims=True) * x)


def dropped_against_rows(x):
    m = np.max(x, axis=1)
    d = x - m
    e = np.exp(d)
    return np.sum(e / np.sum(e, axis=1) * x)


def dropped_with_an_axis_more(x):
    m = np.max(x, axis=1)
    d = (x - m)[:, None]
    return np.sum(np.exp(d) * np.exp(m[:, None]) * x)


def sum_over_what_is_left(x):
    m = x.max(axis=0)
    e = np.exp(m * 1.0 - m + 0.5 * (x[0] - m))
    return np.sum(np.log(e.sum(axis=0) / e) * x)


def grown(x):
    m = np.max(x, axis=1, keepdims=True)
    e = np.exp(CUBE[:2, :1, :1] * np.ones((2, 4, 4)) + (x - m))
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * x)


def next_round(x):
    total, last = 0.0, 0.0
    for row in x:
        m = np.max(row)
        e = np.exp(row - m)
        total += last * np.sum(row)
        last = np.sum(e)
    return total


def of_another_rank(x):
    total, y = 0.0, x
    for _ in range(2):
        m = np.max(y, axis=1, keepdims=True)
        if np.ndim(y) == 2:
            y = CUBE[:, :1, :1] * np.ones((3, 4, 4)) * x
        e = np.exp(y - m)
        total += np.sum(e / np.sum(e, axis=1, keepdims=True) * x)
    return total


def stored(x):
    m = np.max(x)
    e = np.exp(x - m)
    e[0] = 1.0
    return np.sum(e) / np.sum(e * e)


def scaled(x):
    m = np.max(x)
    return np.sum(np.exp(2.0 * (x - m)) / np.sum(np.exp(x - m)) * x)


def after_a_branch(x):
    m = np.max(x)
    e = np.exp(x - m)
    if x[0, 0] > 100.0:
        e = e / np.sum(e)
    return np.sum(e * x)


def other_factor(x):
    m = np.max(x)
    return np.log(np.sum(np.exp(x - m) + np.exp(m - x))) + m


def twice_the_shift(x):
    m = np.max(x)
    return m + m + np.log(np.sum(np.exp(x - m)))


def two_extrema(x):
    high, low = np.max(x), np.min(x)
    return np.sum(np.exp(x - high)) / np.sum(np.exp(x - low))


NOT_CANCELLED = [
    returned,
    other_axis,
    dropped_against_rows,
    dropped_with_an_axis_more,
    sum_over_what_is_left,
    grown,
    next_round,
    of_another_rank,
    stored,
    scaled,
    after_a_branch,
    other_factor,
    twice_the_shift,
    two_extrema,
]


@pytest.mark.parametrize("fn", NOT_CANCELLED, ids=lambda fn: fn.__name__)
def test_what_does_not_cancel_stays(fn: Any) -> None:
    assert "extremum_share" in tl.grad(fn).source
    tl.check_grads(fn, X)
