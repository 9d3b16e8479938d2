"""`p += v; return p` in a helper: an array is written in place, a number is a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.5, 0.7, 0.9])
V = np.array([1.0, 2.0, -1.0])


def moved(n):
    n += 1.5
    return n


def scaled_both(x, n):
    x *= n
    n += 1
    return n


def constant_number(x, n):
    m = moved(n)
    return np.sum(x * m * n)


def counted(x, n):
    x *= 2.0
    m = scaled_both(x, n)
    return np.sum(x * m) * n


def entry(x):
    t = x[0]
    m = moved(t)
    return np.sum(x * m * t)


def total(x):
    t = np.sum(x)
    m = moved(t)
    return np.sum(x * m * t)


def item_of_a_list(x):
    ts = [x[0], x[1]]
    m = moved(ts[0])
    return np.sum(x * m * ts[0])


def in_a_loop(x):
    found = 0.0
    for v in x:
        m = moved(v)
        found += m * v
    return found


def array(x):
    t = x * 1.0
    m = moved(t)
    return np.sum(x * m * t)


def row(x):
    t = np.outer(x, x)[1]
    m = moved(t)
    m *= x
    return np.sum(x * m * t)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((constant_number, (n,)) for n in (2.0, 2, np.float64(2.0), np.array([1.0, 2.0, 3.0]))),
    *((counted, (n,)) for n in (2, 2.0)),
    *((fn, ()) for fn in (entry, total, item_of_a_list, in_a_loop, array, row)),
]


@pytest.mark.parametrize(("fn", "rest"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_both_modes(fn: Callable[..., Any], rest: tuple[Any, ...]) -> None:
    args = (X, *rest)
    value = agreement.call(fn, args)
    expected = agreement.slope(fn, args, [V, *(None for _ in rest)])
    found, gradient = tl.value_and_grad(fn)(*args)
    assert found == pytest.approx(value, rel=1e-12)
    assert gradient @ V == pytest.approx(expected, rel=1e-6)
    found, tangent = tl.jvp(fn, args, (V, *(None for _ in rest)))
    assert found == pytest.approx(value, rel=1e-12)
    assert tangent == pytest.approx(expected, rel=1e-6)


def in_a_dict(x):
    s, t = x.T, x[1:].T
    x[0] *= 2.0
    return {"u": s, "v": [t, x]}


def test_transposed_in_a_dict() -> None:
    tl.check_grads(in_a_dict, (np.arange(9.0).reshape(3, 3) / 9.0,))
