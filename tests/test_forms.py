"""Calls with equal forms share a derivative, and calls that differ in what counts do not."""

from __future__ import annotations

import math
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.pytree.layouts import forms
from tangentlike.runtime.standard import HOMES


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


@pytest.fixture
def numpy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before modules of the array API standard are loaded, for which calls look at their
    arguments."""
    for home in HOMES:
        monkeypatch.delitem(sys.modules, home, raising=False)


def calls_of_python(call: Any) -> int:
    """How many functions of Python and C are called."""
    count = 0

    def counted(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def first_two(values: Any, x: Any) -> Any:
    return values[0] * values[1] * x


@pytest.mark.usefixtures("numpy_alone")
@pytest.mark.parametrize("kind", [list, tuple, dict], ids=lambda k: k.__name__)
@pytest.mark.parametrize("wrt", ["values", "x"])
def test_no_function_is_called_for_each_item(kind: Any, wrt: str) -> None:
    """The overhead of a call grows by far less than a function call for each number."""

    def given(n: int) -> Any:
        numbers = [0.5 + i for i in range(n)]
        return dict(enumerate(numbers)) if kind is dict else kind(numbers)

    gradient = tl.grad(first_two, wrt=wrt)
    few, many = given(10), given(1000)
    for values in (few, many, few, many):
        found = gradient(values, 2.0)
        wanted = 1.5 if wrt == "values" else 0.75
        assert (found[0] / 2.0 if wrt == "values" else found) == wanted
    if wrt == "x" or kind in (list, tuple):
        more = calls_of_python(lambda: gradient(many, 2.0))
        assert more <= calls_of_python(lambda: gradient(few, 2.0)) + 5


@pytest.mark.usefixtures("numpy_alone")
def test_a_plain_call_takes_few_steps() -> None:
    gradient = tl.grad(lambda x: x * x)
    gradient(1.5)
    assert calls_of_python(lambda: gradient(1.5)) < 60


def test_what_is_refused_is_refused_in_every_call() -> None:
    """What is checked once for each types of arguments is checked for those that are new."""
    gradient = tl.grad(lambda x, n=3: np.sum(x) * n, wrt=(0,))
    other = tl.grad(lambda x, n=3: np.sum(x) * n, wrt=(0, 1))
    for _ in range(2):
        assert gradient(V, 2)[0].tolist() == [2.0] * 3
        gradient.source_for(3, 2)
        with pytest.raises(tl.TangentlikeError, match="int"):
            gradient(3, 2)
        other(V, 2.0)
        with pytest.raises(tl.TangentlikeError, match="int"):
            other(V)
        table: dict[str, Any] = {"w": 1.0}
        table["all"] = table
        with pytest.raises(tl.TangentlikeError, match="itself"):
            tl.grad(lambda t: t["w"] ** 2)(table)
        with pytest.raises(tl.TangentlikeError, match="no float"):
            tl.grad(lambda t: t["w"] ** 2)({"w": 1})
