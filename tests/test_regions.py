"""Entries that are written once are read again in the reverse sweep; all others are saved.

The first programs save nothing that they have overwritten; of the others each overwrites,
in a way that is easily missed, something that an earlier round has read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.7, 0.3, 0.9, 0.5, 0.8, 0.4])
M = np.add.outer(X, 2.0 * X) + 4.0 * np.eye(6)


# --------------------------------------------------------------------- every entry once


def recurrence(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = np.sin(y[i - 1]) * x[i] + y[i - 1] ** 2
    return np.sum(y * y)


def backwards(x):
    n = len(x)
    y = np.zeros(n)
    for i in range(n - 1, -1, -1):
        y[i] = x[i] / (2.0 + np.sum(y[i + 1 :] ** 2))
    return np.sum(y)


def substitution(m, x):
    n = len(x)
    for i in range(n):
        for j in range(i):
            x[i] -= m[i, j] * x[j]
        x[i] /= m[i, i]
    return np.sum(x * x)


def elimination(m):
    n = len(m)
    for k in range(n):
        for i in range(k + 1, n):
            m[i, k] /= m[k, k]
            m[i, k + 1 :] -= m[i, k] * m[k, k + 1 :]
    return np.sum(np.log(np.diag(m)))


def table_of_costs(x):
    n = len(x)
    cost = np.zeros((n, n))
    for i in range(1, n):
        for j in range(max(1, i - 2), min(n, i + 2)):
            here = cost[i - 1, j] * cost[i, j - 1] + cost[i - 1, j - 1]
            cost[i, j] = (x[i] - x[j]) ** 2 + np.sin(here)
    return np.sum(cost)


# ------------------------------------------------------------------- some entry again


def round_the_corner(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = np.sin(y[i - 1]) + x[i]  # y[-1] is read first and written last
        y[i - 1] *= y[i]
    return np.sum(y * y)


def next_one(x):
    for i in range(len(x) - 1):
        x[i] = x[i] * x[i + 1]
    return np.sum(x * x)


def sweeps(x):
    for _ in range(2):
        for i in range(1, len(x)):
            x[i] = x[i - 1] * x[i - 1] + 0.5
    return np.sum(x * x)


def two_steps(x):
    for i in range(0, len(x), 2):
        x[i] = x[i] * x[i - 2]
        x[i + 1] = x[i] * x[i]
    return np.sum(x)


def from_both_ends(x):
    n = len(x)
    for i in range(n):
        x[i] = x[n - 1 - i] * x[i]
    return np.sum(x)


def grown_slices(x):
    for i in range(1, len(x)):
        x[:i] = x[:i] * x[i]
    return np.sum(x)


def moved_window(x):
    n = len(x)
    total = 0.0
    for i in range(n - 2):
        window = x[i : i + 3]
        total = total + window[0] * window[1] * window[2]
        window[1] = total
    return total


def by_an_index_of_its_own(x):
    for i in range(len(x) - 1):
        k = i + 1
        t = np.sin(x[i])
        x[k] = t * x[k]
        s = t * x[0]
        x[0] = s * s
    return np.sum(x)


def rounded(x):
    y = np.zeros(len(x), int)
    total = 0.0
    for i in range(len(x)):
        t = 3.0 * x[i]
        y[i] = t  # what is read back is not what was stored
        total += t * t
    return total + np.sum(y)


def spread_out(x):
    y = np.zeros((len(x), 2))
    total = 0.0
    for i in range(len(x)):
        t = np.exp(x[i])
        y[i] = t
        total += t * np.sum(y[i])
    return total


ONCE: list[Callable[..., Any]] = [recurrence, backwards, substitution, elimination, table_of_costs]
AGAIN: list[Callable[..., Any]] = [
    round_the_corner, next_one, sweeps, two_steps, from_both_ends, grown_slices, moved_window,
    by_an_index_of_its_own, rounded, spread_out,
]  # fmt: skip


def arguments(fn: Callable[..., Any]) -> tuple[Any, ...]:
    given = {"x": X, "m": M}
    return tuple(given[name].copy() for name in fn.__code__.co_varnames[: fn.__code__.co_argcount])


def differences(fn: Callable[..., Any], step: np.ndarray) -> Any:
    return (fn(X + step) - fn(X - step)) / 2e-5


@pytest.mark.parametrize("fn", ONCE, ids=lambda fn: fn.__name__)
def test_nothing_is_copied(fn: Callable[..., Any]) -> None:
    args = arguments(fn)
    tl.check_grads(fn, args)
    source = tl.grad(fn, tuple(range(len(args))), example=args).source
    assert ".copy())" not in source and not re.search(r"append\(\w+\[", source), source
    assert not re.search(r"(\w+) = \w+\[[^\]]*\]\n +\w+_saved.append\(\1\)", source), source


@pytest.mark.parametrize("fn", AGAIN, ids=lambda fn: fn.__name__)
def test_what_is_written_again_is_saved(fn: Callable[..., Any]) -> None:
    args = arguments(fn)
    told = tl.grad(fn, example=args)
    _, tangent = tl.jvp(fn, args, (np.cos(X),))
    np.testing.assert_allclose(told(*args) @ np.cos(X), tangent, rtol=1e-12)
    hessian_v = tl.hvp(fn, example=args)(*args, np.sin(X))
    step = 1e-5 * np.sin(X)
    np.testing.assert_allclose(hessian_v, differences(told, step), rtol=1e-5, atol=1e-6)
    if fn is not rounded:
        change = differences(lambda x: fn(x.copy()), step)
        np.testing.assert_allclose(told(*args) @ step, change * 1e-5, rtol=1e-5)


def restored_by_a_name(a, b, n):
    for i in range(n):
        k = i + 1
        t = a[n - i] / (2.0 + np.cos(a[0]))
        a[k] = t
        a[0] += t * t * b[i]
    return np.sum(np.sin(a))


def test_the_index_of_a_restore_is_there_before_it() -> None:
    a, b = np.linspace(0.1, 0.7, 7), np.linspace(0.2, 0.8, 7)
    gradient = tl.grad(restored_by_a_name, ("a", "b"), example=(a, b, 5))
    a_bar, b_bar = gradient(a, b, 5)
    _, tangent = tl.jvp(restored_by_a_name, (a, b, 5), (np.cos(a), np.sin(b), 0))
    np.testing.assert_allclose(a_bar @ np.cos(a) + b_bar @ np.sin(b), tangent, rtol=1e-12)


# ------------------------------------------------------------------------ shapes alone


def fluxes(u, c, steps):
    for _ in range(steps):
        flux = c * (u[1:] - u[:-1])
        u[1:-1] += 0.1 * (flux[1:] - flux[:-1])
    return np.sum(u * u)


def branches(u, c, steps):
    total = 0.0
    for t in range(steps):
        if t % 2 == 0:
            part = c * u
            total = total + np.sum(part[1:] * 2.0)
        u = u * 0.5
    return total + np.sum(u)


SHAPED = [(fluxes, 5), (fluxes, 1), (branches, 6), (branches, 1)]


@pytest.mark.parametrize(("fn", "size"), SHAPED, ids=lambda v: getattr(v, "__name__", str(v)))
@pytest.mark.parametrize("steps", [0, 3])
def test_one_value_has_the_shape_of_all(fn: Callable[..., Any], size: int, steps: int) -> None:
    """Nothing is kept for a shape that is the same in all rounds; sizes may still broadcast."""
    longest = 6 if fn is branches else 5
    told = tl.grad(fn, ("u", "c"), example=(X, X[:longest], 2))
    c = np.linspace(0.5, 0.9, size)
    u_bar, c_bar = told(X, c, steps)
    assert c_bar.shape == c.shape and u_bar.shape == X.shape
    if size == longest:  # (else the text shown is the one for the arguments of this call)
        assert told.source.count("saved.append") == 1, told.source
    directions = (np.cos(X), np.sin(c), 0)
    _, tangent = tl.jvp(fn, (X, c, steps), directions)
    np.testing.assert_allclose(u_bar @ directions[0] + c_bar @ directions[1], tangent, rtol=1e-12)
    one = tl.vjp(lambda u, c: fn(u, c, steps), X.copy(), c)[1](1.0)
    np.testing.assert_allclose(one[1], c_bar, rtol=1e-12)
