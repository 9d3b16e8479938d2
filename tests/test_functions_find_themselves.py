"""Functions that find themselves, or each other, by a variable that has its value later."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.4, 0.9, 0.3])


def memo(f: Any) -> Any:
    known: dict[Any, Any] = {}

    def asked(i: Any) -> Any:
        if i not in known:
            known[i] = f(i)
        return known[i]

    return asked


def scaled(f: Any) -> Any:
    @functools.wraps(f)
    def wrapped(*args: Any, **options: Any) -> Any:
        return f(*args, **options) * 1.5

    return wrapped


def by_a_memo(x: Any) -> Any:
    @memo
    def value(i: int) -> Any:
        return x[0] if i == 2 else value(i + 1) * x[1] + x[2]

    return value(0)


def by_a_wrapper(x: Any) -> Any:
    @scaled
    def fact(n: int) -> Any:
        return x[0] if n <= 1 else n * x[1] * fact(n - 1)

    return fact(3)


def by_a_lambda(x: Any) -> Any:
    value = memo(lambda i: x[0] if i == 2 else value(i + 1) * x[1])
    return value(0)


def by_each_other(x: Any) -> Any:
    @scaled
    def even(i: int) -> Any:
        return x[0] if i == 0 else odd(i - 1) * x[1]

    @scaled
    def odd(i: int) -> Any:
        return x[2] if i == 0 else even(i - 1) + x[1]

    return even(2)


def in_a_list(x: Any) -> Any:
    steps: list[Any] = []
    steps.append(lambda v: last(v) * x[0])
    last = lambda v: v * v * x[1]  # noqa: E731
    return steps[0](x[2])


class Node:
    def __init__(self, v: Any, below: Any) -> None:
        self.v, self.below = v, below


def through_a_tree(x: Any) -> Any:
    tree = Node(x[0], [Node(x[1], []), Node(x[2] * x[0], [])])

    @scaled
    def visit(node: Any) -> Any:
        return node.v * node.v + sum(visit(part) for part in node.below)

    return visit(tree)


ALL = (by_a_memo, by_a_wrapper, by_a_lambda, by_each_other, in_a_list, through_a_tree)


@pytest.mark.parametrize("f", ALL)
def test_functions_that_find_themselves(f: Callable[..., Any]) -> None:
    """(UnboundLocalErrors and NameErrors: they took what the variable was when they were given
    to the decorator.)"""
    tl.check_grads(f, (X,))
