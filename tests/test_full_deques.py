"""What is appended to a deque that is full takes its oldest item out: in fields, and where nothing
is known of it, too."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.9, 1.2, 0.7, 1.4, 0.6])


class Window:
    def __init__(self, n, items=()):
        self.q = deque(items, maxlen=n)

    def push(self, v):
        self.q.append(v)
        return self.q[0]


def pushed(x):
    window, s = Window(2), 0.0
    for v in x:
        s = s + window.push(v * v) * v
    return s


def full_from_the_start(x):
    window, s = Window(2, (0.5, 0.25)), 0.0
    for v in x[:2]:
        s = s + window.q[0] * v
        window.q.append(v * v)
        s = s + window.q[0] * window.q[1]
    return s


def holds_what_varies(x):
    window = Window(3)
    for k in range(3):
        window.q.append(x[k] * x[0])
    t = window.q[1] * window.q[2]
    window.q.append(x[3])
    return t * window.q[0] * window.q[2]


def to_the_left(x):
    window = Window(2)
    window.q.append(x[0] * x[0])
    window.q.append(x[1])
    window.q.appendleft(x[2] * x[3])
    t = window.q[0] * window.q[1]
    window.q.appendleft(x[4])
    return t * window.q[1]


def of_lists(x):
    window = Window(2)
    for v in x:
        window.q.append([v, v * v])
        window.q[0][1] = window.q[0][1] * v
    return window.q[0][1] * window.q[-1][0]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fn",
    [pushed, full_from_the_start, holds_what_varies, to_the_left, of_lists],
    ids=lambda fn: fn.__name__,
)
def test_fields(fn: Any) -> None:
    tl.check_grads(fn, (X,), order=2)


def put(x, q):
    s = q[0]
    q.append(x[0])
    return s * q[0] * q[1]


def test_one_that_is_given() -> None:
    q = deque([1.5, 2.0], maxlen=2)
    np.testing.assert_allclose(tl.grad(put)(X, q), [3.0, 0.0, 0.0, 0.0, 0.0])
    assert list(q) == [1.5, 2.0]
