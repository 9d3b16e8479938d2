"""A `try` around the call of a helper: what the helper may raise tells, whoever reads its values.

Each of these gradients was that of the branch without the exception: what raises it computes
nothing that is used, and was left out of the derivative of the helper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X, V = np.array([0.4, 0.7, -0.3]), np.array([1.0, -2.0, 0.5])
TABLE = {"a": 1.0}


def asked(p, k):
    TABLE[k]
    return p * 2.0


def looked_up(p, k):
    w = TABLE[k]  # noqa: F841
    return p * 2.0


def entry(p, k):
    first = p[k] * p[0]  # noqa: F841
    return p * 3.0


def deeper(p, k):
    return entry(p, k) * 2.0


def of_a_statement(x):
    try:
        y = asked(x, "b")
    except KeyError:
        y = x * 5.0
    return np.sum(y)


def of_a_name(x):
    try:
        y = looked_up(x, "b")
    except KeyError:
        y = x * x
    return np.sum(y)


def in_a_loop(x):
    total = 0.0
    for k in (1, 7):
        try:
            y = deeper(x, k)
        except IndexError:
            y = x * x
        total = total + np.sum(y)
    return total


def in_a_helper(x):
    return np.sum(deeper(x, 1)) + returned(x)


def returned(x):
    try:
        return np.sum(deeper(x, 9))
    except IndexError:
        return x[0] * x[1]


RIGHT = [of_a_statement, of_a_name, in_a_loop, in_a_helper]


@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
def test_both_modes(f: Callable[..., Any]) -> None:
    slope = agreement.slope(f, (X,), [V])
    gradient = tl.grad(f)
    assert agreement.close(float(gradient(X) @ V), slope, 1e-7)
    assert agreement.close(float(tl.jvp(f, (X,), (V,))[1]), slope, 1e-7)
    curve = agreement.slope(lambda x: float(gradient(x) @ V), (X,), [V])
    assert agreement.close(float(tl.jvp(gradient, (X,), (V,))[1] @ V), curve, 1e-6)


def changed(p):
    p[0] = p[1] * p[0]
    TABLE["b"]
    return p


def written_before(x):
    y = x * 1.0
    try:
        t = changed(y)
    except KeyError:
        t = y * 2.0
    return np.sum(y * y * t)


def written_in_the_body(x):
    y = x * 1.0
    w = x * 2.0
    try:
        y = w
        y[0] = x[1] * y[0]
        TABLE["b"]
    except KeyError:
        w = w * 2.0
    return np.sum(y * w)


@pytest.mark.parametrize("f", [written_before, written_in_the_body], ids=lambda f: f.__name__)
def test_what_was_changed_before_is_not_missed(f: Callable[..., Any]) -> None:
    """Where the reverse sweep does not see how far the body came, it says so."""
    slope = agreement.slope(f, (X,), [V])
    assert agreement.close(float(tl.jvp(f, (X,), (V,))[1]), slope, 1e-7)
    try:
        found = float(tl.grad(f)(X) @ V)
    except tl.UnsupportedError as refusal:
        assert "the body of `try:` raised after" in str(refusal)
    else:
        assert f is not written_before and agreement.close(found, slope, 1e-7)
