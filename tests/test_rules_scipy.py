"""Rules of `scipy.special` and `scipy.stats`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.frontend.primal import one_line_function
from tangentlike.testing import check_rule
from tests.generator import loaded
from tests.rule_instance import check
from tests.sampled import one_in

special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")


def between(low: float, high: float, n: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, n)


UNIT = ["expit", "logit", "log_expit", "erf", "erfc", "erfinv", "erfcinv", "ndtr", "log_ndtr"]
UNIT += ["gammaln", "gamma", "rgamma", "digamma", "psi", "entr", "i0", "i1", "j0", "j1", "y0"]
UNIT += ["y1", "softmax", "log_softmax", "logsumexp", "loggamma"]
UNIT += ["log1p", "expm1", "cbrt", "exp2", "exp10", "cosm1", "erfi", "erfcx", "dawsn", "ndtri"]
UNIT += ["expi", "exp1", "k0", "k1", "k0e", "k1e"]
UNIT += ["ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip", "exprel", "wrightomega"]
UNIT += ["sindg", "cosdg", "tandg", "cotdg"]


@pytest.mark.parametrize("name", UNIT)
def test_one_argument(name):
    check(getattr(special, name), between(0.2, 0.8))


TWO = ["beta", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div", "huber"]
TWO += ["pseudo_huber", "poch"]
BY_SECOND = [("gammainc", 2), ("gammaincc", 2), ("polygamma", 1), ("jv", 2), ("yn", 2), ("iv", 1)]
BY_SECOND += [("kv", 1), ("ive", 1), ("kve", 2), ("expn", 3), ("gammaincinv", 2), ("zeta", 3)]
BY_SECOND += [("hyp0f1", 2)]
POLYNOMIALS = ["eval_chebyt", "eval_chebyu", "eval_chebyc", "eval_chebys", "eval_sh_chebyt"]
POLYNOMIALS += ["eval_sh_chebyu", "eval_legendre", "eval_sh_legendre", "eval_laguerre"]
POLYNOMIALS += ["eval_hermite", "eval_hermitenorm"]


@pytest.mark.parametrize("name", TWO)
def test_two_arguments(name):
    check(getattr(special, name), between(0.2, 0.8), between(0.3, 0.9, seed=2))


@pytest.mark.parametrize(("name", "order"), BY_SECOND)
def test_by_second_argument(name, order):
    check(getattr(special, name), order, between(0.4, 0.8), rtol=2e-5)


# (the function, what is given before the argument by which it is differentiated)
BEFORE = [(name, (n,)) for name in POLYNOMIALS for n in (0, 1, 4)]
BEFORE += [("eval_gegenbauer", (3, 1.3)), ("eval_genlaguerre", (0, 1.3)), ("hyperu", (1.5, 2.5))]
BEFORE += [("eval_jacobi", (3, 1.3, 0.6)), ("eval_sh_jacobi", (0, 1.3, 0.6))]
BEFORE += [("eval_sh_jacobi", (3, 1.3, 0.6)), ("jve", (2,)), ("yve", (2,)), ("jvp", (2,))]
BEFORE += [(name, (1.5,)) for name in ("yvp", "ivp", "kvp", "struve", "modstruve")]
BEFORE += [(name, ()) for name in ("itstruve0", "it2struve0", "itmodstruve0", "spence")]
BEFORE += [(name, ()) for name in ("ellipk", "ellipe", "ellipkm1")]
BEFORE += [("betainc", (2.2, 1.3)), ("betaincc", (2.2, 1.3))]
BEFORE += [("betaincinv", (2.2, 1.3)), ("betainccinv", (2.2, 1.3))]
BEFORE += [(n, (1.3,)) for n in ("gammainc", "gammaincc", "gammaincinv", "gammainccinv")]
BEFORE += [(name, (3.3,)) for name in ("stdtr", "stdtrit", "chdtr", "chdtrc", "chdtri")]
BEFORE += [(name, (3.3, 5.1)) for name in ("fdtr", "fdtrc", "fdtri")]
BEFORE += [(name, (2.3, 1.4)) for name in ("gdtr", "gdtrc", "gdtrix")]
BEFORE += [(name, (3, 4)) for name in ("nbdtr", "nbdtrc", "nbdtri")]
BEFORE += [(name, (2.0, 6)) for name in ("bdtr", "bdtrc", "bdtri")]
BEFORE += [(name, (2,)) for name in ("pdtr", "pdtrc", "pdtri")]


@pytest.mark.parametrize(("name", "before"), BEFORE)
def test_by_the_last_argument(name, before):
    fn = one_line_function(getattr(special, name), ["x"], [*map(repr, before), "x"], {})
    tl.check_grads(fn, (between(0.3, 0.8),), rtol=5e-5, order=2)


@pytest.mark.parametrize("name", ["boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p"])
def test_transformations_of_box_and_cox(name):
    fn = getattr(special, name)
    check_rule(fn, between(0.3, 0.8), between(0.4, 0.9, seed=2))
    tl.check_grads(one_line_function(fn, ["x", "p"], ["x", "p"], {}), (0.7, 0.0), order=2)


def test_owens_t_and_others_of_two_or_three():
    check_rule(special.owens_t, between(0.3, 0.8), between(0.4, 0.9, seed=2))
    check_rule(special.powm1, between(0.3, 0.8), between(0.4, 0.9, seed=2))
    check_rule(special.radian, between(0.3, 0.8), between(0.4, 0.9, seed=2), 0.4)


def hankel(x):
    first = np.real(special.hankel1(2, x)) + np.imag(special.hankel1e(1, x))
    second = np.imag(special.hankel2(1, x)) + np.real(special.hankel2e(2, x))
    return np.sum(first * second + np.real(special.h1vp(2, x)) * np.imag(special.h2vp(1, x, 2)))


@pytest.mark.thorough
def test_complex_results_of_real_arguments():
    tl.check_grads(hankel, (between(0.3, 0.8),), order=2)
    tl.check_grads(hankel, (0.4,), order=2)


def several(x, m):
    ai, ai_slope, bi, bi_slope = special.airy(x)
    sn, cn, dn, phase = special.ellipj(x, m)
    (s, c), (si, ci) = special.fresnel(x), special.sici(x)
    shi, chi = special.shichi(x)
    j, y = special.itj0y0(x)
    i, k = special.iti0k0(x)
    total = ai * ai_slope + bi * bi_slope**2 + sn * cn + dn * phase + s * c**2 + si * ci
    return np.sum(total + shi * chi**2 + j * y + i * k)


@pytest.mark.thorough
def test_functions_with_several_results():
    fn = one_line_function(several, ["x"], ["x", "m"], {"m": np.array([0.2, 0.3, 0.5])})
    tl.check_grads(fn, (between(0.3, 0.8),), order=2)
    tl.check_grads(fn, (0.4,), order=2)
    tl.check_grads(lambda x: special.airy(x)[1], (0.4,), order=2)


def test_logsumexp_by_axis():
    check(special.logsumexp, between(-1, 1, 6).reshape(2, 3), axis=1)
    check(special.logsumexp, between(-1, 1, 6).reshape(2, 3), axis=0, keepdims=True)
    check(special.softmax, between(-1, 1, 6).reshape(2, 3), axis=1)
    check(special.log_softmax, between(-1, 1, 6).reshape(2, 3), axis=0)


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
def test_normal(name):
    check(getattr(stats.norm, name), between(-1, 1), between(-1, 1, seed=2), between(0.5, 1))


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
    "halflogistic": (0.6, 1.4),
    "moyal": (-1.0, 1.0),
    "hypsecant": (-1.0, 1.0),
    "maxwell": (0.6, 1.4),
    "levy": (0.6, 1.4),
    "chi": (0.6, 1.4, 2.3),
    "nakagami": (0.6, 1.4, 1.3),
    "gengamma": (0.6, 1.4, 1.3, 1.8),
    "loggamma": (-1.0, 1.0, 1.4),
    "f": (0.6, 1.4, 2.3, 5.1),
    "weibull_max": (-1.4, -0.6, 1.7),
    "powerlaw": (0.3, 0.6, 1.7),
    "fisk": (0.6, 1.4, 1.7),
    "loguniform": (0.6, 1.4, 0.2, 2.5),
    "triang": (0.2, 0.6, 0.5),
    "genpareto": (0.6, 1.4, 0.3),
    "genextreme": (-1.0, 1.0, 0.3),
    "johnsonsu": (-1.0, 1.0, 0.4, 1.3),
    "truncexpon": (0.6, 1.4, 2.1),
    "truncnorm": (-0.7, 0.7, -1.5, 1.2),
    "skewnorm": (-1.0, 1.0, 0.8),
    "exponnorm": (-1.0, 1.0, 0.9),
    "invgauss": (0.6, 1.4, 0.8),
    "rice": (0.6, 1.4, 0.8),
}
# Those whose quantiles have a derivative by the shapes.
MOVING = ("lognorm", "weibull_min", "weibull_max", "pareto", "powerlaw", "fisk", "loguniform")
MOVING += ("triang", "genpareto", "genextreme", "johnsonsu", "truncexpon", "truncnorm")
DENSITIES, LEVELS = ("logpdf", "pdf"), ("cdf", "sf", "logcdf", "logsf")
QUANTILES = ("ppf", "isf")


def of_methods(name, methods):
    """The sum of what the methods give, each entry with a weight of its own; the shapes that a
    level has no derivative by are numbers in its text. With the arguments to try it at."""
    low, high, *shapes = FAMILIES[name]
    fixed = methods != DENSITIES and name not in MOVING
    params = ["loc", "scale", *([] if fixed else [f"shape{i}" for i in range(len(shapes))])]
    given = [*([repr(v) for v in shapes] if fixed else params[2:]), "loc", "scale"]
    lines = [f"def of_methods(x, {', '.join(params)}):", "    total = 0.0"]
    for place, method in enumerate(methods):
        call = f"stats.{name}.{method}({', '.join(['x', *given])})"
        lines.append(f"    total += np.sum(WEIGHTS[{place}] * {call})")
    source = "\n".join([*lines, "    return total", ""])
    namespace = {"np": np, "stats": stats, "WEIGHTS": WEIGHTS, "__name__": "of_methods"}
    f = loaded(source, f"{name} {methods[0]}", namespace)["of_methods"]
    x = (
        between(0.3, 0.7)
        if methods == QUANTILES
        else between(low, high) + 0.1 * (name != "uniform")
    )
    return f, (x, 0.1, 1.1, *([] if fixed else shapes))


def standard_forms(x):
    levels = stats.norm._cdf(x) * stats.norm._pdf(x) + stats.t._logpdf(x, 3.0)
    return np.sum(levels + stats.logistic._sf(x) + stats.norm._ppf(0.5 + 0.1 * x))


def test_methods_of_standard_forms():
    """(Refused before; those that look at no support are for distributions of the whole line.)"""
    tl.check_grads(standard_forms, (np.array([0.3, -0.7, 1.2]),), order=2)
    with pytest.raises(tl.UnsupportedError, match="no derivative rule for stats.expon._cdf"):
        tl.grad(lambda x: stats.expon._cdf(x))(-1.0)


WEIGHTS = 1.5 + np.cos(np.arange(18.0)).reshape(6, 3)


@pytest.mark.parametrize("methods", (DENSITIES, LEVELS, QUANTILES), ids=lambda names: names[0])
@pytest.mark.parametrize("name", one_in(9, list(FAMILIES)))
def test_distributions_by_all_parameters(name, methods):
    """By the argument or level, the shapes, location and scale."""
    f, args = of_methods(name, methods)
    tl.check_grads(f, args, rtol=5e-5)


def outside_of_the_support(x, a):
    densities = stats.beta.pdf(x, a, 1.0 + x * x) + stats.gamma.pdf(x, a) + stats.f.pdf(x, a, 3.0)
    densities += stats.weibull_max.pdf(x, a) + stats.loguniform.pdf(x, 0.1 * a, a)
    levels = stats.lognorm.cdf(x, a) + stats.weibull_min.sf(x, a) + stats.powerlaw.cdf(x, a)
    return np.sum((densities + levels) * np.arange(1.0, 5.0))


@pytest.mark.thorough
def test_densities_of_zero_by_shapes():
    """The slope is 0 there, though the logarithm of z is not a number."""
    tl.check_grads(outside_of_the_support, (np.array([0.3, 1.9, -0.6, -1.4]), 1.6), order=2)


def by_levels(x, a, b):
    some = stats.truncnorm.cdf(x, a, b) * stats.genpareto.ppf(x, b)
    return some + stats.weibull_min.logsf(x, b) + stats.f.sf(x, 3.0, 4.0) * stats.t.ppf(x, 3.0, a)


@pytest.mark.thorough
def test_levels_of_order_two():
    tl.check_grads(by_levels, (0.3, -0.8, 1.2), order=2)


LACKING = {
    "gamma": lambda a: stats.gamma.cdf(0.3, a),
    "beta": lambda a: stats.beta.ppf(0.3, a, 1.2),
    "t": lambda a: stats.t.logsf(0.3, a),
    "skewnorm": lambda a: stats.skewnorm.sf(0.3, a),
}


@pytest.mark.parametrize("name", LACKING)
def test_levels_by_shapes_without_a_closed_form_are_refused(name):
    with pytest.raises(tl.UnsupportedError, match="has no derivative with respect to"):
        tl.grad(LACKING[name])(1.5)


COUNTS = [("poisson", (), 2), ("bernoulli", (), 0), ("binom", (5,), 1), ("geom", (), 2)]
COUNTS += [("nbinom", (3.5,), 1)]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "n", "k"), one_in(3, [pytest.param(*c) for c in COUNTS], 1))
def test_counts(name, n, k):
    for method in ("logpmf", "pmf", "cdf", "sf", "logcdf", "logsf"):
        fn = getattr(getattr(stats, name), method)
        active = (1 + len(n),)
        check_rule(fn, k, *n, between(0.3, 0.7), check_active=active)
        check_rule(fn, k + 1, *n, between(0.3, 0.7), 1, check_active=active)
    check(stats.nbinom.pmf, 2, between(2.0, 3.0), between(0.3, 0.7))


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


@pytest.mark.thorough
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


def test_hypergeometric_functions_and_coefficients() -> None:
    x = between(0.2, 0.8)
    tl.check_grads(lambda x: np.sum(special.hyp1f1(0.5, 1.5, x)), (x,), order=2)
    tl.check_grads(lambda x: np.sum(special.hyp2f1(0.5, 1.2, 1.5, x)), (x,), order=2)
    tl.check_grads(lambda x: np.sum(special.binom(4.0 * x, 0.5 * x)), (x,), order=2)


# --------------------------------------------------- what is read as a program of other operations

linalg = pytest.importorskip("scipy.linalg")
signal = pytest.importorskip("scipy.signal")
ndimage = pytest.importorskip("scipy.ndimage")
A = np.random.default_rng(0).uniform(0.3, 2.0, (5, 4))
B = np.random.default_rng(1).uniform(0.3, 2.0, (3, 3))
V = np.random.default_rng(2).uniform(0.3, 2.0, 6)
SECTIONS = np.array([[0.1, 0.2, 0.1, 1.0, -0.5, 0.2], [0.5, -0.3, 0.2, 1.0, 0.1, -0.4]])

PROGRAMS = {
    "toeplitz": lambda x: linalg.toeplitz(x[:, 0], x[0] ** 2),
    "toeplitz of a column": lambda x: linalg.toeplitz(x[:, 1]),
    "hankel": lambda x: linalg.hankel(x[:, 0], x[0] ** 2),
    "hankel of a column": lambda x: linalg.hankel(x[:, 1]),
    "circulant": lambda x: linalg.circulant(x[:, 1]),
    "solve_toeplitz": lambda x: linalg.solve_toeplitz(x[0] + np.array([9.0, 0, 0, 0]), x.T),
    "solve_toeplitz of both": lambda x: linalg.solve_toeplitz((x[0] + 5.0, x[1] + 5.0), x[2]),
    "khatri_rao": lambda x: linalg.khatri_rao(x, x[:2]),
    "expm twice": lambda x: linalg.expm(0.3 * x[:4]),
    "expm_frechet": lambda x: linalg.expm_frechet(x[:4], x[1:], compute_expm=False),
    "pinv": lambda x: linalg.pinv(x),
    "svd": lambda x: linalg.svd(x, full_matrices=False)[1],
    "svd without vectors": lambda x: linalg.svd(x, compute_uv=False),
    "svdvals": lambda x: linalg.svdvals(x),
    "qr": lambda x: linalg.qr(x, mode="economic")[0],
    "polar": lambda x: linalg.polar(x)[1],
    "polar left": lambda x: linalg.polar(x.T, side="left")[0],
    "zscore": lambda x: stats.zscore(x, axis=1, ddof=1),
    "gmean": lambda x: stats.gmean(x),
    "gmean weighted": lambda x: stats.gmean(x, weights=A**2),
    "hmean": lambda x: stats.hmean(x, axis=None),
    "moment": lambda x: stats.moment(x, 3, axis=1),
    "skew": lambda x: stats.skew(x),
    "kurtosis": lambda x: stats.kurtosis(x, axis=1, fisher=False),
    "sem": lambda x: stats.sem(x, axis=None),
    "entropy": lambda x: stats.entropy(x, base=2),
    "relative entropy": lambda x: stats.entropy(x, x**2, axis=1),
    "pmean": lambda x: stats.pmean(x, x[0, 0], axis=1),
    "tmean": lambda x: stats.tmean(x),
    "zmap": lambda x: stats.zmap(x, x[:3] ** 2),
    "ttest_1samp": lambda x: np.stack(stats.ttest_1samp(x, 0.4)),
    "ttest_rel": lambda x: stats.ttest_rel(x, x**2, axis=None).statistic,
    "ttest_ind": lambda x: stats.ttest_ind(x, x[:3] ** 2, axis=0).statistic,
    "boxcox": lambda x: stats.boxcox(x[0], x[1, 1]),
    "boxcox_llf": lambda x: stats.boxcox_llf(x[0, 0], x),
    "yeojohnson": lambda x: stats.yeojohnson(x[0] - 1.0, x[1, 1]),
    "yeojohnson_llf": lambda x: stats.yeojohnson_llf(x[0, 0], x[:, 1] - 1.0),
    "wasserstein_distance": lambda x: stats.wasserstein_distance(x[0], x[:, 1], x[1], x[:, 2]),
    "energy_distance": lambda x: stats.energy_distance(x[0], x[:, 1]),
    "comb": lambda x: special.comb(4.0 * x, 0.5 * x),
    "comb with repetition": lambda x: special.comb(x, x[0] ** 2, repetition=True),
    "correlate": lambda x: signal.correlate(x, x[:2, :3], "same"),
    "convolve2d": lambda x: signal.convolve2d(x, x[:2, :2], mode="valid"),
    "correlate2d": lambda x: signal.correlate2d(x, x[:2, :3]),
    "medfilt": lambda x: signal.medfilt(x, (3, 1)),
    "medfilt2d": lambda x: signal.medfilt2d(x),
    "detrend": lambda x: signal.detrend(x, axis=0),
    "detrend by a constant": lambda x: signal.detrend(x, type="constant"),
    "hilbert": lambda x: np.abs(signal.hilbert(x, axis=0)),
    "hilbert of a length": lambda x: np.abs(signal.hilbert(x, 7)),
    "sosfilt": lambda x: signal.sosfilt(SECTIONS, x, axis=0),
    "sosfilt of a list": lambda x: signal.sosfilt([[0.1, x[0, 0], 0.1, 1.0, -0.5, 0.2]], x),
    "stft": lambda x: np.abs(signal.stft(x, nperseg=3)[2]),
    "stft of a length": lambda x: signal.stft(x, nperseg=4, nfft=6, boundary=None)[2].imag,
    "istft": lambda x: signal.istft(x * (1.0 + 0.5j), noverlap=2, window="hamming")[1],
    "istft two-sided": lambda x: (
        signal.istft(x + 0j, input_onesided=False, window="hamming")[1].real
    ),
    "resample up": lambda x: signal.resample(x, 7),
    "resample down": lambda x: signal.resample(x, 2, axis=1),
    "maximum_filter": lambda x: ndimage.maximum_filter(x, 3),
    "minimum_filter": lambda x: ndimage.minimum_filter(x, size=(2, 3), mode="nearest"),
    "median_filter": lambda x: ndimage.median_filter(x, 3),
    "median_filter of an even size": lambda x: ndimage.median_filter(x, (2, 3), mode="mirror"),
    "grey_dilation": lambda x: ndimage.grey_dilation(x, 3, mode="mirror"),
    "grey_erosion": lambda x: ndimage.grey_erosion(x, size=(2, 3), mode="constant", cval=0.1),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_programs(name: str) -> None:
    """Differences are those of SciPy's function, derivatives those of what it is read as."""
    weighted, place = PROGRAMS[name], list(PROGRAMS).index(name)
    tl.check_grads(lambda x: np.sum(weighted(x) ** 3), (A,), order=1 + place % 2)


