"""What ended in an error of Python or NumPy from within: containers that contain themselves,
arguments without floats, dicts that are gone through, lists that shrink inside containers."""

import linecache
import os
import re
import statistics

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 0.7])


# ----------------------------------------------------------------- containers in themselves


def cyclic_dict():
    table = {"w": 2.0}
    table["all"] = [table]
    return table


def cyclic_list():
    items = [2.0, 3.0]
    items.append(items)
    return items


class Node:
    def __init__(self):
        self.w, self.kids = 2.0, []


def parent_and_child():
    node, child = Node(), Node()
    node.kids.append(child)
    child.kids.append(node)
    return node


def of_dict(p, x):
    return p["w"] * p["all"][0]["w"] * x


def of_list(p, x):
    return p[0] * p[2][1] * x


def of_object(p, x):
    return p.w * p.kids[0].w * x


def of_tuple(p, x):
    return p[0] * p[1][0] * x


CYCLES = [
    *((of_dict, cyclic_dict), (of_list, cyclic_list), (of_object, parent_and_child)),
    (of_tuple, lambda: (2.0, cyclic_list())),
]


@pytest.mark.parametrize(("f", "made"), CYCLES, ids=lambda part: part.__name__)
def test_derivatives_by_what_contains_itself_are_refused(f, made):
    value = made()
    for derive in (
        lambda: tl.grad(f)(value, 3.0),
        lambda: tl.value_and_grad(f, wrt=("p", "x"))(value, 3.0),
        lambda: tl.grad(f, example=(value, 3.0))(value, 3.0),
        lambda: tl.vjp(f, value, 3.0),
        lambda: tl.jvp(f, (value, 3.0), (value, 1.0)),
        lambda: tl.linearize(f, value, 3.0),
        lambda: tl.jacobian(f)(value, 3.0),
        lambda: tl.hessian(f)(value, 3.0),
    ):
        with pytest.raises(tl.TangentlikeError, match="with respect to `p`: .* contains itself"):
            derive()


@pytest.mark.parametrize(("f", "made"), CYCLES, ids=lambda part: part.__name__)
def test_what_contains_itself_beside_what_is_differentiated(f, made):
    value = made()
    expected = f(value, 1.0)
    assert np.isclose(tl.grad(f, wrt="x")(value, 3.0), expected)
    assert np.isclose(tl.grad(f, wrt="x", example=(value, 3.0))(value, 3.0), expected)
    assert np.isclose(tl.jvp(f, (value, 3.0), (None, 1.0))[1], expected)


def test_one_item_in_two_places_does_not_contain_itself():
    def f(p):
        return np.sum(p[0]["w"] * p[1]["w"])

    shared = {"w": X}
    first, second = tl.grad(f)([shared, shared])
    assert np.allclose(first["w"] + second["w"], 2 * X)


# ------------------------------------------------------------------ lists inside containers


def appended_and_popped(s, x):
    s["a"].append(x)
    v = s["a"].pop()
    return v * x


def popped_twice(s, x):
    s["a"].append(x)
    s["a"].append(2.0 * x)
    return s["a"].pop() * s["a"].pop()


@pytest.mark.parametrize("f", [appended_and_popped, popped_twice])
def test_lists_inside_containers_that_shrink(f):
    s, x = {"a": [3.0, 1.0]}, 3.0
    slope = (f(s, x + 1e-6) - f(s, x - 1e-6)) / 2e-6
    assert np.isclose(tl.jvp(f, (s, x), (None, 1.0))[1], slope)
    for derive in (lambda: tl.grad(f, wrt="x")(s, x), lambda: tl.grad(f, wrt=("s", "x"))(s, x)[1]):
        try:
            assert np.isclose(derive(), slope)
        except tl.UnsupportedError as error:
            assert error.place.line > 0 and "list" in str(error)


# ------------------------------------------------------------------ arguments without floats


