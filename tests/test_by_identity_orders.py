"""Second derivatives where adjoints are found by identity: each mode over each mode agrees with
differences of the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import Shadow
from tests import agreement
from tests.generator_orders import expected_curvature, reverse_over_forward
from tests.test_by_identity import READ_BY_ANOTHER_WAY, A, B, given_back


def check(f: Any, *args: Any, tangents: bool = False) -> Any:
    """Compare forward and reverse mode over the gradient with its differences, and with reverse
    mode over `tangents`; the gradient."""
    wrt = tuple(range(len(args)))
    u, v = (agreement.directions_for(args, wrt, seed) for seed in (5, 6))
    expected = expected_curvature(f, args, u, v)
    gradient = tl.grad(f, wrt=wrt)
    _, change = tl.jvp(gradient, args, tuple(v))
    assert agreement.close(agreement.inner(u, list(change)), expected, 1e-6)
    found = tl.vjp(gradient, *args)[1](tuple(u))
    assert agreement.close(agreement.inner(v, list(found)), expected, 1e-6)
    if tangents:
        assert agreement.close(reverse_over_forward(f, args, wrt, u, v, []), expected, 1e-6)
    return gradient


@pytest.mark.thorough
def test_rows_under_two_lists() -> None:
    def f(a, b):
        rows = [a * 1.0, b]
        others = [rows[1], rows[0], rows[1]]
        for row in others:
            row *= b
            rows.insert(0, row)
        return np.sum(rows[0] * rows[2])

    gradient = check(f, A, B, tangents=True)
    forward = tl.autodiff(gradient, wrt=(0, 1), mode="forward")
    forward(A, B, B, A)
    assert "bars_dot.add(" in forward.source
    reverse = tl.autodiff(gradient, wrt=(0, 1))
    reverse(A, B, (B, A))
    assert "bars_bar = bars2.of(bars)" in reverse.source


def test_numbers_in_a_list() -> None:
    def f(a, s):
        xs = [s, s * a[0]]
        ys = xs
        ys[1] = xs[0] * xs[1]
        rows = [a * s, a]
        for r in rows:
            r *= ys[1]
            xs.append(r[0])
        rows[1][1] = xs[2] * s
        return np.sum(rows[0] * rows[1]) * xs[-1] + ys[-2]

    check(f, A, 0.8)


def test_a_callee_gives_back_what_it_was_given() -> None:
    check(given_back, A, B)


@dataclass
class Cell:
    state: Any
    scale: Any = 1.0

    def step(self, v):
        self.state += v * self.scale
        self.scale = self.scale * v[0]
        return self.state


@pytest.mark.thorough
def test_an_object_in_two_lists() -> None:
    def f(a, s):
        cell = Cell(a * s, s)
        cells = [cell, Cell(a * a), cell]
        for one in cells:
            one.step(a)
        cells[1].state = cells[0].state
        cells[1].state[0] = s
        return np.sum(cell.state * cells[2].scale) + cells[1].scale * s

    check(f, A, 0.8)


def test_a_number_seen_as_an_array() -> None:
    def f(a, s):
        wide = np.broadcast_to(s * 1.5, (3,))
        rows = [wide, a]
        others = rows
        others[1][0] = s
        return np.sum(rows[0] * rows[1] * a)

    check(f, A, 0.8, tangents=True)


@pytest.mark.thorough
def test_what_a_list_held_is_put_back_itself() -> None:
    # (It was put back as a copy, and what was saved of its entries went into that: by name.)
    def f(a, s):
        rows = [a * s, a]
        for r in rows:
            r *= s
        return np.sum(rows[0] * rows[1])

    def g(a, s):
        d = {"x": a * s, "y": a}
        for k in ("x", "y"):
            d[k] *= s
            v = d[k]
            v *= a[0]
            d[k] = v * s
        return np.sum(d["x"] * d["y"])

    check(f, A, 0.8)
    check(g, A, 0.8)


def fill(rows: Any, s: Any) -> None:
    for i in range(len(rows)):
        r = rows[i]
        r *= s
        rows[i] = r * s


def test_a_text_by_name_that_does_not_hold_is_replaced_at_the_call() -> None:
    def f(a, s):
        rows = [a * s, a]
        fill(rows, s)
        return np.sum(rows[0] * rows[1])

    gradient = tl.grad(f, wrt=(0, 1))
    expected = gradient(A, 0.8)
    value, pullback = tl.vjp(f, A, 0.8)
    assert np.isclose(value, f(A.copy(), 0.8))
    assert all(map(np.allclose, pullback(1.0), expected))
    _, change = tl.jvp(gradient, (A, 0.8), (B, 0.3))
    again = tl.vjp(gradient, A, 0.8)[1]((B, 0.3))
    assert all(map(np.allclose, change, again))  # (the second derivative is symmetric)
    moved = tl.hvp(f, wrt=(0, 1))(A, 0.8, v=(B, 0.3))
    assert all(map(np.allclose, change, moved))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_transposed_operations_of_the_shadow(n: int) -> None:
    """<B, op(S)> = <op^T(B), S> for the operations on what the shadow holds."""
    rng = np.random.default_rng(n)
    base, item = np.zeros((n, 2)), np.zeros(2)
    g, h = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    bars, duals = Shadow(), Shadow()
    bars.put(base, g)
    duals.put(base, h)
    key = (slice(None), [1, 1])
    taken = bars.take_at(base, key, np.zeros((n, 2)))
    weights = rng.normal(size=(n, 2))
    duals.put_at(base, key, weights)
    after = np.vdot(bars.of(base), h) + np.vdot(taken, weights)
    assert np.isclose(after, np.vdot(g, duals.of(base)))
    bars.add(base, item)
    assert np.allclose(duals.like(base, item), duals.of(base).sum(axis=0))


def product_in_place(x: Any, y: Any) -> Any:
    rows = [x]
    rows[0] @= y
    z = rows[0]
    z @= y
    return np.sum(rows[0] * x)


def test_an_update_in_forward_mode_of_a_number_or_an_array() -> None:
    m, n = np.array([[0.3, -0.8], [1.1, 0.4]]), np.array([[0.5, 0.2], [-0.3, 0.9]])
    directions = agreement.directions_for((m, n), (0, 1), 3)
    _, change = tl.jvp(product_in_place, (m.copy(), n), tuple(directions))
    expected = agreement.slope(product_in_place, (m, n), directions, 1e-5)
    assert agreement.close(float(change), expected, 1e-6)


def test_reverse_mode_four_times() -> None:
    """The shadow of a shadow was taken for a value of which there is an adjoint besides."""

    def f(x):
        ys = [x, x * x]
        ys.insert(0, ys[1] * x)
        ys.pop(1)
        return ys[0] * ys[1]

    derivative = f
    for expected in (5 * 0.7**4, 20 * 0.7**3, 60 * 0.7**2, 120 * 0.7):
        derivative = tl.grad(derivative)
        assert agreement.close(derivative(0.7), expected, 1e-12)


def test_flags_of_a_loop_that_ends_early_are_put_back() -> None:
    """`if not taken_saved.pop():` of the gradient is reversed, too."""

    def f(a, b, s):
        c = a * 0.0
        for _ in range(3):
            p = {"u": [a * 0.9]}
            q = p.copy()
            q["u"].append(a * b)
            b = p["u"][-1]
            if np.sum(a) < s:
                break
            c = np.sin(b)
        return np.sum(c * b)

    a, b = np.array([0.3, 0.4]), np.array([0.5, 0.2])
    for s in (0.1, 5.0):
        tl.check_grads(f, (a, b, s), wrt=(0, 1), modes=("rev",), order=2)


class Marker:
    def mark(self, x):
        x[1] = 0.3

    def count(self, x):
        x[0] = 0.5
        x[2] *= x[1]


MARKERS = {"marker": Marker(), "sin": np.sin}


def marked(a, b):
    MARKERS["marker"].mark(a)
    return np.sum(b * a * a)


def counted(a, b):
    MARKERS["marker"].count(b)
    return np.sum(b * a * a)


@pytest.mark.parametrize("f", [marked, counted])
def test_backward_functions_that_only_take_away(f: Any) -> None:
    """Of what a function only overwrites the adjoint is taken away: that of tangents stayed, where
    the function is known when the derivative runs."""
    check(f, A, B)


@pytest.mark.thorough
@pytest.mark.parametrize("f", READ_BY_ANOTHER_WAY)
def test_what_is_written_is_read_by_another_way(f: Any) -> None:
    check(f, A, B)


def overflows_as_a_whole(a, b):
    q = np.broadcast_to(b, (3, 3))
    a = np.sin(q[1]) * a
    q = a.copy()
    total = 0.2 * np.sum(q)
    q *= np.exp(np.exp(q * 9.0 + 9.0))
    return np.sum(a * b) + total


def overflows_beside_what_is_read(a, b, m, t):
    q = np.sin(a)
    q[1:] *= np.exp(np.exp(b[1:] + 9.0))
    w = q[0]
    k, s = np.tanh(m @ m), t
    for _ in range(3):
        q = np.asarray(t)
        s = float(q)
        c = np.sin(w)
        k[[2, 0]] += c
        t = np.sum(np.diag(k))
    return s


def overflows_until_it_is_restored(a, b):
    """What the derivative writes again before it reads it: the write before has no part."""
    c = b[::-1]
    q = np.asanyarray(b)
    q[-1] *= 0.3
    q = a * 3.0
    a = np.sin(q)
    q *= np.exp(np.exp(q * 9.0 + 9.0))
    c += np.sin(a)
    return np.sum(c * b)


def overflows_beside_a_callee(a, b):
    filled(b, b, 0.7)
    q = np.tanh(a)
    b = np.sin(q)
    q *= np.exp(np.exp(q * 9.0 + 9.0))
    return np.sum(b * b)


def filled(p, q, c):
    np.subtract(c, q, p)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    ("f", "rest"),
    [
        (overflows_as_a_whole, ()),
        (overflows_beside_what_is_read, (np.outer(A, B)[:3, :3], 0.4)),
        (overflows_until_it_is_restored, ()),
        (overflows_beside_a_callee, ()),
    ],
)
def test_what_overflows_after_its_last_use_has_no_part(f: Any, rest: Any) -> None:
    check(f, A, B, *rest)


def extended_then_replaced(a, b):
    items = list(a)
    items.extend([v * w for v, w in zip(a, b)])
    items[1:3] = [items[0]]
    return sum((k + 1) * v**2 for k, v in enumerate(items))


def joined_then_sorted(a, b):
    items = list(a)
    items += [v * w for v, w in zip(a, b)]
    items.sort()
    return items[1] * items[-1] + items[0]


@pytest.mark.parametrize("f", [extended_then_replaced, joined_then_sorted])
def test_a_list_that_grew_is_a_list(f: Any) -> None:
    """It was taken for an array by the derivative of the derivative."""
    check(f, A, B)
