"""Trees of objects that evaluate themselves: methods of what attributes hold, or of None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import tangentlike as tl


class Node:
    def __init__(self, w, left=None, right=None):
        self.w, self.left, self.right = w, left, right

    def at(self, x):
        if self.left is None:
            return self.w * x
        return self.left.at(x) * np.sin(self.w) + self.right.at(x)


@dataclass
class Leaf:
    value: float

    def result(self):
        return self.value


@dataclass
class Product:
    a: Any
    b: Any

    def result(self):
        return self.a.result() * self.b.result()


def evaluated(node, x):
    return node.at(x) ** 2


def evaluated_made(a, x):
    return Node(a, Node(0.5 * a), Node(x)).at(x)


def of_classes(tree):
    return tree.result() ** 2


TREE = Node(0.3, Node(0.5), Node(0.7, Node(0.9), Node(1.1)))
SMALL = Node(0.3, Node(0.5), Node(0.7))


def test_gradient_by_a_tree():
    tl.check_grads(evaluated, (SMALL, 0.4), wrt="node")
    slope = tl.grad(evaluated)(TREE, 0.4)
    eps = 1e-6
    higher, lower = (evaluated(Node(0.3, Node(0.5 + h), TREE.right), 0.4) for h in (eps, -eps))
    assert slope.left.w == pytest.approx((higher - lower) / (2 * eps))
    assert slope.left.left is None
    assert slope.right.right.w != 0.0


def test_trees_of_several_classes():
    tree = Product(Leaf(0.3), Product(Leaf(0.5), Leaf(0.7)))
    tl.check_grads(of_classes, (tree,))


def test_trees_made_inside():
    tl.check_grads(evaluated_made, (0.3, 0.4))


def test_other_trees_are_derived_for_what_they_are():
    slope = tl.grad(evaluated)
    assert slope(Node(0.5), 2.0).w == pytest.approx(4.0)
    assert slope(TREE, 0.4).left.w != 0.0
    assert slope(Node(0.5), 2.0).w == pytest.approx(4.0)


def replaced(node, x):
    node.left, node.right = Node(x), Node(0.5)
    return node.at(x)


def test_a_subtree_put_where_none_was_is_not_left_out():
    """Where the argument had None, the class is looked up when the derivative runs."""
    tl.check_grads(replaced, (Node(0.3), 0.4), wrt="x")
    slope, of_x = tl.grad(replaced, wrt=("node", "x"))(Node(0.3), 0.4)
    eps = 1e-6
    of_w = (replaced(Node(0.3 + eps), 0.4) - replaced(Node(0.3 - eps), 0.4)) / (2 * eps)
    assert slope.w == pytest.approx(of_w) and slope.left is None and slope.right is None
    assert of_x == pytest.approx(2 * 0.4 * np.sin(0.3) + 0.5)
    value, along = tl.jvp(replaced, (Node(0.3), 0.4), (Node(2.0), 3.0))
    assert value == replaced(Node(0.3), 0.4)
    assert along == pytest.approx(2.0 * slope.w + 3.0 * of_x)


def test_none_asked_for_a_method_is_the_error_of_the_program():
    with pytest.raises(AttributeError, match="no attribute 'at'"):
        tl.grad(evaluated)(Node(0.3, Node(0.5)), 0.4)


class Powers:
    """Constants of a class, some of which are integers."""

    power = 2
    depth: int = 3
    names = ("a", "b")
    active = True

    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        y = x
        for k in range(self.depth):
            y = (1.5 + np.tanh(self.w * y)) ** self.power * self.power + self.depth / (1 + k)
        if self.active:
            y = y * self.active
        return np.sum(y) * len(self.names)


class Cubes(Powers):
    power = 3

    def __call__(self, x: Any) -> Any:
        return super().__call__(x) * self.power**2


@dataclass
class Halves:
    w: Any
    p: int = 3
    scale: ClassVar[int] = 2

    def __call__(self, x: Any) -> Any:
        return np.sum((2.0 + self.w) ** self.p * x) / self.scale


@pytest.mark.thorough
@pytest.mark.parametrize("make", [Powers, Cubes, Halves])
def test_integers_of_a_class(make: Any) -> None:
    def f(model: Any, x: Any) -> Any:
        return model(x)

    x, w = np.array([0.3, 0.4, 0.5]), np.array([0.4, -0.3, 0.8])
    tl.check_grads(lambda w, x: make(w)(x), (w, x), order=2)
    expected = tl.grad(lambda w: make(w)(x))(w)
    np.testing.assert_allclose(tl.grad(f)(make(w), x).w, expected)
    np.testing.assert_allclose(tl.vjp(f, make(w), x)[1](1.0)[0].w, expected)
    slope = tl.jvp(f, (make(w), x), (make(np.ones(3)), np.zeros(3)))[1]
    np.testing.assert_allclose(slope, np.sum(expected))
