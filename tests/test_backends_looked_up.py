"""Backends: objects of a registry that is filled when they are first asked for, by the classes of
the arguments, as libraries for several array modules do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import issparse

import tangentlike as tl
from tests.sampled import one_in

X = np.array([0.5, 1.2, -0.7])
V = np.array([0.3, -0.4, 0.9])


class Plain:
    __name__ = "plain"
    __type__ = np.ndarray
    eps = np.float64(1e-16)

    def sum(self, a):
        return np.sum(a)

    def sort(self, a, axis=-1):
        return np.sort(a, axis)

    def issparse(self, a):
        return issparse(a)

    def tocsr(self, a):
        return a.tocsr() if self.issparse(a) else a


class Other(Plain):
    __name__ = "other"
    __type__ = dict


CLASSES = [Other, Plain]
MADE: dict = {}


def instance(cls):
    if cls.__name__ not in MADE:
        MADE[cls.__name__] = cls()
    return MADE[cls.__name__]


def suits(cls, args):
    backend = instance(cls)
    found = set(isinstance(arg, cls.__type__) or backend.issparse(arg) for arg in args)  # noqa: C401
    if len(found) == 1:
        return found.pop()
    raise ValueError(str([type(arg) for arg in args]))


def backend_of(*args):
    args = [arg for arg in args if arg is not None]
    for cls in CLASSES:
        if suits(cls, args):
            return instance(cls)
    raise ValueError("none of them")


def summed(x):
    nx = backend_of(x, None)
    return nx.sum(x * x)


def sorted_by_a_helper(x):
    return np.sum(in_order(x) * np.arange(3.0)) ** 2


def in_order(x):
    nx = backend_of(x)
    return nx.sort(x, axis=0)


def classes_seen(x):
    names = set(type(v).__name__ + str(instance(Plain).issparse(v)) for v in x)  # noqa: C401
    return np.sum(x**3) * len(names)


@pytest.mark.parametrize("fn", [summed, sorted_by_a_helper, classes_seen], ids=lambda f: f.__name__)
def test_derivatives(fn):
    tl.check_grads(fn, (X,), order=2)


def test_a_class_with_a_method_tocsr_is_no_sparse_matrix():
    def scaled(x, backend):
        return backend.sum(x * x)

    tl.check_grads(scaled, (X, Plain()), wrt="x")


class ForeignArray:
    """An array of a library whose dtypes are not NumPy's."""

    shape, ndim = (), 0

    @property
    def dtype(self):
        return "foreign.float32"

    def __getitem__(self, key):
        return self


def test_an_object_may_hold_arrays_of_another_library():
    class Holding(Plain):
        def __init__(self):
            self.examples = [ForeignArray()]

    def scaled(x, backend):
        return backend.sum(x * x)

    tl.check_grads(scaled, (X, Holding()), wrt="x")


class Dotted(Plain):
    __name__ = "dotted"

    def transpose(self, a):
        return np.transpose(a)

    def dot(self, a, b):
        return np.dot(a, b)

    def einsum(self, subscripts, *operands):
        return np.einsum(subscripts, *operands)

    def maximum(self, a, b):
        return np.maximum(a, b)


def distances(x, y, nx=None):
    if nx is None:
        nx = instance(Dotted)
    c = -2.0 * nx.dot(x, nx.transpose(y))
    c += nx.einsum("ij,ij->i", x, x)[:, None]
    c += nx.einsum("ij,ij->i", y, y)[None, :]
    return nx.maximum(c, 0.0)


@pytest.mark.thorough
def test_methods_that_arrays_have_too_of_an_object_with_others():
    """`nx.transpose(y)` is no view of `nx`, nor does `nx.dot(x, z)` write into `z`."""
    x = np.arange(6.0).reshape(3, 2) ** 1.5
    tl.check_grads(lambda x, y: np.sum(distances(x, y) ** 2), (x, np.cos(x)), order=2)


class Making(Plain):
    __name__ = "making"

    def made(self, a):
        return np.array(a)


