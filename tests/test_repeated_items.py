"""Two items of one container that are one array, each read under a name, and one of them written.

Each of these gradients was that of two arrays: the adjoints of the items were two buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X, V = np.array([0.4, 0.7, -0.3]), np.array([1.0, -2.0, 0.5])


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


def in_a_tuple(x):
    w = x * 1.0
    pair = (w, w)
    p, q = pair
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def chosen_by_a_branch(x):
    w = x * 1.0
    p, q = (w, w) if x[0] > 0.0 else (x * 1.0, x * 2.0)
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def put_into_a_list(x):
    w = x * 1.0
    pair = [x * 1.0, x * 2.0]
    if x[0] > 0.0:
        pair[0] = w
        pair[1] = w
    p, q = pair
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def in_a_dict(x):
    w = x * 1.0
    pair = {"p": w, "q": w} if x[0] > 0.0 else {"p": x * 1.0, "q": x * 2.0}
    p = pair["p"]
    q = pair["q"]
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def views_in_a_dict(x):
    w = x * 1.0
    pair = {"p": w, "q": w[::-1]}
    p = pair["p"]
    q = pair["q"]
    q *= p[1]
    return np.sum(p**2)


def fields_of_an_object(x):
    w = x * 1.0
    pair = Pair(w, w) if x[0] > 0.0 else Pair(x * 1.0, x * 2.0)
    p = pair.a
    q = pair.b
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def starred(x):
    w = x * 1.0
    p, *others = [w, w, x * 2.0]
    others[0][0] = p[1] * 3.0
    return np.sum(p**2)


def of_two_arrays(x):
    """Only `w` is in both, and not twice in one."""
    w = x * 1.0
    pair = (w, x * 3.0) if x[0] > 0.0 else (x * 2.0, w)
    p = pair[0]
    q = pair[1]
    q[0] = q[0] * p[1]
    return np.sum(p**2) + np.sum(q)


def two_parts_of_one(x):
    params = {"a": x[:1], "b": x[1:]}
    state = {"h": x * 1.0, "loss": 0.0}
    for k in ("a", "b"):
        state["loss"] += np.sum(params[k] ** 2) * state["h"][0]
    return state["loss"]


RIGHT = [in_a_tuple, chosen_by_a_branch, put_into_a_list, in_a_dict, views_in_a_dict]
RIGHT += [fields_of_an_object, starred, of_two_arrays, two_parts_of_one]


def appended(x):
    w = x * 1.0
    pair: list[Any] = []
    for _ in range(2):
        pair.append(w)
    p = pair[0]
    q = pair[1]
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def twice(x):
    return x, x


def by_a_call(x):
    w = x * 1.0
    p, q = twice(w) if x[0] > 0.0 else (x * 1.0, x * 2.0)
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def deeper(x):
    w = x * 1.0
    rows = [[w, x * 2.0], [x * 3.0, w]]
    p = rows[0][0]
    q = rows[1][1]
    q[0] = q[0] * p[1]
    return np.sum(p**2)


def repeated(x):
    w = x * 1.0
    p, q, r = [w] * 3
    for i in range(2):
        q[i] = q[i] * p[i + 1]
    return np.sum(p**2) + np.sum(r)


def copied_in_a_loop(x):
    w = x * 1.0
    pair = [w, w]
    for _ in range(2):
        pair = pair[:]
        pair[0] *= 2.0
    return np.sum(pair[1] * x)


BY_IDENTITY = [appended, by_a_call, deeper, repeated, copied_in_a_loop]


@pytest.mark.parametrize("f", RIGHT + BY_IDENTITY, ids=lambda f: f.__name__)
def test_both_modes(f: Callable[..., Any]) -> None:
    slope = agreement.slope(f, (X,), [V])
    assert agreement.close(float(tl.jvp(f, (X,), (V,))[1]), slope, 1e-7)
    assert agreement.close(float(tl.grad(f)(X) @ V), slope, 1e-7)
    assert agreement.close(float(tl.grad(f, example=(X,))(X) @ V), slope, 1e-7)
