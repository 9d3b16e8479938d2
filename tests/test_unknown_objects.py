"""Objects of which nothing is known before the run: an array module by parameter, a registry.

`obj.name(x)` is no method of an array because arrays have one of that name: each derivative here
was zero, or an error of Python's.
"""

import functools
import importlib
import math
import re
import sys
import types
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tangentlike as tl
from tangentlike.cli.main import main
from tangentlike.frontend.structures import has_objects, structure_of
from tests import agreement

X = np.array([0.5, 0.7])
V = np.array([0.3, -0.2])
MODULES = {"np": np, "math": math}
NAMES = types.SimpleNamespace(act=np.tanh, sum=np.sum, square=lambda v: v * v)


class Registry:
    def act(self, x):
        return np.tanh(x)

    def mean(self, x):
        return np.mean(x) * 3.0

    def clip(self, low, high):
        return np.sum(low**3) * high

    @staticmethod
    def square(x):
        return x * x


class AnyName:
    def __getattr__(self, name):
        if name not in ("act", "sum"):
            raise AttributeError(name)
        return {"act": np.tanh, "sum": np.sum}[name]


REGISTRY = {"own": Registry(), "any": AnyName(), "class": Registry}


def none_or_module(x, xp=None):
    if xp is None:
        xp = np
    return xp.sum(xp.tanh(x))


def or_module(x, xp=None):
    xp = xp or np
    total = 0.0
    for _ in range(3):
        x = xp.tanh(x)
        total = total + xp.sum(x, axis=0)
    return total


def filled_in_place(x, xp=None):
    xp = np if xp is None else xp
    matrix = xp.eye(2) * 3.0
    h = xp.zeros(2)
    for i in range(2):
        h[i] = xp.sum(matrix.dot(x) * x[i])
    return h.sum() + xp.linalg.norm(xp.add.reduce(h) * x)


def helper(x, xp=np):
    return xp.sum(xp.tanh(x))


def chosen_in_helper(x, xp=None):
    if xp is None:
        xp = np
    return xp.tanh(x)


def with_helper(x):
    return helper(x) + np.sum(chosen_in_helper(x) * chosen_in_helper(x, np))


def passed_on(x, xp=None):
    return np.sum(chosen_in_helper(x, xp))


def from_dict(x):
    xp = MODULES["np"]
    return xp.max(x) + xp.sum(xp.dot(x, x)) + xp.clip(x, 0.6, 3.0).sum()


def scalar_module(x):
    m = MODULES["math"]
    return m.exp(x[0]) * m.sqrt(x[1]) + m.pow(x[0], 2)


def imported(x):
    xp = importlib.import_module("numpy")
    return xp.sum(xp.tanh(x))


def module_of(*arrays):
    for array in arrays:
        if type(array).__module__.startswith("cupy"):
            import cupy

            return cupy
    return np


def asked_of_the_array(x):
    xp = module_of(x)
    return xp.sum(xp.tanh(x))


def asked_of_modules(x):
    xp = sys.modules["numpy" if x.ndim else "math"]
    return xp.sum(xp.tanh(x))


def registered(x, name="own"):
    m = REGISTRY[name]
    return m.mean(m.act(m.square(x)))


def registered_class(x):
    return np.sum(REGISTRY["class"].square(x))


def answers_for_names(x):
    m = REGISTRY["any"]
    return m.sum(m.act(x))


def namespace(x):
    return NAMES.sum(NAMES.act(NAMES.square(x)))


def namespace_by_parameter(x, names=NAMES):
    return names.sum(names.act(names.square(x)))


def drawn(x):
    rng = {"r": np.random.default_rng(0)}["r"] if x.ndim else None
    rng = np.random.default_rng(0)
    return np.sum(x * rng.normal(x, 1.0))


ALL = [
    *(none_or_module, or_module, filled_in_place, with_helper, passed_on, from_dict),
    *(scalar_module, imported, asked_of_the_array, asked_of_modules, registered),
    *(registered_class, answers_for_names, namespace, namespace_by_parameter, drawn),
]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_derivatives(f):
    slope = agreement.slope(f, (X,), [V])
    gradient = tl.grad(f)
    assert abs(slope) > 1e-3
    assert abs(gradient(X) @ V - slope) < 1e-7
    assert abs(tl.jvp(f, (X,), (V,))[1] - slope) < 1e-7
    curve = agreement.slope(lambda x: gradient(x) @ V, (X,), [V])
    assert abs(tl.hvp(f)(X, V) @ V - curve) < 1e-6


