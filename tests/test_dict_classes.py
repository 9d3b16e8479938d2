"""Dicts of classes with ways of their own, as arguments and in attributes; attributes that
methods set first."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, -0.7, 1.2])


class Named(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Shown(dict):
    def __init__(self, **entries):
        super().__init__(**entries)
        self.__dict__ = self


class Squared(dict):
    def __getattr__(self, name):
        return self[name] ** 2


def by_attribute(p):
    return p.a * np.sum(p.b**2) + p["a"]


def counted(c):
    return c["a"] * c["b"] ** 2 + c["missing"]


def collected(d):
    d["new"] += d["a"]
    return d["a"] * d["b"] ** 2 + d["new"] ** 2


class Log:
    def __init__(self):
        self.rows = defaultdict(list)
        self.last = {}

    def add(self, key, value):
        self.rows[key].append(value)

    def __setitem__(self, key, value):
        self.last[key] = value

    def __getitem__(self, key):
        return self.last[key]


def stored_by_key(a):
    log = Log()
    log["a"] = a
    log["b"] = a * a
    if "a" in log.last:
        log["a"] = log["b"] * log["a"]
    return log["a"] * log["b"]


def logged(x):
    log = Log()
    log.add("a", x[0])
    log.add("b", x[1] ** 2)
    log.add("a", x[2])
    return sum(log.rows["a"]) * log.rows["b"][0]


class Layer:
    def __init__(self, w):
        self.w = w

    def forward(self, x):
        self.x = x
        self.y = np.tanh(self.w * x)
        return self.y

    def backward(self, g):
        return g * (1.0 - self.y**2) * self.w


def own_gradient(layer, x):
    y = layer.forward(x)
    return np.sum(layer.backward(y))


def own_gradient_of_made(x):
    layer = Layer(x * x)
    return np.sum(layer.backward(layer.forward(x)))


BOTH = [
    (by_attribute, (Named(a=0.3, b=X),)),
    (by_attribute, (Shown(a=0.3, b=X),)),
    (counted, (Counter(a=1.5, b=2.0),)),
    (collected, (defaultdict(float, a=1.5, b=2.0),)),
    (stored_by_key, (0.7,)),
]


@pytest.mark.parametrize(("fn", "args"), BOTH)
def test_both_modes(fn, args):
    tl.check_grads(fn, args)


def test_entries_that_a_tangent_makes():
    tl.check_grads(logged, (X,), modes=("fwd",))


def test_gradients_keep_the_class():
    for args in ((Named(a=0.3, b=X),), (Shown(a=0.3, b=X),)):
        slope = tl.grad(by_attribute)(*args)
        assert type(slope) is type(args[0])
        assert slope.a == slope["a"] == pytest.approx(np.sum(X**2) + 1.0)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_attributes_that_a_dict_computes_are_refused(mode):
    """The tangent of `p.a` is not what the class computes of the tangent of `p["a"]`."""
    p = Squared(a=0.3, b=0.5)
    with pytest.raises(tl.UnsupportedError, match="is not a field"):
        tl.jvp(by_attribute, (p,), (p,)) if mode == "forward" else tl.grad(by_attribute)(p)


def test_attributes_set_first_by_methods_in_all_orders():
    tl.check_grads(own_gradient_of_made, (X,), modes=("rev",), order=2)
    tl.check_grads(own_gradient, (Layer(X), X))


class Yielding:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        yield from self.items


def gone_through(held):
    total = 1.0
    for v in held:
        total = total * v**2
    return total


def test_items_that_a_generator_yields():
    x_bar = tl.grad(gone_through)(Yielding([0.3, 0.4]))
    np.testing.assert_allclose(x_bar.items, [2 * 0.3 * 0.4**2, 2 * 0.3**2 * 0.4])
