"""A call that changes its argument, which the result does not read: it is restored as what it is.

The adjoint has the form that the argument had before the call. An argument that is a list or a
dict was restored as an array is, by `xs[...] = xs_saved`: an error of Python's.
"""

import array
from collections import Counter, deque

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import contents_inside, put_inside


def dropped(v):
    v.pop(0)


def written(v):
    v[0] = 7.0


def added(d):
    d["new"] = 3.0


def removed(d):
    d.pop("a")


def filled(d):
    d["a"] *= 2.0
    d["rows"][0][...] = 5.0


def by_dropped(xs, y):
    dropped(xs)
    return y * y


def by_written(xs, y):
    for _ in range(2):
        written(xs)
    return y * y


def by_added(xs, y):
    for _ in range(2):
        added(xs)
    return y * y


def by_removed(xs, y):
    removed(xs)
    return y * y


def by_filled(xs, y):
    filled(xs)
    return y * y


LIST = [1.0, np.ones(2), 2.0]
DICT = {"a": 1.0, "b": 2.0}
CASES = [
    *((by_dropped, LIST), (by_written, LIST), (by_written, np.ones(3)), (by_added, DICT)),
    *((by_removed, DICT), (by_filled, {"a": 1.0, "rows": [np.ones(2)]})),
]


@pytest.mark.parametrize(("f", "xs"), CASES, ids=lambda part: getattr(part, "__name__", ""))
@pytest.mark.parametrize("known", [False, True])
def test_gradient_has_the_form_before_the_call(f, xs, known):
    before = repr(xs)
    gradient = tl.grad(f, wrt=("xs", "y"), example=(xs, 2.0) if known else None)
    xs_bar, y_bar = gradient(xs, 2.0)
    zero = repr(xs).replace("1.", "0.").replace("2.", "0.")
    assert repr(xs_bar) == zero and y_bar == 4.0
    assert repr(xs) == before  # (and the caller's argument is as it was)


def constant(xs):
    dropped(xs)
    return 0.5


def test_constant_result():
    assert tl.grad(constant)([1.0, 2.0, 3.0]) == [0.0, 0.0, 0.0]
    assert tl.jvp(constant, ([1.0, 2.0],), ([1.0, 1.0],)) == (0.5, 0.0)


class Slotted:
    __slots__ = ("inner", "k")

    def __init__(self, k=0):
        self.k, self.inner = k, [k]


class Called:
    def __init__(self):
        self.k = 0

    def __call__(self):
        return self.k


class Listed(list):
    k = 0


class Keyed(dict):
    k = 0


class Holder:
    def __init__(self):
        self.queue = deque([0, 1, 2])

    def step(self):
        self.queue.rotate()
        return self.queue[0]


def test_contents_are_the_same_objects_again():
    """Of the items that were moved, dropped or written, each is again where it was, as it was."""
    row, inner = np.ones(2), {"k": 1.0}
    queue, slotted, called = deque([row, 2]), Slotted(1), Called()
    listed, keyed, codes = Listed([row]), Keyed(a=inner), array.array("i", [1, 2])
    raw, counted = bytearray(b"ab"), Counter("aab")
    others = [queue, slotted, called, listed, keyed, codes, raw, counted]
    held = {"row": row, "inner": inner, "list": [row, inner], "set": {1}, "others": others}
    held["itself"] = held
    keyed.k = listed
    saved = contents_inside(held)
    row[...] = 2.0
    inner.clear()
    held["list"].pop(0)
    held["set"].add(2)
    del held["row"]
    queue.rotate()
    slotted.k = called.k = listed.k = 5
    slotted.inner.append(6)
    del keyed.k, slotted.inner
    keyed.late = 1
    codes[0] = raw[0] = 7
    codes.append(8)
    raw.append(9)
    counted["a"] += 1
    put_inside(held, saved)
    assert held["row"] is row and held["list"][0] is row and held["list"][1] is inner
    assert row.tolist() == [1.0, 1.0] and inner == {"k": 1.0} and held["itself"] is held
    assert held["set"] == {1} and queue[0] is row and queue[1] == 2
    assert slotted.k == 1 and slotted.inner == [1] and called.k == 0
    assert vars(listed) == {} and vars(keyed) == {"k": listed} and keyed["a"] is inner
    assert codes.tolist() == [1, 2] and raw == b"ab" and counted == Counter("aab")


def stepped(p):
    p.k = (p.k + 1) % 4


def turned(p):
    p.rotate(1)


def turned_within(p):
    turned(p["u"])


def by_lengthened(a, s):
    p = deque([0, 1])
    for k in range(len(p)):
        p.appendleft(k + 1)
        s = s * 0.9 + a[p[1]]
    return s * len(p)


def by_slots(a, s):
    p = Slotted()
    for _ in range(3):
        stepped(p)
        s = s * 0.9 + a[p.k]
    return s


def by_callable(a, s):
    p = Called()
    for _ in range(3):
        stepped(p)
        s = s * 0.9 + a[p.k] ** 2
    return s


def by_method_of_helper(a, s):
    p = deque([0, 1, 2])
    for _ in range(3):
        turned(p)
        s = s * 0.9 + a[p[0]] ** 2 * s
    return s


