"""Functions that only the running program knows, and that write what they are given: adjoints are
found by identity then, and tangents are written as the values are."""

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


def an_item(a, b):
    p = [a * b, b]
    WRITERS["f"](p[0])
    WRITERS["f"](p[1])
    return np.sum(p[0] * p[1])


def in_rounds(a, b):
    c = a * 1.0
    for k in range(3):
        y = WRITERS["mixed"](c, b) * c[k]
        b = b + y
    return np.sum(b * c)


def into_one_that_carries_none(a, b):
    out = np.zeros(3)
    for k in range(2):
        WRITERS["into"](out, a * b, k)
    return np.sum(out**2)


def given_twice(a, b):
    c = a * b
    WRITERS["mixed"](c, c)
    return np.sum(c * c)


def as_a_view(a, b):
    c = np.outer(a, b)
    row = WRITERS["back"](c[1])
    row[0] = row[1] * a[2]
    return np.sum(c**2)


def appended(a, b):
    xs = [a]
    WRITERS["append"](xs, b)
    WRITERS["append"](xs, xs[1] * xs[0])
    xs[1][0] = xs[2][1]
    return np.sum(xs[1] * xs[2] * b)


def into_an_object(a, b):
    total = Total()
    for v in a:
        WRITERS["add"](total, v, by=b[0])
    return total.value * total.value


WRITERS |= {
    "mixed": lambda x, y: mixed(x, y),
    "into": lambda out, x, k: np.add(out, x * k, out=out),
    "back": lambda row: row,
    "add": lambda total, v, by: total.add(v, by),
}


def append(xs, x):
    xs.append(x * 1.0)


WRITERS["append"] = append


def mixed(x, y):
    x[0] = x[1] * y[0]
    y[1:] *= x[:2]
    return np.sum(x * y)


class Total:
    def __init__(self):
        self.value = 0.0

    def add(self, v, by):
        self.value = self.value + v * v * by


WRITING = (after_a_store, after_a_gather, after_an_update, an_item, in_rounds)
WRITING += (into_one_that_carries_none, given_twice, as_a_view, appended, into_an_object)
ALLOWED = (nothing_depends_on_it, of_a_part, by_keyword)
A, B = np.array([0.3, 0.5, -0.2]), np.array([0.1, -0.4, 0.9])


@pytest.mark.parametrize("f", WRITING, ids=lambda f: f.__name__)
def test_what_carries_derivatives_is_written(f):
    a, b = A.copy(), B.copy()
    tl.check_grads(f, (a, b))
    if f in WRITING[3:]:
        tl.check_grads(f, (a, b), wrt=0, order=2, modes=("fwd",))
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(b, B)


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


def bump(k):
    k[0] += 1
    return 0


def double(w):
    w *= 2.0
    return 0


class Bumping:
    def bump(self, k):
        k[0] += 1
        return 0


SILENT = {"bump": bump, "double": double, "o": Bumping(), "first": lambda ks: bump(ks[0])}


def places(a):
    k, y = np.array([0, 1]), 0.0
    view = k[:1]
    for _ in range(2):
        n = SILENT["bump"](k)
        y = y + a[k[0]] ** 2 * a[view[0] - 1] + n
    return y


def weights(a):
    w, y = np.array([0.5, 1.0, 2.0]), 0.0
    for _ in range(2):
        n = SILENT["double"](w)
        y = y + np.sum(a * a * w) + n
    return y


def by_a_method(a):
    k, y = np.array([0, 1]), 0.0
    for _ in range(2):
        n = SILENT["o"].bump(k)
        y = y + a[k[0]] ** 2 * a[k[1]] + n
    return y


def in_a_list(a):
    ks, y = [np.array([0, 1])], 0.0
    for _ in range(2):
        n = SILENT["first"](ks)
        y = y + a[ks[0][0]] ** 2 * a[ks[0][1]] + n
    return y


def in_the_test_of_a_loop(a):
    k, y = np.array([0, 1]), 0.0
    while SILENT["bump"](k) == 0 and k[0] < 3:
        y = y + a[k[0]] ** 2 * a[k[1]]
    return y


def beside_what_carries_derivatives(a):
    y, k, t = a * 1.0, np.array([0, 1]), 0.0
    for _ in range(2):
        WRITERS["f"](y)
        n = SILENT["bump"](k) + SILENT["o"].bump(k[1:])
        t = t + y[k[0]] ** 2 * y[k[1] - 1] + n
    return t


UNSEEN = (places, weights, by_a_method, in_a_list, in_the_test_of_a_loop)
UNSEEN += (beside_what_carries_derivatives,)


@pytest.mark.parametrize("f", UNSEEN, ids=lambda f: f.__name__)
def test_what_carries_none_is_put_back(f):
    """The reverse sweep reads the places and weights of each round (these gradients were those of
    what was written last)."""
    tl.check_grads(f, (A,))


class Counted:
    def count(self, x):
        x[1] = 0.3

    def index(self, x):
        x += 0.5
        return 1


COUNTED = {"o": Counted()}


def in_a_statement(a):
    c = np.zeros_like(a)
    COUNTED["o"].count(c)
    return np.sum(a * c)


def for_a_name(a):
    c, y = np.zeros_like(a), 0.0
    for _ in range(2):
        k = COUNTED["o"].index(c)
        y = y + np.sum(a * a * c)
    return y * k


@pytest.mark.parametrize("fn", [in_a_statement, for_a_name], ids=lambda fn: fn.__name__)
def test_methods_that_have_the_names_of_those_of_lists(fn) -> None:
    """They were taken to read a list, and calls of them were left out."""
    tl.check_grads(fn, (np.array([0.3, -0.7, 0.5]),))
