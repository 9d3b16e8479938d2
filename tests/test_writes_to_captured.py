"""Functions out of containers, attributes and helpers that write what they capture, which carries
no derivative itself: it is put back before the sweep reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl


class Box:
    pass


def filler(w):
    return w.fill


def run_all(functions, v):
    for g in functions:
        g(v)


def out_of_a_dict(x, s):
    w = np.arange(3.0)
    y = np.sum(w * x * x * s)
    actions = {0: lambda v: w.fill(v), 1: lambda v: w.sort()}
    actions[int(x[0])](3.0)
    return y * np.sum(w * x)


def out_of_a_list(x, s):
    w = np.arange(3.0)
    y = np.sum(w * x * x * s)
    for action in [w.fill, lambda v: w.put(0, v)]:
        action(3.0)
    return y * np.sum(w * x)


def out_of_an_attribute(x, s):
    q = Box()
    q.w = np.arange(3.0)
    y = np.sum(q.w * x * x * s)
    q.reset = lambda v: q.w.fill(v)
    q.reset(3.0)
    return y * np.sum(q.w * x)


def out_of_a_helper(x, s):
    w = np.arange(3.0)
    y = np.sum(w * x * x * s)
    fill = filler(w)
    fill(3.0)
    return y * np.sum(w * x)


def chosen(x, s):
    w = np.arange(3.0)
    y = np.sum(w * x * x * s)
    action = w.fill if s > 0.0 else w.put
    action(3.0)
    return y * np.sum(w * x)


def by_a_helper(x, s):
    w, seen = np.arange(3.0), []
    y = np.sum(w * x * x * s)
    run_all([w.fill, seen.append, lambda v: seen.append(w[0] * v)], 3.0)
    return y * np.sum(w * x) * len(seen) * seen[1]


def in_a_container_that_is_captured(x, s):
    table = {"w": np.arange(3.0)}

    def reset(v):
        table["w"][:] = v
        table["n"] = v

    y = np.sum(table["w"] * x * x * s)
    for action in (reset, reset):
        action(3.0)
    return y * np.sum(table["w"] * x) * table["n"]


@pytest.mark.parametrize(
    "fn",
    [
        *(out_of_a_dict, out_of_a_list, out_of_an_attribute, out_of_a_helper, chosen),
        *(by_a_helper, in_a_container_that_is_captured),
    ],
    ids=lambda fn: fn.__name__,
)
def test_what_is_written_is_put_back(fn: Callable[..., Any]) -> None:
    x, s = np.array([0.3, -0.7, 0.5]), 0.4
    tl.check_grads(fn, (x, s), order=2 if fn is out_of_a_dict else 1)
    _, pullback = tl.vjp(fn, x, s)
    for _ in range(2):  # (each run of the tape has copies of its own)
        found, expected = pullback(1.0), tl.grad(fn, wrt=(0, 1))(x, s)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