def given(xp, x):
    return xp.sum(xp.tanh(x))


def test_source_before_a_call_is_right_and_after_it_what_was_used():
    df = tl.grad(given, wrt="x")
    namespace = {}
    exec(str(df.source), namespace)
    expected = 1.0 - np.tanh(X) ** 2
    assert np.allclose(namespace["given_grad"](np, X), expected)
    assert np.allclose(df(np, X), expected)
    assert "np.tanh(x)" in df.source and "pair_of" not in df.source
    df = tl.grad(none_or_module)
    df(X)
    assert "np.tanh(x)" in df.source and "pair_of" not in df.source
    df(X, np)
    assert "require_module(xp, np)" in df.source


def written_by_module(x, xp=np):
    h = xp.zeros_like(x)
    h[1:] = xp.cos(x[:-1])
    return xp.sum(h * xp.tanh(x))


@pytest.mark.parametrize("f", [filled_in_place, written_by_module])
def test_source_before_a_call_is_for_the_defaults(f):
    """Where nothing can be said without the class of `xp` (it was refused): a call that leaves it
    out has the default, and the text says so."""
    df = tl.grad(f)
    shown = str(df.source)
    namespace = {"np": np}
    exec(shown, namespace)
    assert np.allclose(namespace[f"{f.__name__}_grad"](X), df(X))
    assert re.search(r"@for_types\('.*xp: ", df.source)
    with pytest.raises(TypeError, match="for arguments of other types: it is for .*xp: "):
        namespace[f"{f.__name__}_grad"](X, math)
    assert "np.zeros" in str(tl.autodiff(f, mode="forward").source)


def test_specialised_source_refuses_other_arguments():
    df = tl.grad(none_or_module)
    df(X)
    namespace = {}
    exec(str(df.source), namespace)
    with pytest.raises(TypeError, match="for .*xp: None"):
        namespace["none_or_module_grad"](X, math)


def test_command_line_never_ships_zeros(tmp_path):
    file = tmp_path / "by_module.py"
    file.write_text("def loss(xp, x):\n    return xp.sum(xp.tanh(x))\n")
    shown = CliRunner().invoke(main, ["grad", f"{file}:loss", "--wrt", "x"])
    assert shown.exit_code == 0 and "zeros_like" not in shown.output
    namespace = {}
    exec(shown.output, namespace)
    assert np.allclose(namespace["loss_grad"](np, X), 1.0 - np.tanh(X) ** 2)
    alone = CliRunner().invoke(main, ["grad", f"{file}:loss", "--wrt", "x", "--standalone"])
    assert alone.exit_code == 1


def test_names_of_containers():
    """`table.get(x)` reads a dict by a key without derivatives, if `table` is a dict: where a call
    shows that it is no dict, the method is looked up."""

    class Table:
        def get(self, x):
            return x * x

        index = count = get

    tables = {"t": Table()}

    def by_get(x):
        return np.sum(tables["t"].get(x))

    def by_index(x):
        return np.sum(tables["t"].index(x))

    def by_count(x):
        return np.sum(tables["t"].count(x))

    for f in (by_get, by_index, by_count):
        tl.check_grads(f, (X,))
        assert np.allclose(tl.hvp(f)(X, V), 2.0 * V)


def test_object_with_names_of_arrays():
    """An object that has all that its methods would need to be those of an array."""

    class Box:
        ndim = 2

        def __init__(self, w):
            self.w = w

        def dot(self, x):
            return np.sum(self.w * x * x)

        def clip(self, x):
            return np.tanh(x) * self.w

    boxes = {"u": Box(np.array([0.2, 0.5])), "v": np.array([2.0, 3.0])}

    def loss(x, key="u"):
        total = 0.0
        for _ in range(2):
            total = total + boxes[key].dot(x) * np.sum(boxes["u"].clip(x))
        return total

    tl.check_grads(loss, (X,))
    tl.check_grads(lambda x: loss(x, "v"), (X,))
    assert np.allclose(tl.grad(loss)(X, "v"), tl.grad(lambda x: loss(x, "v"))(X))


