"""`target="numba"` where adjoints are found by identity, or memory may be shared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.thorough  # (each compilation takes a second)
X = np.random.default_rng(3).uniform(0.2, 1.0, 6)
COEFFICIENTS = np.array([0.5, 2.0, 1.0, 0.3, 0.7, 1.1])


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What is compiled here is kept where nobody finds it again."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "TANGENTLIKE_CACHE_DIR", str(folder))
        yield folder


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


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], bool]] = [
    (of_branches, (X, 3), True),
    (by_helpers, (X,), True),
    (of_lists, (X,), True),
    (rows_of_tuples, (X,), True),
    (strided, (X,), True),
    (of_nested_lists, (X,), False),
    (sweeps, (X, 3), False),
    (permuted, (X,), False),
]


@pytest.mark.parametrize(
    ("fn", "args", "identity"), CASES, ids=lambda v: getattr(v, "__name__", "")
)
def test_it_agrees_with_differences(
    fn: Callable[..., Any], args: tuple[Any, ...], identity: bool
) -> None:
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
    assert identity == ("Shadow()" in df.source)


def test_entries_that_lie_on_each_other_are_refused() -> None:
    def f(x, n):
        y = x * 2.0
        w = np.lib.stride_tricks.as_strided(y, (3,), (0,)) if n else y
        w[0] += x[1]
        return np.sum(w * w)

    with pytest.raises(tl.UnsupportedError):
        tl.grad(f, target="numba")(X.copy(), 1)


def test_arguments_that_share_memory() -> None:
    def overwritten(a, b, c):
        for i in range(len(a)):
            b[i] += a[i] * c

    def f(x, n):
        y = x * 2.0
        z = y[:3] if n else x[:3] * 1.0
        overwritten(y[3 - n :], z, 0.5)
        return np.sum(y * y) + np.sum(z)

    df = tl.grad(f, target="numba")
    np.testing.assert_allclose(df(X, 0), tl.grad(f)(X, 0), rtol=1e-12)


def test_slices_that_overlap_are_read_first() -> None:
    def f(x, k):
        y = x * 2.0
        y[: 2 * k : 2] = y[:k]
        return np.sum(y * x)

    y = X[[0, 1, 1, 3, 2, 5]]
    wanted = 2.0 * y + np.bincount([0, 1, 1, 3, 2, 5], 2.0 * X)
    np.testing.assert_allclose(tl.grad(f, target="numba")(X, 3), wanted)


def test_memory_that_python_owns_is_refused() -> None:
    """A row of what Python gave: compiled code does not see how long the whole is."""
    from tangentlike.numba.compiling import numba_module
    from tangentlike.runtime import Shadow

    numba_module()

    def call(x):
        bars = Shadow()
        bars.add(x[1:], 2.0)
        return bars.take(x)

    with pytest.raises(TypeError, match="an array of Python's is not found by its memory"):
        numba.njit(call)(X)
