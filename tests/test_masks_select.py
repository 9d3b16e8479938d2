"""Entries that a mask selects: none twice, copied, and as many of one array as of another.

In the programs of `OTHERS` one of these does not hold: two masks of one name, masks that are
written between two uses, places that are given by integers, values that are spread over entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl

X = np.array([0.5, 1.3, -0.8, 0.9])
Y = np.array([-0.4, 0.7, 0.2, 1.1])


def piecewise(x, y):
    out = np.empty_like(x)
    small = np.abs(x) < 0.6
    out[small] = 1.0 - x[small] ** 2 / 6.0
    out[~small] = y[~small] * np.sin(x[~small]) / x[~small]
    return np.sum(out * x)


def pair_potential(x, y):
    force = np.zeros_like(x)
    near = x < 1.0
    inverse = (y[near] / x[near]) ** 2
    force[near] = 4.0 * (inverse**2 - inverse)
    return np.sum(force * y)


def clipped_in_place(x, y):
    z = x * y
    z[z < 0.0] *= 0.1
    z[z > 0.8] += 0.5
    z[x > 1.0] = 0.25
    return np.sum(z**2)


def in_a_loop(x, y):
    s = 0.0
    for k in range(3):
        mask = x > 0.3 * k
        x = x.copy()
        x[mask] = x[mask] * y[mask] + 0.1
        s += np.sum(x[mask] ** 2)
    return s


def of_two_axes(x, y):
    m = np.outer(x, y)
    upper = m > 0.12
    n = np.zeros_like(m)
    n[upper] = m[upper] ** 2
    rows = x > 0.0
    n[rows, 1:] *= 2.0
    return np.sum(n * m)


PLAIN = [piecewise, pair_potential, clipped_in_place, in_a_loop, of_two_axes]


def two_of_one_name(x, y):
    mask = x > 0.0
    first = x[mask]
    mask = y > 0.5
    out = y * x
    out[mask] = out[mask] * y[mask]
    return np.sum(out) * np.sum(first**2)


def written_between(x, y):
    mask = x > 0.0
    first = x[mask] * 2.0
    mask[0] = False
    out = x * y
    out[mask] = x[mask] * y[mask] ** 2
    return np.sum(out) + np.sum(first**2)


def written_by_another_name(x, y):
    mask = x > 0.0
    other = mask
    first = x[mask]
    other[2] = True
    out = x * y
    out[mask] = x[mask] * y[mask]
    return np.sum(out**2) + np.sum(first**2)


def written_as_an_output(x, y):
    mask = x > 0.0
    first = x[mask]
    np.logical_and(mask, y > 0.5, out=mask)
    out = x * y
    out[mask] = y[mask] ** 2
    return np.sum(out * x) + np.sum(first**2)


def updated(x, y):
    mask = x > 0.0
    first = x[mask]
    mask &= y > 0.5
    out = x * y
    out[mask] = y[mask] ** 2
    return np.sum(out * x) + np.sum(first**2)


def written_by_a_helper(x, y):
    def without_first(chosen):
        chosen[0] = False

    mask = x > 0.0
    first = x[mask]
    without_first(mask)
    out = x * y
    out[mask] = y[mask] ** 2
    return np.sum(out * x) + np.sum(first**2)


def spread_over_entries(x, y):
    out = x * y
    mask = x > 0.0
    out[mask] = y[:1] * 2.0
    out[~mask] = x[1] * y[2]
    return np.sum(out * x)


def given_by_integers(x, y):
    out = x * y
    chosen = (x > 0.0).astype(int)
    out[chosen] = x * 2.0
    return np.sum(out * y) + np.sum(x[chosen] ** 2)


def by_integers_beside_a_mask(x, y):
    m = np.outer(x, y)
    mask = x > 0.0
    m[mask, [0, 0, 1]] = y[:3]
    return np.sum(m * m)


def by_its_places(x, y):
    out = x * y
    (places,) = np.nonzero(x > 0.0)
    out[places] = x[places] * y[places]
    return np.sum(out**2)


OTHERS = [
    *(two_of_one_name, written_between, written_by_another_name, written_as_an_output, updated),
    *(written_by_a_helper, spread_over_entries, given_by_integers, by_integers_beside_a_mask),
    by_its_places,
]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("fn", [*PLAIN, *OTHERS])
def test_gradients(fn: Any, typed: bool) -> None:
    df = tl.value_and_grad(fn, (0, 1), example=(X, Y) if typed else None)
    value, gradients = df(X.copy(), Y.copy())
    assert value == fn(X.copy(), Y.copy())
    for at, gradient in enumerate(gradients):
        for k, step in enumerate(1e-6 * np.eye(4)):
            ends = [[v + sign * step * (i == at) for i, v in enumerate((X, Y))] for sign in (1, -1)]
            expected = (fn(*ends[0]) - fn(*ends[1])) / 2e-6
            np.testing.assert_allclose(gradient[k], expected, rtol=1e-6, atol=1e-8)
    _, tangent = tl.jvp(fn, (X, Y), (np.cos(X), np.sin(Y)))
    np.testing.assert_allclose(
        gradients[0] @ np.cos(X) + gradients[1] @ np.sin(Y), tangent, rtol=1e-12
    )


@pytest.mark.parametrize("fn", PLAIN)
def test_nothing_is_asked_when_it_runs(fn: Any) -> None:
    source = tl.grad(fn, (0, 1), example=(X, Y)).source
    assert not [h for h in ("unbroadcast", "survivors", "add_at") if h in source]


def test_second_order() -> None:
    for fn in (piecewise, clipped_in_place, in_a_loop):
        gradient = tl.grad(fn)
        _, found = tl.jvp(lambda x, g=gradient: g(x, Y), (X,), (np.ones(4),))
        step = 1e-5 * np.ones(4)
        expected = (gradient(X + step, Y) - gradient(X - step, Y)) / 2e-5
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def chosen_by_where(x, y):
    return np.sum(np.where(x > 0.7, x * y, x**2 * y))


def test_what_where_chooses_is_one_choice() -> None:
    """The adjoints of both branches are one `np.where`; what is not chosen may be no number."""
    gradient = tl.grad(chosen_by_where, (0, 1), example=(X, Y))
    assert gradient.source.count("np.where") == 2 and "logical_not" not in gradient.source
    for at, found in enumerate(gradient(X, Y)):
        for k, step in enumerate(1e-6 * np.eye(4)):
            ends = [[v + s * step * (i == at) for i, v in enumerate((X, Y))] for s in (1, -1)]
            expected = (chosen_by_where(*ends[0]) - chosen_by_where(*ends[1])) / 2e-6
            np.testing.assert_allclose(found[k], expected, rtol=1e-6, atol=1e-8)
    missing = np.array([0.5, np.nan, 1.0, np.inf])
    found = tl.grad(lambda c: np.sum(np.where(np.isfinite(missing), missing * c, 0.0)))(np.ones(4))
    np.testing.assert_array_equal(found, [0.5, 0.0, 1.0, 0.0])


def leaky_after_a_norm(x, y):
    h = x * y / np.sqrt(np.mean(y**2) + 0.1)
    h = np.where(h > 0.0, h, 0.01 * h)
    return np.sum(h**2)


def both_halves(x, y):
    q = x * np.sqrt(y @ y) / (1.0 + y**2)
    return np.sum(q[:2] / (3.0 + q[2:]))


def a_mask_and_its_opposite(x, y):
    r = np.sqrt(1.0 + x**2) / (2.0 + y)
    m = x > 0.0
    return np.sum(r[m]) + np.sum(r[~m] ** 2)


@pytest.mark.parametrize("fn", [leaky_after_a_norm, both_halves, a_mask_and_its_opposite])
def test_what_is_chosen_as_a_whole_has_no_mask(fn: Any) -> None:
    """A condition and its opposite, `[:k]` and `[k:]`: what stands before them is all used."""
    source = tl.grad(fn, (0, 1), example=(X, Y)).source
    assert not [h for h in ("reached", "logical_or", "places_taken", "1.0)") if h in source]
    test_gradients(fn, True)


def test_products_behind_a_slice_need_no_mask_and_roots_do() -> None:
    def f(x, y):
        r = np.sqrt(x) * y
        return np.sum(r[1:])

    df = tl.grad(f, (0, 1), example=(X, Y))
    assert df.source.count("np.where") == 1  # (the root's)
    x = np.array([0.0, 4.0, 1.0, 9.0])
    x_bar, y_bar = df(x, Y)
    np.testing.assert_allclose(x_bar, [0.0, *(0.5 * Y[1:] / np.sqrt(x[1:]))])
    np.testing.assert_allclose(y_bar, [0.0, 2.0, 1.0, 3.0])


def of_another_round(x, y):
    """The condition of this round and the opposite of the last one are not all there is."""
    m = x > 0.6
    for _ in range(3):
        r = np.sqrt(x**2)
        a = np.where(~m, r, 1.0)
        m = x > 0.37
        x = a + np.where(m, r, 0.5) * y
    return np.sum(x)


def test_conditions_of_two_rounds_are_two() -> None:
    test_gradients(of_another_round, True)


def rotated(x, y):
    """Entries of a vector of length one, each read by its number."""
    w = x[:3]
    axis = w / np.sqrt(w @ w)
    turn = np.array([[0.0, -axis[2]], [axis[2], axis[0]], [-axis[1], 0.0]])
    return np.sum((turn @ y[:2]) ** 2)


def test_one_number_that_divides_needs_no_mask_where_an_entry_is_read() -> None:
    source = tl.grad(rotated, (0, 1), example=(X, Y)).source
    assert "places_taken" not in source and "np.where" not in source
    test_gradients(rotated, False)