WAVE = np.cos(np.arange(31.0) ** 1.3)
SPECTRA = (WAVE[:30] + 1.0j * WAVE[1:]).reshape(5, 6)
VALUES = {
    ("special", "comb"): (
        (np.array([3.0, 2.5, 0.0, -0.5]), np.array([[2.0], [0.0], [2.7]])),
        ({}, {"repetition": True}),
    ),
    **{("linalg", name): ((A,), ({},)) for name in ("svdvals", "pinv", "polar")},
    ("linalg", "svd"): ((A,), ({}, {"full_matrices": False}, {"compute_uv": False})),
    ("linalg", "qr"): ((A,), ({}, {"mode": "economic"})),
    ("linalg", "toeplitz"): ((V + 1.0j, A[0]), ({},)),
    ("linalg", "hankel"): ((V, A[0]), ({},)),
    **{
        ("signal", name): ((A, B), ({}, {"mode": "same"}, {"mode": "valid"}))
        for name in ("correlate", "convolve2d", "correlate2d")
    },
    ("signal", "detrend"): ((A,), ({}, {"axis": 0}, {"type": "constant"})),
    ("signal", "hilbert"): ((A,), ({}, {"N": 3}, {"N": 6}, {"axis": 0})),
    **{
        ("ndimage", f"{name}_filter"): (
            (A,),
            tuple(
                {"size": size, "mode": mode}
                for mode in ("reflect", "nearest", "mirror", "wrap", "constant")
                for size in (3, 2, (1, 4))
            ),
        )
        for name in ("maximum", "minimum")
    },
    ("ndimage", "grey_dilation"): ((A,), ({"size": 3}, {"size": (1, 3)})),
    ("ndimage", "grey_erosion"): ((A,), ({"size": 3}, {"size": 2})),
    **{
        ("stats", name): ((A,), ({}, {"axis": 1}, {"axis": None}))
        for name in ("zscore", "gmean", "hmean", "moment", "skew", "kurtosis", "sem", "entropy")
    },
    **{
        ("stats", name): ((A,), ({}, {"axis": 1}, {"axis": None}))
        for name in ("variation", "iqr", "median_abs_deviation")
    },
    ("stats", "pmean"): ((A, 0.0), ({}, {"axis": None})),
    ("stats", "tmean"): ((A,), ({}, {"axis": 0})),
    ("stats", "zmap"): ((A, A[:3] ** 2), ({}, {"ddof": 1}, {"axis": None})),
    ("stats", "ttest_1samp"): ((A, 0.4), ({}, {"axis": None}, {"keepdims": True})),
    ("stats", "ttest_rel"): ((A, A**2), ({}, {"axis": 1})),
    ("stats", "ttest_ind"): ((A, A[:3] ** 2), ({}, {"axis": None})),
    ("stats", "boxcox"): ((V, 0.0), ({},)),
    ("stats", "boxcox_llf"): ((0.7, A), ({}, {"axis": 1})),
    ("stats", "yeojohnson"): ((V - 1.0, 2.0), ({},)),
    ("stats", "yeojohnson_llf"): ((0.7, A - 1.0), ({},)),
    **{
        ("stats", f"{name}_distance"): ((V, A[0]), ({}, {"u_weights": V**2, "v_weights": A[1]}))
        for name in ("wasserstein", "energy")
    },
    ("signal", "medfilt"): ((A,), ({}, {"kernel_size": (1, 3)})),
    ("stats", "trim_mean"): ((A, 0.3), ({}, {"axis": 1}, {"axis": None})),
    ("signal", "welch"): (
        (WAVE,),
        ({}, {"nperseg": 8}, {"nperseg": 9, "noverlap": 2, "average": "median", "nfft": 12}),
    ),
    ("signal", "periodogram"): ((WAVE,), ({}, {"nfft": 40}, {"scaling": "spectrum"})),
    ("signal", "spectrogram"): ((WAVE,), ({}, {"nperseg": 8, "window": "hamming"})),
    ("signal", "stft"): (
        (WAVE,),
        (
            {"nperseg": 8},
            {"nperseg": 9, "noverlap": 2, "nfft": 12, "scaling": "psd", "fs": 2.0},
            {"nperseg": 8, "boundary": None, "padded": False, "detrend": "constant"},
            {"nperseg": 7, "return_onesided": False, "window": "hamming"},
        ),
    ),
    ("signal", "istft"): (
        (SPECTRA,),
        (
            {},
            {"noverlap": 6, "scaling": "psd", "fs": 2.0},
            {"nperseg": 9, "window": "hamming"},
            {"boundary": False, "window": "hamming"},
            {"input_onesided": False, "noverlap": 3},
        ),
    ),
    ("signal", "resample"): (
        (A, 6),
        ({}, {"axis": 1}, {"t": np.arange(4.0)}, {"axis": 1, "t": np.arange(4.0)}),
    ),
    ("signal", "csd"): ((WAVE, WAVE**2), ({"nperseg": 8}, {"window": WAVE[:7], "detrend": False})),
    ("signal", "coherence"): ((WAVE, WAVE**2), ({"nperseg": 8},)),
    ("signal", "savgol_filter"): (
        (WAVE, 6, 2),
        ({}, {"deriv": 1, "delta": 0.3}, {"mode": "nearest"}, {"mode": "wrap"}),
    ),
    ("signal", "filtfilt"): (
        ([1.0, 0.5], [1.0, 0.2, 0.1], WAVE),
        ({}, {"padtype": "even"}, {"padtype": "constant", "padlen": 4}, {"padtype": None}),
    ),
}


