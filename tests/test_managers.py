"""Context managers that take or give what carries derivatives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.3, 0.7, -0.4])


class Scaled:
    def __init__(self, x: Any, by: float = 2.0) -> None:
        self.x = x
        self.by = by
        self.left = 0

    def __enter__(self) -> Any:
        return self.x * self.by

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.left += 1


class Work:
    def __init__(self, n: int) -> None:
        self.buffer = np.zeros(n)

    def __enter__(self) -> Any:
        return self.buffer

    def __exit__(self, *_: Any) -> None:
        self.buffer = self.buffer * 3.0


class Model:
    def __init__(self, w: Any) -> None:
        self.w = w


@contextlib.contextmanager
def shifted(x: Any, by: float = 1.0) -> Iterator[Any]:
    y = x + by
    yield y * y


@contextlib.contextmanager
def with_weights(model: Any, w: Any) -> Iterator[Any]:
    old = model.w
    model.w = w
    try:
        yield model
    finally:
        model.w = old


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def given_to_a_class(x):
    with Scaled(x) as s:
        y = s * x
    return np.sum(y)


def given_to_a_generator(x):
    y = np.sin(x)  # (the manager's names are its own)
    with shifted(x, by=0.5) as s:
        y = y * s
    return np.sum(y)


def several_in_a_loop(x):
    total = 0.0
    for k in range(4):
        with Scaled(x, 1.5) as s, quiet(), shifted(s) as (a, *rest):
            if k == 1:
                continue
            total = total + a * rest[-1] * k
            if k == 2:
                break
    return total


def returns_inside(x):
    model = Model(x)
    with with_weights(model, x * x) as m:
        if np.sum(m.w) > 0.0:
            return np.sum(m.w * model.w * x)
    return 0.0


def weights_for_a_while(x):
    model = Model(np.ones(3))
    with with_weights(model, x * x):
        y = model.w * x
    return np.sum(y * model.w)


def buffer_that_others_see(x):
    work = Work(3)
    with work as b:
        b[:] = x * x
    return np.sum(work.buffer)


@contextlib.contextmanager
def entry_for_a_while(table, key, value):
    old = table[key]
    table[key] = value
    try:
        yield table
    finally:
        table[key] = old


def entries_for_a_while(x):
    table = {"a": x[0], "b": x[1]}
    with entry_for_a_while(table, "a", x[2] ** 2) as same:
        y = same["a"] * same["b"]
    with entry_for_a_while(table, "b", 2.0):
        y += table["a"] * table["b"]
    return y * table["a"]


def handed_through(x):
    with contextlib.nullcontext(x * x) as z:
        y = z * x
    return np.sum(y)


@pytest.mark.parametrize(
    "f",
    [
        given_to_a_class,
        given_to_a_generator,
        several_in_a_loop,
        returns_inside,
        weights_for_a_while,
        buffer_that_others_see,
        handed_through,
        entries_for_a_while,
    ],
)
def test_what_a_manager_does_counts(f: Callable[..., Any]) -> None:
    x = X.copy()
    tl.check_grads(f, (x,))
    assert np.array_equal(x, X)
    v = np.array([0.2, -1.0, 0.5])
    change = agreement.slope(lambda y: np.sum(tl.grad(f)(y) * v), (x,), (v,))
    assert agreement.close(np.sum(tl.hvp(f)(x, v) * v), change, 1e-6)


def test_a_manager_leaves_where_the_body_raises() -> None:
    seen = []

    class Told(Scaled):
        def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
            seen.append(kind)

    def fails(x):
        with Told(x) as s:
            if np.sum(s) > 1.0:
                raise ValueError("too large")
            y = s * s
        return np.sum(y)

    tl.check_grads(fails, (np.array([0.1, 0.2]),))
    assert set(seen) == {None}
    with pytest.raises(ValueError, match="too large"):
        tl.grad(fails)(np.array([1.0, 2.0]))
    assert seen[-1] is ValueError


POOL = Work(3)


@contextlib.contextmanager
def lent() -> Iterator[Any]:
    yield POOL.buffer


def writes_into_the_module_object(x):
    with POOL as b:
        b[:] = x * x
    return np.sum(POOL.buffer)


@pytest.mark.thorough
def test_the_module_object_is_an_argument():
    tl.check_grads(writes_into_the_module_object, (X,), order=2)


def writes_into_what_is_lent(x):
    with lent() as b:
        b[:] = x * x
    return np.sum(POOL.buffer * 2.0)


def entered_later(x):
    with contextlib.ExitStack() as stack:
        s = stack.enter_context(Scaled(x))
        y = s * x
    return np.sum(y)


@contextlib.contextmanager
def looping(x: Any) -> Iterator[Any]:
    for _ in range(1):
        yield x


def yields_in_a_loop(x):
    with looping(x) as y:
        z = y * y
    return np.sum(z)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (writes_into_what_is_lent, "is defined outside"),
        (entered_later, "enter_context`"),
        (yields_in_a_loop, "a context manager is given `x`"),
    ],
)
def test_what_cannot_be_followed_is_refused(f: Callable[..., Any], message: str) -> None:
    for derivative in (lambda x: tl.grad(f)(x), lambda x: tl.jvp(f, (x,), (x,))):
        with pytest.raises(tl.UnsupportedError, match=message) as info:
            derivative(X)
        assert info.value.place is not None and info.value.hint


HELD: list[Any] = []
MAKERS: dict[str, Callable[[], Any]] = {"held": lambda: contextlib.nullcontext(HELD)}


def mapped(x: Any, how: str) -> Any:
    y = x * x
    if how != "plain":
        with MAKERS[how]() as pool:
            y = pool.map(np.sin, [y])
    return y


def appended(x: Any, how: str) -> Any:
    y = x * x
    with MAKERS[how]() as held:
        held.append(y)
    return y


def test_an_unknown_context_in_a_branch_of_a_helper_that_is_not_taken() -> None:
    tl.check_grads(lambda x: np.sum(mapped(x, "plain") * x), (X,), order=2)


def test_what_an_unknown_context_of_a_helper_is_given_is_refused_there() -> None:
    def kept(x: Any) -> Any:
        return np.sum(appended(x, "held") * HELD[-1])

    for derive in (lambda: tl.grad(kept)(X), lambda: tl.jvp(kept, (X,), (X,))):
        with pytest.raises(tl.UnsupportedError, match="what a context manager returns as `held`"):
            derive()


class Running:
    def __init__(self):
        self.total = 0.0

    def __enter__(self):
        self.total = self.total + 1.0
        return self

    def __exit__(self, *caught):
        self.total = self.total * 2.0

    def __iadd__(self, v):
        self.total = self.total * v + v
        return self


def test_what_is_entered_is_updated_by_its_own_operator():
    """`s += v` was read as `s = s + v`, which nothing needs."""

    def loss(x):
        running = Running()
        for v in x:
            with running as s:
                s += v
        return running.total

    x = np.array([0.7, -1.3, 1.9])
    assert tl.value_and_grad(loss)(x)[0] == pytest.approx(loss(x))
    tl.check_grads(loss, (x,))


# --------------------------------------------------------------------------------------------------
# Managers that switch something outside, which what is called inside asks for.


class Mode:
    def __init__(self):
        self.on = False


MODE, FLAGS, ENTERED = Mode(), {"on": False}, []


class Switched:
    def __enter__(self):
        MODE.on = FLAGS["on"] = True
        ENTERED.append(1)

    def __exit__(self, *raised):
        MODE.on = FLAGS["on"] = False
        ENTERED.pop()


@contextlib.contextmanager
def with_attributes(obj, **values):
    old = {name: getattr(obj, name) for name in values}
    for name, value in values.items():
        setattr(obj, name, value)
    yield
    for name, value in old.items():
        setattr(obj, name, value)


def by_attribute(x):
    return 2.0 * x * x if MODE.on else x**3


def by_item(x):
    return 2.0 * x * x if FLAGS["on"] else x**3


def by_length(x):
    return 2.0 * x * x if ENTERED else x**3


@pytest.mark.parametrize("layer", [by_attribute, by_item, by_length])
def test_what_a_manager_switches_is_not_asked_again_by_the_reverse_sweep(layer) -> None:
    """(It asked when the manager had been left.)"""

    def f(x):
        with Switched():
            y = layer(x)
        return y * layer(x)

    assert tl.grad(f)(0.8) == pytest.approx(10.0 * 0.8**4)
    assert tl.jvp(f, (0.8,), (1.0,))[1] == pytest.approx(10.0 * 0.8**4)


def test_nor_what_a_manager_switches_that_is_given() -> None:
    def f(x):
        with with_attributes(MODE, on=True):
            y = by_attribute(x)
        return y * by_attribute(x)

    def of_manager(x, manager):
        with manager:
            y = by_item(x)
        return y * by_item(x)

    assert tl.grad(f)(0.8) == pytest.approx(10.0 * 0.8**4)
    assert tl.grad(of_manager)(0.8, Switched()) == pytest.approx(10.0 * 0.8**4)


class Tape:
    current = None

    def __init__(self):
        self.items = []

    def __enter__(self):
        Tape.current = self
        return self

    def __exit__(self, *raised):
        Tape.current = None


def noted(x):
    Tape.current.items.append(x)
    return x


def on_a_tape(x):
    with Tape() as tape:
        y = noted(2.0 * x)
    return sum(tape.items) * y


def on_a_tape_of(x, cls=Tape):
    with cls() as tape:
        y = noted(2.0 * x)
    return sum(tape.items) * y


def by_class_flag(x):
    with Tape():
        y = x * x if Tape.current is not None else x
    return y * (x if Tape.current is not None else 3.0)


@pytest.mark.parametrize("f", [on_a_tape, on_a_tape_of, by_class_flag])
def test_attributes_of_classes_that_a_manager_sets_are_refused(f) -> None:
    """What went through them was lost."""
    with pytest.raises(tl.UnsupportedError, match=r"Tape\.current"):
        tl.grad(f)(0.8)
    with pytest.raises(tl.UnsupportedError, match=r"Tape\.current"):
        tl.jvp(f, (0.8,), (1.0,))
