"""A call that changes its argument, which the result does not read: it is restored as what it is.

The adjoint has the form that the argument had before the call. An argument that is a list or a
dict was restored as an array is, by `xs[...] = xs_saved`: an error of Python's.
"""

import numpy as np
import pytest

import tangentlike as tl


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


def test_contents_are_the_same_objects_again():
    """Of the items that were moved, dropped or written, each is again where it was, as it was."""
    from tangentlike.runtime import restore_contents, saved_contents

    row, inner = np.ones(2), {"k": 1.0}
    held = {"row": row, "inner": inner, "list": [row, inner]}
    held["itself"] = held
    saved = saved_contents(held)
    row[...] = 2.0
    inner.clear()
    held["list"].pop(0)
    del held["row"]
    restore_contents(held, saved)
    assert held["row"] is row and held["list"][0] is row and held["list"][1] is inner
    assert row.tolist() == [1.0, 1.0] and inner == {"k": 1.0} and held["itself"] is held


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
