"""Memory that is handed on by a field, a list or a context manager: who writes the one writes the
other, in the function itself and where a helper hands it on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X, S = np.array([0.7, -0.4, 1.3]), 0.8


@dataclass
class Record:
    v: Any
    w: Any = None


class Pair(NamedTuple):
    v: Any
    w: Any = None


def a_field_replaced(x, s):
    record = replace(Record(x + s), v=x)
    record.v[1] *= s
    return np.sum(x * x)


def a_field_read(x, s):
    record = replace(Record(x + s), v=x)
    x[1] *= s
    return np.sum(record.v * record.v)


def a_field_written_for_nothing(x, s):
    record = replace(Record(x + s, []), v=x)
    record.w.append(record.v)
    record.w[0][1] *= s
    return s * s


def two_fields_replaced(x, s):
    record = replace(Record(x + s), v=x, w=x)
    record.v[1] *= s
    return np.sum(record.w * x)


def fields_exchanged(x, s):
    record = Record(x, x * s)
    other = replace(record, v=record.w, w=record.v)
    other.w[1] *= s
    return np.sum(x * other.v)


def an_item_replaced(x, s):
    pair = Pair(x + s)._replace(v=x)
    pair.v[1] *= s
    return np.sum(x * x)


@contextmanager
def lent(x):
    yield x


class Lending:
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        return self.x

    def __exit__(self, *raised):
        return None


def entered(x):
    with nullcontext(x) as v:
        pass
    return v


def entered_by_a_generator(x):
    with lent(x) as v:
        pass
    return v


def entered_by_an_object(x):
    with Lending(x) as v:
        pass
    return v


def added_to_a_list(x):
    items = [None]
    items += [x]
    return items[-1]


def joined_to_a_dict(x):
    items = {"a": 1.0}
    items |= {"b": x}
    return items["b"]


def added_to_an_attribute(x):
    record = Record([None])
    record.v += [x]
    return record.v[1]


def by_helper(hand):
    def f(x, s):
        v = hand(x)
        v[1] *= s
        return np.sum(x * x)

    f.__name__ = hand.__name__
    return f


@pytest.mark.parametrize(
    "f",
    [
        *map(by_helper, (entered, entered_by_a_generator, entered_by_an_object)),
        *map(by_helper, (added_to_a_list, joined_to_a_dict, added_to_an_attribute)),
        *(a_field_replaced, a_field_read, a_field_written_for_nothing, two_fields_replaced),
        *(fields_exchanged, an_item_replaced),
    ],
    ids=lambda f: f.__name__,
)
def test_who_writes_the_one_writes_the_other(f: Callable[..., Any]) -> None:
    directions = np.array([1.0, -2.0, 0.5]), 0.3
    expected = agreement.slope(f, (X, S), directions)
    x = X.copy()
    bars = tl.grad(f, wrt=("x", "s"))(x, S)
    assert agreement.inner(directions, bars) == pytest.approx(expected, rel=1e-6)
    assert tl.jvp(f, (x, S), directions)[1] == pytest.approx(expected, rel=1e-6)
    assert agreement.same_bits(x, X)
