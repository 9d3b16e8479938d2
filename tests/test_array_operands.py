"""Lists and tuples where NumPy expects arrays."""

from typing import Any

import numpy as np
import pytest
from scipy import spatial

import tangentlike as tl
from tests import agreement


def product_with_constants(x):
    return np.dot(x, [1.0, 2.0, 3.0]) + np.sum(x @ ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0)))


def determinant_of_entries(x):
    return np.linalg.det([[x[0], x[1]], [x[2], x[0] * x[1]]])


def solution_of_entries(x):
    return np.linalg.solve([[x[0], 0.1], [0.2, x[1]]], [x[2], 1.0])[0]


def ufuncs_of_lists(x):
    scaled = np.multiply(2.0, [x[0], x[1]])  # (not the list twice)
    return np.sum(scaled * np.hypot([x[0], 1.0], (x[1], x[2]))) + np.sum(x ** [1.0, 2.0, 3.0])


def sums_of_lists(x):
    added = np.add([x[0], x[1]], [x[1], x[2]])  # (not four items)
    return np.sum(added**2) + np.vdot([x[0], x[1]], [1.0, 2.0])


def built_by_append(x):
    items = []
    for v in x:
        items.append(v * v)
    return np.sum(np.sin(items)) + np.mean(items) * np.max(items) + np.std(items)


def built_by_comprehension(x):
    squares = [v * v for v in x]
    return np.sum(np.roll(squares, 1) * np.asarray(x)) + np.interp(0.3, [0.0, 0.5, 1.0], squares)


def chosen_from_lists(x):
    return np.sum(np.where([True, False, True], [x[0], x[1], x[2]], x**2)) * np.prod([x[0], x[2]])


def unknown_in_the_end(x):
    t = x[:2]  # (what comes back to t is added to a list of what comes back to its items)
    if x[0] > 0.0:
        t = [x[0], x[1]]
    return np.sum(np.exp(x[:2]) * t) + t[0] * t[1]


def one_of_two_forms(x):
    t = (x[0], x[1]) if x[1] > 0.0 else [x[1], 0.5]
    s = (x[1], x[2]) if x[1] > 0.0 else [x[0], 0.5]
    return np.mean(np.add(t, s)) + np.mean(np.multiply(t, 2)) * x[2]


def pair(y, n):
    return [y, y] if n == 0 else pair(y * y, n - 1)


def returned_by_helper(x):
    return np.mean(np.add(pair(x[0], 1), pair(x[1], 0)))


def reduced(x):
    items = []
    for v in x:
        items.append(v * v)
    return np.logaddexp.reduce(items)


FUNCTIONS = [
    *(unknown_in_the_end, one_of_two_forms, returned_by_helper, reduced),
    *(product_with_constants, determinant_of_entries, solution_of_entries, ufuncs_of_lists),
    *(sums_of_lists, built_by_append, built_by_comprehension, chosen_from_lists),
]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_both_modes_agree_with_differences(fn):
    tl.check_grads(fn, (np.array([0.7, 1.3, 2.1]),))


def test_multiply_of_a_list_is_no_repetition():
    def twice(x):
        return np.sum(np.multiply(2.0, [x[0], x[1]]))

    assert tl.grad(twice)(np.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: np.sum(x + [1.0, 2.0, 3.0]),
        lambda x: np.sum((1.0, 2.0, 3.0) + x),
        lambda x: np.sum([x[0], 2.0 * x[0]] + 3.0 * x),
    ],
)
def test_a_list_beside_what_turns_out_to_be_an_array(fn):
    tl.check_grads(fn, (np.array([0.7]),))


def test_a_list_times_an_array_that_might_be_a_number_of_repetitions():
    def scaled(x, w):
        return np.sum([x[0], 2.0 * x[0]] * w)

    x, w = np.array([0.7]), np.array([3.0, 5.0])
    try:
        tl.check_grads(scaled, (x, w), wrt=0)
    except tl.UnsupportedError as refused:
        assert "np.asarray" in str(refused)
    tl.check_grads(lambda x: np.sum(x * [1.0, 2.0]), (w,))


