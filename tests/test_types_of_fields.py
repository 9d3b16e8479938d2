"""Ranks reach fields of objects, entries of dicts and items of lists, and stay true of them."""

import copy
import dataclasses
import re
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

import tangentlike as tl

RNG = np.random.default_rng(7)
HELPERS = re.compile(r"\b(unbroadcast|matmul_bar_[ab]|broadcast_like|reshape_like)\(")


def made(*shape):
    return 0.5 * RNG.normal(size=shape)


class Holder:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def scaled(self, x):
        return np.sum(np.tanh(self.w * x + self.b))

    def widen(self):
        self.w = self.w[:, None]

    def widen_if(self, x):
        if np.sum(x) > 0.0:
            self.w = self.w[:, None]
        return np.sum(np.tanh(self.w * x))


@dataclasses.dataclass
class Pair:
    w: object
    b: object

    def __call__(self, x):
        return np.tanh(x * self.w + self.b)


class Setter:
    def __init__(self, w):
        self._w = w

    @property
    def w(self):
        return self._w

    @w.setter
    def w(self, value):
        self._w = value[:, None]


class Linear:
    def __init__(self, n, m):
        self.weight, self.bias = made(n, m), made(m)

    def __call__(self, x):
        return x @ self.weight + self.bias


class Stack:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = np.tanh(layer(x))
        return x


class Filter:
    def __init__(self, a, h):
        self.a, self.h = a, h
        self.state, self.cov = np.zeros(2), np.eye(2)

    def step(self, z):
        self.state, self.cov = self.a @ self.state, self.a @ self.cov @ self.a.T
        s = self.h @ self.cov @ self.h.T + np.eye(3)
        gain, error = self.cov @ self.h.T @ np.linalg.inv(s), z - self.h @ self.state
        self.state = self.state + gain @ error
        self.cov = self.cov - gain @ self.h @ self.cov
        return error @ error


State = namedtuple("State", "x v")


def of_layers(net, x):
    return np.sum(net(x) ** 2)


def of_filter(kf, zs):
    total = 0.0
    for z in zs:
        total += kf.step(z)
    return total


def of_dict(p, x):
    h = np.tanh(x @ p["one"]["w"] + p["one"]["b"])
    return np.mean((h @ p["two"]["w"] + p["two"]["b"]) ** 2) * p["scale"]


def of_pairs(layers, x):
    for w, b in layers:
        x = np.tanh(x @ w + b)
    return np.sum(x)


def unpacked(p):
    return p["w"], p["b"]


def of_helper(p, x):
    w, b = unpacked(p)
    return np.sum(np.tanh(x @ w + b))


def of_values(p, x):
    total = np.sum(p["w"] * x + p["b"])
    for value in p.values():
        total = total + np.sum(value * value)
    return total


def of_states(state, k):
    for _ in range(3):
        state = State(state.x + 0.1 * state.v, state.v - 0.1 * k * state.x)
    return np.sum(state.x * state.v)


def of_namespace(ns, x):
    return np.sum(np.tanh(x @ ns.w + ns.b) * ns.c)


def of_sizes(p, y):
    n = len(y)
    k = p["k"] + p["noise"] * np.eye(n) + 0.5 * np.identity(y.shape[0])
    return np.sum(np.tanh(k) * k) + np.sum(y)


def of_state(state, k):
    return np.sum(state.x * k) + np.sum(state.v * state.x)


PLAIN = [
    (of_layers, (Stack(Linear(4, 3), Linear(3, 2)), made(5, 4))),
    (of_filter, (Filter(np.eye(2) + made(2, 2), made(3, 2)), made(3, 3))),
    (
        of_dict,
        (
            {"one": {"w": made(4, 3), "b": made(3)}, "two": {"w": made(3, 2), "b": made(2)}}
            | {"scale": 0.5},
            made(5, 4),
        ),
    ),
    (of_pairs, ([(made(4, 3), made(3)), (made(3, 3), made(3))], made(5, 4))),
    (of_helper, ({"w": made(4, 3), "b": made(3)}, made(5, 4))),
    (of_values, ({"w": made(2, 3), "b": made(3)}, made(2, 3))),
    (of_state, (State(made(3), made(3)), made(3))),
    (of_states, (State(made(3), made(3)), made(3))),
    (of_namespace, (SimpleNamespace(w=made(4, 3), b=made(3), c=made(3)), made(5, 4))),
    (of_sizes, ({"k": made(3, 3), "noise": 0.3}, made(3))),
]


