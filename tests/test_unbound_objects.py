"""Objects that carry derivatives, called or asked for a method where their class is not known.

Each was refused. What such an object is called by is looked up when the program runs, and the
object is one more argument of it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, -0.7, 1.2])


class Scale:
    def __init__(self, w):
        self.w = w

    def __call__(self, p):
        return np.sin(p) * self.w

    def area(self):
        return self.w**2

    def both(self, x, *, k=2.0):
        return x * self.w * k, self.w

    def moved(self, d):
        self.w = self.w + d
        return self.w


class Shift:
    def __init__(self, b):
        self.b = b

    def __call__(self, p):
        return p + self.b**2

    def area(self):
        return self.b

    def both(self, x, *, k=2.0):
        return x * self.b * k, self.b

    def moved(self, d):
        return self.b * d


class Stack:
    def __init__(self, parts):
        self.parts = list(parts)

    def __call__(self, p):
        for part in self.parts:
            p = part(p)
        return p


def one_of_two(x, s):
    q = [Scale(s), Shift(x)][int(s < 0.7)]
    return np.sum(q(x))


def parts_appended(x, s):
    q = Stack([])
    q.parts.append(Scale(s))
    q.parts.append(Shift(s))
    return np.sum(q(x))


def stacks_in_stacks(x, s):
    q = Stack([Stack([Scale(s)]), Shift(s), np.tanh])
    return np.sum(q(x))


def folded(x, s):
    return functools.reduce(lambda v, q: q(v), [Scale(s), np.sin, Shift(s)], x[0] * 2.0)


def methods(x, s):
    total = 0.0
    for q in [Scale(s), Shift(s * 2.0)]:
        a, b = q.both(x, k=s)
        total += q.area() * np.sum(a) * b
    return total


def objects_and_functions(x, s):
    steps = {"a": Scale(s), "b": np.tanh, "c": lambda z: z * 2.0}
    for name in steps:
        x = steps[name](x)
    return np.sum(x)


def objects_and_closures(x, s):
    for step in [lambda z: z * s, np.tanh, Scale(s)]:
        x = step(x)
    return np.sum(x)


def closures_of_each_other(x, s):
    f = lambda t: t * s  # noqa: E731
    for _ in range(2):
        f = (lambda g: lambda t: np.sin(g(t)))(f)
    return np.sum(f(x))


PROGRAMS = [
    one_of_two,
    parts_appended,
    stacks_in_stacks,
    folded,
    methods,
    objects_and_functions,
    objects_and_closures,
    closures_of_each_other,
]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("order", [1, 2])
def test_both_modes(f: Any, order: int) -> None:
    tl.check_grads(f, (X, 0.5), order=order)
    tl.check_grads(f, (X, 0.9), order=1)


def test_a_pullback_may_be_called_again() -> None:
    """What it pops of lists that objects hold is theirs again (it raised an IndexError)."""
    for f in (parts_appended, folded, methods):
        _, pullback = tl.vjp(f, X, 0.5)
        for first, second in zip(pullback(1.0), pullback(1.0), strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.thorough
@pytest.mark.parametrize("wrt", [0, 1])
def test_by_one_argument(wrt: int) -> None:
    for f in PROGRAMS:
        tl.check_grads(f, (X, 0.5), order=1, wrt=wrt)


def test_text_for_any_types() -> None:
    def by_method(model, x):
        return np.sum(model.both(x, k=0.5)[0]) + model.area()

    general: dict[str, Any] = {}
    exec(str(tl.grad(by_method, wrt=(0, 1)).source), general)
    for model in (Scale(0.5), Shift(0.3)):
        mirror, x_bar = general["by_method_grad"](model, X)
        expected, expected_bar = tl.grad(by_method, wrt=(0, 1))(model, X)
        np.testing.assert_allclose(x_bar, expected_bar, rtol=1e-12)
        for name, value in vars(expected).items():
            assert getattr(mirror, name) == pytest.approx(value, rel=1e-12)


WRITERS = {"f": lambda v: float(np.sum(v)), "o": Scale(0.5)}


def test_text_for_any_types_of_a_second_derivative() -> None:
    def asks_what_it_is(x, s):
        q = WRITERS["f"]
        k = int(q(x))
        x[0] = s * k
        return np.sum(x * x)

    for outer in ("forward", "reverse"):
        for inner in ("forward", "reverse"):
            first = tl.autodiff(asks_what_it_is, wrt=(0, 1), mode=inner)
            assert "unbound(q)" in str(tl.autodiff(first, wrt=(0, 1), mode=outer).source)
    tl.check_grads(asks_what_it_is, (X, 0.5), order=2)


@pytest.mark.thorough
def test_what_a_method_writes() -> None:
    def writes(x, s):
        q = Stack([])
        q.parts.append(Scale(s))
        total = 0.0
        for part in q.parts:
            total += part.moved(x[0]) * part.area()
        return total

    tl.check_grads(writes, (X, 0.5))
    tl.check_grads(writes, (X, 0.5), wrt=1, order=2)


@pytest.mark.thorough
def test_captured_values_are_refused() -> None:
    def in_turn(x, s, steps):
        for step in [Scale(s), *steps]:
            x = step(x)
        return np.sum(x)

    weights = np.array([0.1, 0.2, 0.3])
    tl.check_grads(lambda x, s: in_turn(x, s, [np.sin, np.abs]), (X, 0.9), order=2)
    with pytest.raises(tl.UnsupportedError, match="captures numbers or arrays"):
        tl.grad(in_turn, wrt=(0, 1))(X, 0.9, [lambda t: t * weights])


def test_a_function_that_a_parameter_gives_back() -> None:
    def called_result(x, make):
        f = make(x)
        return f(x)

    assert tl.grad(called_result)(2.0, lambda x: lambda t: t * x) == pytest.approx(4.0)
    value, tangent = tl.jvp(lambda x: called_result(x, lambda c: lambda t: t * c), (2.0,), (1.0,))
    assert (value, tangent) == (pytest.approx(4.0), pytest.approx(4.0))