def test_a_list_beside_a_known_array_is_an_array():
    def moved(x):
        y = np.exp(x) * np.ones(3)
        return np.sum((y + [1.0, 2.0, 3.0]) * (y * (1.0, 2.0, 3.0)))

    tl.check_grads(moved, (np.array([0.7, 1.3, 2.1]),))


def test_lists_are_joined_and_repeated_as_before():
    def joined(parts, count):
        return sum(parts + [2.0 * parts[0]]) + sum([parts[0], parts[1]] * count)

    assert tl.grad(joined)([1.0, 2.0], 3) == [6.0, 4.0]


def several_into(x: Any) -> Any:
    whole, part = np.empty(3), np.empty(3)
    rest, floor = np.modf(3.0 * x, out=(part, whole))
    np.sin(part, out=(part,))
    return rest * part * x + floor


def reduced_list(x: Any) -> Any:
    rows = [x]
    rows.append(x * x)
    rows += (np.sin(x),)
    every = np.add.reduce(rows) + np.multiply.accumulate(rows)[-1]
    return every + np.einsum("ij,ij->j", rows, rows)


def extended(x: Any, more: Any) -> Any:
    items = [x[0]]
    items += more
    return np.sum(np.asarray(items) ** 2)


@pytest.mark.thorough
def test_lists_and_tuples_in_options_and_reductions() -> None:
    x = np.array([0.3, 0.5, 0.7])
    tl.check_grads(several_into, (x,), order=2)
    tl.check_grads(reduced_list, (x,), order=2)
    tl.check_grads(extended, (x, (0.3, 0.4)))


def test_an_array_added_to_a_list_is_no_more_items() -> None:
    """`items += a` of an array `a` is `items = np.asarray(items) + a`."""
    x = np.array([0.3, 0.5])
    with pytest.raises(
        tl.UnsupportedError, match="an operand is an array where|with an array makes it an array"
    ):
        tl.grad(extended)(x, x)
    assert np.isfinite(tl.jvp(extended, (x, x), (x, x))[1])


WEIGHTS = np.array([0.3, 0.7, -1.1])


def scaled_tuple(x):
    p = (x[0], x[1], x[0] * x[1])
    p *= WEIGHTS
    return np.sum(np.sin(p) * p[0])


def scaled_slice_of_a_tuple(x):
    p = (x[0], x[1], x[0] * x[1], 0.5)
    q = p[:3]
    q *= WEIGHTS[0] * np.ones(3)
    return np.sum(np.sin(q)) * p[0]


def scaled_by_what_varies(x):
    p = (x[0], x[1])
    p *= x
    q = p
    p *= WEIGHTS[:2]
    return np.sum(q**2) + p[0]


def scaled_again(x):
    p = x[0], x[1], x[1]
    for _ in range(2):
        p *= WEIGHTS
    return np.sum(np.sin(p))


def repeated_tuple(x):
    p = x[0], x[1]
    p *= 2
    p += (x[0] * x[1],)
    return np.sum(np.sin(p)) * p[3]


TUPLES = [scaled_tuple, scaled_slice_of_a_tuple, scaled_by_what_varies, scaled_again]


@pytest.mark.parametrize("f", [*TUPLES, repeated_tuple], ids=lambda f: f.__name__)
def test_tuples_updated_in_place_by_arrays(f: Any) -> None:
    """`p *= w` of a tuple `p` is `p = np.asarray(p) * w` for an array, and more items for a
    number."""
    tl.check_grads(f, (np.array([0.4, 0.9]),), order=2)


def scaled_argument(p):
    p *= WEIGHTS
    return np.sum(np.sin(p) * p[0])


def test_a_tuple_that_is_given_is_updated_in_place_by_an_array() -> None:
    p, v = (0.4, 0.9, 1.2), (0.3, -0.5, 0.8)
    tl.check_grads(scaled_argument, (p,))
    forward = tl.autodiff(scaled_argument, mode="forward")
    _, pullback = tl.vjp(forward, p, v)
    expected = tl.hvp(lambda x: scaled_argument(x * 1.0))(np.array(p), v=np.array(v))
    assert pullback((0.0, 1.0))[0] == pytest.approx(expected)