@pytest.mark.parametrize(("program", "args"), PLAIN, ids=lambda f: getattr(f, "__name__", ""))
def test_plain_text(program, args):
    gradient = tl.grad(program)
    gradient(*copy.deepcopy(args))
    assert HELPERS.findall(gradient.source) == []
    tl.check_grads(program, args, wrt=(0, 1))


# What a program stores may be of another rank.


def widen(p):
    p["w"] = p["w"][:, None]


def entry_in_helper(p, x):
    widen(p)
    return np.sum(np.tanh(p["w"] * x))


def entry_of_inner_dict(p, x):
    inner = p["inner"]
    inner["w"] = inner["w"][:, None]
    return np.sum(np.tanh(p["inner"]["w"] * x))


def entries_in_loop(rows, x):
    for row in rows:
        widen(row)
    total = 0.0
    for row in rows:
        total = total + np.sum(np.tanh(row["w"] * x))
    return total


def entries_by_computed_keys(p, x):
    for key in list(p):
        p[key] = p[key][:, None]
    return np.sum(np.tanh(p["w"] * x)) + np.sum(p["v"] * x)


def entry_by_update(p, x):
    p.update(w=x[:, :1])
    return np.sum(np.tanh(p["w"] * x))


def entry_by_union(p, x):
    p |= {"w": p["w"][:, None]}
    return np.sum(np.tanh(p["w"] * x))


def entries_exchanged(p, x):
    p["a"], p["b"] = p["b"], p["a"]
    return np.sum(np.tanh(p["a"] * x)) + np.sum(p["b"])


def item_replaced(rows, x):
    rows[0] = rows[0][:, None]
    return np.sum(np.tanh(rows[0] * x)) + np.sum(rows[1])


def item_put_first(rows, x):
    rows.insert(0, rows[0][:, None])
    return np.sum(np.tanh(rows[0] * x))


def copied_first(p, x):
    q = p.copy()
    q["w"] = q["w"][:, None]
    return np.sum(np.tanh(q["w"] * x)) + np.sum(p["w"])


def in_method(m, x):
    m.widen()
    return m.scaled(x)


def in_branch_of_method(m, x):
    return m.widen_if(x)


def by_helper(m, x):
    m.inner.w = m.inner.w[:, None]
    return np.sum(m.inner(x))


def attribute_exchanged(m, x):
    m.w, m.b = m.b, m.w
    return np.sum(np.tanh(m.w * x + m.b))


def replaced_object(m, x):
    m.inner = m.other
    return np.sum(m.inner(x))


def grown_in_loop(m, x):
    for _ in range(2):
        x = m.b * x
        m.b = m.b * np.ones(3)
    return np.sum(x) + np.sum(m.w)


def later_round(m, x):
    for i in range(3):
        if i == 1:
            m.w = m.w[:, None]
        x = np.tanh(m.w * x)
    return np.sum(x)


def updated(m, x):
    m.b += x
    return np.sum(m.b * x * m.w)


def halved(m, x):
    m.n = m.n * 0.5
    return np.sum(m.n * x * m.w)


def by_setter(m, x):
    m.w = m.w * 2.0
    return np.sum(np.tanh(m.w * x))


def by_inner_function(m, x):
    def change():
        m.w = m.w[:, None]

    change()
    return np.sum(np.tanh(m.w * x))


def in_two_names(ms, x):
    for m in ms:
        m.w = m.w[:, None]
    return np.sum(np.tanh(ms[0].w * x)) + np.sum(ms[1].w * x)


def grown(rows, x):
    rows.append(x[:, :1])
    return rows


def item_given_back(p, x):
    rows = grown(p["rows"], x)
    return np.sum(np.tanh(p["rows"][-1] * x)) + np.sum(rows[0])


def field_of_tuple(state, x):
    for i in range(3):
        state = state._replace(v=state.v[:, None]) if i == 1 else state
        x = np.tanh(x * state.v)
    return np.sum(x)


def of_namespace_written(ns, x):
    widen_field(ns)
    return np.sum(np.tanh(ns.w * x))


def widen_field(o):
    o.w = o.w[:, None]


def of_each_rank(layers, x):
    for layer in layers:
        x = layer(x)
    return np.sum(x**2)


def of_two_objects(a, b, x):
    return np.sum(a(x) * b(x))


