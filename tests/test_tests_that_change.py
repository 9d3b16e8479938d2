"""Tests of what changes afterwards: the branch that was taken is taken in the reverse sweep, too."""

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.7, -0.2, 0.5])


def popped_if_there(x):
    xs = [x[0] * x[1]]
    s = x[2]
    if xs:
        s = s * xs.pop()
    return s * x[3]


def entry_if_there(x):
    d = {"a": x[0] * x[1]}
    s = x[2]
    if d:
        _, v = d.popitem()
        s = s * v
    if d or s > 9.0:
        s = s * 5.0
    return s * x[3]


def rank_zero(x):
    y = np.array(x[0] * x[1])
    s = x[2]
    if y:
        y[...] = 0.0
        s = s * x[1]
    return s * x[3] + y * x[0]


def a_view(x):
    a = x * 1.0
    first, s = a[:1], x[2]
    for _ in range(2):
        if first:
            a[0] = 0.0
            s = s * a[1]
        else:
            s = s + a[3] * x[0]
    return s


class Stack:
    def __init__(self, items):
        self.items = items


def of_an_object(x):
    o, s = Stack([x[0] * x[1]]), x[2]
    for _ in range(3):
        if o.items:
            s = s * o.items.pop()
        else:
            s = s + x[3]
    return s


def taken_of(stack, s):
    if stack:
        return s * stack.pop()
    return s * 2.0


def by_a_helper(x):
    stack = [x[0] * x[1], x[2]]
    return taken_of(stack, x[3]) * taken_of(stack, x[0]) * taken_of(stack, x[1])


def while_there_is_one_and_it_is_large(x):
    xs, s = list(x * x), 0.0
    while xs and (v := xs.pop()) > 0.06:
        s = s * v + x[0]
    return s * (len(xs) + 1)


def either_list(x):
    xs, ys, s = list(x), [], 1.0
    while xs or ys:
        if xs:
            v = xs.pop()
            if v > 0.4:
                ys.append(v * s)
        else:
            v = ys.pop()
        s = s * v + x[1]
    return s


def last_item_or_nothing(x):
    xs, s = [], x[0]
    for v in x:
        last = xs and xs[-1]
        if last:
            xs[-1] = xs[-1] * v
        else:
            xs.append(v)
        s = s + xs[-1]
    return s


def cleared(x):
    xs = list(x)
    found = xs
    t = x[0] if found else x[1]
    found.clear()
    return t * (1.0 if found else x[2])


PROGRAMS = [
    *(popped_if_there, entry_if_there, rank_zero, a_view, of_an_object, by_a_helper, either_list),
    *(while_there_is_one_and_it_is_large, last_item_or_nothing, cleared),
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f):
    tl.check_grads(f, (X,))
    v = np.array([0.2, -0.5, 0.7, 0.3])
    known = tl.grad(f, example=(X,))
    assert known(X) @ v == pytest.approx(tl.jvp(f, (X,), (v,))[1], rel=1e-12)


def test_second_order():
    tl.check_grads(of_an_object, (X,), order=2)
