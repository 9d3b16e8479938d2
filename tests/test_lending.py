"""Outer objects that a function changes are given to it as arguments."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl

WORK = np.zeros(3)
WEIGHTS = np.array([1.0, -2.0, 0.5])
STATE = {"steps": 0, "w": np.ones(3)}
LOG: list = []


class Simulation:
    """A state that is stepped forward in place, as simulations are."""

    def __init__(self, n):
        self.u = np.zeros(n)
        self.t = 0.0
        self.history = []

    def step(self, force):
        self.u[:] = self.u + 0.1 * np.sin(force * self.u + force)
        self.t += 0.1

    def energy(self, force):
        self.u[:] = force
        self.history = []
        for _ in range(3):
            self.step(force)
            self.history.append(self.u * 1.0)
        return np.sum(self.history[0] * self.history[-1]) * (1.0 + self.t)


class Shared(Simulation):
    def __init__(self, n):
        super().__init__(n)
        self.v = self.u


SIMULATION, SHARED = Simulation(3), Shared(3)
SIMULATIONS = [SIMULATION]


def fills_a_buffer(x):
    WORK[:] = x * x
    return np.sum(WORK * x * WEIGHTS)


def fills_by_entry(x):
    WORK[:] = 0.0
    for i in range(3):
        WORK[i] += x[i] ** 2
    return np.sum(WORK**2)


def fills_a_list(x):
    LOG.clear()
    for i in range(3):
        LOG.append(x[i] ** 2)
    return sum(LOG) * LOG[0]


def fills_a_dict(x):
    STATE["steps"] += 1
    STATE["w"] = x * WEIGHTS
    return np.sum(STATE["w"] ** 2)


def steps_a_simulation(x):
    return SIMULATION.energy(x)


def in_a_function_inside(x):
    def filled(y):
        WORK[:] = y * y
        return np.sum(WORK * y)

    return filled(x) + (lambda y: SIMULATION.energy(y))(x)


def in_an_inner_derivative(x):
    WORK[:] = x * x
    return np.sum(tl.grad(lambda y: np.sum(y * y * WORK))(x))


def in_a_list_that_is_repeated(x):
    memory = [WORK] * 2
    memory[1][:] = x * x
    return np.sum(WORK * x)


def in_joined_lists(x):
    memory = [WORK, WEIGHTS] + [x]
    memory[0][:] = x * x
    return np.sum(WORK * x)


def by_a_ufunc_at_places(x):
    WORK[:] = 1.0
    np.add.at(WORK, [0, 0], x[:2] ** 2)
    return np.sum(WORK * x)


def the_buffer():
    return WORK


def reads_by_a_helper(x):
    WORK[:] = x * x
    return np.sum(the_buffer() * x)


def the_time():
    return SIMULATION.t


def reads_a_number_by_a_helper(x):
    SIMULATION.energy(x)
    return the_time() * np.sum(x)


def fill_the_buffer(v):
    WORK[:] = v


def filled_by_a_helper(x):
    fill_the_buffer(2.0)
    y = np.sum(WORK * x)
    fill_the_buffer(3.0)
    return y * np.sum(WORK * x * x)


def the_total(x, *, power=1):
    return np.sum(WORK * x) ** power


def by_helpers_alone(x):
    fill_the_buffer(v=x * x)
    return the_total(x) * the_total(x, power=2)


def steps(x, n):
    if n == 0:
        return the_total(x)
    WORK[:] = WORK + 0.1 * np.sin(x * WORK + x)
    return steps(x, n - 1)


def by_a_helper_that_calls_itself(x):
    fill_the_buffer(x)
    return steps(x, 3)


def calls_from_inside(x):
    def both(v):
        fill_the_buffer(v)
        return the_total(v)

    return both(x) + both(x * x)


def by_a_function_inside_a_helper(x):
    return calls_from_inside(x) + the_total(x)


def by_functions_as_values(x):
    actions = [fill_the_buffer, lambda v: fill_the_buffer(WORK * v)]
    actions[0](x * x)
    actions[1](x)
    return sum(map(the_total, [x, 2.0 * x])) * the_total(x)


def writes_in_a_loop(x):
    for action in (fill_the_buffer, lambda v: None):
        action(x * x)
    return the_total(x)


def _with_a_captured_buffer():
    work = np.empty(3)

    def into_out(x):
        np.multiply(x, x, out=work)
        return np.sum(np.sin(work))

    return into_out


def remembers(x):
    STATE.clear()

    def product(n):
        if n < 2:
            return x[n]
        if n not in STATE:
            STATE[n] = product(n - 1) * product(n - 2)
        return STATE[n]

    return product(5)


CHANGING = [
    fills_a_buffer,
    fills_by_entry,
    fills_a_list,
    fills_a_dict,
    steps_a_simulation,
    in_a_function_inside,
    in_an_inner_derivative,
    in_a_list_that_is_repeated,
    in_joined_lists,
    by_a_ufunc_at_places,
    reads_by_a_helper,
    reads_a_number_by_a_helper,
    by_helpers_alone,
    by_a_helper_that_calls_itself,
    by_a_function_inside_a_helper,
    by_functions_as_values,
    _with_a_captured_buffer(),
    remembers,
]
X = np.array([0.3, 0.5, 0.7])


def _outside():
    simulation = (SIMULATION.u.copy(), SIMULATION.t, len(SIMULATION.history))
    return *WORK, *simulation[0], *simulation[1:], len(LOG), STATE.get("steps"), len(STATE)


@pytest.mark.parametrize("f", CHANGING, ids=lambda f: f.__name__)
def test_what_is_outside_is_an_argument(f):
    SIMULATION.t = 0.0
    STATE.update(steps=0, w=np.ones(3))
    before = _outside()
    slope, change = tl.grad(f)(X), tl.jvp(f, (X,), (WEIGHTS,))[1]
    assert before == _outside()
    np.testing.assert_allclose(change, slope @ WEIGHTS)

    def value(x):
        SIMULATION.t = 0.0
        STATE.update(steps=0, w=np.ones(3))
        return f(x)

    ends = [(value(X + 1e-6 * d), value(X - 1e-6 * d)) for d in np.eye(3)]
    np.testing.assert_allclose(slope, [(b - a) / 2e-6 for b, a in ends], rtol=1e-5)
    SIMULATION.t = 0.0
    STATE.update(steps=0, w=np.ones(3))
    again = tl.hvp(f)(X, WEIGHTS)
    over_reverse = tl.grad(lambda x: tl.grad(f)(x) @ WEIGHTS)(X)
    np.testing.assert_allclose(again, over_reverse)
    slopes = [tl.grad(f)(X + 1e-5 * d) - tl.grad(f)(X - 1e-5 * d) for d in np.eye(3)]
    np.testing.assert_allclose(again, np.array(slopes) @ WEIGHTS / 2e-5, rtol=1e-4)


def test_the_object_outside_is_shown_as_an_argument():
    df = tl.grad(fills_a_buffer)
    df(X)
    assert "def fills_a_buffer_grad(x, *, WORK=WORK):" in df.source
    assert "WORK = WORK.copy()" in df.source


def accumulates(x):
    WORK[:] += x * x
    return np.sum(WORK * x)


def test_the_value_outside_is_that_of_each_call():
    df = tl.grad(accumulates)
    for start in (np.zeros(3), WEIGHTS):
        WORK[:] = start
        np.testing.assert_allclose(df(X), start + 3.0 * X**2)
    WORK[:] = 0.0


def test_another_object_under_the_name(monkeypatch):
    df = tl.grad(fills_a_buffer)
    df(X)
    monkeypatch.setitem(globals(), "WORK", np.zeros((2, 3)))
    ones = np.ones(3)
    np.testing.assert_allclose(df(ones), 6.0 * WEIGHTS)
    np.testing.assert_array_equal(WORK, np.zeros((2, 3)))


def fills_and_reads(x):
    fill_the_buffer(x * x)
    return the_total(x)


def test_another_helper_under_the_name(monkeypatch):
    df = tl.grad(fills_and_reads)
    np.testing.assert_allclose(df(X), 3.0 * X**2)

    def fill_the_buffer(v):
        WORK[:] = 2.0 * v

    monkeypatch.setitem(globals(), "fill_the_buffer", fill_the_buffer)
    np.testing.assert_allclose(df(X), 6.0 * X**2)


# ------------------------------------------------------------------ what stays refused


def only_keeps(x):
    y = np.sum(x**2)
    LOG.append(y)
    return y


VIEW = WORK[:2]


def reads_a_view(x):
    WORK[:] = x * x
    return np.sum(VIEW)


def view_total():
    return np.sum(VIEW)


def reads_a_view_by_a_helper(x):
    fill_the_buffer(x * x)
    return view_total()


ACTIONS = {"fill": fill_the_buffer}


def calls_by_a_table(x):
    ACTIONS["fill"](x * x)
    return np.sum(WORK * x)


def reads_by_another_way(x):
    SIMULATION.energy(x)
    return np.sum(SIMULATIONS[0].u * x)


def holds_one_array_twice(x):
    SHARED.energy(x)
    return np.sum(SHARED.v * x)


def reads_a_default(x, work=WORK):
    WORK[:] = x * x
    return np.sum(work * x)


def calls_what_it_is_given(x, g):
    WORK[:] = x * x
    return np.sum(WORK) * g(x)


@pytest.mark.parametrize(
    "f",
    [
        only_keeps,
        reads_a_view,
        calls_by_a_table,
        writes_in_a_loop,
        reads_a_view_by_a_helper,
        reads_by_another_way,
        holds_one_array_twice,
        reads_a_default,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_found_by_another_way_is_refused(f):
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into"):
        tl.grad(f)(X)
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into"):
        tl.jvp(f, (X,), (X,))


def test_what_a_helper_fills_is_an_argument_of_the_gradient():
    slope, change = tl.grad(filled_by_a_helper)(X), tl.jvp(filled_by_a_helper, (X,), (X,))
    np.testing.assert_allclose(slope @ X, 3.0 * change[0])
    np.testing.assert_allclose(change[1], 3.0 * change[0])
    ends = [(filled_by_a_helper(X + 1e-6 * d), filled_by_a_helper(X - 1e-6 * d)) for d in np.eye(3)]
    np.testing.assert_allclose(slope, [(b - a) / 2e-6 for b, a in ends], rtol=1e-6)


def test_a_function_that_is_given_may_reach_it():
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into"):
        tl.grad(calls_what_it_is_given)(X, lambda y: np.sum(WORK * y))


def beside(x, simulation):
    return SIMULATION.energy(x) * simulation.t


def test_an_argument_that_is_the_object_outside():
    with pytest.raises(tl.TangentlikeError, match="changes the outer `SIMULATION`"):
        tl.grad(beside)(X, SIMULATION)
    with pytest.raises(tl.TangentlikeError, match="changes the outer `WORK`"):
        tl.grad(fills_a_buffer)(WORK)


# ------------------------------------------------------------------ found in two ways


class Part:
    def __init__(self):
        self.w = 0.0

    def __call__(self, x):
        return x * self.w


class Whole:
    """Holds a list, a dict and an object twice, and is known by a name outside."""

    def __call__(self, x):
        return x * self.t

    def __init__(self):
        self.items = self.same_items = [0.0, 0.0]
        self.table = self.same_table = {"k": 0.0}
        self.part = self.same_part = Part()
        self.t = 0.0

    def by_a_list(self, x):
        self.items[0] = x[0] * 2.0
        return self.same_items[0] * x[1]

    def by_a_dict(self, x):
        self.table["k"] = x[0] * 2.0
        return self.same_table["k"] * x[1]

    def by_an_object(self, x):
        self.part.w = x[0] * 2.0
        return self.same_part.w * x[1]

    def by_its_name(self, x):
        self.t = x[0] * 2.0
        return time_of_the_whole() * x[1]

    def of_itself(self, x):
        self.t = x[0] * 2.0
        return self.t * self.part.w + self.same_items[0] * x[1]


WHOLE = Whole()


def time_of_the_whole():
    return WHOLE.t


class Node:
    def __init__(self, parent=None):
        self.v, self.parent, self.child = 0.0, parent, None

    def of_the_child(self, x):
        self.child.v = x[0] * 3.0
        return self.child.parent.child.v * x[1]


def between_rows(x, rows):
    rows[0][0] = x[0] * 2.0
    return rows[1][0] * x[1]


def between_arguments(x, a, b):
    a[0] = x[0] * 2.0
    return b[0] * x[1]


TREE = Node()
TREE.child = Node(TREE)
ROW = [0.0]


@pytest.mark.parametrize(
    ("f", "more", "message"),
    [
        (WHOLE.by_a_list, (), "changes its argument `self`, which holds one .* twice"),
        (WHOLE.by_a_dict, (), "changes its argument `self`, which holds one .* twice"),
        (WHOLE.by_an_object, (), "changes its argument `self`, which holds one Part twice"),
        (WHOLE.by_its_name, (), "the outer `WHOLE` shares memory with it"),
        (TREE.of_the_child, (), "changes its argument `self`, which holds one Node twice"),
        (between_rows, ([ROW, ROW],), "changes its argument `rows`, which holds one list twice"),
        (between_arguments, (ROW, ROW), "`b` shares memory with it"),
    ],
)
def test_an_argument_that_is_changed_in_one_way_and_read_in_another(f, more, message):
    with pytest.raises(tl.TangentlikeError, match=message):
        tl.grad(f)(X, *more)
    with pytest.raises(tl.TangentlikeError, match=message):
        tl.jvp(f, (X, *more), (X, *([None] * len(more))))


def test_what_is_held_twice_and_not_changed():
    np.testing.assert_allclose(tl.grad(WHOLE.of_itself)(X), [0.0, 0.0, 0.0])
    rows = [[1.0], [2.0]]
    np.testing.assert_allclose(tl.grad(between_rows)(X, rows), [0.0, 2.0, 0.0])
    np.testing.assert_allclose(tl.grad(between_arguments)(X, [1.0], [3.0]), [0.0, 3.0, 0.0])


# ------------------------------------------------------------------ what a class holds


class Counted:
    total = np.zeros(3)

    def by_its_type(self, x):
        type(self).total[:] = x * x
        return np.sum(self.total)

    def by_another_name(self, x):
        total = self.__class__.total
        total[:] = x * x
        return np.sum(self.total)

    def by_an_attribute(self, x):
        type(self).last = x * x
        return np.sum(self.last)


@pytest.mark.parametrize("name", ["by_its_type", "by_another_name", "by_an_attribute"])
def test_what_a_class_holds_is_not_changed(name):
    f = getattr(Counted(), name)
    with pytest.raises(tl.UnsupportedError, match="what a class holds is changed"):
        tl.grad(f)(X)
    with pytest.raises(tl.UnsupportedError, match="what a class holds is changed"):
        tl.jvp(f, (X,), (X,))


# --------------------------------------------------------- places that have no array before a call


class Places:
    v = None

    def __init__(self):
        self.n, self.d = 0.0, {}


PLACES, NUMBERS, ITEMS = Places(), {0: 0.0, "a": 1.0}, [0.0, 1.0]


def given_later(k):
    ITEMS[k] = np.zeros(3)
    return ITEMS[k]


def into_an_item(x):
    NUMBERS[0] = np.zeros(3)
    NUMBERS[0][:] = x * x
    return np.sum(NUMBERS[0] * x)


def into_an_item_by_its_name(x, k="a"):
    NUMBERS[k] = np.zeros(3)
    v = NUMBERS[k]
    v[:] = x * x
    return np.sum(NUMBERS[k] * x)


def into_what_a_helper_puts(x, k=1):
    v = given_later(k)
    v += x * x
    return np.sum(ITEMS[k] * x)


def into_an_attribute(x):
    PLACES.n = np.zeros(3)
    v = PLACES.n
    v[:] = x * x
    return np.sum(PLACES.n * x)


def into_an_attribute_that_is_none(x):
    PLACES.v = np.zeros(3)
    PLACES.v[:] = x * x
    return np.sum(PLACES.v * x)


def into_an_item_of_an_attribute(x):
    PLACES.d["q"] = np.zeros(3)
    PLACES.d["q"][:] = x * x
    return np.sum(PLACES.d["q"] * x)


@pytest.mark.parametrize(
    "f",
    [into_an_item, into_an_item_by_its_name, into_what_a_helper_puts]
    + [into_an_attribute, into_an_attribute_that_is_none, into_an_item_of_an_attribute],
    ids=lambda f: f.__name__,
)
def test_arrays_that_the_program_puts_where_there_was_a_number(f):
    np.testing.assert_allclose(tl.grad(f)(X), 3.0 * X**2)
    assert tl.jvp(f, (X,), (X,))[1] == pytest.approx(3.0 * np.sum(X**3))
