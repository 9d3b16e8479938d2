# ruff: noqa: C417, RUF058 - these programs are about just that
"""What is gone through: pairs known by one name, `map` and `filter` of each other."""

import functools
import itertools
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


def selections(xs, ys):  # (those that read all that they are given when they are made)
    s = sum((a - b) ** 2 for a, b in itertools.combinations(xs, 2))
    for a, b in itertools.product(xs, ys):
        s = s + a * b * b
    for a, b in itertools.combinations_with_replacement(ys, 2):
        s = s + np.sin(a * b)
    pairs = itertools.permutations([xs[0], ys[1]], 2)
    return s + sum(a * b * b for a, b in pairs)


def one_after_the_other(xs, ys):
    out = []
    for v in itertools.chain(xs, ys):
        out.append(v * v)
    rows = [xs, out]
    flat = list(itertools.chain.from_iterable(rows))
    products = itertools.accumulate(itertools.chain(*rows), operator.mul, initial=0.5)
    s = sum(n * v for n, v in enumerate(products))
    for a, b in itertools.pairwise(flat):
        s = s + a * b * b
    return s + sum(itertools.accumulate(itertools.islice(ys, 1, None)))


def side_by_side(xs, ys):
    s = sum(itertools.starmap(lambda a, b: a * b, zip(xs, ys)))
    for n, x in zip(itertools.count(1), xs):
        s = s + n * x * x
    for y, x in zip(ys, itertools.cycle(xs[:2])):
        s = s + x * y * y
    for a, b in itertools.zip_longest(xs[:2], ys, fillvalue=xs[2]):
        s = s + a * b
    return s + sum(v for v, _ in zip(itertools.repeat(xs[0]), ys)) ** 2


def chosen_from(xs, ys):
    small = sum(itertools.takewhile(lambda v: v < 5.0, xs))
    rest = list(itertools.dropwhile(lambda v: v > 5.0, ys))
    return small * rest[1] + functools.reduce(operator.mul, itertools.compress(xs, [1, 0, 1]), 1.0)


def of_matrices(xs, ys):
    rows = np.outer(ys, ys * xs[0])
    s = sum(r @ q for r, q in itertools.combinations(rows, 2))
    for i, j in itertools.product(range(2), range(3)):
        s = s + rows[i, j] ** 2
    return s + sum(np.sum(m) for m in itertools.accumulate([rows, rows.T, rows], np.matmul))


class _Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


def getters(xs, ys):
    second, ends = operator.itemgetter(1), operator.itemgetter(0, -1)
    a, b = ends(xs)
    points = [_Point(x, x * x) for x in xs]
    s = sum(map(operator.attrgetter("y"), points)) * a * b
    s = s + sum(map(operator.methodcaller("sum"), [ys * ys, ys])) * second(ys)
    best = max(zip(xs, ys), key=operator.itemgetter(1))
    return s + best[0] * best[1]


def _of_pairs(items, places):
    return sum(items[i] * items[j] for i, j in places)


def given_to_a_function(xs, ys):
    return _of_pairs(xs, itertools.combinations(range(3), 2)) * ys[0]


def extremes_with_defaults(xs, ys):
    none = [v for v in xs if v > 100.0]
    s = min(xs, key=abs, default=0.0) * max(ys, default=xs[0], key=lambda v: -v)
    s = s + min(none, key=abs, default=xs[1]) * max(none, key=abs, default=2.0 * ys[0])
    far = max(xs, key=lambda v: (v - ys[1]) ** 2, default=1.0)
    pair = max(zip(xs, ys), key=lambda p: p[1], default=(1.0, 2.0))
    return s + far * far + pair[0] * pair[1]


def first_items(xs, ys):
    """`next(iter(..))` of dicts, lists and arrays; what is empty gives the default, or raises."""
    d = {"a": ys * 2.0, "b": ys**2}
    key, value = next(iter(d.items()))
    s = np.sum(next(iter(d.values())) * d[next(iter(d))]) + len(key) * np.sum(value)
    s = s + next(iter([]), xs[0]) * next(iter(ys)) + next(v * v for v in xs)
    try:
        s = s * next(iter(xs[9:]))
    except StopIteration:
        s = s + xs[1] ** 2
    return s


def iterators_gone_through_at_once(xs, ys):
    s = sum(iter(ys)) * max(iter(xs))
    for i, (x, y) in enumerate(zip(iter(xs), iter(ys))):
        s = s + i * x * y
    for y in iter(ys):
        s = s * y
    return s + sum([x * x for x in iter(xs)])


def named_pairs(xs, ys):
    kept = zip([x for x in xs if x > 0.5], ys)
    s = sum(a * b for a, b in kept)
    numbered = enumerate(ys, 1)
    for i, y in numbered:
        s = s * i + y**2
    turned = reversed(xs)
    for x in turned:
        s = s * x + x
    columns = [xs, ys]
    rows = zip(*columns)
    return s + sum([x * y for x, y in rows])


PROGRAMS = [
    Program(named_pairs, _two_lists(3), (0, 1)),
    Program(first_items, _two_lists(3), (0, 1)),
    Program(iterators_gone_through_at_once, _two_lists(3), (0, 1)),
    Program(extremes_with_defaults, _two_lists(3), (0, 1)),
    Program(selections, _two_lists(3), (0, 1)),
    Program(one_after_the_other, _two_lists(3), (0, 1)),
    Program(side_by_side, _two_lists(3), (0, 1)),
    Program(chosen_from, _two_lists(3), (0, 1)),
    Program(of_matrices, _two_lists(3), (0, 1)),
    Program(getters, _two_lists(3), (0, 1)),
    Program(given_to_a_function, _two_lists(3), (0, 1)),
    Program(pairs_by_one_name, _two_lists(3), (0, 1)),
    Program(pairs_kept, _two_lists(3), (0, 1)),
    Program(maps_and_filters, _two_lists(3), (0, 1)),
    Program(generators_of_generators, numbers((0.4, 0.9), (0.4, 0.9)), (0, 1)),
]