def doubled(v):
    return np.multiply(v, 2.0)


def given_lists(xs, ys):
    largest = np.maximum(xs, 0.5)
    return np.sum(np.multiply(xs, ys) * largest) + np.sum(doubled(xs) ** 2 * np.hypot(xs, ys))


def test_lists_given_where_arrays_are_taken() -> None:
    xs, ys = [0.3, 0.8], (0.4, 0.9)
    tl.check_grads(given_lists, (xs, ys))
    x, y = np.array(xs), np.array(ys)
    assert tl.grad(given_lists)(xs, ys) == pytest.approx(tl.grad(given_lists)(x, y))
    change = tl.hvp(given_lists)(xs, ys, v=[1.0, -2.0])
    assert change == pytest.approx(tl.hvp(given_lists)(x, y, v=np.array([1.0, -2.0])))


def sliced(xs):
    first = xs[:2]
    first[0] = first[0] * 2.0
    return xs[0] * first[0] * xs[1]


def test_a_slice_of_a_list_is_a_new_list_and_of_an_array_a_view() -> None:
    for xs in ([0.3, 0.5, 0.2], np.array([0.3, 0.5, 0.2])):
        tl.check_grads(sliced, (xs,))


# ------------------------------------------------------------- lists that are put into arrays


def in_place_of_all(q, a):
    q[:] = [v * a[0] for v in q]
    return q @ q


def broadcast_to_rows(q, a):
    m = np.zeros((3, 2))
    m[:] = [q[0], a[1] * q[1]]
    m += [a[0], q[1]]
    return np.sum(m**2 * np.arange(6).reshape(3, 2))


def one_for_all(q, a):
    y = np.zeros(3)
    y[:] = [q[0]]
    return np.sum(y * a)


def appended_first(q, a):
    y, xs = np.zeros(3), []
    for i in range(3):
        xs.append(q[i] * a[i])
    y[[0, 2, 1]] = xs
    y[[0, 0]] = [q[0], q[1]]
    return np.sum(y**2 * np.arange(1, 4)) + xs[0]


def put(y, k, v):
    y[k] = v


def by_a_helper(q, a):
    y = q * 1.0
    put(y, slice(1, 3), [a[0] * a[1], q[0]])
    put(y, 0, a[2])
    return y @ y


def updated(q, a):
    y = q * 1.0
    y -= [a[0], a[1], 2.0]
    y *= [1.0, a[0], a[1]]
    return y @ y


def lists_stay_lists(q, a):
    xs, rows = [0.0, 1.0, 2.0], [[0.0]]
    xs[1:] = [q[0], a[1], q[2]]
    rows[0] = [q[0], a[1]]
    put(xs, 0, a[2])
    return sum(xs) * len(xs) + rows[0][1] * rows[0][0]


@pytest.mark.parametrize(
    "f",
    [
        *(in_place_of_all, broadcast_to_rows, one_for_all, appended_first, by_a_helper),
        *(updated, lists_stay_lists),
    ],
)
def test_lists_put_into_arrays(f: Any) -> None:
    """Each was an error of Python's, or wrong where the list is broadcast."""
    q, a = np.array([0.3, 0.7, -0.4]), np.array([0.5, 0.2, 0.9])
    tl.check_grads(f, (q, a))
    v = agreement.random_direction((q, a), np.random.default_rng(0))
    gradient = tl.grad(f, wrt=(0, 1))
    expected = agreement.slope(
        lambda q, a: sum(g @ d for g, d in zip(gradient(q, a), v, strict=True)), (q, a), list(v)
    )
    product = tl.hvp(f, wrt=(0, 1))(q, a, v)
    assert agreement.close(sum(g @ d for g, d in zip(product, v, strict=True)), expected, 1e-6)


# ------------------------------------------------- an array where arrays to join are expected

_ROWS = np.arange(12.0).reshape(3, 4) / 7.0 - 0.4
_JOINED = (np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack)


