"""Objects of one of several classes: in lists, dicts, attributes and branches."""

from __future__ import annotations

import abc
import dataclasses

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.programs import object_operators
from tests.programs.made_objects import Vec
from tests.sampled import one_in


def through(chain, x):
    return np.sum(chain(x) ** 2)


def test_objects_and_functions_in_one_argument():
    chain = object_operators.Chain(object_operators.Dense(X), np.tanh, object_operators.leaky)
    tl.check_grads(through, (chain, X[::-1] + 0.1))
    slope = tl.grad(through)(chain, X.copy())  # (the functions may write what they are given)
    assert slope.layers[0].w.shape == X.shape
    assert "plain_function(layer)" in tl.grad(through, example=(chain, X)).source


class Odd:
    def __init__(self, a):
        self.a = a

    def __sub__(self, other):
        return NotImplemented


def declined(x):
    return (Odd(x) - Odd(x)).a


def test_an_operator_that_declines_raises_as_it_does_in_python():
    with pytest.raises(TypeError, match="unsupported operand"):
        tl.grad(declined)(1.5)


X = np.array([0.3, 0.7, 1.2, 0.5])


class Shape(abc.ABC):
    def __init__(self, a):
        self.a = a

    @abc.abstractmethod
    def area(self): ...

    def cost(self, t):
        return self.area() * t


class Square(Shape):
    def area(self):
        return self.a**2


class Disc(Shape):
    gain = 3.0

    def area(self):
        return self.gain * self.a**2

    @property
    def girth(self):
        return 2.0 * self.gain * self.a


class Scale:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a

    def __call__(self, v):
        return self.a * v


class Tanh:
    def __call__(self, v):
        return np.tanh(v)


class Chain:
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v


class Kernel:
    def __init__(self, width):
        self.width = width

    def __add__(self, other):
        return Sum(self, other)

    def __call__(self, x, y):
        return np.exp(-((x - y) ** 2) / self.width**2)


class Linear(Kernel):
    def __call__(self, x, y):
        return x * y * self.width


class Sum(Kernel):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, x, y):
        return self.a(x, y) + self.b(x, y)


def total(shapes, t):
    result = 0.0
    for shape in shapes:
        result = result + shape.cost(t)
        if hasattr(shape, "girth"):
            result = result + shape.girth
    return result


def list_made(x):
    return total([Square(x[0]), Disc(x[1]), Square(x[2])], x[3])


def dict_made(x):
    shapes = {"one": Square(x[0]), "other": Disc(x[1])}
    return sum(shape.cost(x[2]) for shape in shapes.values()) * shapes["other"].area()


def one_or_the_other(x):
    shape = Square(x[0]) if x[1] > 0.0 else Disc(x[0])
    return shape.area() * shape.cost(x[2])


def starred_layers(x):
    return Chain(Scale(x[0]), Tanh(), Chain(Scale(x[1]), Tanh()))(x[2])


def sum_of_kernels(x):
    kernel = Kernel(x[0]) + Linear(x[1])
    return kernel(x[2], x[3]) * (Linear(0.5) + kernel)(x[2], 0.1)


def from_another_module(x):
    return (Vec(x[0], x[1]) + x[2] * Vec(x[3], 1.0)).length


@pytest.mark.parametrize(
    "f",
    one_in(
        2,
        [list_made, dict_made, one_or_the_other, starred_layers, sum_of_kernels]
        + [from_another_module],
    ),
)
def test_made_inside(f):
    v = np.array([0.4, -0.2, 0.9, 0.3])
    slope = agreement.slope(f, (X,), [v])
    gradient = tl.grad(f)
    assert abs(gradient(X) @ v - slope) < 1e-7
    assert abs(tl.jvp(f, (X,), (v,))[1] - slope) < 1e-7
    curve = agreement.slope(lambda x: gradient(x) @ v, (X,), [v])
    assert abs(tl.hvp(f)(X, v) @ v - curve) < 1e-6
    assert abs(tl.vjp(gradient, X)[1](v)[0] @ v - curve) < 1e-6


def test_branch_for_each_class():
    source = tl.grad(list_made).source
    assert "if type(shape) is Disc:" in source
    assert "Disc_cost_bwd" in source and "Square_cost_bwd" in source


def test_given_as_arguments():
    shapes = [Square(0.3), Disc(0.4), Disc(0.2)]
    slopes = tl.grad(total)(shapes, 0.5)
    assert [type(s) for s in slopes] == [Square, Disc, Disc]
    expected = [2 * 0.3 * 0.5, 6 * 0.4 * 0.5 + 6.0, 6 * 0.2 * 0.5 + 6.0]
    assert np.allclose([s.a for s in slopes], expected)
    assert np.allclose([s.a for s in tl.grad(total)(shapes[:1], 0.5)], expected[:1])


