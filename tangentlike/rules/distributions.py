"""Rules of `scipy.special`, and of the densities and distribution functions of `scipy.stats`, for
programs that have imported them.

SciPy is never imported from here: operations are named by strings, and derivatives that need
other special functions take them from SciPy when a program that uses it is differentiated.
Distributions: by the argument for all of them, and by the parameters where the derivative has a
closed form. In each, z is the standardised argument.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from .. import ir
from ..ir.kind import Kind
from .book import Deferred, KindOf, ResultKind, nondifferentiable, rule
from .kinds_of import argument, elementwise, other, reduction, shape_from_argument
from .tables import partials, written

scipy = Deferred("scipy")


def _complex(call, kind_of):
    """What is complex for real arguments, too."""
    return replace(elementwise(call, kind_of), dtype="complex")


def _special(table: Mapping[str, str | Sequence[str]], kind: ResultKind | None = None) -> None:
    """The rules of functions of `scipy.special`, which is `special` in their derivatives."""
    named = {}
    for operation, slopes in table.items():
        names, bracket, params = operation.partition("(")
        key = ", ".join(f"scipy.special.{name}" for name in names.split(", ")) + bracket + params
        each = (slopes,) if isinstance(slopes, str) else slopes
        named[key] = [slope.replace("special.", "scipy.special.") for slope in each]
    partials(named, kind)


_special(
    {
        "expit": "y * (1.0 - y)",
        "logit": "1.0 / (x * (1.0 - x))",
        "log_expit": "1.0 - np.exp(y)",
        "erf": "2.0 / math.sqrt(math.pi) * np.exp(-x * x)",
        "erfc": "-(2.0 / math.sqrt(math.pi) * np.exp(-x * x))",
        "erfinv": "math.sqrt(math.pi) / 2.0 * np.exp(y * y)",
        "erfcinv": "-(math.sqrt(math.pi) / 2.0 * np.exp(y * y))",
        "ndtr": "np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)",
        "log_ndtr": "np.exp(-0.5 * x * x - y) / math.sqrt(2.0 * math.pi)",
        "gammaln, loggamma": "special.digamma(x)",
        "gamma": "y * special.digamma(x)",
        "rgamma": "-y * special.digamma(x)",
        "digamma, psi": "special.polygamma(1, x)",
        "polygamma(n, x)": "special.polygamma(n + 1, x)",
        "beta(a, b)": (
            "y * (special.digamma(a) - special.digamma(a + b))",
            "y * (special.digamma(b) - special.digamma(a + b))",
        ),
        "betaln(a, b)": (
            "special.digamma(a) - special.digamma(a + b)",
            "special.digamma(b) - special.digamma(a + b)",
        ),
        "gammainc(a, x)": "np.exp((a - 1.0) * np.log(x) - x - special.gammaln(a))",
        "gammaincc(a, x)": "-np.exp((a - 1.0) * np.log(x) - x - special.gammaln(a))",
        "betainc(a, b, x)": "np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) "
        "- special.betaln(a, b))",
        "xlogy(a, b)": ("log_or_zero(b)", "ratio_or_zero(a, b)"),
        "xlog1py(a, b)": ("np.log1p(b)", "a / (1.0 + b)"),
        "entr": "-log_or_zero(x) - 1.0",
        "rel_entr(a, b)": ("log_or_zero(a / b) + 1.0", "-a / b"),
        "kl_div(a, b)": ("log_or_zero(a / b)", "1.0 - a / b"),
        "huber(delta, r)": ("np.maximum(np.abs(r) - delta, 0.0)", "np.clip(r, -delta, delta)"),
        "pseudo_huber(delta, r)": (
            "2.0 * y / delta - r * r / np.hypot(delta, r)",
            "delta * r / np.hypot(delta, r)",
        ),
        "softplus": "1.0 - np.exp(-y)",
        # what NumPy has, too
        "log1p": "1.0 / (1.0 + x)",
        "expm1": "np.exp(x)",
        "cbrt": "1.0 / (3.0 * y * y)",
        "exp2": "math.log(2.0) * y",
        "exp10": "math.log(10.0) * y",
        "cosm1": "-np.sin(x)",
        # error functions, exponential integrals
        "erfi": "2.0 / math.sqrt(math.pi) * np.exp(x * x)",
        "erfcx": "2.0 * x * y - 2.0 / math.sqrt(math.pi)",
        "dawsn": "1.0 - 2.0 * x * y",
        "ndtri": "math.sqrt(2.0 * math.pi) * np.exp(0.5 * y * y)",
        "expi": "np.exp(x) / x",
        "exp1": "-np.exp(-x) / x",
        "expn(n, x)": "-special.expn(n - 1, x)",
        # of the gamma function, and hypergeometric
        "binom(n, k)": (
            "y * (special.digamma(n + 1.0) - special.digamma(n - k + 1.0))",
            "y * (special.digamma(n - k + 1.0) - special.digamma(k + 1.0))",
        ),
        "poch(z, m)": (
            "y * (special.digamma(z + m) - special.digamma(z))",
            "y * special.digamma(z + m)",
        ),
        "gammaincinv(a, x)": "np.exp(y - (a - 1.0) * np.log(y) + special.gammaln(a))",
        "hyp0f1(v, x)": "special.hyp0f1(v + 1.0, x) / v",
        "hyp1f1(a, b, x)": "a / b * special.hyp1f1(a + 1.0, b + 1.0, x)",
        "hyp2f1(a, b, c, x)": "a * b / c * special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, x)",
        "zeta(x, q)": "-x * special.zeta(x + 1.0, q)",
        # Bessel functions
        "i0": "special.i1(x)",
        "i1": "0.5 * (special.i0(x) + special.iv(2, x))",
        "j0": "-special.j1(x)",
        "y0": "-special.y1(x)",
        "j1": "0.5 * (special.jv(0, x) - special.jv(2, x))",
        "y1": "0.5 * (special.yn(0, x) - special.yn(2, x))",
        "jv, jn(n, x)": "0.5 * (special.jv(n - 1, x) - special.jv(n + 1, x))",
        "yn, yv(n, x)": "0.5 * (special.yv(n - 1, x) - special.yv(n + 1, x))",
        "iv(n, x)": "0.5 * (special.iv(n - 1, x) + special.iv(n + 1, x))",
        "kv, kn(n, x)": "-0.5 * (special.kv(n - 1, x) + special.kv(n + 1, x))",
        "ive(n, x)": "0.5 * (special.ive(n - 1, x) + special.ive(n + 1, x)) - np.sign(x) * y",
        "i0e": "special.i1e(x) - np.sign(x) * y",
        "i1e": "0.5 * (special.i0e(x) + special.ive(2, x)) - np.sign(x) * y",
        "k0": "-special.k1(x)",
        "k1": "-0.5 * (special.k0(x) + special.kv(2, x))",
        "k0e": "y - special.k1e(x)",
        "k1e": "y - 0.5 * (special.k0e(x) + special.kve(2, x))",
        "kve(n, x)": "y - 0.5 * (special.kve(n - 1, x) + special.kve(n + 1, x))",
    }
)


@rule("scipy.special.multigammaln")
def multigammaln(y, a, d):
    shifted = np.expand_dims(a, -1) - 0.5 * np.arange(d)
    dy_da = np.sum(scipy.special.digamma(shifted), axis=-1)


nondifferentiable("scipy.special.gammasgn")

# ------------------------------------------------------------------------- normalisations


_special({"wofz(z)": "2j / math.sqrt(math.pi) - 2.0 * z * y"}, kind=_complex)


@rule("scipy.special.lambertw", kind=_complex)
def lambertw(y, z, k=0, tol=1e-8):
    dy_dz = np.exp(-y) / (1.0 + y)


@rule("scipy.special.logsumexp", kind=reduction)
def logsumexp(y, a, axis=None, b=None, keepdims=False):
    if b is None:
        weights = np.exp(a - kept(y, axis, keepdims))
        y_dot = np.sum(weights * a_dot, axis=axis, keepdims=keepdims)
        a_bar = conj(weights) * unreduce(y_bar, a, axis, keepdims)


@rule("scipy.special.softmax")
def softmax(y, x, axis=None):
    y_dot = y * (x_dot - np.sum(y * x_dot, axis=axis, keepdims=True))
    x_bar = y * (y_bar - np.sum(y * y_bar, axis=axis, keepdims=True))


@rule("scipy.special.log_softmax")
def log_softmax(y, x, axis=None):
    y_dot = x_dot - np.sum(np.exp(y) * x_dot, axis=axis, keepdims=True)
    x_bar = y_bar - np.exp(y) * np.sum(y_bar, axis=axis, keepdims=True)


# ------------------------------------------- location and scale: what is alike in all of them

_SHAPES = {"t": "df, ", "gamma": "a, ", "chi2": "df, ", "beta": "a, b, ", "lognorm": "s, "}
_SHAPES |= {"weibull_min": "c, ", "pareto": "b, ", "invgamma": "a, ", "vonmises": "kappa, "}
_WITH_DENSITIES = [
    "norm",
    "t",
    "gamma",
    "chi2",
    "beta",
    "expon",
    "uniform",
    "laplace",
    "cauchy",
    "logistic",
]

for _family in ("norm", "t", "gamma", "chi2", "beta", "expon", "laplace", "cauchy"):
    _given = f"x, {_SHAPES.get(_family, '')}loc, scale)"
    _params = f"x, {_SHAPES.get(_family, '')}loc=0, scale=1)"
    _cdf = [f"density = scipy.stats.{_family}.pdf({_given}", "dy_dx = density"]
    _cdf += ["dy_dloc = -density", "dy_dscale = -(density * (x - loc) / scale)"]
    written(f"scipy.stats.{_family}.cdf", _params, _cdf)
    if _family in ("norm", "t"):
        _log = [f"hazard = np.exp(scipy.stats.{_family}.logpdf({_given} - y)", "dy_dx = hazard"]
        _log += ["dy_dloc = -hazard", "dy_dscale = -(hazard * (x - loc) / scale)"]
        written(f"scipy.stats.{_family}.logcdf", _params, _log)

# The derivatives of the logarithm of a density: `slope` is what it falls by, z the standardised
# argument. Of the first ones the density itself has a rule, too.
_DENSITIES = {
    "norm": ("slope = z / scale", "dy_dscale = (z * z - 1.0) / scale"),
    "t": (
        "slope = (df + 1.0) * z / ((df + z * z) * scale)",
        "gammas = scipy.special.digamma(0.5 * (df + 1.0)) - scipy.special.digamma(0.5 * df)",
        "spread = (df + 1.0) * z * z / (df * (df + z * z))",
        "dy_ddf = 0.5 * (gammas - 1.0 / df - np.log1p(z * z / df) + spread)",
        "dy_dscale = (slope * (x - loc) - 1.0) / scale",
    ),
    "gamma": (
        "slope = (1.0 - (a - 1.0) / z) / scale",
        "dy_da = np.log(z) - scipy.special.digamma(a)",
        "dy_dscale = (z - a) / scale",
    ),
    "chi2": (
        "slope = (0.5 - (0.5 * df - 1.0) / z) / scale",
        "dy_ddf = 0.5 * (np.log(0.5 * z) - scipy.special.digamma(0.5 * df))",
        "dy_dscale = 0.5 * (z - df) / scale",
    ),
    "beta": (
        "both = scipy.special.digamma(a + b)",
        "slope = ((b - 1.0) / (1.0 - z) - (a - 1.0) / z) / scale",
        "dy_da = np.log(z) - scipy.special.digamma(a) + both",
        "dy_db = np.log1p(-z) - scipy.special.digamma(b) + both",
    ),
    "expon": ("slope = 1.0 / scale", "dy_dscale = (z - 1.0) / scale"),
    "uniform": ("slope = 0.0", "dy_dscale = -1.0 / scale"),
    "laplace": ("slope = np.sign(z) / scale", "dy_dscale = (np.abs(z) - 1.0) / scale"),
    "cauchy": ("slope = 2.0 * z / ((1.0 + z * z) * scale)",),
    "logistic": ("slope = np.tanh(0.5 * z) / scale",),
    "halfnorm": ("slope = z / scale", "dy_dscale = (z * z - 1.0) / scale"),
    "halfcauchy": ("slope = 2.0 * z / ((1.0 + z * z) * scale)",),
    "gumbel_r": ("slope = -np.expm1(-z) / scale",),
    "gumbel_l": ("slope = np.expm1(z) / scale",),
    "rayleigh": ("slope = (z - 1.0 / z) / scale",),
    "lognorm": (
        "width = np.log(z) / s",
        "slope = (1.0 + width / s) / (x - loc)",
        "dy_ds = (width * width - 1.0) / s",
        "dy_dscale = width / (s * scale)",
    ),
    "weibull_min": (
        "excess = z**c - 1.0",
        "slope = (1.0 + c * excess) / (x - loc)",
        "dy_dc = 1.0 / c - excess * np.log(z)",
        "dy_dscale = c * excess / scale",
    ),
    "pareto": (
        "slope = (b + 1.0) / (x - loc)",
        "dy_db = 1.0 / b - np.log(z)",
        "dy_dscale = b / scale",
    ),
    "invgamma": (
        "slope = (a + 1.0 - 1.0 / z) / (x - loc)",
        "dy_da = -np.log(z) - scipy.special.digamma(a)",
        "dy_dscale = (a - 1.0 / z) / scale",
    ),
    "vonmises": (
        "slope = kappa * np.sin(z) / scale",
        "dy_dkappa = np.cos(z) - scipy.special.i1e(kappa) / scipy.special.i0e(kappa)",
    ),
}
for _family, _stated in _DENSITIES.items():
    _params = f"x, {_SHAPES.get(_family, '')}loc=0, scale=1)"
    _lines = ["z = (x - loc) / scale", *_stated, "dy_dx = -slope", "dy_dloc = slope"]
    if not any(line.startswith("dy_dscale") for line in _stated):
        _lines.append("dy_dscale = slope * z - 1.0 / scale")
    written(f"scipy.stats.{_family}.logpdf", _params, _lines)
    if _family in _WITH_DENSITIES:
        _pdf = [re.sub(r"^(dy_d\w+ =) (.*)", r"\1 y * (\2)", line) for line in _lines]
        written(f"scipy.stats.{_family}.pdf", _params, _pdf)

# --------------------------------------------------------- other functions of the normal ones

for _tail, _slope in {
    "sf": "scipy.stats.norm.pdf(x, loc, scale)",
    "logsf": "np.exp(scipy.stats.norm.logpdf(x, loc, scale) - y)",
}.items():
    _lines = [f"slope = {_slope}", "dy_dx = -slope", "dy_dloc = slope"]
    _lines.append("dy_dscale = slope * (x - loc) / scale")
    written(f"scipy.stats.norm.{_tail}", "x, loc=0, scale=1)", _lines)
for _inverse, _sign in {"ppf": "", "isf": "-"}.items():
    _lines = [f"dy_dq = {_sign}1.0 / scipy.stats.norm.pdf(y, loc, scale)", "dy_dloc = 1.0"]
    _lines.append("dy_dscale = (y - loc) / scale")
    written(f"scipy.stats.norm.{_inverse}", "q, loc=0, scale=1)", _lines)


@rule("scipy.stats.logistic.cdf")
def logistic_cdf(y, x, loc=0, scale=1):
    slope = y * (1.0 - y) / scale
    dy_dx = slope
    dy_dloc = -slope
    dy_dscale = -(slope * (x - loc) / scale)


# ------------------------------------------------------------------- counts and trials

for _counted, _slope in {
    "poisson.logpmf(k, mu": "(k - loc) / mu - 1.0",
    "poisson.pmf(k, mu": "y * ((k - loc) / mu - 1.0)",
    "poisson.cdf(k, mu": "-scipy.stats.poisson.pmf(np.floor(k), mu, loc)",
    "bernoulli.logpmf(k, p": "(k - loc - p) / (p * (1.0 - p))",
    "bernoulli.pmf(k, p": "y * (k - loc - p) / (p * (1.0 - p))",
    "binom.logpmf(k, n, p": "(k - loc - n * p) / (p * (1.0 - p))",
    "binom.pmf(k, n, p": "y * (k - loc - n * p) / (p * (1.0 - p))",
    "geom.logpmf(k, p": "1.0 / p - (k - loc - 1.0) / (1.0 - p)",
    "nbinom.logpmf(k, n, p": "n / p - (k - loc) / (1.0 - p)",
}.items():
    _name, _, _params = _counted.partition("(")
    _lines = [f"dy_d{_params.rpartition(' ')[2]} = {_slope}"]
    if _name == "nbinom.logpmf":
        _gammas = "scipy.special.digamma(k - loc + n) - scipy.special.digamma(n)"
        _lines.append(f"dy_dn = {_gammas} + np.log(p)")
    written(f"scipy.stats.{_name}", f"{_params}, loc=0)", _lines)


# --------------------------------------------------------------------------------------------------
# Random draws: constants of the program, unless a distribution's location or scale is active.
#
# The draw happens once, in the primal. A normal or uniform number moves with its location and
# scale at a fixed position within the distribution; other distributions refuse active parameters.


def _drawn(call: ir.Call, kind_of: KindOf) -> Kind:
    """An array of the given size; without one, of the shape of the parameters."""
    place = 2  # after the two parameters of the distribution
    if argument(call, place, "size") == ir.Const(None):
        numbers = all(kind_of(arg).form == "number" for arg in call.args)
        return Kind("number", "float", ()) if numbers else Kind("value", "float")
    return shape_from_argument(place, "size")(call, kind_of)


def _located(call: ir.Call, kind_of: KindOf) -> Kind:
    """As `_drawn`, for a method: the generator stands first."""
    return _drawn(ir.Call(call.fn, call.args[1:], call.kwargs, call.at), kind_of)


# (Not elementwise: with a size the result is larger than the parameters broadcast together.)
_MOVED = [
    "noise = ratio_or_zero(y - loc, scale)",
    "y_dot = broadcast_like(loc_dot + noise * scale_dot, y)",
    "loc_bar = unbroadcast(y_bar, loc)",
    "scale_bar = unbroadcast(y_bar * noise, scale)",
]
_BETWEEN = [
    "part = ratio_or_zero(y - low, high - low)",
    "y_dot = broadcast_like(low_dot * (1.0 - part) + high_dot * part, y)",
    "low_bar = unbroadcast(y_bar * (1.0 - part), low)",
    "high_bar = unbroadcast(y_bar * part, high)",
]
for _owner, _rng, _kind, _families in (
    ("np.random", "", _drawn, ("normal",)),
    ("np.random.Generator", "rng, ", _located, ("normal", "laplace", "logistic", "gumbel")),
):
    _names = ", ".join(f"{_owner}.{family}" for family in _families)
    written(_names, f"{_rng}loc=0.0, scale=1.0, size=None)", _MOVED, _kind)
    written(f"{_owner}.uniform", f"{_rng}low=0.0, high=1.0, size=None)", _BETWEEN, _kind)


def _dimensions(call: ir.Call, kind_of: KindOf) -> Kind:
    if not call.args:
        return Kind("number", "float", ())
    sizes = [arg.value if isinstance(arg, ir.Const) else None for arg in call.args]
    return Kind("array", "float", tuple(sizes))


nondifferentiable(np.random.rand, np.random.randn, kind=_dimensions)
nondifferentiable(
    *(np.random.random, np.random.random_sample, np.random.standard_normal),
    kind=shape_from_argument(0, "size"),
)
nondifferentiable(np.random.randint, np.random.standard_exponential)
nondifferentiable(np.random.seed, np.random.get_state, np.random.set_state, kind=other)
nondifferentiable(
    np.random.default_rng, kind=lambda call, kind_of: Kind("other", cls=np.random.Generator)
)
nondifferentiable(
    np.random.RandomState, kind=lambda call, kind_of: Kind("other", cls=np.random.RandomState)
)

# ------------------------------------------------------------- methods of a np.random.Generator


@rule(np.random.Generator.lognormal, kind=_located)
def generator_lognormal(y, rng, mean=0.0, sigma=1.0, size=None):
    noise = ratio_or_zero(np.log(y) - mean, sigma)
    y_dot = y * (mean_dot + noise * sigma_dot)
    mean_bar = unbroadcast(y_bar * y, mean)
    sigma_bar = unbroadcast(y_bar * y * noise, sigma)


@rule(np.random.Generator.exponential, np.random.Generator.rayleigh)
def generator_scaled(y, rng, scale=1.0, size=None):
    noise = ratio_or_zero(y, scale)
    y_dot = noise * scale_dot
    scale_bar = unbroadcast(y_bar * noise, scale)


@rule(np.random.Generator.gamma)
def generator_gamma(y, rng, shape, scale=1.0, size=None):
    # By its shape a gamma number has no simple derivative: that is refused.
    noise = ratio_or_zero(y, scale)
    y_dot = noise * scale_dot
    scale_bar = unbroadcast(y_bar * noise, scale)


@rule(np.random.Generator.multivariate_normal)
def generator_multivariate_normal(
    y, rng, mean, cov, size=None, check_valid="warn", tol=1e-08, method="svd"
):
    # By the covariance: draw standard normal numbers and multiply them with a factor of it.
    y_dot = broadcast_like(mean_dot, y)
    mean_bar = unbroadcast(y_bar, mean)


nondifferentiable(
    *(np.random.Generator.standard_normal, np.random.Generator.random),
    *(np.random.Generator.standard_exponential,),
    kind=lambda call, kind_of: shape_from_argument(1, "size")(call, kind_of),
)
nondifferentiable(
    *(np.random.Generator.integers, np.random.Generator.bytes, np.random.Generator.spawn),
)
