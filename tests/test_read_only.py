"""Views that NumPy makes read-only, or whose entries overlap: adjoints that are written are neither.

Each function writes the array in place that such a view is of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.5, 0.7, 0.9])
V = np.array([1.0, 2.0, -1.0])
PROGRAMS: list[Callable[..., Any]] = []


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(fn)
    return fn


@program
def rows_before_a_diagonal(x):
    m = np.outer(x, x)
    m[[2, 0]] += 0.5
    y = np.sum(np.diag(m))
    m[0] *= y
    return np.trace(m) + np.sum(m.diagonal())


@program
def diagonal_of_what_is_written(x):
    m = np.outer(x, x)
    v, w = np.diagonal(m), m.diagonal(1)
    m[0, 0] *= 2.0
    m[1] *= m[0]
    return np.sum(m * x) + np.sum(v * x) + np.sum(w * x[:2])


@program
def adjoint_that_is_the_diagonal_of_a_product(x):
    return np.sum(np.diag(np.diagflat(x) @ np.outer(x, x)) ** 2)


@program
def adjoint_that_is_a_diagonal_and_more(x):
    y = np.diagflat(x) @ np.outer(x, x)
    return np.trace(np.outer(x, x)) + np.sum(np.diag(y) ** 2) + np.sum(np.diag(x) @ y)


@program
def diagonal_in_a_loop(x):
    m = np.outer(x, x)
    for i in range(3):
        v = np.diagonal(m)
        m[i] *= 2.0 * v
    return np.sum(m * x) + np.sum(v * x)


@program
def imaginary_part_of_a_real_array(x):
    m = np.outer(x, x)
    v = m.imag
    m[0] *= 2.0
    return np.sum(m * x) + np.sum(v * x)


@program
def broadcast(x):
    m = np.outer(x, x)
    m[1:] = np.broadcast_to(x, (2, 3))
    m[0] += np.mean(m)
    m *= np.mean(m, 1)[:, None]
    return np.mean(m) + np.max(np.broadcast_to(m, (2, 3, 3))) + np.einsum("ii", m)


@program
def windows(x):
    m = np.outer(x, x)
    m[1] += 0.5
    w = np.lib.stride_tricks.sliding_window_view(m, 2, 0)
    s = np.sum(w * w)
    m[0] = s
    return np.sum(m * x)


@program
def laid_out_by_columns(x):
    m = np.asfortranarray(np.outer(x, x))
    s = m.ravel()
    s[0] *= 3.0
    t = np.ascontiguousarray(m)
    t *= 2.0
    m[1] *= t[2]
    return np.sum(m * x) + np.sum(s) + np.sum(t)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_both_modes(fn: Callable[..., Any]) -> None:
    expected = agreement.slope(fn, (X,), [V])
    assert tl.grad(fn)(X) @ V == pytest.approx(expected, rel=1e-6)
    assert tl.jvp(fn, (X,), (V,))[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_pullback_called_twice(fn: Callable[..., Any]) -> None:
    _, pullback = tl.vjp(fn, X)
    expected = agreement.slope(fn, (X,), [V])
    assert pullback(1.0)[0] @ V == pytest.approx(expected, rel=1e-6)
    assert pullback(2.0)[0] @ V == pytest.approx(2.0 * expected, rel=1e-6)


@pytest.mark.parametrize("values_of", [np.linalg.eigvalsh, lambda a: np.linalg.svd(a)[1]])
def test_eigenvalues_are_written(values_of: Any) -> None:
    def loss(a):
        w = values_of(a @ a.T)
        w[w < 1.0] = 0.5
        return np.sum(np.sqrt(w))

    tl.check_grads(loss, (np.array([[2.0, 0.3, 0.1], [0.3, 0.4, 0.2], [0.0, 0.5, 3.0]]),))


def copied_diagonal(x):
    m = np.outer(x, x)
    m[1:, 1:] *= np.cos(m[:-1, :-1])
    q = np.diagonal(m).copy()
    q[0] = x[-1]
    return np.sum(q**3)


def copied_windows(x):
    y = x * 2.0
    y[0] = y[2] ** 2
    w = np.lib.stride_tricks.sliding_window_view(y, 2).copy()
    w[1:] *= w[:-1]
    return np.sum(w**3)


@pytest.mark.parametrize("fn", [copied_diagonal, copied_windows], ids=lambda fn: fn.__name__)
def test_the_adjoint_of_an_adjoint_is_no_read_only_view(fn: Callable[..., Any]) -> None:
    tl.check_grads(fn, (X,), order=2)
