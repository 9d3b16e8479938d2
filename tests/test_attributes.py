"""Attributes that are assigned: what is restored, what the caller sees, what is refused."""

from __future__ import annotations

import copy
import functools
import logging
import types
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.programs import BY_NAME, objects

X = np.array([0.4, -0.7, 1.1])


class State:
    def __init__(self, u, scale=0.5):
        self.u = u
        self.scale = scale
        self.kept = np.zeros(3)

    def keep(self, x):
        self.kept = x

    def grow(self, x):
        self.u += self.scale * x

    def both(self, x):
        self.kept = self.u
        self.u = x


def alias_of_a_number(state, x):
    before = state.scale
    state.scale = before * x
    return before * state.scale


def seen_through_an_attribute(state, x):
    y = x * 2.0
    state.keep(y)
    y[0] = y[1] * y[2]
    return np.sum(state.kept**2)


def array_under_two_names(state, x):
    u = state.u
    state.grow(x)
    return np.sum(u**2)


def two_attributes(state, x):
    state.both(x * 2.0)
    state.u[0] = 3.0 * x[1]
    return np.sum(state.kept * state.u)


def two_attributes_of_one_array(state, x):
    state.kept = state.u
    state.u[0] = 3.0 * x[1]
    return np.sum(state.kept * state.u)


def put(xs, a):
    xs.append(a)


def seen_through_a_list(x):
    y = x * 2.0
    xs = []
    put(xs, y)
    y[0] = y[1] * y[2]
    return np.sum(xs[0] ** 2)


