"""Methods that change a container of indices, within a test, a key or a statement of their own: what
is read of it when the statements are reversed is what it held then."""

from collections import deque

import numpy as np
import pytest

import tangentlike as tl
from tests.generator import loaded


def popped(x):
    order = [2, 1, 0, 1]
    s = x[0]
    while order:
        if order.pop() > 0:
            s = s * x[order[-1] if order else 0] + np.sin(s)
    return s


def popped_left(x):
    order = deque([2, 1, 0, 1, 2])
    s = x[0]
    while len(order) > 1:
        if order.popleft() > 0:
            s = s * x[order[0]] + np.sin(s)
    return s


def popitem(x):
    left = {0: 2, 1: 0, 2: 1}
    s = x[0]
    while left:
        if left.popitem()[1] < 2:
            s = s * x[len(left)] + np.sin(s)
    return s


def removed(x):
    left = [0, 1, 2, 1]
    s = x[0]
    for k in (1, 2, 0):
        if left.remove(k) is None and left:
            s = s * x[left[0]] + np.sin(s)
    return s


def set_by_default(x):
    seen = {}
    s = x[0]
    for k in (1, 2, 1, 0, 1):
        if seen.setdefault(k, len(seen)) < 2:
            s = s * x[seen[k]] + np.sin(s) * x[len(seen) - 1]
    return s


def turned(x):
    order = [2, 1, 0, 1]
    s = x[0]
    for k in range(3):
        if order.reverse() is None:
            s = s * x[order[0]] + np.sin(s)
        order[0] = (order[0] + 1) % 3
    return s


def put_in_order(x):
    order = [2, 1, 0, 1]
    s = x[0]
    for k in range(3):
        s = s * x[order[0]] + np.sin(s)
        if order.sort() is None:
            order[0] = k
            s = s * x[order[1]]
    return s


def added(x):
    seen = set()
    s = x[0]
    for k in (1, 2, 1):
        if k not in seen and seen.add(k) is None:
            s = s * x[len(seen) - 1] + np.sin(s)
    return s


def discard(x):
    seen = {0, 1, 2}
    s = x[0]
    for k in (1, 2, 1):
        if seen.discard(k) is None:
            s = s * x[len(seen) - 1] + np.sin(s)
    return s


def nested(x):
    todo = [[0], [1, 2], [2]]
    s = x[0]
    while todo:
        if todo[-1].pop() > 0 and todo:
            s = s * x[len(todo[-1])] + np.sin(s)
        if not todo[-1] and todo.pop() is not None:
            s = s * x[len(todo) - 1]
    return s


def of_helper(x):
    order = deque([2, 1, 0, 1, 2])

    def more(q):
        return q.popleft() > 0

    s = x[0]
    while len(order) > 1:
        if more(order):
            s = s * x[order[0]] + np.sin(s)
    return s


def call_in_key(x):
    order = deque([2, 1, 0, 1, 2])
    s = x[0]
    while len(order) > 1:
        s = s * x[order.popleft()] + x[order[0]] * np.sin(s)
    return s


def added2(x):
    seen = set()
    s = x[0]
    for k in (1, 2, 1):
        seen.add(k)
        s = s * x[len(seen) - 1] + np.sin(s)
    return s


def dictset(x):
    d = {"a": set()}
    s = x[0]
    for k in (1, 2, 1):
        d["a"].add(k)
        d.setdefault("b", set()).add(k + 1)
        s = s * x[len(d["a"]) - 1] + np.sin(s) * x[max(d["b"]) - 1]
    return s


def set_operators(x):
    s = {1, 2}
    s |= {0}
    y = x[len(s) - 1]
    s -= {0}
    y = y * x[len(s) - 1]
    s ^= {0, 5}
    y = y * x[len(s) - 3] + np.sin(y)
    s &= {1}
    for _ in range(2):
        s |= {len(s)}
        y = y * x[len(s) - 1] + np.sin(y)
    s.clear()
    return y * x[len(s)]


PROGRAMS = (
    set_operators,
    popped,
    popped_left,
    popitem,
    removed,
    set_by_default,
    turned,
    put_in_order,
    added,
    discard,
    nested,
    of_helper,
    call_in_key,
    added2,
    dictset,
)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_method_changes_is_put_back(f):
    x = np.array([0.7, 1.3, 0.4])
    before = str(tl.grad(f).source)  # (the text that is shown before any call)
    tl.check_grads(f, (x,))
    shown = loaded(before, "shown text", dict(f.__globals__))[f"{f.__name__}_grad"]
    np.testing.assert_allclose(shown(x), tl.grad(f)(x))


def asserted(x):
    seen = set()
    s = x[0]
    for k in (1, 2, 1):
        assert seen.add(k) is None
        s = s * x[len(seen) - 1] + np.sin(s)
    return s


def formatted(x):
    todo = [2, 1, 0, 1]
    s = x[0]
    while len(todo) > 1:
        name = f"{todo.pop()}"
        s = s * x[todo[-1]] + np.sin(s) * len(name)
    return s


@pytest.mark.parametrize("f", [asserted, formatted], ids=lambda f: f.__name__)
def test_what_a_method_changes_in_text_that_is_kept_is_refused(f):
    x = np.array([0.7, 1.3, 0.4])
    with pytest.raises(tl.UnsupportedError, match="`(seen.add|todo.pop)` may write its arguments"):
        tl.grad(f)(x)


@pytest.mark.thorough
def test_what_a_method_changes_in_a_test_is_put_back_at_order_two():
    for f in (popitem, added, put_in_order):
        tl.check_grads(f, (np.array([0.7, 1.3, 0.4]),), order=2)