@pytest.mark.parametrize("join", _JOINED, ids=lambda join: join.__name__)
@pytest.mark.parametrize("twice", [True, False])
def test_rows_of_an_array_are_joined(join: Any, twice: bool) -> None:
    def f(a):
        rows = a * a if twice else a
        return np.sum(join(rows) ** 3) + np.sum(rows)

    tl.check_grads(f, (_ROWS,), order=2)
    tl.check_grads(tl.grad(f), (_ROWS,))


def test_rows_of_an_array_or_a_list_are_stacked_along_an_axis() -> None:
    def f(rows, axis):
        out = np.empty((3, 4)) if axis == 0 else np.empty((4, 3))
        np.stack(rows, axis=axis, out=out)
        return np.sum(out**3 * np.arange(12.0).reshape(out.shape))

    for axis in (0, 1):
        expected = tl.grad(f)(_ROWS, axis)
        tl.check_grads(f, (_ROWS, axis))
        np.testing.assert_allclose(tl.grad(f)(list(_ROWS), axis), expected)


def list_beside_a_ufunc(x):
    values = [x[0], x[1]]
    return np.sum((np.exp(values) + [1.0, 2.0]) ** 2) + np.sum([3.0, 4.0] + np.tanh(values))


def list_beside_a_sum(x):
    return np.sum((np.sum(x) + [1.0, x[1]]) ** 2)


def list_times_a_ufunc(x):
    return np.sum((np.exp([x[0], x[1]]) * [1.0, 2.0]) ** 2)


@pytest.mark.parametrize("f", [list_beside_a_ufunc, list_beside_a_sum, list_times_a_ufunc])
def test_lists_beside_what_is_no_list(f: Any) -> None:
    """What a ufunc or a sum gives is an array or a number: it joins no lists."""
    tl.check_grads(f, (np.array([0.3, 0.7, 0.9]),), order=2)
    assert "require_sequence" not in tl.grad(f).source


class Setting:
    """A count, an array, or None."""

    def __init__(self, weight: Any, count: Any) -> None:
        self.weight = weight
        self.count = count


def list_repeated_by_a_field(x):
    setting = Setting(x, None)
    if x[0] > 100.0:
        setting = Setting(x, x)
    n = 2 if setting.count is None else setting.count
    return np.sum(np.array([x[1], 2.0, 3.0] * n) ** 2) * x[0]


def list_scaled_by_a_field(x):
    setting = Setting(x, x)
    if x[0] > 100.0:
        setting = Setting(x, 2)
    n = 2 if setting.count is None else setting.count
    return np.sum(np.array(n * [x[1], 2.0, 3.0]) ** 2) * x[0]


@pytest.mark.parametrize("f", [list_repeated_by_a_field, list_scaled_by_a_field])
def test_lists_times_what_is_a_count_or_an_array_only_when_it_runs(f: Any) -> None:
    """(It was taken for an array that carries derivatives: half the gradient, and raw errors.)"""
    tl.check_grads(f, (np.array([0.3, 0.7, 0.9]),), order=2)


def windows_and_tiles(x):
    view = np.lib.stride_tricks.sliding_window_view(x, 2)
    return np.sum(view[0] * view[1]) + np.sum(np.flip(x) * np.tile(x, 2)[1]) + np.average(a=x)


def stacked(x, y):
    rows = [x, y]
    return np.sum(np.stack([x, y]) ** 2) + np.sum(np.vstack(tup=(x, np.exp(y))) ** 3) * rows[0][1]


def stacked_rows(rows):
    joined = np.concatenate(rows) * np.concatenate(rows[::-1])
    return np.sum(joined) + np.linalg.norm(np.column_stack(rows))


def product_of_several(x, y):
    a, b = [x, y], [y, x]
    return np.sum(np.linalg.multi_dot([a, np.array([[1.0, 2.0], [0.5, 3.0]]), b]) ** 2)


def selected(x, y):
    chosen = np.select([np.asarray(x) > 0.5], [x], default=2.0)
    return np.sum(chosen * np.choose([0, 1], [x, y]) * np.meshgrid(x, y)[0][0])


