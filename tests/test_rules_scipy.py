"""Rules of `scipy.special` and `scipy.stats`."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tests.rule_instance import check

special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")


def between(low: float, high: float, n: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, n)


UNIT = ["expit", "logit", "log_expit", "erf", "erfc", "erfinv", "erfcinv", "ndtr", "log_ndtr"]
UNIT += ["gammaln", "gamma", "rgamma", "digamma", "psi", "entr", "i0", "i1", "j0", "j1", "y0"]
UNIT += ["y1", "softmax", "log_softmax", "logsumexp", "loggamma"]


@pytest.mark.parametrize("name", UNIT)
def test_one_argument(name):
    check(getattr(special, name), between(0.2, 0.8))


TWO = ["beta", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div", "huber"]
BY_SECOND = [("gammainc", 2), ("gammaincc", 2), ("polygamma", 1), ("jv", 2), ("yn", 2), ("iv", 1)]
BY_SECOND += [("kv", 1), ("ive", 1)]


@pytest.mark.parametrize("name", TWO)
def test_two_arguments(name):
    check(getattr(special, name), between(0.2, 0.8), between(0.3, 0.9, seed=2))


@pytest.mark.parametrize(("name", "order"), BY_SECOND)
def test_by_second_argument(name, order):
    check(getattr(special, name), order, between(0.4, 0.8), rtol=2e-5)


def test_betainc():
    check(special.betainc, 2, 3, between(0.2, 0.8))


def test_logsumexp_by_axis():
    check(special.logsumexp, between(-1, 1, 6).reshape(2, 3), axis=1)
    check(special.logsumexp, between(-1, 1, 6).reshape(2, 3), axis=0, keepdims=True)
    check(special.softmax, between(-1, 1, 6).reshape(2, 3), axis=1)
    check(special.log_softmax, between(-1, 1, 6).reshape(2, 3), axis=0)


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
def test_normal(name):
    check(getattr(stats.norm, name), between(-1, 1), between(-1, 1, seed=2), between(0.5, 1))


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf"])
def test_distributions_by_their_argument(name):
    check(getattr(stats.t, name), between(-1, 1), 3, between(-1, 1, seed=2), between(0.5, 1))
    check(getattr(stats.gamma, name), between(0.5, 1), 2, rtol=1e-5)
    check(getattr(stats.chi2, name), between(0.5, 1), 3, rtol=1e-5)
    check(getattr(stats.beta, name), between(0.3, 0.7), 2, 3, rtol=1e-5)


@pytest.mark.parametrize("name", ["logpdf", "pdf"])
def test_distributions_by_their_parameters(name):
    check(getattr(stats.gamma, name), between(0.5, 1), between(1.5, 2, seed=2), rtol=1e-5)
    check(getattr(stats.chi2, name), between(0.5, 1), between(2.5, 3, seed=2), rtol=1e-5)
    a, b = between(1.5, 2, seed=2), between(2.5, 3, seed=3)
    check(getattr(stats.beta, name), between(0.3, 0.7), a, b, rtol=1e-5)


@pytest.mark.parametrize("name", ["logpmf", "pmf", "cdf"])
def test_poisson(name):
    check(getattr(stats.poisson, name), 3, between(1.5, 2.5))


# (the distribution, what is low and high of x, of its shapes, and of loc and scale)
FAMILIES = {
    "expon": (0.6, 1.4),
    "uniform": (0.3, 0.7),
    "laplace": (0.6, 1.4),
    "cauchy": (-1.0, 1.0),
    "logistic": (-1.0, 1.0),
    "gumbel_r": (-1.0, 1.0),
    "gumbel_l": (-1.0, 1.0),
    "halfnorm": (0.6, 1.4),
    "halfcauchy": (0.6, 1.4),
    "rayleigh": (0.6, 1.4),
    "norm": (-1.0, 1.0),
    "t": (-1.0, 1.0, 2.5),
    "gamma": (0.6, 1.4, 1.7),
    "chi2": (0.6, 1.4, 3.3),
    "beta": (0.3, 0.7, 1.7, 2.4),
    "lognorm": (0.6, 1.4, 0.8),
    "weibull_min": (0.6, 1.4, 1.7),
    "pareto": (2.0, 3.0, 1.7),
    "invgamma": (0.6, 1.4, 1.7),
    "vonmises": (-1.0, 1.0, 1.7),
}
OTHERS = {"expon": ["pdf", "cdf"], "laplace": ["pdf", "cdf"], "cauchy": ["pdf", "cdf"]}
OTHERS |= {"logistic": ["pdf", "cdf"], "uniform": ["pdf"], "norm": ["ppf", "isf"]}
OTHERS |= {name: ["pdf"] for name in ("t", "gamma", "chi2", "beta")}


@pytest.mark.parametrize("name", FAMILIES)
def test_log_densities(name):
    """By the argument, the shapes, location and scale."""
    low, high, *shapes = FAMILIES[name]
    x = between(low, high) + (0.1 if name != "uniform" else 0.0)
    for method in ("logpdf", *OTHERS.get(name, [])):
        fn = getattr(getattr(stats, name), method)
        args = [between(0.3, 0.7) if method in ("ppf", "isf") else x]
        if shapes:
            args.append(between(shapes[0], 1.1 * shapes[0], seed=2))
        check(fn, *args, *shapes[1:], 0.1, 1.1, rtol=2e-5)


COUNTS = [("bernoulli", (), 1), ("binom", (5,), 1), ("geom", (), 1), ("nbinom", (3.5,), 1)]


@pytest.mark.parametrize(("name", "n", "k"), COUNTS)
def test_counts(name, n, k):
    for method in ("logpmf", "pmf") if name in ("bernoulli", "binom") else ("logpmf",):
        fn = getattr(getattr(stats, name), method)
        check(fn, k, *n, between(0.3, 0.7))


def held(x, m, s):
    d, same = stats.norm(m, scale=s), stats.gamma(a=2.0 + m, scale=s)
    return np.sum(d.logpdf(x) * d.cdf(x)) + np.sum(same.logpdf(x + 1.0))


def test_distributions_that_hold_their_parameters():
    tl.check_grads(held, (between(0.3, 0.7), 0.3, 0.8), order=2)


def drawn(m):
    d = stats.norm(m, 1.0)
    return d.logpdf(0.3) + d.mean()


def test_other_uses_of_them_are_refused():
    with pytest.raises(tl.UnsupportedError, match="no derivative rule for stats.norm"):
        tl.grad(drawn)(0.5)


def diagonal(x, m, s):
    by_number = stats.multivariate_normal.logpdf(x, m, s)
    by_vector = stats.multivariate_normal.logpdf(x, cov=s * m, mean=m)
    return by_number + by_vector + stats.multivariate_normal.logpdf(x, mean=m)


def test_multivariate_normal_of_a_diagonal():
    tl.check_grads(diagonal, (between(0.3, 0.7), between(0.3, 0.7, seed=2), 0.7), order=2)


@pytest.mark.parametrize("name", ["i0e", "i1e"])
def test_scaled_bessel_functions(name):
    tl.check_grads(lambda x: getattr(special, name)(x), (between(0.3, 0.7),))
    check(getattr(special, name), between(0.4, 0.8), rtol=2e-5)


sparse = pytest.importorskip("scipy.sparse")
TABLE = np.array([[2.0, 0.0, 0.3], [0.0, 1.5, 0.0], [0.4, 0.0, 0.7]])
MATRIX = sparse.csc_matrix(TABLE)


def residual(a, x, b):
    r = a @ x - b
    return a.T @ r + a.dot(x) * x + x @ a


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array"])
def test_products_with_sparse_arrays(kind):
    a = getattr(sparse, kind)(TABLE)
    tl.check_grads(residual, (a, between(0.3, 0.7), between(0.3, 0.7, seed=2)), order=2)


def with_matrix(x):
    return (MATRIX @ x) * MATRIX.T.dot(x) + sparse.identity(3, format="csr") @ x


def test_products_with_a_sparse_matrix_of_the_module():
    tl.check_grads(with_matrix, (between(0.3, 0.7),), order=2)


@pytest.mark.parametrize("method", ["linear", "hazen"])
def test_quantiles_by_their_level_twice(method):
    tl.check_grads(
        lambda x, q: np.quantile(x, q, method=method) ** 2, (between(0, 1, 5), 0.43), order=2
    )
