"""Namedtuples and dataclasses as Python's library has them used: unpacked, converted, merged."""

from collections import namedtuple

import numpy as np

from .registry import Program, vector

Moments = namedtuple("Moments", "mean std")
Ends = namedtuple("Ends", "first last")
Summary = namedtuple("Summary", "moments ends")


def moments(x):
    return Moments(np.mean(x), np.std(x))


def summary(x):
    return Summary(moments(x), Ends(x[0], last=x[-1]))


def unpacked_where_made(x):
    mean, std = Moments(np.mean(x), np.std(x))
    return mean * std


def unpacked_results(x):
    mean, std = moments(x)
    (mean2, std2), ends = summary(x * mean)
    first, last = ends
    return mean / std + mean2 * std2 * first - last * ends.first


def unpacked_items(x):
    found = []
    for _ in range(2):
        mean, _ = moments(x)
        x = x * mean
        found.append(moments(x))
    return sum(mean * std for mean, std in found)


def product(ends):
    first, last = ends
    return first * last


def unpacked_otherwise(x):
    first, *rest = Ends(x[0], x[1] * x[2])
    found = [moments(v * x) for v in x]
    means, stds = zip(*found)
    pairs = [Ends(v, v * v) for v in x]
    firsts, lasts = zip(*pairs)
    return first * rest[0] + sum(means) * sum(stds) + sum(firsts) * sum(lasts)


def passed_on(x):
    ends = Ends(x[0], x[-1] ** 2)
    return product(ends) * ends.first


def largest_of_tuples(x):
    best, place = max((v * v, i) for i, v in enumerate(x))
    least, name, _ = min([(np.sin(v), "ends", x[1]) for v in x])
    found = max([moments(x), moments(2.0 * x)])
    return best * x[place - 1] + least * len(name) + found.mean * found.std


def largest_or_default(x):
    none = max((v for v in x if v > 5.0), default=x[0] ** 2)
    return none * min([v * v for v in x], default=1.0) + max([], default=2.0)


PROGRAMS = (
    Program(unpacked_otherwise, vector(4)),
    Program(passed_on, vector(4)),
    Program(largest_of_tuples, vector(4)),
    Program(largest_or_default, vector(4)),
    Program(unpacked_where_made, vector(4)),
    Program(unpacked_results, vector(4)),
    Program(unpacked_items, vector(4)),
)