def test_matrix_by_parameter_needs_no_run_time_derivative():
    def quadratic(x, a):
        return x.dot(a.dot(x))

    a = np.array([[2.0, 1.0], [0.0, 3.0]])
    df = tl.grad(quadratic)
    assert "require_values(a, 'dot')" in df.source
    assert np.allclose(df(X, a), (a + a.T) @ X)
    assert "require_values" not in df.source
    tl.check_grads(quadratic, (X, a))


def test_method_that_writes_its_object_is_refused():
    class Counting:
        calls = 0

        def act(self, x):
            self.calls += 1
            return x * self.calls

    counting = {"c": Counting()}

    def f(x):
        return np.sum(counting["c"].act(x))

    with pytest.raises(tl.UnsupportedError, match="writes"):
        tl.grad(f)(X)


def test_what_methods_of_unknown_objects_give_is_not_known():
    """`c = o.sum()` was taken for a number: the adjoint of a number it was multiplied with had
    the shape of `c`."""

    class Pair:
        def sum(self):
            return np.array([2.0, 3.0])

        def flatten(self):
            return [1.0, 4.0]

    pairs = {"p": Pair()}

    def f(x):
        pair = pairs["p"]
        c = pair.sum()
        return np.sum(c * x) + sum(pair.flatten()) * x

    for x in (0.5, np.array([0.5, 0.7])):
        g = lambda x: np.sum(f(x))  # noqa: E731
        assert np.shape(tl.grad(g)(x)) == np.shape(x)
        tl.check_grads(g, (x,))


class Sized:
    """An object that has what arrays have, and is none."""

    def __init__(self, w):
        self.w, self.shape, self.dtype, self.ndim = w, (2,), "f8", 1

    def copy(self):
        return Sized(self.w)


class SizedByClass:
    shape, dtype, ndim = (2,), float, 1

    def __init__(self, w):
        self.w = w


@pytest.mark.parametrize("cls", [Sized, SizedByClass])
def test_objects_with_attributes_of_arrays(cls):
    def f(x, a):
        held = [a, a]
        return np.sum(a.w * x * held[0].w) * a.ndim

    def written(x, a):
        a.w = a.w * x
        a.w[0] = x[1] * a.w[1]
        return np.sum(a.w * x)

    for g in (f, written):
        w = np.array([2.0, 3.0])
        x_bar, a_bar = tl.grad(g, wrt=("x", "a"))(X, cls(w.copy()))
        slope = agreement.slope(lambda w, g=g: g(X, cls(w)), (w,), [V])
        assert abs(a_bar.w @ V - slope) < 1e-6
        assert abs(x_bar @ V - agreement.slope(g, (X, cls(w)), [V, None])) < 1e-6


def shaped_as_the_argument(x):
    y = (x * 2.0).reshape(x.shape)
    z = y.reshape(-1, 1).sum(axis=1).astype(x.dtype)
    return np.sum(z * y.reshape(z.shape) ** 2)


def test_a_shape_gives_a_method_no_derivatives():
    """`y.reshape(x.shape)` needs no class of y, unlike `y.reshape(x)`: at any order."""
    gradient = tl.grad(shaped_as_the_argument)
    namespace = {}
    exec(str(gradient.source), namespace)
    assert np.allclose(namespace["shaped_as_the_argument_grad"](X), 24.0 * X**2)
    _, pullback = tl.vjp(gradient, X)
    assert np.allclose(pullback(V)[0], 48.0 * X * V)
    assert np.allclose(tl.hvp(shaped_as_the_argument)(X, V), 48.0 * X * V)


def with_two_arguments(a: Any, b: Any, xp: Any = np) -> Any:
    return 0.2 * xp.dot(a, b) * xp.take(b, 1)


class Weighed:
    def dot(self, a: Any, b: Any) -> Any:
        return np.sum(a * b * 2.0)