def programs_of_lists(x, y):
    quotient = np.polydiv([*x, 1.0], [1.0, 2.0])[0]
    squares = np.apply_along_axis(lambda row: row**2 * row[0], 0, x)
    return np.sum(quotient) + np.sum(squares * y) + spatial.distance.euclidean(x, y)


LISTS = ([0.4, 0.7], [1.3, 0.6])
OF_LISTS = (stacked, product_of_several, selected, programs_of_lists)


@pytest.mark.parametrize("fn", OF_LISTS, ids=lambda fn: fn.__name__)
def test_lists_as_arguments(fn):
    tl.check_grads(fn, LISTS, order=2)


def test_lists_of_lists_as_arguments():
    tl.check_grads(stacked_rows, ([[0.4, 0.7], [1.3, 0.6]],), order=2)
    tl.check_grads(windows_and_tiles, ([0.4, 0.7, 1.2],), order=2)


WEIGHTS = np.array([1.0, -2.0, 3.0])
SETTINGS = {"weights": WEIGHTS, "count": 2}


def weighed(x):
    return np.sum(np.sin(WEIGHTS * x) + x * SETTINGS["weights"] ** 2)


def added(x):
    z = x + WEIGHTS
    return np.sum(z * z) + np.sum((SETTINGS["weights"] + x) ** 3)


def product(a, b):
    return a * b


def of_a_helper(x):
    return np.sum(product(WEIGHTS, x) * product(x, WEIGHTS))


def repeated(x):
    twice = x * SETTINGS["count"]
    return np.sum(twice[2:5]) * twice[3]


def subtracted_and_handed(x):
    return np.sum((WEIGHTS - x) * WEIGHTS)


OUTSIDE = (weighed, added, of_a_helper, subtracted_and_handed)


@pytest.mark.parametrize("form", [list, tuple])
@pytest.mark.parametrize("fn", OUTSIDE, ids=lambda fn: fn.__name__)
def test_lists_beside_arrays_outside(fn, form):
    """(A list times what only the run knows was a repetition: gradients of one.)"""
    tl.check_grads(fn, (form([0.4, 0.7, -0.2]),), order=2)


@pytest.mark.parametrize("fn", OUTSIDE, ids=lambda fn: fn.__name__)
def test_lists_in_texts_for_any_types(fn):
    x, options = [0.4, 0.7, -0.2], ()
    expected = tl.grad(fn)(x)
    np.testing.assert_allclose(tl.grad(lambda x: fn(x, *options))(x), expected)


