"""Arrays made of lists that are written out: how long they are is known, and so is what their
adjoints are, unless something changes the list in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

X, Y = np.array([0.7, -0.4, 1.3]), np.array([1.1, 0.6, -0.8])


def field(y: Any, p: Any) -> Any:
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + y[0] * y[1], 1])


def system(y: Any, p: Any) -> Any:
    for _ in range(3):
        k = field(y, p)
        y = y + 0.1 * (k + 2 * field(y + 0.5 * k, p))
    return np.sum(y**2)


def summed(x: Any, y: Any) -> Any:
    a, b = np.sum(x), x[0] * y[1]
    return np.sum(np.array([a, b, a])) * np.max(np.array((a * b, y[0]))) + np.array([a * a])[0]


def rows(x: Any, y: Any) -> Any:
    m = np.array([[x[0], y[1]], [x[1] * y[0], 2]])
    n = np.array([x * y, y, np.sin(x)])
    return np.sum(m @ m) + np.sum(n[:, None] * x) + np.sum(n[1:] * n[:-1])


def grown(x: Any, y: Any) -> Any:
    parts = [x[0], y[1]]
    parts.append(x[1] * y[0])
    more = [x[2] * y[2], y[0]]
    more.pop()
    more[0] = more[0] * x[0]
    return np.sum(np.array(parts) ** 2) * np.sum(np.array(more)) + parts[0]


def in_rounds(x: Any, y: Any) -> Any:
    s, parts = 0.0, [x[0], y[0] * x[1]]
    for i in range(3):
        s = s + np.sum(np.array(parts) ** 2) * x[i]
        parts.append(s * y[i])
    return s


def widen(parts: Any, v: Any) -> None:
    parts += [v, v * v]


def by_a_helper(x: Any, y: Any) -> Any:
    parts = [x[0], y[0]]
    others = parts
    widen(others, x[1])
    return np.sum(np.array(parts) * x[2]) + np.prod(np.array(others))


def broadcast(x: Any, y: Any) -> Any:
    one = np.array([x[0] * y[0]])
    return np.sum(one * x) + np.sum(np.array([[x[1]], [y[1]]]) * y)


def starred(x: Any, y: Any) -> Any:
    return np.sum(np.array([*x, y[0]]) ** 2 * y[1])


PROGRAMS = [system, summed, rows, grown, in_rounds, by_a_helper, broadcast, starred]


@pytest.mark.thorough
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Callable[..., Any]) -> None:
    check_grads(f, (X, Y), order=2)
    single = X.astype(np.float32), Y.astype(np.float32)
    pairs = zip(tl.grad(f, wrt=(0, 1))(*single), tl.grad(f, wrt=(0, 1))(X, Y), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def test_a_field_needs_neither_lists_nor_sums_over_axes() -> None:
    gradient = tl.grad(system, wrt=(0, 1))
    gradient(X, Y)
    assert "nest_like" not in gradient.source and "unbroadcast" not in gradient.source


def test_complex_entries() -> None:
    def f(x: Any, y: Any) -> Any:
        z = np.array([x[0] * 1j, y[0], x[1]])
        return np.abs(np.sum(z * z)) ** 2 + np.array([np.real(z[0] * z[0]), y[1]])[0]

    check_grads(f, (X, Y), order=2)


def test_numbers_of_python() -> None:
    def f(a: float, b: float) -> Any:
        return np.dot(np.array([a, b, 1.0]), np.array((b, 2, a * b)))

    assert tl.grad(f, wrt=(0, 1))(0.5, 2.0) == (4.0, 3.0)
    check_grads(f, (0.5, 2.0), order=2)
