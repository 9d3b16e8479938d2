"""Helpers whose backward functions read one argument, or nothing: no tape is made for them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tangentlike as tl

X, Y = np.array([0.3, 0.8, -0.2]), np.array([0.5, -0.4, 0.9])
ROWS = [np.array([0.1, 0.4, 0.2]), np.array([0.3, -0.2, 0.7]), np.array([0.5, 0.6, -0.1])]


def lin(a, b):
    for _ in range(3):
        a = 2.0 * a + 0.5 * b
    return a


def in_a_loop(x, y):
    s = 0.0
    for _ in range(3):
        z = lin(x, y)
        s += np.sum(np.sin(z) * y)
    return s


def of_each(rows, x):
    """What is read is another object in each round."""
    for row in rows:
        x = np.tanh(lin(x, row) * row)
    return np.sum(x)


def of_what_it_gave(x, y):
    for _ in range(3):
        x = np.sin(lin(y, x))
    return np.sum(x * y)


def step(u, v):
    u[1:] = u[1:] + 0.5 * (v[1:] - v[:-1])
    return u


def in_place(x, y):
    u = x.copy()
    for _ in range(3):
        u = step(u, y)
    return np.sum(u * u)


def twice(a, b):
    for _ in range(2):
        a = lin(a, b)
    return a


def within_another(x, y):
    s = 0.0
    for i in range(2):
        s += np.sum(np.sin(twice(x * (i + 1.0), y)))
    return s


def blend(a, b, t):
    if t > 0.5:
        a = a + b
    else:
        a = a - b
    return a


def by_a_number(x, y):
    s = 0.0
    for i in range(3):
        s += np.sum(np.sin(blend(x, y, 0.4 * i)) * y)
    return s


def scaled(a, b):
    for _ in range(2):
        a = 3.0 * a - b
    return a


def of_numbers(s, t):
    for _ in range(2):
        s = np.sin(scaled(s, t))
    return s


PROGRAMS = {
    in_a_loop: (X, Y),
    of_each: (ROWS, X),
    of_what_it_gave: (X, Y),
    in_place: (X, Y),
    within_another: (X, Y),
    by_a_number: (X, Y),
    of_numbers: (0.3, 0.8),
}


@pytest.mark.thorough
@pytest.mark.every
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_backward_functions_are_given_what_they_read(f):
    args = PROGRAMS[f]
    text = tl.grad(f, (0, 1), example=args).source
    kept = f is within_another  # (whose helper saves for its backward function)
    assert "_bwd(" in text and ("tape" in text) == kept, text
    tl.check_grads(f, args, order=2)
    tl.check_grads(lambda *given: tl.grad(f, (0, 1), example=args)(*given)[1], args, order=1)


def test_what_a_name_stands_for_is_not_saved():
    text = tl.grad(in_a_loop, (0, 1), example=(X, Y)).source
    assert re.search(r"x_part, y_part = lin_bwd\(y, z_bar\)", text), text
    assert "step_fwd(u, y)\n" in tl.grad(in_place, (0, 1), example=(X, Y)).source
    assert "scaled_bwd(s_bar *" in tl.grad(of_numbers, (0, 1), example=(0.3, 0.8)).source
