"""`target="numba"` where memory may be shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

numba = pytest.importorskip("numba")
# (Each compilation takes a second.)
pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("compiled_apart")]
X = np.random.default_rng(3).uniform(0.2, 1.0, 6)
COEFFICIENTS = np.array([0.5, 2.0, 1.0, 0.3, 0.7, 1.1])


def chosen_by_branch(x, n):
    y = x * 2.0
    z = np.sin(x)
    for i in range(n):
        if i % 2 == 0:
            w = y
        else:
            w = z
        w[i] += x[i] ** 2
    return np.sum(y * z)


def of_nested_lists(x):
    rows = [[x[0], x[1]], [x[2], x[3]]]
    s = 0.0
    for row in rows:
        for e in row:
            s += e**2
    return s


def relaxed(u, b, out):
    for i in range(1, len(u) - 1):
        out[i] = 0.5 * (u[i - 1] + u[i + 1] + b[i])


def sweeps(u, n):
    out = u.copy()
    for _ in range(n):
        relaxed(u, COEFFICIENTS, out)
        u, out = out, u
    return np.sum(u**2)


def permuted(x):
    y = np.zeros(6)
    places = np.array([0, 3, 3, -1])
    y[places] = x[:4] ** 2
    return np.sum(y * x)


def scaled_product(a, b):
    return a[0] * b[1], np.sum(a * b) * 0.2


def swapped_after_a_helper(x):
    """(What a helper keeps is put back in the arrays that the loop swaps.)"""
    v = x[:4] * 0.5
    p = x[2:].copy()
    t, s = scaled_product(v, p)
    for _ in range(3):
        v[:2] *= v[2:]
        v, p = p, v
    return s + t * np.sum(v)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (of_nested_lists, (X,)),
    (sweeps, (X, 3)),
    (permuted, (X,)),
    (swapped_after_a_helper, (X,)),
]


@pytest.mark.parametrize(("fn", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_it_agrees_with_differences(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    df = tl.value_and_grad(fn, target="numba")
    x, *rest = args
    given = x.copy()
    for _ in range(2):
        value, found = df(given, *rest)
        assert value == pytest.approx(fn(x.copy(), *rest), rel=1e-12)
        steps = 1e-6 * np.eye(len(x))
        wanted = [(fn(x + e, *rest) - fn(x - e, *rest)) / 2e-6 for e in steps]
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found, tl.grad(fn)(x.copy(), *rest), rtol=1e-12)
        np.testing.assert_array_equal(given, x)


def test_adjoints_by_identity_are_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match="has no form for Numba"):
        tl.grad(chosen_by_branch, target="numba")(X, 3)


def test_arguments_that_share_memory() -> None:
    def overwritten(a, b, c):
        for i in range(len(a)):
            b[i] += a[i] * c

    def f(x, n):
        y = x * 2.0
        z = x[:3] * 1.0
        overwritten(y[3 - n :], z, 0.5)
        return np.sum(y * y) + np.sum(z)

    df = tl.grad(f, target="numba")
    np.testing.assert_allclose(df(X, 0), tl.grad(f)(X, 0), rtol=1e-12)