@pytest.mark.parametrize(("module", "name"), VALUES)
def test_programs_give_what_scipy_gives(module: str, name: str) -> None:
    from tangentlike.rules import scipy_programs

    args, every = VALUES[module, name]
    ours = getattr(scipy_programs, name if module == "stats" else f"{module}_{name}")
    scipys = getattr(
        {"linalg": linalg, "signal": signal, "ndimage": ndimage, "special": special}.get(
            module, stats
        ),
        name,
    )
    for options in every:
        for found, expected in zip(
            *(
                np.atleast_2d(x) if not isinstance(x, tuple) else x
                for x in (ours(*args, **options), scipys(*args, **options))
            ),
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: linalg.qr(x, pivoting=True)[1],
        lambda x: signal.correlate2d(x[:2, :2], x, mode="same"),
        lambda x: signal.detrend(x, bp=2),
        lambda x: stats.skew(x, bias=False),
        lambda x: stats.gmean(x, nan_policy="omit"),
        lambda x: stats.tmean(x, (0.0, 1.0)),
        lambda x: stats.ttest_1samp(x, 0.0, alternative="less").statistic,
        lambda x: stats.ttest_ind(x, x[:2], equal_var=False).statistic,
        lambda x: stats.boxcox(x[0])[0],
        lambda x: ndimage.maximum_filter(x, footprint=np.ones((2, 2))),
        lambda x: ndimage.grey_dilation(x, size=2),
        lambda x: ndimage.grey_dilation(x, footprint=np.ones((3, 3))),
    ],
)
def test_options_without_a_rule_are_refused(refused) -> None:
    with pytest.raises(tl.UnsupportedError, match="derivative"):
        tl.grad(lambda x: np.sum(refused(x)))(A)


