"""Operations read as programs compute what NumPy computes; joins by index; writes by position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import programs
from tests import agreement
from tests.rule_cases import array, signed
from tests.sampled import one_in

X, V, W = signed(3, 4), signed(5), signed(3, seed=1)

SAME: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = [
    (np.apply_along_axis, programs.apply_along_axis, (np.sum, 0, X)),
    (np.apply_along_axis, programs.apply_along_axis, (np.cumsum, -1, X)),
    (
        np.apply_along_axis,
        programs.apply_along_axis,
        (lambda t: np.outer(t, t), 1, signed(2, 3, 2)),
    ),
    (np.apply_along_axis, programs.apply_along_axis, (lambda t, n: t**n, 0, X, 3)),
    (np.apply_over_axes, programs.apply_over_axes, (np.sum, signed(2, 3, 2), [0, -1])),
    (np.apply_over_axes, programs.apply_over_axes, (np.max, X, 1)),
    (np.poly, programs.poly, (V,)),
    (np.roots, programs.roots, (V,)),
    (np.roots, programs.roots, (np.array([0.0, 1.0, -3.0, 2.0, 0.0]),)),
    (np.union1d, programs.union1d, (X, X[0])),
    (np.intersect1d, programs.intersect1d, (V, V[1:3])),
    (np.setdiff1d, programs.setdiff1d, (V, V[1:3])),
    (np.setxor1d, programs.setxor1d, (V, np.append(V[1:3], 9.0))),
    (np.kaiser, programs.kaiser, (6, 1.5)),
    (np.kaiser, programs.kaiser, (1, 1.5)),
    *[(np.fft.hfft, programs.hfft, (V + 0j, 7, -1, n)) for n in (None, "ortho", "forward")],
    *[(np.fft.ihfft, programs.ihfft, (V, 4, -1, n)) for n in (None, "ortho", "forward")],
    (np.linalg.tensorinv, programs.tensorinv, (np.eye(6).reshape(6, 2, 3) + 0.1, 1)),
]


@pytest.mark.parametrize(("op", "program", "args"), SAME)
def test_same_as_numpy(op: Callable[..., Any], program: Callable[..., Any], args: Any) -> None:
    expected, found = op(*args), program(*args)
    assert np.shape(expected) == np.shape(found)
    np.testing.assert_allclose(
        np.sort_complex(np.ravel(found)), np.sort_complex(np.ravel(expected))
    )


@pytest.mark.parametrize(("u", "v"), [(V, W), (W, V), (np.array([1.0, 2.0, 1.0]), np.ones(2))])
def test_polydiv_is_numpys(u: np.ndarray, v: np.ndarray) -> None:
    for expected, found in zip(np.polydiv(u, v), programs.polydiv(u, v), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def cube(t):
    return t**3 if t > 0.5 else t * t


ELEMENTWISE = np.vectorize(cube)


@np.vectorize
def of_two(a, b):
    return a * b + a**2


def vectorized(x):
    return ELEMENTWISE(x) + np.vectorize(cube)(x) * of_two(x, x[0])


def pieces(x):
    k = x[0, 0]
    return np.piecewise(x, [x < 0.3, x >= 0.9], [-1.0, lambda t: k * t**3, cube_all])


def cube_all(t):
    return t**3


def along(x):
    return np.apply_along_axis(lambda t: np.sum(t**2) * t, 1, x) * np.sum(np.poly(x[0]))


def rows_and_columns(x):
    return np.sum(np.r_[0.5, x[0], x[1, 1]] ** 2) * np.c_[x, x**2] + np.sum(np.r_[x, x] ** 3)


def unchanged(x):
    return np.poly(np.array([1.0, 2.0]))[1] * x + np.r_[1.0, 2.0, 3.0, 4.0]


def scattered(x):
    y = x * 2.0
    np.put(y, [0, 5], x[0, 0] ** 2)
    np.place(y, x > 0.6, x[0, :3] ** 2)
    np.putmask(y, x < 0.4, x[1] ** 3)
    np.put_along_axis(y, np.argmax(x, axis=1, keepdims=True), x[:, :1] * 3.0, 1)
    y.put([2, 3], x[2, :2])
    return y * y


def spread_along_axis(x):
    y = np.zeros((3, 4, 4)) + x[:, :, None]
    np.put_along_axis(y, np.array([[[1, 0]]]), x[:, :, None] ** 2, 2)
    return y * y


def flat(x):
    total = 0.0
    for entry in x.flat:
        total = total + entry * entry
    return total * x.flat[2] * x.mT


PROGRAMS = (vectorized, pieces, along, rows_and_columns, unchanged, scattered, flat)
PROGRAMS += (spread_along_axis,)


@pytest.mark.parametrize("fn", PROGRAMS)
def test_derivatives(fn: Callable[..., Any]) -> None:
    x = array(3, 4)
    tl.check_grads(fn, (x,))
    np.testing.assert_allclose(tl.vjp(fn, x)[0], fn(x), rtol=1e-12)


def test_shapes_at_the_edge() -> None:
    column, row = array(3, 1), array(1, 3)
    tl.check_grads(lambda x, y: np.vdot(x, y), (column, row), order=2)
    tl.check_grads(lambda x: np.cumsum(x, axis=-1), (np.array(0.5),), order=2)
    tl.check_grads(lambda x: np.cumprod(x, axis=0), (np.array(0.5),), order=2)


def column_means(x):
    return np.mean(x, axis=0)


def log_determinant(x):
    return np.linalg.slogdet(x)[1]


def test_texts_say_each_thing_once() -> None:
    square = (array(3, 3),)
    means = tl.autodiff(column_means, example=square).source
    assert ", np.full_like(x, mean_x_seed / x.shape[0])" in means
    assert "return np.linalg.inv(x).T" in tl.grad(log_determinant, example=square).source


def masked_reductions(x):
    mask = np.array([[True], [False], [True]])
    total = np.logaddexp.reduce(x, axis=0, where=mask)
    return total + np.hypot.reduce(x, axis=0, where=mask) * np.logaddexp.reduce(x[:, 0])


def spreads_of_a_type(x):
    return np.std(x, axis=0, dtype=x.dtype) * x.var(dtype=x.dtype)


def entries_of_rank_zero(x):
    s = np.array(x[0, 0] * x[0, 1])
    doubled = s * 2.0
    return s[()] * doubled * s


def ramps(x):
    return np.pad(x, (1, 2), "linear_ramp", end_values=(0.2, x[0, 0]))


def chain(x):
    return np.linalg.multi_dot([x, np.eye(4), x.T * x[0, 0], x[:, 1]])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fn", one_in(2, [masked_reductions, spreads_of_a_type, entries_of_rank_zero, ramps, chain])
)
def test_options_and_forms_to_second_order(fn: Callable[..., Any]) -> None:
    x = np.abs(array(3, 4)) + 0.1
    value, _ = tl.vjp(fn, x)
    np.testing.assert_allclose(value, fn(x), rtol=1e-13)
    tl.check_grads(fn, (x,))
    weights, v = np.cos(np.arange(np.size(value)) + 1.0).reshape(np.shape(value)), np.sin(x)

    def along(x: Any) -> Any:
        return np.sum(fn(x) * weights)

    gradient = tl.grad(along)
    curve = agreement.slope(lambda x: np.sum(gradient(x) * v), (x,), [v])
    assert agreement.close(float(np.sum(tl.hvp(along)(x, v) * v)), curve, 1e-5)


# Lists of conditions and choices that change after they were made.


def appended_conditions(x):
    conditions, choices = [x > 0.6], [x * x[0]]
    conditions.append(x < 0.4)
    choices.append(x**2)
    return np.sum(np.select(conditions, choices, x[1]))


def replaced_choices(x):
    conditions, choices = [x > 0.6, x < 0.4], [x * x[0], x]
    choices[1] = x**3
    conditions[0] = x > 0.9
    return np.sum(np.select(conditions, choices, x[1]))


def choices_of_an_earlier_iteration(x):
    total, c = 0.0, x[0]
    choices = [x, c]
    for k in range(3):
        total = total + np.sum(np.select([x > 0.6, x < 0.4], choices, 1.0))
        c = c * 2.0
        choices = [x * c, c] if k else choices
    return total


def conditions_before_a_loop(x):
    y, conditions = x * 1.0, [x > 0.6, x < 0.4]
    for _ in range(2):
        y = np.select(conditions, [y * x[0], y**2], y + x[1])
    return np.sum(y)


def pieces_of_itself(x):
    y, pieces = x - 0.6, [lambda t: t * x[0], lambda t: t**2]
    for _ in range(2):
        y = np.piecewise(y, [y > 0.0, y <= 0.0], pieces)
    return np.sum(y)


def chosen_from_a_reversed_list(x):
    choices = [np.sqrt(x), x * x[0]]
    choices.reverse()
    return np.sum(np.choose([0, 1, 1, 0, 0], choices))


CHANGED = [
    appended_conditions, replaced_choices, choices_of_an_earlier_iteration,
    conditions_before_a_loop, pieces_of_itself, chosen_from_a_reversed_list,
]  # fmt: skip


@pytest.mark.parametrize("fn", CHANGED, ids=lambda fn: fn.__name__)
def test_lists_that_change(fn: Callable[..., Any]) -> None:
    """What stood in a list when it was made was taken for what it holds at the call."""
    tl.check_grads(fn, (np.array([0.3, 0.7, 0.95, 0.5, 0.2]),), order=2)


def reversed_pieces(x):
    pieces = [lambda t: t * 2.0, lambda t: t**2]
    pieces.reverse()
    return np.sum(np.piecewise(x, [x > 0.5, x <= 0.5], pieces))


def places_in_common(x):
    """Constants are given what the programs of these operations do not take."""
    _, i, j = np.intersect1d([1, 3, 4], [3, 4, 0], return_indices=True)
    k = np.intersect1d(np.where(x > 0.25)[0], np.where(x < 0.9)[0], assume_unique=True)
    return np.sum(x[i] * x[j] ** 2) * np.sum(x[k])


def test_programs_that_do_not_take_all_arguments() -> None:
    x = np.array([0.3, 0.7, 0.95, 0.5, 0.2])
    tl.check_grads(places_in_common, (x,), order=2)
    tl.check_grads(lambda x: np.setdiff1d(x[::-1], x[:2], assume_unique=True) * x[:3], (x,))
    with pytest.raises(tl.UnsupportedError, match="np.intersect1d with these arguments"):
        tl.grad(lambda x: np.sum(np.intersect1d(x, x, return_indices=True)[0]))(x)


def test_pieces_that_are_not_seen_are_refused() -> None:
    with pytest.raises(tl.UnsupportedError, match="piecewise"):
        tl.grad(reversed_pieces)(V)


def divided(x):
    z = np.exp(1j * x)
    quotient, rest = np.polydiv(z, z[:2])
    other, _ = np.polydiv(x, z[1:3])
    return np.sum(np.abs(quotient) ** 2) + np.sum(np.abs(rest) ** 3) + np.sum(np.abs(other))


@pytest.mark.thorough
def test_quotients_of_complex_polynomials() -> None:
    """They were stored in an array of real numbers."""
    tl.check_grads(divided, (V,), order=2)


def along_with_more(x):
    rows = np.outer(x, x)
    scaled = np.apply_along_axis(
        lambda row, c, shift=0.0: row * c + shift, 1, rows, x[0], shift=2.0
    )
    return np.sum(np.apply_along_axis(lambda row, c: np.sum(row**2) * c, 0, scaled, c=x))


@pytest.mark.thorough
def test_more_arguments_of_a_function_along_an_axis() -> None:
    tl.check_grads(along_with_more, (V,), order=2)


def grids(x):
    a, b, c = x, x[:3] ** 2, x[2:] * x[0]
    dense = np.meshgrid(a, b, c, indexing="ij")
    p, q = np.meshgrid(a, b, sparse=True)
    return np.sum(p**2 * q) + np.sum(dense[0] * dense[1] * dense[2])


def test_sparse_grids_to_second_order() -> None:
    """The adjoint of an adjoint had the shape of a dense grid."""
    tl.check_grads(grids, (V,), order=2)


# What is not followed is refused: none of these is a silent zero.
SIGNED = np.vectorize(np.sum, signature="(n)->()")

NOT_FOLLOWED = [
    lambda x: np.mgrid[0 : x[0, 0] : 3j],
    lambda x: np.r_[0:3, x[0]],
    lambda x: SIGNED(x),
    lambda x: np.vectorize(cube, otypes=[float])(x),
]


@pytest.mark.parametrize("fn", NOT_FOLLOWED)
def test_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(tl.UnsupportedError):
        tl.vjp(fn, array(3, 4))[1](1.0)
