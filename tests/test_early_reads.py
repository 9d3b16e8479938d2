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


@pytest.mark.parametrize("f", CHANGED, ids=lambda f: f.__name__)
def test_values_that_change_the_place_are_refused(f: Callable[..., Any]) -> None:
    for derived in (lambda f: tl.grad(f)(0.7), lambda f: tl.jvp(f, (0.7,), (1.0,))):
        with pytest.raises(tl.UnsupportedError, match="the right-hand side of an update") as caught:
            derived(f)
        assert "^" in str(caught.value)


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


RIGHT = [another_attribute, length_with_the_new_entry, left_operand_first]


@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
def test_other_values(f: Callable[..., Any]) -> None:
    assert tl.value_and_grad(f)(0.7)[0] == pytest.approx(f(0.7), rel=1e-12)
    tl.check_grads(f, (0.7,))
