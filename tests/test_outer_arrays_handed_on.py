"""Arrays of the module that are handed on to what may write them: that gets a view which NumPy does
not let it write, and a write is refused when it happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

A = np.array([0.3, 0.4, 0.9])
HALF = A[:2]  # (so that A can't be an argument, which would be a copy)
B = np.array([0.2, 0.5, -0.4])
X = np.array([0.5, 1.2, 0.7])
Y = np.array([0.1, 0.8, -0.7])


class Plain:
    kind = np.ndarray

    def ones(self, n: int, like: Any) -> Any:
        return np.ones(n, dtype=like.dtype)

    def itself(self, n: int, like: Any) -> Any:
        return like


class Other(Plain):
    kind = list


MADE: dict[type, Any] = {}


def instance(cls: Any) -> Any:
    if cls not in MADE:
        MADE[cls] = cls()
    return MADE[cls]


def backend(*arrays: Any) -> Any:
    """What makes arrays like these, by their classes: which one that is shows when it runs."""
    for cls in (Other, Plain):
        if isinstance(arrays[0], instance(cls).kind):
            return instance(cls)
    raise TypeError(arrays)


def scaled(a: Any, x: Any) -> Any:
    v = backend(a, x).ones(len(a), a)
    v /= np.sum(a * x)
    return v * a


def written(a: Any, x: Any) -> Any:
    v = backend(a, x).itself(len(a), a)
    v /= np.sum(x)
    return v


def by_a_backend(x: Any) -> Any:
    return np.sum(scaled(A, x) * x**2)


def twice(x: Any) -> Any:
    u = scaled(A, x)
    return np.sum(scaled(B, u * x) * x) + np.sum(A * x)


def in_a_helper(x: Any) -> Any:
    return np.sum(by_its_own(x) ** 2)


def by_its_own(x: Any) -> Any:
    return scaled(x=x * x, a=A)


def in_a_loop(x: Any) -> Any:
    for _ in range(3):
        x = x * scaled(A, x)
    return np.sum(x)


def in_place(a: Any, x: Any, inplace: Any = False) -> Any:
    if inplace:
        a *= x
    else:
        a = a * x
    return a**2


def in_a_branch(x: Any) -> Any:
    return np.sum(in_place(A, x, x[0] > 3.0)) + np.sum(HALF * x[1:])


class Filter:
    """A Kalman filter of the textbooks."""

    def __init__(self, n: int) -> None:
        self.state, self.gain, self.decay = np.zeros(n), np.eye(n), np.ones(n)

    def predict(self) -> None:
        self.state = self.decay * self.state
        self.gain = self.gain * self.decay

    def update(self, z: Any) -> None:
        self.state += self.gain @ (z - self.state)


def in_a_field(x: Any) -> Any:
    f = Filter(3)
    f.decay = A
    for k in range(2):
        f.predict()
        f.update(x * (k + 1.0))
    return np.sum(f.state**2)


def where_it_writes(x: Any) -> Any:
    return np.sum(written(A, x) ** 2)


def in_a_branch_that_is_taken(x: Any) -> Any:
    return np.sum(in_place(A, x, x[0] < 3.0)) + np.sum(HALF * x[1:])


RIGHT = [by_a_backend, twice, in_a_helper, in_a_loop, in_a_branch, in_a_field]
REFUSED = [where_it_writes, in_a_branch_that_is_taken]


@pytest.mark.parametrize("fn", RIGHT)
def test_derivatives(fn: Any) -> None:
    tl.check_grads(fn, (X,))
    assert np.allclose(np.vdot(tl.grad(fn)(X), Y), tl.jvp(fn, (X,), (Y,))[1])


@pytest.mark.thorough
def test_second_order() -> None:
    tl.check_grads(in_a_branch, (X,), order=2)
    tl.check_grads(in_a_field, (X,), order=2)


@pytest.mark.parametrize("fn", REFUSED)
@pytest.mark.parametrize("derivative", [lambda f: tl.grad(f)(X), lambda f: tl.jvp(f, (X,), (Y,))])
def test_what_is_written_is_refused(fn: Any, derivative: Any) -> None:
    before = A.copy()
    with pytest.raises(tl.UnsupportedError, match="outside") as refused:
        derivative(fn)
    assert refused.value.place is not None and fn.__name__ not in str(refused.value.place.text)
    assert agreement.same_bits(A, before)


def test_what_is_written_without_derivatives_stays_so() -> None:
    counts = np.zeros(3)

    def counted(x: Any) -> Any:
        return np.sum(x**2) + 0.0 * count(counts, 1.0)

    def count(a: Any, k: Any) -> Any:
        v = backend(a).itself(3, a)
        v += k
        return len(v)

    assert np.allclose(tl.jvp(counted, (X,), (Y,))[1], 2.0 * X @ Y)
    assert counts[0] == 1.0


def test_the_text_says_that_it_is_only_read() -> None:
    derivative = tl.grad(by_a_backend)
    derivative(X)
    assert "scaled_fwd(read_only(A), x)" in derivative.source
