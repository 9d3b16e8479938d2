"""Classes that a function defines inside."""

from __future__ import annotations

import abc
import dataclasses
import typing

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 1.2, -0.4])
REGISTERED = []


class Base:
    def __init__(self, w):
        self.w = w

    def square(self):
        return self.w * self.w


class Registered:
    def __init_subclass__(cls):
        REGISTERED.append(cls)


def derived(x):
    class First(Base):
        def square(self):
            return super().square() + self.w

    class Second(First):
        k = 2.0

        def square(self):
            return super().square() * self.k + First(self.w * 2.0).square()

        @classmethod
        def of(cls, v):
            return cls(v * v)

        def again(self):
            return Second(self.w * 0.5)

    return np.sum(Second(x).square()) + np.sum(Second.of(x).again().square())


def records(x):
    @dataclasses.dataclass(frozen=True)
    class Part:
        a: float
        b: float = 2.0

        def __mul__(self, other):
            return Part(self.a * other.a, self.b + other.b)

    class Point(typing.NamedTuple):
        a: float
        b: float

        def area(self):
            return self.a * self.b

    made, point = Part(x[0]) * Part(x[1], x[2]), Point(x[0], x[1])
    return made.a * made.b * isinstance(made, Part) + point._replace(a=x[2]).area()


def abstract(x):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

    class Square(Shape):
        def __init__(self, a):
            self.a = a

        def area(self):
            return self.a**2

    class Circle(Shape):
        def __init__(self, r):
            self.r = r

        @property
        def d(self):
            return 2 * self.r

        def area(self):
            return np.pi * self.d**2 / 4

    return sum(shape.area() for shape in [Square(x[0]), Circle(x[1]), Square(x[2])])


def in_a_loop(x):
    s = 0.0
    for i in range(2):

        class Scaled:
            def __init__(self, v):
                self.v = v

            def __getitem__(self, k):
                return self.v[k] * 3.0

        s = s + Scaled(x * i)[0] * Scaled(x)[1]
    return s


def of_a_closure(k):
    def inner(x):
        class Scale:
            def of(self, v):
                return v * k

        return np.sum(Scale().of(x) ** 2)

    return inner


def in_an_inner_function(x):
    def scaled(v, k=1.5):
        try:

            class Scale:
                def __init__(self, k):
                    self.k = k

                def of(self, v):
                    return self.k * v
        except NameError:
            return 0.0
        return np.sum(Scale(k).of(v) ** 2)

    return scaled(x) + scaled(x[:2], x[0])


@pytest.mark.parametrize(
    "fn",
    [
        *(derived, records, abstract, in_a_loop, of_a_closure(2.5), of_a_closure(X)),
        in_an_inner_function,
    ],
)
def test_derivatives(fn):
    tl.check_grads(fn, (X,), order=2)


def test_a_file_of_its_own():
    namespace = {}
    text = tl.grad(abstract, example=(X,)).__tangentlike__.derive().derived.standalone()
    exec(text, namespace)
    np.testing.assert_allclose(namespace["abstract_grad"](X), tl.grad(abstract)(X))


def counted(x):
    class Counted:
        count = 0

        def __init__(self):
            Counted.count += 1

    Counted()
    return np.sum(x) * Counted.count


def counted_by_a_class_method(x):
    class Counted:
        count = 1

        @classmethod
        def more(cls):
            cls.count += 1

    Counted.more()
    return np.sum(x) * Counted.count


def counted_by_a_helper(x):
    class Counted:
        count = 1

    def more(cls):
        cls.count += 1

    more(Counted)
    return np.sum(x) * Counted.count


def collected(x):
    class Log:
        seen: typing.ClassVar = []

        def put(self, v):
            self.seen.append(v)

    Log().put(2.0)
    return np.sum(x) * len(Log.seen)


def registered(x):
    class Local(Registered):
        def of(self, v):
            return v

    return np.sum(Local().of(x))


def capturing(x):
    class Scale:
        def of(self, v):
            return v * x

    return np.sum(Scale().of(x))


@pytest.mark.parametrize(
    "fn",
    [counted, counted_by_a_class_method, counted_by_a_helper, collected, registered, capturing],
)
def test_classes_that_differ_from_call_to_call_are_refused(fn):
    """(What a call leaves in the class would be there in the next one.)"""
    for df, given in ((tl.grad(fn), ()), (tl.autodiff(fn, mode="forward"), (X,))):
        with pytest.raises(tl.UnsupportedError, match="a class defined inside captures variables"):
            df(X, *given)
    assert not REGISTERED