class Dense:
    def __init__(self, n, m, rng):
        self.w = rng.normal(size=(n, m)) / np.sqrt(n)
        self.b = np.zeros(m)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [self.w, self.b]


class BatchNorm:
    """The names of its attributes are those of methods of arrays."""

    def __init__(self, n, momentum=0.9):
        self.gamma, self.beta = np.ones(n), np.zeros(n)
        self.mean, self.var = np.zeros(n), np.ones(n)
        self.momentum, self.training = momentum, True

    def __call__(self, x):
        if self.training:
            m, v = x.mean(axis=0), x.var(axis=0)
            self.mean = self.momentum * self.mean + (1 - self.momentum) * m
            self.var *= self.momentum
            self.var += (1 - self.momentum) * v
        else:
            m, v = self.mean, self.var
        return self.gamma * (x - m) / np.sqrt(v + 1e-5) + self.beta


class Dropout:
    def __init__(self, rate, seed):
        self.rate, self.rng = rate, np.random.default_rng(seed)

    def __call__(self, x):
        return x * (self.rng.random(x.shape) > self.rate) / (1 - self.rate)


def model_loss(model, x, y):
    penalty = sum(np.sum(p**2) for layer in model.layers for p in layer.parameters())
    return np.mean((model(x) - y) ** 2) + 1e-4 * penalty


def layers(rng):
    return Dense(2, 8, rng), BatchNorm(8), Tanh(), Dropout(0.1, 1), Dense(8, 1, rng)


def loss_of_layers(model, x, y):
    return np.mean((model(x) - y) ** 2)


class Affine:
    """A layer that is given its activation."""

    def __init__(self, w, act=np.tanh):
        self.w, self.act = w, act

    def forward(self, x):
        return self.act(self.w * x)

    def __call__(self, x):
        return self.forward(x)


def outputs(model, x):
    return np.sum(model(x)) + x[0]


@pytest.mark.thorough
def test_one_of_the_classes_holds_a_function():
    model = Chain(Affine(0.4), Scale(0.7), Affine(X, np.sin), Tanh(), Affine(1.3, lambda z: z * z))
    tl.check_grads(outputs, (model, X), order=2)


def test_model_trains():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 2))
    y = x[:, :1] * x[:, 1:]
    model = Chain(*layers(rng))
    step = tl.value_and_grad(loss_of_layers)
    losses = []
    for _ in range(60):
        loss, slopes = step(model, x, y)
        losses.append(loss)
        assert np.all(model.layers[1].mean == 0.0)  # the derivative works on a copy
        for layer, slope in zip(model.layers, slopes.layers, strict=True):
            for name in ("w", "b", "gamma", "beta"):
                if hasattr(layer, name):
                    setattr(layer, name, getattr(layer, name) - 0.2 * getattr(slope, name))
    assert losses[-1] < 0.4 * losses[0]


def test_model_with_a_penalty():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(5, 1))
    model = Chain(Dense(2, 3, rng), Dense(3, 1, rng))
    v = agreement.random_direction(model.layers[0].w, rng)
    slopes = tl.grad(model_loss)(model, x, y)
    first = model.layers[0].w

    def moved(t):
        model.layers[0].w = first + t * v
        return model_loss(model, x, y)

    difference = (moved(1e-5) - moved(-1e-5)) / 2e-5
    assert abs(np.sum(slopes.layers[0].w * v) - difference) < 1e-8


@dataclasses.dataclass
class Circle:
    r: float


@dataclasses.dataclass
class Group:
    items: list
    scale: float = 1.0


def area(shape):
    match shape:
        case Circle(r=r) if r > 0:
            return np.pi * r * r
        case Circle():
            return 0.0
        case Group([first, *rest], scale=k):
            return k * (area(first) + area(Group(rest)))
        case Group([]):
            return 0.0
        case {"width": w, **others}:
            return w * sum(others.values())
        case (a, b):
            return a * b
    return shape


def areas(x):
    group = Group([Circle(x[0]), Group([Circle(-x[0])], x[1])], x[1])
    group.items[0].r *= x[2]
    group.items.append(Circle(area(group)))
    sides = {"width": x[0], "height": x[1] * x[2], "depth": 1.0}
    return area(group) + area(sides) + area((x[0], area(2.0)))


@pytest.mark.thorough
def test_patterns_of_many_classes_in_one_function():
    tl.check_grads(areas, (np.array([0.7, 0.8, 1.1]),))
