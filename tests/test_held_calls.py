"""Objects and functions held in attributes, and called through the object that holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 2))


def square(v: Any) -> Any:
    return v * v


class Dense:
    def __init__(self) -> None:
        self.w = RNG.normal(size=(2, 2))

    def __call__(self, x: Any) -> Any:
        return x @ self.w


class Activated(Dense):
    def __init__(self, activation: Any) -> None:
        super().__init__()
        self.activation = activation

    def __call__(self, x: Any) -> Any:
        return self.activation(x @ self.w)


class Twice:
    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def __call__(self, x: Any) -> Any:
        return self.second(self.first(x))


class Repeated:
    def __init__(self, step: Any, last: Any) -> None:
        self.step, self.last = step, last

    def __call__(self, x: Any) -> Any:
        for _ in range(2):
            x = np.tanh(self.step(x))
        return self.last(x)


class Stack:
    def __init__(self, layers: list[Any]) -> None:
        self.layers = layers

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def loss(model: Any, x: Any) -> Any:
    return np.sum(model(x) ** 2)


MODELS = {
    "twice": Twice(Dense(), Dense()),
    "nested": Twice(Twice(Dense(), Dense()), Dense()),
    "repeated": Repeated(Dense(), Twice(Dense(), Dense())),
    "of NumPy": Activated(np.tanh),
    "of the module": Activated(square),
    "different in a stack": Stack([Activated(np.tanh), Activated(np.sin), Activated(square)]),
}


@pytest.mark.parametrize("name", MODELS)
def test_both_modes(name: str) -> None:
    args, model = (MODELS[name], X), MODELS[name]
    directions = agreement.directions_for(args, (0, 1), 3)
    expected = agreement.slope(loss, args, directions)
    gradient = tl.grad(loss, wrt=(0, 1))(*args)
    assert type(gradient[0]) is type(model)
    assert agreement.close(agreement.inner(directions, list(gradient)), expected, 1e-6)
    _, tangent = tl.jvp(loss, args, tuple(directions))
    assert agreement.close(float(tangent), expected, 1e-6)


def test_second_order() -> None:
    args = (MODELS["nested"], X)
    u, v = (agreement.directions_for(args, (0,), seed) for seed in (1, 2))

    def along(model: Any, x: Any) -> float:
        return agreement.inner(u[:1], [tl.grad(loss)(model, x)])

    expected = agreement.slope(along, args, v)
    assert agreement.close(agreement.inner(u[:1], [tl.hvp(loss)(*args, v[0])]), expected, 1e-6)


def lowered(v: Any, k: float = 1.0) -> Any:
    return v - k


@dataclass
class Neuron:
    w: Any
    act: Callable[..., Any] = np.tanh
    loss: Callable[..., Any] = square  # (a field, though the class has a function by this name)
    scale: Callable[..., Any] = lambda z, k=2.0: z * k

    def __call__(self, x: Any) -> Any:
        return self.act(x * self.w) + self.scale(self.loss(self.w) * x)


class Classwide:
    act = np.tanh
    out = staticmethod(np.sin)

    def __init__(self, w: Any) -> None:
        self.w = w

    def run(self, x: Any) -> Any:
        return self.out(self.act(x * self.w) * self.w)


class Other(Classwide):
    act = np.cos
    out = staticmethod(square)


def in_defaults(w: float) -> Any:
    return Neuron(w)(0.5) * Neuron(w=w, act=np.cos)(0.3)


def in_place_of_defaults(w: float) -> Any:
    neurons = [Neuron(w), Neuron(w, square), Neuron(w, np.sin, np.exp, lowered)]
    total = 0.0
    for neuron in neurons:
        total = total + neuron(0.5) * w
    return total


@dataclass
class Output:
    w: Any
    out: Any = None


def field_named_like_what_is_written(w: float) -> Any:
    made = Output(w, out=np.sin)
    return made.out(made.w * 0.5) * Output(w=w, out=w).out


def read_first(w: float) -> Any:
    neuron = Neuron(w)
    act, loss = neuron.act, neuron.loss
    return act(w) * loss(w) + neuron.scale(w, k=w)


def of_classes(w: float) -> Any:
    return Classwide(w).run(0.5) + sum(made.run(0.3) for made in [Classwide(w), Other(w)])


class Unit:
    plain = staticmethod(np.sin)

    def __init__(self, w: Any, act: Any = None, plain: Any = None) -> None:
        self.w = w
        if act is not None:
            self.act = act  # type: ignore[method-assign]
        if plain is not None:
            self.plain = plain

    def act(self, x: Any) -> Any:
        return np.tanh(x) * self.w

    def __call__(self, x: Any) -> Any:
        return self.act(self.w * x) + self.plain(x)


class Other2(Unit):
    def act(self, x: Any) -> Any:
        return x * self.w**3


def in_place_of_methods(w: float) -> Any:
    total = 0.0
    for unit in [Unit(w), Unit(w, square), Unit(w, plain=square), Other2(w), Other2(w, np.cos)]:
        total = total * 0.3 + unit(w) * unit.act(0.5)
    return total + Unit(w, lambda v: v * w)(2.0)


def in_an_argument(w: float) -> Any:
    return sum(unit(w) ** 2 for unit in (UNIT, UNIT_OF_ITS_OWN))


UNIT, UNIT_OF_ITS_OWN = Unit(0.5), Unit(0.3, square)
OUTSIDE, ITS_OWN = Neuron(2.0), Neuron(0.5, square)  # (they compare entries: none has a hash)


def of_the_module(w: float) -> Any:
    return OUTSIDE(w) * ITS_OWN(w)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "f",
    [
        *(in_defaults, in_place_of_defaults, read_first, of_classes),
        *(of_the_module, field_named_like_what_is_written, in_place_of_methods, in_an_argument),
    ],
)
def test_functions_that_a_class_has_as_defaults(f: Any) -> None:
    once = (of_the_module, in_an_argument, in_place_of_methods)
    tl.check_grads(f, 0.7, order=1 if f in once else 2)


def test_a_method_in_place_of_which_an_argument_has_a_function() -> None:
    def loss(unit: Any, w: float) -> Any:
        return unit(w) ** 2

    gradient = tl.grad(loss, wrt=(0, 1))
    for unit in (Unit(0.5), Unit(0.5, square), Unit(0.5)):
        mirror, w_bar = gradient(unit, 0.7)
        tl.check_grads(loss, (unit, 0.7), order=1)
        h = 1e-6
        numeric = (loss(unit, 0.7 + h) - loss(unit, 0.7 - h)) / (2 * h)
        np.testing.assert_allclose(w_bar, numeric, rtol=1e-6)
        assert mirror.w != 0.0