def of_an_object(o: Any, a: Any, b: Any) -> Any:
    return o.dot(a, b)


def into_an_output(a: Any, b: Any) -> Any:
    out = np.zeros(())
    a.dot(b, out)
    return out * 2.0


def test_a_second_argument_is_an_output_of_arrays_only() -> None:
    """`a.dot(b, out)` writes `out`; `xp.dot(a, b)` does not write `b`."""
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    shown = tl.grad(with_two_arguments)
    assert ".dot(a)" not in str(shown.source)
    np.testing.assert_allclose(shown(a, b), 0.2 * b * b[1])
    np.testing.assert_allclose(tl.grad(of_an_object, 1)(Weighed(), a, b), 2.0 * b)
    np.testing.assert_allclose(tl.grad(into_an_output)(a, b), 2.0 * b)
    tl.check_grads(into_an_output, (a, b))
    assert b.tolist() == [3.0, 4.0]


MASK = np.array([True, False])


def summed_into(x: Any) -> Any:
    return x.sum(axis=None, where=MASK, dtype=np.float64, out=np.empty(()))


def of_a_helper(x: Any) -> Any:
    return summed_into(x * x) * np.sum((x * x).cumsum(axis=0, out=np.empty(2)))


@pytest.mark.parametrize("f", [summed_into, of_a_helper])
def test_a_method_with_an_output_is_that_of_what_a_call_gives(f: Any) -> None:
    """Nothing says of what `x.sum(out=...)` is a method until a call shows an array."""
    tl.check_grads(f, (X,))


class Writing:
    """Its methods write what they are given, and give numbers that are not differentiated."""

    def act(self, x: Any) -> Any:
        x[0] = 3.0
        return x

    def put(self, x: Any) -> float:
        x[0] = 3.0
        return 1.0

    def size(self, x: Any) -> int:
        return len(x)


def writes_first(x: Any) -> float:
    x[0] = 3.0
    return 1.0


WRITING = {"k": Writing(), "f": writes_first}


def for_a_test(x):
    q = WRITING["k"]
    y = x * 2.0
    a = q.act(y)
    if np.sum(a) > 0.0:
        y = y * 2.0
    return np.sum(y * y)


def in_a_test(x):
    y = x * 2.0
    if WRITING["k"].put(y) > 0.0:
        y = y * 3.0
    return np.sum(y * y)


def in_the_test_of_a_loop(x):
    y, n = x * 2.0, 0
    while n < 2 and WRITING["f"](y) > 0.0:
        y, n = y * 3.0, n + 1
    return np.sum(y * y)


def in_a_key(x):
    y = x * 2.0
    z = y[int(WRITING["k"].put(y)) :] * 2.0
    return np.sum(y * y) + np.sum(z)


def in_a_list(x):
    y = [x * 2.0, x]
    n = WRITING["f"](y[0])  # noqa: F841
    return np.sum(y[0] * y[1])


def of_a_view(x):
    y = x * 2.0
    k = WRITING["k"].act(y[1:])
    return np.sum(y * y) * len(k)


def by_a_default(x, f=writes_first):
    y = x * 2.0
    n = f(y)
    return np.sum(y * y) + 0.0 * round(n)


def of_a_list_by_a_method(x):
    y = [x * 2.0, x]
    return np.sum(y[0] * y[1]) * WRITING["k"].size(y)


def of_numbers(x):
    total = x[0] * 2.0
    if WRITING["k"].size([total]) > 0:
        total = total * x[1]
    return total


class Grown:
    def __init__(self, v):
        self.v = v

    @property
    def both(self):
        return self.v * 2.0, self.v

    @property
    def twice(self):
        return self.v * 2.0

    def grow(self, c):
        self.v = self.v * c


GROWN = {"k": lambda x: Grown(x)}


def taken_apart(x):
    a = GROWN["k"](x)
    a.grow(x[0])
    u, v = a.both
    return np.sum(u * v)


def computed(x):
    a = GROWN["k"](x * x)
    a.grow(x[1])
    a.grow(3.0)
    return np.sum(a.twice * x)


