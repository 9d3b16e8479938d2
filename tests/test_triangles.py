"""Operations that read one triangle of a matrix; and complex vectors, whose phases are arbitrary.

Each is given a matrix that is not symmetric, so that entry by entry the derivative is zero in the
triangle that is not read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg

import tangentlike as tl
from tests.rule_cases import signed


def positive(n: int) -> np.ndarray:
    """Both triangles give positive definite matrices; they are not the same."""
    return signed(n, n) * 0.3 + n * np.diag(np.arange(1.0, n + 1.0))


A = positive(3)
C = A + 0.4j * signed(3, 3)[::-1]
W = signed(3, 3)

OF_LOWER: dict[str, Callable] = {
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
    "eigvalsh L": lambda a: np.sum(np.linalg.eigvalsh(a, "L") ** 3),
    "eigvalsh l": lambda a: np.sum(np.linalg.eigvalsh(a, UPLO="l") ** 3),
    "eigh": lambda a: np.sum(W * np.abs(np.linalg.eigh(a)[1]) ** 2) + np.linalg.eigh(a)[0][1] ** 2,
    "eigh by name": lambda a: np.sum(np.linalg.eigh(a, UPLO="L").eigenvalues ** 3),
    "cholesky": lambda a: np.sum(W * np.abs(np.linalg.cholesky(a)) ** 2),
    "scipy eigvalsh": lambda a: np.sum(scipy.linalg.eigvalsh(a) ** 3),
    "scipy eigh": lambda a: np.sum(W * np.abs(scipy.linalg.eigh(a)[1]) ** 2),
    "scipy eigh lower": lambda a: np.sum(scipy.linalg.eigh(a, lower=True)[0] ** 3),
    "scipy eigh values": lambda a: np.sum(scipy.linalg.eigh(a, eigvals_only=True) ** 3),
    "scipy cholesky lower": lambda a: np.sum(W * np.abs(scipy.linalg.cholesky(a, lower=True)) ** 2),
    "cho_factor lower": lambda a: np.sum(
        W * np.abs(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower=True), W)) ** 2
    ),
    "solve_triangular lower": lambda a: np.sum(
        W * np.abs(scipy.linalg.solve_triangular(a, W, lower=True)) ** 2
    ),
    "solve_triangular lower, turned": lambda a: np.sum(
        W * np.abs(scipy.linalg.solve_triangular(a, W, trans="C", lower=True)) ** 2
    ),
    "solve pos, lower": lambda a: np.sum(
        W * np.abs(scipy.linalg.solve(a, W, lower=True, assume_a="pos")) ** 2
    ),
    "solve her, lower": lambda a: np.sum(
        W[0] * np.abs(scipy.linalg.solve(a, W[1], lower=True, assume_a="her")) ** 2
    ),
}
OF_UPPER: dict[str, Callable] = {
    "eigvalsh U": lambda a: np.sum(np.linalg.eigvalsh(a, "U") ** 3),
    "eigvalsh u": lambda a: np.sum(np.linalg.eigvalsh(a, UPLO="u") ** 3),
    "eigh U": lambda a: np.sum(W * np.abs(np.linalg.eigh(a, "U")[1]) ** 2),
    "cholesky upper": lambda a: np.sum(W * np.abs(np.linalg.cholesky(a, upper=True)) ** 2),
    "scipy eigvalsh upper": lambda a: np.sum(scipy.linalg.eigvalsh(a, lower=False) ** 3),
    "scipy eigh upper": lambda a: np.sum(W * np.abs(scipy.linalg.eigh(a, lower=False)[1]) ** 2),
    "scipy cholesky": lambda a: np.sum(W * np.abs(scipy.linalg.cholesky(a)) ** 2),
    "cho_factor": lambda a: np.sum(
        W * np.abs(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), W)) ** 2
    ),
    "solve_triangular": lambda a: np.sum(W * np.abs(scipy.linalg.solve_triangular(a, W)) ** 2),
    "solve_triangular turned": lambda a: np.sum(
        W * np.abs(scipy.linalg.solve_triangular(a, W, trans=1)) ** 2
    ),
    "solve pos": lambda a: np.sum(W * np.abs(scipy.linalg.solve(a, W, assume_a="pos")) ** 2),
    "solve her": lambda a: np.sum(W * np.abs(scipy.linalg.solve(a, W, assume_a="her")) ** 2),
}
EVERY = {**OF_LOWER, **OF_UPPER}


@pytest.mark.parametrize("name", EVERY)
def test_the_gradient_is_that_of_the_triangle_that_is_read(name: str) -> None:
    f = EVERY[name]
    tl.check_grads(f, (A,))
    gradient = tl.grad(f)(A)
    other = np.triu(gradient, 1) if name in OF_LOWER else np.tril(gradient, -1)
    assert np.all(other == 0.0) and np.count_nonzero(gradient) == 6
    again = tl.jacfwd(f)(A)  # forward mode, entry by entry
    np.testing.assert_allclose(again, gradient, atol=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_of_a_complex_matrix(name: str) -> None:
    tl.check_grads(EVERY[name], (C,))


@pytest.mark.parametrize("name", ["eigvalsh", "eigh U", "cholesky", "cholesky upper",
                                  "scipy cholesky", "scipy eigh upper", "cho_factor"])  # fmt: skip
def test_second_order(name: str) -> None:
    tl.check_grads(EVERY[name], (A,), order=2)


def test_the_letter_may_come_at_run_time() -> None:
    def f(a, part):
        return np.sum(np.linalg.eigvalsh(a, part) ** 3)

    for part in "LU":
        g = tl.grad(f)(A, part)
        other = np.triu(g, 1) if part == "L" else np.tril(g, -1)
        assert np.all(other == 0.0)
        np.testing.assert_allclose(
            g, tl.grad(lambda a, p=part: np.sum(np.linalg.eigvalsh(a, p) ** 3))(A)
        )


def test_equations_of_a_symmetric_matrix() -> None:
    def f(a, b):
        return np.sum(scipy.linalg.solve(a, b, assume_a="sym") ** 3)

    tl.check_grads(f, (A, W), order=2)
    assert np.all(np.tril(tl.grad(f)(A, W), -1) == 0.0)
    tl.check_grads(lambda a: np.sum(np.abs(scipy.linalg.solve(a, W, assume_a="sym")) ** 2), (C,))
    with pytest.raises(tl.UnsupportedError, match="assume_a"):
        tl.grad(lambda a: np.sum(scipy.linalg.solve(a, W[0], assume_a="upper triangular")))(A)


def test_stacks() -> None:
    stack = np.stack([A, A.T + 0.1])
    for f in (
        lambda a: np.sum(np.linalg.eigh(a, "U")[1] ** 4),
        lambda a: np.sum(np.linalg.cholesky(a) ** 3),
        lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
    ):
        tl.check_grads(f, (stack,))


def test_what_the_factor_of_scipy_leaves_in_the_other_triangle() -> None:
    for lower in (True, False):

        def f(a, lower=lower):
            return np.sum(W * scipy.linalg.cho_factor(a, lower=lower)[0] ** 2)

        assert tl.value_and_grad(f)(A)[0] == f(A)
        tl.check_grads(f, (A,))


def test_a_density_of_scipy_reads_one_triangle() -> None:
    import scipy.stats

    x = signed(3)
    tl.check_grads(lambda c: scipy.stats.multivariate_normal.logpdf(x, x * 0, c), (A + A.T,))
    tl.check_grads(lambda c: scipy.stats.multivariate_normal.entropy(x, c), (A,))


# ---------------------------------------------------------------------------- complex factors

Z = signed(4, 3) + 1j * signed(4, 3)[::-1]


def low_rank(z):
    u, s, vh = np.linalg.svd(z, full_matrices=False)
    return np.sum(
        np.abs((u[:, :2] * s[:2]) @ vh[:2] - 0.1j) ** 2 * np.arange(1.0 * z.size).reshape(z.shape)
    )


def of_sizes(z):
    u, s, vh = np.linalg.svd(z, full_matrices=False)
    weights = np.arange(1.0, 1.0 + u.size).reshape(u.shape)
    return np.sum(weights * np.abs(u) ** 2) + np.sum(s**3) + np.sum(np.abs(vh[0]) ** 4)


def projector(z):
    u = np.linalg.svd(z, full_matrices=False)[0]
    return np.real(np.vdot(u[:, 0], u[:, 0] * np.arange(u.shape[0])) ** 2)


def polar(z):
    u, _, vh = np.linalg.svd(z, full_matrices=False)
    return np.sum(np.real(u @ vh) ** 3)


GAUGE_FREE: dict[str, Callable] = {
    "values": lambda z: np.sum(np.linalg.svd(z, compute_uv=False) ** 3),
    "svdvals": lambda z: np.sum(np.linalg.svdvals(z) ** 3),
    "values with vectors": lambda z: np.sum(np.linalg.svd(z, full_matrices=False)[1] ** 3),
    "nuclear": lambda z: np.linalg.norm(z, "nuc"),
    "spectral": lambda z: np.linalg.norm(z, 2),
    "low rank": low_rank,
    "sizes": of_sizes,
    "projector": projector,
    "polar": polar,
}


@pytest.mark.parametrize("form", ["tall", "wide", "square", "real"])
@pytest.mark.parametrize("name", GAUGE_FREE)
def test_singular_values_and_vectors(name: str, form: str) -> None:
    z = {"tall": Z, "wide": Z.T * (1 + 0.5j), "square": Z[1:], "real": Z.real}[form]
    tl.check_grads(GAUGE_FREE[name], (z,))


@pytest.mark.parametrize("name", ["low rank", "sizes", "polar", "values"])
def test_second_order_of_complex_factors(name: str) -> None:
    tl.check_grads(GAUGE_FREE[name], (Z[1:],), order=2)


@pytest.mark.parametrize(
    "f",
    [
        lambda z: np.real(np.linalg.svd(z, full_matrices=False)[0][0, 0]),
        lambda z: np.sum(np.linalg.svd(z, full_matrices=False)[2].imag ** 2),
        lambda z: np.sum(np.real(np.linalg.eigh(z[:3] + np.conj(z[:3].T))[1]) ** 3),
        lambda z: np.imag(np.linalg.eig(z[:3])[1][0, 1]),
    ],
)
def test_what_depends_on_phases_is_refused(f: Callable) -> None:
    with pytest.raises(tl.UnsupportedError, match="phases of complex vectors"):
        tl.grad(f)(Z)


def test_eigenvectors_that_do_not_depend_on_phases() -> None:
    def f(z):
        v = np.linalg.eigh(z + np.conj(z.T))[1]
        return np.sum(np.real(np.conj(v[:, 0]) * v[0, 0]) ** 3)

    tl.check_grads(f, (Z[1:],), order=2)
    tl.check_grads(lambda z: np.sum(np.abs(np.linalg.eig(z)[1][0]) ** 2), (Z[1:],))


def test_further_vectors_are_refused_in_both_modes() -> None:
    def f(z):
        u, s, vh = np.linalg.svd(z)
        return np.sum(np.abs(u) ** 4)

    for z in (Z, Z.real):
        with pytest.raises(
            tl.UnsupportedError, match="singular vectors that belong to no singular value"
        ):
            tl.grad(f)(z)
        with pytest.raises(
            tl.UnsupportedError, match="singular vectors that belong to no singular value"
        ):
            tl.jvp(f, (z,), (z,))
