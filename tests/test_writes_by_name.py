"""`setattr` and `operator.setitem` with constants: the assignments that they are."""

from __future__ import annotations

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