def test_a_list_that_is_repeated_by_a_count_outside():
    x = [0.4, 0.7, -0.2]
    tl.check_grads(repeated, (x,))
    second = [[2.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(tl.hessian(repeated)(x), second)


def test_what_is_outside_is_asked_when_it_runs(monkeypatch):
    x = [0.4, 0.7, -0.2]
    derivative = tl.grad(lambda x: np.sum(np.cos(x * WEIGHTS)) if len(x) else 0.0)
    for value in (WEIGHTS, np.float64(0.5), 2, np.ones((2, 3))):
        monkeypatch.setitem(globals(), "WEIGHTS", value)
        expected = [-np.sum(np.sin(v * w) * w) for v, w in _beside(x, value)]
        np.testing.assert_allclose(derivative(x), expected)


def _beside(x, value):
    if isinstance(value, int):  # (each number is there so many times)
        return [(v, np.ones(value)) for v in x]
    return list(zip(x, np.broadcast_to(value, (*np.shape(value)[:-1], 3)).T, strict=True))


def scaled_in_place(x, w):
    x *= w
    return np.sum(x)


def test_a_list_that_is_multiplied_in_place():
    x = [0.4, 0.7, -0.2]
    assert tl.grad(scaled_in_place)(x, 2) == [2.0, 2.0, 2.0]
    with pytest.raises(tl.UnsupportedError, match="with an array makes it an array"):
        tl.grad(scaled_in_place)(x, WEIGHTS)
    with pytest.raises(tl.UnsupportedError, match="If a list is meant as an array"):
        tl.grad(lambda x: scaled_in_place(x, SETTINGS["weights"]))(x)


# ------------------------------------------------------------- lists outside that a number is near

SINGLE, PAIR_OF_NUMBERS = [3.0], (1.0, 2.0)
IMAGE = np.array([200, 90], dtype=np.uint8)


class Weighted:
    def __init__(self, w: Any) -> None:
        self.w = w


WEIGHTED = Weighted([3.0])
NEAR = [
    lambda x: np.sum(2 * x * SINGLE) + np.sum(SINGLE * (3 * x)),
    lambda x: np.sum(2 * x * WEIGHTED.w) - np.sum(x * 3 * WEIGHTED.w),
    lambda x: np.sum(x * x * SINGLE) + np.sum(PAIR_OF_NUMBERS * x * 2),
    lambda x: np.sum(x * 2 * IMAGE) + np.sum(IMAGE * (3 * x)),
    lambda x: np.sum(3 * np.sin(x) * PAIR_OF_NUMBERS) - np.sum(2 * x * SINGLE * x),
]


@pytest.mark.parametrize("f", NEAR)
def test_numbers_do_not_repeat_lists_outside(f: Any) -> None:
    """The tangent of `2 * x * w` is `2 * x_dot * w`: `2 * w * x_dot` was that of the list twice."""
    x, v = np.array([0.4, 0.9]), np.array([0.3, -0.5])
    tl.check_grads(f, (x,), order=2)
    assert tl.jvp(f, (x,), (v,))[1] == pytest.approx(np.sum(tl.grad(f)(x) * v))
    pullback = tl.vjp(tl.autodiff(f, mode="forward"), x, v)[1]
    assert pullback((0.0, 1.0))[0] == pytest.approx(tl.hvp(f)(x, v=v))


class Moved:
    def __init__(self, a):
        self.a = a

    def by(self, v):
        self.a += v
        return self

    def by_three(self, u, v, w):
        self.a += (u, v, w)
        return self


def _grown_list(x):
    moved = Moved([x[0]])
    seen = moved.a
    moved.by((x[1], x[2]))
    return seen[0] * seen[2] * len(seen)


def _grown_item(x):
    rows = {"a": []}
    rows["a"] += (x[0], x[1])
    rows["a"] += tuple(x)
    return rows["a"][0] * rows["a"][4]


def _grown_tuple(x):
    moved = Moved((x[0],)).by((x[1], x[2]))
    return moved.a[0] * moved.a[2]


def _moved_array(x):
    return np.sum(Moved(x * 1.0).by_three(x[0], x[1], x[2]).a ** 2)


def _moved_item(x):
    rows = {"a": x * 2.0}
    rows["a"] += (x[0], x[1], x[2])
    return np.sum(rows["a"] ** 2)


@pytest.mark.parametrize("f", [_grown_list, _grown_item, _grown_tuple, _moved_array, _moved_item])
def test_a_tuple_added_to_an_item_or_a_field(f: Any) -> None:
    """It is joined to a list or a tuple, and added to an array: raw errors, in reverse mode."""
    x = np.array([0.4, 0.9, -0.3])
    tl.check_grads(f, (x,), order=1 if f is _grown_list else 2)
    np.testing.assert_allclose(tl.grad(f)(x), tl.grad(f, example=(x,))(x))


POWERS, PAIR = [1.0, 2.0, 3.0], (0.5, 2.0, 1.5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x**POWERS),
        lambda x: np.sum(np.power(x, PAIR)) + np.sum(np.arctan2(PAIR, x)),
        lambda x: np.sum(np.maximum(x, PAIR) * POWERS + np.hypot(POWERS, x)),
        lambda x, w={"p": POWERS}: np.sum(x ** w["p"]),
    ],
)
def test_operands_that_are_lists_outside(f: Any) -> None:
    """(Raw errors: rules compute with the operand, `p - 1.0`.)"""
    tl.check_grads(f, (np.array([0.4, 0.9, 1.3]),), order=2)
