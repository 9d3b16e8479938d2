"""The adjoint of `x[:, None]` is that of the entries, without the axis: no zeros are added to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

RNG = np.random.default_rng(8)
X, Y, V = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2)), RNG.normal(size=3)


def pairs(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum(np.sqrt(np.sum(d**2, axis=2) + 0.1))


def outer(x: Any, v: Any) -> Any:
    return np.sum(np.sin(v[:, np.newaxis] * x[..., None, 0]) * x[..., None][:, :, 0].T[:, :, None])


def only_read(x: Any) -> Any:
    return np.sum(x[None]) + np.sum(x[:, :] ** 2)


def written(x: Any, v: Any) -> Any:
    y = v[:, None]
    x = x.copy()
    rows = x[None, :, :]
    rows[0] *= y
    y = y * 2.0
    return np.sum(x * y) + np.sum(v[:, None] ** 3)


def added_in_a_loop(x: Any, v: Any) -> Any:
    for _ in range(2):
        v = v + np.sum(x[:, :, None] * v[:, None, None], axis=(1, 2)) * 0.1
        x = x * v[:, None]
    return np.sum(x)


def one_of_two(x: Any, v: Any) -> Any:
    wide = v[:, None] if np.sum(v) > 100.0 else x[:, :1]
    return np.sum(wide * x) + np.sum(wide[:, 0] * v)


def masked(x: Any) -> Any:
    r = np.abs(x)
    root = np.where(r[:, :, None] > 0.5, np.sqrt(r[:, :, None] - 0.5 * (r[:, :, None] > 0.5)), 0.0)
    return np.sum(root)


def sorted_columns(x: Any, k: Any) -> Any:
    return np.sum(x[k][:, None] * x[:, None, k])


def sums_of_products(x: Any, v: Any, s: Any) -> Any:
    rows = np.sum(x * v[:, None], axis=1) + np.sum(v[:, None] / (2.0 + x**2), axis=1)
    columns = np.sum(x * s * v[:, None], axis=0, keepdims=True)
    return np.sum(rows * v) + np.sum(columns * x) + np.sum(s * x) + np.sum(np.hypot(x, v[:, None]))


def sums_in_a_loop(x: Any, v: Any, s: Any) -> Any:
    for _ in range(2):
        d = x[:, None, :] - x[None, :, :]
        weights = v[None, :] / (np.sum(d**2, axis=2) + s)
        x = x - 0.1 * np.sum(d * weights[:, :, None], axis=1)
        v = v + np.sum(x * v[:, None], axis=1)
    return np.sum(x * x)


def sums_of_what_is_read_again(x: Any, v: Any) -> Any:
    y = x * v[:, None]
    z = np.sum(y, axis=1)
    y[0] = 2.0
    return np.sum(z * v) + np.sum(y * x) + np.mean(np.mean(x * v[:, None], axis=1) * v)


def sums_of_new_axes(x: Any, v: Any) -> Any:
    rows = np.sum(x[:, :, None], axis=(1, 2)) * v + np.sum(x[None] * 1.0, axis=(0, 2)) * v**2
    return np.sum(rows) + np.sum(np.sum(v[:, None], axis=1) * v) + np.sum(x[..., None])


def relax(a: Any, b: Any) -> None:
    for _ in range(2):
        b[1:-1] = 0.5 * a[1:-1] * a[1:-1]
        a[1:-1] = 0.2 * (b[2:3] + a[:1])


def stored_wider(x: Any, v: Any) -> Any:
    a, b = v * 1.0, x * 2.0
    relax(a, b)
    return np.sum(a**3) + np.sum(b**2)


PROGRAMS = {
    "one entry stored in several": (stored_wider, (RNG.normal(size=5), V)),
    "entries stored in as many": (stored_wider, (RNG.normal(size=3), V)),
    "sums of new axes": (sums_of_new_axes, (X, V)),
    "sums of products": (sums_of_products, (X, V, np.array(0.7))),
    "sums of products with one row": (sums_of_products, (X[:1], V[:1], np.array(0.7))),
    "sums of products with rows of one": (sums_of_products, (X, V[:1], np.array(0.7))),
    "sums in a loop": (sums_in_a_loop, (X, V, np.array(0.7))),
    "sums of what is read again": (sums_of_what_is_read_again, (X, V)),
    "pairs": (pairs, (X,)),
    "outer": (outer, (X, V)),
    "only read": (only_read, (X,)),
    "written": (written, (X, V)),
    "added in a loop": (added_in_a_loop, (X, V)),
    "one of two": (one_of_two, (X, V)),
    "masked": (masked, (X,)),
    "one row": (pairs, (X[:1],)),
    "places": (sorted_columns, (RNG.normal(size=(2, 2)), np.array([1, 0]))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    fn, args = PROGRAMS[name]
    wrt = tuple(n for n, a in enumerate(args) if a.dtype == float)
    tl.check_grads(fn, args, wrt=wrt)
    found = tl.grad(fn, wrt=wrt)(*args)
    tangents = [RNG.normal(size=a.shape) if n in wrt else None for n, a in enumerate(args)]
    _, forward = tl.jvp(fn, args, tangents)
    reverse = sum(np.vdot(g, tangents[n]) for g, n in zip(found, wrt, strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9)


def test_second_order() -> None:
    tl.check_grads(pairs, (X,), order=2)


def test_newaxis_is_none() -> None:
    def named(v: Any) -> Any:
        return np.sum(np.sin(v[:, np.newaxis] - v[np.newaxis]))

    assert "add_at(" not in tl.grad(named).source
    known = tl.grad(named, example=(V,)).source
    assert "np.sum(difference_bar, axis=1) - np.sum(difference_bar, axis=0)" in known


def test_no_zeros_are_added_to() -> None:
    gradient = tl.grad(pairs)
    gradient(X)
    assert "zeros" not in gradient.source and "keepdims" not in gradient.source
    assert "np.where" not in gradient.source  # (every entry is used: nothing is masked)


def test_nothing_is_saved_for_a_sum_over_an_axis() -> None:
    gradient = tl.grad(sums_in_a_loop)
    gradient(X, V, np.array(0.7))
    assert "d * weights[:, :, None]" in gradient.source and "full_like" not in gradient.source


def test_what_the_adjoint_is_handed_is_not_shared() -> None:
    def both(x: Any) -> Any:
        y = x[None, :]
        z = x * 1.0
        return y, z

    seed = np.ones((1, 3))
    _, pullback = tl.vjp(both, V)
    pullback((seed, np.ones(3)))
    assert (seed == 1.0).all()


def test_sizes_come_from_what_is_there() -> None:
    def loss(x: Any, y: Any, b: float) -> Any:
        return np.mean(np.sin(x) * y * b)

    gradient = tl.grad(loss, wrt=(0, 2))
    gradient(X, Y, 0.5)
    assert ").size" not in gradient.source and "np.size(" not in gradient.source
    tl.check_grads(loss, (X, Y, 0.5), wrt=(0, 2))
    tl.check_grads(loss, (X, Y[:1], 0.5), wrt=(0, 2))
    tl.check_grads(loss, (X[:1], Y, 0.5), wrt=(0, 2))
