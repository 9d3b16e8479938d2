"""Rules met as methods and attributes of arrays; kinks, dtypes, complex numbers; emitted text."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import runtime
from tests.rule_cases import signed, spd


def reduced(x):
    return x.sum() + x.mean(1).sum() ** 2 + x.sum(axis=(0, 1)) * x.max(axis=0).sum()


def reduced_more(x):
    return x.min() * x.prod(axis=1, keepdims=True).sum() + x.var(ddof=1) + x.std(0).sum()


def reshaped(x):
    a = x.reshape(3, 2) @ x.reshape((2, 3))
    b = x.reshape(-1, 6).ravel() * x.flatten()
    return np.sum(a**2) + np.sum(b) + np.sum(x.reshape(6, order="F")[:3] ** 3)


def turned(x):
    y = np.zeros((2, 3, 2)) + x[:, :, None]
    return np.sum(y.transpose(2, 0, 1) * y.transpose((2, 0, 1))) + np.sum(y.transpose() ** 3)


def turned_more(x):
    return np.sum(x.T @ x) + np.sum(x.swapaxes(0, 1)[0] ** 2) + np.sum(x.T.T**3)


def picked(x):
    return np.sum(x.take([0, 3, 3]) ** 2) + np.sum(x.diagonal() ** 3) + x.trace() ** 2


def repeated(x):
    return np.sum(x.repeat(2, axis=1) ** 2) + np.sum(x.cumsum() ** 2) + x.cumprod(axis=1).sum()


def dotted(x):
    return x.T.dot(x).sum() + x.copy().sum() ** 2 + x.compress([True, False], axis=0).sum() ** 2


def squeezed(x):
    return np.sum(x[None].squeeze() ** 2) + np.sum(x[:1].squeeze(axis=0) ** 3) + x[0, 0].item()


def cast(x):
    return np.sum(x.astype(np.float64) ** 2) + np.sum(x.astype(x.dtype) ** 3)


METHODS = (
    *(reduced, reduced_more, reshaped, turned, turned_more, picked, repeated, dotted, squeezed),
    cast,
)


@pytest.mark.parametrize("fn", METHODS)
def test_methods(fn: Callable[..., object]) -> None:
    tl.check_grads(fn, (signed(2, 3),))


# ----------------------------------------------------------------------------------- kinks


def gradient(fn: Callable[..., object], *args: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tl.grad(fn)(*args)


def test_ties_share_equally() -> None:
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    third = 1.0 / 3.0
    np.testing.assert_allclose(gradient(lambda a: np.max(a), x), [[0, 0.5, 0.5], [0, 0, 0]])
    np.testing.assert_allclose(
        gradient(lambda a: np.sum(np.min(a, axis=1)), x), [[1, 0, 0], [third, third, third]]
    )


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7])
def test_std_of_a_constant(value: float) -> None:
    found = gradient(lambda a: np.std(a), np.full(3, value))
    np.testing.assert_allclose(found, np.zeros(3), atol=1e-12)


@pytest.mark.parametrize("ord", [None, 1, 2, 3, math.inf])
def test_norm_of_zero(ord: float | None) -> None:
    found = gradient(lambda a: np.linalg.norm(a, ord), np.zeros(3))
    np.testing.assert_array_equal(found, np.zeros(3))


def test_det_of_a_singular_matrix() -> None:
    found = gradient(lambda a: np.linalg.det(a), np.array([[1.0, 2.0], [2.0, 4.0]]))
    np.testing.assert_allclose(found, [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)


def test_products_with_zeros() -> None:
    found = gradient(lambda a: np.prod(a), np.array([2.0, 0.0, 3.0]))
    np.testing.assert_array_equal(found, [0.0, 6.0, 0.0])
    found = gradient(lambda a: np.sum(np.cumprod(a)), np.array([2.0, 0.0, 3.0]))
    np.testing.assert_array_equal(found, [1.0, 8.0, 0.0])


def test_a_median_that_may_overwrite_its_input() -> None:
    def spread(x):
        middle = np.median
        rest = np.nanmedian(x * x, overwrite_input=True) + np.median(x, 0, overwrite_input=True)
        return middle(np.abs(x - 0.1), overwrite_input=True) + rest

    tl.check_grads(spread, (np.array([0.5, -1.2, 2.0, 0.8]),), order=2)


def test_median_takes_the_middle_two_by_halves() -> None:
    found = gradient(lambda a: np.median(a), np.array([4.0, 1.0, 3.0, 2.0]))
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.5, 0.5])


def test_casts_to_integers_are_no_silent_zero() -> None:
    def f(x, kind):
        return np.sum(x.astype(kind) * x)

    with pytest.raises(tl.UnsupportedError, match="cuts the derivative"):
        tl.grad(f)(signed(3), np.dtype(int))


def test_out_by_position() -> None:
    def f(x, y):
        z = np.sum(x, 0, None, y)
        return np.sum(z * y)

    tl.check_grads(f, (signed(3, 2), np.zeros(2)), wrt=0)


# -------------------------------------------------------------------------- complex numbers


SPD = spd(3)


def complex_matmul(x):
    z = x[0] + 1j * x[1]
    return np.sum(np.abs(np.outer(z, z) @ z) ** 2) + np.real(np.vdot(z, z * z))


def complex_einsum(x):
    z = x[0] + 1j * x[1]
    return np.real(np.einsum("i,j,i->", z, z, z)) + np.imag(np.tensordot(z, z, 1))


def complex_solve(x):
    a = SPD + 1j * np.outer(x[0], x[1])
    y = np.linalg.solve(a, x[0] + 1j * x[1])
    return np.sum(np.abs(y) ** 2) + np.sum(np.abs(np.linalg.inv(a)) ** 2)


def complex_eigh(x):
    a = np.outer(x[0], x[1]) + 1j * np.outer(x[1], x[0] ** 2)
    w, v = np.linalg.eigh(a + np.conj(a.T))
    return np.sum(w**3) + np.sum(np.abs(v) ** 4)


def complex_determinant(x):
    a = SPD + 1j * np.outer(x[0], x[1])
    return np.abs(np.linalg.det(a)) ** 2 + np.linalg.slogdet(a)[1]


def complex_norms(x):
    z = x[0] + 1j * x[1]
    return np.linalg.norm(z) + np.linalg.norm(z, 1) + np.var(z) + np.std(z)


COMPLEX = (
    *(complex_matmul, complex_einsum, complex_solve, complex_eigh, complex_determinant),
    complex_norms,
)


@pytest.mark.parametrize("fn", COMPLEX)
def test_complex_intermediates(fn: Callable[..., object]) -> None:
    tl.check_grads(fn, (signed(2, 3),))


# ---------------------------------------------------------------------------- emitted text


def lines(fn: Callable[..., object], *example: object, wrt: object = 0) -> str:
    return tl.grad(fn, wrt=wrt, example=example).source


def test_text_of_products_of_known_rank() -> None:
    def f(a, b, v):
        return np.sum(np.tanh(a @ b) @ v)

    text = lines(f, signed(2, 3), signed(3, 4), signed(4), wrt=("a", "b", "v"))
    assert "@ b.T" in text and "a.T @" in text and "np.outer(" in text
    assert "matmul_bar" not in text


def test_text_of_einsum() -> None:
    def f(a, b):
        return np.sum(np.einsum("ij,jk->ik", a, b) ** 2)

    text = lines(f, signed(2, 3), signed(3, 4), wrt=("a", "b"))
    assert "np.einsum('ik,jk->ij', " in text and "np.einsum('ik,ij->jk', " in text


def test_text_of_sums() -> None:
    def f(x):
        return np.sum(np.sum(x, axis=1) ** 2)

    assert "[:, None]" in lines(f, signed(2, 3))


@pytest.mark.parametrize(
    "name", [n for n in vars(runtime) if n.startswith("un") and callable(vars(runtime)[n])]
)
def test_adjoint_helpers_say_what_they_do(name: str) -> None:
    assert getattr(runtime, name).__doc__


PLACES = np.array([0.1, 0.35, 0.5, 0.9, 1.2, 1.25])
FIELD = np.random.default_rng(3).normal(size=(6, 4))


def slopes_by_places(x):
    return np.sum(np.gradient(np.sin(x), x, edge_order=2) ** 2)


def slopes_by_a_step(x):
    dx = x[1] - x[0]
    return np.sum(np.gradient(np.gradient(np.sin(x), dx), dx) ** 2)


def slopes_along_two_axes(x):
    a, b = np.gradient(FIELD * x[:, None], x, x[:4] ** 2 + 0.2)
    return np.sum(a * b)


def slopes_along_a_named_axis(x):
    return np.sum(np.gradient(FIELD, x**2, axis=-2) ** 2)


def one_step_for_two_axes(x):
    a, b = np.gradient(FIELD, x[0])
    return np.sum(a**2 * b)


def slopes_of_complex_values(x):
    z = x * np.exp(1j * x * FIELD[:, 0])
    return np.sum(np.abs(np.gradient(z, x) * (1 + 2j) + np.gradient(z, x[0])) ** 2)


def slopes_by_listed_places(x):
    return np.sum(np.gradient(FIELD[:, 0], [x[0], x[1], x[2], x[3], x[4], x[5]]) ** 2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "f",
    [
        slopes_by_places,
        slopes_by_a_step,
        slopes_along_two_axes,
        slopes_along_a_named_axis,
        one_step_for_two_axes,
        slopes_of_complex_values,
        slopes_by_listed_places,
    ],
)
def test_slopes_by_what_varies_of_the_places(f):
    tl.check_grads(f, PLACES, order=2)
