# ruff: noqa: C417 - these programs are about just that
"""What is gone through: pairs known by one name, `map` and `filter` of each other."""

import operator

import numpy as np

from .registry import Make, Program, numbers


def _two_lists(count: int) -> Make:
    return lambda rng: ([*map(float, rng.uniform(0.4, 0.9, count))], rng.uniform(0.4, 0.9, count))


def _product(pair):
    return pair[0] * pair[1] ** 2


def pairs_by_one_name(xs, ys):
    s = 0.0
    for p in zip(xs, ys):
        s = s + p[0] ** 2 * p[1]
    for p in enumerate(zip(ys, xs), 1):
        n, q = p
        s = s + n * _product(q)
    for p, y in zip(enumerate(reversed(xs)), ys):
        s = s + p[0] * p[1] * y
    return s


def pairs_kept(xs, ys):
    pairs = []
    for p in zip(xs, ys):
        pairs.append(p)
        p = (p[1], 3.0)
        pairs.append(p)
        if len(pairs) > 3:
            break
    squares = [p for p in zip(ys, ys) if p[0] > 0.0]
    return pairs[0][1] * pairs[1][0] * p[0] + _product(squares[1])


def maps_and_filters(xs, ys):
    small = sum(map(lambda v: v * v, filter(lambda v: v < 5.0, xs)))
    weighted = sum(n * v for n, v in enumerate(map(np.sin, xs)))
    products = sum(map(lambda p: p[0] * p[1], zip(xs, ys)))
    mixed = [a * b for a, b in zip((v * v for v in xs), map(np.cos, ys))]
    for v in map(np.exp, filter(None, map(operator.neg, xs))):
        small = small + v * v
    return small * weighted + products * mixed[1]


def generators_of_generators(a, b):
    squares = [v * v for v in (v + b for v in (a, b)) if v > 0.0]
    sums = [v + u for v in map(np.sin, squares) for u in filter(None, (a, b))]
    return sums[0] * sums[3]


PROGRAMS = [
    Program(pairs_by_one_name, _two_lists(3), (0, 1)),
    Program(pairs_kept, _two_lists(3), (0, 1)),
    Program(maps_and_filters, _two_lists(3), (0, 1)),
    Program(generators_of_generators, numbers((0.4, 0.9), (0.4, 0.9)), (0, 1)),
]