def by_method_of_item(a, s):
    p = {"u": deque([0, 1, 2])}
    for _ in range(3):
        p["u"].rotate(1)
        s = s * 0.9 + a[p["u"][0]]
    return s


def by_method_of_helpers_helper(a, s):
    p = {"u": deque([0, 1, 2])}
    for _ in range(3):
        turned_within(p)
        s = s * 0.9 + a[p["u"][0]]
    return s


def by_method_of_attribute(a, s):
    p = Holder()
    for _ in range(3):
        s = s * 0.9 + a[p.step()] * p.queue[1]
    return s


CHANGED_UNSEEN = [by_lengthened, by_slots, by_callable, by_method_of_helper, by_method_of_item]
CHANGED_UNSEEN += [by_method_of_helpers_helper, by_method_of_attribute]


@pytest.mark.parametrize("f", CHANGED_UNSEEN)
def test_what_is_changed_without_a_name_for_it_is_put_back(f):
    """A deque, an object with slots or one that can be called was not saved; a method that is not
    known by its name, called in a helper, counted as writing nothing."""
    a, da = np.arange(4.0) * 0.3 + 0.4, np.array([0.5, -1.0, 0.7, 0.3])
    h = 1e-6
    slope = (f(a + h * da, 0.5 + h) - f(a - h * da, 0.5 - h)) / (2 * h)
    by_names = tl.grad(f, wrt=("a", "s"))
    known = tl.grad(f, wrt=("a", "s"), example=(a, 0.5))
    identity = by_names.__tangentlike__.derive().specialized_for((a, 0.5), {}).by_identity
    for gradient in (by_names, known, lambda *args: identity.call(args, {})):
        a_bar, s_bar = gradient(a.copy(), 0.5)
        assert a_bar @ da + s_bar == pytest.approx(slope, rel=1e-6)
    assert tl.jvp(f, (a, 0.5), (da, 1.0))[1] == pytest.approx(slope, rel=1e-6)
    if f is by_method_of_attribute:
        return  # (what rotates an attribute has no second order)
    turn = tl.jvp(lambda a, s: by_names(a, s)[0], (a, 0.5), (da, 1.0))[1]
    change = (by_names(a + h * da, 0.5 + h)[0] - by_names(a - h * da, 0.5 - h)[0]) / (2 * h)
    np.testing.assert_allclose(turn, change, atol=1e-7)


def resized(x):
    x.resize(2, refcheck=False)
    return 0.5 * np.sum(x)


def test_resize_is_refused():
    """`x[...] = x_saved` had another size: NumPy's "could not broadcast"."""
    with pytest.raises(tl.UnsupportedError, match=r"np\.resize") as refusal:
        tl.grad(resized)(np.ones(3))
    assert "x.resize" in str(refusal.value)


def row_replaced(m):
    rows = np.unstack(m)
    rows[0][...] = rows[1] * 2.0
    return np.sum(m**3)


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="np.unstack is new in NumPy 2.1")
def test_store_into_a_row_of_a_tuple():
    """The adjoint of a row is seen in a tuple of views, which takes no item assignment."""
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    tl.check_grads(row_replaced, (m,), order=1)
    assert np.allclose(tl.grad(row_replaced)(m), [0.0 * m[0], 27.0 * m[1] ** 2])


def parts_written(x):
    z = np.zeros(4, dtype=complex)
    z += x
    z.imag = x**2
    z *= 1j
    z.real[1:] += x[1:]
    return np.sum(np.abs(z) ** 2) + z.real.sum()


@pytest.mark.parametrize("known", [False, True])
def test_imaginary_part_of_a_real_adjoint(known):
    """The adjoint of the adjoint of z came as a real array, whose imaginary part is read-only."""
    x, v = np.array([0.3, 0.5, 0.7, 0.9]), np.array([0.2, -0.4, 1.0, 0.3])
    gradient = tl.grad(parts_written, example=(x,) if known else None)
    expected = (gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6
    assert np.allclose(tl.vjp(gradient, x)[1](v)[0], expected, atol=1e-7)
    assert np.allclose(tl.hvp(parts_written)(x, v), expected, atol=1e-7)


def sum_without_axes(x):
    s = np.array(0.0)
    for v in x:
        s += v * v
    s[...] = s * x[0]
    t = s[()]
    return float(t) * x[1]


@pytest.mark.parametrize("known", [False, True])
def test_array_without_axes_is_written_as_a_whole(known):
    """Reverse mode gave a wrong gradient where an example told what the argument is."""
    x, v = np.array([0.3, 0.5, 0.7]), np.array([1.0, 2.0, -1.0])
    gradient = tl.grad(sum_without_axes, example=(x,) if known else None)
    squares = x @ x
    first = np.array([x[1] * squares, x[0] * squares, 0.0]) + 2.0 * x * x[0] * x[1]
    assert np.allclose(gradient(x), first)
    assert np.isclose(tl.jvp(sum_without_axes, (x,), (v,))[1], first @ v)
    expected = (gradient(x + 1e-6 * v) - gradient(x - 1e-6 * v)) / 2e-6
    assert np.allclose(tl.vjp(gradient, x)[1](v)[0], expected, atol=1e-7)
