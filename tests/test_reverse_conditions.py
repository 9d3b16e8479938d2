"""Programs for which the reverse transform is wrong if one condition of it is left out.

Mutation testing (`tests/mutation.py`) named the conditions: stores of lists into lists, adjoints
handed to functions that add to them, dicts that a loop changes, tests that draw random numbers,
results that the sweep restores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X, V = np.array([0.4, 0.7, -0.3]), np.array([1.0, -2.0, 0.5])


def lists_in_a_list(x):
    """What is stored there is a list: its adjoint is not zeroed as a number."""
    rows = [[x, x * 2.0], [x * 3.0, x]]
    s = np.sum(rows[0][1])
    rows[0] = [x * s, x * x]
    return s + np.sum(rows[0][1] * rows[0][0]) + np.sum(rows[1][0])


def added_up(rows, x):
    s = np.sum(rows[0] * x)
    for row in rows:
        s = s + np.sum(row * row)
    return s + np.sum(rows[1])


def given_to_a_function(x):
    """Its reverse sweep adds to the adjoints of the rows, which must be arrays of their own."""
    rows = [x * 1.0, x * 2.0]
    t = added_up(rows, x)
    return t * np.sum(rows[0] * rows[1]) + added_up(rows, x)


def dict_changed_in_its_loop(x):
    d = {"a": x, "b": x * 2.0}
    for k in d:
        d[k] = d[k] * x[0]
    return np.sum(d["a"] * d["b"])


def drawn_in_a_test(x):
    """The test is not asked again on the way back: it would answer otherwise."""
    rng = np.random.default_rng(1)
    total = 0.0
    for i in range(3):
        if rng.random() > 0.5:
            total = total + x[0] * x[i]
        else:
            total = total + x[1] ** 3
    return total


def chosen_and_bound_again(x):
    a = x * 1.0
    b = x * 2.0
    w = a if x[0] > 0.0 else b
    for i in range(2):
        w = w * x[0]
        w[0] = w[1]
    a[1] = a[2] * x[0]
    return np.sum(w * a * b)


PROGRAMS = [lists_in_a_list, given_to_a_function, dict_changed_in_its_loop, drawn_in_a_test]
PROGRAMS += [chosen_and_bound_again]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Callable[..., Any]) -> None:
    slope = agreement.slope(f, (X,), [V])
    for gradient in (tl.grad(f), tl.grad(f, example=(X,))):
        assert agreement.close(float(gradient(X) @ V), slope, 1e-7)


def halves_first(p):
    p[0] = p[1] * p[0]
    return p


def result_written_here(x):
    y = x * 1.0
    z = y * y
    y[0] = 2.0 * x[0] * y[1]
    y[1] = z[0] * y[1] * y[0]
    return np.sum(y * z * y), y


def result_of_a_helper(x):
    y = x * 1.0
    z = halves_first(y)
    y[1] = z[0] * z[2]
    return np.sum(z * z * y), z


@pytest.mark.parametrize("f", [result_written_here, result_of_a_helper])
def test_what_the_sweep_restores_is_given_back_as_it_was(f: Callable[..., Any]) -> None:
    (value, aux), gradient = tl.value_and_grad(f, has_aux=True)(X)
    expected, kept = f(X)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(aux, kept, rtol=1e-12)
    slope = agreement.slope(lambda x: f(x)[0], (X,), [V])
    assert agreement.close(float(gradient @ V), slope, 1e-7)
