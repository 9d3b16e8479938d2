"""`place op= value`: Python reads the place before it computes the value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def doubled(a):
    a[0] = a[0] * 2.0
    return a[1]


def entry_of_an_array(x):
    a = np.array([x, x * x])
    a[0] += doubled(a)
    return a[0]


def item_of_a_list(x):
    a = [x, x * x]
    a[0] += doubled(a)
    return a[0]


def popped_meanwhile(x):
    a = [x, x * x, x]
    a[-1] += a.pop() * 2.0
    return a[-1]


class Account:
    def __init__(self, total):
        self.total = total
        self.count = 1.0

    def double(self):
        self.total = self.total * 2.0
        return self.total * self.total

    def next(self):
        self.count = self.count + 1.0
        return self.count * self.total


def attribute(x):
    account = Account(x)
    account.total += account.double()
    return account.total


def rebound_by_an_inner_function(x):
    t = x

    def double():
        nonlocal t
        t = t * 2.0
        return t * t

    t += double()
    return t


CHANGED = [entry_of_an_array, item_of_a_list, popped_meanwhile, attribute]
CHANGED += [rebound_by_an_inner_function]


def another_attribute(x):
    account = Account(x)
    account.total += account.next()
    account.total += account.next()
    return account.total * account.count


def length_with_the_new_entry(x):
    d = defaultdict(float)
    for k in ("a", "b", "a"):
        d[k] += x * (1.0 + len(d))
    return d["a"] * d["b"]


def left_operand_first(x):
    t = x

    def double():
        nonlocal t
        t = t * 2.0
        return t * t

    y = t + double()
    t = t * y + double()
    return y * t


def walrus(x):
    y = x
    y += (y := x * x) * 2.0
    return y * x


def rows(x):
    a = [np.array([x, 2.0 * x]), x]

    def change():
        a[0] = a[0] * x
        return a[0] * a[0]

    first = a[0]
    a[0] += change()
    return np.sum(a[0] * first) + np.sum(first)


def in_a_loop(x):
    account = Account(x)
    a = np.array([x, x * x, 1.0])
    for k in range(3):
        a[k] -= doubled(a) * account.double()
        account.total *= account.next()
    return np.sum(a) * account.total


def numbers(x):
    a, b = [x, x], [x, 2.0]

    def change():
        a[0] = a[0] * x
        return a[0] * a[0]

    def popped():
        return b.pop() * x

    a[0] += change()
    b[0] += popped()
    return a[0] * b[0]


def captured_attribute(x):
    account = Account(x)

    def change():
        account.total = account.total * x
        return account.total * 2.0

    account.total += change()
    return account.total


class Doubled:
    def __init__(self, total):
        self._total, self.reads = total, 0

    @property
    def total(self):
        self.reads += 1
        return self._total * 2.0

    @total.setter
    def total(self, value):
        self._total = value / 2.0 + self.reads


def property_that_writes(x):
    account = Doubled(x)
    account.total += x * x
    account.total *= x
    return account.total


RIGHT = [*CHANGED, walrus, property_that_writes, rows, numbers, captured_attribute, in_a_loop]
RIGHT += [another_attribute, length_with_the_new_entry, left_operand_first]


@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
def test_python_reads_the_place_first(f: Callable[..., Any]) -> None:
    assert tl.value_and_grad(f)(0.7)[0] == pytest.approx(f(0.7), rel=1e-12)
    tl.check_grads(f, (0.7,), order=2)


# ------------------------------------------- operands that what is evaluated later binds again


def factors_bound_in_turn(x):
    j = 0.0

    def grown(v):
        nonlocal j
        j = j + v
        return j

    return grown(x) * grown(x * x) - grown(2.0) * j + j * grown(x)


def items_bound_in_turn(x):
    j = 1.0

    def scaled(v):
        nonlocal j
        j = j * v
        return j

    a = [scaled(x), scaled(x + 1.0), j, scaled(2.0)]
    d = {"a": scaled(x), "b": scaled(x)}
    return a[0] * a[1] + a[2] * a[3] + d["a"] - d["b"] * np.hypot(scaled(x), scaled(0.5))


def places_counted_in_turn(x):
    y = np.array([x, x * x, np.sin(x)])
    j = 0

    def following():
        nonlocal j
        j += 1
        return j

    y[following()] += x * following()
    y[following() - 3] *= y[following() - 2]
    m = np.outer(y, y)
    m[following() - 5, following() - 4] += x * following()
    m[following() - 8 : following() - 6] *= x
    return np.sum(m * np.arange(9).reshape(3, 3))


def keys_counted_in_turn(x):
    j = 0

    def following():
        nonlocal j
        j += 1
        return j

    d = {following(): x * following(), following(): x**2 * following()}
    return d[1] * d[3]


def array_bound_in_turn(x):
    y = np.array([x, x * x])

    def doubled_place():
        nonlocal y
        y = y * 2.0
        return 1

    y[doubled_place()] += x * doubled_place()
    z = y[doubled_place()] * x
    return np.sum(y) * z + y.dot(y * doubled_place()) * y[0]


def assigned_in_turn(x):
    return (j := x * 2.0) * (j := x * 3.0) + (j := j * x) - (j := 2.0) ** j * (j := x)


IN_TURN = [factors_bound_in_turn, items_bound_in_turn, places_counted_in_turn]
IN_TURN += [keys_counted_in_turn, array_bound_in_turn, assigned_in_turn]


@pytest.mark.parametrize("f", IN_TURN, ids=lambda f: f.__name__)
def test_operands_are_what_they_are_when_python_reads_them(f: Callable[..., Any]) -> None:
    """Calls of inner functions that give a name of the enclosing function, and bind it again."""
    assert tl.value_and_grad(f)(0.7)[0] == pytest.approx(f(0.7), rel=1e-12)
    tl.check_grads(f, (0.7,), order=2)
