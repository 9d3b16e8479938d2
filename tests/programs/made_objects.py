"""Objects that a function makes: their `__init__`, what it calls, and what is done with them."""

import numpy as np

from .registry import Program, numbers, vector


class Vec:
    """A small vector with operators."""

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return self + (-1.0) * other

    def __mul__(self, factor):
        return Vec(self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1.0

    @property
    def length(self):
        return np.sqrt(self.x**2 + self.y**2)


class Dual:
    """A number with its derivative, as forward mode is taught."""

    def __init__(self, value, slope=0.0):
        self.value = value
        self.slope = slope

    def __mul__(self, other):
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    def sin(self):
        return Dual(np.sin(self.value), np.cos(self.value) * self.slope)


class Layer:
    gain = 1.5

    def __init__(self, w, b=None, *, name="layer"):
        self.w = w
        self.b = b
        self.name = name

    def __call__(self, x):
        y = self.gain * (x @ self.w)
        return y if self.b is None else y + self.b


class Smooth(Layer):
    def __init__(self, w, b, slope=0.5):
        super().__init__(w, b, name="smooth")
        self.slope = slope

    def __call__(self, x):
        return np.tanh(self.slope * super().__call__(x))


class Net:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Pair:
    """Holds two objects; a third it makes itself."""

    def __init__(self, first, second):
        self.first = first
        self.second = second
        self.sum = Vec(first.x + second.x, first.y * second.y)

    def mixed(self, t):
        return self.first * t + self.second * (1.0 - t) + self.sum


class Cell:
    """A cell whose `__init__` computes and calls a method that sets the state."""

    def __init__(self, w, u):
        self.w = np.tanh(w)
        self.u = u
        self.reset()

    def reset(self):
        self.h = np.zeros(self.w.shape[0])
        self.count = 0

    def step(self, x):
        self.h = np.tanh(self.w @ self.h + self.u * x)
        self.count = self.count + 1
        return self.h


class Scaled:
    """Scales what it is given, in a way that depends on it; a list and a loop in `__init__`."""

    def __init__(self, x, floor=None):
        self.powers = []
        for n in range(3):
            self.powers.append(x ** (n + 1))
        self.total = 0.0
        for power in self.powers:
            self.total = self.total + power
        if floor is not None:
            self.floor = floor * self.total
        self.values = self.powers[1] * (2.0 if floor is None else self.floor)


class Model:
    """Made from a flat vector by a class method; its kin is made by `type(self)`."""

    def __init__(self, w, b):
        self.w, self.b = w, b

    @classmethod
    def from_flat(cls, v):
        return cls(v[:-1], v[-1])

    @staticmethod
    def squash(z):
        return np.tanh(z)

    def shifted(self, by):
        return type(self)(self.w + by, self.b)

    def doubled(self):
        return self.from_flat(2.0 * np.append(self.w, self.b))

    def __call__(self, x):
        return self.squash(np.sum(self.w * x) + self.b)


class Cubic(Model):
    def __call__(self, x):
        return super().__call__(x) ** 3


class Box:
    """An attribute that is computed when it is read and when it is set."""

    def __init__(self, side):
        self.side = side

    @property
    def volume(self):
        return self.side**3

    @volume.setter
    def volume(self, value):
        self.side = value ** (1.0 / 3.0)


FIXED = Model(np.array([0.3, -0.2, 0.5]), 0.1)
FIXED_LAYERS = [Model(np.array([0.3, -0.2]), 0.1), Model(np.array([-0.4, 0.7]), 0.2)]


def orbit(x, y):
    p, v = Vec(x, y), Vec(-0.3 * y, 0.9)
    for _ in range(4):
        v = v - p * (0.1 / p.length**3)
        p = p + 0.1 * v
    return (p - v).length + (-p).x


def slope_by_dual(x, a):
    y, k = Dual(x, 1.0), Dual(a)
    for _ in range(3):
        y = (y * k).sin() + y
    return y.slope


def layers_made(w1, b1, w2, x):
    net = [Smooth(w1, b1), Smooth(w2, b1, slope=2.0)]
    for layer in net:
        x = layer(x)
    return np.sum(x**2) + np.sum(net[0].slope * net[0].b)


def made_by_helper(w1, b1, w2, x):
    model = _assembled(w1, b1, w2)
    return np.sum(model.second(model.first(x)) ** 2)


class _Two:
    def __init__(self, first, second):
        self.first, self.second = first, second


def _assembled(w1, b1, w2):
    return _Two(Smooth(w1, b1, slope=0.7), Layer(w2))


def objects_in_objects(x, y, t):
    pair = Pair(Vec(x, 2.0), Vec(1.5, y))
    mixed = pair.mixed(t)
    pair.first = mixed
    return pair.first.x * pair.sum.y + pair.mixed(t).y


def cell_made(w, u, xs):
    cell = Cell(w, u)
    total = 0.0
    for x in xs:
        total = total + np.sum(cell.step(x) ** 2)
    return total / cell.count


def cell_in_each_round(w, u, xs):
    total = 0.0
    for x in xs:
        cell = Cell(w * x, u)
        cell.step(x)
        total = total + np.sum(cell.step(total))
    return total


def computed_in_init(x, y):
    plain, floored = Scaled(x), Scaled(y, floor=x)
    return plain.values * floored.total + floored.floor * plain.powers[2]


def by_class_method(v, x):
    model = Model.from_flat(v)
    other = Cubic.from_flat(v * 0.5).shifted(0.1)
    return model(x) * other(x) + model.doubled().b


def computed_attribute(side, v):
    box = Box(side)
    before = box.volume
    box.volume = v * before
    return box.side * before


def model_of_the_module(x):
    return FIXED(x) * np.sum(FIXED.w * x)


def layers_of_the_module(x):
    total = 1.0
    for model in FIXED_LAYERS:
        total = total * model(x)
    return total


def rebound_and_shared(x):
    a = Vec(x, x * x)
    b = a
    b.x = a.y * 3.0
    a.y = 2.0 * b.x + b.y
    return a.x * b.y * b.length


def written_through(x):
    layer = Layer(x, 2.0 * x)
    layer.b[1:] += layer.w[:-1] * layer.b[:-1]
    layer.w = layer.b * layer.w
    return np.sum(layer.w * layer.b)


def _net(rng):
    return (
        rng.normal(size=(3, 2)),
        rng.normal(size=2),
        rng.normal(size=(2, 2)),
        rng.normal(size=(4, 3)),
    )


def _cell(rng):
    return rng.normal(size=(2, 2)), rng.normal(size=2), rng.uniform(0.5, 1.0, 3)


PROGRAMS = (
    Program(orbit, numbers((0.8, 1.2), (0.4, 0.8)), (0, 1)),
    Program(slope_by_dual, numbers((0.3, 0.7), (0.5, 1.5)), (0, 1)),
    Program(layers_made, _net, (0, 1, 2, 3)),
    Program(made_by_helper, _net, (0, 1, 2, 3)),
    Program(objects_in_objects, numbers((0.5, 1.0), (0.5, 1.0), (0.2, 0.8)), (0, 1, 2)),
    Program(cell_made, _cell, (0, 1, 2)),
    Program(cell_in_each_round, _cell, (0, 1, 2)),
    Program(computed_in_init, numbers((0.5, 1.0), (0.5, 1.0)), (0, 1)),
    Program(by_class_method, lambda rng: (rng.normal(size=4), rng.normal(size=3)), (0, 1)),
    Program(computed_attribute, numbers((0.5, 1.0), (0.5, 1.0)), (0, 1)),
    Program(model_of_the_module, vector(3)),
    Program(layers_of_the_module, vector(2)),
    Program(rebound_and_shared, numbers((0.5, 1.0))),
    Program(written_through, vector(3)),
)