def grown_in_a_loop(x):
    a = GROWN["k"](x)
    total = 0.0
    for c in x:
        a.grow(c)
        u, (v, w) = a.both
        total = total + np.sum(u) * v * w
    return total


@pytest.mark.parametrize("f", [taken_apart, computed, grown_in_a_loop])
def test_what_unknown_objects_compute_after_they_were_changed(f):
    """The items of a property were taken for what the object holds (zero, by identity), and where
    the property is asked for, a method that is called for what it does was taken to do nothing."""
    slope = agreement.slope(f, (X,), [V])
    assert abs(tl.grad(f)(X) @ V - slope) < 1e-6
    assert abs(tl.jvp(f, (X,), (V,))[1] - slope) < 1e-6


@pytest.mark.parametrize(
    "f",
    [for_a_test, in_a_test, in_the_test_of_a_loop, in_a_key, in_a_list, of_a_view, by_a_default]
    + [of_a_list_by_a_method, of_numbers],
)
def test_what_unknown_functions_write_is_not_missed(f):
    """Their results carry no derivative, so that it was not asked what the call does (a gradient
    of what was there before): right, or refused."""
    slope = agreement.slope(f, (X,), [V])
    for derive in (lambda: tl.grad(f)(X) @ V, lambda: tl.jvp(f, (X,), (V,))[1]):
        try:
            found = derive()
        except tl.UnsupportedError as refusal:
            assert refusal.hint
        else:
            assert abs(found - slope) < 1e-6


def test_a_test_of_a_loop_is_not_cut_short():
    """What a function writes in the test of a loop, which was emitted as `None`."""
    for _ in range(2):  # (at the first call, and remembered)
        tl.check_grads(in_the_test_of_a_loop, (X,))


def test_item_given_to_a_method_in_a_test():
    """What reads an item and tells a loop when to end is given what carries derivatives."""

    class Asked:
        def is_large(self, x):
            return np.sum(x) > 1.0

    asked = {"o": Asked()}

    def halved(x):
        parts = [x * 0.9]
        while asked["o"].is_large(parts[0]):
            parts[0] = parts[0] * 0.5
        return np.sum(parts[0] ** 2)

    tl.check_grads(halved, (X + 1.0,))


class Joint:
    """An object that holds another one twice."""

    def __init__(self, inner, w):
        self.left, self.right, self.w = inner, inner, w

    def __call__(self, x):
        return self.w * np.sin(x)


def test_what_objects_share_is_looked_at_once():
    joint = functools.reduce(Joint, [0.5] * 60, None)
    assert structure_of(joint).cls is Joint and has_objects([joint])
    joint.left = joint  # (and what holds itself)
    assert structure_of(joint, ranks=True).cls is Joint


def layers_of_dicts(x):
    layers = [{"w": x[0], "act": "tanh"}, {"w": x[1], "act": "relu"}]
    net = {"layers": layers, "scale": {"l2": x[1]}}
    acts = {"tanh": np.tanh, "relu": lambda v: max(v, 0.0)}
    h = 0.7
    for layer in net["layers"]:
        h = acts[layer["act"]](layer["w"] * h)
    net["scale"]["l2"] *= 2.0
    return h + net["scale"]["l2"] * sum(layer["w"] ** 2 for layer in net["layers"])


@pytest.mark.thorough
def test_a_product_that_is_given_to_an_unknown_function_may_be_a_number():
    """Only that of a list and a count shares its items with a list."""
    tl.check_grads(layers_of_dicts, (np.array([0.4, 1.1]),), order=2)


def asked_and_made(x):
    act, parts = ASKED["make"], [x * 0.9]
    while ASKED["o"].is_large(parts[0]):
        parts[0] = parts[0] * 0.5
    return np.sum(parts[0] ** 2) + np.sum(act(x)(x))


class Asks:
    def is_large(self, x):
        return np.sum(x) > 1.0


ASKED = {"o": Asks(), "make": lambda v: Joint(None, v)}


@pytest.mark.thorough
def test_a_derivative_of_a_method_held_by_its_object_is_differentiated():
    """(It is a `functools.partial`: the function in it was printed by a name with a dot.)"""
    tl.check_grads(asked_and_made, (X + 1.0,), order=2)


