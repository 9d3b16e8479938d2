"""Rules of `scipy.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.testing import check_rule
from tests.rule_cases import signed, spd
from tests.sampled import one_in

linalg = pytest.importorskip("scipy.linalg")


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [0, 1, "T"])
@pytest.mark.parametrize("unit", one_in(2, [True, False]))
@pytest.mark.parametrize("b", [signed(3), signed(3, 2)], ids=["vector", "matrix"])
def test_solve_triangular(lower: bool, trans: object, unit: bool, b: np.ndarray) -> None:
    check_rule(
        linalg.solve_triangular,
        spd(3),
        b,
        trans=trans,
        lower=lower,
        unit_diagonal=unit,
        check_order=2 if trans == 0 else 1,
    )


@pytest.mark.parametrize("widths", [(0, 1), (1, 0), (1, 1), (2, 1)])
def test_solve_banded(widths: tuple[int, int]) -> None:
    ab = signed(sum(widths) + 1, 5) + 4.0 * (np.arange(sum(widths) + 1) == widths[1])[:, None]
    check_rule(linalg.solve_banded, widths, ab, signed(5))
    check_rule(linalg.solve_banded, widths, ab, signed(5, 2), check_order=1)


CASES = {
    "solve": (linalg.solve, spd(3), signed(3, 2)),
    "solve a vector": (linalg.solve, spd(3), signed(3)),
    "solve_sylvester": (linalg.solve_sylvester, spd(2), spd(3), signed(2, 3)),
    "inv": (linalg.inv, spd(3)),
    "det": (linalg.det, spd(3)),
    "norm": (linalg.norm, signed(3)),
    "sqrtm": (linalg.sqrtm, spd(3)),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    check_rule(*CASES[name])


def test_expm() -> None:
    check_rule(linalg.expm, 0.3 * signed(3, 3), check_order=1)


def cholesky_both(a):
    b = a @ a.T + np.eye(3)
    return np.sum(linalg.cholesky(b) ** 3) + np.sum(linalg.cholesky(b, lower=True) ** 2)


def eigen(a):
    w, v = linalg.eigh(a + a.T)
    return np.sum(w**2) + np.sum(v**4) + np.sum(linalg.eigvalsh(a + a.T) ** 3)


def of_any_matrix(a):
    w, v = linalg.eig(a)
    turned = linalg.eig(a, right=False) - 2.0 * linalg.eigvals(a @ a)
    return np.sum(np.abs(w * v[0]) ** 2) + np.sum(turned.imag**2 + turned.real)


@pytest.mark.thorough
def test_eigenvalues_of_any_matrix() -> None:
    """(Refused before.) Real and complex ones."""
    for a in ([[2.0, 1.0], [0.2, 3.0]], [[0.3, 1.0], [-1.2, 0.1]]):
        tl.check_grads(of_any_matrix, (np.array(a),), order=2)
        assert linalg.eigvals(np.array(a)).dtype == complex


@pytest.mark.parametrize("fn", [cholesky_both, eigen])
def test_symmetric(fn: object) -> None:
    tl.check_grads(fn, (signed(3, 3),))


@pytest.mark.parametrize("function", ["sqrtm", "logm"])
def test_functions_of_matrices_that_turn_complex(function: str) -> None:
    """A real matrix with a negative eigenvalue has a complex root and logarithm."""
    of_matrix = getattr(linalg, function)

    def size(a):
        y = of_matrix(a)
        return np.sum(np.abs(y) ** 2) + np.sum(np.real(y * y * y))

    for matrix in ([[-1.5, 0.3], [0.2, 2.0]], [[1.5, 0.3], [0.2, 2.0]]):
        a = np.array(matrix)
        wanted = np.zeros((2, 2))
        for place in np.ndindex(2, 2):
            step = np.zeros((2, 2))
            step[place] = 1e-6
            wanted[place] = (size(a + step) - size(a - step)) / 2e-6
        np.testing.assert_allclose(tl.grad(size)(a), wanted, rtol=1e-5, atol=1e-6)


def test_real_systems_with_complex_sides() -> None:
    a = np.array([[-1.5, 0.3], [0.2, 2.0]])
    q = np.array([[1.0, 0.2], [0.3, 1.5]]) + 0.5j * np.array([[0.0, 1.0], [2.0, 0.0]])

    def size(a, q):
        return np.sum(np.abs(linalg.solve_continuous_lyapunov(a, q)) ** 2)

    tl.check_grads(size, (a, q), wrt=(0, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("trans", one_in(2, [0, 1]))
@pytest.mark.parametrize("shape", one_in(2, [(3,), (3, 2)], 1))
def test_a_matrix_factored_once_and_solved_several_times(trans: int, shape: Any) -> None:
    """The first row is exchanged for another one."""

    def solved(a, b):
        lu, piv = linalg.lu_factor(a)
        x = linalg.lu_solve((lu, piv), b, trans=trans)
        return np.sum(linalg.lu_solve((lu, piv), x) ** 2) + np.sum(np.log(np.abs(np.diag(lu))))

    a = np.array([[0.3, 2.5, 0.2], [4.0, 0.5, 0.3], [0.1, 0.6, 2.0]])
    tl.check_grads(solved, (a, np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)), order=2)


@pytest.mark.thorough
def test_a_complex_matrix_factored() -> None:
    def solved(a):
        factors = linalg.lu_factor(a + 1j * a.T**2)
        return np.sum(np.abs(linalg.lu_solve(factors, np.ones(2) + 0j, trans=2)) ** 2)

    tl.check_grads(solved, (np.array([[0.3, 2.5], [4.0, 0.5]]),), order=2)
