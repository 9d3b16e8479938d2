"""Adjoints of products and reductions by as few and as large products as there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.runtime import cofactors, greater_share, inverse_of_lower
from tangentlike.runtime.products import dot_bar_a, dot_bar_b, matmul_bar_a, matmul_bar_b

RNG = np.random.default_rng(4)


def real(*shape: int) -> np.ndarray:
    return RNG.random(shape) - 0.3


def other(*shape: int) -> np.ndarray:
    return real(*shape) + 1j * real(*shape)


@pytest.mark.parametrize("make", [real, other])
@pytest.mark.parametrize("lead", [(3,), (2, 3), (1,), (2, 1, 3)])
def test_stack_by_matrix(make: Callable[..., Any], lead: tuple[int, ...]) -> None:
    a, b, g = make(*lead, 4, 5), make(5, 6), make(*lead, 4, 6)
    np.testing.assert_allclose(matmul_bar_a(g, a, b), np.einsum("...ik,jk->...ij", g, b.conj()))
    each = np.einsum("...ki,...kj->...ij", a.conj(), g)
    np.testing.assert_allclose(matmul_bar_b(g, a, b), each.sum(axis=tuple(range(len(lead)))))
    turned = np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)
    np.testing.assert_allclose(matmul_bar_b(g, turned, b), matmul_bar_b(g, a, b))
    tl.check_grads(lambda a, b: np.sum(np.sin((a @ b).real)), (a.real, b.real), order=2)


def test_real_operand_of_a_complex_product() -> None:
    a, b, g = real(3, 4, 5), other(5, 6), other(3, 4, 6)
    assert matmul_bar_a(g, a, b).dtype == float
    single = matmul_bar_b(real(3, 4, 6), real(3, 4, 5).astype(np.float32), b.real.astype("f4"))
    assert single.dtype == np.float32


@pytest.mark.parametrize("shapes", [((5,), (5,)), ((4, 5), (5,)), ((5,), (5, 6)), ((4, 5), (5, 6))])
@pytest.mark.parametrize("make", [real, other])
def test_dot_is_the_product_of_matmul(shapes: Any, make: Callable[..., Any]) -> None:
    a, b = make(*shapes[0]), make(*shapes[1])
    g = make(*np.shape(np.dot(a, b)))
    a_bar, b_bar = dot_bar_a(g, a, b), dot_bar_b(g, a, b)
    assert a_bar.shape == a.shape and b_bar.shape == b.shape
    step = make(*a.shape)
    along = np.vdot(g, np.dot(step, b)).real
    assert np.vdot(a_bar, step).real == pytest.approx(along)
    step = make(*b.shape)
    assert np.vdot(b_bar, step).real == pytest.approx(np.vdot(g, np.dot(a, step)).real)


@pytest.mark.parametrize("make", [real, other])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 4, 4)])
def test_cofactors_by_the_inverse_and_by_singular_values(
    make: Callable[..., Any], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = make(*shape) + 2.0 * np.eye(shape[-1])
    quick = cofactors(a)
    with monkeypatch.context() as patch:
        patch.setattr("tangentlike.runtime.linalg._WELL_CONDITIONED", 0.0)
        np.testing.assert_allclose(quick, cofactors(a), rtol=1e-10, atol=1e-12)
    tl.check_grads(lambda x: np.sum(np.linalg.det(x)), (a.real.copy(),), order=2)


def test_cofactors_of_singular_matrices() -> None:
    nearly = np.array([[1.0, 2.0], [2.0, 4.0 + 1e-13]])
    np.testing.assert_allclose(cofactors(nearly), [[4.0, -2.0], [-2.0, 1.0]], rtol=1e-9)
    stack = np.stack([nearly, np.zeros((2, 2)), np.eye(2)])
    np.testing.assert_allclose(cofactors(stack)[1:], [np.zeros((2, 2)), np.eye(2)], atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([1.0, 2.0, np.nan, 3.0]), np.array([1.0, 1.0, 1.0, np.nan])),
        (np.array([1.0, 2.0, 0.5]), 1.0),
        (1, np.array([[1.0], [2.0]])),
        (np.array([1, 2]), np.array([2, 2])),
        (np.array(1.0), np.array(1.0)),
        (np.array([1.0, 3.0], np.float32), np.array([[1.0], [2.0]], np.float32)),
    ],
)
def test_share_of_a_maximum(a: Any, b: Any) -> None:
    share = greater_share(a, b)
    want = np.where(np.equal(a, b), 0.5, np.where(np.greater(a, b), 1.0, 0.0))
    np.testing.assert_array_equal(share, want)
    dtype = np.result_type(a, b)
    assert share.dtype == (dtype if dtype.kind == "f" else float)


@pytest.mark.parametrize("n", [5, 37])
@pytest.mark.parametrize("make", [real, other])
def test_cholesky(make: Callable[..., Any], n: int) -> None:
    a = make(2, n, n)
    a = a @ np.swapaxes(a.conj(), -1, -2) + n * np.eye(n)
    weights = make(2, n, n)
    f = lambda a: np.sum((np.linalg.cholesky(a) * weights).real ** 2)  # noqa: E731
    gradient = tl.grad(f)(a)
    step = 1e-6 * np.tril(make(2, n, n))
    for i in range(n):
        step[:, i, i] = step[:, i, i].real
    slope = (f(a + step) - f(a - step)) / 2.0
    assert np.vdot(gradient, step).real == pytest.approx(slope, rel=1e-5)


def test_second_order_of_cholesky() -> None:
    """Of a matrix whose triangular factor is inverted by halves."""
    a = real(40, 40)
    a, v = a @ a.T + 40.0 * np.eye(40), real(40, 40)
    f = lambda a: np.sum(np.linalg.cholesky(a) ** 3)  # noqa: E731
    df = tl.grad(f)
    _, forward = tl.jvp(df, (a,), (v,))
    reverse = tl.grad(lambda a: np.sum(df(a) * v))(a)
    assert np.allclose(forward, (df(a + 1e-4 * v) - df(a - 1e-4 * v)) / 2e-4, atol=1e-7)
    assert np.vdot(forward, np.tril(v)) == pytest.approx(np.vdot(reverse, np.tril(v)), rel=1e-6)


@pytest.mark.parametrize("make", [real, other])
@pytest.mark.parametrize("shape", [(1, 1), (31, 31), (2, 33, 33), (70, 70), (0, 0)])
def test_inverse_of_a_triangular_matrix(make: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = np.tril(make(*shape)) + 9.0 * np.eye(shape[-1])
    assert np.allclose(inverse_of_lower(x), np.linalg.inv(x), rtol=1e-12)


def test_a_stack_costs_no_more_than_its_rows() -> None:
    """The adjoint of the matrix makes no stack of matrices (that took four fifths of the time)."""
    a, b, g = RNG.random((200, 2, 64)), RNG.random((64, 64)), RNG.random((200, 2, 64))

    def took(call: Callable[[], Any]) -> float:
        rounds = []
        for _ in range(5):
            began = time.process_time()
            call()
            rounds.append(time.process_time() - began)
        return min(rounds)

    by_stack = took(lambda: (np.swapaxes(a, -1, -2) @ g).sum(axis=0))
    assert took(lambda: matmul_bar_b(g, a, b)) < by_stack


def evidence(k: Any, y: Any) -> Any:
    factor = np.linalg.cholesky(k)
    z = np.linalg.solve(factor, y)
    return -0.5 * np.sum(z * z) - np.sum(np.log(np.diag(factor)))


def changed_between(k: Any, y: Any) -> Any:
    factor = np.linalg.cholesky(k)
    z = np.linalg.solve(factor.T, y)
    factor = factor + 0.1
    return np.sum(z * z) + np.sum(np.linalg.solve(factor, y) * np.diag(factor))


@pytest.mark.parametrize("f", [evidence, changed_between])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_systems_with_a_cholesky_factor(f: Callable[..., Any], columns: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    a, y = rng.normal(size=(7, 7)), rng.normal(size=(7, *columns))
    if f is changed_between and columns:
        return  # (not a product of equal shapes)
    args = a @ a.T + 7.0 * np.eye(7), y
    df = tl.grad(f, wrt=(0, 1), example=args)
    if f is evidence:  # one inverse serves both
        assert (
            df.source.count("inverse_of_lower(") == 1
            and "np.linalg.solve(factor.T" not in df.source
        )
        solved = np.linalg.solve(args[0], y).reshape(7, -1)
        expected = 0.5 * (solved @ solved.T - np.linalg.inv(args[0]))
        k_bar, y_bar = df(*args)
        np.testing.assert_allclose(0.5 * (k_bar + k_bar.T), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(y_bar, -solved.reshape(y.shape), rtol=1e-10)
    symmetric = (lambda k, y: f(k + k.T, y)), (0.5 * args[0], y)
    tl.check_grads(symmetric[0], symmetric[1], wrt=(0, 1), order=2)


# --------------------------------------------------------------------------------------------------
# Outer products, powers and choices that have names are looked through.


def product_by_vector(a: Any, b: Any, x: Any) -> Any:
    return np.sum(np.sin((a @ b) @ x))


def normal_equations(a: Any, b: Any, x: Any) -> Any:
    w = np.linalg.solve(a.T @ a + np.eye(4), a.T @ x)
    return np.sum((a @ w - x) ** 2) + np.sum(b)


def summed_against(a: Any, b: Any, x: Any) -> Any:
    return np.sum(np.outer(x, b[0]) * a)


def powers(a: Any, b: Any, x: Any) -> Any:
    return np.sum(a / b**3) + np.sum(1.0 / (1.0 + x) ** 2)


def chosen(a: Any, b: Any, x: Any) -> Any:
    return np.sum(np.where(a > 0.5, (b - 0.5) ** 2, 0.0)) + np.inner(x, x)


def in_both_orders(a: Any, b: Any, x: Any) -> Any:
    c = a @ b
    return x @ c @ x + np.sum(c.T @ x)


def written_between(a: Any, b: Any, x: Any) -> Any:
    y = x.copy()
    c = a @ b
    s = np.sum(np.sin(c @ y)) + np.sum(a / b**3)
    b = 2.0 * b
    y *= 3.0
    return s + np.sum((b @ a) @ y) + np.sum(1.0 / b**2)


MATRICES = real(4, 4) + 0.5, real(4, 4) + 1.0, real(4) + 0.4


@pytest.mark.parametrize(
    ("f", "lines"),
    [
        (
            product_by_vector,
            ["return np.outer(abx_bar, b @ x), np.outer(a.T @ abx_bar, x), ab.T @ abx_bar"],
        ),
        (normal_equations, ["a_bar += np.outer(x - a @ w, seed) - np.outer(a @ seed, w)"]),
        (summed_against, ["return np.outer(x, b[0]), b_bar, a @ b[0]", "b_bar[0] = x @ a"]),
        (powers, ["-3.0 * a / power / b", "-2.0 / total / total**2"]),
        (chosen, ["return np.zeros_like(a), 2.0 * np.where(a > 0.5, b - 0.5, 0.0), 2.0 * x"]),
        (in_both_orders, []),
        (written_between, []),
    ],
)
def test_definitions_are_looked_through(f: Callable[..., Any], lines: list[str]) -> None:
    tl.check_grads(f, MATRICES, wrt=(0, 1, 2), order=2)
    df = tl.grad(f, wrt=(0, 1, 2), example=MATRICES)
    assert [line for line in lines if line not in df.source] == []
    for bar, general in zip(df(*MATRICES), tl.grad(f, wrt=(0, 1, 2))(*MATRICES), strict=True):
        np.testing.assert_allclose(bar, general, rtol=1e-10)


def pair_energy(x: Any, w: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d * d, axis=2) + np.eye(len(x))
    return np.sum(np.tril(w / r2**3, -1))


def weighted(x: Any, w: Any) -> Any:
    weights = np.exp(-np.sum((x[:, None, :] - x[:3][None, :, :]) ** 2, axis=2))
    return np.sum(np.log(np.sum(weights, axis=1))) + np.sum(w)


@pytest.mark.parametrize(("f", "count"), [(pair_energy, 2), (weighted, 2)])
def test_sums_over_pairs_are_contractions(f: Callable[..., Any], count: int) -> None:
    rng = np.random.default_rng(4)  # (of its own: the energy of points that meet is infinite)
    args = rng.random((5, 2)) + np.arange(5.0)[:, None], rng.random((5, 5)) - 0.3
    tl.check_grads(f, args, wrt=(0, 1), order=2)
    df = tl.grad(f, example=args)
    assert df.source.count("np.einsum('ij,ijk->") == count
    assert "d_bar" not in df.source and "-= -" not in df.source


@pytest.mark.thorough
@pytest.mark.parametrize("axes", [(2, 0), (2, 1), (1, 0), (1, 1), (0, 0), (0, 1), (2, None)])
@pytest.mark.parametrize("reduce", [np.sum, np.mean])
def test_sums_over_one_axis_after_the_other(axes: tuple[Any, Any], reduce: Any) -> None:
    """The adjoint of a sum over an axis has fewer axes, which belong where it was summed."""
    first, second = axes

    def twice(t: Any, u: Any) -> Any:
        return np.sum(reduce(reduce(t * t, axis=first), axis=second) * u)

    def through_a_part(t: Any, u: Any) -> Any:
        rows = np.sum(-reduce(t * t, axis=first), axis=second)
        return np.sum(np.atleast_1d(rows)[:1] * u)

    for fn in (twice, through_a_part):
        args = real(3, 3, 3), real(3)
        tl.check_grads(fn, args, wrt=(0, 1), order=2)
