"""Idioms that generated programs and the table of the language showed to be differentiated wrongly
or not at all."""

from __future__ import annotations

import functools
import math

import numpy as np

from .registry import Program, numbers, vector


def nested_target(x, y):
    s = y
    for w, (b, (c,)) in [(x, (x * y, [y])), (2.0, (x, [x]))]:
        s = np.tanh(w * s + b * c)
    return s


def nested_target_of_argument(pairs, x):
    s = x
    for k, (w, (b, c)) in enumerate(pairs):
        s = np.tanh(w * s + b * c) + 0.1 * k
    return s


def loop_over_a_set(x, y):
    d = {"a": x, "b": y, "c": x * y}
    for k in set(d) - {"c"}:
        d[k] = d[k] * y
    return d["a"] * d["b"] + d["c"]


def loop_over_a_set_that_breaks(x, y):
    s = y
    for k in {2, 3} | {3, 4}:
        s = s * x + k * y
        if k > 3:
            break
    return s


def table_of_lists(x, y):
    table = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(3):
            table[i][j] = x**i * y**j
    table[0][1] += y
    return sum(map(sum, table)) * table[1][2]


def update_by_keywords(x, y):
    d = {"a": 1.0}
    d.update({"b": x * y}, a=x * x)
    d.update(c=y)
    return d["a"] * d["b"] + d["c"]


def inner_function_that_chooses(x, y):
    def choose(v):
        return np.sin(v) if v > y else 0.5 * v

    def items(v):
        return [v * k for k in range(3)]

    return choose(x) * choose(y) + sum(items(x))


def search_then_try(x, y):
    s = 0.0
    for k in range(4):
        if s > y:
            break
        try:
            if k == 1:
                raise ValueError(k)
            s = s + x * k
        except ValueError:
            s = s + x * x
    return s


def stars_before_displays(x, y):
    def g(a, b, c=1.0):
        return a * b + c

    return g(*(x, y)) * g(x, **{"b": y, "c": x}) + g(*[x, x], **{"c": y})


def star_of_local_function(x, y):
    def g(a, b):
        return a * np.sin(b)

    pair = (x, y)
    return g(*pair)


def comprehensions_of_flags(x):
    """Numbers, flags and texts made of what carries derivatives carry none."""
    counts = [0.0 for _ in x]
    flags = [v > 0.5 for v in x]
    shown = [f"{v:.1f}" for v in x]
    signs = [int(v > 0.0) for v in x]
    where = {i: 0.0 for i, _ in enumerate(x)}
    for i, v in enumerate(x):
        counts[i] += v * v
        where[i] = counts[i] * signs[i]
    few = sum(v > 0.2 for v in x)
    first = next(i for i, v in enumerate(x) if v > 0.2)
    return few * x[first] + sum(c for c, f in zip(counts, flags) if f) + len(shown) * where[1]


def arrays_unpacked(x):
    """What an operation makes is unpacked at once: entries, rows, and nested."""
    a, b, c = np.tanh(x)
    d, e, f = x / np.sqrt(a * a + 2.0)
    (g, h), (i, _) = np.outer(x[:2], x[1:])
    heads = np.zeros(3)
    heads[0], heads[1] = np.exp(x[1:])
    skew = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
    return np.sum(skew @ x * heads) + d * e - f * g + h * i


def generators_taken_whole(x):
    a, b, c = (v * v for v in x)
    first, *rest = (np.sin(v) for v in x)
    s = math.prod(1.0 + v for v in x) + functools.reduce(lambda u, v: u * v + 1.0, (v for v in x))
    for k, v in enumerate(np.exp(v) for v in x):
        s = s + k * v
    for u, v, w in zip((v * v for v in x), x, map(np.cos, x)):
        s = s + u * w - v
    return s * a * b - c + first * sum(rest)


def lists_as_items(x, y):
    """A list is stored where numbers were: in a dict, in a list."""
    rates = {"a": 1.5, "b": x * y}
    rates["own"] = [x, y]
    parts = [x, y * y, 2.0]
    parts[2] = [x * x, rates["own"][1]]
    return rates["own"][0] * rates["b"] + parts[2][0] * parts[1] + parts[2][1]


def _pairs(rng: np.random.Generator):  # type: ignore[no-untyped-def]
    a, b, c, d, e, f, x = (float(v) for v in rng.uniform(-1, 1, 7))
    return [(a, (b, c)), (d, [e, f])], x


PROGRAMS = (
    Program(lists_as_items, numbers((0.5, 1.0), (0.5, 1.0)), (0, 1)),
    Program(arrays_unpacked, vector(3)),
    Program(generators_taken_whole, vector(3)),
    Program(comprehensions_of_flags, vector(4, 0.3, 0.9)),
    Program(nested_target, numbers((0.2, 0.9), (0.2, 0.9)), (0, 1)),
    Program(nested_target_of_argument, _pairs, (0, 1)),
    Program(loop_over_a_set, numbers((0.5, 1.5), (0.5, 1.5)), (0, 1)),
    Program(loop_over_a_set_that_breaks, numbers((0.5, 1.5), (0.5, 1.5)), (0, 1)),
    Program(table_of_lists, numbers((0.5, 1.5), (0.5, 1.5)), (0, 1)),
    Program(update_by_keywords, numbers((0.2, 0.9), (0.2, 0.9)), (0, 1)),
    Program(inner_function_that_chooses, numbers((0.6, 0.9), (0.2, 0.5)), (0, 1)),
    Program(search_then_try, numbers((0.6, 0.9), (0.7, 0.8)), (0, 1)),
    Program(stars_before_displays, numbers((0.2, 0.9), (0.2, 0.9)), (0, 1)),
    Program(star_of_local_function, numbers((0.2, 0.9), (0.2, 0.9)), (0, 1)),
)
