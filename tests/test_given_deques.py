"""Deques among the arguments carry derivatives as lists do: gradients and tangents are deques."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.9, 1.2, 0.7])


def full(items: Any = (1.5, 2.0)) -> deque[Any]:
    return deque(items, maxlen=2)


def product(q):
    return q[0] * q[1]


def put_and_read(x, q):
    s = q[0]
    q.append(x[0])
    return s * q[0] * q[1]


def taken_and_put(q):
    v, w = q.popleft(), q.pop()
    q.append(v * w)
    return q[0] * v


def at_both_ends(x, q):
    q.append(x[0] * q[0])
    q.appendleft(x[1] * q[1])
    return q[0] * q[1] ** 2


def turned(q):
    q.rotate(-1)
    q[0] *= q[1]
    return q[0] * q[1] ** 2 + sum(q)


def gone_through(q):
    s = 0.0
    for v in q:
        s = s * v + v
    return s * max(q) + np.sum(np.array(q) ** 2) + len(q) * q[-1]


def copied(q):
    other = q.copy()
    other.extend([q[0] * q[1], 2.0 * q[1]])
    return other[0] * other[1] * q[0]


def emptied(q):
    s = 0.0
    while q:
        s = s * 1.5 + q.popleft() ** 2
    return s


def in_a_dict(state, x):
    state["recent"].append(state["w"] * state["recent"][0] * x[0])
    return state["recent"][0] * state["recent"][1] ** 2


def in_a_list(parts):
    for part in parts[:2]:
        part.append(parts[2] * part[0])
    return parts[0][0] * parts[0][1] ** 2 * parts[1][2]


def of_deques(q):
    q[0].append(q[1][0])
    return q[0][0] * q[0][1] * q[1][1]


class Window:
    def __init__(self, q):
        self.q = q

    def put(self, v):
        self.q.append(v)


def in_an_object(window, x):
    window.put(x[0] * window.q[0])
    window.put(x[1])
    return window.q[0] * window.q[1]


def of_arrays(q, x):
    q.append(q[0] * x)
    q[1][0] = q[0][1]
    return np.sum(q[0] * q[1])


PROGRAMS = [
    (product, (full(),)),
    (put_and_read, (X, full())),
    (taken_and_put, (full(),)),
    (at_both_ends, (X, full())),
    (turned, (full(),)),
    (gone_through, (full(),)),
    (copied, (full(),)),
    (copied, (deque([1.5, 2.0]),)),
    (emptied, (full(),)),
    (in_a_dict, ({"recent": full(), "w": 0.4}, X)),
    (in_a_list, ([full(), [1.0, 2.0], 0.4],)),
    (of_deques, (deque([full(), deque([0.2, 0.3])]),)),
    (of_arrays, (full([X * 0.5, X + 1.0]), X)),
]


@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_both_modes_and_examples(fn: Any, args: tuple[Any, ...]) -> None:
    tl.check_grads(fn, args)
    every = tuple(range(len(args)))
    plain = tl.grad(fn, wrt=every)(*args)
    told = tl.grad(fn, wrt=every, example=args)(*args)
    np.testing.assert_equal(list(map(repr, told)), list(map(repr, plain)))


def test_in_an_object() -> None:
    window_bar, x_bar = tl.grad(in_an_object, wrt=(0, 1))(Window(full()), X)
    assert window_bar.q == deque([1.2 * 0.9, 0.0])
    np.testing.assert_allclose(x_bar, [1.2 * 1.5, 0.9 * 1.5, 0.0])


def test_what_comes_back_is_a_deque_of_that_bound() -> None:
    gradient = tl.grad(product)(full())
    assert gradient == deque([2.0, 1.5]) and gradient.maxlen == 2
    assert tl.vjp(product, full())[1](1.0)[0] == deque([2.0, 1.5])
    assert tl.jvp(product, (full(),), (full([1.0, 0.5]),)) == (3.0, 2.75)
    assert tl.linearize(product, full())[1](full([1.0, 0.5])) == 2.75
    assert tl.jacobian(product)(full()) == deque([2.0, 1.5])
    assert tl.hessian(product)(full())[0] == deque([0.0, 1.0])
    assert tl.hvp(product)(full(), full([1.0, 0.0])) == deque([0.0, 1.0])
    assert tl.grad(tl.checkpoint(product))(full()) == deque([2.0, 1.5])
    pushed = tl.grad(tl.grad(lambda q: product(q) * q[0]), wrt=0)
    with pytest.raises(tl.TangentlikeError):
        pushed(full())  # (a deque has no gradient itself)


def test_a_seed_of_another_length_is_refused() -> None:
    with pytest.raises(tl.TangentlikeError, match="must be a deque of 2"):
        tl.jvp(product, (full(),), (deque([1.0]),))


def test_the_argument_stays_as_it_is() -> None:
    q = full()
    tl.grad(put_and_read, wrt=(0, 1))(X, q)
    assert q == deque([1.5, 2.0]) and q.maxlen == 2


def of_the_class(items):
    """Copies a list in a field that methods assign: nothing is known of it."""
    other = items.held.copy()
    other.append(items.held[0] * 2.0)
    other[1] = other[1] * other[2]
    return sum(other)


class Items:
    def __init__(self, x):
        self.held = [x, x * x]

    def more(self, v):
        self.held = [*self.held, v]


def copied_field(x):
    items = Items(x)
    items.more(x * 3.0)
    return of_the_class(items) * x


@pytest.mark.thorough
def test_tangents_of_the_copy_of_an_unknown_container() -> None:
    tl.check_grads(copied_field, (0.7,), order=2)