def scaled(x, n=2):
    return np.sum(x) * n


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((3,), "is the int 3"),
        ((3, 2), "`x` is 3 and `n` is 2"),
        ((np.array([1, 2]),), "is an array of dtype int"),
        (([1, 2], 2), "`x` is a list and `n` is 2"),
        (("text", None), "`x` is 'text' and `n` is None"),
    ],
)
def test_products_with_nothing_to_differentiate_by(args, words):
    for derive in (
        lambda: tl.vjp(scaled, *args),
        lambda: tl.jvp(scaled, args, (None,) * len(args)),
        lambda: tl.linearize(scaled, *args),
    ):
        with pytest.raises(tl.TangentlikeError, match=words) as error:
            derive()
        assert "Pass a float" in str(error.value)


def test_products_with_one_float():
    value, pullback = tl.vjp(scaled, X, 2)
    assert np.allclose(value, 2.4) and pullback(1.0)[1] is None
    assert np.allclose(pullback(1.0)[0], 2.0)
    assert tl.jvp(scaled, (X, 2), (None, None))[1] == 0.0
    value, pullback = tl.vjp(lambda: 3.0)
    assert value == 3.0 and pullback(1.0) == ()


# ------------------------------------------------------- dicts and sets that are gone through


def first_of_dict(x):
    d = {1.0: x, 2.0: x * x}
    for k in d:
        return d[k] * k


def first_of_display(x):
    for k in {1.5: x}:
        return x * k


def key_that_is_a_place(x):
    d = {0: 2.0 * x, 1: x * x}
    for k in d:
        if k > 0:
            return d[k] * k * x
    return x


def keys_with_break(x):
    d = {2: 2.0 * x, 1: x * x, 0: x}
    for k in d:
        x = x * d[k] * (k + 1)
        if k == 1:
            break
    return x


def enumerated(x):
    d = {"a": x, "b": x * x}
    for i, k in enumerate(d):
        if i:
            return d[k] * (i + 1)
    return x


def zipped_with_active(x):
    d = {"a": x, "b": x * x}
    total = 0.0
    for k, v in zip(d, [2.0 * x, 3.0 * x], strict=True):
        total = total + d[k] * v
    return total


def view_of_keys_enumerated(x):
    d = {0: 2.0 * x, 1: x * x}
    for i, k in enumerate(d.keys()):
        if k > 0:
            return d[k] * k * x**i
    return x


def set_with_break(x):
    for k in {1.5}:
        x = x * x * k
        break
    return x


def set_zipped(x):
    factors = {2.5}
    for k, v in zip(factors, [x], strict=True):
        x = x * k * v
    return x


def reversed_keys(x):
    d = {2: 2.0 * x, 1: x * x, 0: x}
    for k in reversed(d):
        x = x * d[k] * (k + 1)
        if k == 1:
            break
    return x


def nested_loops(x):
    d = {1: x, 2: x * x}
    for _ in range(3):
        for k in d:
            x = x * k + d[k]
            if x > 3.0:
                break
    return x


def entry_added_before_break(x):
    d = {1: x, 2: x * x}
    for k in d:
        d[k + 2] = d[k] * x
        break
    return d[3] * d[2]


THROUGH = [
    *(first_of_dict, first_of_display, key_that_is_a_place, keys_with_break, enumerated),
    *(zipped_with_active, view_of_keys_enumerated, set_with_break, set_zipped, reversed_keys),
    *(nested_loops, entry_added_before_break),
]


@pytest.mark.parametrize("f", THROUGH, ids=lambda f: f.__name__)
def test_keys_that_are_gone_through(f):
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    assert np.isclose(tl.grad(f)(0.7), slope, rtol=1e-7)
    assert np.isclose(tl.jvp(f, (0.7,), (1.0,))[1], slope, rtol=1e-7)
    tl.check_grads(f, (0.7,))


def first_of_argument(d):
    for k in d:
        return d[k] ** 2


