"""A backward function restores what its callers read back, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def sweep(a: Any, b: Any) -> None:
    """Linear, and more than a short helper."""
    b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
    a[1:-1] = 0.3 * (b[:-2] + b[1:-1] + b[2:])
    a[0] = b[1] * 2.0
    b[-1] = a[2] - b[3]


def bent(a: Any, b: Any) -> None:
    """Reads what it overwrites, but what it reads it has from its caller."""
    b[1:-1] = 0.3 * (a[:-2] + a[1:-1] ** 2 + a[2:])
    a[1:-1] = 0.3 * (b[:-2] * b[2:] + b[1:-1])
    a[0] = b[1] * 2.0
    b[-1] = a[2] - b[3] * a[1]


def both(a: Any, b: Any) -> None:
    sweep(a, b)
    sweep(b, a)
    sweep(a, b)


def in_a_loop(a: Any, b: Any) -> Any:
    for _ in range(3):
        sweep(a, b)
    return np.sum(a**2)


def helpers_of_helpers(a: Any, b: Any) -> Any:
    both(a, b)
    both(b, a)
    return np.sum(a**2) + b[2]


def one_reader(a: Any, b: Any) -> Any:
    z = a[2] * b[1]
    both(a, b)
    return np.sum(a**2) * z


def read_before(a: Any, b: Any) -> Any:
    y = np.sum(a**2)
    sweep(a, b)
    return np.sum(a * b) + y


def read_in_each_round(a: Any, b: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total += np.sum(a**3)
        sweep(a, b)
    return total + np.sum(b)


def two_callers(a: Any, b: Any) -> Any:
    c = np.sin(a)
    for _ in range(2):
        sweep(a, b)
        sweep(b, c)
    return np.sum(c**2) + np.sum(a * b)


def in_branches(a: Any, b: Any) -> Any:
    for k in range(4):
        if k % 2:
            bent(a, b)
        else:
            sweep(a, b)
    return np.sum(a**2)


def through_a_view(a: Any, b: Any) -> Any:
    v = a[1:4]
    sweep(a, b)
    w = v * 2.0
    sweep(b, a)
    return np.sum(w**2) + np.sum(v * a[2:5])


def of_a_view(a: Any, b: Any) -> Any:
    c = np.concatenate([a, b])
    m = c**2
    sweep(c[:6], c[6:])
    return np.sum(m * c)


def in_a_try(a: Any, b: Any) -> Any:
    y = np.sum(a**3)
    try:
        sweep(a, b)
        if a[0] > 100.0:
            raise ValueError
    except ValueError:
        a[1] = 0.0
    return np.sum(a**2) + y


PROGRAMS = (
    *(in_a_loop, helpers_of_helpers, one_reader, read_before, read_in_each_round, two_callers),
    *(in_branches, through_a_view, of_a_view, in_a_try),
)


def arguments() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    return rng.normal(size=6), rng.normal(size=6)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_derivatives(fn: Any) -> None:
    tl.check_grads(fn, arguments(), order=2)
    typed = tl.grad(fn, wrt=(0, 1), example=arguments())(*arguments())
    for got, want in zip(typed, tl.grad(fn, wrt=(0, 1))(*arguments()), strict=True):
        assert np.allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_pulling_back_twice(fn: Any) -> None:
    a, b = arguments()
    _, pull = tl.vjp(fn, a, b)
    for first, again in zip(pull(1.0), pull(1.0), strict=True):
        assert np.array_equal(first, again)
    assert np.array_equal(a, arguments()[0])


def test_what_nobody_reads_back_is_not_saved() -> None:
    """Of arrays: what is not known to be one is restored."""
    for fn in (in_a_loop, helpers_of_helpers):
        source = tl.grad(fn, wrt=(0, 1), example=arguments()).source
        assert "def sweep_bwd" in source and "_saved = " not in source.split("_grad(")[0]
    kept = tl.grad(read_before, wrt=(0, 1), example=arguments()).source
    assert "a_saved = a[1:-1].copy()" in kept and "b_saved" not in kept
