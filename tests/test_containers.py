"""Containers and objects that are read, made and returned: both modes, each beside differences."""

from __future__ import annotations

import copy
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

State = namedtuple("State", ["q", "p"])


class Normal(NamedTuple):
    mean: Any
    std: Any = 1.5

    @property
    def variance(self) -> Any:
        return self.std**2


@dataclass
class Layer:
    w: np.ndarray
    b: float
    name: str = "dense"


@dataclass(frozen=True)
class Net:
    first: Layer
    layers: list[Layer] = field(default_factory=list)


@dataclass
class Box:
    size: float


class Model:
    scale = 2.0

    def __init__(self, w: Any, b: Any) -> None:
        self.w = w
        self.b = b
        self.steps = 3

    @property
    def norm(self) -> Any:
        return np.sum(self.w * self.w)

    def __call__(self, x: Any) -> Any:
        return self.w * x


class Slotted:
    __slots__ = ("b", "w")

    def __init__(self, w: Any, b: Any) -> None:
        self.w = w
        self.b = b


# ------------------------------------------------------------------------------- programs


def object_fields(model, x):
    return np.sum(np.tanh(model.w * x + model.b)) * model.scale


def slots(model, x):
    return np.sum(model.w * x) * model.b


def field_read_twice(model, x):
    return np.sum(model.w * x) + np.sum(model.w * model.w) * model.b


def field_in_loop(model, x):
    for _ in range(model.steps):
        x = np.sin(model.w * x) + model.b
    return np.sum(x)


def field_in_branch(model, x):
    if np.sum(model.w) > 0.0:
        return np.sum(model.w * x)
    return np.sum(model.w * model.w) * model.b


def nested_objects(net, x):
    s = x * net.first.b
    for layer in net.layers:
        s = np.tanh(layer.w * s + layer.b)
    return np.sum(s)


def objects_of_containers(model, x):
    return np.sum(model.w["a"] * x + model.w["b"][1]) * model.b[0]


def namedtuple_all_ways(state, x):
    q, p = state
    for v in state:
        x = x * v
    return np.sum(x * q[0] * state[1] * state.p)


def named_like_methods(normal, x):
    return np.sum((x - normal.mean) ** 2) / normal.std


def object_to_two_helpers(model, x):
    def shift(m):
        return x + m.b

    return np.sum(_scaled(model, x) * shift(model) * model.w)


def _scaled(model, x):
    return model.w * x * model.b


def items_in_loop(table, x):
    for name, value in table.items():
        if name != "b":
            x = np.sin(x * value)
    return np.sum(x)


def items_of_pairs(table, x):
    for _, (q, p) in table.items():
        x = x * q + p
    return np.sum(x)


def items_enumerated(table, x):
    for k, (_, value) in enumerate(table.items()):
        x = x + (k + 1.0) * value * x
    return np.sum(x)


def items_sorted(table, x):
    for _, value in sorted(table.items()):
        x = np.sin(x * value)
    return np.sum(x)


def items_with_break(table, x):
    for name, value in table.items():
        x = x * value
        if name == "a":
            break
    return np.sum(x)


def values_in_loop(table, x):
    for value in table.values():
        x = np.cos(x * value)
    return np.sum(x)


def values_zipped(table, x):
    s = 0.0
    for weight, value in zip([1.0, 2.0], table.values()):
        s = s + weight * np.sum(value * x)
    return s


def values_summed(table, x):
    return sum(np.sum(v * x) for v in table.values()) * len(table)


def values_stacked(table, x):
    return np.sum(np.stack(list(table.values())) * x)


def keys_in_loop(table, x):
    for name in table.keys():  # noqa: SIM118
        x = x * table[name]
    for name in table:
        x = x + table[name]
    return np.sum(x)


def get_or_else(table, x):
    w = table.get("missing", 2.0 * x)
    a = table.get("a", 1.0)
    return np.sum(w * a * table.get("b"))


def keys_that_are_numbers(table, x):
    s = 0.0
    for power, c in table.items():
        s = s + c * np.sum(x**power)
    for power in table:
        s = s + table[power] * power
    return s


def keys_listed(table, x):
    first, second = table
    s = x * first + second
    for power in sorted(table):
        s = s + np.sum(x**power) * table[power]
    return np.sum(s) * max(table) * sum(table)


