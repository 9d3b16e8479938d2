"""Objects made in a function and objects of the module: what is refused, and what is printed."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.programs import made_objects
from tests.sampled import one_in

X = np.array([0.4, -0.7, 1.1])


class Register:
    """An object of the module that its methods, or others, write."""

    def __init__(self) -> None:
        self.n = 0.0
        self.b = np.zeros(3)

    def keep(self, x):
        self.n = np.sum(x)

    def add(self, x):
        self.b += x


ONE, OTHERS = Register(), [Register(), Register()]


def by_method(x):
    ONE.keep(x)
    return ONE.n**2


def into_its_array(x):
    ONE.add(x)
    return np.sum(ONE.b * x)


def by_another_name(x):
    r = ONE
    r.n = np.sum(x)
    return ONE.n * r.n


def in_a_list(x):
    for r in OTHERS:
        r.keep(x)
    return OTHERS[0].n * OTHERS[1].n


def unread(x):
    ONE.keep(x)
    return np.sum(x * x)


SLOPES = {
    by_method: 2.0 * np.sum(X),
    into_its_array: 2.0 * X,
    by_another_name: 2.0 * np.sum(X),
    in_a_list: 2.0 * np.sum(X),
}


@pytest.mark.parametrize("fn", SLOPES, ids=lambda f: f.__name__)
def test_an_object_of_the_module_is_changed_in_a_copy(fn: Any) -> None:
    slope = SLOPES[fn] * np.ones(3)
    np.testing.assert_allclose(tl.grad(fn)(X), slope)
    np.testing.assert_allclose(tl.jvp(fn, (X,), (X,))[1], slope @ X)
    assert ONE.n == 0.0 and not ONE.b.any()


def test_derivatives_that_leave_by_an_object_of_the_module_are_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into"):
        tl.grad(unread)(X)
    with pytest.raises(tl.UnsupportedError, match="carries derivatives into"):
        tl.jvp(unread, (X,), (X,))
    assert ONE.n == 0.0 and not ONE.b.any()


class Holder:
    def __init__(self, held):
        self.held = held

    def change(self, held):
        self.held = held


def set_by_a_property(holder, v):
    holder.held.volume = v
    return holder.held.side * v


def test_a_setter_of_an_unknown_class_is_refused() -> None:
    args = (Holder(made_objects.Box(2.0)), 3.0)
    with pytest.raises(tl.TangentlikeError, match="volume"):
        tl.grad(set_by_a_property, wrt=1)(*args)
    with pytest.raises(
        tl.TangentlikeError, match="with an attribute `volume`, and no property, and got a Box"
    ):
        tl.jvp(set_by_a_property, args, (Holder(made_objects.Box(0.0)), 1.0))


def test_a_pullback_runs_twice() -> None:
    value, pullback = tl.vjp(made_objects.written_through, X)
    first = pullback(1.0)[0]
    np.testing.assert_allclose(first, tl.grad(made_objects.written_through)(X), rtol=1e-12)
    np.testing.assert_array_equal(pullback(2.0)[0], 2.0 * first)


def test_constructors_stay_as_they_were_written() -> None:
    text = tl.grad(made_objects.orbit).source
    assert "p, v = Vec(x, y), " in text and "instance(" not in text
    text = tl.grad(made_objects.cell_made).source
    assert "cell, Cell_tape = Cell_fwd(w, u)" in text
    assert "self = instance(Cell, w=" in text


SECOND = ("orbit", "slope_by_dual", "layers_made", "by_class_method", "model_of_the_module")


@pytest.mark.thorough
@pytest.mark.parametrize("name", one_in(2, SECOND, start=1))
def test_second_order(name: str) -> None:
    (program,) = (p for p in made_objects.PROGRAMS if p.fn.__name__ == name)
    tl.check_grads(program.fn, program.arguments(), wrt=program.wrt, order=2)


def test_forward_over_reverse_of_objects_that_are_written() -> None:
    for name in ("cell_made", "objects_in_objects", "written_through"):
        (program,) = (p for p in made_objects.PROGRAMS if p.fn.__name__ == name)
        args, rng = program.arguments(), np.random.default_rng(3)
        v = rng.normal(size=np.shape(args[0]))
        v = v if np.ndim(v) else float(v)
        got = tl.hvp(program.fn)(*args, v)
        up, down = (tl.grad(program.fn)(args[0] + step * v, *args[1:]) for step in (1e-6, -1e-6))
        np.testing.assert_allclose(got, (up - down) / 2e-6, rtol=1e-5, atol=1e-7)


class Counted:
    count = 0

    def __new__(cls, w):
        cls.count += 1
        return super().__new__(cls)

    def __init__(self, w):
        self.w = w


class Doubling(type):
    def __call__(cls, w):
        return super().__call__(2.0 * w)


class Doubled(metaclass=Doubling):
    def __init__(self, w):
        self.w = w


class Checked:
    def __init__(self, w):
        self.w = w

    def __setattr__(self, name, value):
        super().__setattr__(name, 2.0 * value)


@dataclasses.dataclass
class Completed:
    w: float
    tag: Any = dataclasses.field(default_factory=lambda: object())

    def __post_init__(self):
        self.w = 2.0 * self.w


def class_made_inside(x):
    pair = namedtuple("pair", "a b")
    return pair(x, 2.0 * x).a


@pytest.mark.thorough
def test_a_class_that_is_made_inside() -> None:
    tl.check_grads(class_made_inside, (1.5,))


class Sized(NamedTuple):
    first: float
    size_of_it: int = 1


def starred_fields(x):
    return Sized(*x[:2]).first


def test_fields_that_are_not_named() -> None:
    tl.check_grads(starred_fields, (X,))


@pytest.mark.parametrize(
    ("cls", "how"),
    [
        (Counted, "`__new__`"),
        (Doubled, "a metaclass"),
        (Checked, "`__setattr__`"),
        (Completed, "a `__post_init__`, or a `default_factory`,"),
    ],
)
def test_classes_that_make_or_store_in_their_own_way_are_refused(cls: Any, how: str) -> None:
    def made(x):
        return cls(x).w * x

    for mode in ("reverse", "forward"):
        with pytest.raises(tl.UnsupportedError, match=f"has {how} of its own"):
            tl.autodiff(made, mode=mode)(2.0, 1.0)


class TurnedAround:
    def __init__(self, a: Any, b: Any) -> None:
        self.b = b
        self.a = a


class WithSlots:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.b = b
        self.a = a


class SlotsAndMore(WithSlots):
    def __init__(self, a: Any, b: Any, c: Any = 2.0) -> None:
        self.c = c
        super().__init__(a, b)


class MoreSlots(WithSlots):
    __slots__ = ("c",)

    def __init__(self, a: Any, b: Any, c: Any = 2.0) -> None:
        super().__init__(b, a)
        self.c = a * b * c


@dataclasses.dataclass
class Fields:
    b: Any
    a: Any
    c: Any = 3.0


@pytest.mark.parametrize("cls", [TurnedAround, WithSlots, SlotsAndMore, MoreSlots, Fields])
def test_fields_in_any_order(cls: Any) -> None:
    """A mirror's parts go to the fields that they belong to."""

    def through_an_object(x):
        made = cls(a=x, b=x * x * x)
        other = cls(a=made.b, b=made.a)
        other.a = other.a * x
        return made.a * 2.0 + other.a - made.b * other.b

    tl.check_grads(through_an_object, (1.3,))
    change = agreement.slope(tl.grad(through_an_object), (1.3,), (1.0,))
    forward = tl.jvp(lambda x: tl.jvp(through_an_object, (x,), (1.0,))[1], (1.3,), (1.0,))[1]
    assert agreement.close(tl.hvp(through_an_object)(1.3, 1.0), change, 1e-6)
    assert agreement.close(forward, change, 1e-6)


