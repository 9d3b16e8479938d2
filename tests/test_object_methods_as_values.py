"""Methods of local objects, and functions that capture such objects, given to functions, solvers,
containers and fields: what they carry goes with them into whatever calls them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint, quad, solve_ivp
from scipy.optimize import brentq

import tangentlike as tl
from tests.sampled import one_in


class Spring:
    def __init__(self, k):
        self.k = k
        self.n = 0

    def force(self, x):
        return self.k * np.sin(x)

    @property
    def pull(self):
        return self.force

    def counted(self, x):
        self.n += 1
        return self.k * np.cos(x)

    def scaled(self, x, by=2.0):
        return self.k * x * by

    def motion(self, t, y):
        return -self.k * y

    def motion_first(self, y, t):
        return -self.k * y

    def excess(self, x):
        return x**3 - self.k

    def order(self, x):
        return -x * self.k

    def end(self, y):
        return solve_ivp(self.motion, (0.0, 1.0), y, rtol=1e-8, atol=1e-8).y[:, -1]

    def multiples(self, n):
        for i in range(n):
            yield self.k * i

    def named(self, name):
        return {"force": self.force, "counted": self.counted}[name]


class Stiff(Spring):
    def force(self, x):
        return super().force(x) * self.k

    @staticmethod
    def cube(x):
        return x**3


class State:
    def __init__(self, value):
        self.value = value
        self.n = 0

    def step(self, x):
        self.value = self.value * x
        self.n += 1
        return self.value


@dataclasses.dataclass
class Rate:
    k: float
    n: int = 0

    def grown(self, x):
        self.n += 1
        self.k = self.k * 1.5
        return self.k * x


class Holder:
    def __init__(self, f):
        self.f = f

    def run(self, x):
        return self.f(x)


class Simulation:
    def __init__(self, k, y):
        self.k = k
        self.y = y
        self.calls = 0
        self.log = []

    def rate(self, t, y):
        self.calls += 1
        return -self.k * y * (1.0 + t)

    def step(self, f, y, h):
        first = f(0.0, y)
        return y + 0.5 * h * (first + f(h, y + h * first))

    def run(self, n):
        for _ in range(n):
            self.y = self.step(self.rate, self.y, 0.1)
            self.log.append(self.y)
        return self.y


def apply(f, x):
    return f(x)


def twice(f, x):
    return apply(f, apply(f, x))


def by_name(f, x):
    return f(by=x, x=2.0 * x) + f(x)


def ignore(f, x):
    f(x)
    f(2.0 * x)
    return 0.0


def pull_of(s):
    return s.force


def total(f, n):
    return sum(f(n))


def repeated(f, n, x):
    return x if n == 0 else repeated(f, n - 1, f(x))


def method(x):
    return twice(Spring(x * 2.0).force, x)


def method_by_two_names(x):
    s = Spring(x * 2.0)
    f = s.force
    return apply(f, x) + f(x)


def captured(x):
    s = Spring(x * 2.0)
    return apply(lambda v: s.force(v) * s.k, x)


def captured_twice(x):
    s = Spring(x)

    def outer(v):
        def inner(w):
            return s.force(w) * v

        return apply(inner, v)

    return apply(outer, x)


def captured_as_default(x):
    s = Spring(x * 2.0)

    def g(v, s=s):
        return s.force(v)

    return apply(g, x)


def made_elsewhere(x):
    def make(s):
        return lambda v: s.force(v)

    return apply(make(Spring(x)), x)


def in_a_loop(x):
    s, total = Spring(x * 2.0), 0.0
    for i in range(3):
        total = total + apply(s.counted, x * i)
    return total * s.n


def object_bound_again(x):
    s, y = Spring(x), 1.0
    for i in range(3):
        f = s.force
        s = Spring(x * (i + 1.0))
        y = y + apply(f, x)
    return y


def object_changed(x):
    s = Spring(x)
    f = s.force
    s.k = s.k * x
    return apply(f, x)


def object_written(x):
    s = State(x)
    apply(s.step, x * 2.0)
    apply(s.step, x)
    return s.value * s.n


def result_ignored(x):
    s = State(x)
    ignore(s.step, x)
    return s.value


def dataclass_written(x):
    r, y = Rate(x), 0.0
    for _ in range(3):
        y = y + twice(r.grown, x)
    return y * r.n


def one_of_two(x):
    a, b = Rate(x), Spring(x * x)
    f = a.grown if x > 10.0 else b.force
    return twice(f, x)


def one_of_two_of_a_class(x):
    s = Spring(x)
    f = s.force if x > 10.0 else s.counted
    return apply(f, x)


def of_one_of_two_objects(x):
    s = Rate(x) if x > 10.0 else Stiff(x * x)
    f = s.grown if x > 10.0 else s.force
    return apply(f, x)


def of_each_object(x):
    y = 0.0
    for s in [Spring(x), Stiff(x * x)]:
        y = y + apply(s.force, x)
    return y


def static(x):
    s = Stiff(x)
    return apply(s.cube, x) * s.k


def in_a_list(x):
    s, y = Spring(x * 2.0), 0.0
    for f in [s.force, np.cos]:
        y = y + f(x)
    return y


def appended(x):
    s, fs = Spring(x), []
    fs.append(s.force)
    fs.append(s.excess)
    return fs[0](x) + fs[1](x * x)


def in_a_dict(x):
    s, y = Spring(x * 2.0), 0.0
    fs = {"a": s.force, "b": s.counted}
    for k in fs:
        y = y + fs[k](x)
    return y


def looked_up(x):
    return Spring(x).named("force")(x)


def in_a_field(x):
    return Holder(Spring(x * 2.0).force).run(x)


def captured_in_a_field(x):
    s = Spring(x * 2.0)
    return apply(Holder(lambda v: s.force(v) * 2.0).run, x)


def of_a_partial(x):
    return apply(functools.partial(Spring(x).scaled, by=x), x)


def by_keywords(x):
    return by_name(Spring(x).scaled, x)


def of_a_subclass(x):
    return apply(Stiff(x).force, x)


def generated(x):
    return total(Spring(x).multiples, 3)


def recursive(x):
    return repeated(Spring(x).force, 3, x)


def mapped(x):
    s = State(x)
    ys = list(map(s.step, [x, 2.0 * x]))
    return ys[0] * s.value


def as_a_key(x):
    return sorted([x, 2.0 * x, 3.0 * x], key=Spring(x).order)[0]


def reduced(x):
    return functools.reduce(Spring(x).scaled, [x, x * 2.0, x * 3.0])


def differentiated(x):
    return apply(tl.grad(Spring(x * 2.0).force), x)


def simulated(x):
    s = Simulation(x, np.array([x, 2.0 * x]))
    return np.sum(s.run(4)) + np.sum(s.log[1]) + s.calls


def solved(x):
    return np.sum(Spring(x * 2.0).end(np.array([1.0, 2.0]) * x))


def solved_by_odeint(x):
    times = np.array([0.0, 0.5, 1.0])
    return odeint(Spring(x).motion_first, np.array([x]), times)[-1, 0]


def root(x):
    return brentq(Spring(x * 2.0).excess, 0.0, 5.0)


def solved_through_a_lambda(x):
    s, y = Spring(x), np.array([x])
    return solve_ivp(lambda t, y: s.motion(t, y) * t, (0.0, 1.0), y, rtol=1e-8).y[0, -1]


def given_back(x):
    return pull_of(Spring(x))(x)


def of_a_property(x):
    return apply(Spring(x).pull, x)


def integral(x):
    return quad(Spring(x * 2.0).force, 0.0, 1.0)[0]


class Node:
    def __init__(self, *parts):
        self.parts = parts


class Leaf(Node):
    pass


class Product(Node):
    pass


class Other(Node):
    pass


class Visitor:
    def __init__(self, k):
        self.k, self.total = k, 0.0

    def visit(self, node):
        return getattr(self, "visit_" + node.__class__.__name__)(node)

    def visit_Leaf(self, node):
        return node.parts[0] * self.k

    def visit_Product(self, node):
        a, b = node.parts
        return self.visit(a) * self.visit(b)

    def chosen(self, node):
        visitor = getattr(self, f"visit_{type(node).__name__}", self.other)
        return visitor(node) + 2.0 * visitor(node)

    def other(self, node):
        return self.k**2

    def add(self, x):
        self.total = self.total + x

    def scale(self, x):
        self.total *= x

    def run(self, program):
        for name, value in program:
            getattr(self, name)(value)
        return self.total


def visited(x):
    return Visitor(x).visit(Product(Leaf(x), Product(Leaf(2.0), Leaf(x))))


def chosen_by_name(x):
    visitor = Visitor(x)
    return visitor.chosen(Leaf(x)) * visitor.chosen(Other(x))


def run_by_names(x):
    return Visitor(x).run([("add", x), ("scale", x**2), ("add", 3.0 * x), ("scale", x)])


def method_named_by_an_argument(x):
    return sum(named(Spring(x), name, x) for name in ("force", "scaled"))


def named(spring, name, x):
    return getattr(spring, name)(x)


class Signal:
    def __init__(self, v):
        self.v, self.f = v, np.sin

    def scale(self, k):
        return Signal(self.v * k)

    def shift(self, k, *more):
        return Signal(self.v + k * sum(more))

    def put(self, k):
        self.v[0] = k

    def pipe(self, *steps):
        made = self
        for name, *args in steps:
            made = getattr(made, name)(*args)
        return made


def piped(x):
    made = Signal(np.array([x, 1.0])).pipe(("scale", x), ("shift", x, 2.0, x), ("scale", x))
    return np.sum(made.v**2)


def named_of_arrays(x):
    row, total = np.array([x, 2.0 * x, 0.5]), 0.0
    for name, args in (("sum", ()), ("clip", (0.0, 1.0)), ("reshape", (3, 1))):
        total += np.sum(getattr(row * x, name)(*args) ** 2)
    return total


def named_of_objects_in_a_dict(x):
    held = {"a": Signal(np.array([x, 1.0])), "b": Signal(np.array([1.0, x]))}
    for key, name in (("a", "put"), ("b", "put"), ("a", "put")):
        getattr(held[key], name)(x * held[key].v[1])
    return np.sum(held["a"].v * held["b"].v) + np.sum(getattr(held["a"], "f")(x))  # noqa: B009


PROGRAMS = (
    *(piped, named_of_arrays, named_of_objects_in_a_dict),
    *(visited, chosen_by_name, run_by_names, method_named_by_an_argument),
    *(method, captured, object_written, in_a_list, in_a_field, root, simulated, one_of_two),
    *(in_a_loop, captured_in_a_field, solved, in_a_dict, object_bound_again, integral),
    *(method_by_two_names, captured_twice, captured_as_default, made_elsewhere, object_changed),
    *(result_ignored, dataclass_written, one_of_two_of_a_class, appended, looked_up, of_a_partial),
    *(by_keywords, of_a_subclass, generated, recursive, mapped, as_a_key, reduced),
    *(differentiated, solved_by_odeint, of_a_property, given_back, solved_through_a_lambda),
    *(of_one_of_two_objects, of_each_object, static),
)


def slope(f: Callable[[float], Any], x: float) -> float:
    return float((f(x + 1e-5) - f(x - 1e-5)) / 2e-5)


@pytest.mark.parametrize("f", one_in(2, PROGRAMS))
def test_both_modes_agree_with_differences(f: Callable[[float], Any]) -> None:
    gradient = tl.grad(f)(0.7)
    _, tangent = tl.jvp(f, (0.7,), (1.0,))
    assert gradient == pytest.approx(tangent, rel=1e-9)
    assert gradient == pytest.approx(slope(f, 0.7), rel=2e-5)


@pytest.mark.parametrize(
    "f",
    one_in(3, [f for f in PROGRAMS if f not in (solved_by_odeint, solved_through_a_lambda)][::3]),
)
def test_second_derivatives(f: Callable[[float], Any]) -> None:
    first = tl.grad(f)
    assert tl.grad(first)(0.7) == pytest.approx(slope(first, 0.7), rel=1e-4, abs=1e-7)


def test_a_method_that_no_derivative_goes_through_is_printed_as_it_was_written() -> None:
    def f(x: float) -> float:
        s = Spring(2.0)
        return x * solve_ivp(s.motion, (0.0, 1.0), np.ones(1)).y[0, -1]

    df = tl.grad(f)
    assert df(0.7) == pytest.approx(f(1.0))
    assert "s.motion" in df.source and "partial" not in df.source


class Overridden(Spring):
    def __init__(self, k, force=None):
        super().__init__(k)
        if force is not None:
            self.force = force


def hidden_by_its_class(x):
    return Overridden(x, np.cos).force(x)


def hidden_here(x):
    s = Spring(x)
    s.force = np.cos
    return s.force(x)


def hidden_and_handed_on(x):
    s = Spring(x)
    s.force = np.cos
    return apply(s.force, x)


def given_with_a_hidden_method(x, s=Overridden(3.0, np.cos)):  # noqa: B008
    return s.force(x)


def hidden_and_named(x):
    return named(Overridden(x, np.cos), "force", x)


@pytest.mark.parametrize("f", [hidden_by_its_class, given_with_a_hidden_method, hidden_and_named])
def test_an_attribute_that_the_class_puts_in_place_of_a_method(f: Callable[[float], Any]) -> None:
    tl.check_grads(f, 0.7, order=1 if f is hidden_and_named else 2)


@pytest.mark.parametrize("f", [hidden_here, hidden_and_handed_on])
def test_an_attribute_that_hides_a_method_is_refused(f: Callable[[float], Any]) -> None:
    for derivative in (lambda: tl.grad(f)(0.7), lambda: tl.jvp(f, (0.7,), (1.0,))):
        with pytest.raises(tl.UnsupportedError, match="hides the method of its class"):
            derivative()


@pytest.mark.thorough
def test_a_name_that_no_method_has_is_an_error_as_before() -> None:
    def f(x: float) -> Any:
        return named(Spring(x), "absent", x)

    for derivative in (lambda: tl.grad(f)(0.7), lambda: tl.jvp(f, (0.7,), (1.0,))):
        with pytest.raises((AttributeError, tl.UnsupportedError), match="absent"):
            derivative()


def test_a_method_that_its_class_may_hide_but_does_not() -> None:
    def f(x: float) -> Any:
        return Overridden(x).force(x)

    assert tl.grad(f)(0.7) == pytest.approx(slope(f, 0.7))