def keys_filtered(tables, x):
    s = 0.0
    for table in tables:
        for key in [k for k in table if k != 1]:
            s = s + np.sum(table[key] * x) * key
    return s


def dict_of_dicts(tables, x):
    for inner in tables.values():
        for key, value in inner.items():
            x = x * value + (key == "u")
    return np.sum(x)


def dict_comprehension(table, x):
    made = {k: np.sin(v) * x for k, v in table.items()}
    return np.sum(made["a"] * made["b"])


def _step(state, dt):
    return State(state.q + dt * state.p, state.p - dt * np.sin(state.q))


def namedtuple_returned(state, dt):
    for _ in range(4):
        state = _step(state, dt)
    return np.sum(state.q**2) + np.sum(state.p)


def default_fields(x, y):
    one = Normal(np.sum(x))
    two = Normal(mean=y[0], std=np.sum(x * y))
    return one.mean * one.std * two.mean / two.std


def dataclasses_made(x, y):
    first, second = Layer(x, y[0] * 2.0), Layer(w=y, b=np.sum(x))
    net = Net(first, [first, second])
    s = 1.0
    for layer in net.layers:
        s = s * np.sum(np.sin(layer.w)) * layer.b
    return s * net.first.b


def made_in_branches(state, x):
    if np.sum(x) > 0.0:
        other = State(state.p, state.q)
    else:
        other = State(2.0 * state.q, state.p)
    return np.sum(other.q * x * other.p)


def _parts(table):
    return {"sum": table["a"] + table["b"], "both": [table["a"] * table["b"], table["b"]]}


def dict_returned(table, x):
    parts = _parts(table)
    return np.sum(parts["sum"] * x) + np.sum(parts["both"][0] * parts["both"][1])


def _pair(x, y):
    return x * y, [x, y * y]


def tuple_returned(x, y):
    product, rest = _pair(x, y)
    again = _pair(product, rest[1])
    return np.sum(again[0] * again[1][0])


def _total(*parts, scale=1.0):
    s = 0.0
    for part in parts:
        s = s + scale * part
    return s


def starred_call(x, y):
    pair = (x * y, x - y)
    return np.sum(_total(x, *pair) * _total(*pair, scale=3.0)) + _total()


def _options(x, **options):
    return x * options["rate"] + options.get("shift", 0.0)


def keywords_collected(x, y):
    return np.sum(_options(x, rate=y) * _options(y, rate=2.0, shift=x))


def _twice(f, x):
    return f(f(x))


def _square(x):
    return x * x


def function_passed(x, y):
    return np.sum(_twice(_square, x) * _twice(np.sin, y))


def _through(f, x, n):
    return x if n == 0 else _through(f, f(x), n - 1)


def function_passed_on(x, y):
    return np.sum(_through(np.sin, x, 3) * _through(_square, y, 2))


def _fold(f, items, start):
    for item in items:
        start = f(start, item)
    return start


def function_of_two(x, y):
    return np.sum(_fold(np.multiply, [x, y, x], 1.0))


def _weight(tree, w):
    if isinstance(tree, tuple):
        left, right = tree
        return np.tanh(w[0] * _weight(left, w) + w[1] * _weight(right, w))
    return w[2] * tree


def tree(leaves, w):
    return _weight(leaves, w)