class Node:
    __slots__ = ("left", "right", "value")

    def __init__(self, value: Any, left: Any = None, right: Any = None) -> None:
        self.value, self.left, self.right = value, left, right


def built(xs):
    if len(xs) == 0:
        return None
    middle = len(xs) // 2
    return Node(xs[middle], built(xs[:middle]), built(xs[middle + 1 :]))


def folded(node, w):
    if node is None:
        return 0.0
    return np.tanh(w * node.value + folded(node.left, w) - 0.5 * folded(node.right, w))


def test_a_tree_of_objects_with_slots() -> None:
    tl.check_grads(lambda xs, w: folded(built(xs), w), (X, 0.7))


class Wave:
    def __init__(self, w):
        self.w = 2.0 * w

    def __call__(self, x):
        return np.sin(self.w * x)


class Steep(Wave):
    def __init__(self, w):
        self.w = 3.0 * w


LAYERS: dict[str, type] = {"wave": Wave, "steep": Steep}


def of_names(x, w, names):
    layers = [LAYERS[name](w) for name in names]
    for layer in layers:
        x = layer(x)
    return np.sum(x)


def test_classes_that_are_looked_up() -> None:
    x = np.array([0.3, 0.8])
    tl.check_grads(of_names, (x, 0.4, ("wave", "steep", "wave")), wrt=(0, 1))
    tl.check_grads(of_names, (x, 0.4, ("steep",)), wrt=(0, 1))
    df = tl.grad(of_names)
    assert "Wave(w) if part is Wave else Steep(w)" in df.source


def test_a_class_that_is_added_later_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    df = tl.grad(of_names)
    df(np.array([0.3, 0.8]), 0.4, ("wave",))
    monkeypatch.setitem(LAYERS, "other", type("Other", (Wave,), {}))
    with pytest.raises(
        tl.UnsupportedError,
        match="written for the class Wave or the class Steep and got a type Other",
    ):
        df(np.array([0.3, 0.8]), 0.4, ("other",))


