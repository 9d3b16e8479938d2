"""`out=` that may be None: what is computed is then new, and written nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.3, 0.7, 1.2])


def helper(x, out=None):
    return np.exp(x, out=out)


def parameter(x, out=None):
    return np.sum(np.exp(x, out=out) ** 2)


def parameter_of_a_helper(x):
    return np.sum(helper(x) ** 2)


def none_given_to_a_helper(x):
    return np.sum(helper(x, None) ** 2)


def array_given_to_a_helper(x):
    y = np.zeros_like(x)
    helper(x, y)
    return np.sum(y**2)


def local(x):
    out = None
    return np.sum(np.multiply(x, x, out=out) * x)


def by_place(x, out=None):
    return np.sum(np.modf(x, out)[0] ** 2) + np.add.reduce(x * x, out=out) ** 2


def by_a_method(x, out=None):
    return x.sum(out=out) ** 2 + np.sum(x.clip(0.1, 5.0, out) ** 2)


def in_a_loop(x):
    out, total = None, 0.0
    for k in range(3):
        out = np.multiply(x, k + 1.0, out=out)
        total = total + np.sum(out**2)
    return total


def of_a_list(x):
    outs = [None, np.zeros(3)]
    return sum(np.sum(np.exp(x, out) ** 2) for out in outs)


PROGRAMS = [parameter, parameter_of_a_helper, none_given_to_a_helper, array_given_to_a_helper]
PROGRAMS += [local, by_place, in_a_loop, of_a_list]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_both_modes_and_order_two(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (X,), order=2)
    gradient = tl.grad(f)(X)
    tangents = [tl.jvp(f, (X,), (along,))[1] for along in np.eye(3)]
    np.testing.assert_allclose(gradient, tangents)


def test_methods_of_arrays() -> None:
    found = (tl.grad(by_a_method)(X), tl.hvp(by_a_method)(X, X))
    np.testing.assert_allclose(found, [2.0 * np.sum(X) + 2.0 * X] * 2)
    np.testing.assert_allclose(tl.jvp(by_a_method, (X,), (X,))[1], X @ found[0])


def test_the_text_of_a_call_says_nothing_of_it() -> None:
    gradient = tl.grad(parameter)
    gradient(X)
    assert "copy" not in gradient.source and "if " not in gradient.source


ndimage = pytest.importorskip("scipy.ndimage")


def filtered(x, out=None):
    return ndimage.gaussian_filter(x, 1.0, output=out)


def filtered_by_a_helper(x):
    y = np.zeros_like(x)
    filtered(x, y)
    return np.sum(filtered(x) * y)


def test_output_of_a_filter() -> None:
    tl.check_grads(filtered, (X,), order=2)
    tl.check_grads(filtered_by_a_helper, (X,))
    np.testing.assert_allclose(tl.vjp(filtered, X)[1](np.ones(3))[0], np.ones(3))
