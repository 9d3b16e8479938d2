"""Arrays that a loop makes, fills, and only then hands on: what filling them overwrites is saved for
no other name. And arrays that a loop changes: they are copied before it where that is enough.

The programs of `NOT_YET` are those in which something else sees a part of the filling; each of them
has a wrong gradient if one condition of the analysis is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

U = np.array([0.5, 1.3, -0.8, 0.9])


def leapfrog(u, c=0.3, steps=3):
    prev = u
    cur = u + 0.5 * c * np.sin(u)
    for _ in range(steps):
        new = np.zeros_like(cur)
        new[1:-1] = 2.0 * cur[1:-1] - prev[1:-1] + c**2 * (cur[2:] - 2.0 * cur[1:-1] + cur[:-2])
        new[0] = 0.0
        new[-1] = new[-2]
        prev, cur = cur, new
    return np.sum(cur**2)


def diffused(u, k=0.3, steps=3):
    for _ in range(steps):
        new = u.copy()
        new[1:-1] = u[1:-1] + k * u[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        new[0] = new[1]
        u = new
    return np.sum(u**2)


def residual_layers(u, steps=3):
    w = np.outer(u, u) * 0.3
    h = u
    for _ in range(steps):
        z = h @ w
        z[z < 0.0] *= 0.1
        z += h
        h = z
    return np.sum(h**2)


def fluxes(u, steps=3):
    for _ in range(steps):
        f = np.empty(len(u) + 1)
        f[1:-1] = 0.5 * (u[1:] ** 2 + u[:-1] ** 2)
        f[0] = f[1]
        f[-1] = f[-2]
        u = u - 0.1 * (f[1:] - f[:-1])
    return np.sum(u**2)


def filled_by_a_loop(u, steps=3):
    for _ in range(steps):
        new = np.zeros_like(u)
        for i in range(1, len(u)):
            new[i] = u[i] * u[i - 1]
        u = new + u
    return np.sum(u**2)


BUILT = [leapfrog, diffused, residual_layers, fluxes, filled_by_a_loop]


def read_while_it_is_filled(u):
    for _ in range(3):
        new = np.sin(u)
        square = new * new
        new[0] = 2.0
        u = new + square
    return np.sum(u**2)


def handed_on_and_filled(u):
    for _ in range(3):
        new = np.sin(u)
        old = u * new
        u = new
        s = np.sum(u * u)
        new[0] = 2.0
        u = u * old + s
    return np.sum(u**2)


def of_an_earlier_round(u):
    new = u * 1.0
    s = 0.0
    for k in range(3):
        if k == 0:
            new = np.sin(u)
        s += np.sum(new * new * u)
        new[k] = 2.0
        u = new * u
    return s + np.sum(u)


def seen_through_a_list(u):
    s, seen = 0.0, []
    for _ in range(3):
        new = np.sin(u)
        seen.append(new)
        s += np.sum(seen[-1] ** 2)
        new[0] = 2.0
        u = new * u
    return s + np.sum(u)


def handed_on_in_an_inner_loop(u):
    s, v = 0.0, u
    for _ in range(2):
        new = np.sin(u)
        for k in range(3):
            s += np.sum(v * v)
            new[k] = 0.5 * new[k] * u[k]
            v = new
        u = u * new
    return s + np.sum(u)


def filled_after_a_view(u):
    s = 0.0
    for _ in range(3):
        new = np.sin(u)
        part = new[1:]
        s += np.sum(part * part)
        new[1] = u[0]
        u = new * u
    return s + np.sum(u)


def read_after_the_loop(u):
    new = u
    for _ in range(3):
        new = np.sin(u)
        new[0] = u[1] * new[0]
        u = u * new
    return np.sum(new * new * u)


def kept_by_a_function(u):
    def kept(v):
        held.append(v)
        return np.sum(v * v)

    held, s = [], 0.0
    for _ in range(3):
        new = np.sin(u)
        s += kept(new)
        new[0] = u[1]
        u = u * new
    return s + np.sum(u) + held[0][0]


# Entries that are written once are not set to zero where their adjoints are taken; these are
# written twice.


def twice_the_same_entry(u):
    for _ in range(2):
        new = np.zeros_like(u)
        new[0] = u[1] * u[0]
        new[0] = new[0] * u[2] + u[0]
        new[1:] = u[:-1] ** 2
        new[1] = new[2] * u[0]
        u = new + u
    return np.sum(u**2)


def by_overlapping_rounds(u):
    for _ in range(2):
        new = np.zeros_like(u)
        for i in range(3):
            new[i] = u[i] ** 2
            new[i + 1] = u[i] * 0.5
        u = new + u
    return np.sum(u**2)


def in_one_branch_again(u):
    for k in range(3):
        new = np.empty_like(u)
        new[:] = u * u
        if k > 0:
            new[k] = u[k] * u[0]
        new[-1] = new[0] * u[3]
        u = new * 0.5
    return np.sum(u)


def by_two_names(u):
    for _ in range(2):
        new = np.zeros_like(u)
        other = new
        other[0] = u[0] ** 2
        new[0] = u[1] * other[0]
        u = u + new
    return np.sum(u * other)


def by_an_inner_loop_again(u):
    new = np.zeros_like(u)
    for k in range(3):
        for i in range(k, 4):
            new[i] = new[i] * 0.5 + u[i] ** 2
        new[0] = 1.0
    return np.sum(new**2)


WRITTEN_TWICE = [
    *(twice_the_same_entry, by_overlapping_rounds, in_one_branch_again, by_two_names),
    by_an_inner_loop_again,
]


# Arrays that a loop writes, and of which only what they were before it is asked for.


def of_a_nonlinear_start(x):
    u = np.exp(-(x**2))
    for _ in range(3):
        old = u.copy()
        u[1:-1] = old[1:-1] + 0.2 * (old[2:] - 2.0 * old[1:-1] + old[:-2])
        u[0] = 0.5 * old[0]
    return np.sum(u**2)


def with_its_first_energy(u):
    first = np.sum(u * u)
    for _ in range(2):
        for i in range(1, len(u)):
            u[i] += 0.3 * u[i - 1]
    return np.sum(u) / first


def of_two_loops(u):
    s = np.sum(u**3)
    for i in range(3):
        u[i] *= 0.5
    s += np.sum(u * np.sin(u))
    k = 0
    while k < 2:
        u[1:] -= 0.1 * u[:-1]
        k += 1
    return s + np.sum(u**2)


def read_within_as_well(u):
    s = np.sum(u**3)
    for _ in range(3):
        s += np.sum(u**2)
        u[1:] += 0.1 * u[:-1]
    return s


def under_two_names(u):
    v = u * 2.0
    w = v[1:]
    s = np.sum(w**2)
    for _ in range(3):
        v[1:] += 0.1 * v[:-1]
    return s + np.sum(v * u)


def bound_within(u):
    v = np.tanh(u)
    for k in range(4):
        v[k] *= 2.0
        if k == 1:
            v = v * v[0]
    return np.sum(v * u)


def evolved(v, k):
    s = np.sum(v**2)
    for i in range(1, 4):
        v[i] -= k * v[i - 1]
    return s


def in_a_helper(u):
    v = u * 1.0
    s = evolved(v, 0.3) + evolved(v, 0.2)
    return s * np.sum(v)


def swept(v, w):
    v[0] = np.sin(w[1])
    v[1:] += 0.3 * w[:-1]


def held_by_a_tape(u):
    v, w = u * 1.0, u * u
    swept(v, w)
    for _ in range(3):
        swept(w, v)
    return np.sum(v * u) + w[2]


def held_by_a_stack(u):
    v, s = u * 1.0, 0.0
    for k in range(2):
        s += np.sum(v * v) * u[k]
    for k in range(4):
        v[k] *= 0.5
    return s + np.sum(v)


def in_a_branch(u):
    v = np.exp(u)
    if u[0] > 0.0:
        for i in range(3):
            v[i] = u[i] * 0.5
    return np.sum(v * v)


def of_several_copies(u):
    """What is added to a copy, and then to its entries, stays."""
    v, w = u.copy(), u.copy()
    p = u[::-1]
    for _ in range(2):
        p[1] = v[1] + 0.1
    return np.sum(p * w)


KEPT = [of_a_nonlinear_start, with_its_first_energy, of_two_loops]
LOOPS = [
    *(*KEPT, read_within_as_well, under_two_names, bound_within, in_a_helper, in_a_branch),
    *(held_by_a_tape, held_by_a_stack, of_several_copies),
]

NOT_YET = [
    *(read_while_it_is_filled, handed_on_and_filled, of_an_earlier_round, seen_through_a_list),
    *(handed_on_in_an_inner_loop, filled_after_a_view, read_after_the_loop, kept_by_a_function),
]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("fn", [*BUILT, *NOT_YET, *LOOPS, *WRITTEN_TWICE])
def test_gradients(fn: Any, typed: bool) -> None:
    u = U.copy()
    df = tl.value_and_grad(fn, example=(U,) if typed else None)
    value, gradient = df(u)
    assert value == fn(U.copy())
    np.testing.assert_array_equal(u, U)
    steps = 1e-6 * np.eye(4)
    expected = [(fn(U + h) - fn(U - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)
    _, tangent = tl.jvp(fn, (U,), (np.cos(U),))
    np.testing.assert_allclose(gradient @ np.cos(U), tangent, rtol=1e-12)


@pytest.mark.parametrize("fn", BUILT)
def test_what_is_filled_is_not_restored(fn: Any) -> None:
    source = tl.grad(fn, example=(U,)).source
    assert "u.copy()" not in source.partition("for ")[0]
    forwards, _, backwards = source.partition("# adjoint")
    (filled,) = (name for name in ("new", "f", "z") if f" {name}[" in forwards)
    assert not [s for s in backwards.split("\n") if s.strip().startswith(f"{filled}[")]
    assert "unbroadcast" not in source


def stiffness(e):
    m = np.zeros((6, 6))
    m[0, 0] = m[-1, -1] = 1.0
    for i in range(1, 5):
        m[i, i - 1] = e[0] * e[1]
        m[i, i] = -2.0 * e[2] * e[3]
        m[i, i + 1] = e[0]
    for _ in range(2):
        d = np.zeros(2)
        d[0] = np.sum(m[1] * m[2])
        d[1] = e[3] * d[0]
        e = e * d[1]
    return np.sum(e**2)


def test_what_is_written_once_is_not_set_to_zero() -> None:
    source = tl.grad(stiffness, example=(U,)).source
    assert "] = 0.0" not in source
    expected = [(stiffness(U + h) - stiffness(U - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(tl.grad(stiffness)(U), expected, rtol=1e-5)


@pytest.mark.parametrize("fn", KEPT)
def test_one_copy_is_kept(fn: Any) -> None:
    source = tl.grad(fn, example=(U,)).source
    assert ".append(" not in source
    assert "_saved = u.copy()" in source or "_saved = u2.copy()" in source


def test_second_order() -> None:
    for fn in (leapfrog, diffused, read_while_it_is_filled, of_a_nonlinear_start, of_two_loops):
        gradient = tl.grad(fn)
        _, found = tl.jvp(gradient, (U,), (np.ones(4),))
        step = 1e-5 * np.ones(4)
        expected = (gradient(U + step) - gradient(U - step)) / 2e-5
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_what_is_returned_is_not_restored() -> None:
    def f(x):
        new = np.sin(x)
        square = new * new
        new[0] = 2.0
        given = new
        return np.sum(square * x), given

    (_, given), _ = tl.value_and_grad(f, has_aux=True)(U)
    np.testing.assert_array_equal(given, [2.0, *np.sin(U)[1:]])
