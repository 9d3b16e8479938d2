"""Functions defined inside that keep their results: `@functools.cache`."""

import functools
from functools import cache, lru_cache

import numpy as np
import pytest

import tangentlike as tl

X = np.random.default_rng(3).uniform(0.4, 1.2, 6)


def on_a_grid(x):
    @functools.lru_cache(maxsize=None)  # noqa: UP033
    def f(i, j):
        if i == 0 or j == 0:
            return x[i + j]
        return 0.5 * f(i - 1, j) * f(i, j - 1) + f(i - 1, j - 1)

    return f(2, 3) + f(3, 2)


def left_in_a_loop(x):
    @cache
    def best(k):
        if k == 0:
            return 0.0
        for j in range(k):
            if x[j] > 0.9:
                return best(j) + x[j] ** 2
        else:
            return best(k - 1) * x[k - 1] + x[0]

    return best(len(x) - 1) * best(3)


def called_once(x):
    calls = []

    @lru_cache(None)
    def g():
        calls.append(x[0] * len(calls))
        return np.sin(x)

    return np.sum(g() * g()) + len(calls) * x[1] + sum(calls)


def without_a_result(x):
    seen = {}

    @cache
    def put(k, name=("a", 1)):
        seen[len(seen)] = x[k] * seen.get(0, 2.0)

    for k in (0, 1, 0, 2):
        put(k)
    return sum(seen.values()) * len(seen)


def under_a_name(x):
    @cache
    def total(i):
        while i < 4:
            if x[i] > 0.8:
                return x[i] ** 2
            i += 1
        return 1.5 * x[0]

    fs = {"a": total}
    return fs["a"](1) * total(5) * total(1)


@pytest.mark.parametrize(
    "fn",
    [on_a_grid, left_in_a_loop, called_once, without_a_result, under_a_name],
    ids=lambda fn: fn.__name__,
)
def test_values_and_derivatives(fn):
    tl.check_grads(fn, (X.copy(),), order=2)
    assert tl.value_and_grad(fn)(X.copy())[0] == fn(X.copy())


def by_numbers(x):
    @cache
    def cube(v):
        return v**3

    return cube(x[0]) + cube(x[1])


@pytest.mark.parametrize("mode", [tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (x,))])
def test_equal_numbers_are_not_one_variable(mode):
    with pytest.raises(tl.UnsupportedError, match="Leave out its decorator"):
        mode(by_numbers)(np.ones(2))


def test_many_results_are_computed_once():
    def fibonacci(x):
        @cache
        def f(n):
            return x if n < 2 else 0.5 * (f(n - 1) + f(n - 2))

        return f(60)

    tl.check_grads(fibonacci, (0.7,))
