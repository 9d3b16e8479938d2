"""Numbers and functions in objects, dicts and functions of the module that a program sets and reads
again: the reverse sweep takes what was read, not what stands there at the end."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.7, -1.3, 1.9])
V = np.array([0.4, -0.8, 0.3])


class Layer:
    scale = 1.0

    def __init__(self, rate):
        self.rate = rate
        self.calls = 0

    def __call__(self, x):
        return np.sin(x) * self.rate

    @property
    def double(self):
        return 2.0 * self.rate

    @double.setter
    def double(self, value):
        self.rate = value / 2.0

    @classmethod
    def set_scale(cls, value):
        cls.scale = value

    def counted(self, x):
        type(self).scale += 1.0
        return x * self.scale


STATE = SimpleNamespace(rate=1.0, act=np.tanh)
CONFIG = {"rate": 1.0}
ROWS = [1.0]
LAYER = Layer(1.0)
ACT = np.tanh
GLOBAL = 1.0
MODULE = ModuleType("settings")
MODULE.RATE = 1.0


def scaled(x):
    return np.sin(x) * scaled.rate


def counted(x):
    counted.calls += 1
    return np.sin(x) * counted.calls


def in_an_object(x):
    for k in range(3):
        STATE.rate = 0.5 * k + 0.1
        x = np.sin(x) * STATE.rate + x
    return np.sum(x)


def in_a_dict(x):
    for k in range(3):
        CONFIG["rate"] = 0.5 * k + 0.1
        x = np.sin(x) * CONFIG["rate"] + x
    return np.sum(x)


def with_rate(x):
    return np.sin(x) * CONFIG["rate"]


def in_a_helper(x):
    for rate in (0.1, 0.5):
        CONFIG.update(rate=rate)
        x = with_rate(x)
    return np.sum(x)


def by_a_parameter(layer, x):
    return np.sin(x) * layer.rate


def given_to_a_helper(x):
    s = 0.0
    for k in range(3):
        LAYER.rate = 0.3 * k
        s = s + np.sum(by_a_parameter(LAYER, x + s))
    return s


def called(x):
    LAYER.rate = 0.3
    y = LAYER(x)
    LAYER.rate = 0.5
    return np.sum(LAYER(y))


def by_a_property(x):
    s = 0.0
    for k in range(3):
        LAYER.double = k + 1.0
        s = s + np.sum(LAYER(x + s))
    return s


def by_another_name(x):
    layer = LAYER
    layer.rate = 2.0
    y = LAYER(x)
    layer.rate = 5.0
    return np.sum(y) * LAYER.rate


def in_a_list(x):
    layers = [LAYER]
    layers[0].rate = 2.0
    y = LAYER(x)
    layers[0].rate = 5.0
    return np.sum(y) * LAYER.rate


def of_a_function(x):
    scaled.rate = 2.0
    y = scaled(x)
    scaled.rate = 5.0
    return np.sum(y) * scaled(x[0])


def counting(x):
    counted.calls = 0
    return np.sum(counted(x)) + np.sum(counted(2.0 * x))


def of_a_function_by_another_name(x):
    f = scaled
    f.rate = 2.0
    y = np.sin(x) * scaled.rate
    f.rate = 5.0
    return np.sum(y) * scaled.rate


def of_a_local_function(x):
    def inner(v):
        inner.calls += 1
        return np.sin(v) * inner.calls

    inner.calls = 0
    return np.sum(inner(x)) + np.sum(inner(2.0 * x))


def by_its_dict(x):
    for k in range(3):
        vars(STATE)["rate"] = k + 1.0
        x = np.sin(x) * STATE.rate + x
    return np.sum(x)


def arrays_in_turn(x):
    for k in range(3):
        STATE.weights = np.arange(3.0) * k
        x = np.sin(x) * STATE.weights + x
    return np.sum(x)


def in_a_condition(x):
    for k in range(3):
        CONFIG["rate"] = 0.3 * k
        x = np.sin(x) if CONFIG["rate"] > 0.2 else np.cos(x)
    return np.sum(x)


def in_a_header(x):
    for k in range(3):
        CONFIG["k"] = k
        for i in range(CONFIG["k"]):
            x = np.sin(x) + i
    return np.sum(x)


def as_a_key(x):
    s = 0.0
    for k in range(3):
        CONFIG["k"] = k
        s = s + np.sin(x[CONFIG["k"]] + s)
    return s


def rows_that_change(x):
    ROWS.clear()
    for k in range(3):
        ROWS.append(k + 1.0)
        for rate in ROWS:
            x = np.sin(x) * rate
    return np.sum(x)


def through(rows, x):
    for rate in rows:
        x = np.sin(x) * rate
    return x


def rows_given_to_a_helper(x):
    ROWS.clear()
    for k in range(3):
        ROWS.append(k + 1.0)
        x = through(ROWS, x)
    return np.sum(x)


PROGRAMS = [
    in_an_object,
    in_a_dict,
    in_a_helper,
    given_to_a_helper,
    called,
    by_a_property,
    by_another_name,
    in_a_list,
    of_a_function,
    counting,
    of_a_function_by_another_name,
    of_a_local_function,
    by_its_dict,
    arrays_in_turn,
    in_a_condition,
    as_a_key,
    in_a_header,
    rows_that_change,
    rows_given_to_a_helper,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_was_read_is_what_counts(f):
    expected = np.array([(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)])
    value, gradient = tl.value_and_grad(f)(X)
    assert np.isclose(value, f(X))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
    assert np.isclose(tl.jvp(f, (X,), (V,))[1], expected @ V)


@pytest.mark.parametrize(
    "f", [called, given_to_a_helper, by_another_name, of_a_function], ids=lambda f: f.__name__
)
def test_derivatives_of_derivatives_read_it_too(f):
    gradient = tl.grad(f)
    expected = (gradient(X + 1e-6 * V) - gradient(X - 1e-6 * V)) / 2e-6
    products = {
        "reverse over reverse": tl.grad(lambda x: np.sum(tl.grad(f)(x) * V))(X),
        "forward over reverse": tl.hvp(f)(X, V),
        "reverse over forward": tl.grad(lambda x: tl.jvp(f, (x,), (V,))[1])(X),
    }
    for name, product in products.items():
        np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-6, err_msg=name)


def set_act(f):
    global ACT
    ACT = f


def rebound_function(x):
    set_act(np.sin)
    y = ACT(x)
    set_act(np.cos)
    return np.sum(ACT(y))


def set_in_module(value):
    MODULE.RATE = value


def attribute_of_a_module(x):
    set_in_module(0.1)
    y = np.sin(x) * MODULE.RATE
    set_in_module(0.5)
    return np.sum(x * y) * MODULE.RATE


def set_by_name(value):
    globals()["GLOBAL"] = value


def by_the_names_of_the_module(x):
    set_by_name(0.1)
    y = np.sin(x) * GLOBAL
    set_by_name(0.5)
    return np.sum(x * y) * GLOBAL


def set_scale_of_layers(value):
    Layer.scale = value


def attribute_of_a_class(x):
    set_scale_of_layers(0.1)
    y = np.sin(x) * Layer.scale
    set_scale_of_layers(0.5)
    return np.sum(x * y) * Layer.scale


def of_its_class(x):
    set_scale_of_layers(0.1)
    y = np.sin(x) * LAYER.scale
    set_scale_of_layers(0.5)
    return np.sum(x * y) * LAYER.scale


def of_a_class(x):
    s = 0.0
    for k in range(3):
        Layer.set_scale(k + 1.0)
        s = s + np.sum(np.sin(x + s) * Layer.scale)
    return s


def of_its_own_class(x):
    return np.sum(Layer(1.0).counted(np.sin(x)))


def with_a_variable(x):
    def counted_as(f):
        def wrapper(v):
            wrapper.calls += 1
            return f(v) * wrapper.calls

        wrapper.calls = 0
        return wrapper

    sine = counted_as(np.sin)
    return np.sum(sine(x)) + np.sum(sine(2.0 * x))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (rebound_function, "`ACT` is read here, and a function that is called rebinds it"),
        (attribute_of_a_module, "`MODULE.RATE` is read here"),
        (by_the_names_of_the_module, "`GLOBAL` is read here"),
        (attribute_of_a_class, "`Layer.scale` is read here"),
        (of_its_class, "LAYER.scale` is read here"),
        (of_a_class, "an attribute of `Layer` is set here"),
        (of_its_own_class, "`scale` is set on a class or a function"),
        (with_a_variable, "`calls` is set on a function that captures variables"),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_what_cannot_be_saved_is_refused(f, message):
    with pytest.raises(tl.UnsupportedError, match=message):
        tl.grad(f)(X)


def test_a_number_that_a_loop_makes_of_itself():
    """Whether it is a number was asked without end."""

    def loss(x, limit):
        level = None
        for k in range(3):
            level = level + limit if k else limit
            while k > 5:
                level = level * level
            CONFIG["level"] = level
        return np.sum(np.sin(x) * CONFIG["level"])

    def counted_down(x, n):
        while n > 1:
            n = n - 1
            CONFIG["level"] = n
            x = np.sin(x) * CONFIG["level"]
        return np.sum(x)

    tl.check_grads(lambda x: loss(x, 0.5), (X,))
    np.testing.assert_allclose(
        tl.grad(counted_down)(X, 3), tl.grad(lambda x: counted_down(x, 3))(X)
    )