def until_large(d, x):
    for i, k in enumerate(d):
        x = x * d[k] + i
        if x > 3.0:
            break
    return x


@pytest.mark.parametrize("keys", ["ab", (1.0, 2.0), (1, 0)])
def test_keys_of_an_argument(keys):
    d = dict(zip(keys, (0.5, 3.0), strict=True))
    a, b = tl.grad(first_of_argument)(d).values()
    assert a == 1.0 and b == 0.0
    tl.check_grads(first_of_argument, (d,))
    tl.check_grads(until_large, (d, 2.0))
    tl.check_grads(until_large, (d, 9.0))


# ------------------------------------------------- objects that answer for names by themselves


class Settings:
    def __init__(self, **values):
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name):
        return object.__getattribute__(self, "_values")[name]  # (KeyError, not AttributeError)


class Table(dict):
    def __getattr__(self, name):
        return self[name]


@pytest.mark.parametrize("cls", [Settings, Table])
def test_an_argument_whose_class_raises_key_errors(cls):
    given = cls(w=2.0, n=3)

    def f(x, p):
        return p.w * x**p.n

    assert np.isclose(tl.grad(f)(0.5, given), 1.5)
    assert np.isclose(tl.grad(f, example=(0.5, given))(0.5, given), 1.5)
    assert np.isclose(tl.jvp(f, (0.5, given), (1.0, None))[1], 1.5)


def test_outer_objects_whose_class_raises_key_errors():
    settings, table = Settings(w=2.0, n=3), Table(w=2.0)

    def f(x):
        return settings.w * x**settings.n * table.w

    assert np.isclose(tl.grad(f)(0.5), 3.0)
    assert np.isclose(tl.jvp(f, (0.5,), (1.0,))[1], 3.0)
    tl.check_grads(f, (0.5,))


# --------------------------------------------------------------------- lists that are repeated


def rows_filled(x):
    rows = [np.zeros(2)]
    rows *= 3
    for i in range(3):
        rows[i] = x * x[0] * i
    return rows[0][0] + rows[2][1]


def numbers_filled(x):
    xs = [x[0]]
    xs *= 3
    xs[1] = x[1] * x[0]
    return xs[0] * xs[1] * xs[2]


def repeated_by_count(x):
    xs = [x[0], x[1]]
    for _ in range(2):
        xs *= 2
    return sum(xs) * xs[5]


@pytest.mark.parametrize("f", [rows_filled, numbers_filled, repeated_by_count])
def test_lists_repeated_in_place(f):
    tl.check_grads(f, (X,))
    assert np.isclose(tl.jvp(f, (X,), (X,))[1], tl.grad(f)(X) @ X)


def chosen_items(b, s):
    p = {k: v for k, v in {k: v * s for k, v in enumerate(b)}.items() if k}
    return p[2] * b[0]


def test_items_that_a_comprehension_puts_into_a_dict_need_no_check() -> None:
    b = np.array([0.5, 1.2, -0.7])
    for example in (None, (b, 0.3)):
        gradient = tl.grad(chosen_items, example=example)
        np.testing.assert_allclose(gradient(b, 0.3), [b[2] * 0.3, 0.0, 0.3 * b[0]])
    tl.check_grads(chosen_items, (b, 0.3))


def halve(vs):
    for v in vs:
        v *= 0.5


def values_halved(d, a):
    for v in d.values():
        v *= 0.5
    return np.sum(d["x"] * a)


def rows_halved_as_values(m, a):
    halve({0: m[0], 1: m[1]}.values())
    return np.sum(m**2 * a)


@pytest.mark.parametrize(
    ("f", "args"),
    [(values_halved, ({"x": X * 1.0}, X)), (rows_halved_as_values, (np.outer(X, X), X))],
    ids=["here", "in a helper"],
)
def test_views_of_dicts_whose_items_are_written(f, args):
    """Right, or refused with a way to write it: it was `'dict_values' object is not ...`."""
    with pytest.raises(tl.UnsupportedError, match=r"a loop writes what a `dict_values` gives"):
        tl.grad(f, wrt=1)(*args)


