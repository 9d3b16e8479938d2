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


# Lists of axes in place of subscripts, which may be made, changed and handed on.


def of_names(m, a):
    i, j = 0, 1
    return np.sum(np.einsum(m, [i, j], a, [j], [i]) ** 2)


def of_a_range(m, a):
    return np.sum(np.einsum(m, list(range(m.ndim)), a, [m.ndim - 1]) ** 2)


def of_a_changed_list(m, a):
    axes = [0, 1]
    axes.reverse()
    return np.sum(np.einsum(m, axes, a, [0], [1]) ** 2)


def of_a_changed_item(m, a):
    axes = [0, 1]
    axes[0], axes[1] = 1, 0
    return np.sum(np.einsum(m, axes, a, [0], [1]) ** 2)


def of_an_ellipsis(m, a):
    return np.sum(np.einsum(m, [Ellipsis, 0], a, (0,), [Ellipsis]) ** 2)


def multiplied(a, axes, b, others, result):
    return np.einsum(a, axes, b, others, result)


def of_what_is_given(m, a):
    return np.sum(multiplied(m, [0, 1], a, [1], [0]) * multiplied(m, [0, 1], m, [2, 1], [0, 2]))


def of_starred_lists(m, a):
    parts = [m, [0, 1], a, [1]]
    return np.sum(np.einsum(*parts) ** 2)


def of_a_text_beside_arrays(m, a):
    parts = {"how": "ij,j->i", "w": m}
    return np.sum(np.einsum(parts["how"], parts["w"], a) ** 2)


LISTS = [
    of_names, of_a_range, of_a_changed_list, of_a_changed_item, of_an_ellipsis, of_what_is_given,
    of_starred_lists, of_a_text_beside_arrays,
]  # fmt: skip


@pytest.mark.parametrize("f", LISTS, ids=lambda f: f.__name__)
def test_lists_of_axes(f):
    """The tangents of operands were zero where the lists of axes were not written out in the call,
    and lists that were changed counted as they had been made."""
    args = RNG.normal(size=(3, 3)), RNG.normal(size=3)
    tl.check_grads(f, args, order=2)
    given = tl.grad(f, wrt=(0, 1), example=args)(*args)
    for found, expected in zip(given, tl.grad(f, wrt=(0, 1))(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_text_for_subscripts_is_not_called_with_lists():
    def product(first, second):
        return np.sum(np.einsum(first, second))

    _, tangent = tl.jvp(product, (np.eye(2), [0, 0]), (np.ones((2, 2)), None))
    assert tangent == 2.0
    with pytest.raises(TypeError, match="other types"):
        namespace = {}
        exec(tl.grad(product, example=(np.eye(2), [0, 0])).source, namespace)
        namespace["product_grad"]("ij", np.eye(2))