# --------------------------------------------------------------------------- interpolants

interpolate = pytest.importorskip("scipy.interpolate")
PLACES, HEIGHTS = (
    np.array([0.0, 0.4, 1.1, 1.5, 2.3, 3.0]),
    np.array([0.3, 1.2, 0.4, -0.5, 0.1, 0.9]),
)
WHERE = np.array([0.25, 1.35, 2.9])

MADE = {
    "cubic": lambda y, q: interpolate.CubicSpline(PLACES, y)(q),
    "ends": lambda y, q: interpolate.CubicSpline(PLACES, y, bc_type=((1, 0.3), (2, 0.1)))(q),
    "slope": lambda y, q: interpolate.CubicSpline(PLACES, y, bc_type="natural")(q, nu=1),
    "linear": lambda y, q: interpolate.interp1d(PLACES, y)(q),
    "beyond": lambda y, q: interpolate.interp1d(PLACES, y, fill_value="extrapolate")(q * 1.5),
    "filled": lambda y, q: interpolate.interp1d(PLACES, y, bounds_error=False, fill_value=2.0)(
        q * 1.5
    ),
    "of order 3": lambda y, q: interpolate.interp1d(PLACES, y, kind="cubic")(q),
    "nearest": lambda y, q: interpolate.interp1d(PLACES, y, kind="nearest")(q),
    "Krogh": lambda y, q: interpolate.KroghInterpolator(PLACES, y)(q),
    "barycentric": lambda y, q: interpolate.BarycentricInterpolator(PLACES, y)(q),
    "B-spline": lambda y, q: interpolate.make_interp_spline(PLACES, y, k=2)(q),
    "coefficients": lambda y, q: interpolate.BSpline(KNOTS, y, 2)(q),
    "univariate": lambda y, q: interpolate.InterpolatedUnivariateSpline(PLACES, y)(q),
}
KNOTS = np.array([0.0, 0.0, 0.0, 1.0, 1.5, 2.0, 3.0, 3.0, 3.0])


