"""Rules of `scipy.signal`, and those of matrices that are sparse or functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_rule
from tests.operation_list import REFUSED
from tests.rule_cases import array, signed, spd
from tests.sampled import one_in
from tests.test_operations import program, values

signal = pytest.importorskip("scipy.signal")
linalg = pytest.importorskip("scipy.linalg")
sparse = pytest.importorskip("scipy.sparse")

A = signed(4, 3)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", [((5,), (3,)), ((2,), (5,)), ((3, 4), (2, 2))])
def test_convolve(mode: str, shapes: tuple[Any, Any]) -> None:
    check_rule(signal.convolve, signed(*shapes[0]), signed(*shapes[1]), mode=mode, check_order=1)


def test_fftconvolve() -> None:
    check_rule(signal.fftconvolve, signed(3, 4), signed(2, 2), "same", check_order=1)


def test_convolve_complex() -> None:
    check_rule(signal.convolve, signed(4) + 1j * signed(4, seed=1), signed(2) - 0.5j)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:logm")
def test_second_order() -> None:
    check_rule(signal.convolve, signed(4), signed(2), mode="same", check_order=2)
    check_rule(signal.lfilter, signed(2), np.array([1.0, 0.3]), signed(4), check_order=2)
    check_rule(signal.lfilter, 0.7, 1.3, signed(4), check_order=2)
    check_rule(linalg.logm, spd(2), check_order=2)


@pytest.mark.parametrize("axis", [0, -1])
def test_lfilter(axis: int) -> None:
    check_rule(signal.lfilter, array(2), np.array([1.5, 0.3, -0.2]), signed(3, 4), axis=axis)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_constants(make: Any) -> None:
    m = make(A)

    def products(x, y):
        return np.sum((m @ x) ** 2) + np.sum(m.T.dot(y) ** 3) + np.sum((y @ m) * x)

    tl.check_grads(products, (signed(3), signed(4)))


@pytest.mark.parametrize("m", [sparse.csr_matrix(A), np.matrix(A)], ids=["sparse", "numpy"])
def test_matrices_are_refused_as_arguments(m: Any) -> None:
    def product(x, m):
        return np.sum(m * x)

    with pytest.raises(tl.TangentlikeError, match="not the elementwise product"):
        tl.grad(product)(signed(3), m)


@pytest.mark.parametrize("name", ["ndarray.resize", "ndarray.getfield"])
def test_refusals_say_what_to_write_instead(name: str) -> None:
    (call,) = [row[1] for row in REFUSED if row[0] == name]
    with pytest.raises(tl.UnsupportedError, match="Instead: "):
        tl.grad(program(call))(*values((5,)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "coefficients"),
    one_in(4, map(pytest.param, (1, 5, 2, 5), ((3, 3), (2, 3), (3, 2), (3, 3)))),
)
def test_a_filter_from_a_state_to_a_state(size: int, coefficients: tuple[int, int]) -> None:
    """Whatever is longer, the signal or what the filter remembers."""
    rng = np.random.default_rng(size)
    b, a = (rng.uniform(0.3, 1.0, n) for n in coefficients)
    x, zi = rng.normal(size=(2, size)), rng.normal(size=(2, 2))

    def energy(b, a, x, zi):
        y, zf = signal.lfilter(b, a + np.array([1.0] + [0.0] * (len(a) - 1)), x, zi=zi)
        return np.sum(y**2) + np.sum(zf**3)

    tl.check_grads(energy, (b, a, x, zi), order=2)


def test_a_filter_along_the_first_axis_in_two_parts_is_the_whole() -> None:
    def whole(x):
        return np.sum(np.sin(signal.lfilter([0.3, 0.2], [1.0, -0.4], x, axis=0)))

    def in_parts(x):
        state = np.zeros((1, 2))
        total = 0.0
        for part in (x[:3], x[3:]):
            y, state = signal.lfilter([0.3, 0.2], [1.0, -0.4], part, axis=0, zi=state)
            total = total + np.sum(np.sin(y))
        return total

    x = np.random.default_rng(0).normal(size=(7, 2))
    np.testing.assert_allclose(tl.grad(in_parts)(x), tl.grad(whole)(x), rtol=1e-12)
