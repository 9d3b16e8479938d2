"""Rules of conversions and of draws: what cannot be written as one call of an operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl


@pytest.mark.parametrize("convert", [np.complex128, complex])
def test_conversion_to_complex(convert: Any) -> None:
    def size(x: Any) -> Any:
        z = convert(x)
        return (z * z * 1j).imag

    tl.check_grads(size, (1.5,), order=2)


def test_conversion_to_complex64() -> None:
    def size(x: Any) -> Any:
        return (np.complex64(x) * 2.0).real

    assert tl.grad(size)(1.5) == 2.0


def test_conjugate() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    tl.check_grads(lambda z: np.sum((np.conjugate(z) * z * z).real), (z,), order=2)


def test_normal_draws_move_with_their_parameters() -> None:
    def draw(mean: float, scale: float) -> Any:
        np.random.seed(7)
        return np.sum(np.random.normal(mean, scale, 4) ** 2)

    value, (by_mean, by_scale) = tl.value_and_grad(draw, wrt=(0, 1))(0.5, 2.0)
    noise = (np.random.RandomState(7).normal(0.5, 2.0, 4) - 0.5) / 2.0
    assert value == pytest.approx(np.sum((0.5 + 2.0 * noise) ** 2))
    assert by_mean == pytest.approx(np.sum(2.0 * (0.5 + 2.0 * noise)))
    assert by_scale == pytest.approx(np.sum(2.0 * (0.5 + 2.0 * noise) * noise))


@pytest.mark.parametrize("name", ["normal", "uniform"])
@pytest.mark.parametrize("shape", [None, (), (2,)])
def test_draws_in_every_form(name: str, shape: Any) -> None:
    low = 0.5 if shape is None else np.full(shape, 0.5)

    def draw(low: Any, high: Any) -> Any:
        np.random.seed(7)
        if name == "normal":
            return np.sin(np.random.normal(low, high))
        return np.sin(np.random.uniform(low, high, size=(3, 2)))

    tl.check_grads(draw, (low, 2.0), order=2)


def test_softplus_where_scipy_has_it() -> None:
    special = pytest.importorskip("scipy.special")
    if not hasattr(special, "softplus"):
        pytest.skip("this SciPy has no softplus")
    tl.check_rule(special.softplus, np.array([-2.0, 0.0, 0.5]))


@pytest.mark.parametrize("dtype", [np.float64, "f8", np.dtype(float)])
def test_a_type_that_a_variable_names_behind_the_axis(dtype):
    def total(x, dtype):
        return x.cumsum(0, dtype)[-1] * x.cumsum()[0]

    tl.check_grads(total, (np.array([1.5, 2.5]), dtype), wrt=0)
    with pytest.raises(tl.UnsupportedError, match="a cast to int64"):
        tl.grad(total)(np.array([1.5, 2.5]), "i8")