@pytest.mark.parametrize("name", MADE)
def test_interpolants_by_values_and_places(name):
    tl.check_grads(MADE[name], (HEIGHTS, WHERE), order=2)
    tl.check_grads(lambda y: MADE[name](y, 1.3), (HEIGHTS,))


OBJECTS = {
    "cubic": interpolate.CubicSpline(PLACES, HEIGHTS),
    "Pchip": interpolate.PchipInterpolator(PLACES, HEIGHTS),
    "Akima": interpolate.Akima1DInterpolator(PLACES, HEIGHTS),
    "smooth": interpolate.UnivariateSpline(PLACES, HEIGHTS, s=0.1),
    "linear": interpolate.interp1d(PLACES, HEIGHTS),
    "previous": interpolate.interp1d(PLACES, HEIGHTS, kind="previous"),
    "Krogh": interpolate.KroghInterpolator(PLACES, HEIGHTS),
    "B-spline": interpolate.make_interp_spline(PLACES, HEIGHTS),
}
SPLINE = OBJECTS["cubic"]
PARTS = interpolate.splrep(PLACES, HEIGHTS)


@pytest.mark.parametrize("name", OBJECTS)
def test_interpolants_that_are_given(name):
    held = SimpleNamespace(spline=OBJECTS[name])
    tl.check_grads(lambda q: held.spline(q) * q, (WHERE,), order=2)
    given = tl.grad(lambda table, q: np.sum(table(q) * q), wrt=1)(OBJECTS[name], WHERE)
    np.testing.assert_allclose(given, tl.grad(lambda q: np.sum(held.spline(q) * q))(WHERE))


