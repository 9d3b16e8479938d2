"""Functions of matrices whose eigenvalues, or singular values, are equal, also by rounding: what
asks for the derivative of their vectors is not finite, and never a wrong number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tangentlike as tl

RNG = np.random.default_rng(6)
W = RNG.normal(size=(3, 3))
TURN, _ = np.linalg.qr(RNG.normal(size=(3, 3)))


def half(x: Any) -> Any:
    return 0.5 * (x + x.T)


def root(x: Any, w: Any) -> Any:
    e, v = np.linalg.eigh(half(x))
    return np.sum(w * (v @ (np.sqrt(e)[:, None] * v.T)))


def root_by_scipy(x: Any, w: Any) -> Any:
    e, v = scipy.linalg.eigh(half(x))
    return np.sum(w * ((v * np.sqrt(e)) @ v.T))


def by_parts(x: Any, w: Any) -> Any:
    u, s, vh = np.linalg.svd(x)
    return np.sum(w * ((u * np.sqrt(s)) @ vh))


def polar(x: Any, w: Any) -> Any:
    u, _, vh = np.linalg.svd(x)
    return np.sum(w * (u @ vh))


def plane(x: Any, w: Any) -> Any:
    _, v = np.linalg.eigh(half(x))
    return np.sum(w * (v[:, 1:] @ v[:, 1:].T))


MATRICES = {
    "one": np.eye(3),
    "one, turned": (TURN * 1.5) @ TURN.T,
    "two equal": np.diag([1.0, 1.0, 2.0]),
    "two equal, turned": (TURN * np.array([1.0, 2.0, 2.0])) @ TURN.T,
}
FUNCTIONS = [root, root_by_scipy, by_parts, polar, plane]


def derivatives(fn: Any, x: Any, w: Any, v: Any) -> tuple[float, float, float]:
    with np.errstate(all="ignore"):
        reverse = np.sum(tl.grad(fn)(x, w) * v)
        _, forward = tl.jvp(fn, (x, w), (v, None))
    return reverse, forward, (fn(x + 1e-6 * v, w) - fn(x - 1e-6 * v, w)) / 2e-6


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_no_wrong_number(fn: Any, name: str) -> None:
    """In directions, and with weights, that are symmetric, antisymmetric and neither."""
    for v in (RNG.normal(size=(3, 3)), half(W), W - W.T):
        for w in (W, half(W)):
            *found, expected = derivatives(fn, MATRICES[name], w, v)
            for derivative in found:
                assert not np.isfinite(derivative) or abs(derivative - expected) < 1e-5


def values(x: Any, w: Any) -> Any:
    e, _ = np.linalg.eigh(half(x))
    _, s, _ = np.linalg.svd(x)
    return np.sum(np.sqrt(e)) + np.sum(s**2)


def of_the_other(x: Any, w: Any) -> Any:
    """The vector of the eigenvalue that is no other's."""
    _, v = np.linalg.eigh(half(x))
    return (w[0] @ v[:, 0]) ** 2


@pytest.mark.parametrize("fn", [values, of_the_other], ids=lambda fn: fn.__name__)
def test_what_asks_for_no_such_vector_is_right(fn: Any) -> None:
    x, v = MATRICES["two equal, turned"], RNG.normal(size=(3, 3))
    reverse, forward, expected = derivatives(fn, x, W, v)
    np.testing.assert_allclose([reverse, forward], expected, rtol=1e-7)


def test_small_singular_values_are_not_equal() -> None:
    x = (TURN * np.array([1.0, 1e-5, 1e-6])) @ np.linalg.qr(W)[0]
    assert np.all(np.isfinite(tl.grad(by_parts)(x, W)))
    assert np.isfinite(tl.jvp(by_parts, (x, W), (1e-7 * W, None))[1])
