"""What a loop carries has the axes that all its values have: nothing is saved for its shape where
no axis of it can be of length 1, and a sum over the axis stays where one can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.ir.kind import Kind

RNG = np.random.default_rng(4)


def filtered(z: Any, F: Any, H: Any, x: Any, P: Any) -> Any:
    cost = 0.0
    for k in range(z.shape[0]):
        x = F @ x
        P = F @ P @ F.T
        e = z[k] - H @ x
        S = H @ P @ H.T + np.eye(2)
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ e
        P = P - K @ H @ P
        cost = cost + e @ S @ e
    return cost


def gated(x: Any, h: Any, W: Any, U: Any) -> Any:
    for t in range(x.shape[0]):
        z = 1 / (1 + np.exp(-(x[t] @ W + h @ U)))
        h = (1 - z) * np.tanh(h) + z * h
    return np.sum(h**2)


def grows_from_one_row(h: Any, b: Any, n: int) -> Any:
    for _ in range(n):
        h = np.tanh(h * b)
    return np.sum(h**2)


def chosen(x: Any, y: Any, b: Any) -> Any:
    row = x if np.sum(b) > 0 else y
    return np.sum(np.sin(row * b) * b)


def stepped(x: Any, dt: Any, noise: Any) -> Any:
    for k in range(noise.shape[0]):
        x = x - x * dt + np.sqrt(2 * dt) * noise[k]
    return np.mean(x**2)


PLAIN = {
    "filtered": (
        filtered,
        [*(RNG.normal(size=s) for s in ((2, 2), (3, 3), (2, 3), 3)), np.eye(3)],
    ),
    "gated": (gated, [RNG.normal(size=s) for s in ((3, 5, 2), (5, 4), (2, 4), (4, 4))]),
    "stepped": (stepped, [RNG.normal(size=5), 0.1, RNG.normal(size=(4, 5))]),
}
SUMMED = {
    "first of length one": (grows_from_one_row, [RNG.normal(size=1), RNG.normal(size=4), 3]),
    "a factor of length one": (grows_from_one_row, [RNG.normal(size=4), RNG.normal(size=1), 3]),
    "one of two of length one": (chosen, [np.ones(4), np.ones(1), RNG.normal(size=4) + 2]),
    "the other of length one": (chosen, [np.ones(4), np.ones(1), RNG.normal(size=4) - 2]),
    "one row of a batch": (
        gated,
        [RNG.normal(size=s) for s in ((3, 5, 2), (1, 4), (2, 4), (4, 4))],
    ),
}


def is_right(fn: Any, args: list[Any]) -> str:
    """Against differences, and reverse mode against forward mode; what was emitted."""
    wrt = tuple(n for n, a in enumerate(args) if not isinstance(a, int))
    df = tl.grad(fn, wrt=wrt)
    found = df(*args)
    tl.check_grads(fn, args, wrt=wrt)
    tangents = [RNG.normal(size=np.shape(a)) if n in wrt else None for n, a in enumerate(args)]
    _, forward = tl.jvp(fn, args, tangents)
    reverse = sum(np.vdot(g, tangents[n]) for g, n in zip(found, wrt, strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-9)
    return str(df.source)


@pytest.mark.parametrize("name", PLAIN)
def test_nothing_is_saved_for_its_shape(name: str) -> None:
    text = is_right(*PLAIN[name])
    assert "unbroadcast" not in text and "matmul_bar" not in text


@pytest.mark.parametrize("name", SUMMED)
def test_a_sum_over_an_axis_of_length_one_stays(name: str) -> None:
    is_right(*SUMMED[name])


def test_axes_of_two_values() -> None:
    def joined(a: Any, b: Any) -> Any:
        return Kind("array", shape=a).join(Kind("array", shape=b)).shape

    assert joined(("n!", 1), ("m!", 1)) == ("!", 1)
    assert joined(("n!",), (1,)) == (None,) and joined(("n",), ("m",)) == (None,)
    assert joined(("n!",), ("n!", 2)) is None and joined((3,), ("n!",)) == ("!",)
    # (a size that is not known to be another one every time is not that of another value)
    many = Kind("array", shape=("!",))
    assert not many.same_shape(many) and many.spans(many)
