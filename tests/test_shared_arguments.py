"""Arguments that share memory, with each other or in themselves, and how they lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def raveled(a: Any) -> Any:
    r = a.ravel()
    r[0] = a[1, 1] * 2
    s = a.T.reshape(-1)
    s[1] *= a[0, 0]
    return np.sum(a * a) + np.sum(r)


def reshaped(a: Any) -> Any:
    r = a.reshape(-1)
    a[0, 0] = a[1, 1] * 2
    return np.sum(r) * np.sum(a)


def flattened(a: Any) -> Any:
    return np.asfortranarray(a).reshape(-1, order="F")


def by_helper(a: Any) -> Any:
    r = flattened(a)
    r[0] = a[1, 1] * a[0, 1]
    return np.sum(r * r) + np.sum(a * a)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "in rows": lambda b: b[:, :3],
    "transposed": lambda b: b[:3, :3].T,
    "by columns": lambda b: np.asfortranarray(b[:, :3]),
    "backwards": lambda b: b[::-1, 2::-1],
    "every other": lambda b: b[:, ::2],
    "contiguous": lambda b: np.ascontiguousarray(b[:, :3]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fn", [raveled, reshaped, by_helper])
def test_the_layout_of_an_argument_is_kept(fn: Callable[..., Any], layout: str) -> None:
    base = np.random.default_rng(0).normal(size=(3, 6))
    direction = np.random.default_rng(1).normal(size=(3, 6))
    lay, h = LAYOUTS[layout], 1e-6

    def moved(t: float) -> Any:
        return fn(lay(base + t * direction))

    slope = (moved(h) - moved(-h)) / (2 * h)
    args, before = (lay(base),), base.copy()
    for example in (None, args):
        gradient = tl.grad(fn, example=example)(*args)
        np.testing.assert_allclose(np.sum(gradient * lay(direction)), slope, rtol=1e-6)
    _, tangent = tl.jvp(fn, args, (lay(direction),))
    np.testing.assert_allclose(tangent, slope, rtol=1e-6)
    np.testing.assert_array_equal(base, before)


def writes_first(a: Any, b: Any) -> Any:
    a[:] = a * a
    return np.sum(b * b) + np.sum(a)


def writes_item(xs: Any) -> Any:
    xs[0][0] = xs[1][1] * 2.0
    return np.sum(xs[0] * xs[1])


def test_arguments_that_share_memory_are_refused_where_one_is_written() -> None:
    b = np.arange(1.0, 6.0)
    with pytest.raises(tl.TangentlikeError, match="shares memory with it"):
        tl.grad(writes_first)(b[:3], b[2:])
    with pytest.raises(tl.TangentlikeError, match="share memory"):
        tl.grad(writes_item)([b[:3], b[2:]])
    assert tl.grad(writes_first)(b[:2], b[2:4]).shape == (2,)
    assert len(tl.grad(writes_item)([b[:2], b[2:4]])) == 2


OUTER = np.full(3, 0.5)


def total_of_outer() -> Any:
    return np.sum(OUTER)


def writes_argument(x: Any, k: Any) -> Any:
    k[:] = 3.0
    return np.sum(x * x) * total_of_outer()


def writes_outer(x: Any, k: Any) -> Any:
    y = np.sum(k * x * x)
    OUTER[:] = 0.5
    return y * np.sum(k * x)


def test_arguments_apart_from_outer_arrays() -> None:
    """What only a helper reads counts, and in forward mode as well."""
    x, own = np.array([0.3, 0.7, 1.1]), np.full(3, 0.5)
    for fn in (writes_argument, writes_outer):
        tl.check_grads(fn, (x, own), wrt=0)
    with pytest.raises(tl.TangentlikeError, match="the outer `OUTER` shares memory with it"):
        tl.grad(writes_argument)(x, OUTER[::-1])
    with pytest.raises(tl.TangentlikeError, match="the outer `OUTER` shares memory with it"):
        tl.jvp(writes_argument, (x, OUTER), (x, np.zeros(3)))
    with pytest.raises(tl.TangentlikeError, match="its argument `k` shares memory with it"):
        tl.grad(writes_outer)(x, OUTER[:])
    _, tangent = tl.jvp(writes_outer, (x, OUTER), (x, np.zeros(3)))  # (restores nothing)
    assert np.allclose(tangent, tl.grad(writes_outer)(x, own) @ x)