class Measured:
    def __init__(self, v):
        self.v = v

    def __float__(self):
        return float(self.v)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.v)


def as_a_float(x):
    return np.sin(float(Measured(x[0] * 2.0)))


def as_an_array(x):
    return np.sum(np.asarray(Measured(x)) * x)


def by_a_ufunc(x):
    return np.sum(np.sin(Measured(x)))


@pytest.mark.parametrize("f", [as_a_float, as_an_array, by_a_ufunc])
def test_objects_that_say_which_number_they_are(f):
    """By identity the gradient was too small; otherwise an AttributeError."""
    for derive in (tl.grad, tl.jacfwd):
        with pytest.raises(tl.UnsupportedError, match="asks its class for a number or an array"):
            derive(f)(X)


class Halved:
    def __init__(self, n):
        self.d = np.zeros((n, n))

    def __getitem__(self, key):
        return self.d[key] * 2.0

    def __setitem__(self, key, value):
        self.d[key] = value / 2.0


def slices_as_keys(m, a):
    grid = Halved(3)
    grid[1:3, 1] = a[0]
    grid[2, :] = grid[2, :] + a
    grid[::2] += m[::2]
    return np.sum(grid[..., 1] * a) + np.sum(grid[::2, 1:] ** 2)


@pytest.mark.thorough
def test_slices_as_keys_of_objects_that_are_written():
    """They were given on as they are written: the text did not parse."""
    a = np.array([0.5, 0.7, -0.3])
    tl.check_grads(slices_as_keys, (np.outer(a, a), a), order=2)


V = np.array([0.7, -0.4, 1.3])


def products_with_zeros_at_the_head(x):
    first = np.polymul(np.concatenate([[0.0, 0.0], x]), x)
    return np.sum(first**2) + np.sum(np.polymul([0.0, 1.0, 2.0], x) ** 3 * x[0])


def between_places_in_lists(x):
    inside = np.interp([-3, 1, 9], [0, 1, 2], x, left=x[0] ** 2, right=x[1] ** 2)
    return np.sum(inside * x) + np.sum(np.interp([-3, 5], [0, 1, 2], x, period=3.0) ** 2)


def padded_lists(x):
    ends = np.pad([1.0, 2.0], 1, constant_values=x[0]) ** 2
    return np.sum(ends) + np.sum(np.pad([[1.0, 2.0]], 1, mode="mean")) * x[1]


def differences_of_lists(x):
    last = np.ediff1d([1.0, 2.0, 4.0], to_end=x)
    return np.sum(np.diff([1, 2, 4], prepend=x[0]) ** 2) + np.sum(last**2)


def pieces_that_are_numbers(x):
    whole = np.piecewise(x, [x < 1.0, x >= 1.0], [x[0] * 2.0, x[1]])
    return np.sum(whole * x) + np.sum(np.piecewise(x, [x > 0.0], [lambda v: v**2, x[2]]))


def lists_summed(x):
    rows = [[x[0] * x[1]], [x[1] * 2.0, x[2]]]
    flat = sum(rows, [])  # noqa: RUF017
    pair = sum(((x[0],), (x[1] ** 2, x[2])), start=(x[2],))
    return sum(v * v * n for n, v in enumerate(flat)) + pair[0] * pair[2]


GIVEN_LISTS = (
    *(products_with_zeros_at_the_head, between_places_in_lists, padded_lists),
    *(differences_of_lists, pieces_that_are_numbers, lists_summed),
)


@pytest.mark.thorough
@pytest.mark.parametrize("f", GIVEN_LISTS)
def test_options_of_lists_and_of_numbers(f):
    """An AttributeError, a TypeError or an error of shapes each."""
    tl.check_grads(f, (V,), order=2)


