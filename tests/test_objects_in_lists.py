"""Objects with arithmetic of their own as items of lists and dicts: what a loop puts there is made
of what it takes from there, and `+=` of an item calls its methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


class Vec:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, s: Any) -> Vec:
        return Vec(self.x * s, self.y * s)

    def squared(self) -> Any:
        return self.x**2 + self.y**2


class Total:
    """It has no other operator, and its `+=` changes it for all who hold it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __iadd__(self, other: Any) -> Total:
        self.value = self.value + other
        return self


def path(x: Any, v: Any, n: int) -> Any:
    points = []
    points.append(Vec(x, 1.0))
    for k in range(n):
        points.append(points[-1] + Vec(v, x * k))
    return points[-1].squared() + points[1].x * v


def forces(x: Any, v: Any, n: int) -> Any:
    found = [Vec(0.0, 0.0) for _ in range(2)]
    p = Vec(x, 1.0)
    for k in range(n):
        for i in range(2):
            found[i] += p * (v * i)
        found[0] = found[0] + p * k
    return found[0].squared() + 2.0 * found[1].squared()


def by_key(x: Any, v: Any, n: int) -> Any:
    found = {"a": Vec(x, v), "b": Vec(v, v)}
    for _ in range(n):
        found["a"] += found["b"]
        found["b"] *= x
    return found["a"].squared()


def totals(x: Any, v: Any, n: int) -> Any:
    found = [Total(0.0), Total(x)]
    first = found[0]
    for k in range(n):
        found[k % 2] += x * v
    return first.value * found[1].value


@pytest.mark.parametrize("f", [path, forces, by_key, totals])
def test_items_are_objects_of_their_class(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (0.7, 0.4, 3), wrt=(0, 1))
    assert "pair_of" not in tl.grad(f, example=(0.7, 0.4, 3)).source


def test_totals_of_a_class_that_only_the_run_knows_are_refused() -> None:
    def f(x: Any, kind: Any = Total) -> Any:
        total = kind(x[0])
        total += x[1]
        return total.value**2

    with pytest.raises(tl.UnsupportedError, match="an object is passed where the derivative"):
        tl.grad(f)(np.array([0.3, 0.5]))
