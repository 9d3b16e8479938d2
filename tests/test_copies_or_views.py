"""Operations that copy or share memory as they are called: `astype`, `ravel("F")`, `asarray`.

What is made is written afterwards, and so is what it was made of read: a derivative that takes a
copy for a view, or a view for a copy, is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.3, 0.7, -0.2, 1.1])


def cast(x):
    z = x.copy()
    a = z.astype(float)
    a[0] = 2 * z[1] * z[1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def cast_without_copy(x):
    z = x.copy()
    a = z.astype(float, copy=False)
    a[0] = 2 * z[1] * z[1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def taken_as_it_is(x, subok=False):
    z = x.copy()
    a = np.array(z, copy=None, subok=subok)
    a[0] = 2 * z[1] * z[1]
    b = np.array(z, copy=True, subok=True)
    b[0] = 3.0
    return np.sum(a * a * np.arange(1.0, 5.0)) + np.sum(z**3) + np.sum(b)


def to_complex(x):
    n = x.shape[0]
    a = x.astype(complex)
    a[0] = a[0] * a[1]
    return np.sum(np.abs(a) ** 2 * n)


def raveled(x):
    z = np.zeros((2, 2))
    z[...] = x.reshape(2, 2)
    a = z.ravel()
    a[0] = 2 * z[1, 1] * z[0, 1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def raveled_by_columns(x):
    z = np.zeros((2, 2))
    z[...] = x.reshape(2, 2)
    a = z.ravel("F")
    a[0] = 2 * z[1, 1] * z[0, 1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def raveled_by_function(x):
    z = np.zeros((2, 2))
    z[...] = x.reshape(2, 2)
    a = np.ravel(z, "F")
    a[0] = 2 * z[1, 1] * z[0, 1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def reshaped_by_columns(x):
    z = np.zeros((2, 2))
    z[...] = x.reshape(2, 2)
    a = np.reshape(z, (4,), "F")
    a[0] = 2 * z[1, 1] * z[0, 1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def made_by_columns(x):
    z = np.zeros((2, 2), float, "F")
    z[...] = x.reshape(2, 2)
    a = z.ravel()
    a[0] = 2 * z[1, 1] * z[0, 1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def part_raveled(x):
    z = np.zeros((2, 2))
    z[...] = x.reshape(2, 2)
    a = z[:, :1].reshape(2)
    a[0] = 2 * z[1, 1] * z[0, 1]
    return np.sum(a * a * np.arange(2.0)) + np.sum(z**3)


def as_array(x):
    z = np.zeros(4)
    z[:] = x
    a = np.asarray(z)
    a[0] = 2 * z[1] * z[2]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def as_other_array(x):
    z = np.zeros(4)
    z[:] = x
    a = np.asarray(z, dtype=complex)
    a[0] = 2 * z[1] * z[2]
    return np.sum(np.abs(a) ** 2 * np.arange(4.0)) + np.sum(z**3)


def flattened(x):
    z = np.zeros((2, 2))
    z[...] = x.reshape(2, 2)
    a = z.T.flatten()
    a[0] = 2 * z[1, 1] * z[0, 1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def sliced_iterator(x):
    z = x * 1.0
    a, f = z.flat[1:], z.flat
    b = f[::2]
    z[1] *= 2.0
    a[0] *= z[1]
    return np.sum(a * a) + np.sum(b * b) * np.sum(f[2:]) + np.sum(z**3)


def iterator_by_a_slice_with_a_name(x):
    z = x * 1.0
    k = slice(1, 3)
    a = z.flat[k]
    a *= 2.0
    return np.sum(a * z[:2]) + np.sum(z**3)


def required(x):
    z = x * 1.0
    y = np.require(z, float, ["C", "W"])
    y *= 2.0
    w = np.require(z, requirements="F")
    w[0] = x[1]
    return y @ z


def argument_required(x):
    y = np.require(x, np.float64, "W")
    y[0] = x[1] * 3.0
    return y @ y


def filled_in_place(x):
    z = x * 1.0
    z[1] = np.inf
    y = np.nan_to_num(z, copy=False, posinf=2.0)
    y[0] *= x[3]
    return np.sum(z * x)


def filled_as_a_statement(x):
    z = x * 1.0
    z[0] = np.nan
    np.nan_to_num(z, False, 0.5)
    return z @ (x * x)


def arguments_filled(x):
    return np.sum(np.nan_to_num(x, copy=False) ** 3)


def several_of_a_rank(x):
    z = x * 1.0
    a, b = np.atleast_2d(z, x[1])
    a[0, 1] = x[2] ** 2
    p = np.atleast_1d(x[0] * 2.0, z)
    return z @ z * b[0, 0] + p[0][0] * np.sum(p[1])


def trimmed(x):
    # The adjoint of the first entry is zero: to trim it would be to take another view of it.
    z = x * 1.0
    a = np.trim_zeros(z)
    a[0] = 2 * x[1]
    return z[1] * z[1]


def trimmed_and_scaled(x):
    z = np.zeros(6)
    z[1:5] = x
    a = np.trim_zeros(z)
    a *= x
    a[0] = x[2]
    return np.sum(z * z) + z[2]


def conjugated(x):
    z = x * 1.0
    a = z.conj()
    a[0] = z[1] * z[1]
    a *= x
    return np.sum(z * z)


def scalar_type(x):
    z = x * 1.0
    a = np.float64(z)
    a[0] = 2 * z[1] * z[1]
    return np.sum(a * a * np.arange(4.0)) + np.sum(z**3)


def scalar_type_of_argument(x):
    a = np.float64(x)
    a[0] = 2 * x[1] * x[1]
    return np.sum(a * x * np.arange(1.0, 5.0))


def complex_scalar_type(x):
    z = x * (1.0 + 0.5j)
    a = np.complex128(z)
    a[0] = 2 * z[1] * z[1]
    return np.sum(np.abs(a * z) ** 2)


def other_scalar_type(x):
    counts = np.arange(4)
    a, b = np.float64(counts), np.asarray(counts, float)
    a[0], b[1] = x[0], x[1]
    return np.sum((a + b) * x)


def copy_of_a_list(x):
    items = [x[0], x[1], 2.0, 1.0]
    a = np.copy(items)
    a[0] = x[2] ** 2
    return np.sum(a * x) + sum(items)


def like_a_list(x):
    items = [1.0, 2.0, 3.0, 4.0]
    a, b = np.zeros_like(items), np.full_like(items, x[0])
    a[:] = x * x
    b[1:] += x[1:]
    return np.sum(2 * a) + np.sum((b + b) * x)


def made_of_a_list(x):
    items = [x[0], x[1], 2.0, 1.0]
    a = np.negative(items)
    a[0] = x[3]
    return np.sum((a + a) * x) + np.sum(3 * np.roll(items, 1) * x)


def more_axes(x):
    a = np.array(x, ndmin=2)
    b = np.array(x[0], ndmin=1)
    return np.sum(np.sum(a, axis=1) ** 2) + np.sum(a * x[:, None]) + np.sum(b * x)


def not_differenced(x, n=0):
    z = x.copy()
    a = np.diff(z, n)
    a[0] = 2 * z[1] * a[1]
    return np.sum(a * a) + np.sum(z**3)


def not_differenced_as_written(x):
    z = x.copy()
    a = np.diff(z, n=0)
    b = np.diff(z)
    a[1], b[0] = 2 * b[0] * a[1], b[1]
    return np.sum(a * a) + np.sum(z**3) + np.sum(b * b)


def unstacked(x):
    z = x.reshape(2, 2) * 1.0
    a = np.unstack(z)[0] if hasattr(np, "unstack") else np.split(z, 2)[0][0]
    a *= 0.5
    a[0] = 2 * z[1, 1] * a[1]
    return np.sum(a * a) + np.sum(z**3)


PROGRAMS = [
    taken_as_it_is,
    unstacked,
    *(not_differenced, not_differenced_as_written),
    *(scalar_type, scalar_type_of_argument, complex_scalar_type, other_scalar_type),
    *(copy_of_a_list, like_a_list, made_of_a_list, more_axes),
    *(trimmed, trimmed_and_scaled, conjugated),
    *(required, argument_required, filled_in_place, filled_as_a_statement, arguments_filled),
    several_of_a_rank,
    *(sliced_iterator, iterator_by_a_slice_with_a_name),
    *(cast, cast_without_copy, to_complex, raveled, raveled_by_columns, raveled_by_function),
    *(reshaped_by_columns, made_by_columns, part_raveled),
    *(as_array, as_other_array, flattened),
]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_both_modes(fn: Callable[..., Any]) -> None:
    v = np.array([1.0, 2.0, -1.0, 0.5])
    expected = agreement.slope(fn, (X,), [v])
    assert tl.grad(fn)(X) @ v == pytest.approx(expected, rel=1e-6)
    assert tl.jvp(fn, (X,), (v,))[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "fn",
    [cast, to_complex, raveled, trimmed_and_scaled, conjugated, not_differenced],
    ids=lambda fn: fn.__name__,
)
def test_reverse_over_reverse(fn: Callable[..., Any]) -> None:
    gradient, v = tl.grad(fn), np.array([1.0, 2.0, -1.0, 0.5])
    _, pullback = tl.vjp(gradient, X)
    u = np.array([0.2, -0.4, 1.0, 0.3])
    expected = agreement.slope(lambda x: float(gradient(x) @ u), (X,), [v])
    assert pullback(u)[0] @ v == pytest.approx(expected, rel=1e-6)


def columns_first(m, b):
    c = m.copy(order="F")
    v = c.reshape(-1)  # (a copy: c is laid out by columns)
    v[1] = b[0]
    return np.sum(c * c * m) + v[1]


def columns_raveled(m, b):
    c = m.copy(order="F")
    v = c.ravel()
    v[1:3] *= b[:2]
    return np.sum(c * c) + np.sum(v)


@pytest.mark.parametrize("f", [columns_first, columns_raveled])
def test_copies_by_columns_are_not_reshaped_in_place(f):
    b = np.array([0.4, 0.6, 0.9])
    tl.check_grads(f, (np.outer(b, b + 1.0), b))


def reciprocals(x):
    a = np.asarray(x[1])
    found = np.zeros_like(a)
    there = ~np.isnan(a.flat)
    found.flat[there] = 1.0 / a.flat[there]
    found.flat[~there] = np.nan
    return np.sum(found * x)


def test_flat_entries_of_an_array_of_rank_0():
    tl.check_grads(reciprocals, (np.array([0.4, 0.6, 0.9]),))


# ------------------------------------------------------- what NumPy writes while it reads


def joined(x, apart=False):
    m = np.outer(x, x[::-1]) + np.diag(x)
    parts = [m[2:].copy(), m[:2].copy()] if apart else [m[2:], m[:2]]
    np.concatenate(parts, out=m)
    return np.sum(m**2 * np.arange(16.0).reshape(4, 4))


def stacked(x, apart=False):
    m = np.outer(x, x[::-1]) + np.diag(x)
    n = m.copy() if apart else m
    np.stack([n[1], n[0], x, n[2]], out=m)
    return np.sum(m**2 * np.arange(16.0).reshape(4, 4))


def shifted(x, apart=False):
    m = np.outer(x, x[::-1]) + np.diag(x)
    v = m.ravel()[:-1].copy() if apart else m.ravel()[:-1]
    m.flat[1:] = v
    return np.sum(m**2 * np.arange(16.0).reshape(4, 4))


def turned(x, apart=False):
    m = np.outer(x, x[::-1]) + np.diag(x)
    v = m.ravel()[::-1]
    m.flat = v * 1.0 if apart else v
    return np.sum(m**2 * np.arange(16.0).reshape(4, 4))


def on_the_diagonal(x, apart=False):
    m = np.outer(x, x[::-1]) + np.diag(x)
    v = m[::-1, 0]
    np.fill_diagonal(m, v.copy() if apart else v)
    return np.sum(m**2 * np.arange(16.0).reshape(4, 4))


@pytest.mark.parametrize("f", [joined, stacked, shifted, turned, on_the_diagonal])
def test_views_that_are_read_while_they_are_written(f):
    """NumPy makes no copy of them first, as it does for `m[...] = v`: another value came out."""
    x = np.array([0.45, 0.72, 1.33, 0.21])
    tl.check_grads(f, (x, True), order=2)
    assert not np.isclose(f(x), f(x, True))
    for derive in (lambda: tl.grad(f)(x), lambda: tl.jvp(f, (x,), (x,))):
        with pytest.raises(tl.UnsupportedError, match="share memory"):
            derive()


def test_what_shares_no_memory_is_not_asked():
    def f(x):
        m = np.zeros((2, 4))
        np.stack([x, 2.0 * x], out=m)
        m.flat[4:] = np.sin(x)
        np.fill_diagonal(m, x[:2] * x[1])
        return np.sum(m**2)

    x = np.array([0.45, 0.72, 1.33, 0.21])
    tl.check_grads(f, (x,), order=2)
    assert "require_apart" not in tl.grad(f, example=(x,)).source
