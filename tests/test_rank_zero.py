"""Arrays of rank 0 written in place, and NumPy scalars indexed: NumPy computes with both to scalars,
which take no item assignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tests import agreement

X = np.array([0.5, 0.7, 0.9])
PROGRAMS: list[Callable[..., Any]] = []


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(fn)
    return fn


@program
def added(x):
    z = np.zeros(())
    z[()] += x[0]
    z[...] *= x[1]
    y = np.array(x[0])
    y[()] *= x[2]
    return z * y


@program
def added_to_complex(x):
    z = np.zeros((), complex)
    z[()] += x[0]
    z[...] *= 1j * x[1]
    return np.abs(z + 1) ** 2


@program
def output(x):
    y = np.zeros(())
    np.add.reduce(x, 0, None, y)
    y *= x[0]
    return np.sum(x * x) * y


@program
def written_by_another_name(x):
    """`y += b` was made `y = y + b`, which is a number, and `z` a name of that."""
    y = np.array(x[0])
    y += x[1]
    z = y
    z *= x[2]
    return float(y) * x[0]


def doubled(y):
    y += y


@program
def written_by_a_helper_after_an_update(x):
    y = np.array(x[0])
    y += x[1]
    doubled(y)
    return y * x[2]


def square(y):
    y *= y
    np.multiply(y, 3.0, y)


@program
def written_by_a_helper(x):
    y = np.array(x[1])
    z = 2.0 * y
    square(y)
    return y * z


@program
def in_a_loop(x):
    y = np.zeros(())
    total = 0.0
    for v in x:
        y[...] = y * v + v
        total += y[()] * v
        y[()] -= 0.5 * v
    return total * y


@program
def in_a_branch(x):
    y = np.array(x[0])
    if x[1] > 0.0:
        y[...] = y * y
    z = 3.0 * y
    y[()] = z * x[2]
    return y * z


@program
def scalar_with_axes(x):
    top = np.max(x)
    return np.sum(x * top[..., None])


@program
def scalar_with_two_axes(x):
    s = np.sum(x)
    t = x[1]
    return np.sum(x * s[None]) + np.sum(t[None] * t[..., None, None]) * s[()] * s[...]


def spread(s):
    return s[..., None] * np.arange(3.0)


@program
def scalar_of_unknown_kind(x):
    return np.sum(spread(np.dot(x, x)) * spread(x[2])) + np.sum(spread(x[:1]))


@program
def one_entry_beside_a_number(x):
    return 0.5 + x[:1].reshape(())


@program
def copies_and_views_in_branches(x):
    a = np.squeeze(x[:1])
    s = 0.0
    for t in range(3):
        p, q, r = x[:1].reshape(()), a.T, np.transpose(a)
        u, v, w = a.transpose(), a.copy(), np.broadcast_to(a, (3,))
        if t > 1:
            s = s + p * q * r + u * v * w[0] + a.flatten()[0] ** 2
    return s


@program
def another_name_in_a_loop(x):
    a = np.array(x[0])
    b, s = a, 0.0
    for t in range(3):
        c = b
        if t != 1:
            b = b * x[t]
            s = s + c * c
        else:
            b = a
    return s * b


@program
def ravelled_in_a_loop(x):
    a, s = np.asarray(x[1]), 0.0
    for t in range(3):
        s = s + np.ravel(a)[0] ** 2 * x[t] + np.atleast_1d(a)[0]
    return s


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_both_modes(fn: Callable[..., Any]) -> None:
    v = np.array([1.0, 2.0, -1.0])
    expected = agreement.slope(fn, (X,), [v])
    assert tl.grad(fn)(X) @ v == pytest.approx(expected, rel=1e-6)
    assert tl.jvp(fn, (X,), (v,))[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_reverse_over_reverse(fn: Callable[..., Any]) -> None:
    gradient, v, u = tl.grad(fn), np.array([1.0, 2.0, -1.0]), np.array([0.2, -0.4, 1.0])
    _, pullback = tl.vjp(gradient, X)
    expected = agreement.slope(lambda x: float(gradient(x) @ u), (X,), [v])
    assert pullback(u)[0] @ v == pytest.approx(expected, rel=1e-5)


def times(y, a):
    y[...] *= a
    return y[()] * y


def test_of_an_argument() -> None:
    y, a = np.array(0.3), 1.7
    for example in ({}, {"example": (y, a)}):
        y_bar, a_bar = tl.grad(times, wrt=("y", "a"), **example)(y, a)
        assert y_bar == pytest.approx(2 * 0.3 * 1.7**2)
        assert a_bar == pytest.approx(2 * 1.7 * 0.3**2)
    assert y == 0.3


def test_a_buffer_of_rank_zero_is_written_twice() -> None:
    def ratio(x, y, out=None):
        if out is None:
            out = np.empty(x.shape[1:])
        if len(x) < 2:
            out[()] = np.nan
            return out
        active = x - y
        spread = np.nanstd(active, ddof=1, axis=0)
        with np.errstate(divide="ignore"):
            out = np.divide(np.nanmean(active, axis=0, out=out), spread, out=out)
        if x.ndim == 1:
            out = out.item()
        return out

    x, y = np.array([0.1, 0.2, -0.1, 0.3]), np.array([0.3, 0.1, 0.0, 0.1])
    tl.check_grads(ratio, (x, y))
    _, pull = tl.vjp(ratio, x, y)
    np.testing.assert_allclose(pull(1.0)[0], tl.grad(ratio)(x, y))


def test_directions_of_rank_zero_are_arrays() -> None:
    """They were numbers, into which a derivative that is differentiated again cannot write."""

    def written(r, s):
        r += s
        r *= s
        return r * r

    tl.check_grads(written, (np.array(0.7), 0.3), order=2)


def summed(alpha, y):
    total = 0.0
    for t in range(len(y)):
        total = total + np.sin(alpha) * y[t] * total + alpha
    return total


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [0, 3])
def test_adjoints_of_arguments_are_added_up_as_numbers(dtype: Any, count: int) -> None:
    alpha, y = np.array(0.4, dtype), X[:count].astype(dtype)
    df = tl.grad(summed, example=(alpha, y))
    alpha_bar = df(alpha, y)
    assert isinstance(alpha_bar, np.ndarray) and (alpha_bar.dtype, alpha_bar.shape) == (dtype, ())
    assert "alpha_bar = 0.0" in df.source
    expected = agreement.slope(summed, (np.array(0.4), X[:count]), [1.0, 0.0 * X[:count]])
    assert alpha_bar == pytest.approx(expected, rel=1e-5)


def moved_then_written(x):
    v = np.array(x)
    w = v - 2.0
    v[...] = 0.3
    return w * v


def negated_twice_then_written(x):
    v = np.array(x)
    w = 1.0 * v
    v += x * w
    return w * v


def written_by_flat_places(x):
    v = np.array(x)
    w = v * x
    v.flat[0] = 0.3
    return np.sum(v * w)


def written_under_a_mask(x):
    v = np.array(x)
    w = v * x * x
    v[v > 0.5] *= x
    return np.sum(v * w)


def as_a_complex_number(x):
    v = np.array(x)
    w = complex(v).real
    v += x
    return w * v


@pytest.mark.parametrize(
    "fn",
    [
        *(moved_then_written, negated_twice_then_written, written_by_flat_places),
        *(written_under_a_mask, as_a_complex_number),
    ],
)
def test_numbers_computed_before_the_array_is_written(fn):
    slope = (fn(0.7 + 1e-6) - fn(0.7 - 1e-6)) / 2e-6
    second = (fn(0.7 + 1e-4) - 2.0 * fn(0.7) + fn(0.7 - 1e-4)) / 1e-8
    assert tl.grad(fn)(0.7) == pytest.approx(slope)
    assert tl.jvp(fn, (0.7,), (1.0,))[1] == pytest.approx(slope)
    assert tl.hessian(fn)(0.7) == pytest.approx(second, abs=1e-4)


def copied_then_moved(x):
    v = np.array(x)
    w = v.copy()
    v += x
    return float(np.sin(w) + w * v * x)


def test_a_number_is_not_written_in_the_place_of_the_array_it_was_computed_of():
    second = (copied_then_moved(0.7001) - 2.0 * copied_then_moved(0.7)) / 1e-8
    second += copied_then_moved(0.6999) / 1e-8
    assert tl.grad(tl.grad(copied_then_moved))(0.7) == pytest.approx(second, abs=1e-4)


def of_no_entries(x, y):
    p = x * y
    q = p * 1.0
    w = p
    w[...] = w * y
    return np.sum(q * w) + np.sum(y * y)


def padded_without_axes(x):
    return np.sum(np.pad(np.array(x), 1) * x)


def test_adjoints_of_no_entries_are_zeros() -> None:
    x_bar, y_bar = tl.grad(of_no_entries, wrt=(0, 1))(np.zeros(0), np.array([0.7]))
    assert x_bar.shape == (0,) and y_bar == pytest.approx(1.4)
    assert tl.grad(padded_without_axes)(0.7) == pytest.approx(1.4)


def least_of_a_list(x):
    v = np.array(x)
    w = min([v, 9.0])
    return float(w * v)


def least_that_is_written(x):
    v = np.array(x)
    w = min([v, 9.0])
    v[...] = 0.3
    return float(w * v)


@pytest.mark.thorough
def test_an_item_that_is_written_has_its_own_tangent() -> None:
    tl.check_grads(least_of_a_list, (0.7,), order=2)
    tl.check_grads(least_that_is_written, (0.7,), order=2)


def updated_number(x, y):
    u = x * 1.0
    u += np.cos(y)
    return x * y, u * x


def updated_number_of_a_branch(x, y):
    u = x if y > 0 else 1.0
    u = u * 1.0 + 0
    u -= np.cos(y)
    return u + x * y


@pytest.mark.parametrize("fn", [updated_number, updated_number_of_a_branch])
def test_a_tangent_of_rank_zero_is_not_written_with_the_number_computed_of_it(fn) -> None:
    args, dots = (np.array(0.7), np.array(0.4)), (np.array(0.3), np.array(0.3))
    _, tangent = tl.jvp(fn, args, dots)
    assert dots == (0.3, 0.3)
    _, wanted = tl.jvp(fn, (0.7, 0.4), (0.3, 0.3))
    np.testing.assert_allclose(tangent, wanted, rtol=1e-12)


def added_to_itself(x, y):
    u = np.add(np.expand_dims(np.array(y), 0), y)
    return np.sum(np.sin(u)) + x * y


def cast_and_written(x, y):
    v = np.array(y)
    w = v.astype(float)
    np.sin(v, out=v)
    return w * v + x * y


def real_part(x, y):
    v = np.array(y)
    w = complex(v).real
    v *= y
    return w * v * x


@pytest.mark.parametrize("fn", [added_to_itself, cast_and_written, real_part])
@pytest.mark.parametrize("kind", [float, np.array])
def test_seeds_of_gradients_of_rank_zero(fn, kind) -> None:
    """Gradients are computed as numbers, and handed out as arrays: so come their seeds."""
    args, seeds = (kind(0.7), kind(0.4)), (kind(0.3), kind(0.2))
    _, pullback = tl.vjp(tl.grad(fn, (0, 1)), *args)
    for _ in range(2):
        got = pullback(seeds)
    assert seeds == (0.3, 0.2)
    _, wanted = tl.jvp(tl.grad(fn, (0, 1)), args, seeds)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    ahead, behind = (tl.grad(fn, (0, 1))(0.7 + t * 0.3, 0.4 + t * 0.2) for t in (1e-6, -1e-6))
    np.testing.assert_allclose(got, (np.array(ahead) - behind) / 2e-6, rtol=1e-6)
