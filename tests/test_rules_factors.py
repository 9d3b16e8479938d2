"""Rules of factorisations and of other functions whose result is a tuple or a list."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tangentlike as tl
from tests.rule_cases import signed, spd
from tests.sampled import one_in


def symmetric(a):
    return a + np.swapaxes(a, -1, -2)


def cholesky(a):
    return np.sum(np.linalg.cholesky(a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1])) ** 3)


def eigenvalues_h(a):
    return np.sum(np.linalg.eigvalsh(symmetric(a)) ** 3)


def eigh_both(a):
    w, v = np.linalg.eigh(symmetric(a))
    return np.sum(w**2) + np.sum(v**2 * np.expand_dims(w, -2)) + np.sum(v**4)


def eigh_by_item(a):
    found = np.linalg.eigh(symmetric(a))
    return np.sum(found[0] ** 3)


def eigh_vectors(a):
    _, v = np.linalg.eigh(symmetric(a))
    return np.sum(v[..., 0] ** 4)


def eigvals_real(a):
    return np.sum(np.linalg.eigvals(a).real ** 3)


def eig_squares(a):
    w, v = np.linalg.eig(a)
    return np.sum(np.abs(w) ** 2) + np.sum(np.abs(v) ** 4)


def singular_values(a):
    return np.sum(np.linalg.svd(a, compute_uv=False) ** 3)


def svd_thin(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(u**4) + np.sum(s**3) + np.sum(vh**4 * np.expand_dims(s, -1))


def svd_values_of_full(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(s**3)


def qr_both(a):
    q, r = np.linalg.qr(a)
    return np.sum(q**3) + np.sum(r**3)


def qr_r(a):
    return np.sum(np.linalg.qr(a, mode="r") ** 4)


def slogdet(a):
    sign, logdet = np.linalg.slogdet(a)
    return np.sum(logdet**2)


def slogdet_item(a):
    return np.sum(np.linalg.slogdet(a)[1])


def splits(a):
    first, second = np.split(a, 2, axis=1)
    parts = np.array_split(a, 3)
    return np.sum(first * second) + np.sum(parts[0] ** 2) - np.sum(parts[2] ** 3)


def named_splits(a):
    left, right = np.hsplit(a, 2)
    upper, lower = np.vsplit(a, 2)
    return np.sum(left * right) + np.sum(upper * lower**2)


def grid(a):
    x, y = np.meshgrid(a[0], a[1])
    return np.sum(x**2 * y)


def grid_ij(a):
    x, y = np.meshgrid(a[0], a[1], indexing="ij")
    return np.sum(x**2 * y)


def broadcasting(a):
    x, y = np.broadcast_arrays(a[0], a)
    return np.sum(x * y)


def selecting(a):
    return np.sum(np.select([a > 0.5, a > 0.0], [a**2, a**3], a))


def choosing(a):
    return np.sum(np.choose((a > 0).astype(int), [a**2, a**3]))


def windows(a):
    seen = np.lib.stride_tricks.sliding_window_view(a, 2, axis=1)
    return np.sum(np.sum(seen, axis=-1) ** 2)


MATRICES = (signed(3, 3), signed(4, 2), signed(2, 4), signed(2, 3, 2))

CASES: list[tuple[Callable[..., object], np.ndarray]] = [
    (cholesky, signed(3, 3)),
    (cholesky, signed(2, 3, 3)),
    *[(f, signed(3, 3)) for f in (eigenvalues_h, eigh_both, eigh_by_item, eigh_vectors)],
    *[(f, signed(2, 3, 3)) for f in (eigenvalues_h, eigh_both)],
    *[(f, signed(3, 3)) for f in (eigvals_real, eig_squares)],
    (eig_squares, signed(3, 3, seed=4)),
    *[(f, a) for f in (singular_values, svd_thin) for a in MATRICES],
    (svd_values_of_full, signed(3, 2)),
    *[(f, a) for f in (qr_both, qr_r) for a in MATRICES],
    *[(f, a) for f in (slogdet, slogdet_item) for a in (spd(3), spd(2, 2))],
    *[(f, signed(4, 4)) for f in (splits, named_splits, broadcasting, selecting, choosing)],
    *[(f, signed(2, 3)) for f in (grid, grid_ij, windows)],
]


@pytest.mark.parametrize(
    ("fn", "a"), [pytest.param(f, a, id=f"{f.__name__}-{a.shape}") for f, a in CASES]
)
def test_gradient(fn: Callable[..., object], a: np.ndarray) -> None:
    tl.check_grads(fn, (a,))


SECOND = (
    *(cholesky, eigh_by_item, eigh_vectors, singular_values, svd_thin),
    *(qr_both, slogdet, splits, grid),
)


@pytest.mark.parametrize("fn", one_in(2, SECOND))
def test_second_order(fn: Callable[..., object]) -> None:
    a = signed(2, 3) if fn is grid else signed(4, 4) if fn is splits else spd(3)
    tl.check_grads(fn, (a,), order=2)


def solve_by_lstsq(a, b):
    x = np.linalg.lstsq(a, b, rcond=None)[0]
    return np.sum(x**2)


def residuals(a, b):
    x, rest, rank, s = np.linalg.lstsq(a, b, rcond=None)
    return np.sum(rest) + np.sum(x)


@pytest.mark.parametrize("fn", [solve_by_lstsq, residuals])
@pytest.mark.parametrize("b", [signed(4), signed(4, 2)], ids=["vector", "matrix"])
def test_lstsq(fn: Callable[..., object], b: np.ndarray) -> None:
    tl.check_grads(fn, (signed(4, 2), b), wrt=(0, 1))


def test_lstsq_of_a_wide_matrix() -> None:
    tl.check_grads(solve_by_lstsq, (signed(2, 4), signed(2)), wrt=(0, 1))


def test_repeated_eigenvalues_do_not_spoil_functions_of_eigenvalues() -> None:
    def f(a):
        w, v = np.linalg.eigh(a)
        return np.sum(w**2)

    np.testing.assert_allclose(tl.grad(f)(np.eye(3)), 2 * np.eye(3), atol=1e-12)


def test_full_singular_vectors_are_refused_where_not_unique() -> None:
    def f(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum(u**4)

    with pytest.raises(tl.UnsupportedError, match="full_matrices=False"):
        tl.grad(f)(signed(4, 2))


@pytest.mark.parametrize("of", ["q", "r"])
def test_complete_factors_of_tall_matrices_are_refused(of):
    """Further columns of `q` complete it to a basis, and have no derivative."""

    def f(x):
        q, r = np.linalg.qr(x, mode="complete")
        return np.sum((q if of == "q" else r) ** 3)

    tall = np.random.default_rng(0).normal(size=(3, 2))
    for derivative in (lambda x: tl.grad(f)(x), lambda x: tl.jvp(f, (x,), (x,))):
        with pytest.raises(tl.UnsupportedError, match="only the reduced QR factors"):
            derivative(tall)
    tl.check_grads(f, (tall.T,))
