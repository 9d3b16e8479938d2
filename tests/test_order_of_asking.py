"""What two operands ask of one iterator, or of one object whose methods count, is asked from left to
right and once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([1.3, 0.7, 0.9])


def greatest_then_sum(x):
    it = iter([1, 2, 0])
    return x[max(it)] * x[1] + sum(it)


def next_then_length(x):
    pairs = zip([0, 1, 2], [1, 2, 0])
    a, b = next(pairs)
    return x[a] * x[b] * len(list(pairs))


def numbers():
    yield 0
    yield 2


MADE = {"numbers": numbers}


def two_under_one_name(x):
    p = MADE["numbers"]()
    s = 0.5
    for k in p:
        s = s * x[k] + 0.1
    p = zip([0, 2, 1], [1, 2, 0])
    q, r = next(p)
    return x[q] * x[r] * len(list(p)) + s


def of_a_map(x):
    it = map(lambda k: k + 1, [1, 2, 1])  # noqa: C417 (that is the point)
    a = next(it) * x[0]
    return a * x[1] * len(list(it)) + sum(it)


def of_a_filter(x):
    it = filter(None, [1, 0, 2, 1])
    return x[0] * (2 in it) + x[1] * sum(it) + x[2] * len(list(it))


def of_a_generator(x):
    it = (k for k in range(4))
    return x[0] ** 2 * (1 in it) + x[1] * sum(it)


def under_two_names(x, it):
    other = it
    return x[max(it)] * x[0] + sum(other)


def in_a_test(x):
    it = reversed([1, 2, 0])
    s = 0.0
    if any(k == 2 for k in it):
        s = x[0] * sum(it)
    return s + x[1] ** 2 * (1 + sum(it))


class Counter:
    def __init__(self):
        self.count = 0

    @property
    def next(self):
        self.count += 1
        return self.count

    def __len__(self):
        self.count += 2
        return self.count

    def __getitem__(self, k):
        self.count += k
        return self.count


def product_of(x, places):
    product = 1.0
    for k in places:
        product = product * x[k]
    return product


def after_what_only_the_run_knows(x):
    p = product_of(x, [0, 1])
    y = x * p
    p = zip([0, 2, 1], [1, 2, 0], strict=True)
    q, r = next(p)
    return np.sum(y) + y[q] * y[r] * len(list(p))


def length_then_item(x):
    c = Counter()
    k = len(c) + c[2] * 10
    return x[0] ** 2 * k + c.count


def length_then_property(x):
    c = Counter()
    k = len(c) * 100 + c.next * 10 + c[3]
    return x[0] ** 2 * k


def item_then_length(x):
    c = Counter()
    return x[0] * c[2] + x[1] * len(c) * c[1] + x[2] * len(c)


@pytest.mark.parametrize(
    "fn",
    [
        *(greatest_then_sum, next_then_length, of_a_map, of_a_filter, of_a_generator, in_a_test),
        *(
            two_under_one_name,
            after_what_only_the_run_knows,
            length_then_item,
            length_then_property,
            item_then_length,
        ),
    ],
    ids=lambda fn: fn.__name__,
)
def test_order(fn: Any) -> None:
    assert tl.value_and_grad(fn)(X)[0] == pytest.approx(fn(X))
    assert tl.jvp(fn, (X,), (X,))[0] == pytest.approx(fn(X))
    tl.check_grads(fn, (X,))


def test_an_iterator_that_is_given() -> None:
    gradient = tl.grad(under_two_names)
    np.testing.assert_allclose(gradient(X, iter([1, 2, 0])), [0.9, 0.0, 1.3])