X, Y = np.random.default_rng(7).normal(size=(2, 3))
TABLE = {"a": X, "b": Y}
MODEL = Model(X, 0.3)
NET = Net(Layer(X, 0.3), [Layer(2.0 * X, 0.1), Layer(Y, 0.2, "last")])

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (object_fields, (MODEL, Y)),
    (slots, (Slotted(X, 0.7), Y)),
    (field_read_twice, (MODEL, Y)),
    (field_in_loop, (MODEL, Y)),
    (field_in_branch, (MODEL, Y)),
    (field_in_branch, (Model(-np.abs(X), 0.2), Y)),
    (nested_objects, (NET, Y)),
    (objects_of_containers, (Model({"a": X, "b": (1.0, Y)}, [0.5]), Y)),
    (namedtuple_all_ways, (State(X, Y), X)),
    (named_like_methods, (Normal(0.3, 1.7), X)),
    (object_to_two_helpers, (MODEL, Y)),
    (items_in_loop, (TABLE, X)),
    (items_in_loop, (OrderedDict(TABLE), X)),
    (items_of_pairs, ({"u": (X, 0.5), "v": (Y, 1.5)}, X)),
    (items_enumerated, (TABLE, X)),
    (items_sorted, ({"b": X, "a": Y}, X)),
    (items_with_break, ({"c": X, "a": Y, "b": X}, Y)),
    (values_in_loop, (TABLE, X)),
    (values_zipped, (TABLE, X)),
    (values_summed, (TABLE, X)),
    (values_stacked, (TABLE, X)),
    (keys_in_loop, (TABLE, X)),
    (get_or_else, (TABLE, X)),
    (keys_that_are_numbers, ({1: 0.5, 3: -0.2}, X)),
    (keys_listed, ({2: 0.5, 3: -0.2}, X)),
    (keys_filtered, ([{1: X, 2: Y}, {3: X}], X)),
    (dict_of_dicts, ({"s": {"u": X, "v": Y}, "t": {"u": Y}}, X)),
    (dict_comprehension, (TABLE, X)),
    (namedtuple_returned, (State(X, Y), 0.1)),
    (default_fields, (X, Y)),
    (dataclasses_made, (X, Y)),
    (made_in_branches, (State(X, Y), X)),
    (made_in_branches, (State(X, Y), -X)),
    (dict_returned, (TABLE, X)),
    (tuple_returned, (X, Y)),
    (starred_call, (X, Y)),
    (keywords_collected, (X, Y)),
    (function_passed, (X, Y)),
    (function_passed_on, (X, Y)),
    (function_of_two, (X, Y)),
    (tree, (((0.1, 0.7), (0.3, (0.5, -0.2))), Y)),
]
IDS = [f"{fn.__name__}{n}" for n, (fn, _) in enumerate(PROGRAMS)]


def _plain(x: Any) -> Any:
    """Objects as dicts of their fields, which the witnesses understand."""
    if isinstance(x, (Model, Slotted)):
        names = [n for n in ("w", "b", "steps") if hasattr(x, n)]
        return {name: _plain(getattr(x, name)) for name in names}
    if isinstance(x, dict):
        return {key: _plain(item) for key, item in x.items()}
    return x


def _like(x: Any, plain: Any) -> Any:
    """An object again, from the dict that stands for it."""
    if isinstance(x, (Model, Slotted)):
        made = copy.copy(x)
        for name, item in plain.items():
            setattr(made, name, _like(getattr(x, name), item))
        return made
    if isinstance(x, dict):
        return type(x)((key, _like(item, plain[key])) for key, item in x.items())
    return plain


def _slope(fn: Callable[..., Any], args: tuple[Any, ...], directions: list[Any]) -> float:
    def on_plain(*given: Any) -> Any:
        return fn(*(_like(arg, value) for arg, value in zip(args, given, strict=True)))

    return agreement.slope(on_plain, tuple(map(_plain, args)), directions)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=IDS)
def test_agrees_with_differences(fn: Callable[..., Any], args: tuple[Any, ...], mode: str) -> None:
    wrt = tuple(range(len(args)))
    directions = agreement.directions_for(tuple(map(_plain, args)), wrt, 3)
    expected = _slope(fn, args, directions)
    before = copy.deepcopy(tuple(map(_plain, args)))
    if mode == "forward":
        tangents = tuple(_like(a, d) for a, d in zip(args, directions, strict=True))
        got = float(tl.jvp(fn, args, tangents)[1])
    else:
        gradient = tl.grad(fn, wrt=wrt)(*args)
        for part, arg in zip(gradient, args, strict=True):
            assert type(part) is type(arg)
        got = agreement.inner(directions, list(map(_plain, gradient)))
    assert agreement.close(got, expected, 1e-6), (got, expected)
    assert agreement.same_bits(tuple(map(_plain, args)), before)


