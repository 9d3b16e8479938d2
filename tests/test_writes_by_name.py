"""`setattr` and `operator.setitem` with constants: the assignments that they are."""

from __future__ import annotations

import dataclasses
import operator
from types import SimpleNamespace

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 1.2, 0.7])


class Layer:
    def __init__(self, w):
        setattr(self, "w", w * 2.0)  # noqa: B010
        setattr(self, "power", 3)  # noqa: B010

    def scale(self, k):
        setattr(self, "w", self.w * k)  # noqa: B010


def attributes(x):
    layer = Layer(x)
    layer.scale(x[0])
    return np.sum(layer.w**layer.power)


def attribute_of_a_namespace(x):
    q = SimpleNamespace()
    setattr(q, "a", x * 2.0)  # noqa: B010
    return np.sum(q.a**2)


def items(x):
    d, y = {}, x * 1.0
    operator.setitem(d, "a", x * 2.0)
    operator.setitem(y, 0, x[1] ** 2)
    return np.sum(d["a"] * y)


def attributes_by_names_in_a_loop(x):
    p, g = SimpleNamespace(w=x * 2.0, b=x**2), SimpleNamespace(w=x, b=x * 3.0)
    for name in ("w", "b"):
        w = getattr(p, name)
        setattr(p, name, w - 0.1 * getattr(g, name))
    return np.sum(p.w * p.b) * len(name)


def names_beside_values(x):
    p = SimpleNamespace(a=x, b=x * 2.0)
    s = 0.0
    for name, k in (("a", x[0]), ("b", x[1] + s)):  # (both are computed before the first round)
        x = x * 2.0
        s = s + k * np.sum(getattr(p, name) * x)
    return s


def asked_for_in_a_loop(x):
    p, out = SimpleNamespace(a=x, b=x * 2.0), []
    for name in ["a", "b", "c"]:
        if hasattr(p, name):
            out.append(getattr(p, name) ** 2)
    return np.sum(out[0] * out[1])


@pytest.mark.parametrize(
    "fn",
    [
        attributes_by_names_in_a_loop,
        names_beside_values,
        asked_for_in_a_loop,
        attributes,
        attribute_of_a_namespace,
        items,
    ],
    ids=lambda f: f.__name__,
)
def test_derivatives(fn):
    tl.check_grads(fn, (X,), order=2)


def test_an_attribute_of_an_argument():
    def scaled(q, x):
        setattr(q, "a", q.a * x)  # noqa: B010
        return np.sum(q.a * q.b)

    tl.check_grads(scaled, (SimpleNamespace(a=X, b=X * 2.0), X))


class Options:
    def __init__(self, **options):
        for name, value in options.items():
            setattr(self, name, value)

    def line(self, x):
        return self.a * x + self.b


def options_of_a_call(x):
    return np.sum(Options(a=x[0], b=x[1]).line(x) ** 2)


def test_options_are_attributes_in_the_general_text_too():
    assert "NotDifferentiated" not in tl.grad(options_of_a_call).source  # (before any call)
    tl.check_grads(options_of_a_call, X, order=2)


# Names that only the run knows: items of `vars(obj)`, in the general form.


class Table:
    names = ("p", "q")

    def __init__(self, x):
        for n, name in enumerate(self.names):
            setattr(self, name, x[n] * 2.0)

    def total(self):
        return sum(getattr(self, name) ** 2 for name in self.names)


def set_in_a_loop(x):
    return Table(x).total()


def set_beside_attributes_that_are_read(x):
    table = Table(x)
    for name in table.names:
        setattr(table, name + "_squared", getattr(table, name) ** 2)
    table.p = table.p_squared * x[2]
    return table.p * table.q_squared * table.q


def overwritten_arrays(x):
    table = Table(x)
    table.p = x
    for name in sorted(vars(table)):
        setattr(table, name, getattr(table, name) * x)
        setattr(table, "p", np.sin(table.p))  # noqa: B010
    return np.sum(table.p * table.q)


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: object

    def with_all(self, x):
        for name in vars(self):
            object.__setattr__(self, name, getattr(self, name) * x)
        return self.w


def set_in_a_frozen_dataclass(x):
    return np.sum(Frozen(x).with_all(x) ** 2)


def items_of_the_dict_of_an_object(x):
    table = Table(x)
    held = table.__dict__
    held["r"] = x
    held.update(p=x[0] * x, q=held["q"] * x[1])
    return sum(np.sum(part) for part in table.__dict__.values()) * np.sum(table.p * table.r)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fn",
    [
        set_in_a_loop,
        set_beside_attributes_that_are_read,
        overwritten_arrays,
        set_in_a_frozen_dataclass,
        items_of_the_dict_of_an_object,
    ],
    ids=lambda f: f.__name__,
)
def test_names_that_only_the_run_knows(fn):
    tl.check_grads(fn, (X,), order=2)


class Slots:
    __slots__ = ("__dict__", "p")

    def fill(self, name, v):
        setattr(self, name, v)
        return self


class Doubling(Table):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2.0)


class Shown(Table):
    @property
    def p(self):
        return self.held

    @p.setter
    def p(self, value):
        self.held = value * 3.0


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: np.sum(Slots().fill("p" * len(x[:1]), x).p),
        lambda x: Doubling(x).total(),
        lambda x: Shown(x).total(),
    ],
)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_what_a_class_does_to_its_attributes(fn, mode):
    """(It is refused, or right.)"""
    df = tl.grad(fn) if mode == "reverse" else tl.autodiff(fn, mode=mode)
    with pytest.raises(tl.UnsupportedError, match="`__setattr__` of its own|in its `__dict__`"):
        df(X) if mode == "reverse" else df(X, X)


def test_a_pullback_is_run_twice():
    """(The tape holds an object and what `vars` gave of it: they are one in its copy.)"""
    _, pull = tl.vjp(tl.grad(set_beside_attributes_that_are_read), X)
    first, second = (pull(np.ones(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