def test_interpolants_outside_and_by_their_parts():
    tl.check_grads(lambda q: SPLINE(q) * interpolate.splev(q, PARTS, 1), (WHERE,), order=2)


def test_interpolants_that_are_not_linear_in_their_values_are_refused():
    for maker in (interpolate.PchipInterpolator, interpolate.UnivariateSpline):
        with pytest.raises(tl.UnsupportedError):
            tl.grad(lambda y, maker=maker: maker(PLACES, y)(1.3))(HEIGHTS)
    with pytest.raises(tl.UnsupportedError, match="not by several at a place"):
        tl.jvp(lambda y: interpolate.CubicSpline(PLACES, y)(1.3), (np.eye(6),), (np.eye(6),))
    with pytest.raises(tl.UnsupportedError, match="with respect to its argument `x`"):
        tl.grad(lambda x: interpolate.CubicSpline(x, HEIGHTS)(1.3))(PLACES)
    with pytest.raises(tl.UnsupportedError, match="several values at a place"):
        tl.jvp(lambda q: interpolate.CubicSpline(PLACES, np.eye(6))(q), (1.3,), (1.0,))


class Curve:
    def __init__(self, spline):
        self.spline = spline

    def __call__(self, q):
        return self.spline(q) ** 2


@pytest.mark.thorough
def test_an_interpolant_of_an_object_that_is_called():
    curve = Curve(interpolate.CubicSpline(PLACES, HEIGHTS))
    args = (curve,)

    def along(q):
        return np.sum(curve(q) ** 2)

    def handed_on(q):
        gradient = tl.grad(lambda q, c: np.sum(c(q) ** 2))
        return np.sum(gradient(q, *args))

    tl.check_grads(along, (WHERE,), order=2)
    tl.check_grads(handed_on, (WHERE,))


