"""Dataclasses made in the function whose fields are completed by a `__post_init__`."""

import dataclasses
from dataclasses import InitVar, dataclass, field

import numpy as np

from .registry import Program, vector


@dataclass
class Polar:
    x: float
    y: float

    def __post_init__(self):
        self.r = np.sqrt(self.x**2 + self.y**2)


@dataclass
class Lifted(Polar):
    height: float = 0.5

    def __post_init__(self):
        super().__post_init__()
        self.far = np.sqrt(self.r**2 + self.height**2)


@dataclass(frozen=True)
class Kernel:
    w: np.ndarray
    scale: float = 2.0

    def __post_init__(self):
        if self.scale < 0.0:
            raise ValueError("the scale is negative")
        object.__setattr__(self, "mass", self.scale * np.sum(self.w**2))

    def at(self, t):
        return self.mass * t + np.sum(np.sin(self.w * t))


@dataclass
class Line:
    w: np.ndarray
    seed: InitVar[float] = 3.0
    start: float = field(init=False)
    points: list = field(default_factory=list)

    def __post_init__(self, seed):
        self.start = seed * self.w[0]
        self.points.append(self.start)


@dataclass
class Doubled:
    a: float
    b: float = 0.0

    def __init__(self, a):
        self.a = 2.0 * a
        self.b = a**2


def completed(x):
    p = Polar(x[0], 2.0 * x[1])
    q = dataclasses.replace(p, y=x[2] * p.r)
    return p.r * p.x + q.r * q.y


def completed_by_parents(x):
    p = Lifted(x[0], x[1], height=x[2] ** 2)
    return p.far * p.r + Lifted(x[1], x[1]).far


def frozen(x):
    return Kernel(x, scale=2.0 + x[0]).at(x[1]) + Kernel(2.0 * x).mass


def with_other_arguments(x):
    line = Line(x, x[1])
    plain = Line(x * x)
    return line.start * line.points[0] + plain.start * plain.points[0]


def with_init_of_its_own(x):
    d = Doubled(x[0])
    return d.a * d.b * x[1]


PROGRAMS = tuple(
    Program(fn, vector(3))
    for fn in (completed, completed_by_parents, frozen, with_other_arguments, with_init_of_its_own)
)
