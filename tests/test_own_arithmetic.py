"""Arrays and numbers of classes that compute in their own way: masked arrays, arrays with units."""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

A = np.array([0.4, 0.9, -0.3])
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])


class Doubling(np.ndarray):
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        plain = [np.asarray(arg) for arg in args]
        return 2.0 * getattr(ufunc, method)(*plain, **options)


class Squaring(float):
    def __mul__(self, other: Any) -> Any:
        return float(self) * other * other


class Labelled(np.ndarray):
    """An array that has a label and computes as any other does."""

    def __array_finalize__(self, obj: Any) -> None:
        self.label = getattr(obj, "label", "")

    def norm(self) -> Any:
        return np.sqrt(np.sum(np.asarray(self) ** 2))


class Step(enum.IntEnum):
    TWO = 2


class Settings:
    def __init__(self, weights: Any) -> None:
        self.weights = weights


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w: Any) -> None:
        self.w = w


class Hidden:
    def __init__(self, w: Any, plain: Any = 2.0) -> None:
        self._w, self.plain = w, plain

    @property
    def w(self) -> Any:
        return self._w

    def times(self, x: Any) -> Any:
        return x * self._w

    def get(self) -> Any:
        return self._w


DOUBLING, SQUARING = np.array([1.0, 2.0, 3.0]).view(Doubling), Squaring(2.0)
LABELLED = np.array([1.0, 2.0, 3.0]).view(Labelled)
SETTINGS, TABLE = Settings(MASKED), {"w": [MASKED]}
DEEP, SLOTTED, HIDDEN = {"a": [{"b": TABLE}]}, Slotted(MASKED), Hidden(MASKED)


def scaled(x: Any, w: Any) -> Any:
    return w * x


def scaled_in(x: Any, box: Any) -> Any:
    return np.sum(box.weights * x)


def given() -> Any:
    return MASKED


def by_default(x: Any, w: Any = MASKED) -> Any:
    return np.sum(w + x)


def updated(x: Any) -> Any:
    y = 2.0 * x
    y -= MASKED
    return np.sum(y)


def made_inside(x: Any) -> Any:
    m = np.ma.masked_where(LABELLED > 1.0, LABELLED)
    t = 2.0 * m
    return np.sum(t[:2] * x[:2])


def viewed(x: Any) -> Any:
    w = np.ones(3).view(Doubling)
    return np.sum(w * x)


REFUSED: list[Callable[..., Any]] = [
    lambda x: np.sum(MASKED + x),
    lambda x: np.sum(np.multiply(x, DOUBLING)),
    lambda x: np.sum(SETTINGS.weights * x),
    lambda x: np.sum(TABLE["w"][0] * x),
    lambda x: np.sum(scaled(x, MASKED)),
    lambda x: SQUARING * x[0],
    *(by_default, updated, made_inside, viewed),
    lambda x: scaled_in(x, SETTINGS),
    lambda x: scaled_in(x, Settings(MASKED)),
    lambda x: np.sum(DEEP["a"][0]["b"]["w"][0] + x),
    lambda x, key="w": np.sum(TABLE[key][0] + x),
    lambda x: sum(np.sum(w + x) for w in TABLE["w"]),
    lambda x: sum(np.sum(w[0] + x) for w in TABLE.values()),
    lambda x: np.sum(SLOTTED.w + x),
    lambda x: np.sum(HIDDEN.w + x),
    lambda x: np.sum(HIDDEN.times(x)),
    lambda x: np.sum(HIDDEN.get() + x),
    lambda x: np.sum(getattr(SETTINGS, "weights") + x),  # noqa: B009
    lambda x: np.sum(given() + x),
]


@pytest.mark.parametrize("f", REFUSED)
def test_what_computes_in_its_own_way_is_refused(f: Callable[..., Any]) -> None:
    """Gradients were those of an array or a number of NumPy's: 1 where an entry is masked out."""
    for derivative in (lambda: tl.grad(f)(A), lambda: tl.jvp(f, (A,), (A,))):
        with pytest.raises(tl.UnsupportedError, match="a class with operations of its own"):
            derivative()


@pytest.mark.parametrize("w", [MASKED, DOUBLING, [MASKED], {"w": (MASKED,)}, SQUARING])
def test_arguments_that_compute_in_their_own_way_are_refused(w: Any) -> None:
    with pytest.raises(tl.TangentlikeError, match="a class with operations of its own"):
        tl.grad(lambda x, w: np.sum(x * 2.0) + len(np.shape(w)))(A, w)


PLAIN: list[Callable[..., Any]] = [
    lambda x: np.sum(np.asarray(MASKED) * x) * MASKED.shape[0],
    lambda x: np.sum(MASKED.filled(0.0) * x**2) * MASKED.sum(),
    lambda x: np.sum(SETTINGS.weights.filled(0.5) * x[~MASKED.mask][0]),
    lambda x: np.sum(LABELLED * x**2) * LABELLED.norm() * Step.TWO,
    lambda x: np.sum(x**2) * np.sum(MASKED > 1.0) * float(SQUARING),
    lambda x: np.sum(Hidden(MASKED, x).plain ** 2) * HIDDEN.plain,
    lambda x: np.sum((x - np.ma.mean(MASKED)) ** 3) * np.ma.count(MASKED),
]


def test_arguments_that_hold_what_computes_in_its_own_way_are_refused() -> None:
    def beside(x: Any, box: Any) -> Any:
        return np.sum(box.w + x * x)

    gradient, box = tl.grad(beside), SimpleNamespace(w=A)
    np.testing.assert_allclose(gradient(A, box), 2.0 * A)
    box.w = MASKED
    for held in (box, Slotted(MASKED), Hidden(MASKED)):
        with pytest.raises(tl.TangentlikeError, match="a class with operations of its own"):
            gradient(A, held)


@pytest.mark.parametrize("f", PLAIN)
def test_what_is_plain_about_it_is_taken(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (A,), order=2)
