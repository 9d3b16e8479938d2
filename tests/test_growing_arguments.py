"""Functions that call themselves with what holds what they were given: what is known of their
arguments would grow without end."""

import numpy as np
import pytest

import tangentlike as tl


def in_tuples(x, n):
    return in_tuples((x,), n - 1) if n else x


def out_of_tuples(x):
    return out_of_tuples(x[0]) if isinstance(x, tuple) else x


def of_tuples(x):
    return out_of_tuples(in_tuples(x, 3)) * x


def in_dicts(x, n):
    return x if n == 0 else in_dicts({"inside": x}, n - 1)


def of_dicts(x):
    held = in_dicts(x * x, 12)
    while isinstance(held, dict):
        held = held["inside"]
    return held * x


class Node:
    def __init__(self, value, rest):
        self.value, self.rest = value, rest


def chain(x, n, rest=None):
    return rest if n == 0 else chain(x, n - 1, Node(x * n, rest))


def total(node):
    return 0.0 if node is None else node.value + total(node.rest)


def reverse(node, done=None):
    return done if node is None else reverse(node.rest, Node(node.value**2, done))


def of_a_chain(x):
    return total(chain(x, 4)) * x


def of_a_reversed_chain(x):
    turned = reverse(chain(x, 3))
    return total(turned) * turned.value - turned.rest.value


class Tree:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def insert(self, value):
        if value < self.value:
            if self.left is None:
                self.left = Tree(value)
            else:
                self.left.insert(value)
        elif self.right is None:
            self.right = Tree(value)
        else:
            self.right.insert(value)

    def sorted(self):
        before = self.left.sorted() if self.left else []
        after = self.right.sorted() if self.right else []
        return [*before, self.value, *after]


def of_a_tree(x):
    tree = Tree(x)
    for k in range(4):
        tree.insert(x * (k - 1.5))
    return sum((i + 1) * v for i, v in enumerate(tree.sorted())) * x


@pytest.mark.parametrize("f", [of_tuples, of_dicts, of_a_chain, of_a_reversed_chain, of_a_tree])
def test_gradient(f):
    tl.check_grads(f, (0.7,))
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(tl.grad(f, example=(0.7,))(0.7), slope, rtol=1e-6)


def test_what_goes_too_deep_is_refused(monkeypatch):
    from tangentlike.pipeline import stages

    def endless(asked):
        return endless(asked)

    monkeypatch.setattr(stages, "_whole", endless)
    with pytest.raises(tl.UnsupportedError, match="goes too deep"):
        tl.grad(lambda x: x * x)(2.0)
