"""Rules of `scipy.special`, and of the densities and distribution functions of `scipy.stats`, for
programs that have imported them.

SciPy is never imported from here: operations are named by strings, and derivatives that need
other special functions take them from SciPy when a program that uses it is differentiated.
Distributions: by the argument for all of them, and by the parameters where the derivative has a
closed form. In each, z is the standardised argument.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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


_STRUVE = "(0.5 * x) ** v / (math.sqrt(math.pi) * special.gamma(v + 1.5))"

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
        "jve(n, x)": "0.5 * (special.jve(n - 1, x) - special.jve(n + 1, x))",
        "yve(n, x)": "0.5 * (special.yve(n - 1, x) - special.yve(n + 1, x))",
        "jvp(v, x, n=1)": "special.jvp(v, x, n + 1)",
        "yvp(v, x, n=1)": "special.yvp(v, x, n + 1)",
        "ivp(v, x, n=1)": "special.ivp(v, x, n + 1)",
        "kvp(v, x, n=1)": "special.kvp(v, x, n + 1)",
        "struve(v, x)": f"0.5 * (special.struve(v - 1, x) - special.struve(v + 1, x) + {_STRUVE})",
        "modstruve(v, x)": "0.5 * (special.modstruve(v - 1, x) + special.modstruve(v + 1, x) "
        f"+ {_STRUVE})",
        "itstruve0": "special.struve(0, x)",
        "it2struve0": "-special.struve(0, x) / x",
        "itmodstruve0": "special.modstruve(0, x)",
        "ber": "special.berp(x)",
        "bei": "special.beip(x)",
        "ker": "special.kerp(x)",
        "kei": "special.keip(x)",
        "berp": "-special.bei(x) - y / x",
        "beip": "special.ber(x) - y / x",
        "kerp": "-special.kei(x) - y / x",
        "keip": "special.ker(x) - y / x",
        # elliptic integrals, other integrals
        "ellipk": "math.pi / 8.0 * special.hyp2f1(1.5, 1.5, 2.0, x)",
        "ellipe": "-math.pi / 8.0 * special.hyp2f1(0.5, 1.5, 2.0, x)",
        "ellipkm1": "-math.pi / 8.0 * special.hyp2f1(1.5, 1.5, 2.0, 1.0 - x)",
        "spence": "-special.hyp2f1(1.0, 1.0, 2.0, 1.0 - x)",
        "exprel": "0.5 * special.hyp1f1(2.0, 3.0, x)",
        "hyperu(a, b, x)": "-a * special.hyperu(a + 1.0, b + 1.0, x)",
        "wrightomega": "y / (1.0 + y)",
        "owens_t(h, a)": (
            "-np.exp(-0.5 * h * h) * special.erf(a * h / math.sqrt(2.0)) "
            "/ (2.0 * math.sqrt(2.0 * math.pi))",
            "np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * math.pi * (1.0 + a * a))",
        ),
        # orthogonal polynomials, by what they are polynomials of
        "eval_chebyt(n, x)": "n * special.eval_chebyu(n - 1, x)",
        "eval_chebyu(n, x)": "2.0 * special.eval_gegenbauer(n - 1, 2.0, x)",
        "eval_chebyc(n, x)": "n * special.eval_chebyu(n - 1, 0.5 * x)",
        "eval_chebys(n, x)": "special.eval_gegenbauer(n - 1, 2.0, 0.5 * x)",
        "eval_sh_chebyt(n, x)": "2.0 * n * special.eval_chebyu(n - 1, 2.0 * x - 1.0)",
        "eval_sh_chebyu(n, x)": "4.0 * special.eval_gegenbauer(n - 1, 2.0, 2.0 * x - 1.0)",
        "eval_legendre(n, x)": "special.eval_gegenbauer(n - 1, 1.5, x)",
        "eval_sh_legendre(n, x)": "2.0 * special.eval_gegenbauer(n - 1, 1.5, 2.0 * x - 1.0)",
        "eval_gegenbauer(n, a, x)": "2.0 * a * special.eval_gegenbauer(n - 1, a + 1.0, x)",
        "eval_jacobi(n, a, b, x)": "0.5 * (n + a + b + 1.0) "
        "* special.eval_jacobi(n - 1, a + 1.0, b + 1.0, x)",
        "eval_sh_jacobi(n, p, q, x)": "n * special.eval_sh_jacobi(np.maximum(n - 1, 0), p + 2.0, "
        "q + 1.0, x)",
        "eval_laguerre(n, x)": "-special.eval_genlaguerre(n - 1, 1.0, x)",
        "eval_genlaguerre(n, a, x)": "-special.eval_genlaguerre(n - 1, a + 1.0, x)",
        "eval_hermite(n, x)": "2.0 * n * special.eval_hermite(np.maximum(n - 1, 0), x)",
        "eval_hermitenorm(n, x)": "n * special.eval_hermitenorm(np.maximum(n - 1, 0), x)",
        # angles in degrees
        "sindg": "math.pi / 180.0 * special.cosdg(x)",
        "cosdg": "-math.pi / 180.0 * special.sindg(x)",
        "tandg": "math.pi / 180.0 * (1.0 + y * y)",
        "cotdg": "-math.pi / 180.0 * (1.0 + y * y)",
        "radian(d, m, s)": ("math.pi / 180.0", "math.pi / 10800.0", "math.pi / 648000.0"),
        # powers, and the transformation of Box and Cox by what it transforms
        "powm1(a, b)": ("b * a ** (b - 1.0)", "a**b * log_or_zero(a)"),
        "boxcox(x, p)": (
            "x ** (p - 1.0)",
            "0.5 * np.log(x) ** 2 * special.hyp1f1(2.0, 3.0, p * np.log(x))",
        ),
        "boxcox1p(x, p)": (
            "(1.0 + x) ** (p - 1.0)",
            "0.5 * np.log1p(x) ** 2 * special.hyp1f1(2.0, 3.0, p * np.log1p(x))",
        ),
        "inv_boxcox(x, p)": (
            "y ** (1.0 - p)",
            "-(y ** (1.0 - p)) * 0.5 * np.log(y) ** 2 * special.hyp1f1(2.0, 3.0, p * np.log(y))",
        ),
        "inv_boxcox1p(x, p)": (
            "(1.0 + y) ** (1.0 - p)",
            "-((1.0 + y) ** (1.0 - p)) * 0.5 * np.log1p(y) ** 2 "
            "* special.hyp1f1(2.0, 3.0, p * np.log1p(y))",
        ),
    }
)

# Distribution functions: of what is below, above, and of the inverse of either, by its level.
# (the names and parameters; the density at `x`, by which the first falls)
_DISTRIBUTIONS = {
    "betainc, betaincc, betaincinv, betainccinv(a, b, x)": "np.exp((a - 1.0) * np.log(x) "
    "+ (b - 1.0) * np.log1p(-x) - special.betaln(a, b))",
    "gammainc, gammaincc, gammaincinv, gammainccinv(a, x)": "np.exp((a - 1.0) * np.log(x) - x "
    "- special.gammaln(a))",
    "stdtr, , stdtrit, (df, x)": "np.exp(special.gammaln(0.5 * df + 0.5) "
    "- special.gammaln(0.5 * df) - 0.5 * (df + 1.0) * np.log1p(x * x / df)) "
    "/ np.sqrt(math.pi * df)",
    "chdtr, chdtrc, , chdtri(v, x)": "0.5 * np.exp((0.5 * v - 1.0) * np.log(0.5 * x) - 0.5 * x "
    "- special.gammaln(0.5 * v))",
    "fdtr, fdtrc, fdtri, (n, d, x)": "np.exp(0.5 * n * np.log(n / d) + (0.5 * n - 1.0) * np.log(x) "
    "- 0.5 * (n + d) * np.log1p(n * x / d) - special.betaln(0.5 * n, 0.5 * d))",
    "gdtr, gdtrc, gdtrix, (a, b, x)": "np.exp(b * np.log(a) + (b - 1.0) * np.log(x) - a * x "
    "- special.gammaln(b))",
    "nbdtr, nbdtrc, nbdtri, (k, n, x)": "np.exp((n - 1.0) * np.log(x) + k * np.log1p(-x) "
    "- special.betaln(n, k + 1.0))",
    "bdtrc, bdtr, , bdtri(k, n, x)": "np.exp(np.floor(k) * np.log(x) + (n - np.floor(k) - 1.0) "
    "* np.log1p(-x) - special.betaln(np.floor(k) + 1.0, n - np.floor(k)))",
    "pdtrc, pdtr, , pdtri(k, x)": "np.exp(np.floor(k) * np.log(x) - x "
    "- special.gammaln(np.floor(k) + 1.0))",
}


def _both_ways(table: Mapping[str, str]) -> None:
    """The rules of distribution functions, by a density each.

    before::                                      after::
        "gammainc, gammaincc, , (a, x)": d(x)         def gammainc(y, a, x):  dy_dx = d(x)
                                                      def gammaincc(y, a, x): dy_dx = -d(x)
    """
    for operation, density in table.items():
        names, _, params = operation.partition("(")
        below, above, of_below, of_above = names.split(", ")
        at_y = re.sub(r"\bx\b", "y", density)
        slopes = {
            below: density,
            above: f"-({density})",
            of_below: f"1.0 / ({at_y})",
            of_above: f"-1.0 / ({at_y})",
        }
        _special({f"{name}({params}": slope for name, slope in slopes.items() if name})


_both_ways(_DISTRIBUTIONS)


@rule("scipy.special.multigammaln")
def multigammaln(y, a, d):
    shifted = np.expand_dims(a, -1) - 0.5 * np.arange(d)
    dy_da = np.sum(scipy.special.digamma(shifted), axis=-1)


def _several(table: Mapping[str, Sequence[str]]) -> None:
    """The rules of functions with several results, by a derivative of each with respect to `x`.

    before::                                      after::
        "fresnel(x)": ("s(x)", "c(x)")                y_dot = (s(x) * x_dot, c(x) * x_dot)
                                                      x_bar = y_bar[0] * s(x) + y_bar[1] * c(x)
    """
    for operation, slopes in table.items():
        name, _, params = operation.partition("(")
        each = [slope.replace("special.", "scipy.special.") for slope in slopes]
        tangents = ", ".join(f"broadcast_like({s} * x_dot, y[{i}])" for i, s in enumerate(each))
        terms = " + ".join(f"y_bar[{i}] * ({slope})" for i, slope in enumerate(each))
        lines = [f"y_dot = ({tangents})", f"x_bar = unbroadcast({terms}, x)"]

        def kind(call: ir.Call, kind_of: KindOf, count: int = len(each)) -> Kind:
            return Kind("tuple", items=(elementwise(call, kind_of),) * count)

        written(f"scipy.special.{name}", params, lines, kind)


_several(
    {
        "airy(x)": ("y[1]", "x * y[0]", "y[3]", "x * y[2]"),
        "ellipj(x, m)": ("y[1] * y[2]", "-y[0] * y[2]", "-m * y[0] * y[1]", "y[2]"),
        "fresnel(x)": ("np.sin(0.5 * math.pi * x * x)", "np.cos(0.5 * math.pi * x * x)"),
        "sici(x)": ("np.sinc(x / math.pi)", "np.cos(x) / x"),
        "shichi(x)": ("special.hyp0f1(1.5, 0.25 * x * x)", "np.cosh(x) / x"),
        "itj0y0(x)": ("special.j0(x)", "special.y0(x)"),
        "iti0k0(x)": ("special.i0(x)", "special.k0(x)"),
    }
)

nondifferentiable("scipy.special.gammasgn", "scipy.special.round")

# ------------------------------------------------------------------------- normalisations


_special(
    {
        "wofz(z)": "2j / math.sqrt(math.pi) - 2.0 * z * y",
        "hankel1(v, z)": "0.5 * (special.hankel1(v - 1, z) - special.hankel1(v + 1, z))",
        "hankel2(v, z)": "0.5 * (special.hankel2(v - 1, z) - special.hankel2(v + 1, z))",
        "hankel1e(v, z)": "0.5 * (special.hankel1e(v - 1, z) - special.hankel1e(v + 1, z)) "
        "- 1j * y",
        "hankel2e(v, z)": "0.5 * (special.hankel2e(v - 1, z) - special.hankel2e(v + 1, z)) "
        "+ 1j * y",
        "h1vp(v, z, n=1)": "special.h1vp(v, z, n + 1)",
        "h2vp(v, z, n=1)": "special.h2vp(v, z, n + 1)",
    },
    kind=_complex,
)


@rule("scipy.special.lambertw", kind=_complex)
def lambertw(y, z, k=0, tol=1e-8):
    dy_dz = np.exp(-y) / (1.0 + y)


@rule("scipy.special.logsumexp", kind=reduction)
def logsumexp(y, a, axis=None, b=None, keepdims=False):
    if b is None:
        weights = np.exp(a - kept(y, axis, keepdims))
        y_dot = np.sum(weights * a_dot, axis=axis, keepdims=keepdims)
        a_bar = kept(y_bar, axis, keepdims) * conj(weights)


@rule("scipy.special.softmax")
def softmax(y, x, axis=None):
    y_dot = y * (x_dot - np.sum(y * x_dot, axis=axis, keepdims=True))
    x_bar = y * (y_bar - np.sum(y * y_bar, axis=axis, keepdims=True))


@rule("scipy.special.log_softmax")
def log_softmax(y, x, axis=None):
    y_dot = x_dot - np.sum(np.exp(y) * x_dot, axis=axis, keepdims=True)
    x_bar = y_bar - np.exp(y) * np.sum(y_bar, axis=axis, keepdims=True)


# ------------------------------------------- location and scale: what is alike in all of them

# The derivatives of the logarithm of a density: `slope` is what it falls by, z the standardised
# argument. Where an equation of the shapes and z holds at each level of probability, `z_a` is the
# derivative of z by the shape a then: that of quantiles, and with the density that of levels.
_POWER = "-z * np.log(z)"  # (of z = u ** (1 / c), times c)
_DENSITIES = {
    "norm": ("slope = z / scale", "dy_dscale = (z * z - 1.0) / scale"),
    "t, df": (
        "slope = (df + 1.0) * z / ((df + z * z) * scale)",
        "gammas = scipy.special.digamma(0.5 * (df + 1.0)) - scipy.special.digamma(0.5 * df)",
        "spread = (df + 1.0) * z * z / (df * (df + z * z))",
        "dy_ddf = 0.5 * (gammas - 1.0 / df - np.log1p(z * z / df) + spread)",
        "dy_dscale = (slope * (x - loc) - 1.0) / scale",
    ),
    "gamma, a": (
        "slope = (1.0 - (a - 1.0) / z) / scale",
        "dy_da = np.log(z) - scipy.special.digamma(a)",
        "dy_dscale = (z - a) / scale",
    ),
    "chi2, df": (
        "slope = (0.5 - (0.5 * df - 1.0) / z) / scale",
        "dy_ddf = 0.5 * (np.log(0.5 * z) - scipy.special.digamma(0.5 * df))",
        "dy_dscale = 0.5 * (z - df) / scale",
    ),
    "beta, a, b": (
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
    "halflogistic": ("slope = np.tanh(0.5 * z) / scale",),
    "gumbel_r": ("slope = -np.expm1(-z) / scale",),
    "gumbel_l": ("slope = np.expm1(z) / scale",),
    "moyal": ("slope = -0.5 * np.expm1(-z) / scale",),
    "hypsecant": ("slope = np.tanh(z) / scale",),
    "rayleigh": ("slope = (z - 1.0 / z) / scale",),
    "maxwell": ("slope = (z - 2.0 / z) / scale",),
    "levy": ("slope = (1.5 - 0.5 / z) / (x - loc)",),
    "chi, df": (
        "slope = (z - (df - 1.0) / z) / scale",
        "dy_ddf = np.log(z) - 0.5 * (math.log(2.0) + scipy.special.digamma(0.5 * df))",
    ),
    "nakagami, nu": (
        "slope = (2.0 * nu * z - (2.0 * nu - 1.0) / z) / scale",
        "dy_dnu = np.log(nu * z * z) + 1.0 - scipy.special.digamma(nu) - z * z",
    ),
    "gengamma, a, c": (
        "slope = (1.0 - c * (a - z**c)) / (x - loc)",
        "dy_da = c * np.log(z) - scipy.special.digamma(a)",
        "dy_dc = 1.0 / c + (a - z**c) * np.log(z)",
    ),
    "loggamma, c": ("slope = (np.exp(z) - c) / scale", "dy_dc = z - scipy.special.digamma(c)"),
    "f, dfn, dfd": (
        "total = 0.5 * (dfn + dfd)",
        "whole = dfd + dfn * z",
        "slope = (total * dfn / whole - (0.5 * dfn - 1.0) / z) / scale",
        "both = scipy.special.digamma(total) + 1.0 - np.log(whole)",
        "own = np.log(dfn * z) - scipy.special.digamma(0.5 * dfn)",
        "dy_ddfn = 0.5 * (both + own) - total * z / whole",
        "own_d = np.log(dfd) - scipy.special.digamma(0.5 * dfd)",
        "dy_ddfd = 0.5 * (both + own_d) - total / whole",
    ),
    "lognorm, s": (
        "width = np.log(z) / s",
        "slope = (1.0 + width / s) / (x - loc)",
        "dy_ds = (width * width - 1.0) / s",
        "dy_dscale = width / (s * scale)",
        "z_s = z * np.log(z) / s",
    ),
    "weibull_min, c": (
        "excess = z**c - 1.0",
        "slope = (1.0 + c * excess) / (x - loc)",
        "dy_dc = 1.0 / c - excess * np.log(z)",
        "dy_dscale = c * excess / scale",
        f"z_c = {_POWER} / c",
    ),
    "weibull_max, c": (
        "excess = (-z) ** c - 1.0",
        "slope = (1.0 + c * excess) / (x - loc)",
        "dy_dc = 1.0 / c - excess * np.log(-z)",
        "z_c = -z * np.log(-z) / c",
    ),
    "pareto, b": (
        "slope = (b + 1.0) / (x - loc)",
        "dy_db = 1.0 / b - np.log(z)",
        "dy_dscale = b / scale",
        f"z_b = {_POWER} / b",
    ),
    "powerlaw, a": (
        "slope = (1.0 - a) / (x - loc)",
        "dy_da = 1.0 / a + np.log(z)",
        f"z_a = {_POWER} / a",
    ),
    "fisk, c": (
        "part = z**c / (1.0 + z**c)",
        "slope = (1.0 - c + 2.0 * c * part) / (x - loc)",
        "dy_dc = 1.0 / c + np.log(z) * (1.0 - 2.0 * part)",
        f"z_c = {_POWER} / c",
    ),
    "loguniform, a, b": (
        "slope = 1.0 / (x - loc)",
        "dy_da = 1.0 / (a * np.log(b / a))",
        "dy_db = -1.0 / (b * np.log(b / a))",
        "z_a = z * np.log(b / z) / (a * np.log(b / a))",
        "z_b = z * np.log(z / a) / (b * np.log(b / a))",
    ),
    "triang, c": (
        "slope = np.where(z < c, -1.0 / z, 1.0 / (1.0 - z)) / scale",
        "dy_dc = np.where(z < c, -1.0 / c, 1.0 / (1.0 - c))",
        "z_c = 0.5 * np.where(z < c, z / c, (1.0 - z) / (1.0 - c))",
    ),
    "genpareto, c": (
        "slope = (1.0 + c) / ((1.0 + c * z) * scale)",
        "fall = -scipy.stats.genpareto.logsf(z, c)",
        "dy_dc = (fall - (1.0 + c) * z / (1.0 + c * z)) / c",
        "z_c = (fall * (1.0 + c * z) - z) / c",
    ),
    "genextreme, c": (
        "fall = -scipy.stats.genextreme.logcdf(z, c)",
        "slope = (1.0 - c - fall) / ((1.0 - c * z) * scale)",
        "change = (z / (1.0 - c * z) + np.log(fall)) / c",
        "dy_dc = -np.log(fall) - (1.0 - c - fall) * change",
        "z_c = -(z + (1.0 - c * z) * np.log(fall)) / c",
    ),
    "johnsonsu, a, b": (
        "root = np.sqrt(1.0 + z * z)",
        "angle = np.arcsinh(z)",
        "slope = (z / root + b * (a + b * angle)) / (root * scale)",
        "dy_da = -(a + b * angle)",
        "dy_db = 1.0 / b - (a + b * angle) * angle",
        "z_a = -root / b",
        "z_b = -root * angle / b",
    ),
    "truncexpon, b": (
        "slope = 1.0 / scale",
        "dy_db = -1.0 / np.expm1(b)",
        "z_b = np.expm1(z) / np.expm1(b)",
    ),
    "truncnorm, a, b": (
        "slope = z / scale",
        "whole = np.exp(scipy.stats.truncnorm.logpdf(z, a, b) + 0.5 * z * z)",
        "dy_da = whole * np.exp(-0.5 * a * a)",
        "dy_db = -whole * np.exp(-0.5 * b * b)",
        "z_a = scipy.stats.truncnorm.sf(z, a, b) * np.exp(0.5 * (z * z - a * a))",
        "z_b = scipy.stats.truncnorm.cdf(z, a, b) * np.exp(0.5 * (z * z - b * b))",
    ),
    "skewnorm, a": (
        "share = np.exp(scipy.stats.norm.logpdf(a * z) - scipy.stats.norm.logcdf(a * z))",
        "slope = (z - a * share) / scale",
        "dy_da = z * share",
    ),
    "exponnorm, K": (
        "place = z - 1.0 / K",
        "share = np.exp(scipy.stats.norm.logpdf(place) - scipy.stats.norm.logcdf(place))",
        "slope = (1.0 / K - share) / scale",
        "dy_dK = ((place + share) / K - 1.0) / K",
    ),
    "invgauss, mu": (
        "slope = (1.5 + 0.5 * (z / (mu * mu) - 1.0 / z)) / (x - loc)",
        "dy_dmu = (z / mu - 1.0) / (mu * mu)",
    ),
    "invgamma, a": (
        "slope = (a + 1.0 - 1.0 / z) / (x - loc)",
        "dy_da = -np.log(z) - scipy.special.digamma(a)",
        "dy_dscale = (a - 1.0 / z) / scale",
    ),
    "rice, b": (
        "ratio = scipy.special.i1e(b * z) / scipy.special.i0e(b * z)",
        "slope = (z - 1.0 / z - b * ratio) / scale",
        "dy_db = z * ratio - b",
    ),
    "vonmises, kappa": (
        "slope = kappa * np.sin(z) / scale",
        "dy_dkappa = np.cos(z) - scipy.special.i1e(kappa) / scipy.special.i0e(kappa)",
    ),
}


# Where the density is 0, what multiplies it is taken at a point of the support: outside of that, a
# logarithm or a power of z is not a number.
_POINTS = {"scipy.stats.weibull_max": "-0.5"}


def _within(name: str, density: str, lines: Sequence[str]) -> list[str]:
    """The lines that say what z is, in front of these, which read it."""
    if not any(re.search(r"log|\*\*|/ z|loc\)", line) for line in lines):
        return ["z = (x - loc) / scale", *lines]
    point = _POINTS.get(name, "0.5")
    placed = [line.replace("(x - loc)", "(z * scale)") for line in lines]
    return [f"z = np.where({density} == 0.0, {point}, (x - loc) / scale)", *placed]


def _both_forms(name: str, method: str) -> str:
    """A method of a distribution, and that of its standard form, which is called with its shapes
    alone: `norm.cdf, norm._cdf`. (Such methods do not look whether x is in the support.)"""
    whole_line = name.rpartition(".")[2] in ("norm", "t", "logistic", "laplace", "cauchy")
    return f"{name}.{method}, {name}._{method}" if whole_line else f"{name}.{method}"


def _levels(name: str, shapes: Sequence[str], stated: Sequence[str]) -> None:
    """The rules of a distribution function, of what is made of it, and of the inverses, from lines
    that say what z moves by at one level of probability."""
    own = "".join(f"{shape}, " for shape in shapes)
    params, given = f"{own}loc=0, scale=1)", f"{own}loc, scale)"
    moving = [line for line in stated if not line.startswith(("dy_", "slope"))]
    moved = [shape for shape in shapes if any(line.startswith(f"z_{shape} ") for line in moving)]
    for method, rate, sign in (("cdf", "pdf", ""), ("sf", "pdf", "-"),
                               ("logcdf", "logpdf", ""), ("logsf", "logpdf", "-")):  # fmt: skip
        rate = f"{name}.{rate}(x, {given}"
        rate = f"np.exp({rate} - y)" if method.startswith("log") else rate
        other = "" if sign else "-"
        lines = [f"density = {rate}", *_within(name, "density", moving), f"dy_dx = {sign}density"]
        lines += [f"dy_dloc = {other}density", f"dy_dscale = {other}(density * (x - loc) / scale)"]
        lines += [f"dy_d{shape} = {other}(density * scale * z_{shape})" for shape in moved]
        written(_both_forms(name, method), f"x, {params}", lines)
    for method, sign in (("ppf", ""), ("isf", "-")):
        lines = ["z = (y - loc) / scale", *moving, f"dy_dq = {sign}1.0 / {name}.pdf(y, {given}"]
        lines += ["dy_dloc = 1.0", "dy_dscale = (y - loc) / scale"]
        lines += [f"dy_d{shape} = scale * z_{shape}" for shape in moved]
        written(_both_forms(name, method), f"q, {params}", lines)


for _titled, _stated in _DENSITIES.items():
    _family, *_shapes = _titled.split(", ")
    _params = f"x, {''.join(f'{shape}, ' for shape in _shapes)}loc=0, scale=1)"
    _lines = ["z = (x - loc) / scale", *_stated, "dy_dx = -slope", "dy_dloc = slope"]
    if not any(line.startswith("dy_dscale") for line in _stated):
        _lines.append("dy_dscale = slope * z - 1.0 / scale")
    _name = f"scipy.stats.{_family}"
    written(_both_forms(_name, "logpdf"), _params, _lines)
    _pdf = [re.sub(r"^(dy_d\w+ =) (.*)", r"\1 y * (\2)", line) for line in _lines[1:]]
    written(_both_forms(_name, "pdf"), _params, _within(_name, "y", _pdf))
    _levels(_name, _shapes, _stated)

# ------------------------------------------------------------------- counts and trials

# The derivatives by the mean, or by the probability of success: of the logarithm of a mass, and of
# the distribution function.
_COUNTS = {
    "poisson(k, mu": (
        "(k - loc) / mu - 1.0",
        "-scipy.stats.poisson.pmf(np.floor(k), mu, loc)",
    ),
    "bernoulli(k, p": ("(k - loc - p) / (p * (1.0 - p))", "-1.0 * (np.floor(k) == loc)"),
    "binom(k, n, p": (
        "(k - loc - n * p) / (p * (1.0 - p))",
        "-(n * scipy.stats.binom.pmf(np.floor(k), n - 1, p, loc))",
    ),
    "geom(k, p": (
        "1.0 / p - (k - loc - 1.0) / (1.0 - p)",
        "np.floor(k - loc) / p * scipy.stats.geom.pmf(np.floor(k), p, loc)",
    ),
    "nbinom(k, n, p": (
        "n / p - (k - loc) / (1.0 - p)",
        "(n + np.floor(k - loc)) / p * scipy.stats.nbinom.pmf(np.floor(k), n, p, loc)",
    ),
}
for _counted, (_slope, _rise) in _COUNTS.items():
    _name, _, _params = _counted.partition("(")
    _by = f"dy_d{_params.rpartition(' ')[2]} ="
    for _method, _line in (
        ("logpmf", f"{_by} {_slope}"),
        ("pmf", f"{_by} y * ({_slope})"),
        ("cdf", f"{_by} {_rise}"),
        ("sf", f"{_by} -({_rise})"),
        ("logcdf", f"{_by} ({_rise}) / np.exp(y)"),
        ("logsf", f"{_by} -({_rise}) / np.exp(y)"),
    ):
        _lines = [_line]
        if _name == "nbinom" and "pmf" in _method:
            _gammas = "scipy.special.digamma(k - loc + n) - scipy.special.digamma(n) + np.log(p)"
            _lines.append(f"dy_dn = {'y * ' if _method == 'pmf' else ''}({_gammas})")
        written(f"scipy.stats.{_name}.{_method}", f"{_params}, loc=0)", _lines)


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