POINTS = np.array([1.0, 2.0, 3.5])


def error_of(fit):
    return fit.slope * fit.stderr


def fit_given_on(x):
    return error_of(stats.linregress(POINTS, x))


def fit_by_name(x):
    fits = {"first": stats.linregress(POINTS, x)}
    slope, *others = fits["first"]
    return fits["first"]._asdict()["intercept"] * slope + others[1]


def fit_given_back(x):
    return np.sum(np.array(stats.pearsonr(POINTS, x)))


@pytest.mark.thorough
@pytest.mark.parametrize("program", one_in(3, [fit_given_on, fit_by_name, fit_given_back], 1))
def test_results_with_fields_wherever_they_go(program):
    tl.check_grads(program, (np.array([1.2, 0.7, 2.1]),), order=2)


@pytest.mark.parametrize("derivative", [tl.grad, lambda f: lambda x: tl.jvp(f, (x,), (x,))])
def test_a_field_without_a_derivative(derivative):
    """The library's result has it: the derivative of zero would be wrong."""
    x = np.array([1.2, 0.7, 2.1])
    with pytest.raises(tl.UnsupportedError, match="`intercept_stderr` is not a field"):
        derivative(lambda x: stats.linregress(POINTS, x).intercept_stderr)(x)


def between_points(x):
    distance = pytest.importorskip("scipy.spatial.distance")
    matrix = distance.squareform(distance.pdist(np.outer(x, np.cos(x))))
    return np.sum(distance.squareform(np.exp(-matrix), checks=False) ** 2 * matrix[0, 1:3].sum())


