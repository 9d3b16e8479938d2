"""Functions that only the running program knows, and that write what they are given, where no
derivative of theirs is asked for: refused where this carries derivatives, else a copy is given."""

import numpy as np
import pytest

import tangentlike as tl


def halves_first(x):
    x[0] *= 0.5
    return 2.0


class Asked:
    def is_large(self, x):
        x[1] = 0.3
        return np.sum(x) > 1.0


WRITERS = {"f": halves_first, "o": Asked()}


def after_a_store(a, b):
    b[1] = a[1]
    q = WRITERS["f"]
    k = int(q(b))
    return np.sum(b * b) * k


def after_a_gather(a, b):
    b[[0, 2]] = a[[1, 1]]
    q = WRITERS["f"]
    k = int(q(b))
    c = b
    return np.sum(c * b) + k


def after_an_update(a, b):
    a[1] += 0.3
    q = WRITERS["f"]
    for _ in range(2):
        if q(a) > 1.0:
            b = b * 2.0
    return np.sum(a * b)


def nothing_depends_on_it(a, b):
    q = WRITERS["f"]
    k = int(q(a))
    return np.sum(b * b) * k


def of_a_part(a, b):
    q, row = WRITERS["f"], a[1:]
    k = int(q(row))
    return np.sum(b * b) * k


def by_keyword(a, b):
    q = WRITERS["f"]
    k = int(q(x=a))
    return np.sum(b * b) * k


REFUSED = (after_a_store, after_a_gather, after_an_update)
ALLOWED = (nothing_depends_on_it, of_a_part, by_keyword)
A, B = np.array([0.3, 0.5, -0.2]), np.array([0.1, -0.4, 0.9])


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_carries_derivatives_may_not_be_written(f):
    with pytest.raises(
        tl.UnsupportedError, match="`halves_first`, which is .* writes its arguments"
    ):
        tl.grad(f, wrt=(0, 1))(A.copy(), B.copy())
    with pytest.raises(tl.UnsupportedError):
        tl.jvp(f, (A.copy(), B.copy()), (A, B))
    with pytest.raises(tl.UnsupportedError):
        tl.grad(f, wrt=(0, 1), example=(A, B))(A.copy(), B.copy())


@pytest.mark.parametrize("f", ALLOWED, ids=lambda f: f.__name__)
def test_what_carries_none_is_copied(f):
    a, b = A.copy(), B.copy()
    a_bar, b_bar = tl.grad(f, wrt=(0, 1))(a, b)
    np.testing.assert_allclose(b_bar, 4.0 * B)
    np.testing.assert_array_equal(a_bar, np.zeros(3))
    assert np.isclose(tl.jvp(f, (a, b), (B, A))[1], 4.0 * np.dot(A, B))
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(b, B)


FUNCTIONS = {
    "len": len,
    "text": lambda x: "abc",
    "nothing": lambda x: None,
    "shape": lambda x: x.shape,
    "place": np.argmax,
    "sine": np.sin,
    "list": lambda x: list(x),
}


def unused(a, key):
    q = FUNCTIONS[key]
    k = q(a)  # noqa: F841
    return np.sum(a * a)


def cut_off(a, key):
    q = FUNCTIONS[key]
    k = int(np.size(q(a)))
    return np.sum(a * a) * k


def in_a_test(a, key):
    q = FUNCTIONS[key]
    if np.size(q(a)) < 2 and q(a) is not None:
        a = a * 2.0
    return np.sum(a * a)


@pytest.mark.parametrize("key", FUNCTIONS)
@pytest.mark.parametrize("f", [unused, cut_off, in_a_test], ids=lambda f: f.__name__)
def test_what_writes_nothing_may_be_given_what_carries_derivatives(f, key):
    tl.check_grads(f, (A, key), wrt=0)


class Scale:
    def is_large(self, x):
        return np.sum(x) > 0.5


TABLE = {"o": Scale(), "f": lambda x: np.sum(x * x)}


def a_method_in_a_test(a, o):
    if o.is_large(a):
        a = a * 2.0
    while o.is_large(a) and TABLE["o"].is_large(a):
        a = a * 0.7
    return np.sum(a * a)


def an_item_in_a_test(a, o):
    if TABLE["f"](a) > 0.1:
        a = np.sin(a)
    k = TABLE["o"].is_large(a)  # noqa: F841
    return np.sum(a * a) * (2.0 if o.is_large(x=a) else 1.0)


@pytest.mark.parametrize("f", [a_method_in_a_test, an_item_in_a_test], ids=lambda f: f.__name__)
def test_methods_and_items_in_tests_are_called_in_statements(f):
    tl.check_grads(f, (A, Scale()), wrt=0)


def test_what_a_derivative_is_made_of_is_not_copied():
    def applied(f, x):
        return np.sum(f(x))

    assert ".copy()" not in str(tl.grad(applied, wrt=1).source)
    np.testing.assert_allclose(tl.grad(applied, wrt=1)(np.sin, A), np.cos(A))
