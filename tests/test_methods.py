"""Objects of the user's classes: methods, calls, properties, operators, parents."""

from __future__ import annotations

import copy
import enum
import math
import numbers
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads
from tests.sampled import one_in


class Module:
    scale = 1.0

    def __call__(self, x):
        return self.forward(x) * self.scale

    def forward(self, x):
        raise NotImplementedError

    def penalty(self):
        return 0.0


class Dense(Module):
    def __init__(self, w, b):
        self.w = w
        self.b = b
        self.label = "dense"

    def forward(self, x):
        return self.activate(x @ self.w + self.b)

    def penalty(self):
        return super().penalty() + np.sum(self.w**2)

    @staticmethod
    def activate(z):
        return np.tanh(z)

    @property
    def total(self):
        return np.sum(self.w * self.w) + np.sum(self.b)


class Squared(Dense):
    def forward(self, x):
        y = super().forward(x)
        return y * y


class Chain:
    def __init__(self, layers):
        self.layers = layers

    def predict(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def loss(self, x, y):
        r = self.predict(x) - y
        return np.sum(r * r) + 0.1 * self.penalty()

    def penalty(self):
        total = 0.0
        for layer in self.layers:
            total = total + layer.penalty()
        return total


@dataclass
class Vector:
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def __rmul__(self, factor):
        return self * factor

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __getitem__(self, k):
        return self.x if k == 0 else self.y

    def dot(self, other):
        return self.x * other.x + self.y * other.y


class Window:
    """An object whose `[]` is given slices."""

    def __init__(self, data, scale):
        self.data, self.scale = data, scale

    def __getitem__(self, k):
        return self.scale * self.data[k]


class Grid:
    """An object whose `[]` reads the bounds of a slice."""

    def __getitem__(self, k):
        return np.linspace(k.start, k.stop, 4)


GRID = Grid()


def dense(rng: Any, n: int, m: int, cls: type = Dense) -> Any:
    return cls(rng.normal(size=(n, m)), rng.normal(size=m))


def chain(seed: int = 0) -> Chain:
    rng = np.random.default_rng(seed)
    return Chain([dense(rng, 3, 4), dense(rng, 4, 2)])


X = np.random.default_rng(1).normal(size=(5, 3))
Y = np.random.default_rng(2).normal(size=(5, 2))


def by_call(model, x):
    return np.sum(model(x) ** 2)


def by_method(model, x, y):
    return model.loss(x, y)


def by_helper(model, x, y):
    return loss_of(model, x, y) * 2.0


def loss_of(model, x, y):
    return model.loss(x, y) + np.sum(x)


def by_property(layer, x):
    return layer.total * np.sum(x)


def by_operators(a, b):
    c = a + 2.0 * b
    d = -(c * a.x)
    return d.dot(b) * c[1]


CASES = {
    "call": (by_call, (dense(np.random.default_rng(0), 3, 4), X)),
    "inherited": (by_call, (dense(np.random.default_rng(0), 3, 4, Squared), X)),
    "method": (by_method, (chain(), X, Y)),
    "property": (by_property, (dense(np.random.default_rng(0), 3, 4), X)),
    "helper": (by_helper, (chain(), X, Y)),
    "operators": (by_operators, (Vector(0.3, 0.7), Vector(1.1, -0.4))),
}


def moved(value: Any, direction: Any, step: float) -> Any:
    """`value + step * direction`, through objects and lists."""
    if isinstance(value, (float, np.ndarray)):
        return value + step * direction
    if isinstance(value, list):
        return [moved(v, d, step) for v, d in zip(value, direction, strict=True)]
    if not hasattr(value, "__dict__"):
        return value
    made = copy.copy(value)
    for name, item in vars(value).items():
        setattr(made, name, moved(item, getattr(direction, name), step))
    return made


def random_like(value: Any, rng: Any) -> Any:
    if isinstance(value, float):
        return float(rng.normal())
    if isinstance(value, np.ndarray):
        return rng.normal(size=value.shape)
    if isinstance(value, list):
        return [random_like(v, rng) for v in value]
    if not hasattr(value, "__dict__"):
        return None
    made = copy.copy(value)
    for name, item in vars(value).items():
        setattr(made, name, random_like(item, rng))
    return made


def inner(a: Any, b: Any) -> float:
    if isinstance(a, (float, np.ndarray)):
        return float(np.sum(a * b))
    if isinstance(a, list):
        return sum(inner(p, q) for p, q in zip(a, b, strict=True))
    if not hasattr(a, "__dict__"):
        return 0.0
    return sum(inner(v, getattr(b, n)) for n, v in vars(a).items())


@pytest.mark.parametrize("name", CASES)
def test_both_modes(name: str) -> None:
    fn, args = CASES[name]
    before = copy.deepcopy(args)
    rng = np.random.default_rng(5)
    directions = tuple(random_like(a, rng) for a in args)
    step = 1e-6
    up = fn(*(moved(a, d, step) for a, d in zip(args, directions, strict=True)))
    down = fn(*(moved(a, d, -step) for a, d in zip(args, directions, strict=True)))
    expected = (up - down) / (2 * step)
    gradient = tl.grad(fn, wrt=tuple(range(len(args))))(*args)
    assert inner(list(gradient), list(directions)) == pytest.approx(expected, rel=1e-6)
    for got, arg in zip(gradient, args, strict=True):
        assert type(got) is type(arg)
    value, tangent = tl.jvp(fn, args, directions)
    assert value == pytest.approx(fn(*args), rel=1e-12)
    assert tangent == pytest.approx(expected, rel=1e-6)
    assert inner(list(before), list(directions)) == inner(list(args), list(directions))


def test_bound_method_by_its_arguments() -> None:
    model = chain()
    got = tl.grad(model.loss)(X, Y)
    expected = tl.grad(by_method, wrt=1)(model, X, Y)
    np.testing.assert_array_equal(got, expected)


def test_class_is_told_by_the_first_call() -> None:
    df = tl.grad(by_method)
    assert "unbound(model, 'loss')" in df.source
    general: dict[str, Any] = {}
    exec(str(df.source), general)
    model = chain()
    shown = general["by_method_grad"](model, X, Y)
    found = df(model, X, Y)
    assert "require_class(model, Chain)" in df.source
    np.testing.assert_allclose(shown.layers[0].w, found.layers[0].w, rtol=1e-12)


def test_another_class_is_derived_anew() -> None:
    rng = np.random.default_rng(0)
    plain, squared = dense(rng, 3, 4), dense(rng, 3, 4, Squared)
    df = tl.grad(by_call)
    assert type(df(plain, X)) is Dense
    assert type(df(squared, X)) is Squared
    assert not np.allclose(df(plain, X).w, df(Squared(plain.w, plain.b), X).w)


def test_emitted_code_checks_classes() -> None:
    rng = np.random.default_rng(0)
    df = tl.grad(by_call)
    df(dense(rng, 3, 4), X)
    with pytest.raises(TypeError, match="written for a Dense and got a Squared"):
        df.__wrapped__(dense(rng, 3, 4, Squared), X)


def test_a_model_trains() -> None:
    model = chain()
    df = tl.value_and_grad(by_method)
    first, _ = df(model, X, Y)
    for _ in range(200):
        value, gradient = df(model, X, Y)
        for layer, change in zip(model.layers, gradient.layers, strict=True):
            layer.w = layer.w - 0.02 * change.w
            layer.b = layer.b - 0.02 * change.b
    assert value < 0.6 * first


def along(model, direction, x, y):
    return inner(tl.grad(by_method)(model, x, y), direction)


def test_second_order() -> None:
    model, rng = chain(), np.random.default_rng(5)
    direction = random_like(model, rng)
    got = tl.hvp(by_method)(model, X, Y, direction)
    step = 1e-6
    up = along(moved(model, direction, step), direction, X, Y)
    down = along(moved(model, direction, -step), direction, X, Y)
    assert inner(got, direction) == pytest.approx((up - down) / (2 * step), rel=1e-5)


def test_example_tells_classes() -> None:
    df = tl.grad(by_method, example=(chain(), X, Y))
    assert "require_class(model, Chain)" in df.source
    got, expected = df(chain(1), X, Y), tl.grad(by_method)(chain(1), X, Y)
    np.testing.assert_allclose(got.layers[0].w, expected.layers[0].w, rtol=1e-12)


class Sized:
    def __init__(self, w):
        self.w = w

    @property
    def size(self):
        return np.sum(self.w * self.w)


def by_size(box, x):
    return box.size * x


def test_a_property_named_like_an_attribute_of_arrays() -> None:
    box = Sized(np.array([1.0, 3.0]))
    np.testing.assert_allclose(tl.grad(by_size)(box, 2.0).w, 4.0 * box.w)
    change = tl.jvp(by_size, (box, 2.0), (Sized(np.ones(2)), 0.0))[1]
    np.testing.assert_allclose(change, np.sum(4.0 * box.w))


def test_a_property_named_like_an_attribute_of_arrays_in_the_test_of_a_loop() -> None:
    def doubled(box, x):
        while np.sum(box.size) * x < 100.0:
            x = 2.0 * x
        return x

    assert tl.grad(doubled, wrt="x")(Sized(np.ones(2)), 2.0) == 32.0


def called_unknown(model, x):
    return np.sum(model["f"](x))


def test_a_parameter_of_what_is_called_is_not_lost() -> None:
    layer = dense(np.random.default_rng(0), 3, 4)
    try:
        gradient = tl.grad(called_unknown, wrt=(0, 1))({"f": layer}, X)[0]["f"].w
    except tl.UnsupportedError:
        return
    np.testing.assert_allclose(gradient, tl.grad(lambda m, x: np.sum(m(x)))(layer, X).w)


def test_slices_given_to_a_method() -> None:
    def f(w):
        return np.sum(w[1:, 0] ** 2) + np.sum(w[:1] ** 3)

    tl.check_grads(f, (Window(X, 0.7),))


def test_bounds_of_slices_given_to_a_method_are_refused() -> None:
    for fn, args in (
        (lambda x: np.sum(GRID[0.0:x] ** 2), (0.7,)),
        (lambda x, w: np.sum(w[0.0:x] ** 2), (0.7, Grid())),
        (lambda x: np.sum(np.mgrid[0.0:x:3j]), (0.7,)),
    ):
        with pytest.raises(tl.UnsupportedError, match="bound of a slice|brackets"):
            tl.grad(fn)(*args)
        with pytest.raises(tl.UnsupportedError, match="bound of a slice|brackets"):
            tl.jvp(fn, args, (1.0, *(None for _ in args[1:])))


class Rotor:
    """A quaternion in two dimensions of its four: its product does not commute with `conj`."""

    def __init__(self, w, x=None, y=None):
        if x is None:
            w, x, y = w
        self.w, self.x, self.y = w, x, y

    def __mul__(self, other):
        if isinstance(other, numbers.Number):
            return Rotor(self.w * other, self.x * other, self.y * other)
        return self.__class__(
            self.w * other.w - self.x * other.x,
            self.w * other.x + self.x * other.w,
            self.y * other.x - self.x * other.y,
        )

    __rmul__ = __mul__

    def __truediv__(self, s):
        return Rotor(*(v / s for v in self))

    def __iter__(self):
        return iter((self.w, self.x, self.y))

    def conj(self):
        return Rotor(self.w, -self.x, -self.y)

    def turned(self, v):
        r = self * Rotor(0.0, *v) * self.conj()
        return np.array([r.w, r.x, r.y])

    @property
    def length(self):
        return np.sqrt(self.w**2 + self.x**2 + self.y**2)


class Turn(Rotor):
    __rmul__ = None  # (without it, `2.0 * turn` is no operation)

    def turned(self, v):
        r = self * Turn(0.0, *v) * self.conj()
        return np.array([r.w, r.x, r.y])


def product_of_results(x):
    return np.sum(Rotor(x).turned([1.0, 2.0]) * np.array([1.0, 0.5, 2.0]))


def product_of_results_without_reflected(x):
    return np.sum(Turn(*x).turned([1.0, 2.0]) * np.array([1.0, 0.5, 2.0]))


def made_of_any_number(x):
    q = Rotor(x[0], *[2.0 * v for v in x[1:]]) / 2.0
    p = q * q * x[1]
    return p.length + p.w * p.y


def scaled_by(s, q):
    return s * q


def scaled_by_what_a_helper_is_given(x):
    return scaled_by(x[0], Rotor(x)).length + scaled_by(Rotor(x), Rotor(x)).y


OF_OPERATORS = (
    product_of_results,
    product_of_results_without_reflected,
    made_of_any_number,
    scaled_by_what_a_helper_is_given,
)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", one_in(4, OF_OPERATORS), ids=lambda fn: fn.__name__)
def test_operators_of_what_methods_give(fn: Any) -> None:
    """The first operand is asked before the second, whatever is known of it."""
    order = 2 if fn in OF_OPERATORS[::2] else 1
    check_grads(fn, (np.array([0.3, 0.5, 0.8]),), order=order)


def given_maker(x, make):
    a, b = make(x)
    return (a * b).y


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_operators_of_objects_that_only_the_run_knows(mode: str) -> None:
    """They are refused: the tangent of such an object is none that the operator takes."""
    x, make = np.array([0.3, 0.5]), (lambda x: [Rotor(x[0], x[1], 1.0), Rotor(x[1], 1.0, x[0])])
    with pytest.raises(tl.UnsupportedError, match=r"return \(a \* b\).y"):
        if mode == "forward":
            tl.jvp(given_maker, (x, make), (x, None))
        else:
            tl.grad(given_maker)(x, make)


def test_an_operand_of_which_nothing_is_known_is_checked() -> None:
    """The text for any types takes the method of the second operand only of numbers."""
    assert 'require_values(s, "*")' in tl.grad(weighted).source.replace("'", '"')
    with pytest.raises(tl.UnsupportedError, match="and got a Rotor"):
        tl.grad(weighted_of_result)(0.5, lambda x: Rotor(x, 2.0, 1.0))


def weighted(x, s):
    return (s * Rotor(x, 1.0, x)).w


def weighted_of_result(x, make):
    q = make(x)
    return (q * Rotor(x, 1.0, x)).w


class Both:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def value(self):
        return self.a**2 * self.b


class Step:
    """What its operators give carries derivatives, whichever they are."""

    def __init__(self, w):
        self.w = w

    def joined(self, other):
        return Both(self.w, other.w if isinstance(other, Step) else other)

    __rshift__ = __lshift__ = __and__ = __or__ = __xor__ = __divmod__ = joined
    __lt__ = __le__ = __eq__ = __ne__ = joined  # type: ignore[assignment]

    def __ror__(self, other):
        return Both(self.w, other)

    def __invert__(self):
        return Both(self.w, 2.0)

    __floor__ = __ceil__ = __trunc__ = __round__ = __invert__


def piped(first, second):
    return first >> second


OF_OPERATORS = [
    lambda x: (Step(x[0]) >> Step(x[1])).value(),
    lambda x: (Step(x[0]) << Step(x[1])).value(),
    lambda x: (Step(x[0]) & Step(x[1])).value(),
    lambda x: (Step(x[0]) | x[1]).value(),
    lambda x: (x[0] | Step(x[1])).value(),
    lambda x: (Step(x[0]) ^ Step(x[1])).value(),
    lambda x: divmod(Step(x[0]), Step(x[1])).value(),
    lambda x: (~Step(x[0])).value(),
    lambda x: round(Step(x[0])).value(),
    lambda x: math.floor(Step(x[0])).value(),
    lambda x: operator.rshift(Step(x[0]), Step(x[1])).value(),
    lambda x: piped(Step(x[0]), Step(x[1])).value(),
]
OF_COMPARISONS = [
    lambda x: (Step(x[0]) < Step(x[1])).value(),
    lambda x: (Step(x[1]) == Step(x[0])).value(),
    lambda x: (x[0] > Step(x[1])).value(),
]


@pytest.mark.parametrize("number", range(len(OF_OPERATORS)))
def test_operators_of_integers_that_a_class_has(number):
    tl.check_grads(OF_OPERATORS[number], (np.array([1.2, 0.7]),), order=2)


@pytest.mark.parametrize("derivative", [tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (x,))])
@pytest.mark.parametrize("number", range(len(OF_COMPARISONS)))
def test_comparisons_that_give_more_than_truth(number, derivative):
    with pytest.raises(tl.UnsupportedError, match="more than True or False"):
        derivative(OF_COMPARISONS[number])(np.array([1.2, 0.7]))


class Sides(enum.Flag):
    LEFT = 1
    RIGHT = 2


def of_flags(x):
    sides = Sides.LEFT
    sides |= Sides.RIGHT
    return x[0] ** 2 if Sides.RIGHT in sides & ~Sides.LEFT else x[1]


def test_flags_are_constants():
    tl.check_grads(of_flags, (np.array([1.2, 0.7]),), order=2)


@pytest.mark.parametrize("derivative", [tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (x,))])
def test_the_greater_of_two_objects_is_refused(derivative):
    with pytest.raises(tl.UnsupportedError, match="an object is passed"):
        derivative(lambda x: max(Ordered(x[0]), Ordered(x[1])).w)(np.array([1.2, 0.7]))


class Ordered:
    def __init__(self, w):
        self.w = w

    def __lt__(self, other):
        return self.w < other.w

    def __gt__(self, other):
        return self.w > other.w
