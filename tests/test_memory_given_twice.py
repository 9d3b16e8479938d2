"""Memory that a helper hands out in more than one way, before anything in it carries derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.7, -0.2])


class Both:
    def set(self, k):
        buf = np.zeros(3)
        self.a, self.b, self.k = buf, buf[1:], k


class Held:
    def __init__(self, buf, k=1.0):
        self.buf, self.k = buf, k


def objects(k):
    buf = np.zeros(3)
    return Held(buf, k), Held(buf)


def handed_on(k):
    return objects(k)


def of_two_objects(x, k):
    a, b = handed_on(k)
    a.buf[0] += a.k * x[0]
    return b.buf[0] ** 2


def containers(k):
    m = np.zeros((2, 3))
    return m[0], (m, k), [m]


def of_views_and_containers(x, k):
    row, (m, c), held = containers(k)
    row[0] += c * x[0]
    return m[0, 0] ** 2 + held[0][0, 0]


def rows_of(k, n):
    buf, rows = [0.0], []
    for _ in range(n):
        rows.append((buf, k))
    return rows


def of_a_loop(x, k):
    rows = rows_of(k, 2)
    rows[0][0][0] += k * x[0]
    return rows[1][0][0] ** 2


def put(a, b, k):
    buf = np.zeros(3)
    a["u"], b["v"], a["k"] = buf, buf, k


def of_two_arguments(x, k):
    a: dict[str, Any] = {}
    b: dict[str, Any] = {}
    put(a, b, k)
    a["u"][0] += a["k"] * x[0]
    return b["v"][0] ** 2


def of_two_closures(x, k):
    def maker():
        total = 0.0

        def add(v):
            nonlocal total
            total += v * k

        def get():
            return total**2

        return add, get

    add, get = maker()
    for v in x:
        add(v)
    return get()


def of_one_object(x, k):
    o = Both()
    o.set(k)
    o.a[1] += o.k * x[0]
    return o.b[0] ** 2


def fill(o, k):
    buf = np.ones(3) * k
    o.a, o.b = buf, buf[1:]


def fill_by_another(o, k):
    fill(o, k)


def of_one_argument(x, k):
    o = Both()
    fill_by_another(o, k)
    o.a[1] += k * x[0]
    return o.b[0] ** 2


def append_both(rows, w, k):
    rows.append(w)
    rows.append(w[1:])
    rows.append(k)


def of_one_list(x, k):
    rows: list[Any] = []
    append_both(rows, np.zeros(3), k)
    rows[0][1] += rows[2] * x[0]
    return rows[1][0] ** 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    "f",
    [
        *(of_two_objects, of_views_and_containers, of_a_loop, of_two_arguments, of_two_closures),
        *(of_one_object, of_one_argument, of_one_list),
    ],
)
def test_a_write_by_one_way_is_seen_by_the_other(f: Any) -> None:
    """(The first five had tangents of zero, the last three gradients of zero.)"""
    tl.check_grads(f, (X, 0.7), order=2)