SQUARE = made(3, 3)  # (where a wrong rank shows in no shape)
WRITING = [
    (entry_in_helper, ({"w": made(3)}, SQUARE)),
    (entry_of_inner_dict, ({"inner": {"w": made(3)}}, SQUARE)),
    (entries_in_loop, ([{"w": made(3)}, {"w": made(3)}], SQUARE)),
    (entries_by_computed_keys, ({"w": made(3), "v": made(3)}, SQUARE)),
    (entry_by_update, ({"w": made(3), "b": 0.5}, SQUARE)),
    (entry_by_union, ({"w": made(3), "b": 0.5}, SQUARE)),
    (entries_exchanged, ({"a": made(3, 1), "b": made(3)}, SQUARE)),
    (item_replaced, ([made(3), made(3)], SQUARE)),
    (item_put_first, ([made(3), made(3)], SQUARE)),
    (copied_first, ({"w": made(3), "b": 0.5}, SQUARE)),
    (in_method, (Holder(w=made(3), b=0.1), SQUARE)),
    (in_branch_of_method, (Holder(w=made(3)), np.abs(SQUARE))),
    (in_branch_of_method, (Holder(w=made(3)), -np.abs(SQUARE))),
    (by_helper, (Holder(inner=Pair(made(3), 0.2)), SQUARE)),
    (attribute_exchanged, (Pair(made(3, 1), made(3)), SQUARE)),
    (replaced_object, (Holder(inner=Pair(made(3), 0.3), other=Pair(made(3, 1), 0.2)), SQUARE)),
    (grown_in_loop, (Pair(made(3), 0.3), SQUARE)),
    (later_round, (Pair(made(3), 0.3), SQUARE)),
    (updated, (Pair(made(3), 0.3), SQUARE)),
    (halved, (Holder(w=0.4, n=3), SQUARE)),
    (by_setter, (Setter(made(3)), SQUARE)),
    (by_inner_function, (Pair(made(3), 0.3), SQUARE)),
    (in_two_names, ([Pair(made(3), 0.1), Pair(made(3), 0.2)], SQUARE)),
    (item_given_back, ({"rows": [made(3, 3)]}, SQUARE)),
    (field_of_tuple, (State(made(3), made(3)), SQUARE)),
    (of_namespace_written, (SimpleNamespace(w=made(3)), SQUARE)),
    (of_each_rank, ([Pair(made(3), made(3)), Pair(made(1), 0.2), Pair(made(3, 1), 0.1)], SQUARE)),
]


@pytest.mark.parametrize(("program", "args"), WRITING, ids=lambda f: getattr(f, "__name__", ""))
def test_what_is_stored_counts(program, args):
    tl.check_grads(program, args, wrt=(0, 1))


def put_last(rows, v):
    rows[-1] = v
    for i in range(len(rows)):
        rows[i] = rows[i] * 1.5
    return rows


def number_in_an_array(m, rows, x):
    rows = put_last(rows, x + m.w)
    return np.sum(rows[-1] * x)


def test_the_tangent_of_a_number_that_is_broadcast():
    args = (Holder(w=0.5), [made(3), 0.5], SQUARE)
    tl.check_grads(number_in_an_array, args, wrt=0)
    tl.check_grads(lambda w, rows, x: np.sum(put_last(rows, x + w)[-1] * x), (0.5, *args[1:]))


def test_each_object_has_ranks_of_its_own():
    args = (Pair(made(3), made(1)), Pair(made(3, 1), 0.3), SQUARE)
    tl.check_grads(of_two_objects, args, wrt=(0, 1, 2))


FIELDS = [(), (1,), (3,), (3, 1), (1, 3), (3, 3)]


@pytest.mark.thorough
def test_a_version_for_each_rank_of_a_field():
    """A text made for other ranks of a field must never serve a call."""
    gradient = tl.grad(lambda m, x: np.sum(m(x) * x), wrt=(0, 1))
    models = [Pair(made(*w), made(*b)) for w in FIELDS for b in FIELDS[::2]]
    for model in (*models, *reversed(models)):
        got = gradient(model, SQUARE)
        want = tl.grad(lambda m, x: np.sum(m(x) * x), wrt=(0, 1))(model, SQUARE)
        np.testing.assert_allclose(got[0].w, want[0].w)
        np.testing.assert_allclose(got[0].b, want[0].b)
        np.testing.assert_allclose(got[1], want[1])
        assert np.shape(got[0].w) == np.shape(model.w)