@pytest.mark.thorough
def test_distances_as_a_vector_and_as_a_matrix():
    tl.check_grads(between_points, (between(0.2, 0.8, 4),), order=2)


@pytest.mark.parametrize("shape", [(1,), (6,), (3, 3), (1, 1)])
def test_the_vector_and_the_matrix_are_those_of_scipy(shape):
    distance = pytest.importorskip("scipy.spatial.distance")
    x = between(0.2, 0.8, int(np.prod(shape))).reshape(shape)
    x = x if len(shape) == 1 else (x + x.T) * (1.0 - np.eye(len(x)))
    value, pullback = tl.vjp(lambda y: distance.squareform(y), x)
    np.testing.assert_array_equal(value, distance.squareform(x))
    assert pullback(np.ones_like(value))[0].shape == shape


def surface():
    x, v = np.meshgrid(np.linspace(0, 1, 8), np.linspace(0, 2, 9), indexing="ij")
    z = np.sin(2 * x * v) + x
    return interpolate.bisplrep(x.ravel(), v.ravel(), z.ravel(), kx=3, ky=3, s=0)


ON_GRID = [
    (0.3, 0.7),
    (1.3, 0.7),
    (np.sort(between(0.2, 0.8)), 0.7),
    (np.array([0.3]), np.sort(between(0.2, 0.8))),
]
ON_GRID += [(np.sort(between(0.2, 1.5)), np.sort(between(0.5, 2.4, 4)))]


@pytest.mark.thorough
@pytest.mark.parametrize("places", ON_GRID, ids=range(len(ON_GRID)))
def test_surfaces_by_their_places(places):
    fn = one_line_function(interpolate.bisplev, ["x", "v"], ["x", "v", "tck"], {"tck": surface()})
    tl.check_grads(fn, places, order=2)
