"""Rules of `scipy.special`, for programs that have imported it.

SciPy is never imported from here: operations are named by strings, and derivatives that need
other special functions take them from SciPy when a program that uses it is differentiated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .book import Deferred, ResultKind, nondifferentiable, rule
from .kinds_of import elementwise, reduction
from .tables import partials

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
        "softplus": "1.0 - np.exp(-y)",
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
