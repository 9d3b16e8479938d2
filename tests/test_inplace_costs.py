"""What gradients of programs that write in place keep, counted in bytes and not in time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def smooth(a: Any, steps: int) -> Any:
    for _ in range(steps):
        a[1:-1] += 0.25 * (a[:-2] - 2.0 * a[1:-1] + a[2:])
    return np.sum(a * a)


def steepen(a: Any, steps: int) -> Any:
    for _ in range(steps):
        a[1:3] += 1e-3 * (a[:2] * a[2:4])
    return np.sum(a)


def scan(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = np.sin(y[i - 1]) * x[i]
    return np.sum(y)


def peak(fn: Callable[..., Any], *args: Any) -> int:
    """The most bytes in use during a second call, over what was in use before."""
    fn(*args)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    fn(*args)
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return most


def test_a_linear_stencil_keeps_no_copy() -> None:
    a = np.random.default_rng(0).uniform(0.0, 1.0, 2000)
    gradient = tl.grad(smooth, example=(a, 1))
    assert peak(gradient, a, 1000) < peak(gradient, a, 10) + a.nbytes


def test_a_nonlinear_stencil_keeps_the_slice() -> None:
    """Two entries a step, of an array of 20,000."""
    a = np.random.default_rng(0).uniform(0.0, 1.0, 20_000)
    gradient = tl.grad(steepen, example=(a, 1))
    assert peak(gradient, a, 1000) < 10 * a.nbytes


def test_single_elements_cost_their_number() -> None:
    """No statement of the reverse sweep touches or keeps the whole array in a round."""
    sizes = (500, 2000)
    gradient = tl.grad(scan, example=(np.ones(3),))
    small, large = (peak(gradient, np.linspace(0.5, 1.0, n)) for n in sizes)
    assert large < 6 * small
    body = gradient.source.partition("for i in reversed")[2].partition("return")[0]
    rounds = [line for line in body.splitlines() if line.startswith("        ")]
    assert rounds and not any(
        word in line for line in rounds for word in ("zeros", "copy", "_like")
    )


def filtered(a: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = x[n]
        if n >= 1:
            y[n] -= a[1] * y[n - 1]
    return np.sum(y * y)


def begun(a: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    for n in range(len(x)):
        if n == 0:
            y[n] = x[n]
        else:
            y[n] = a[1] * y[n - 1] + x[n] * y[n - 1]
    return np.sum(y * y)


def in_the_middle(a: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = x[n]
        if n > 1 and n < 4:
            y[n] -= a[1] * y[n - 2] ** 2
    return np.sum(y * y)


def around_the_end(a: Any, x: Any) -> Any:
    y = x.copy()
    for n in range(len(x)):
        if n <= 3:
            y[n] -= a[1] * y[n - 1] ** 2
        y[n] *= x[n]
    return np.sum(y * y)


def but_one(a: Any, x: Any) -> Any:
    y = x.copy()
    for n in range(len(x)):
        if n != 2:
            y[n] -= a[1] * y[n - 1] ** 2
        y[n] *= x[n]
    return np.sum(y * y)


@pytest.mark.parametrize(
    ("fn", "saves"),
    [
        (filtered, False),
        (begun, False),
        (in_the_middle, False),
        (around_the_end, True),
        (but_one, True),
    ],
)
def test_what_a_branch_asks_of_an_index(fn: Callable[..., Any], saves: bool) -> None:
    """Where `n >= 1`, `y[n - 1]` is no entry at the end, which a later round writes."""
    args = np.array([0.3, 0.7]), np.linspace(0.1, 1.0, 6)
    df = tl.grad(fn, wrt=(0, 1), example=args)
    assert (".append(" in df.source) == saves, df.source
    tl.check_grads(fn, args, wrt=(0, 1), order=2)
