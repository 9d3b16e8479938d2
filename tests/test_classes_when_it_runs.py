"""Classes that only the running program knows: what they make, its methods and properties."""

import dataclasses
import functools
import math

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import reader, tangent_of, unbound
from tangentlike.testing import check_grads
from tests.sampled import one_in
from tests.test_by_identity import gradient

X, V = np.array([0.3, 0.5, -0.2]), np.array([0.2, -0.4, 0.7])


class Box:
    def __init__(self, w, k=2.0):
        self.w, self.k = w, k

    def get(self, y):
        return self.w * y * self.k

    @property
    def twice(self):
        return 2 * self.w


class Keeping:
    def __init__(self, w, k=1.0):
        self.w, self.seen = w * k, [w]

    def get(self, y):
        self.seen.append(y)
        return self.w + y * self.seen[0]

    @property
    def twice(self):
        return 3 * self.w


@dataclasses.dataclass
class Record:
    w: object
    k: float = 2.0

    def get(self, y):
        return self.w * y * self.k

    @property
    def twice(self):
        return self.w


CLASSES = {"box": Box, "keeping": Keeping, "record": Record}


def chosen(name):
    return CLASSES[name]


def by_a_call(x, name="keeping"):
    b = chosen(name)(x)
    return np.sum(b.get(x) * b.twice)


def by_keyword(x):
    b = chosen("box")(x, k=x[0])
    return np.sum(b.get(x) * b.twice)


def in_a_loop(x):
    total = 0.0
    for cls in (Box, Keeping, Record):
        made = cls(x)
        total = total + np.sum(made.get(x) * made.twice)
    return total


def by_a_factory(x):
    def made(cls, *args):
        return cls(*args)

    return np.sum(made(Box, x).get(x) * made(Record, x, 3.0).twice)


def in_a_comprehension(x):
    return sum(np.sum(cls(x).get(x)) for cls in CLASSES.values())


ALL = (by_a_call, by_keyword, in_a_loop, by_a_factory, in_a_comprehension)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_both_modes(f):
    slope = (f(X + 1e-6 * V) - f(X - 1e-6 * V)) / 2e-6
    assert np.isclose(tl.grad(f)(X) @ V, slope)
    assert np.isclose(tl.jvp(f, (X,), (V,))[1], slope)


# ------------------------------------------------------------- a class where an object might be


class Doubled:
    scale, row = 2.0, np.array([1.0, 2.0, 3.0])

    @staticmethod
    def apart(x, y):
        return (x - y) ** 2


class Scaled:
    row = np.array([1.0, 5.0, -3.0])

    def __init__(self, scale):
        self.scale = scale

    @staticmethod
    def apart(x, y):
        return np.abs(x - y) ** 3


def in_a_branch(x, y):
    if x[0] > y[0]:
        chosen = Doubled
    else:
        chosen = Scaled(x[1])
    return np.sum(chosen.scale * chosen.row * x) * y[1]


def in_a_list(x, y):
    total = 0.0
    for each in [Doubled, Scaled(x[1])]:
        total = total + np.sum(each.scale * each.row * y)
    return total


def given(x, y, cls=Doubled):
    if x[0] > 5.0:
        cls = Scaled
    return np.sum(cls.apart(x, y) * cls.row)


def functions_of(kind, settings):
    chosen = None
    if kind is None or kind == "doubled":
        chosen = Doubled
    elif hasattr(kind, "apart"):
        chosen = kind
    if chosen is None:
        raise ValueError(kind)
    return chosen.apart, chosen.row


class Settings:
    def __init__(self, kind=None, **more):
        self.kind, self.more = kind, more


def by_settings(x, y, **options):
    settings = Settings(**options)
    apart, row = functions_of(settings.kind, settings)
    return np.sum(apart(x, y) * row)


def by_other_settings(x, y):
    return by_settings(x, y, kind=Scaled)


def of_modules(x, y):
    functions = math if x[0] > y[0] else np
    return functions.sin(x[0]) * functions.pi * y[0]


INSTEAD = (in_a_branch, in_a_list, given, by_settings, by_other_settings, of_modules)


@pytest.mark.parametrize("f", INSTEAD, ids=lambda f: f.__name__)
def test_a_class_instead_of_an_object(f):
    a, b = np.array([1.0, 2.0, 3.0]), np.array([0.5, 3.5, 0.2])
    for args in ((a, b), (b, a)):
        tl.check_grads(f, args, order=2)
        if "options" not in f.__code__.co_varnames:
            found = gradient(f, *args)
            expected = tl.grad(f, wrt=(0, 1))(*args)
            np.testing.assert_allclose(np.stack(found[:2]), np.stack(expected))


