"""`np.einsum` lets an axis of length 1 meet a longer one of the same label."""

import numpy as np
import pytest

import tangentlike as tl

RNG = np.random.default_rng(3)


def product(a, b):
    return np.sum(np.sin(np.einsum("bij,bjk->bik", a, b)))


def of_a_view(v, b):
    return np.sum(np.sin(np.einsum("bij,bjk->bik", np.sin(v)[None], b)))


def summed(a, b, c):
    return np.sum(np.cos(np.einsum("ij,ij,j", a, b, c)))


SHAPES = [
    ((1, 2, 3), (4, 3, 2)),
    ((4, 2, 3), (4, 1, 2)),
    ((4, 2, 1), (1, 3, 2)),
    ((1, 2, 1), (4, 3, 1)),
    ((4, 2, 3), (4, 3, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_axes_of_length_one(left, right):
    a, b = RNG.normal(size=left), RNG.normal(size=right)
    tl.check_grads(product, (a, b), wrt=(0, 1), order=2)


def test_a_longer_adjoint_is_not_cut_by_the_view_it_belongs_to():
    tl.check_grads(of_a_view, (RNG.normal(size=(2, 3)), RNG.normal(size=(4, 3, 2))), wrt=(0, 1))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [1, 2])
def test_a_label_of_three_operands(rows, columns):
    a, b, c = RNG.normal(size=(rows, 2)), RNG.normal(size=(3, columns)), RNG.normal(size=1)
    tl.check_grads(summed, (a, b, c), wrt=(0, 1, 2))


def test_one_derivative_called_with_every_shape():
    gradient = tl.grad(product, wrt=(0, 1))
    for left, right in (*SHAPES, *reversed(SHAPES)):
        a, b = RNG.normal(size=left), RNG.normal(size=right)
        a_bar, b_bar = gradient(a, b)
        y_bar = np.cos(np.einsum("bij,bjk->bik", a, b))
        sizes = {"b": max(left[0], right[0]), "i": left[1], "k": right[2]}
        sizes["j"] = max(left[2], right[1])
        wide = np.broadcast_to(a, [sizes[i] for i in "bij"])
        long = np.broadcast_to(b, [sizes[i] for i in "bjk"])
        full = np.einsum("bik,bjk->bij", y_bar, long), np.einsum("bik,bij->bjk", y_bar, wide)
        for found, whole in zip((a_bar, b_bar), full, strict=True):
            axes = tuple(i for i in range(3) if found.shape[i] == 1)
            np.testing.assert_allclose(found, whole.sum(axis=axes, keepdims=True))
