"""Adjoints by identity: right whatever shares memory, and the same as those by name elsewhere."""

from __future__ import annotations

import copy
import functools
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.pipeline.stages import Request, derive
from tangentlike.runtime import Shadow
from tests import agreement

A = np.array([0.7, -0.4, 1.3])
B = np.array([0.2, 0.9, -0.6])
M = np.array([[0.3, -0.8, 0.5], [1.1, 0.4, -0.2], [0.6, 0.1, 0.9]])


def gradient(f: Any, *args: Any, example: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
    """The gradient by identity with respect to all arguments."""
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    request = Request("grad", names[: len(args)], bare=False, example=example, by_identity=True)
    derived = derive(f, request)
    assert "Shadow()" in derived.source
    return derived.function(*args)


def check(f: Any, *args: Any) -> None:
    """Compare with central differences, and the arguments with what they were: right for any types,
    and made for those of the arguments."""
    before = copy.deepcopy(args)
    for example in (None, args):
        found = gradient(f, *args, example=example)
        for seed in (3, 4):
            directions = agreement.directions_for(args, tuple(range(len(args))), seed)
            expected = agreement.slope(f, args, directions, 1e-5)
            assert agreement.close(agreement.inner(directions, list(found)), expected, 1e-6)
        assert agreement.same_bits(args, before)


# ------------------------------------------------------------------------------- arrays


def test_views_of_views() -> None:
    def f(m, s):
        corner = m.T[::-1][0:2]
        corner[0] *= s
        flat = m.reshape(-1)
        flat[4] = flat[3] * s
        return np.sum(corner * m[:, 1:].T) + np.sum(m**2)

    check(f, M, 0.8)


def test_a_view_on_one_branch_and_a_copy_on_the_other() -> None:
    def f(a, s):
        for k in range(4):
            row = a if k % 2 else a * s
            row[k % 3] = row[1] * s + a[0]
            a = row
        return np.sum(a * a)

    check(f, A, 0.8)


def test_entries_are_copied_before_they_are_zeroed() -> None:
    def f(a, b):
        a[1:] = a[:-1]
        a[::-1][:] = a * b
        a[[0, 0, 2]] = b
        return np.sum(a * a)

    check(f, A, B)


def test_what_places_take_out_is_made_once() -> None:
    """It was written twice, and was two arrays then: one that had the adjoint, one that was asked."""

    def f(m, a):
        j, k = np.array([2, 2, 1]), np.array([1, 0, 2])
        for s in a:
            m = m[np.ix_(j, k)]
            a[a > 0] *= s
        return np.sum(np.cos(m))

    check(f, M, A)


def test_a_broadcast_view_is_added_to() -> None:
    def f(a, b):
        wide = np.broadcast_to(a, (4, 3))
        b[:] = np.sum(wide * wide, axis=0) * b
        return np.sum(wide * b)

    check(f, A, B)


def test_windows_that_overlap() -> None:
    def f(a, b):
        windows = np.lib.stride_tricks.sliding_window_view(a, 2)
        rows = [windows, a]
        rows[1][1] = b[0] * a[2]
        return np.sum(rows[0] * rows[0]) * b[1]

    check(f, A, B)


def test_entries_that_lie_on_each_other() -> None:
    def wide(a, s):
        rows = [np.broadcast_to(s * 1.5, (3,)), a]
        others = rows
        others[1][0] = s
        return np.sum(rows[0] * rows[1] * a)

    def windows(a, b):
        rows = [np.lib.stride_tricks.sliding_window_view(a * b, 2)]
        seen = rows[0]
        return np.sum(seen * seen) * np.sum(seen[0] * b[:2])

    check(wide, A, 0.8)
    check(windows, A, B)


def test_layouts_that_decide_what_is_a_view() -> None:
    def f(m, b, columns_first=False):
        turned = np.asfortranarray(m).T if columns_first else m.T
        flat, columns = turned.ravel(), turned.reshape(-1, order="F")
        rows = [flat, columns, turned]
        rows[1][2] = b[0]
        rows[0][1] *= b[1]
        rows[2][0, 0] = b[2] * m[1, 1]
        return np.sum(flat * columns) + np.sum(m * m)

    check(f, M, B)
    check(lambda m, b: f(m, b, True), M, B)


def test_complex_memory_by_its_parts() -> None:
    def f(a, b):
        z = a + 1j * b
        part = z.imag
        part[:] = part * a
        z.real[1] = b[0]
        return np.sum(np.abs(z) ** 2 * a)

    check(f, A, B)


def test_numbers_that_become_arrays_of_rank_zero_and_back() -> None:
    def f(s, t):
        zero = np.asarray(s * t)
        other = zero
        other[...] = zero * s
        u = zero[()]
        v = zero.item()
        return u * v * t

    check(f, 0.7, 1.2)


def test_reshaped_arrays_are_views_or_copies_as_it_turns_out() -> None:
    def f(m, s):
        for n in (m, m.T):
            flat = n.reshape(-1)
            flat[1] = flat[2] * s
        return np.sum(m * m)

    check(f, M, 0.9)


def test_what_is_not_selected_lets_nothing_through() -> None:
    def f(a, s):
        rows = [a, a * s]
        other = rows[1]
        other[0] = -0.5
        logs = np.log(rows[1])
        return np.sum(np.where(other > 0.0, logs, 0.0) * a)

    with np.errstate(all="ignore"):
        check(f, A, 0.8)


# -------------------------------------------------------------------------------- numbers


def test_one_number_many_times() -> None:
    def f(s, t):
        xs = [s] * 3 + [t]
        ys = xs
        ys[1] = xs[0] * t
        u = xs[1]
        xs.append(u)
        return ys[-1] * xs[2] + u * s

    check(f, 0.7, 1.2)


def test_numbers_that_are_constants_too() -> None:
    def f(s, t):
        xs, total = [], 0.0
        for _ in range(3):
            xs.append(total)
            total = total + s * t
        xs.append(0.0)
        return total * xs[2] + xs[0] * s + xs[3] * t

    check(f, 0.7, 1.2)
    constant = 0.0
    found = gradient(product_with_constants, constant, constant)
    assert found == (2.0, 3.0)


def product_with_constants(s: Any, t: Any) -> Any:
    xs = [0.0, s]
    ys = xs
    ys[0] = 2.0
    return xs[1] * ys[0] + 3.0 * t


def test_the_larger_of_two_numbers() -> None:
    def f(s, t):
        u = max(s, t)
        xs = [u, min(s, t)]
        ys = xs
        ys[0] *= t
        return xs[0] * u + xs[1]

    check(f, 0.7, 1.2)
    check(f, 1.2, 0.7)


# ----------------------------------------------------------------------------- containers


def test_rows_under_two_lists() -> None:
    def f(a, b):
        rows = [a * 1.5, b * a]
        others = [rows[1], rows[0], rows[1]]
        for row in others:
            row *= b
        rows.insert(0, others.pop())
        rows.reverse()
        rows[0][1] = rows[1][2] * 2.0
        return sum(np.sum(r * r) for r in rows)

    check(f, A, B)


def test_dicts_of_dicts_and_deques() -> None:
    def f(a, s):
        table = {"x": a * s, "y": {}}
        inner = table["y"]
        inner["z"] = table["x"]
        inner.setdefault("w", s)
        recent = deque([s, s * s], maxlen=2)
        recent.append(inner["w"] * 3.0)
        table["y"]["z"][0] = recent[0]
        del inner["w"]
        return np.sum(table["x"] ** 2) * recent[1] + len(inner)

    check(f, A, 0.8)


@dataclass
class Cell:
    state: Any
    scale: float = 1.0

    def step(self, v):
        self.state += v
        self.scale = self.scale * 0.5
        return self.state


def test_an_object_in_two_lists() -> None:
    def f(a, s):
        cell = Cell(a * s)
        cells = [cell, Cell(a), cell]
        for one in cells:
            one.step(a)
        cells[1].state = cells[0].state
        cells[1].state[0] = s
        return np.sum(cell.state * cells[2].scale) + cells[1].scale * s

    check(f, A, 0.8)


# -------------------------------------------------------------------------------- callees


def push(rows: Any, row: Any) -> Any:
    rows.append(row)
    row[0] = row[1] * row[0]
    return rows[0]


def given_back(a: Any, b: Any) -> Any:
    rows = [a]
    first = push(rows, b)
    first *= b
    again = push(rows, first)
    return np.sum(again * a) + np.sum(rows[1] ** 2)


def test_a_callee_gives_back_what_it_was_given() -> None:
    check(given_back, A, B)


def power(x: Any, n: int, seen: Any) -> Any:
    if n == 0:
        return 1.0
    seen.append(x)
    return seen[-1] * power(x, n - 1, seen)


def test_recursion() -> None:
    def f(s, t):
        seen = []
        return power(s, 3, seen) * seen[1] * t

    check(f, 0.7, 1.2)


def lengthen(ys: Any, v: Any) -> None:
    ys += [v]


def splits(v: Any) -> Any:
    return v, v


def test_what_a_callee_extends_or_gives_back_twice() -> None:
    def lengthened(a):
        ys = []
        lengthen(ys, a[0])
        lengthen(ys, a)
        return np.sum(ys[1] * ys[0])

    def either_list(a, s):
        p = a
        if s > 0.0:
            p = []
            for v in a:
                p.append(v * s)
                p += [v]
        return np.sum(a) * p[0]

    def writes_one(a):
        x, y = splits(a * 1.0)
        y[0] = y[0] * x[1]
        return np.sum(x**2)

    check(lengthened, A)
    check(either_list, A, 0.8)
    check(either_list, A, -0.8)
    check(writes_one, A)


# ------------------------------------------------------------------------------ arguments


def test_arguments_that_are_one_array_have_gradients_of_their_own() -> None:
    def f(a, b):
        rows = [a * 2.0]
        other = rows
        other[0][0] = b[0]
        return np.sum(rows[0] * b)

    x = A.copy()
    found = gradient(f, x, x)
    wanted = gradient(f, x, x.copy())
    assert all(map(np.array_equal, found, wanted))
    check(f, A, B)


def scaled_rows(a: Any, b: Any) -> Any:
    rows = [a, b]
    others = [rows[1], rows[0], rows[1]]
    for row in others:
        row *= b
        rows.insert(0, row)
    return np.sum(rows[0] * rows[2])


def test_arguments_that_share_memory_and_are_written_are_refused() -> None:
    both = np.arange(6.0)
    with pytest.raises(tl.TangentlikeError, match="shares memory"):
        tl.grad(scaled_rows, wrt=(0, 1))(both[:3], both[1:4])
    check(scaled_rows, A, B)


def test_containers_as_arguments() -> None:
    def f(rows, s):
        rows.append(rows[0])
        rows[2][0] = rows[1][1] * s
        return np.sum(rows[0] * rows[1])

    check(f, [A, B], 0.7)


def test_objects_as_arguments() -> None:
    def f(cell, other, s):
        cells = [cell, other]
        for one in (*cells, cells[0]):
            one.state *= s
            one.scale = one.scale * s
        cells[0].state = cells[1].state
        cells[1].state[0] = s
        return np.sum(cell.state) * cell.scale + other.scale

    check(f, Cell(A, 0.5), Cell(B, 0.8), 0.7)


# --------------------------------------------------------------------------- the whole way


def test_what_is_refused_by_name_is_derived_by_identity() -> None:
    df = tl.grad(scaled_rows, wrt=(0, 1))
    found = df(A.copy(), B.copy())
    assert "Shadow()" in df.source
    assert all(np.allclose(x, y) for x, y in zip(found, gradient(scaled_rows, A, B), strict=True))
    value, again = tl.value_and_grad(scaled_rows, wrt=(0, 1))(A.copy(), B.copy())
    assert np.isclose(value, scaled_rows(A.copy(), B.copy()))
    assert all(map(np.array_equal, found, again))


def shifted(p: Any, q: Any, s: Any) -> None:
    p[:] = q * s + p


def test_arguments_of_a_helper_that_share_memory() -> None:
    def f(a, s):
        row = a[1:]
        shifted(a[:-1], row, s)
        return np.sum(a * a)

    df = tl.grad(f, wrt=(0, 1))
    found = df(A.copy(), 0.8)
    assert all(map(np.allclose, found, gradient(f, A, 0.8)))
    check(f, A, 0.8)


def test_a_slice_into_an_overlapping_slice_with_another_step_is_refused() -> None:
    def f(a):
        part = a[: a.size // 2 + 1]
        rows = [part, a]
        rows[1][::2] = rows[0]
        return np.sum(a * a)

    with pytest.raises((tl.UnsupportedError, ValueError), match="another step"):
        gradient(f, np.arange(9.0))


def test_a_pullback_runs_twice_and_leaves_the_value_alone() -> None:
    def f(a, b):
        rows = [a, b]
        others = [rows[1], rows[0], rows[1]]
        for row in others:
            row *= b
            rows.insert(0, row)
        return rows[0], others

    wanted = f(A.copy(), B.copy())
    value, pullback = tl.vjp(f, A.copy(), B.copy())
    seed = (A, [B, A, np.ones(3)])
    first, second = pullback(seed), pullback(seed)
    assert all(map(np.array_equal, first, second))
    assert np.array_equal(value[0], wanted[0])
    assert all(map(np.array_equal, value[1], wanted[1]))

    def weighted(a, b):
        head, rest = f(a, b)
        return np.sum(head * A) + np.sum(rest[0] * B) + np.sum(rest[1] * A) + np.sum(rest[2])

    assert all(map(np.allclose, first, gradient(weighted, A, B)))
    tl.check_grads(weighted, (A, B))


# --------------------------------------------------------------------------------- Shadow


def test_the_shadow_of_a_view_is_a_view_of_the_shadow() -> None:
    bars, m = Shadow(), M.copy()
    bars.add(m[::-1, 1:].T, np.ones((2, 3)))
    bars.of(m)[0, 1] += 5.0
    assert np.array_equal(bars.of(m.T)[1], [6.0, 1.0, 1.0])
    assert np.array_equal(bars.take(m[1]), [0.0, 1.0, 1.0])
    assert np.array_equal(bars.of(m)[1], np.zeros(3))


def test_an_id_is_not_used_again() -> None:
    bars = Shadow()
    for k in range(50):
        bars.add(np.full(3, float(k)), 1.0)
        bars.add(float(k) * 1.5, 1.0)
    assert len(bars.blocks) == 50 and len(bars.numbers) == 50
    assert np.array_equal(bars.of(np.zeros(3)), np.zeros(3))


def test_integers_have_no_adjoint() -> None:
    bars, k = Shadow(), np.arange(3)
    bars.add(k, 1.0)
    bars.add([1, True, "x", None], 1.0)
    assert not bars.blocks and not bars.numbers and np.array_equal(bars.take(k), np.zeros(3))


# ------------------------------------------------------- changes of containers of unknown class


def taken_out(held: Any, a: Any, s: Any) -> Any:
    same = held
    second = same.pop(1)
    second *= s
    first = same.pop(0)
    held[2] *= first
    return np.sum(second * a) * s + np.sum(held[2] * second)


def deleted(xs: Any, a: Any, s: Any) -> Any:
    same = xs
    del same[0]
    same[0] *= s
    del same[-1:]
    same.insert(0, a * s)
    same.reverse()
    same.extend([a, same[0]])
    same[-1][0] = s
    return np.sum(xs[0] * xs[1] * xs[-1]) + np.sum(xs[2])


def numbers_replaced(xs: Any, a: Any, s: Any) -> Any:
    same = xs
    same[1] = s * same[0]
    t = same.pop(0)
    same.append(t * t)
    return np.sum(t * xs[0] * a) * xs[-1]


@pytest.mark.parametrize(
    ("f", "held"),
    [
        (taken_out, {0: A, 1: B, 2: A * B}),
        (deleted, [A, B, A * B]),
        (numbers_replaced, [0.3, 0.9]),
    ],
    ids=["taken_out", "deleted", "numbers_replaced"],
)
def test_changes_of_what_is_of_unknown_class(f: Any, held: Any) -> None:
    check(f, held, A * 1.1, 0.8)


@pytest.mark.parametrize("f", [taken_out, deleted], ids=lambda f: f.__name__)
def test_changes_of_a_list_of_known_class(f: Any) -> None:
    held = [A, B, A * B] if f is deleted else {0: A.copy(), 1: B, 2: A * B}
    tl.check_grads(f, (held, A * 1.1, 0.8))
    again = copy.deepcopy(held)
    df = tl.grad(f, wrt=(0, 1, 2))
    found, expected = df(held, A * 1.1, 0.8), gradient(f, again, A * 1.1, 0.8)
    assert all(map(np.allclose, found[1:], expected[1:]))


def test_an_array_added_to_a_list_is_no_more_items() -> None:
    def f(a, s, more):
        xs = [s, a[1]]
        ys = xs
        ys[0] = ys[1] * s
        xs += more
        return xs[0] * ys[-1] + ys[-2]

    check(f, A, 0.8, (0.3, 0.4))
    with pytest.raises(TypeError, match="written for a list"):
        gradient(f, A, 0.8, A.copy())
    with pytest.raises(tl.UnsupportedError, match="with an array makes it an array"):
        tl.grad(f)(A, 0.8, A.copy())


# --------------------------------------------------------- numbers that a loop takes out of arrays


def fused(p, q):
    return p * q + 1.0


def test_items_of_an_array_that_a_callee_is_given() -> None:
    def f(x):
        a = 1.0
        for v in x:
            a = fused(a, v)
        return a * x[0]

    check(f, A)


def test_items_of_several_arrays() -> None:
    def f(x, y):
        a = 1.0
        for i, (v, w) in enumerate(zip(x, reversed(y))):
            a = fused(a, v) * (i + fused(w, v))
        for v in x[::-1]:
            a += fused(v, v)
        return a

    check(f, A, B)


def test_items_of_rows() -> None:
    def f(m):
        a = 1.0
        kept = []
        for row in m:
            for v in row:
                a = fused(a, v)
                kept.append(v)
            row_sum = fused(row, a)
            a = fused(np.sum(row_sum), 0.1)
        return a + fused(kept[3], kept[4])

    check(f, M)


def test_items_unpacked_from_an_array() -> None:
    def f(x):
        u, v, w = x
        first, *others = x
        return fused(u, v) * fused(w, first) + fused(others[0], others[1])

    check(f, A)


def test_items_of_an_array_in_a_while_loop() -> None:
    def f(x):
        a, i = 1.0, 0
        while i < len(x):
            v = x[i]
            a = fused(a, v)
            if a > 1e6:
                break
            i += 1
        for v in x:
            if v > 1e6:
                break
            a = fused(v, a)
        return a

    check(f, A)


def test_items_of_an_array_that_is_written() -> None:
    def f(x):
        y = x * 2.0
        a = 1.0
        for v in y:
            a = fused(a, v)
            y[-1] = fused(a, y[-1])
        return a + np.sum(y)

    check(f, A)


def test_items_are_read_when_the_loop_comes_to_them() -> None:
    def of_an_array(x):
        y = x * 1.0
        a = 1.0
        for v in y:
            y[-1] += fused(v, a)
            y += 0.3 * np.sin(v)
            a = a * v
        return a + np.sum(y)

    def of_a_list(x):
        y = [x[0] * 2.0, x[1], x[2] * x[0]]
        a = 1.0
        for v in y:
            y[-1] = fused(v, a)
            y[0] = y[0] * a
            a = a * v
        return a + sum(y)

    def of_either(x, y):
        a = 1.0
        for v in y:
            x[2] += v
            y[1:] *= fused(v, a)
            a = a * v + np.sum(x)
        return a

    check(of_an_array, A)
    check(of_a_list, A)
    check(of_either, A, B)


def test_items_written_by_another_name() -> None:
    def f(x):
        rows = [x * 1.0]
        y = rows[0]
        a = 1.0
        for v in y:
            rows[0][-1] += fused(v, a)
            a = a * v
        return a + np.sum(y)

    check(f, A)


class Held:
    def __init__(self, w):
        self.w = w

    @property
    def size2(self):
        return np.sum(self.w**2)

    @property
    def same(self):
        return self.w

    def __getitem__(self, key):
        return self.w[key]

    def get(self):
        return self.w * 1.0


class HeldAsItIs(Held):
    def get(self):
        return self.w


class Boxed:
    def __init__(self):
        self.items = []


def boxed(*held):
    box = Boxed()
    for one in held:
        box.items.append(one)
    return box


def test_what_a_class_computes_is_refused_where_it_is_not_known() -> None:
    """(These were zeros.)"""

    def by_property(x, y):
        return sum(held.size2 for held in boxed(Held(x), Held(y)).items)

    def by_item(x, y):
        held = boxed(Held(x), Held(y)).items[0]
        return held[1] ** 2

    def by_method(x, y):
        queue = deque([Held(x), HeldAsItIs(y)])
        return np.sum(queue.popleft().get() ** 2) + np.sum(queue.popleft().get() * x)

    with pytest.raises(tl.UnsupportedError, match="is computed by its class"):
        tl.grad(by_item)(A, B)
    tl.check_grads(by_property, (A, B), modes=("rev",))
    tl.check_grads(by_method, (A, B), modes=("rev",))

    def by_field(x, y):
        return sum(np.sum(held.w * held.same * y) for held in boxed(Held(x), Held(y)).items)

    np.testing.assert_allclose(tl.grad(by_field)(A, B), 2.0 * A * B, rtol=1e-12)


def test_items_of_an_array_that_a_list_takes() -> None:
    """(Each of them is an object of its own: these gradients were zeros.)"""

    def extended(x):
        a = []
        a.extend(x[:2])
        return a[0] * a[1]

    def slice_replaced(x):
        a = [x[0], x[1]]
        a[1:] = x[1:3]
        return a[0] * a[1] * a[2]

    def whole_replaced(x):
        a = [1.0] * 3
        a[:] = x
        a[0] = a[1]
        return a[0] * a[1] * a[2]

    def emptied(x):
        s = 0.0
        a = []
        a.extend(x)
        while a:
            s = s * 2.0 + a.pop() ** 2
        return s

    for f in (extended, slice_replaced, whole_replaced, emptied):
        check(f, A)
        tl.check_grads(f, (A,), order=2)


# ------------------------------------------------------- memory that nobody else ever reaches


def whole_array(x, y):
    q = x * y
    total = np.sum(q)
    q *= np.exp(np.exp(9.0 + q))
    return total + np.sum(y)


def other_entries(x, y):
    q = np.tanh(x * y)
    q[1:] *= np.exp(np.exp(9.0 + y[1:]))
    first = q[0]
    return first * np.sum(x)


def through_a_view(x, y):
    q = x * y
    tail = q[1:]
    total = np.sum(tail)
    tail *= np.exp(np.exp(9.0 + tail))
    return total * q[0] + np.sum(y)


def item_of_a_list(x, y):
    rows = [x * 0.5]
    first = rows[0]
    rows[0] = np.exp(np.exp(rows[0] + 9.0))
    return np.sum(first * y)


def in_a_loop(x, y):
    total = 0.0
    for k in range(3):
        q = x * y + k
        total += np.sum(np.sin(q))
        q *= np.exp(np.exp(9.0 + q))
    return total


def an_entry_of_the_round_before(x, y):
    for _ in range(2):
        q = x * y
        first = q[1]
        for _ in range(4):
            q *= np.exp(q * q * 9.0 + 300.0)
    return first * np.sum(x)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    "f",
    [
        whole_array,
        other_entries,
        through_a_view,
        item_of_a_list,
        in_a_loop,
        an_entry_of_the_round_before,
    ],
)
def test_what_overflows_after_its_last_use_has_no_part(f: Any) -> None:
    check_typed(f, A, B)


def check_typed(f: Any, *args: Any) -> None:
    directions = agreement.directions_for(args, tuple(range(len(args))), 3)
    expected = agreement.slope(f, args, directions, 1e-5)
    found = gradient(f, *args, example=args)
    assert agreement.close(agreement.inner(directions, list(found)), expected, 1e-6)


def by_an_outer_list(x, y):
    q, held = x * y, []
    keep(held, q)
    q *= y
    return np.sum(held[0] * x)


def by_a_field(x, y):
    q, box = x * y, Box(x)
    box.held = q
    q[0] = y[1] * x[2]
    return np.sum(box.held * x)


def by_a_closure(x, y):
    q = x * y

    def later():
        return np.sum(q * x)

    q *= np.sin(y)
    return later()


def by_a_list_in_a_list(x, y):
    q = x * y
    inner = [q]
    outer = [inner, [x]]
    q *= np.sin(y)
    for row in outer[0]:
        row[0] *= y[2]
    return np.sum(inner[0] * x)


def by_a_callee_that_gives_it_back(x, y):
    q = x * y
    same = given(q)
    q[1:] = np.sin(y[1:]) * x[:2]
    return np.sum(same * x)


def by_a_callee_chosen_late(x, y, act):
    q = x * y
    same = act(q)
    q *= np.cos(y)
    return np.sum(same * x)


def by_unpacking(x, y):
    q = np.stack([x * y, x])
    first, second = q
    q[0] = np.sin(y) * x
    q[1] *= y
    return np.sum(first * second)


def by_a_loop_over_rows(x, y):
    q, rows = np.stack([x * y, x]), []
    for row in q:
        rows.append(row)
    q *= np.sin(y)
    return np.sum(rows[0] * rows[1])


def by_rank_zero(x, y):
    q = np.array(0.5)
    view = q[...]
    q += x[0] * y[1]
    q[()] = q * x[2]
    return view * y[0]


def by_a_conditional(x, y):
    q = x * y
    same = q if x[0] > 0.0 else y * 1.0
    q *= np.sin(y)
    return np.sum(same * x)


def by_a_swap_in_a_loop(x, y):
    old, new = x * 1.0, np.zeros(3)
    for _ in range(3):
        new[:] = np.sin(old) * y
        old, new = new, old
    return np.sum(old * x) + np.sum(new)


def by_the_round_before(x, y):
    first = x * 1.0
    for _ in range(3):
        q = first * y
        q[1:] *= np.sin(first[:-1])
        first = q[::-1]
    return np.sum(first * x)


def by_an_item_of_the_round_before(x, y):
    rows = [x * 1.0]
    for _ in range(3):
        q = rows[0] * y
        rows = [q]
        q[1:] *= np.sin(x[:-1])
    return np.sum(rows[0] * x)


def by_a_dict(x, y):
    q = x * y
    held = {"q": q}
    held["q"] *= y
    q[0] *= x[1]
    return np.sum(held["q"] * x)


def by_out(x, y):
    q = np.empty(3)
    r = np.multiply(x, y, out=q)
    q *= np.sin(y)
    return np.sum(r * x)


def by_numbers_with_axes(x, y):
    q = x * y
    r = given(q)
    items = np.asarray(list(q))
    parts = [v[..., np.newaxis] for v in items] + [v[None] * v[()] for v in items]
    q *= y
    return np.sum(np.concatenate(parts, axis=-1) ** 3) + sum(np.sum(v[...]) for v in r * x)


def keep(held, row):
    held.append(row)


def given(row):
    return row


@dataclass
class Box:
    held: Any


READ_BY_ANOTHER_WAY = [
    by_an_outer_list,
    by_a_field,
    by_a_closure,
    by_a_list_in_a_list,
    by_a_callee_that_gives_it_back,
    by_unpacking,
    by_a_loop_over_rows,
    by_rank_zero,
    by_a_conditional,
    by_a_swap_in_a_loop,
    by_the_round_before,
    by_an_item_of_the_round_before,
    by_a_dict,
    by_out,
    by_numbers_with_axes,
]


@pytest.mark.parametrize("f", READ_BY_ANOTHER_WAY)
def test_what_is_written_is_read_by_another_way(f: Any) -> None:
    check(f, A, B)


@pytest.mark.parametrize("act", [given, np.asarray, np.ravel, np.sin])
def test_what_is_written_is_read_by_what_a_late_callee_gave(act: Any) -> None:
    found = tl.grad(lambda x, y: by_a_callee_chosen_late(x, y, act), wrt=(0, 1))(A, B)
    f = functools.partial(by_a_callee_chosen_late, act=act)
    directions = agreement.directions_for((A, B), (0, 1), 3)
    expected = agreement.slope(f, (A, B), directions, 1e-5)
    assert agreement.close(agreement.inner(directions, list(found)), expected, 1e-6)


def test_what_may_be_lists_joined_or_repeated_is_memory_of_others() -> None:
    def joined(ws, vs, x):
        rows = ws + vs
        rows[0][0] = x[1] * 7.0
        return np.sum(ws[0])

    def repeated(ws, n, x):
        rows = ws * n
        rows[0][0] = x[1] * 7.0
        return np.sum(ws[0])

    for f, other in ((joined, [B.copy()]), (repeated, 2)):
        with pytest.raises(
            (ValueError, TypeError), match="lists are joined|got a list|to integers"
        ):
            gradient(f, [A.copy()], other, B)


def test_a_list_named_memory_is_one_like_others() -> None:
    def f(x, y):
        work = np.zeros(3)
        memory = [work, y] + [x]
        memory[0][:] = x * x
        return np.sum(work * y)

    check(f, A, B)


def test_slices_with_a_step_are_deleted() -> None:
    """(A ValueError: other items cannot be assigned to such a slice.)"""

    def loss(x: Any) -> Any:
        rows = [v * 2.0 for v in x]
        same, step = rows, 3
        del rows[::3]
        del rows[-1::-step]
        return same[0] * same[1] * len(same)

    tl.check_grads(loss, (np.array([0.4, 0.9, -0.3, 0.5, 0.7]),), order=2)


# ------------------------------------------------------------------------ numbers through calls


def _scaled(row, t):
    row[0] += t * row[1]
    return t * row[2]


def number_given(a, s):
    return _scaled(a, s) * _scaled(a[::-1], _scaled(a, s)) + np.sum(a)


def _both(row, t):
    row[0] *= t
    return t * row[1], (row[2], t), row


def numbers_in_a_tuple_under_a_name(a, s):
    found = _both(a, s)
    u, (v, w), row = _both(found[2], found[0])
    return u * v + w + found[1][0] * np.sum(row)


def _held(t, xs, row):
    xs.append(t)
    row *= t
    return t, [t, t]


def number_in_two_places(a, s):
    xs = [s]
    t, ts = _held(s * s, xs, a)
    return xs[0] * xs[1] * t + ts[1] * np.sum(a)


def _summed(row, t):
    row += t
    return t * 3.0, np.sum(row * row)


def number_that_is_not_used(a, s):
    _, total = _summed(a, s)
    _, again = _summed(a, total)
    return again


def _step(row, t, k=2):
    for _ in range(k):
        t = t * row[0] + row[1]
        row[2] = t
    return t


def number_rebound(a, s):
    for k in range(3):
        s = _step(a, s, k=k)
    return s * a[2]


def _down(row, t, k):
    if k == 0:
        return t * row[0]
    row[k] = t * row[0]
    return _down(row, t * row[k], k - 1) + t


def number_in_a_recursion(a, s):
    return _down(a, s, 2) * np.sum(a)


def _chosen(row, t, k):
    return row if k else t


def number_of_either_class(a, s):
    total = 0.0
    for k in range(2):
        total = total + np.sum(_chosen(a, s, k) * a)
        a[k] *= s
    return total


def _all_of(row, *ts, **more):
    row *= ts[0] * more["u"]
    return ts[1] * ts[0], more["u"]


def numbers_that_are_starred(a, s):
    t, u = _all_of(a, s, s * a[0], u=s)
    return t * u * np.sum(a)


def _weighed(items, c):
    total = 0.0
    for k, item in enumerate(items):
        total = total + np.sum(item * c) * (k + 1)
    return total


def number_that_a_list_holds(a, s):
    xs = [s]
    xs.append(np.sin(xs[-1]) * a[0])
    return _weighed(xs, 0.3) * 0.5


@pytest.mark.parametrize(
    "f",
    [
        number_given,
        number_that_a_list_holds,
        numbers_in_a_tuple_under_a_name,
        number_in_two_places,
        number_that_is_not_used,
        number_rebound,
        number_in_a_recursion,
        number_of_either_class,
        numbers_that_are_starred,
    ],
    ids=lambda f: f.__name__,
)
def test_numbers_go_through_calls_by_name(f: Any) -> None:
    check(f, A, 0.8)
    request = Request("grad", ("a", "s"), bare=False, example=(A, 0.8), by_identity=True)
    asked = "s_bar = _scaled_bwd(_scaled_tape2, bars, "
    assert (asked in derive(f, request).source) == (f is number_given)


def twice(f: Any, p: Any) -> Any:
    return f(f(p) * 0.5)


def test_a_parameter_that_no_call_gives() -> None:
    """(A KeyError: its adjoint, that of a number, was handed to the call.)"""

    def whole(b: Any) -> Any:
        try:
            p = np.outer(b, b)
            q = p.T[1:]
            p[0] *= p[1]
            q0 = np.zeros((3, 4))
            q0[:] = q
        except ValueError:

            def inner(y: Any, z: Any = 0.5) -> None:
                z = (lambda u, v=0.5: u * v)(np.sin(b @ y))  # noqa: F841

            twice(inner, b)
        return np.sum(b * b)

    b = np.array([1.0, 2.0, 3.0, 4.0])
    assert np.array_equal(tl.grad(whole)(b), 2.0 * b)
