"""A value that the user writes twice is computed, saved and differentiated once; what may be written,
or asked which object it is, is not shared."""

import numpy as np
import pytest

import tangentlike as tl


def roots(t, s):
    d1 = np.log(s) / (s * np.sqrt(t))
    d2 = d1 - s * np.sqrt(t)
    return np.sum(d1 * d2)


def rebound(t, s):
    a = np.exp(t * s) * s
    t = t + 1.0
    return np.sum(a * np.exp(t * s))


def written_between(t, s):
    u = t * 1.0
    a = np.exp(u) * s
    u[0] = s[1]
    return np.sum(a * np.exp(u))


def fill(a, b):
    a[0] = b[1]
    return np.sum(a * b)


def given_to_a_writer(t, s):
    return fill(t * s, s) * fill(t * s, t)


def in_a_list(t, s):
    parts = [t * s, t * s]
    parts[0][0] = 2.0
    return np.sum(parts[0] * parts[1])


def in_branches(t, s):
    if t[0] > 0:
        y = np.sin(t) * s
    else:
        y = np.sin(t) - s
    return np.sum(y * np.sin(t) * np.sin(t))


def in_a_loop(t, s):
    h = t
    for _ in range(3):
        h = np.tanh(h * s) + h * s * np.tanh(h * s)
    return np.sum(h)


def draws(t, s):
    rng = np.random.default_rng(0)
    return np.sum(t * rng.normal(size=3) + s * rng.normal(size=3))


PROGRAMS = [
    *(roots, rebound, written_between, given_to_a_writer, in_a_list, in_branches, in_a_loop),
    draws,
]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_right(fn):
    args = np.array([0.7, 1.2, 0.9]), np.array([1.1, 0.8, 1.3])
    tl.check_grads(fn, args, wrt=(0, 1))
    value, _ = tl.value_and_grad(fn, wrt=(0, 1))(*args)
    assert value == fn(*args)


def code_of(fn, wrt):
    source = tl.grad(fn, wrt=wrt, example=(np.ones(3), np.ones(3))).source
    return "\n".join(line.partition("#")[0] for line in source.splitlines())


def test_a_root_is_taken_once():
    code = code_of(roots, (0, 1))
    assert code.count("np.sqrt(") == 1 and code.count("s * sqrt_t") == 1


def test_what_may_be_written_is_computed_twice():
    assert code_of(given_to_a_writer, 0).count("t * s\n") == 2


def test_draws_are_drawn_each_time():
    assert code_of(draws, (0, 1)).count("rng.normal(size=3)") == 2


def normed(x, g):
    mean = x.mean(axis=-1, keepdims=True)
    d = (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return np.sum(np.sin(g * d))


def columns(x, g):
    m, s = x.mean(0), x.std(0)
    return np.sum(g * ((x - m) / s) ** 3)


@pytest.mark.parametrize("fn", [normed, columns])
def test_a_mean_that_has_a_name_is_not_computed_again(fn):
    """Reductions called as methods are the functions, an axis by position is one by name."""
    rng = np.random.default_rng(3)
    args = rng.normal(size=(4, 3)), rng.normal(size=3)
    tl.check_grads(fn, args)
    gradient = tl.grad(fn, wrt=(0, 1))
    gradient(*args)
    adjoint = gradient.source.partition("# adjoint")[2]
    code = "\n".join(line.partition("#")[0] for line in adjoint.splitlines())
    assert "mean(" not in code


def spread(x):
    return np.sum(np.std(x, axis=0)) + np.sum(np.std(x, axis=1)) + np.std(x)


def test_the_spread_of_a_constant_has_no_slope():
    """Nor is rounding divided by rounding, where the mean of equal numbers rounds away from them."""
    x = np.full((3, 3), 0.1)
    assert np.mean(x[0]) != 0.1
    np.testing.assert_array_equal(tl.grad(spread)(x), np.zeros((3, 3)))
    assert tl.jvp(spread, (x,), (np.arange(9.0).reshape(3, 3),))[1] == 0.0
