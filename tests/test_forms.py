"""Calls with equal forms share a derivative, and calls that differ in what counts do not."""

from __future__ import annotations

import math
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.pytree.forms import forms


class Box:
    def __init__(self, w: Any, name: str = "box") -> None:
        self.w, self.name = w, name

    def area(self) -> Any:
        return np.sum(self.w * self.w)


class Doubled(Box):
    def area(self) -> Any:
        return 2.0 * np.sum(self.w**3)


@dataclass
class Pair:
    left: Any
    right: Any


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w: Any) -> None:
        self.w = w


V = np.array([0.5, -1.2, 0.8])

SAME = [
    ([1.0, 2.0], [3.0, 4.0]),
    ([1, 2, "a"], [5, 6, "b"]),
    ({"a": V, "b": (1.0, None)}, {"a": 2 * V, "b": (2.0, None)}),
    (Box(V), Box(V + 1)),
    (Pair([V], 2.0), Pair([V * 3], 1.0)),
    ((math.sin, np), (math.sin, np)),
]
OTHER = [
    ([1.0, 2.0], (1.0, 2.0)),
    ([1.0, 2.0], [1.0, 2.0, 3.0]),
    ([1.0, 2.0], [1.0, 2]),
    ([1.0, 2.0], [1.0, 2j]),
    ([1.0, V], [V, 1.0]),
    ([[1.0], 2.0], [[1.0, 2.0]]),
    ({"a": 1.0}, {"b": 1.0}),
    ({"a": 1.0}, [1.0]),
    (Box(V), Doubled(V)),
    (Box(V), Box(1.0)),
    (Box(V), Box(None)),
    (Pair(1.0, V), Pair(V, 1.0)),
    ((math.sin,), (math.cos,)),
    ((np,), (math,)),
    ([V], [V.astype(np.float32)]),
    ([V], [V[None]]),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_values_do_not_count(first: Any, second: Any) -> None:
    assert forms((first,), {}) is not None
    assert forms((first,), {}) == forms((second,), {})


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_types_and_structures_count(first: Any, second: Any) -> None:
    assert forms((first,), {}) is not None
    assert forms((first,), {}) != forms((second,), {})


def test_keywords_count() -> None:
    assert forms((), {"a": 1.0}) != forms((), {"b": 1.0})
    assert forms((1.0,), {}) != forms((), {"a": 1.0})


def test_what_is_not_described_has_no_form() -> None:
    around: list[Any] = []
    around.append(around)
    for value in (around, Slotted(V), {1, 2}, types.SimpleNamespace(f=Slotted(V))):
        assert forms((value,), {}) is None


def total(parts: Any, x: Any) -> Any:
    found = 0.0
    for part in parts:
        found = found + np.sum(part * x)
    return found


def measured(box: Any, x: Any) -> Any:
    return box.area() * np.sum(x)


def applied(fs: Any, x: Any) -> Any:
    return sum(np.sum(f(x) * (n + 1.0)) for n, f in enumerate(fs))


CALLS = [
    (total, [[1.0, V], [V, 1.0], (V, V), [np.eye(3), 2.0], [2, 3.0]]),
    (measured, [Box(V), Doubled(V), Box(0.7), Doubled(0.7)]),
    (applied, [(np.sin, np.cos), (np.cos, np.sin), (np.exp,)]),
]


@pytest.mark.parametrize(("program", "firsts"), CALLS, ids=lambda c: getattr(c, "__name__", ""))
def test_one_derivative_serves_calls_of_changing_types(program: Any, firsts: list[Any]) -> None:
    gradient = tl.grad(program, wrt="x")
    for first in (*firsts, *firsts[::-1], *firsts):
        expected = [
            (program(first, V + 1e-6 * e) - program(first, V - 1e-6 * e)) / 2e-6 for e in np.eye(3)
        ]
        assert np.allclose(gradient(first, V), expected, atol=1e-6), first
        assert np.allclose(gradient(first, x=V), expected, atol=1e-6), first


def test_gradients_of_many_arrays_have_memory_of_their_own() -> None:
    def loss(parts: Any) -> Any:
        return sum(np.sum(part) for part in parts)

    shared = np.ones(3)
    first, second, third = tl.grad(loss)([shared, shared, shared[:2]])
    first[0] = 5.0
    assert second.tolist() == [1.0, 1.0, 1.0]
    assert third.tolist() == [1.0, 1.0]
    assert shared.tolist() == [1.0, 1.0, 1.0]


def test_a_gradient_that_is_an_argument_is_a_copy() -> None:
    def loss(x: Any, parts: Any) -> Any:
        return np.sum(x * parts[1][0])

    weights = np.array([2.0, 3.0])
    for parts in ([1.0, [weights]], (None, [weights[:]])):
        found = tl.grad(loss)(np.ones(2), parts)
        found[0] = -1.0
        assert weights.tolist() == [2.0, 3.0]