def test_fields_changed_between_calls():
    """The same object, with fields of other ranks at each call."""
    gradient, model = tl.grad(lambda m, x: np.sum(m(x))), Pair(made(3), 0.5)
    for w in (made(3), made(3, 1), 0.5, made(3, 3)):
        model.w = w
        tl.check_grads(lambda m, x: np.sum(m(x)), (model, SQUARE))
        assert np.shape(gradient(model, SQUARE).w) == np.shape(w)


def written_by_vars(m, x):
    held = vars(m)
    held["w"] = held["w"] * x
    return np.sum(m.w)


def test_writes_into_vars():
    tl.check_grads(written_by_vars, (Pair(made(3, 3), 0.5), SQUARE), wrt=(0, 1), order=2)
    tl.check_grads(lambda m, x: np.sum(vars(m)["w"] * x), (Pair(made(3), 0.5), SQUARE), wrt=(0, 1))


class Doubled(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2.0)


class DoubledField:
    def __init__(self, w):
        object.__setattr__(self, "w", w)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2.0)


def entry_scaled(p, x):
    p["w"] = p["w"] * x
    return np.sum(p["w"] ** 2)


def field_scaled(m, x):
    m.w = m.w * x
    return np.sum(m.w**2)


def put_by_name(m, name, value):
    setattr(m, name, value)


def put_past_the_class(m, value):
    object.__setattr__(m, "w", value)


def put_by_method(m, value):
    m.__setattr__("w", value)


@pytest.mark.thorough
@pytest.mark.parametrize("put", [lambda m, v: put_by_name(m, "w", v), put_past_the_class])
def test_attributes_that_helpers_set_by_name(put):
    """Such a write was not seen: what was stored had no derivative."""

    def program(m, x):
        put(m, m.w * x)
        return np.sum(m.w**2)

    tl.check_grads(program, (Pair(made(3), 0.5), made(3)), wrt=(0, 1), order=2)


def test_attributes_that_helpers_set_by_method_are_refused():
    def program(m, x):
        put_by_method(m, m.w * x)
        return np.sum(m.w**2)

    model, x = Pair(made(3), 0.5), made(3)
    for df, given in ((tl.grad(program), ()), (tl.autodiff(program, mode="forward"), (model,))):
        with pytest.raises(tl.UnsupportedError):
            df(model, x, *given)


def test_classes_that_store_something_else_are_refused():
    with pytest.raises(tl.TangentlikeError, match="a `__setitem__` of its own"):
        tl.grad(entry_scaled, wrt=1)(Doubled(w=made(3)), made(3))
    with pytest.raises(tl.UnsupportedError, match="a `__setattr__` of its own"):
        tl.grad(field_scaled, wrt=1)(DoubledField(made(3)), made(3))
    tl.check_grads(lambda m, x: np.sum(m.w * x), (DoubledField(made(3)), made(3)), wrt=(0, 1))


def test_order_two():
    def curved(m, x):
        def slope(v):
            return np.sum(np.tanh(m.w * v + m.b))

        return np.sum(tl.grad(slope)(x) * m.w)

    tl.check_grads(curved, (Pair(made(3), made(1)), SQUARE), wrt=(0, 1))
    tl.check_grads(of_each_rank, ([Pair(made(3), 0.1)], SQUARE), wrt=1, order=2)


# ------------------------------------------------------------- objects that the function makes


class Spring:
    def __init__(self, k, c=0.5):
        self.k = k
        self.c = c
        self.rounds = 0

    def force(self, x):
        return self.k * x + self.c * self.rounds

    def widen(self, x):
        self.k = self.k * x

    def count(self, x):
        self.rounds += x


class Twin(Spring):
    def __init__(self, k):
        super().__init__(2.0 * k)
        self.other = k


def give(spring, k):
    spring.k = k


def by_method(k, x):
    s = Spring(k)
    s.widen(x)
    return np.sum(s.force(2.0))


def by_what_is_called(k, x):
    s = Twin(k)
    give(s, x * k)
    return np.sum(s.force(2.0) * s.other)


def by_setattr(k, x):
    s = Spring(k)
    for name in ("k", "c"):
        setattr(s, name, getattr(s, name) * x)
    s.count(x)
    return np.sum(s.force(2.0))


def by_another_name(k, x):
    s, t = Spring(k), Spring(x)
    held, both = SimpleNamespace(inner=s), [t, Spring(1.0)]
    held.inner.k = x * k
    both[0].widen(x)
    return np.sum(s.force(2.0)) + np.sum(t.force(3.0))


