"""Records written as dicts and tuples, copied, made from sequences; namedtuples with methods."""

import copy
import dataclasses
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .registry import Program, vector

Pair = namedtuple("Pair", "a b")


class Point(NamedTuple):
    x: float
    y: float

    def norm(self):
        return np.sqrt(self.x**2 + self.y**2)

    def scaled(self, factor):
        return Point(factor * self.x, factor * self.y)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    @property
    def slope(self):
        return self.y / self.x


@dataclass
class Weights:
    w: np.ndarray
    b: float


@dataclass
class Model:
    first: Weights
    rates: list


def points_that_compute(x):
    points = [Point(v, 1.0 + v * v).scaled(2.0) for v in x]
    total = points[0] + points[1]._replace(x=x[2])
    return sum([p.norm() for p in points]) * total.slope


def from_sequences(x):
    p = Pair(*(np.sin(v) for v in x[:2]))
    q = Pair._make([x[2] * p.a, p.b])
    r = Point(*map(np.exp, q))
    return p.a * q.b + q.a * r.norm()


def namedtuple_as_dict(x):
    p = Pair(x[0] * x[1], x[2])
    total = 0.0
    for name, value in p._asdict().items():
        total = total + len(name) * value**2
    return total * p._asdict()["b"]


def dataclass_as_dict_and_tuple(x):
    model = Model(Weights(x * x, x[0]), [x[1], 2.0])
    entries = dataclasses.asdict(model)
    (w, b), rates = dataclasses.astuple(model)
    return np.sum(entries["first"]["w"] * w) * b + entries["rates"][0] * rates[1]


def fields_by_name(x):
    weights = Weights(x * x, x[0])
    total = 0.0
    for field in dataclasses.fields(weights):
        total = total + np.sum(getattr(weights, field.name) ** 2)
    for value in vars(weights).values():
        total = total + np.sum(np.sin(value))
    return total


def copied_deeply(x):
    weights = Weights(2.0 * x, x[0])
    other = copy.deepcopy(weights)
    other.w[0] = x[1] * other.w[2]
    other.b = other.b * x[2]
    items = copy.deepcopy([x, other.w])
    items[1][1] = 3.0
    return np.sum(weights.w * other.w) * other.b + np.sum(items[1] * x)


def copied(x):
    items = [x, x * x]
    others = copy.copy(items)
    others[0] = others[1] * x[0]
    array = copy.copy(x)
    array[0] = array[1] ** 2
    return np.sum(items[0] * others[0] * array)


PROGRAMS = tuple(
    Program(fn, vector(3))
    for fn in (
        *(points_that_compute, from_sequences, namedtuple_as_dict, dataclass_as_dict_and_tuple),
        *(fields_by_name, copied_deeply, copied),
    )
)
