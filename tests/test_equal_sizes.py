"""Axes that a call or an example shows to be equally long: no sums over axes that may have been
broadcast, and right gradients where another call broadcasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

RNG = np.random.default_rng(5)


def step(u: Any, c: Any) -> Any:
    v = u.copy()
    v[1:-1] = u[1:-1] + c[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
    return v


def diffused(u: Any, c: Any, count: int) -> Any:
    for _ in range(count):
        u = step(u, c)
    return np.sum(u**2)


def swept(a: Any, b: Any) -> None:
    for _ in range(3):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:]) * a[1:-1]
        a[1:-1] = 0.3 * (b[:-2] * b[1:-1] + b[2:])


def relaxed(a: Any, b: Any) -> Any:
    a, b = a.copy(), b.copy()
    swept(a, b)
    return np.sum(a * a) + np.sum(b**2)


def scaled(a: Any, b: Any) -> Any:
    return a * b


def by_two_patterns(x: Any, y: Any) -> Any:
    """A helper that is given arrays of one length, and arrays that broadcast."""
    z = scaled(x, y) + scaled(x, x[:1])
    return np.sum(np.sin(z)) + np.sum(scaled(y[1:-1], x[2:]))


def halved(x: Any, w: Any) -> Any:
    """Calls itself with shorter arrays until nothing is left to halve."""
    if len(x) < 3:
        return np.sum(x) * np.sum(w)
    return halved(x[1:-1] * w[1:-1], w[2:] * x[:-2]) + np.sum(x * x)


def exchanged(u: Any, v: Any) -> Any:
    """The lengths of two names are exchanged in a loop."""
    s = 0.0
    for _ in range(3):
        u, v = v, u
        s = s + np.sum(u[1:-1]) * np.sum(v[1:-1] ** 2)
        u = u * np.sum(v)
    return s


def shortened(u: Any, v: Any) -> Any:
    """One of two arrays that begin equally long gets shorter."""
    s = 0.0
    while len(u) > 1:
        u = u[1:] * 0.9
        s = s + np.sum(u[1:] * v[1:2]) + np.sum(u * v[: len(u)])
    return s


def matrices(a: Any, b: Any) -> Any:
    c = a[1:-1] @ b
    c[:, 1:-1] = c[:, 1:-1] * a[1:-1, :1]
    return np.sum(np.tanh(c))


def pair_of(a: Any, b: Any) -> Any:
    return a[1:], b[1:] * a[1:]


def of_pairs(a: Any, b: Any) -> Any:
    p, q = pair_of(a, b)
    return np.sum(p * q) + np.sum(p[1:] * b[2:])


def sizes(*lengths: Any) -> tuple[Any, ...]:
    return tuple(RNG.normal(size=n) if not isinstance(n, str) else int(n) for n in lengths)


CALLS: dict[Callable[..., Any], list[tuple[Any, ...]]] = {
    diffused: [(6, 6, "3"), (6, 3, "2"), (5, 5, "2"), (3, 3, "2"), (7, 3, "1")],
    relaxed: [(6, 6), (3, 3), (4, 4)],
    by_two_patterns: [(5, 5), (3, 3)],
    halved: [(7, 7), (5, 5)],
    exchanged: [(5, 5), (5, 7), (3, 6)],
    shortened: [(5, 5), (4, 7)],
    matrices: [((5, 5), (5, 5)), ((5, 4), (4, 5)), ((3, 4), (4, 3)), ((6, 4), (4, 3))],
    of_pairs: [(5, 5), (4, 4)],
}


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [0, -1])
def test_each_call_is_right_whatever_came_before(function: Any, first: int) -> None:
    """What the first call (or the example) shows of lengths is not taken to hold of the next."""
    calls = [sizes(*lengths) for lengths in CALLS[function]]
    wrt = tuple(i for i, a in enumerate(calls[0]) if isinstance(a, np.ndarray))
    plain = tl.grad(function, wrt=wrt)
    stated = tl.grad(function, wrt=wrt, example=calls[first])
    for args in (calls[first], *calls):
        check_grads(function, args)
        for found, again in zip(plain(*args), stated(*args), strict=True):
            np.testing.assert_allclose(found, again, rtol=1e-12)


@pytest.mark.parametrize("function", [diffused, relaxed, of_pairs])
def test_nothing_is_summed_where_the_call_shows_equal_lengths(function: Any) -> None:
    args = sizes(*CALLS[function][0])
    wrt = tuple(i for i, a in enumerate(args) if isinstance(a, np.ndarray))
    for derivative in (tl.grad(function, wrt=wrt), tl.grad(function, wrt=wrt, example=args)):
        derivative(*args)
        assert "unbroadcast" not in derivative.source


def test_the_text_says_which_axes_are_equally_long() -> None:
    derivative = tl.grad(lambda x, w, n, b: np.sum(np.tanh(x @ w + b)) * n, wrt=(0, 1, 3))
    derivative(np.ones((4, 3)), np.ones((3, 2)), 2, np.ones(2))
    assert "x: float[:, m], w: float[m, k], n: int, b: float[k]" in derivative.source
    derivative(np.ones((4, 3)), np.ones((3, 2)), 2, np.ones(1))
    assert "x: float[:, m], w: float[m, :], n: int, b: float[1]" in derivative.source


def test_an_example_of_objects_tells_their_ranks() -> None:
    class Layer:
        def __init__(self, w: Any, b: Any) -> None:
            self.w, self.b = w, b

        def __call__(self, x: Any) -> Any:
            return np.tanh(x @ self.w + self.b)

    def loss(layer: Any, x: Any) -> Any:
        return np.sum(layer(x) ** 2)

    x, layer = RNG.normal(size=(5, 3)), Layer(RNG.normal(size=(3, 2)), RNG.normal(size=2))
    derivative = tl.grad(loss, example=(layer, x))
    assert "unbroadcast" not in derivative.source and "matmul_bar" not in derivative.source
    for b in (layer.b, np.ones(1), 0.3, np.ones((5, 2))):
        other = Layer(layer.w, b)
        found = derivative(other, x)
        np.testing.assert_allclose(found.w, tl.grad(loss)(other, x).w)
        assert np.shape(found.b) == np.shape(b)
        h = np.tanh(x @ layer.w + b)
        np.testing.assert_allclose(np.sum(found.b), np.sum(2.0 * h * (1.0 - h * h)))
