"""Deques of which the adjoints of what they hold are found by identity."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import Shadow, accumulate

X = np.array([0.3, 0.5, -0.7, 1.1, 0.2])


class Window:
    def __init__(self):
        self.q = collections.deque()

    def push(self, v):
        self.q.append(v)
        if len(self.q) > 2:
            self.q.popleft()
        return self.q[0] * v


def through_a_window(x):
    window, out = Window(), 0.0
    for v in x:
        out = out + window.push(v * v) ** 2
    return out


def arrays_through_a_window(x):
    window, out = Window(), 0.0
    for k in range(4):
        out = out + np.sum(window.push(x * x[k]) ** 2)
    return out


@pytest.mark.thorough
def test_a_deque_in_a_field() -> None:
    for f in (through_a_window, arrays_through_a_window):
        tl.check_grads(f, X, order=2)


def test_adjoints_in_a_deque() -> None:
    a, b = np.ones(2), 0.5
    held, bars = collections.deque([a, b], 3), Shadow()
    bars.add(held, [np.full(2, 2.0), 3.0])
    np.testing.assert_array_equal(bars.of(a), [2.0, 2.0])
    found = bars.of(held)
    assert type(found) is collections.deque and found[1] == 3.0
    assert bars.like(held, found)[1] == 3.0
    assert bars.take(held, held)[1] == 0.0  # (it is what it was made of)
    assert bars.take(held)[1] == 3.0 and bars.of(b) == 0.0
    bars.put(held, [np.zeros(2), 4.0])
    assert bars.of(b) == 4.0


def test_adjoints_of_a_deque_are_added_item_by_item() -> None:
    total = accumulate(collections.deque([1.0, 2.0], 2), [0.5, 0.5])
    assert total == collections.deque([1.5, 2.5]) and total.maxlen == 2
