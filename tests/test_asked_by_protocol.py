"""Operators, tests, keys and built-in functions call methods of the user's classes: what these
write of what carries derivatives is followed, or the program is refused."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


class Log:
    def __init__(self, s):
        self.s = s
        self.total = s

    def __contains__(self, v):
        self.total += v * self.s
        return True

    def __len__(self):
        self.total = self.total * self.s
        return 3

    def __bool__(self):
        self.total = self.total * self.s + 1
        return True

    def __eq__(self, other):
        self.total = self.total * self.s * 2
        return True

    def __lt__(self, other):
        self.total = self.total * self.s * 3
        return True

    def __hash__(self):
        self.total = self.total * self.s * 5
        return 1

    def __index__(self):
        self.total = self.total * self.s
        return 1

    def __str__(self):
        self.total = self.total * self.s
        return "log"

    @property
    def level(self):
        self.total = self.total * self.s
        return 2


class Vector:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def norm(self):
        return self.x * self.x

    def is_long(self):
        return self.norm > 1

    def checked(self):
        if self.norm > 100:
            raise ValueError(f"{self.norm}")
        return self.norm


class Steps:
    """An iterator that computes with what carries derivatives while it is gone through."""

    def __init__(self, x):
        self.x, self.total, self.k = x, 0.0, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.k += 1
        self.total += self.x * self.k
        if self.k > 3:
            raise StopIteration
        return self.k


class Table:
    """Entries are made where they are asked for."""

    def __init__(self):
        self.made = {}

    def __contains__(self, k):
        return k in self.made

    def __len__(self):
        return len(self.made)

    def __bool__(self):
        return bool(self.made)

    def __getitem__(self, k):
        if k not in self.made:
            self.made[k] = k * 2
        return self.made[k]


def membership(x):
    log, k = Log(x), 1
    if x in log:
        k += 1
    return log.total * k


def truth(x):
    log, k = Log(x), 0
    while log and k < 3:
        k += 1
    return log.total * (2 if not log else 3) * k


def length_in_a_test(x):
    log = Log(x)
    return log.total * (2 if len(log) > 2 else 3) + log.total


def compared(x):
    log = Log(x)
    k = 2 if log == 3 and log < 2 else 3
    return log.total * k


def text(x):
    log = Log(x)
    k = len(str(log))
    return log.total * k


def property_in_a_test(x):
    log = Log(x)
    return log.total * (2 if log.level > 1 else 3) + log.total


def in_helper(log, x):
    return 2 if x in log and log.level > 1 else 3


def in_a_helper(x):
    log = Log(x)
    k = in_helper(log, x)
    return log.total * k


def cached_in_a_test(x):
    v = Vector(x)
    return v.norm * 2 if v.norm > 1 else v.norm


def cached_in_a_loop(x):
    v, s = Vector(x), 0.0
    w = Vector(v.norm)
    for k in range(3):
        if w.norm > k:
            s += w.norm * v.norm
    while v.norm > 0.5:
        v = Vector(v.x * 0.7)
    return s + v.norm


def cached_in_methods(x):
    v = Vector(x)
    return v.is_long() * v.checked() * x


def items_made(x):
    table, s = Table(), 0.0
    for i in range(3):
        if i not in table or len(table) > 5:
            s = s + x * table[i] * s + x
        if table:
            s = s * 2
    return s


FOLLOWED = [
    *(membership, truth, length_in_a_test, compared, text, property_in_a_test, in_a_helper),
    *(cached_in_a_test, cached_in_a_loop, cached_in_methods, items_made),
]


@pytest.mark.thorough
@pytest.mark.parametrize("fn", FOLLOWED, ids=lambda fn: fn.__name__)
def test_what_a_method_writes_is_followed(fn: Any) -> None:
    for x in (1.3, 0.6):
        tl.check_grads(fn, (x,), order=2)


def asserted(x):
    v = Vector(x)
    assert v.norm > 0
    return v.norm * x


def counted(x):
    v = Vector(x)
    return v.norm * len([k for k in range(3) if v.norm > k])


def item_of_a_list(x):
    log = Log(x)
    return log.total * [1.0, 2.0][log] * log.total


def key_of_a_dict(x):
    log = Log(x)
    table = {log: 2}
    return log.total * len(table)


def largest(x):
    a, b = Log(x), Log(x * x)
    max(a, b)
    return a.total + b.total


def in_order(x):
    a, b = Log(x), Log(x * x)
    rows = sorted([a, b])
    return a.total + b.total + len(rows)


def in_a_list(x):
    a, b = Log(x), Log(x * x)
    return (a.total + b.total) * (b in [a, b]) + a.total


def gone_through(x):
    steps, n = Steps(x), 0
    for _ in steps:
        n += 1
    return steps.total * n


def any_of(x):
    steps = Steps(x)
    found = any(k > 2 for k in steps)
    return steps.total * (1 + found)


def shown(x):
    log = Log(x)
    name = f"{log}"
    return log.total * len(name)


REFUSED = [
    *(asserted, counted, item_of_a_list, key_of_a_dict, largest, in_order, in_a_list),
    *(gone_through, any_of, shown),
]


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_what_cannot_be_followed_is_refused(fn: Any) -> None:
    with pytest.raises(tl.TangentlikeError, match="may write its arguments, and is called within"):
        tl.grad(fn)(1.3)
    with pytest.raises(tl.TangentlikeError, match="may write its arguments, and is called within"):
        tl.jvp(fn, (1.3,), (1.0,))


class Loader:
    """Its own counters, which carry nothing."""

    def __init__(self, rows):
        self.rows, self.hits, self.at = rows, 0, 0

    def __len__(self):
        self.hits += 1
        return len(self.rows)

    def __getitem__(self, i):
        self.hits += 1
        return self.rows[i]

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at >= len(self.rows):
            raise StopIteration
        self.at += 1
        return self.rows[self.at - 1]


def trained(w, loader):
    s = 0.0
    for row in loader:
        s = s + w * w * row
    for i in range(len(loader)):
        if loader[i] > 1.5:
            s = s * w + loader[i]
    return s


def test_objects_that_only_count_are_asked_as_they_are() -> None:
    rows = [1.0, 2.0, 3.0]
    got = tl.grad(trained)(1.3, Loader(rows))
    h = 1e-6
    ends = [trained(1.3 + d, Loader(rows)) for d in (h, -h)]
    assert np.isclose(got, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


class Shelf:
    """`del shelf[k]` is not `shelf.pop(k)`."""

    def __init__(self, items):
        self.items, self.out = list(items), 0.0

    def pop(self, k):
        self.out = self.out + 100.0 * self.items[k]
        return self.items.pop(k)

    def __delitem__(self, k):
        self.out = self.out + self.items[k]
        del self.items[k]


class Fading:
    def __init__(self, items):
        self.items = list(items)

    def __delitem__(self, k):
        self.items[k] = self.items[k] * 0.5


def test_items_deleted_by_a_method_of_the_class():
    """(`pop` was called: wrong, or an AttributeError.)"""

    def deleted(x):
        shelf, fading = {"a": Shelf(x)}, Fading(x)
        del shelf["a"][1], fading[0]
        return shelf["a"].out * shelf["a"].items[1] * fading.items[0]

    x = np.array([0.4, 0.9, -0.3])
    tl.check_grads(deleted, (x,))
    bar = tl.grad(lambda shelf, x: (shelf.__delitem__(0), shelf.out * x[0])[1])
    np.testing.assert_allclose(bar(Shelf([0.3, 0.5]), x).items, [0.4, 0.0])
