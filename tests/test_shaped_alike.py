"""A value of which only the shape is asked is not saved where another one has that shape, and
where the other one may have changed its shape in between, it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

RNG = np.random.default_rng(8)
A, B, M = RNG.random(3), RNG.random(3), RNG.random((4, 3))


def in_containers(x: Any, y: Any) -> Any:
    parts = [(x, (x * y, [y])), (2.0, (x, [x]))]
    s = 0.0
    for w, (b, (c,)) in parts:
        s = np.tanh(w * s + b * c)
    return np.sum(s)


def carried(x: Any, y: Any, rate: Any) -> Any:
    """The operands of sums are rebound where the sums are, or before."""
    mean, before, out = 0.0, 1.0, 0.0
    for v in x:
        a = rate * v
        b = (1.0 - rate) * mean
        mean = a + b
        c = before * 2.0
        before = mean + c
        out = out + np.sum(before + -c * y)
    return out


def widened(x: Any, y: Any) -> Any:
    """The operand gets an axis more before its double is read."""
    s, u = 0.0, x
    for i in range(3):
        t = 2.0 * u
        w = t / 3.0
        u = u[:, None] if i == 0 else u
        for _ in range(2):
            s = s + np.sum(w + y)
            s = s - np.sum(w - u)
    return s


def summed(x: Any, y: Any) -> Any:
    t = 2.0 * x
    x = np.sum(x)
    w = t - y
    return np.sum(w * w) * x


def tree(v: Any, q: Any) -> Any:
    while len(v) > 1:
        v = np.exp(-q) * (q * v[1:] + (1.0 - q) * v[:-1])
    return v[0] * np.sum(v)


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((in_containers, args) for args in ((0.3, 0.4), (A, B), (A, 0.2), (0.2, A))),
    *((carried, args) for args in ((M, A, 0.3), (M, 0.7, 0.3), (B, 0.7, 0.3), (B, A, 0.3))),
    *((carried, args) for args in ((B, A, A), (M, M[:2], B))),
    *((widened, args) for args in ((A, B), (A, M[:1]), (A, 0.3))),
    *((summed, args) for args in ((A, 0.3), (A, M), (0.3, M))),
    *((tree, args) for args in ((A, 0.4), (RNG.random(5), np.array(0.3)))),
]


NAMES = [f"{f.__name__}{i}" for i, (f, _) in enumerate(CALLS)]


@pytest.mark.parametrize(("f", "args"), CALLS, ids=NAMES)
def test_gradients(f: Any, args: tuple[Any, ...]) -> None:
    check_grads(f, args, order=2)
    wrt = tuple(range(len(args)))
    np.testing.assert_allclose(
        np.concatenate([np.ravel(b) for b in tl.grad(f, wrt=wrt, example=args)(*args)]),
        np.concatenate([np.ravel(b) for b in tl.vjp(f, *args)[1](1.0)]),
    )


def test_products_are_not_saved_for_their_shape() -> None:
    gradient = tl.grad(tree, wrt=(0, 1))
    gradient(A, 0.4)
    assert "saved.append((total, v))" in gradient.source