def as_arrays(*lst, nx=None):
    if nx is None:
        nx = instance(Making)
    if len(lst) > 1:
        return [nx.made(a) if isinstance(a, list) else a for a in lst]
    return nx.made(lst[0]) if isinstance(lst[0], list) else lst[0]


@pytest.mark.thorough
def test_a_list_in_one_branch_and_what_a_backend_gives_in_the_other():
    """The list is not what the backend gave, though both are returned by one name."""
    instance(Making)

    def product(x, y):
        x, y = as_arrays(x, y)
        return np.sum(x * y**2)

    tl.check_grads(product, (X, np.cos(X)), order=2)


def test_what_is_put_into_an_outer_list_is_refused_whatever_its_name_was_before():
    kept: list = []

    def logged(x, deep=True):
        rows = [v * 2.0 for v in x]
        total = sum(rows)
        if deep:
            rows = kept
        rows.append(x[0])
        return total

    with pytest.raises(tl.UnsupportedError, match="carries derivatives into `kept`"):
        tl.grad(logged)(X)


class Numerical(Dotted):
    """A backend with attributes, and with methods that arrays have by the same names."""

    __name__ = "numerical"
    pi = np.pi

    def sqrt(self, a):
        return np.sqrt(a)

    def any(self, a):
        return np.any(a)

    def ones(self, count, type_as=None):
        return np.ones(count)

    def stack(self, arrays):
        return np.stack(arrays)

    def cumsum(self, a, axis=None):
        return np.cumsum(a, axis)


class Registry(dict):
    @property
    def active(self):
        return self["numerical"]


BACKENDS = Registry(numerical=Numerical())


def with_constants(x):
    """`pi` is of an object whose methods are given what carries derivatives."""
    nx = BACKENDS.active
    return nx.sum(x * x) / nx.sqrt(2.0 * nx.pi)


def along_an_axis(x):
    """The second argument is no dtype, as it is of the method of an array."""
    nx = BACKENDS.active
    return nx.sum(nx.cumsum(x * x, 0) * nx.cumsum(nx.ones(3), 0))


@pytest.mark.parametrize("fn", [with_constants, along_an_axis])
def test_what_an_object_gives_of_constants(fn):
    tl.check_grads(fn, (X,))


def compared(x):
    nx = backend_of(x) if x.ndim > 3 else BACKENDS.active
    w = nx.ones(3, type_as=x)
    if nx.sum(nx.stack((nx.sum(x), nx.sum(x * x)))) > 100.0:
        raise ValueError("too large")
    return nx.sum(w * x * x)


def compared_and_written(x):
    nx = BACKENDS.active
    w = nx.ones(3, type_as=x)
    w[0] = x[1]
    kept = w
    if (x.ndim == 1 and nx.any(w > 0.3)) or nx.sum(w) > 40.0:
        w *= x
    while nx.any(w < 3.2):  # (no entry comes near that)
        w += x * x
    return nx.sum(w * x * kept)


def not_taken(x):
    """A method that neither NumPy's arrays nor anything else has, in a branch that no call takes,
    of a function that has its adjoints by identity."""
    nx = BACKENDS.active
    w = nx.ones(3, type_as=x)
    w[1] = x[0]
    return turned(w * x, x)


def turned(a, b):
    nx = BACKENDS.active
    if nx.__name__ == "torch":
        a = a.movedim(0, -1).contiguous()
        b = b.movedim(0, -1).contiguous()
    else:
        a = a.T
    return nx.sum(a * b)


@pytest.mark.parametrize(
    "fn", [compared, compared_and_written, not_taken], ids=lambda f: f.__name__
)
def test_methods_in_tests_and_in_branches_not_taken(fn):
    tl.check_grads(fn, (X,))


# ------------------------------------------- asked for arguments of which the call knows how many


def of_a_list(x, w, weights=None):
    arrays = [x, w]
    if weights is not None:
        arrays.append(weights)
    nx = backend_of(*arrays)
    return nx.sum(nx.sort(x) * w) * nx.eps * 1e16


def backend_for(*arrays):
    return backend_of(*[a for a in arrays if a is not None])