class Disc:
    """What a class computes is no field."""

    def __init__(self, r):
        self.r = r

    @property
    def width(self):
        return 2.0 * self.r**2


def scaled_width(disc, x):
    return disc.width * np.sin(x)


class Runner:
    def __init__(self, f):
        self.f = f

    def run(self, *args):
        return self.f(*args)


def test_properties_in_functions_that_only_the_run_knows():
    f = scaled_width
    runner, fs = Runner(f), [f, f]

    def by_a_field(disc, x):
        return runner.run(disc, x)

    def from_a_list(disc, x):
        return sum(g(disc, x) for g in fs[1:])

    expected = tl.grad(lambda r, x: f(Disc(r), x), wrt=("r", "x"))(0.7, 0.4)
    tl.check_grads(lambda r, x: f(Disc(r), x), (0.7, 0.4), order=2)
    for outer in (by_a_field, from_a_list):
        of_disc, of_x = tl.grad(outer, wrt=("disc", "x"))(Disc(0.7), 0.4)
        np.testing.assert_allclose((of_disc.r, of_x), expected)
        slope = tl.jvp(outer, (Disc(0.7), 0.4), (Disc(2.0), 3.0))[1]
        np.testing.assert_allclose(slope, 2.0 * expected[0] + 3.0 * expected[1])


class Plain:
    def __init__(self, w):
        self.w = w

    def dot(self, a, b):
        return self.w * a * b


class Computed(Plain):
    @property
    def dot(self):
        return lambda a, b: self.w * a + b


KINDS = {"plain": Plain, "computed": Computed}


def folded(x, kind):
    return np.sum(functools.reduce(KINDS[kind](x).dot, (x, x * x, x)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_method_of_one_class_that_another_one_computes(kind):
    """The branch for the first class was made again within its `else`, without end."""
    check_grads(folded, (X, kind), wrt=0)


def test_tangents_of_a_call_have_the_names_that_it_gives_them():
    """`x0.dot` has the name `x0_dot` in what is made of the call."""
    plain = Plain(X)
    method, method_dot = tangent_of(reader(plain, "dot"), 1, (0,))(plain, x0_dot=Plain(V))
    call = tangent_of(unbound(method), 3, (0, 1))
    value, value_dot = call(method, X, 2.0, x0_dot=method_dot, x1_dot=V)
    np.testing.assert_allclose(value, 2.0 * X * X)
    np.testing.assert_allclose(value_dot, 4.0 * X * V)


# ------------------------------------------------- classes that are asked how many numbers they need


class Dense:
    def __init__(self, p, rows, columns):
        self.w = p.reshape(rows, columns)

    def __call__(self, x):
        return x @ self.w

    @staticmethod
    def size(rows, columns):
        return rows * columns

    @classmethod
    def scaled(cls, p, k):
        return cls(p[:3] * k, 3, 1)


class Norm(Dense):
    def __init__(self, p, *_):
        self.w = p

    def __call__(self, x):
        return x * np.sum(self.w**2)

    @staticmethod
    def size(rows):
        return rows


LAYERS = {"dense": Dense, "norm": Norm}


class Sequential:
    def __init__(self, spec, p):
        self.layers, at = [], 0
        for name, *sizes in spec:
            cls = LAYERS[name]
            end = at + cls.size(*sizes)
            self.layers.append(cls(p[at:end], *sizes))
            at = end

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def of_layers(p, x):
    return np.sum(Sequential([("norm", 1), ("dense", 3, 1), ("norm", 2)], p)(x))


def by_a_class_method(p, x):
    total = 0.0
    for name, k in [("dense", 2), ("norm", 3)]:
        total += np.sum(LAYERS[name].scaled(p, k)(x))
    return total


def with_starred_sizes(p, x):
    total = 0.0
    for sizes in [(3, 1), (3, 2)]:
        layer = Dense(p[: 3 * sizes[1]], *sizes)
        total += np.sum(layer(x)) * layer.size(*sizes)
    return total


def of_classes_with_starred_sizes(p, x):
    total = 0.0
    for name, sizes in [("dense", (3, 1)), ("norm", (3,)), ("dense", (3, 2))]:
        layer = LAYERS[name](p[: LAYERS[name].size(*sizes)], *sizes)
        total += np.sum(layer(x)) * layer.size(*sizes)
    return total


ASKED = (of_layers, by_a_class_method, with_starred_sizes, of_classes_with_starred_sizes)


@pytest.mark.thorough
@pytest.mark.parametrize("f", one_in(len(ASKED), ASKED, 2), ids=lambda f: f.__name__)
def test_classes_that_are_asked_by_their_names(f):
    """`cls.size(n)` of a static method was called with the class, too."""
    p = np.linspace(-0.7, 0.9, 6)
    tl.check_grads(f, (p, X), wrt=0, order=2)