def by_a_closure(k, x):
    s = Spring(k)

    def change(value):
        s.k = value

    change(x * k)
    return np.sum(s.force(2.0))


def in_a_loop(k, x):
    s, total = Spring(k), 0.0
    for _ in range(3):
        total = total + s.force(2.0)
        s.widen(x)
        s.count(x)
    return np.sum(total)


def after_a_copy(k, x):
    s = Spring(k)
    t = copy.deepcopy(s)
    t.widen(x)
    return np.sum(t.force(2.0)) * s.force(1.0)


def of_either_class(k, x):
    s = Spring(k) if k > 0.5 else Twin(k)
    if k > 0.6:
        s.k = x * k
    return np.sum(s.force(2.0))


def made_by_helpers(k, x):
    def make(value):
        return Spring(value)

    springs = [make(v) for v in (k, x, k * x)]
    return sum(np.sum(s.force(2.0)) for s in springs)


def set_later(k, x):
    s = Spring(None)
    s.k = k
    return np.sum(s.force(x))


CHANGING = (
    *(by_method, by_what_is_called, by_setattr, by_another_name, by_a_closure, in_a_loop),
    *(after_a_copy, of_either_class, made_by_helpers, set_later),
)


@pytest.mark.thorough
@pytest.mark.parametrize("f", CHANGING, ids=[f.__name__ for f in CHANGING])
def test_what_a_made_object_holds_may_change(f):
    x = np.array([0.7, 1.3, 0.9])
    for args, order in (((0.8, x), 2), ((0.8, 0.7), 1), ((0.8, x), 1)):
        tl.check_grads(f, args, wrt=(0, 1), order=order)


def swung(k, x, steps):
    s = Spring(k)
    for _ in range(steps):
        x = x - 0.1 * s.force(x)
    return np.sum(x * x)


def test_numbers_and_arrays_that_a_made_object_holds_are_known():
    for x in (0.3, made(3)):
        df = tl.grad(swung, wrt=(0, 1), example=(0.8, x, 3))
        tl.check_grads(swung, (0.8, x, 3), wrt=(0, 1), order=2)
        assert not HELPERS.search(df.source) and "s_bar.k" in df.source, df.source


class Joined:
    def __init__(self, items, unit=("m",)):
        self.items, self.unit = items, unit

    def plus(self, other):
        return Joined(self.items + other.items, self.unit + other.unit)

    def times(self, n):
        return Joined(self.items * n, self.unit)


def joined_lists(x):
    p = Joined([x[0], x[1]]).plus(Joined([x[0] * x[1]]))
    return p.items[0] * p.items[2] * len(p.unit)


def repeated_tuples(x):
    p = Joined((x[0], x[1]), "m").times(2).plus(Joined((x[1],), "s"))
    return p.items[0] * p.items[3] * p.items[4] * len(p.unit)


def an_array_by_another_name(x):
    p = Joined([x[0], x[1]])
    held = {"p": p}
    held["p"].items = x * x
    return np.prod(p.plus(p).items)


def an_array_in_a_loop(x):
    p = Joined([x[0], x[1]])
    for q in [p]:
        q.items = np.sin(x)
    return np.sum(p.times(3.0).items)


def an_array_by_a_closure(x):
    p = Joined([x[0], x[1]])

    def put(q):
        q.items = x * x

    put(p)
    return np.prod(p.times(2.0).items)


def a_number_that_becomes_an_array(x):
    p = Joined(x[0])

    def put(q):
        q.items = x * x

    put(p)
    return np.sum(p.times(2.0).items * x)


JOINED = (joined_lists, repeated_tuples, an_array_by_another_name, an_array_in_a_loop)
JOINED += (an_array_by_a_closure, a_number_that_becomes_an_array)


@pytest.mark.thorough
@pytest.mark.parametrize("program", JOINED)
def test_what_a_field_holds_at_first_is_claimed_where_nothing_else_is_stored(program):
    x, v = np.array([0.4, 1.1]), np.array([0.5, -0.3])
    tl.check_grads(program, (x.copy(),))
    tl.check_grads(tl.grad(program), (x.copy(),), modes=("fwd",))
    twice = tl.grad(lambda y: tl.grad(program)(y) @ v)(x.copy())
    np.testing.assert_allclose(twice, tl.jvp(tl.grad(program), (x.copy(),), (v,))[1])
