"""`target="numba"` where memory may be shared, and where adjoints are found by identity."""

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


def of_branches(x, n):
    y = x * 2.0
    z = np.sin(x)
    for i in range(n):
        if i % 2 == 0:
            w = y
        else:
            w = z
        w[i] += x[i] ** 2
        w[1:3] *= y[1:3]
    return np.sum(y * z)


def chosen(a, b, i):
    return a if i % 2 == 0 else b


def by_helpers(x):
    y = x.copy()
    z = x**2
    for i in range(4):
        w = chosen(y, z, i)
        w[i] += 0.5 * x[i] * w[i + 1]
    return np.sum(y * z)


def of_lists(x):
    both = [x * 1.0, x**2]
    for i in range(3):
        both[0], both[1] = both[1], both[0]
        both[0][i] += both[1][i] * x[i]
    return np.sum(both[0] * both[1])


def rows_of_tuples(x):
    m = np.zeros((2, 6))
    m[0] = x
    m[1] = x**2
    pair = (m[0], m[1].reshape((3, 2)).T)
    pair[0][1:] *= 0.5
    pair[1][0, 1] += pair[0][3] ** 2
    for row in (m[0], m[1]):
        row[0] += row[2] * x[0]
    return np.sum(m**2)


def strided(x):
    y = x * 3.0
    z = np.cos(x)
    for i in range(2):
        w = y[::2] if i == 0 else z[::-2]
        w[1:] += x[:2] * w[:-1]
        w[...] = w * w
    return np.sum(y * z)


def mixed(a, c):
    """(Numbers go in and out by name, arrays by identity.)"""
    a[0] += c * a[1]
    return c * a[2], a * c


def numbers_by_name(x):
    both, c = [x * 1.0, np.cos(x)], x[0]
    for i in range(3):
        both[0], both[1] = both[1], both[0]
        w = both[i % 2]
        c, v = mixed(w, c + x[i])
        w[1:] += v[1:]
    return c + np.sum(both[0] * both[1])


def many_blocks(x, n):
    rows = [x * float(k) for k in range(n)]
    for k in range(1, n):
        w = rows[k - 1] if k % 3 == 0 else rows[k]
        w *= 0.5 * w + rows[0] - 0.1 * x
    s = 0.0
    for row in rows:
        s += np.sum(row * row)
    return s


def with_a_switch(x):
    """(Numba drops the branch, and would not know of what a list is that it alone fills.)"""
    level, y, z = 0.0, x * 2.0, np.sin(x)
    w = z
    for i in range(3):
        if level > 1.0:
            w = y
        w, y = y, w
        w[i] += x[i] ** 2
        if y[0] > w[0]:
            w = y
    return np.sum(y * z) + np.sum(w)


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


BY_IDENTITY: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (of_branches, (X, 3)),
    (by_helpers, (X,)),
    (of_lists, (X,)),
    (rows_of_tuples, (X,)),
    (strided, (X,)),
    (numbers_by_name, (X,)),
    (many_blocks, (X, 12)),
    (with_a_switch, (X,)),
]
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *BY_IDENTITY,
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
    assert ("Shadow()" in df.source) == ((fn, args) in BY_IDENTITY)


def test_entries_that_lie_on_each_other_are_refused() -> None:
    def f(x, n):
        y = x * 2.0
        w = np.lib.stride_tricks.as_strided(y, (3,), (0,)) if n else y
        w[0] += x[1]
        return np.sum(w * w)

    with pytest.raises(tl.UnsupportedError):
        tl.grad(f, target="numba")(X.copy(), 1)


def test_a_row_of_what_python_holds_is_refused() -> None:
    """(Compiled code does not see how long the whole is.)"""
    from tangentlike.numba.compiling import numba_module
    from tangentlike.runtime import Shadow

    numba_module()

    def call(x):
        bars = Shadow()
        bars.add(x[1:3], 2.0)
        return bars.take(x)

    with pytest.raises(TypeError, match="an array of Python's is not found by its memory"):
        numba.njit(call)(X)


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
