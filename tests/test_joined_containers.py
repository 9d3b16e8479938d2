"""Lists and dicts that hold the items of others, one of which is written in place then."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.4, 0.9, 1.3])
DIRECTION = np.array([0.3, -0.7, 0.5])


class Holder:
    pass


def written_in_the_new_one(p: Any, m: Any, key: Any, x: Any) -> Any:
    t = p[key] * 2.0
    m[key][0] = x[1] * 7.0
    return np.sum(t * x) + np.sum(p[key] * t)


def written_in_the_old_one(p: Any, m: Any, key: Any, x: Any) -> Any:
    t = m[key] * x
    p[key][1] *= x[0]
    s = np.sum(t * m[key])
    return s * s


def merged(x: Any) -> Any:
    p = {"a": x * 1.0}
    m = p | {"b": x}
    t = p["a"] * 2.0
    m["a"][0] = x[1] * 7.0
    return np.sum(t * x) + np.sum(p["a"] * t)


def merged_behind(x: Any) -> Any:
    p = {"a": x * 1.0}
    return written_in_the_old_one(p, {"b": x} | p, "a", x)


def given_a_keyword(x: Any) -> Any:
    p = {"a": x * 1.0}
    m = dict(p, b=x)
    t = m["a"] * x
    p["a"][1] *= x[0]
    return np.sum(t * m["a"]) ** 2


def repeated(x: Any) -> Any:
    p = [x * 1.0]
    m = p * 1
    t = p[0] * 2.0
    m[0][0] = x[1] * 7.0
    return np.sum(t * x) + np.sum(p[0] * t)


def joined(x: Any) -> Any:
    p = [x * 1.0]
    return written_in_the_new_one(p, p + [x], 0, x)


def copied(x: Any) -> Any:
    p = [x * 1.0]
    return written_in_the_old_one(p, copy.copy(p), 0, x)


def repeated_of_unknown_class(x: Any) -> Any:
    d: dict[str, Any] = {}
    d["a"] = [[x * 1.0]]
    ws = d["a"][0]
    n = 1
    m = ws * n
    t = ws[0] * 2.0
    m[0][0] = x[1] * 7.0
    return np.sum(t * x) + np.sum(ws[0] * t)


def joined_of_unknown_class(x: Any) -> Any:
    c = Holder()
    c.ws, c.vs = [x * 1.0], []  # type: ignore[attr-defined]
    ws, vs = c.ws, c.vs  # type: ignore[attr-defined]
    m = ws + vs
    t = ws[0] * 2.0
    m[0][0] = x[1] * 7.0
    return np.sum(t * x) + np.sum(ws[0] * t)


PROGRAMS = [
    *(merged, merged_behind, given_a_keyword, repeated, joined, copied),
    *(repeated_of_unknown_class, joined_of_unknown_class),
]


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("fn", PROGRAMS)
def test_items_are_shared(fn: Callable[[Any], Any], mode: str) -> None:
    try:
        if mode == "reverse":
            found = float(tl.grad(fn)(X) @ DIRECTION)
        else:
            found = float(tl.jvp(fn, (X,), (DIRECTION,))[1])
    except tl.UnsupportedError:
        assert fn is joined_of_unknown_class
        return
    assert agreement.close(found, agreement.slope(fn, (X,), [DIRECTION]), 1e-6)


def repeated_lists(x):
    first = ([x] * 3)[0] * x + 0.5 * np.sum((2 * [x, 3.0 * x])[3])
    return np.sum(first) + np.sum(sum(([x] * 2)[1:]) * x[0])


def test_numbers_that_repeat_lists_are_no_factors():
    tl.check_grads(repeated_lists, (np.array([0.3, 0.7]),), order=2)


def concatenated(x, n=1):
    if n == 5:
        whole = x
    else:
        whole = np.concatenate([x, x[:2]])
    return whole**3


def stacked(x, n=1):
    if n == 5:
        whole = x
    else:
        whole = np.column_stack([x, x * x])
    return whole * whole


def one_product(x, n=1):
    if n == 5:
        whole = x[0]
    else:
        whole = math.prod([x[0], x[1] * x[0], x[2]])
    return whole * x


def sloped(x, n=1):
    if n == 5:
        whole = [x, x]
    else:
        whole = np.gradient(np.outer(x, x))
    return whole[0] * whole[1]


@pytest.mark.parametrize("made", (concatenated, stacked, one_product, sloped))
def test_adjoints_of_lists_that_one_branch_makes_are_added_item_by_item(made):
    """(In the derivative of the derivative, where nothing says that the name stands for a list.)"""

    def f(x):
        return np.sum(made(x) ** 2)

    gradient = tl.grad(f)

    def along(x):
        return np.sum(gradient(x) * DIRECTION)

    step = 1e-6 * DIRECTION
    expected = np.sum((gradient(X + step) - gradient(X - step)) * DIRECTION) / 2e-6
    np.testing.assert_allclose(tl.grad(along)(X) @ DIRECTION, expected, rtol=1e-6)
    np.testing.assert_allclose(tl.jvp(along, (X,), (DIRECTION,))[1], expected, rtol=1e-6)
