"""Methods of arrays and containers that are values: `apply(w.fill, v)`, `push = xs.append`.

What calls them reads or writes the array or the container, wherever it got the method from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import NotDifferentiated


def apply(g, *values):
    return g(*values)


def given_to_a_helper(x, s):
    w = x.copy()
    apply(w.fill, s * x[0])
    return np.sum(w * x)


def called_later(x, s):
    w = x * s
    order = w.sort
    order()
    return w @ x


def read_before_a_rebinding(x, s):
    total = (x * s).sum
    x = x * 2
    return total() * np.sum(x)


def with_a_keyword(x, s):
    total = np.outer(x, x * s).sum
    return total(axis=0) @ x


def pushed(x, s):
    xs = []
    push = xs.append
    for v in x:
        push(v * s)
    return xs[0] * xs[2] + sum(xs)


def extended(x, s):
    xs = []
    apply(xs.extend, [s, x[0]])
    return xs[0] * xs[1]


def popped(x, s):
    xs = [x[0] * s, x[1], s]
    pop = xs.pop
    return pop() * apply(pop, 0) + xs[0]


def looked_up(x, s):
    table = {"u": x * s}
    get = table.get
    return np.sum(get("u") * x)


def updated(x, s):
    table = {"u": x}
    apply(table.update, {"u": x * s})
    return np.sum(table["u"] * x)


def mapped(x, s):
    xs = []
    list(map(xs.append, x * s))
    return xs[0] * xs[1]


def one_of_two(x, s):
    w = x * s
    chosen = w.sum if s > 0 else w.max
    return chosen() * x[0]


def of_each_row(x, s):
    total = 1.0
    for of_row in ((x * s).sum, (x * x).max):
        total = total * of_row()
    return total


def keys_of_an_order(x, s):
    table = {0: x[0] * s, 1: x[1], 2: s}
    first = max(table, key=table.get)
    return table[first] * sum(map(table.get, [0, 2]))


X, S = np.array([0.3, -0.7, 0.5]), 0.4


@pytest.mark.parametrize(
    "fn",
    [
        *(given_to_a_helper, called_later, read_before_a_rebinding, with_a_keyword, pushed),
        *(extended, popped, looked_up, updated, mapped, one_of_two, of_each_row),
        keys_of_an_order,
    ],
    ids=lambda fn: fn.__name__,
)
def test_derivatives(fn: Callable[..., Any]) -> None:
    tl.testing.check_grads(fn, (X, S))
    np.testing.assert_allclose(tl.grad(fn, example=(X, S))(X, S), tl.grad(fn)(X, S), rtol=1e-12)


def given_to_a_helper_alone(x, s):
    w = x.copy()
    apply(w.fill, s)
    return np.sum(w * x)


def test_the_text_for_any_types_is_made() -> None:
    """What was refused for the sake of one part was refused again at another place, and again."""
    assert tl.grad(given_to_a_helper_alone).source


class Box:
    pass


def of_a_field(x, s):
    box = Box()
    box.w = x * s
    apply(box.w.fill, s * x[0])
    return np.sum(box.w * x)


def what_a_helper_gives(x, s):
    w = x.copy()
    filler(w)(s)
    return np.sum(w * x)


def filler(w):
    return w.fill


@pytest.mark.parametrize("fn", [of_a_field, what_a_helper_gives], ids=lambda fn: fn.__name__)
def test_where_the_class_is_not_known_it_is_refused(fn: Callable[..., Any]) -> None:
    for derivative in (lambda: tl.grad(fn)(X, S), lambda: tl.jvp(fn, (X, S), (X, S))):
        with pytest.raises((tl.UnsupportedError, NotDifferentiated), match="fill"):
            derivative()