class Changed:
    """A class whose methods have the names that methods of containers have, and change it."""

    def __init__(self):
        self.p, self.known = np.ones(2), None

    def update(self, z):
        self.p, self.known = self.p * z, None

    def clear(self):
        self.p = self.p * self.p

    def count(self):
        self.p = self.p * 1.5
        return np.sum(self.p)

    def items(self):
        self.p = self.p + self.p**2

    def cumsum(self, a, z):
        self.p = self.p * z

    def value(self):
        return np.sum(self.p**2)

    @property
    def energy(self):
        if self.known is None:
            self.known = np.sum(self.p**2)
        return self.known

    @property
    def size(self):
        return np.sum(self.p**2)


def given_an_object(x, changed):
    changed.p = changed.p * x
    return changed


def of_a_class_that_is_given(x, cls=Changed):
    changed = given_an_object(x, cls())
    changed.update(1.5)
    changed.clear()
    return np.sum(changed.p**2)


def that_gives_something(x, cls=Changed):
    changed = given_an_object(x, cls())
    n = changed.count()
    changed.items()
    return n * np.sum(changed.p)


def with_a_number_for_a_type(x, cls=Changed):
    changed = given_an_object(x, cls())
    changed.cumsum(0, 1.5)
    return np.sum(changed.p**2)


def in_rounds(x, cls=Changed):
    changed = given_an_object(x, cls())
    for z in (0.5, 1.5):
        changed.update(z)
    return changed.value()


def computed_when_it_is_read(x, cls=Changed):
    changed, total = given_an_object(x, cls()), 0.0
    for z in (0.5, 1.5):
        changed.update(z)
        total += changed.energy * changed.energy
    return total


def of_a_size(x, cls=Changed):
    changed = given_an_object(x, cls())
    return changed.size * changed.size


@pytest.mark.parametrize(
    "f",
    [
        *(of_a_class_that_is_given, with_a_number_for_a_type, in_rounds, computed_when_it_is_read),
        of_a_size,
        pytest.param(that_gives_something, marks=pytest.mark.xfail(raises=tl.UnsupportedError)),
    ],
)
def test_methods_with_names_of_those_of_containers_change_their_object(f):
    """(`changed.update(1.5)` was taken for that of a dict, which takes in a constant.)"""
    value, slope = tl.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7))
    assert slope == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6)
    assert tl.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope)


class Shape:
    """Its names are those of methods and attributes of arrays that write, or give views."""

    def __init__(self, v):
        self.v = v

    def fill(self, s):
        self.v = self.v * s

    def sort(self):
        self.v = self.v**2

    def partition(self, k):
        self.v = self.v + k * self.v**2

    @property
    def real(self):
        return self.v * 3.0

    @property
    def T(self):
        return self.v + self.v**2


def filled(x, cls=Shape):
    shape = given_a_value(x, cls(x))
    shape.fill(x)
    return shape.v


def sorted_twice(x, cls=Shape):
    shape = given_a_value(x, cls(x))
    for _ in range(2):
        shape.sort()
    return shape.v * x


def parted(x, cls=Shape):
    shape = given_a_value(x, cls(x))
    shape.partition(2)
    return shape.v * x


def real_and_turned(x, cls=Shape):
    shape = given_a_value(x, cls(x))
    return shape.real * shape.T


def given_a_value(x, shape):
    shape.v = x
    return shape


@pytest.mark.parametrize("f", [filled, sorted_twice, parted, real_and_turned])
def test_names_of_what_arrays_have(f):
    slope = tl.grad(f)(0.7)
    assert slope == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6)
    assert tl.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope)


class Lazy:
    def __init__(self, v):
        self.v = v

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.__dict__[name] = found = self.v * len(name)
        return found


def made_of(cls, x):
    return cls(x)


def stored_when_it_is_read(x, cls=Lazy):
    lazy = made_of(cls, x)
    return lazy.area * lazy.area


def test_what_is_stored_when_it_is_read_is_no_field():
    """(The gradient was zero.)"""
    for derive in (tl.grad, tl.jacfwd):
        with pytest.raises(tl.UnsupportedError):
            derive(stored_when_it_is_read)(0.7)