def right_or_refused(fn: Any, args: tuple[Any, ...]) -> str:
    """ "right", or the message of the refusal; an assertion fails where a mode is wrong."""
    wrt = tuple(range(len(args)))
    directions = agreement.directions_for(args, wrt, 1)
    expected = agreement.slope(fn, args, directions)
    answer = "right"
    before = copy.deepcopy(args)
    try:
        gradient = tl.grad(fn, wrt=wrt)(*args)
    except tl.TangentlikeError as refusal:
        answer = str(refusal)
    else:
        got = agreement.inner(directions, list(gradient))
        assert agreement.close(got, expected, 1e-6), (got, expected)
    assert agreement.same_bits(args, before)
    try:
        _, tangent = tl.jvp(fn, args, tuple(directions))
    except tl.TangentlikeError as refusal:
        return str(refusal)
    assert agreement.close(float(tangent), expected, 1e-6), (tangent, expected)
    return answer


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (alias_of_a_number, "right"),
        (seen_through_an_attribute, "right"),
        (array_under_two_names, "right"),
        (two_attributes, "right"),
        (two_attributes_of_one_array, "right"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_right_or_refused(fn: Any, expected: str) -> None:
    x: Any = 0.8 if fn is alias_of_a_number else X
    assert expected in right_or_refused(fn, (State(X * 0.5), x))


def test_what_a_callee_keeps_is_seen_later() -> None:
    assert right_or_refused(seen_through_a_list, (X,)) == "right"


def test_an_object_that_holds_one_array_twice_is_refused() -> None:
    state = State(X.copy())
    state.kept = state.u
    with pytest.raises(tl.TangentlikeError, match="two arrays in it share memory"):
        tl.grad(two_attributes)(state, X)


SECOND = ("filtered", "swings", "cooled", "remembered", "overwritten_attribute", "along_links")


@pytest.mark.parametrize("name", SECOND)
def test_second_order(name: str) -> None:
    program = BY_NAME[f"objects.{name}"]
    args = program.arguments()
    directions = agreement.directions_for(args, (0,), 1)

    def slope_of(*moved: Any) -> float:
        return agreement.inner(directions[0], tl.grad(program.fn)(*moved))

    expected = agreement.slope(slope_of, args, directions)
    got = tl.hvp(program.fn)(*args, directions[0])
    assert agreement.close(agreement.inner(got, directions[0]), expected, 1e-5)


def test_jacobian_and_hessian_of_a_function_of_an_object() -> None:
    pendulum = objects.Pendulum(1.2, 0.1)
    slope = tl.jacobian(objects.swings)(pendulum, 0.05)
    gradient = tl.grad(objects.swings)(pendulum, 0.05)
    assert slope.length == pytest.approx(gradient.length, rel=1e-12)
    curved = tl.hessian(objects.swings, wrt=1)(pendulum, 0.05)
    step = 1e-5
    up = tl.grad(objects.swings, wrt=1)(pendulum, 0.05 + step)
    down = tl.grad(objects.swings, wrt=1)(pendulum, 0.05 - step)
    assert curved == pytest.approx((up - down) / (2 * step), rel=1e-6)


class Logged:
    def __init__(self, w):
        self.w = w
        self.log = logging.getLogger("tangentlike.tests")
        self.rng = np.random.default_rng(0)

    def loss(self, x):
        self.log.debug("loss")
        return np.sum(self.w * x * x)


def logged(model, x):
    return model.loss(x)


def test_an_object_may_hold_a_logger_and_a_generator() -> None:
    model = Logged(X.copy())
    gradient, slope = tl.grad(logged, wrt=(0, 1))(model, X)
    np.testing.assert_allclose(gradient.w, X**2)
    np.testing.assert_allclose(slope, 2.0 * X**2)
    _, tangent = tl.jvp(logged, (model, X), (Logged(np.ones(3)), np.zeros(3)))
    assert tangent == pytest.approx(np.sum(X**2))


def test_the_text_restores_attributes() -> None:
    df = tl.grad(
        objects.overwritten_attribute, example=BY_NAME["objects.overwritten_attribute"].arguments()
    )
    assert "model = copy(model)" in df.source
    assert "model_bar.state = zeros_like(model.state)" in df.source


class Cached:
    def __init__(self, w):
        self.w = w

    @functools.cached_property
    def norm(self):
        return np.sqrt(np.sum(self.w**2))

    def unit(self):
        return self.w / self.norm


def test_cached_property() -> None:
    """Its derivative got lost: what an object keeps was taken for a field of its own."""

    def of_argument(c, t):
        return c.norm * t

    def made(x):
        return np.sum(Cached(x).unit() ** 2 * x)

    x = np.array([0.3, 0.7])
    tl.check_grads(made, (x,))
    tl.check_grads(of_argument, (Cached(x), 2.0))
    kept = Cached(x)
    assert kept.norm > 0.0
    assert tl.grad(lambda c: np.sum(c.w))(kept).w.tolist() == [1.0, 1.0]


class Plain:
    pass


def made() -> Plain:
    return Plain()


def assign(o: Any, v: Any) -> None:
    o.v = v


def first_set_here(x: Any, o: Any) -> Any:
    o.v = x * 2
    return np.sum(x * x * o.v)


def first_set_in_a_call(x: Any, o: Any) -> Any:
    assign(o, x * 2)
    return np.sum(x * x)


@pytest.mark.parametrize("f", [first_set_here, first_set_in_a_call])
@pytest.mark.parametrize("cls", [Plain, types.SimpleNamespace])
def test_objects_without_attributes_are_left_alone(f: Any, cls: Any) -> None:
    """An object that had nothing yet was not copied, or was asked for what it had not."""
    given, x = cls(), np.array([0.5, -1.5])
    expected = agreement.slope(lambda x: f(x, cls()), (x,), [x])
    assert agreement.close(float(tl.grad(f)(x, given) @ x), expected, 1e-6)
    assert agreement.close(float(tl.jvp(f, (x, given), (x, None))[1]), expected, 1e-6)
    assert vars(given) == {}


def set_on_made_objects(x: Any) -> Any:
    first = made()
    first.v = x * x
    table, rows = {}, [Plain(), Plain()]
    for k, o in enumerate(rows):
        o.v = x * k
        table[k] = Plain()
        table[k].v = x + k
    return np.sum(first.v * rows[1].v * table[0].v)


def test_attributes_of_objects_made_elsewhere_may_be_new() -> None:
    tl.check_grads(set_on_made_objects, (np.array([0.5, -1.5]),))


class Named:
    """An object whose attributes have the names that its maker is given."""

    def __init__(self, power, **fields):
        self.power = power
        for name, value in fields.items():
            setattr(self, name, value)

    def area(self):
        return self.a * self.b**self.power


class Allowed:
    sizes = ("a", "b")

    def __init__(self, **fields):
        defaults = {"a": 1.5, "b": 2.0}
        for name, value in defaults.items():
            setattr(self, name, fields.get(name, value))
        for name in fields:
            if name not in self.sizes:
                raise ValueError(name)


def with_all(made, **fields):
    for name in fields:
        setattr(made, name, 2.0 * fields[name])
    return made


def doubled(made, **fields):
    for name in fields.keys():  # noqa: SIM118
        old = getattr(made, name)
        setattr(made, name, old * fields[name])
    return made


def named_by_the_call(x):
    return Named(2, a=x[0], b=x[1]).area()


def defaults_by_name(x):
    made = Allowed(a=x[0] * x[2])
    return made.a * made.b * x[1]


def set_by_a_helper(x):
    return with_all(Named(3, a=1.0, b=1.0), a=x[0], b=x[1]).area()


def changed_by_name(x):
    return doubled(Named(1, a=x[2], b=x[1]), a=x[0], b=x[1]).area()


def named_by_a_dict(x):
    fields = {"a": x[0], "b": x[1] ** 2}
    made = Named(2)
    for name, value in fields.items():
        setattr(made, name, value)
    return made.area()


def given_as_a_dict(x):
    fields = {"a": x[0], "b": x[1] ** 2}
    return Named(1, **fields).area()


@pytest.mark.parametrize(
    "fn",
    [
        *(named_by_the_call, defaults_by_name, set_by_a_helper),
        *(changed_by_name, named_by_a_dict, given_as_a_dict),
    ],
    ids=lambda fn: fn.__name__,
)
def test_attributes_by_the_keys_of_a_dict(fn: Any) -> None:
    tl.check_grads(fn, (np.array([0.5, 1.2, 0.7]),), order=2)


def named_by_a_dict_that_changes(x):
    fields = {"a": x[0]}
    made = Named(2, a=x[1], b=x[1])
    fields["b"] = x[0] * x[1]
    for name, value in fields.items():
        setattr(made, name, value)
    return made.area()


@pytest.mark.thorough
def test_the_keys_of_a_dict_that_changes_are_not_those_that_are_written_out() -> None:
    tl.check_grads(named_by_a_dict_that_changes, (np.array([0.5, 1.2]),), order=2)


# What a class holds: its tables are constants of every object.


class Substance:
    TABLE: ClassVar = {"water": (8.07, 1730.6, [0.3, 0.1]), "ethanol": (8.2, 1642.9, [0.5, 0.2])}
    SHAPES: ClassVar = {"tanh": np.tanh, "square": lambda z: z * z}
    counts: ClassVar = {"made": 0}
    weights = np.array([0.5, 0.7])

    def __init__(self, name, t, kind="tanh"):
        self.a, self.b, self.c = self.TABLE[name]
        self.t, self.kind = t, kind
        self.counts["made"] += 1

    def pressure(self):
        return self.SHAPES[self.kind](self.a - self.b / (self.t * 500.0)) + self.c[1] * self.t


def pressures(x):
    water, ethanol = Substance("water", x[0]), Substance("ethanol", x[1], "square")
    return water.pressure() * ethanol.pressure()


@pytest.mark.thorough
def test_tables_of_a_class():
    tl.check_grads(pressures, np.array([0.7, 0.9, 1.3]), order=2)


class Shared:
    entries: ClassVar = [0.1, 0.2]
    values = np.array([0.1, 0.2])
    named: ClassVar = {}

    def __init__(self, x):
        self.x = x

    def into_list(self):
        self.entries[1] = self.x[0] * 2.0
        return self

    def into_array(self):
        self.values[1] = self.x[0] * 2.0
        return self

    def into_dict(self):
        self.named["x"] = self.x[0]
        return self

    def sum(self):
        return self.x[0] * (self.entries[1] + self.values[1] + self.named.get("x", 1.0))


def through_a_list(x):
    p, q = Shared(x * x).into_list(), Shared(x)
    return p.sum() * q.sum()


def through_an_array(x):
    p, q = Shared(x * x).into_array(), Shared(x)
    return p.sum() * q.sum()


def through_a_dict(x):
    p, q = Shared(x * x).into_dict(), Shared(x)
    return p.sum() * q.sum()


@pytest.mark.parametrize("f", [through_a_list, through_an_array, through_a_dict])
def test_what_varies_in_a_table_that_objects_share_is_refused(f):
    x = np.array([0.7, 0.9])
    with pytest.raises(tl.UnsupportedError, match="what a class holds is changed"):
        tl.grad(f)(x)
    with pytest.raises(tl.UnsupportedError, match="what a class holds is changed"):
        tl.jvp(f, (x,), (x,))


# ---------------------------------------------------- fields named like attributes of arrays


class Gas:
    table: ClassVar = {"water": (8.07, 1730.6, 233.4), "ethanol": (8.2, 1642.9, 230.3)}

    def __init__(self, name, T, P=None):
        self.a, self.b, self.c = self.table[name]
        self.T = T
        self.P = P

    def saturation(self):
        return self.a - self.b / (self.c + self.T)


def by_a_table(x):
    gas = Gas("water", x[0] * 300.0, x[1])
    gas.T *= x[1]
    return gas.saturation() * gas.P + Gas("ethanol", x[1] * 300.0).T * x[0]


@dataclass
class Phase:
    T: float
    P: float

    def density(self):
        return self.P / self.T


def of_dataclasses(x):
    states = {"a": Phase(x[0], x[1]), "b": Phase(x[1], x[2])}
    total = states["a"].density()
    for key in sorted(states):
        total = total + states[key].T * states[key].density()
    for state in states.values():
        total = total + state.T**2
    return total


class Pair(NamedTuple):
    T: float
    P: float


def of_named_tuples(x):
    pair = Pair(x[0] * x[1], x[2])
    return pair.T**2 * pair.P + np.outer(x, x).T[0, 1] * x.real[2]


class Heated:
    def __init__(self, T):
        self.T = np.array(T)

    def step(self, k):
        self.T[1:-1] += k * (self.T[:-2] - 2.0 * self.T[1:-1] + self.T[2:])


def written_in_place(x):
    rod = Heated([x[0], x[1], x[2], x[0] * x[1]])
    for _ in range(3):
        rod.step(0.1)
    rod.T *= x[0]
    return np.sum(rod.T**2) + np.sum(np.outer(rod.T, x).T)


class Split:
    def __init__(self, real, imag):
        self.real = real
        self.imag = imag

    def __mul__(self, other):
        return Split(
            self.real * other.real - self.imag * other.imag,
            self.real * other.imag + self.imag * other.real,
        )


def parts_of_its_own(x):
    product = Split(x[0], x[1]) * Split(x[1], x[2])
    return product.real**2 + product.imag * x[2]


class Celsius:
    def __init__(self, T):
        self._T = T

    @property
    def T(self):
        return self._T + 273.0

    @T.setter
    def T(self, value):
        self._T = value - 273.0


def through_a_setter(x):
    state = Celsius(x[0])
    state.T = state.T * 3.0
    state._T *= x[1]
    return state.T**2 * 1e-4


class Ball:
    """Attributes that have no derivative where they are an array's."""

    ndim = 3

    def __init__(self, size, shape, strides=1):
        self.size, self.shape, self.strides = size, shape, strides

    @property
    def nbytes(self):
        return self.size**self.ndim / self.shape[1]

    @property
    def flags(self):
        return (self.ndim, self.strides)

    def grow(self, by):
        self.strides += 1
        self.size = self.size * by


def with_a_size(x):
    ball = Ball(x[0] * x[1], [x[2], x[1]])
    while ball.size < 2.0 or ball.strides < 4:
        ball.grow(ball.size + 1.0 if ball.strides < 3 else ball.shape[0] * 2.0)
    half = ball.size * 0.5 - x[0] * ball.nbytes
    total = sum(b.size * k for k, b in enumerate([ball, Ball(x[0], [1.0, 2.0])], ball.flags[0]))
    return half * ball.strides + x.size * total + ball.shape[0] * x.shape[0]


LIKE_ARRAYS = [
    with_a_size,
    by_a_table,
    of_dataclasses,
    of_named_tuples,
    written_in_place,
    through_a_setter,
]


@pytest.mark.parametrize("fn", [*LIKE_ARRAYS, parts_of_its_own], ids=lambda fn: fn.__name__)
def test_a_field_named_like_an_attribute_of_arrays(fn):
    tl.check_grads(fn, (np.array([0.7, 0.9, 1.3]),))


@pytest.mark.thorough
@pytest.mark.parametrize("fn", LIKE_ARRAYS, ids=lambda fn: fn.__name__)
def test_such_a_field_at_order_two(fn):
    tl.check_grads(fn, (np.array([0.7, 0.9, 1.3]),), order=2)


def test_such_a_field_of_an_argument():
    def by_state(state, x):
        return state.T * np.sum(x) + state.density()

    state, x = Phase(2.0, 3.0), np.array([0.7, 0.9])
    found = tl.grad(by_state)(state, x)
    np.testing.assert_allclose([found.T, found.P], [np.sum(x) - 0.75, 0.5])
    change = tl.jvp(by_state, (state, x), (Phase(1.0, 2.0), np.ones(2)))[1]
    assert change == pytest.approx(np.sum(x) - 0.75 + 1.0 + 4.0)


def test_such_a_field_of_what_nothing_is_known_of_is_refused():
    def coldest(x):
        states = sorted([Phase(v, 1.0) for v in x], key=lambda state: state.T)
        return states[0].T * x[0]

    x = np.array([0.7, 0.9, 1.3])
    try:
        found = tl.grad(coldest)(x)
    except tl.UnsupportedError as refusal:
        assert "is a field of an object here" in str(refusal)
        return
    np.testing.assert_allclose(found, [1.4, 0.0, 0.0])
