"""Rules of `scipy.special` and `scipy.stats`."""

from __future__ import annotations

import numpy as np
import pytest

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


TWO = ["beta", "betaln", "xlogy", "xlog1py"]
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