# --------------------------------------------------------------- options that are passed on


class Spring:
    def __init__(self, k: Any = 1.0, rest: Any = 2.0, **more: Any) -> None:
        self.k = k
        self.rest = rest
        self.more = more


class Damped(Spring):
    def __init__(self, c: Any, **options: Any) -> None:
        super().__init__(**options)
        self.c = c


class Driven(Damped):
    def __init__(self, force: Any, **more: Any) -> None:
        super().__init__(force * 2.0, force=force, **more)


class Plain:
    def __init__(self, k: Any = 1.0, rest: Any = 2.0) -> None:
        self.k = k
        self.rest = rest


class Rebinding(Plain):
    def __init__(self, c: Any, **options: Any) -> None:
        options = dict(options, rest=c)
        super().__init__(**options)


class Shape(abc.ABC):
    SCALE = 2.0

    @staticmethod
    def doubled(v: Any) -> Any:
        return v * 2.0

    @classmethod
    def scaled(cls, v: Any) -> Any:
        return v * cls.SCALE

    @abc.abstractmethod
    def area(self, v: Any) -> Any: ...


class Square(Shape):
    SCALE = 3.0

    def area(self, v: Any) -> Any:
        return np.sum(super().doubled(v) * super().scaled(v))


def test_options_that_a_constructor_passes_on() -> None:
    x = np.array([0.5, 1.2, 2.0])

    def energy(x):
        s = Damped(x[0], k=x[1], mass=x[2])
        return s.k * s.rest + s.c * s.more["mass"]

    def driven(x):
        s = Driven(x[0], k=x[1], mass=x[2])
        return s.k * s.c * s.more["mass"] * s.more["force"]

    tl.check_grads(energy, (x,), order=2)
    tl.check_grads(driven, (x,), order=2)


def test_options_that_a_constructor_changes_first() -> None:
    """What the parent gets is not what the call gave: right, or refused."""

    def energy(x):
        s = Rebinding(x[0], k=x[1])
        return s.k * s.rest

    with contextlib.suppress(tl.UnsupportedError):
        tl.check_grads(energy, (np.array([0.5, 1.2]),))


class Model:
    def __init__(self, e: Any, w: Any = 1.0, b: Any = 0.5) -> None:
        self.v = w * e + b


class CountedModel(Model):
    def __init__(self, e: Any, **options: Any) -> None:
        self.n = len(options)
        super().__init__(e, **options)


class Weighted(CountedModel):
    def __init__(self, e: Any, scale: Any = 2.0, **options: Any) -> None:
        if "w" in options:
            options["w"] = options["w"] * 3.0
        super().__init__(e * scale, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("words", [(), ("w",), ("b", "scale"), ("w", "b")])
def test_options_that_a_constructor_reads_and_passes_on(words: tuple[str, ...]) -> None:
    """(Refused before: whose `__init__` `super()` gives was lost.)"""

    def energy(e, given):
        made = Weighted(e, **dict.fromkeys(words, given))
        return np.sum(made.v**2) * (1 + made.n)

    def written(e, given):
        made = Weighted(e, w=given) if words else CountedModel(e, b=given)
        return np.sum(made.v**2) * (1 + made.n)

    tl.check_grads(energy, (X, 1.3))
    tl.check_grads(written, (X, 1.3), order=2)


def test_static_and_class_methods_of_a_parent() -> None:
    tl.check_grads(lambda x: Square().area(x), (np.array([0.5, 1.2]),), order=2)


class Slotted:
    __slots__ = ("_rate", "t", "twice")

    def __init__(self, t: Any) -> None:
        self.t = t

    def rate(self) -> Any:
        try:
            return self._rate
        except AttributeError:
            self._rate = self.t * 3.0
        return self._rate


class SlottedAgain(Slotted):
    __slots__ = (*Slotted.__slots__, "n")

    def __init__(self, t: Any) -> None:
        super().__init__(t)
        self.n = np.size(t)


@pytest.mark.thorough
@pytest.mark.parametrize("cls", [Slotted, SlottedAgain])
def test_slots_that_are_empty_at_first(cls: Any) -> None:
    def energy(x):
        made = cls(x)
        for k in range(2):
            made.twice = made.t * (k + made.rate())
            x = x + made.twice * made.rate()
        return np.sum(x)

    tl.check_grads(energy, (X,), order=2)


class Declared:
    __slots__ = ("area", "t")  # the first is set after the second
    power = 2.0

    def __init__(self, t: Any) -> None:
        self.t = t


@pytest.mark.thorough
def test_slots_that_are_set_after_later_ones() -> None:
    """(Second derivatives took the adjoint of one slot for that of another.)"""

    def energy(x):
        made = Declared(x)
        for _ in range(2):
            made.area = made.t * made.t
            x = x + made.area * made.t * made.power
        return np.sum(x)

    tl.check_grads(energy, (X,), order=2)