def of_a_helper(x, w, weights=None):
    nx = backend_for(x, w, weights)
    total = w
    for _ in range(2):
        total = total * nx.sum(x * total)
    return nx.sum(total)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", [of_a_list, of_a_helper])
def test_an_object_outside_is_given_back(fn):
    for args in ((X, X + 2.0), (X, X + 2.0, X * 3.0)):
        tl.check_grads(fn, args, wrt=("x", "w"))
        gradient = tl.grad(fn)
        expected = (gradient(X + 1e-6 * V, *args[1:]) - gradient(X - 1e-6 * V, *args[1:])) / 2e-6
        dots = (V, *[None] * (len(args) - 1))
        np.testing.assert_allclose(tl.jvp(gradient, args, dots)[1], expected, rtol=1e-6)
        if fn is of_a_helper and len(args) == 2:  # (a list of the helper's is made shorter again)
            with pytest.raises(tl.UnsupportedError, match="defined outside"):
                tl.vjp(gradient, *args)
            continue
        across = tl.vjp(gradient, *args)[1](V)[0]
        np.testing.assert_allclose(across, expected, rtol=1e-6)


class Storing(Plain):
    def store(self, a):
        self.stored = a * 2.0


def put_into(nx, a):
    nx.stored = a * 2.0


def stored_in(x, w):
    nx = backend_for(x, w)
    nx.stored = x * 2.0
    return np.sum(backend_for(x, w).stored * w)


def stored_by_a_helper(x, w):
    arrays = [x, w]
    put_into(backend_of(*arrays), x)
    return np.sum(backend_of(*arrays).stored * w)


def stored_by_a_method(x, w):
    arrays = [x, w]
    backend_of(*arrays).store(x)
    return np.sum(backend_of(*arrays).stored * w)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", one_in(3, [stored_in, stored_by_a_helper, stored_by_a_method]))
def test_what_is_put_into_it_is_not_lost(fn, monkeypatch):
    monkeypatch.setitem(globals(), "CLASSES", [Storing])
    monkeypatch.setitem(globals(), "MADE", {})
    for mode in (
        lambda: tl.grad(fn)(X, X + 2.0),
        lambda: tl.jvp(fn, (X, X + 2.0), (X, None)),
    ):
        with pytest.raises(tl.UnsupportedError):
            mode()


# ------------------------------------------------- what an unknown method gives may be held outside


class Giving(Plain):
    """Gives an array of its own where `own` is set."""

    __name__ = "giving"
    own = False

    def __init__(self):
        self.kept = np.array([0.3, -0.2, 0.8])

    def asarray(self, a):
        return self.kept if self.own else np.array(a)

    def scaled(self, a, by=2.0):
        a *= by
        return np.sum(a)


def reads_it(x):
    nx = backend_of(x)
    m = nx.asarray(x)
    total = x
    for _ in range(2):
        total = total * m + x
    return nx.sum(total * m)


def writes_it(x):
    nx = backend_of(x)
    m = nx.asarray(x)
    m[0] = x[1] ** 2
    return nx.sum(m * m)


def updates_a_row(x):
    nx = backend_of(x)
    row = nx.asarray(x)[1:]
    row += x[0] * x[:2]
    return nx.sum(row * row) + np.sum(backend_of(x).kept)


def taken(x, nx=None):
    if nx is None:
        nx = backend_of(x)
    return nx.asarray(x)


def writes_what_a_helper_gives(x):
    m = taken(x)
    m[1:] *= x[0]
    return np.sum(m * x)


def writes_what_it_gives_a_helper(x):
    nx = backend_of(x)
    m = taken(x, nx)
    m2 = nx.asarray(m)
    m2[1] = m[0] * x[0]
    return nx.sum(m * m2 * x)


def has_a_method_write_it(x):
    nx = backend_of(x)
    m = nx.asarray(x * x)
    total = nx.scaled(m, by=x[0])
    return total * nx.sum(m)


def put_and_dropped(x):
    m = taken(x)
    m[0] = x[1] ** 2


def writes_for_its_effect(x):
    put_and_dropped(x)
    return np.sum(x * backend_of(x).kept)


