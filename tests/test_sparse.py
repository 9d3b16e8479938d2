"""Sparse Jacobians and Hessians: the number of sweeps, the entries, what a pattern misses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.api.sparse import column_colors, star_colors

sparse = pytest.importorskip("scipy.sparse")
RNG = np.random.default_rng(7)


def tridiagonal(x: Any) -> Any:
    y = x * x
    y[1:] += np.sin(x[:-1])
    y[:-1] += x[1:] * x[:-1]
    return y


def bordered(x: Any) -> Any:
    """A diagonal and a full last row."""
    y = np.exp(x)
    y[-1] = np.sum(x * x)
    return y


def stencil(u: Any) -> Any:
    """Five points in the plane, nonlinear."""
    out = -4.0 * u**2
    out[1:] += u[:-1]
    out[:-1] += u[1:]
    out[:, 1:] += u[:, :-1]
    out[:, :-1] += np.sin(u[:, 1:])
    return out


def arrow(x: Any) -> Any:
    return x[0] * np.sum(x**2) + np.sum(np.cos(x))


def chain(x: Any) -> Any:
    return np.sum((x[1:] - x[:-1] ** 2) ** 2)


def plate(u: Any) -> Any:
    return np.sum((u[1:] - u[:-1]) ** 4) + np.sum((u[:, 1:] - u[:, :-1]) ** 4) + np.sum(u**2)


def jacobian_by_hand(f: Any, x: np.ndarray) -> np.ndarray:
    return tl.jacobian(f)(x).reshape(-1, x.size)


# (function, point, mode, sweeps)
JACOBIANS = [
    (tridiagonal, RNG.normal(size=40), "forward", 3),
    (tridiagonal, RNG.normal(size=40), "reverse", 3),
    (bordered, RNG.normal(size=30), "reverse", 2),
    (bordered, RNG.normal(size=30), "forward", 30),
    (stencil, RNG.normal(size=(12, 11)), "forward", 7),
    (stencil, RNG.normal(size=(12, 11)), "reverse", 7),
]


@pytest.mark.parametrize("f, x, mode, sweeps", JACOBIANS)
@pytest.mark.parametrize("given", [True, False])
def test_jacobian(f: Any, x: Any, mode: str, sweeps: int, given: bool) -> None:
    expected = jacobian_by_hand(f, x)
    jacobian = tl.sparse_jacobian(f, sparsity=expected != 0 if given else None, mode=mode)
    found = jacobian(x)
    assert sparse.issparse(found) and found.nnz == np.count_nonzero(expected)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-14)
    assert jacobian.plan().mode == mode and jacobian.plan().sweeps == sweeps


def test_the_cheaper_mode_is_chosen() -> None:
    jacobian = tl.sparse_jacobian(bordered)
    jacobian(RNG.normal(size=30))
    assert (jacobian.plan().mode, jacobian.plan().sweeps) == ("reverse", 2)
    turned = tl.sparse_jacobian(lambda x: x * x[0])
    turned(RNG.normal(size=30))
    assert (turned.plan().mode, turned.plan().sweeps) == ("forward", 2)


# (function, point, sweeps)
HESSIANS = [
    (arrow, RNG.normal(size=50), 2),
    (chain, RNG.normal(size=50), 3),
    (plate, RNG.normal(size=(9, 10)), 6),
]


@pytest.mark.parametrize("f, x, sweeps", HESSIANS)
def test_hessian(f: Any, x: Any, sweeps: int) -> None:
    expected = tl.hessian(f)(x).reshape(x.size, x.size)
    for sparsity in (None, np.triu(expected) != 0):
        hessian = tl.sparse_hessian(f, sparsity=sparsity)
        np.testing.assert_allclose(hessian(x).toarray(), expected, rtol=1e-11, atol=1e-12)
        assert hessian.plan().sweeps == sweeps
        again = hessian(x + 0.5)
        wanted = tl.hessian(f)(x + 0.5).reshape(x.size, x.size)
        np.testing.assert_allclose(again.toarray(), wanted, rtol=1e-11, atol=1e-12)


def test_containers_and_several_arguments_are_columns_one_after_the_other() -> None:
    def f(p: Any, s: float) -> Any:
        return {"a": p["u"] * s, "b": p["v"] ** 2}

    p = {"u": RNG.normal(size=4), "v": RNG.normal(size=(2, 2))}
    found = tl.sparse_jacobian(f, wrt=(0, 1))(p, 2.0).toarray()
    expected = np.zeros((8, 9))
    expected[:4, :4] = 2.0 * np.eye(4)
    expected[4:, 4:8] = np.diag(2.0 * p["v"].ravel())
    expected[:4, 8] = p["u"]
    np.testing.assert_allclose(found, expected)


def test_an_entry_that_was_zero_at_first_is_found_later() -> None:
    jacobian = tl.sparse_jacobian(lambda x: x[1:] * x[:-1] + x[1:])
    assert jacobian(np.zeros(4)).nnz == 3
    x = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(
        jacobian(x).toarray(), tl.jacobian(lambda x: x[1:] * x[:-1] + x[1:])(x)
    )
    assert jacobian(np.zeros(4)).nnz == 6  # the pattern only grows


def test_a_pattern_that_misses_an_entry_is_an_error() -> None:
    for mode, place in (("forward", "row 0"), ("reverse", "column 1")):
        jacobian = tl.sparse_jacobian(tridiagonal, sparsity=np.tri(6), mode=mode)
        with pytest.raises(tl.TangentlikeError, match=place):
            jacobian(np.arange(1.0, 7.0))
    unchecked = tl.sparse_jacobian(tridiagonal, sparsity=np.tri(6), check=False)
    assert unchecked(np.arange(1.0, 7.0)).shape == (6, 6)
    with pytest.raises(tl.TangentlikeError, match="has shape"):
        tl.sparse_jacobian(tridiagonal, sparsity=np.tri(5))(np.ones(6))
    with pytest.raises(tl.TangentlikeError, match="pattern"):
        tl.sparse_hessian(chain, sparsity=np.eye(5))(np.arange(5.0))


def test_the_check_finds_a_lone_small_entry() -> None:
    def f(x: Any) -> Any:
        return np.array([1e6 * x[0], 1e-5 * x[1]])

    with pytest.raises(tl.TangentlikeError, match="row 1"):
        tl.sparse_jacobian(f, sparsity=np.array([[1, 0], [0, 0]]))(np.ones(2))


def test_examples_tell_shapes_and_do_no_harm_where_they_do_not_hold() -> None:
    def curve(w: Any, x: Any) -> Any:
        return np.tanh(w + x) ** 3

    def loss(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(w + x) ** 3)

    w = RNG.standard_normal(4)
    for operator, fn, options in (
        (tl.sparse_jacobian, curve, {"mode": "reverse"}),
        (tl.sparse_hessian, loss, {}),
    ):
        plain, told = operator(fn, **options), operator(fn, example=(w, w), **options)
        assert "unbroadcast" in plain.source and "unbroadcast" not in told.source
        for x in (w, 0.25):  # the second is not what the example says
            assert np.allclose(told(w, x).toarray(), plain(w, x).toarray(), rtol=1e-14)


def test_no_entries_at_all() -> None:
    found = tl.sparse_jacobian(lambda x: 0.0 * x)(np.ones(3))
    assert found.shape == (3, 3) and found.nnz == 0
    assert tl.sparse_jacobian(lambda x: x * x)(np.zeros(0)).shape == (0, 0)


def test_the_pattern_follows_the_size() -> None:
    jacobian = tl.sparse_jacobian(tridiagonal)
    for n in (3, 8, 5):
        x = RNG.normal(size=n)
        np.testing.assert_allclose(jacobian(x).toarray(), jacobian_by_hand(tridiagonal, x))


@pytest.mark.parametrize("seed", range(30))
def test_colorings_of_random_patterns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, density = int(rng.integers(1, 25)), rng.uniform(0.02, 0.5)
    pattern = rng.random((n, n + 3)) < density
    colors = column_colors(
        [np.flatnonzero(c).tolist() for c in pattern.T],
        [np.flatnonzero(r).tolist() for r in pattern],
    )
    for row in pattern:
        used = [colors[j] for j in np.flatnonzero(row)]
        assert len(set(used)) == len(used)
    square = pattern[:, :n] | pattern[:, :n].T
    np.fill_diagonal(square, False)
    star = np.array(star_colors([np.flatnonzero(r).tolist() for r in square]))
    for i, j in zip(*np.nonzero(square)):
        alone = np.sum(star[square[i]] == star[j]) == 1
        assert star[i] != star[j] and (alone or np.sum(star[square[j]] == star[i]) == 1)
