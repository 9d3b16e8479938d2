"""Comprehensions over a short tuple or list that is written out: what they make, one by one."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_grads

Q, K, V = np.array([0.3, -0.2, 0.7, 0.4]), np.array([0.5, 0.1, -0.4, 0.2]), np.ones(4)


def split(x, heads):
    return x.reshape(heads, -1).T


def unpacked(q, k, v):
    q, k, v = (split(z, 2) for z in (q, k, v))
    return np.sum(np.tanh(q @ k.T) @ v)


def swapped(q, k, v):
    k, q = [np.sin(z) * 2.0 for z in (q, k)]
    return q @ (k * v * q)


def as_a_tuple(q, k, v):
    both = tuple(z * z for z in (q, k))
    return both[0] @ (both[1] * v)


def stacked(q, k, v):
    rows = [z * z for z in [q, k, q + k, v]]
    return np.sum(np.stack(rows) ** 2)


def in_a_loop(q, k, v):
    for _ in range(3):
        q, k = [np.tanh(z) + v for z in (k, q)]
    return np.sum(q * k)


def appended_to(q, k, v):
    rows = [z * z for z in (q, k)]
    rows.append(v)
    rows[0] = rows[0] * q
    return np.sum(rows[0] * rows[1] * rows[2])


PROGRAMS = [unpacked, swapped, as_a_tuple, stacked, in_a_loop, appended_to]


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives(fn, order):
    check_grads(fn, (Q, K, V), wrt=(0, 1, 2), order=order)


@pytest.mark.parametrize("fn", PROGRAMS[:4])
def test_they_are_no_loops(fn):
    text = ast.unparse(ast.parse(tl.grad(fn, wrt=(0, 1, 2)).source_for(Q, K, V)))
    assert "for " not in text and "append" not in text and "add_at" not in text


def of_functions(q, k):
    fs = [lambda t, z=z: t * z for z in (2.0, 3.0)]
    return np.sum(fs[0](q) * fs[1](k))


def last_variable(q, k):
    fs = [lambda t: t * z for z in (2.0, 3.0)]  # noqa: B023
    return np.sum(fs[0](q) * fs[1](k))


def of_a_variable_outside(q, k):
    z = 5.0
    both = [z * q for z in (2.0, 3.0)]
    return np.sum(both[0] * both[1] * k * z)


def nested(q, k):
    rows = [[a * b for a in (q, k)] for b in (2.0, 3.0)]
    return np.sum(rows[0][1] * rows[1][0])


def with_a_test(q, k):
    kept = [z * z for z in (q, k) if z[0] > 0.4]
    return np.sum(kept[0] * q)


def said_again(q, k):
    both = [(s := np.sum(z)) * z for z in (q, k)]
    return s * np.sum(both[0] * both[1])


@pytest.mark.parametrize(
    "fn", [of_functions, last_variable, of_a_variable_outside, nested, with_a_test, said_again]
)
def test_what_they_mean(fn):
    check_grads(fn, (Q, K), wrt=(0, 1))


def test_the_order_of_what_is_written():
    def program(q, seen):
        both = [(seen.append(n), q * n)[1] for n in (1.0, 2.0)]
        return np.sum(both[0] * both[1])

    seen: list[float] = []
    np.testing.assert_allclose(tl.grad(program)(Q, seen), 4.0 * Q)
    check_grads(lambda q: program(q, []), (Q,))