def of_a_closure(x):
    nx = backend_of(x)
    m = nx.asarray(x)

    def put(v):
        m[0] = v * x[1]
        return m[0]

    return put(x[2]) + nx.sum(m)


WRITING = [
    *(writes_it, updates_a_row, writes_what_a_helper_gives, writes_what_it_gives_a_helper),
    *(has_a_method_write_it, writes_for_its_effect, of_a_closure),
]


@pytest.fixture
def giving(monkeypatch):
    """The one backend, which gives memory of its own when that is asked for."""
    monkeypatch.setitem(globals(), "CLASSES", [Giving])
    monkeypatch.setitem(globals(), "MADE", {"Giving": Giving()})
    return MADE["Giving"]


@pytest.mark.thorough
def test_what_a_backend_gives_of_its_own_may_be_read(giving):
    tl.check_grads(reads_it, (X,), order=2)
    giving.own = True
    tl.check_grads(reads_it, (X,), order=2)


def by_reverse(fn, x):
    return tl.grad(fn)(x) @ V


def by_forward(fn, x):
    return tl.jvp(fn, (x,), (V,))[1]


def by_both(fn, x):
    return tl.jvp(tl.grad(fn), (x,), (V,))[1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("derivative", "fn"),
    [
        *itertools.product([by_reverse, by_forward], WRITING),
        *((by_both, fn) for fn in WRITING[:2]),  # (five seconds each)
    ],
)
def test_it_is_written_only_where_it_is_not_the_backends_own(fn, derivative, giving):
    """Where it is, the derivative of what is written would be lost, and is refused."""
    kept = giving.kept.copy()
    try:
        found = derivative(fn, X)
    except tl.UnsupportedError:
        assert derivative is by_both or fn not in (writes_it, updates_a_row)
    else:
        if derivative is not by_both:
            np.testing.assert_allclose(found, slope(fn), rtol=1e-6)
    giving.own = True
    with pytest.raises(tl.UnsupportedError):
        derivative(fn, X)
    np.testing.assert_array_equal(giving.kept, kept)


def slope(fn):
    return (fn(X + 1e-6 * V) - fn(X - 1e-6 * V)) / 2e-6


# --------------------------- what one method gave of constants is given to another with what varies


class Bounding(Plain):
    def __init__(self):
        self.lower = np.zeros(3)

    def asarray(self, a):
        return np.asarray(a)

    def own(self):
        return self.lower

    def maximum(self, a, b):
        return np.maximum(a, b)

    def minimum(self, a, b):
        return np.minimum(a, b)

    def put(self, b, a):
        b[:] = a
        return a * 1.0


BOUNDING = {"it": Bounding()}


def clipped(x):
    b = BOUNDING["it"]
    return np.sum(b.minimum(b.maximum(x, b.asarray(0.1)), b.asarray(0.7)) * x)


def clipped_product(x, w):
    b = BOUNDING["it"]
    return b.minimum(b.maximum(x * w, b.asarray(0.1)), b.asarray(0.7)) * w


def clipped_by_a_helper(x):
    return np.sum(clipped_product(x, 2.0 * x))


def with_its_own(x):
    b = BOUNDING["it"]
    return np.sum(b.maximum(x, b.own()) * x)


@pytest.mark.parametrize("fn", [clipped, clipped_by_a_helper, with_its_own])
def test_what_one_method_gave_is_given_to_another(fn):
    tl.check_grads(fn, (X,))


def put_into_its_own(x):
    b = BOUNDING["it"]
    b.put(b.own(), x)
    return np.sum(b.own() * x)


def put_into_what_it_gave(x):
    b = BOUNDING["it"]
    z = b.asarray(np.zeros(3))
    b.put(z, x)
    return np.sum(z * x)


def test_what_is_put_into_what_it_gave():
    """Into memory of its own: refused, or right; never without what was put there."""
    for fn in (put_into_its_own, put_into_what_it_gave):
        for modes in (("rev",), ("fwd",)):
            try:
                tl.check_grads(fn, (X,), modes=modes)
            except tl.UnsupportedError as refused:
                assert refused.message