@pytest.mark.parametrize(
    ("fn", "args", "vector"),
    [
        (object_fields, (MODEL, Y), Model(Y, 1.0)),
        (dict_returned, (TABLE, X), {"a": Y, "b": X}),
        (items_in_loop, (TABLE, X), {"a": Y, "b": X}),
        (namedtuple_returned, (State(X, Y), 0.1), State(Y, X)),
        (dataclasses_made, (X, Y), Y),
        (starred_call, (X, Y), Y),
        (function_passed, (X, Y), Y),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_derivatives_of_derivatives(
    fn: Callable[..., Any], args: tuple[Any, ...], vector: Any
) -> None:
    first, *rest = args
    product = tl.hvp(fn)(*args, v=vector)
    gradient = tl.grad(fn)

    def along(x: Any) -> Any:
        return _plain(gradient(_like(first, x), *rest))

    h, plain, direction = 1e-5, _plain(first), _plain(vector)
    ahead = along(agreement.moved(plain, h, direction))
    behind = along(agreement.moved(plain, -h, direction))
    test = agreement.random_direction(plain, np.random.default_rng(5))
    expected = (agreement.inner(test, ahead) - agreement.inner(test, behind)) / (2.0 * h)
    assert agreement.close(agreement.inner(test, _plain(product)), expected, 1e-6)


# ------------------------------------------------------------------------ structured results


def _made(state, x):
    return State(state.q * x, {"u": state.p, "v": (x, 2.0)})


def test_pullback_takes_structured_seeds() -> None:
    value, pullback = tl.vjp(_made, State(X, Y), X)
    assert type(value) is State
    seed = State(Y, {"u": X, "v": (Y, None)})
    state_bar, x_bar = pullback(seed)
    assert type(state_bar) is State
    np.testing.assert_allclose(state_bar.q, Y * X)
    np.testing.assert_allclose(state_bar.p, X)
    np.testing.assert_allclose(x_bar, Y * X + Y)
    np.testing.assert_allclose(pullback(State(None, None))[1], 0.0)


def test_tangent_of_a_structured_result() -> None:
    _, tangent = tl.jvp(_made, (State(X, Y), X), (State(Y, X), None))
    assert type(tangent) is State
    np.testing.assert_allclose(tangent.q, Y * X)
    np.testing.assert_allclose(tangent.p["u"], X)
    np.testing.assert_allclose(tangent.p["v"][0], 0.0)


def test_dataclass_results() -> None:
    def made(x, b):
        return Layer(x * b, 2.0 * b)

    value, pullback = tl.vjp(made, X, 0.5)
    assert type(value) is Layer
    x_bar, b_bar = pullback(Layer(Y, 1.0, ""))
    np.testing.assert_allclose(x_bar, 0.5 * Y)
    np.testing.assert_allclose(b_bar, np.sum(X * Y) + 2.0)
    tangent = tl.jvp(made, (X, 0.5), (Y, 1.0))[1]
    assert type(tangent) is Layer and tangent.name is None and tangent.b == 2.0


def test_gradient_has_none_for_what_carries_no_derivative() -> None:
    gradient = tl.grad(object_fields)(MODEL, Y)
    assert type(gradient) is Model and gradient.steps is None and gradient is not MODEL
    net = tl.grad(nested_objects)(NET, Y)
    assert net.layers[1].name is None and type(net.layers[0]) is Layer


def test_seed_items_are_accumulated_apart() -> None:
    def both(pair):
        return pair, np.sum(pair[0] * pair[1])

    _, pullback = tl.vjp(both, (X, Y))
    seed = ((X.copy(), Y.copy()), 1.0)
    for _ in range(2):
        ((x_bar, y_bar),) = pullback(seed)
        np.testing.assert_allclose(x_bar, X + Y)
        np.testing.assert_allclose(y_bar, Y + X)
    np.testing.assert_array_equal(seed[0][0], X)


# ------------------------------------- items and fields that a branch replaces


def _asked_by_another_name(x, y):
    parts = [x * 0.9, y]
    for _ in range(4):
        p = parts[0]
        if np.sum(p) > 1.0:
            parts[0] = parts[0] * 0.5
    return np.sum(parts[0] ** 2)


def _written_and_replaced(x, y):
    parts = {"u": x * 0.9, "v": y * x}
    for k in ("u", "v", "u"):
        p = parts[k]
        if np.sum(p) > 1.0:
            p *= 0.5
            parts[k] = p * np.sin(p)
    return np.sum(parts["u"] ** 2 + parts["v"])


def _in_a_field(x, y):
    box = Box(x * 0.9)
    for _ in range(4):
        p = box.size
        if np.sum(p) > 1.0:
            p *= 0.5
            box.size = p * np.sin(p)
    return np.sum(box.size**2) + np.sum(x * y)


def _swapped(x, y):
    parts, i = [x * 0.9, y * 1.2], 0
    while i < 3:
        a, b = parts[0], parts[1]
        if np.sum(a) < np.sum(b):
            parts[0], parts[1] = b, a * np.sin(b)
        i += 1
    return np.sum(parts[0] ** 2) + 2.0 * np.sum(parts[1] ** 2)


@pytest.mark.parametrize(
    "fn", [_asked_by_another_name, _written_and_replaced, _in_a_field, _swapped]
)
def test_what_a_branch_replaces_was_asked_for_before(fn) -> None:
    """(The sweep took the test from what had been put there since: an item or a field was taken
    for a view of an array, which is restored in place.)"""
    tl.check_grads(fn, (np.array([1.3, 0.5, 0.9]), np.array([0.7, 1.1, 1.6])))


# -------------------------------------------------------------------------------- refusals


def _unknown_count(x, y):
    pair = [x, y]
    pair.append(x)
    return np.sum(_total(*pair))


def test_a_list_that_grew_is_unpacked() -> None:
    tl.check_grads(_unknown_count, (X, Y))


def _assigns_field(model, x):
    model.w = 2.0 * x
    return np.sum(model.w * x)


def test_assigned_fields() -> None:
    model = Model(X, 0.3)
    gradient, slope = tl.grad(_assigns_field, wrt=(0, 1))(model, Y)
    np.testing.assert_allclose(gradient.w, 0.0)
    np.testing.assert_allclose(slope, 4.0 * Y)
    _, tangent = tl.jvp(_assigns_field, (model, Y), (Model(X, 1.0), X))
    np.testing.assert_allclose(tangent, 4.0 * np.sum(X * Y))
    assert model.w is X


def test_arguments_spread_over_a_starred_parameter() -> None:
    def product(x, *others):
        for other in others:
            x = x * np.sin(other)
        return np.sum(x)

    value, pullback = tl.vjp(product, X, Y, X)
    tangent = tl.jvp(product, (X, Y, X), (Y, X, Y))[1]
    assert np.isclose(value, np.sum(X * np.sin(Y) * np.sin(X)))
    bars = pullback(1.0)
    assert np.isclose(tangent, sum(np.sum(b * d) for b, d in zip(bars, (Y, X, Y), strict=True)))


def by_loop(x, n):
    t = {1.0: x, 2.0: x * x} if n else [x]
    s = 0.0
    for k in t:
        s = s + k * x
    return s


def chosen(x, n):
    return {1.0: x} if n else [x]


def by_helper(x, n):
    return sum(k * x for k in chosen(x, n))


def unpacked(x, n):
    t = {1.0: x, 2.0: x * x} if n else (x, x)
    a, b = t
    return a * b * x


def largest(x, n):
    t = {1.0: x, 2.0: x * x} if n else [x]
    return max(t) * sorted(t)[0] * sum(list(t)) * x


@pytest.mark.parametrize("f", [by_loop, by_helper, unpacked, largest], ids=lambda f: f.__name__)
def test_keys_of_what_may_be_a_dict_are_not_taken_for_values(f: Any) -> None:
    tl.check_grads(f, (0.7, 0))
    for derivative in (tl.grad(f), lambda x, n: tl.jvp(f, (x, n), (1.0, None))):
        with pytest.raises(
            tl.UnsupportedError,
            match="written for a list or an array and got a dict|written for a tuple.* and got a dict",
        ):
            derivative(0.7, 1)


def list_or_array_extended(x, t):
    p = x
    if t > 0.0:
        p = []
        for v in x:
            p.append(v * t)
            p += [v]
    return np.sum(x) * p[0]


def test_what_is_a_list_in_one_branch_only() -> None:
    tl.check_grads(list_or_array_extended, (np.array([0.3, 0.8]), 0.7))
