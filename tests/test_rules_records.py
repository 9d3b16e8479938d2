"""Records written as dicts and tuples (asdict, astuple, vars, getattr), copied (copy, deepcopy),
and namedtuples with methods, as arguments; second order."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests.programs import dataclasses_made, object_operators
from tests.programs import record_forms as programs
from tests.sampled import one_in

X = np.array([0.4, 1.2, 0.7])


def of_points(points, t):
    far = points[0]._replace(x=t * points[1].x)
    return sum([p.scaled(t).norm() for p in points]) * far.slope


def of_pair(pair):
    entries = pair._asdict()
    return entries["a"] * np.sum(entries["b"] ** 2)


def of_names(point, t):
    total = t
    for name in point._fields:
        total = total + t * getattr(point, name) ** 2
    return total


def of_entries(weights):
    entries = dataclasses.asdict(weights)
    w, _ = dataclasses.astuple(weights)
    return entries["b"] * np.sum(w**3)


def of_copy(weights, t):
    other = copy.deepcopy(weights)
    other.w[0] = t * other.w[1]
    other.b = other.b**2
    return np.sum(other.w * weights.w) * other.b


POINTS = [programs.Point(0.3, 0.5), programs.Point(1.1, 0.2)]
WEIGHTS = programs.Weights(X, 0.5)
WITH_ARGUMENTS = [
    (of_points, (POINTS, 0.7)),
    (of_pair, (programs.Pair(0.3, X),)),
    (of_names, (POINTS[0], 0.7)),
    (of_entries, (WEIGHTS,)),
    (of_copy, (WEIGHTS, 0.7)),
]


@pytest.mark.parametrize("fn, args", WITH_ARGUMENTS, ids=[fn.__name__ for fn, _ in WITH_ARGUMENTS])
def test_of_arguments(fn, args):
    before = copy.deepcopy(args)
    tl.check_grads(fn, args)
    assert repr(before) == repr(args)


TWICE = (*programs.PROGRAMS, *dataclasses_made.PROGRAMS, *object_operators.PROGRAMS)


@pytest.mark.parametrize("program", one_in(3, TWICE), ids=lambda p: p.fn.__name__)
def test_second_order(program):
    v = np.array([0.3, -0.5, 0.2])
    slope = tl.grad(program.fn)
    expected = (slope(X + 1e-5 * v) - slope(X - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(tl.hvp(program.fn)(X, v), expected, rtol=1e-5, atol=1e-7)


def of_completed(lifted, t):
    other = dataclasses.replace(lifted, height=t * lifted.far)
    return other.far * lifted.r * lifted.x


def test_attributes_that_are_no_fields_have_gradients_of_their_own():
    lifted = dataclasses_made.Lifted(0.3, 0.4, 1.2)
    tl.check_grads(of_completed, (lifted, 0.7))
    slope = tl.grad(of_completed)(lifted, 0.7)
    assert slope.r != 0.0
    assert slope.far != 0.0


@dataclass
class Counted:
    w: float

    def __deepcopy__(self, memo):
        return Counted(2.0 * self.w)


def of_own_copy(counted):
    return copy.deepcopy(counted).w ** 2


@pytest.mark.parametrize(
    "derivative", [tl.grad(of_own_copy), lambda c: tl.jvp(of_own_copy, (c,), (c,))]
)
def test_a_copy_that_a_class_makes_itself_is_refused(derivative):
    with pytest.raises(tl.UnsupportedError, match=r"__deepcopy__ of its own") as caught:
        derivative(Counted(1.5))
    assert "copy.deepcopy(counted)" in str(caught.value)


def of_method_by_name(point, name):
    return getattr(point, name)() * point.x


def test_a_method_by_a_name_that_varies():
    found = tl.grad(of_method_by_name)(POINTS[0], "norm")
    told = tl.grad(lambda point: point.norm() * point.x)(POINTS[0])
    assert (found.x, found.y) == (told.x, told.y)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Both:
    a: Any
    b: Any


def replaced_by_an_entry(x):
    n = Pair(x, x * 2.0)
    return n._replace(a=x[0]).a * np.sum(n.b * n.a)


def replaced_in_a_dataclass(x):
    d = Both(x, x * 2.0)
    e = dataclasses.replace(d, a=x[0])
    return e.a * np.sum(e.b) + np.sum(d.a**3)


def assigned_an_entry(x):
    d = Both(x, x * 2.0)
    d.a = x[0] ** 2
    return d.a * np.sum(d.b)


def assigned_a_part(x):
    d = Both(x, x * 2.0)
    d.a = x[:2]
    return np.sum(d.a[:, None] * np.sum(d.b))


@pytest.mark.parametrize(
    "fn",
    [replaced_by_an_entry, replaced_in_a_dataclass, assigned_an_entry, assigned_a_part],
    ids=lambda fn: fn.__name__,
)
def test_a_field_that_gets_another_shape_at_order_two(fn):
    x = np.array([0.5, 1.2, 0.7, 2.0])
    tl.check_grads(fn, (x,), order=2)
    np.testing.assert_allclose(tl.jacrev(tl.grad(fn))(x), tl.hessian(fn)(x))


def summed_beside_a_field(x):
    p = Pair(x[0], x[1])
    return p.a * p.b + sum(p)


def largest_beside_a_field(x):
    p = Pair(x[0], x[1])
    return p.a * min(p) + list(p)[1] * max(p.b, x[2])


def stacked_beside_a_field(x):
    p = Pair(x[:2], x[2:])
    return np.sum(sum(p) * p.a) + np.sum(np.concatenate(p) * x) + np.sum(np.array(p) * p.b)


def summed_in_a_list(x):
    pairs = [Pair(x[k], x[k + 1]) for k in range(len(x) - 1)]
    return sum(p.a * sum(p) for p in pairs)


@pytest.mark.parametrize(
    "fn",
    [
        summed_beside_a_field,
        largest_beside_a_field,
        stacked_beside_a_field,
        summed_in_a_list,
    ],
    ids=lambda fn: fn.__name__,
)
def test_a_namedtuple_as_a_sequence(fn):
    tl.check_grads(fn, (np.array([0.5, 1.2, 0.7, 2.0]),), order=2)


class Reading(NamedTuple):
    v: Any
    s: float = 0.5


def unpacked(x, y):
    v, s = Reading(y)._replace(v=x)
    _, t = Reading(y, x[0])._replace(v=x, s=y[1] * s)
    return v @ x * s * t


def test_a_record_with_another_field_is_unpacked() -> None:
    tl.check_grads(unpacked, (X, X[::-1] * 0.5))