def test_derivatives_of_complex_digamma_are_refused():
    """(SciPy has the next one for real numbers only.)"""
    special = pytest.importorskip("scipy.special")

    def f(x):
        return np.sum(np.real(special.digamma(2.0 + x + 1j * x)))

    for derive in (tl.grad, tl.jacfwd):
        with pytest.raises(tl.UnsupportedError, match="of complex numbers"):
            derive(f)(V)


def samples(x):
    values = [x[0], x[1] * 2.0, x[2]]
    spread = statistics.variance(values) + statistics.pvariance(x, x[1]) + statistics.stdev(x)
    middle = statistics.mean(x) * statistics.fmean(values, [1.0, 2.0, 3.0]) + statistics.pstdev(x)
    positive = [2.0 + v for v in values]
    means = statistics.harmonic_mean(positive) * statistics.geometric_mean(positive)
    both = statistics.covariance(x, values) + statistics.correlation([1.0, 2.0, 4.0], x**2)
    return spread * middle + means * statistics.median(x) + both


@pytest.mark.thorough
def test_statistics_of_samples():
    """(Python's own were read, with the fractions that they compute with.)"""
    tl.check_grads(samples, (V,), order=2)


def by_a_pattern(x):
    return float(re.findall(r"[0-9.]+", f"{x[0]}")[0])


def parts_of_text(x):
    return float(re.split(",", f"{x[0]},{x[1]}")[0])


@pytest.mark.parametrize("f", [by_a_pattern, parts_of_text])
def test_text_that_patterns_take_apart(f):
    """Refused without reading the modules that Python compiles patterns with."""
    before = len(linecache.cache)
    for derive in (tl.grad, tl.jacfwd):
        with pytest.raises(tl.UnsupportedError, match="a number is made from text"):
            derive(f)(V)
    read = list(linecache.cache)[before:]
    assert not any(os.path.dirname(re.__file__) in str(name) for name in read)


class Items:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


class Doubled(Items):
    def __iter__(self):
        for item in self.items:
            yield item * 2.0


class Mapped(Items):
    def __iter__(self):
        return map(float, self.items)


def of_several_classes(x):
    total = 0.0
    for each in (Items([x[0], x[1]]), Doubled([x[2]])):
        for v in each:
            total = total + v * v
    return total


def greatest_of_an_object(x):
    return max(Mapped([x[0], x[1]]))


@pytest.mark.parametrize("f", [of_several_classes, greatest_of_an_object])
def test_objects_that_yield_in_ways_that_are_not_read(f):
    """(They ended in errors of `len` and of arrays.)"""
    for derive in (tl.grad, tl.jacfwd):
        with pytest.raises(tl.UnsupportedError):
            derive(f)(V)


# ------------------------------------------------- what is refused with the line that asks for it


def turned_and_written(x):
    m = np.outer(x, x)
    for (i, j), v in np.ndenumerate(m.T):
        m[j, i] = v * v
    return np.sum(m)


def options_of(x, **options):
    return x[0] * options["lambda"]


def of_a_word_of_python(x):
    return options_of(x, **{"lambda": x[1]})


@pytest.mark.parametrize("f", [turned_and_written, of_a_word_of_python])
def test_what_ended_in_errors_of_type_or_syntax(f):
    with pytest.raises(tl.UnsupportedError) as caught:
        tl.grad(f)(X)
    assert caught.value.place is not None
    assert caught.value.hint


def in_pieces(s):
    return np.piecewise(s, [s < 0.5, s >= 0.5], [np.sin, lambda q: q**2]) * s


def test_pieces_of_a_number():
    for s, slope in ((0.3, np.sin(0.3) + 0.3 * np.cos(0.3)), (0.7, 3.0 * 0.7**2)):
        assert np.isclose(tl.grad(in_pieces)(s), slope)
        assert np.isclose(tl.jvp(in_pieces, (s,), (1.0,))[1], slope)
    assert np.isclose(tl.grad(tl.grad(in_pieces))(0.7), 6.0 * 0.7)  # (`float` has no items before)
