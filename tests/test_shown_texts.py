"""The text that a derivative shows before any call runs by itself and gives the same gradient."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement
from tests.generator import reverse_slope, text_slope
from tests.processes import python

X = np.array([0.3, -0.7, 1.1])


def energy(x):
    return np.sum(np.sin(x) * x)


def twice(x):
    return np.sin(x), (np.sum(x), x * x)


def product_inside(x):
    y = np.tanh(x)
    z = tl.hvp(energy)(np.ones(3), np.ones(3))  # (carries no derivative: it is called as it is)
    return np.sum(y * z)


def dict_filled_in_a_loop(x):
    y = np.sin(x)
    for _ in range(2):
        p = {}
        for k in range(3):
            p[k] = np.sin(y * k)
        y = p[1] * p[2]
    return np.sum(y)


def rows_of_a_matrix(x):
    m = np.zeros((3, 3))
    for k in range(3):
        m[k] = np.sin(x * k)
    return np.sum(m[1] * m[2])


def underscore_of_a_loop(x):
    y, n = x, 0
    while n < 3:
        _, (c, z) = twice(y)
        y = np.tanh(z * c)
        n += 1
    return np.sum(y)


def underscore_that_is_read(x):
    _ = x * 2.0
    y, n = x, 0
    while n < 3:
        y = np.sin(y) * _
        n += 1
    return np.sum(y)


def underscore_of_pairs(x):
    y, n = x, 0
    while n < 2:
        for _, z in zip(twice(y), twice(x)):
            if not isinstance(z, tuple):
                y = y * z
        n += 1
    return np.sum(y)


def every_half(p):
    yield p[0] * 0.5
    yield p[1] * 0.5


def generators_of_which_nothing_comes(x):
    w = 0.3 * max(every_half(x)) + min(every_half(x[1:]))
    w = 1.0
    return np.sum(x * x) * w


SHOWN = [product_inside, dict_filled_in_a_loop, rows_of_a_matrix, underscore_of_a_loop]
SHOWN += [underscore_that_is_read, underscore_of_pairs, generators_of_which_nothing_comes]


@pytest.mark.parametrize("f", SHOWN, ids=lambda f: f.__name__)
def test_right(f: Callable[..., Any]) -> None:
    directions = agreement.directions_for((X,), (0,), 3)
    expected = agreement.slope(f, (X,), directions)
    for way in (text_slope, reverse_slope):
        found = way(f, (X.copy(),), (0,), directions, [])
        assert agreement.close(found, expected, 1e-7), way.__name__


def test_no_check_of_what_was_just_made() -> None:
    """Values that were computed for a store share no memory with what is written."""
    assert "require_read_first" not in tl.grad(dict_filled_in_a_loop).source
    assert "require_read_first" in tl.grad(overlapping).source


def overlapping(a):
    b = a * 1.0
    b[:2] = b[::2]
    return np.sum(b * b)


# ------------------------------------------------------------------ 1 / (1 + np.exp(-x))


def logistic(x):
    return np.sum(1.0 / (1.0 + np.exp(-x)) * x)


def gated(x):
    h = 0.5 * x
    for _ in range(3):
        z = 1 / (np.exp(-2.0 * h * x) + 1)
        h = (1 - z) * h + z * np.tanh(x)
    return np.sum(h * h)


def named_on_the_way(x):
    e = np.exp(-x)
    p = 1.0 / (1.0 + e)
    return np.sum(p * e)


def of_twos(x):
    return np.sum(2.0 / (1.0 + np.exp(-x)) + 1.0 / (2.0 + np.exp(-x)))


@pytest.mark.parametrize(
    "f", [logistic, gated, named_on_the_way, of_twos], ids=lambda f: f.__name__
)
def test_logistic_functions(f: Callable[..., Any]) -> None:
    tl.check_grads(f, (X,), order=2)
    directions = agreement.directions_for((X,), (0,), 3)
    _, along = tl.jvp(f, (X,), tuple(directions))
    assert along == pytest.approx(np.sum(tl.grad(f)(X) * directions[0]), rel=1e-13)
    p = 1.0 / (1.0 + np.exp(-X))
    if f is logistic:
        np.testing.assert_allclose(tl.grad(f)(X), p + X * p * (1.0 - p), rtol=1e-14)
        assert "* (1.0 - " in tl.grad(f, example=(X,)).source


def test_logistic_functions_far_out() -> None:
    """`np.exp` is infinite there, and what it says of the derivative was not a number."""
    far = np.array([-800.0, -0.5, 800.0])
    p = np.array([0.0, 1.0 / (1.0 + np.exp(0.5)), 1.0])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(tl.grad(logistic)(far), p + far * p * (1.0 - p), atol=1e-300)


def log_odds(x, r):
    return np.sum(np.log(r / (r + x)) * r + 2 * np.log(x / (r + x)))


def log_share(x, r):
    share = x / np.sum(x)
    return np.sum(share * np.log(share)) + np.log(np.sum(x) / r)


def log_of_complex(x, r):
    z = x + 1j * r
    return np.sum(np.log(z / (z + 1.0)).real)


@pytest.mark.parametrize("f", [log_odds, log_share, log_of_complex], ids=lambda f: f.__name__)
@pytest.mark.parametrize("r", [0.7, np.array([0.4, 1.5, 2.0, 0.3])], ids=["number", "array"])
def test_logarithms_of_quotients(f: Callable[..., Any], r: Any) -> None:
    x = np.array([0.3, 1.2, 0.8, 2.0])
    if f is log_share:
        r = np.sum(r)
    tl.check_grads(f, (x, r), wrt=(0, 1), order=2)
    _, along = tl.jvp(f, (x, r), (x, 0.0 * r))
    assert along == pytest.approx(np.sum(tl.grad(f)(x, r) * x), rel=1e-12)


def test_the_derivatives_of_a_logarithm_of_a_quotient_do_not_name_it() -> None:
    x = np.array([0.3, 1.2])
    text = tl.grad(log_odds, wrt=(0, 1), example=(x, 0.7)).source
    assert "full_like" not in text and "ratio" not in text and "r / r" not in text, text
    far = np.array([1e-300, 1.0])  # (the quotient by 1e300 is no number)
    slope = tl.grad(lambda x: np.sum(np.log(x / 1e300)))(far)
    np.testing.assert_allclose(slope, 1.0 / far)


def test_logistic_functions_by_a_rule_of_the_users(tmp_path: Path) -> None:
    """(In a process of its own, since rules are for all that comes after.)"""
    text = (
        "import numpy as np, tangentlike as tl\n"
        "@tl.rule(np.exp, override=True)\n"
        "def exp(y, x):\n    dy_dx = 2.0 * y\n"
        "z = np.array([0.3])\np = 1.0 / (1.0 + np.exp(-z))\n"
        "def f(z):\n    return np.sum(1.0 / (1.0 + np.exp(-z)))\n"
        "np.testing.assert_allclose(tl.grad(f)(z), 2.0 * p * (1.0 - p))\n"
    )
    file = tmp_path / "by_rule.py"
    file.write_text(text)
    python(str(file))
