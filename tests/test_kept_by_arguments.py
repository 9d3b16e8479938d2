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


def by_name_and_position(x):
    calls = [0.0]

    @cache
    def h(k, scale=2.0):
        calls[0] += x[k] * scale
        return x[k] * calls[0]

    return h(1) + h(k=1) * h(1, scale=2) + h(1) * calls[0] + h(k=1)


def of_two_closures(x):
    def make(scale):
        total = 0.0

        @cache
        def h(k):
            nonlocal total
            total += x[k] * scale
            return total * x[k]

        return h

    a, b = make(1.0), make(x[0])
    return a(1) + a(1) * b(1) + b(2) + a(k=1) * b(1)


def any_arguments(x):
    calls = []

    @cache
    def h(*ks, name="a", **more):
        calls.append(x[len(ks)])
        return sum(x[k] for k in ks) * more.get("w", 3)

    return h(0, 1) * h(1, 0) + h(0, 1, w=2) * h(0, 1, name="a") + sum(calls) * len(calls)


def few_are_kept(x):
    total = [0.0]

    @lru_cache(maxsize=2)
    def h(k):
        total[0] += x[k] * (1.0 + total[0])
        return x[k] ** 2

    s = 0.0
    for k in (0, 1, 0, 2, 1, 0, 0, 3, 1):
        s += h(k) * total[0]
    return s + total[0]


def of_each_other(x):
    @lru_cache
    def even(k):
        return x[0] if k == 0 else odd(k - 1) * x[1] + 0.1

    @lru_cache
    def odd(k):
        return x[2] if k == 1 else even(k - 1) + x[3] * even(k - 3 if k > 2 else 0)

    return even(8) + odd(7)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fn",
    [
        *(on_a_grid, left_in_a_loop, called_once, without_a_result, under_a_name),
        *(by_name_and_position, of_two_closures, any_arguments, few_are_kept, of_each_other),
    ],
    ids=lambda fn: fn.__name__,
)
def test_values_and_derivatives(fn):
    slow = fn in (on_a_grid, left_in_a_loop, of_two_closures)
    tl.check_grads(fn, (X.copy(),), order=1 if slow else 2)
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


class Weights:
    def __init__(self, w):
        self.w = w
        self.first = {1: 2.0 * w[0]}

    def __contains__(self, k):
        return k in self.first

    def __getitem__(self, k):
        return self.first[k]

    @lru_cache(maxsize=None)  # noqa: B019, UP033
    def get(self, k):
        return self.w[k] ** 2


@pytest.mark.parametrize("mode", [tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (x,))])
def test_a_method_that_keeps_its_results_is_not_that_of_a_dict(mode):
    """By identity its entry was read in place of what it gives."""
    with pytest.raises(tl.UnsupportedError, match="no derivative rule for `get` of a Weights"):
        mode(lambda x: Weights(x).get(1) + Weights(x)[1])(X.copy())
