"""Rules of `scipy.special`, for programs that have imported it.

SciPy is never imported from here: operations are named by strings, and derivatives that need
other special functions take them from SciPy when a program that uses it is differentiated.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .book import Deferred, nondifferentiable, rule
from .kinds_of import elementwise, reduction

scipy = Deferred("scipy")


def _complex(call, kind_of):
    """What is complex for real arguments, too."""
    return replace(elementwise(call, kind_of), dtype="complex")


@rule("scipy.special.expit")
def expit(y, x):
    dy_dx = y * (1.0 - y)


@rule("scipy.special.logit")
def logit(y, x):
    dy_dx = 1.0 / (x * (1.0 - x))


@rule("scipy.special.log_expit")
def log_expit(y, x):
    dy_dx = 1.0 - np.exp(y)


@rule("scipy.special.erf")
def erf(y, x):
    dy_dx = 2.0 / math.sqrt(math.pi) * np.exp(-x * x)


@rule("scipy.special.erfc")
def erfc(y, x):
    dy_dx = -(2.0 / math.sqrt(math.pi) * np.exp(-x * x))


@rule("scipy.special.erfinv")
def erfinv(y, x):
    dy_dx = math.sqrt(math.pi) / 2.0 * np.exp(y * y)


@rule("scipy.special.erfcinv")
def erfcinv(y, x):
    dy_dx = -(math.sqrt(math.pi) / 2.0 * np.exp(y * y))


@rule("scipy.special.ndtr")
def ndtr(y, x):
    dy_dx = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


@rule("scipy.special.log_ndtr")
def log_ndtr(y, x):
    dy_dx = np.exp(-0.5 * x * x - y) / math.sqrt(2.0 * math.pi)


@rule("scipy.special.gammaln", "scipy.special.loggamma")
def gammaln(y, x):
    dy_dx = scipy.special.digamma(x)


@rule("scipy.special.gamma")
def gamma(y, x):
    dy_dx = y * scipy.special.digamma(x)


@rule("scipy.special.rgamma")
def rgamma(y, x):
    dy_dx = -y * scipy.special.digamma(x)


@rule("scipy.special.multigammaln")
def multigammaln(y, a, d):
    shifted = np.expand_dims(a, -1) - 0.5 * np.arange(d)
    dy_da = np.sum(scipy.special.digamma(shifted), axis=-1)


@rule("scipy.special.digamma", "scipy.special.psi")
def digamma(y, x):
    dy_dx = scipy.special.polygamma(1, x)


@rule("scipy.special.polygamma")
def polygamma(y, n, x):
    dy_dx = scipy.special.polygamma(n + 1, x)


@rule("scipy.special.beta")
def beta(y, a, b):
    dy_da = y * (scipy.special.digamma(a) - scipy.special.digamma(a + b))
    dy_db = y * (scipy.special.digamma(b) - scipy.special.digamma(a + b))


@rule("scipy.special.betaln")
def betaln(y, a, b):
    dy_da = scipy.special.digamma(a) - scipy.special.digamma(a + b)
    dy_db = scipy.special.digamma(b) - scipy.special.digamma(a + b)


@rule("scipy.special.gammainc")
def gammainc(y, a, x):
    dy_dx = np.exp((a - 1.0) * np.log(x) - x - scipy.special.gammaln(a))


@rule("scipy.special.gammaincc")
def gammaincc(y, a, x):
    dy_dx = -np.exp((a - 1.0) * np.log(x) - x - scipy.special.gammaln(a))


@rule("scipy.special.betainc")
def betainc(y, a, b, x):
    dy_dx = np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - scipy.special.betaln(a, b))


@rule("scipy.special.xlogy")
def xlogy(y, a, b):
    dy_da = log_or_zero(b)
    dy_db = ratio_or_zero(a, b)


@rule("scipy.special.xlog1py")
def xlog1py(y, a, b):
    dy_da = np.log1p(b)
    dy_db = a / (1.0 + b)


@rule("scipy.special.entr")
def entr(y, x):
    dy_dx = -log_or_zero(x) - 1.0


@rule("scipy.special.softplus")
def softplus(y, x):
    dy_dx = 1.0 - np.exp(-y)


nondifferentiable("scipy.special.gammasgn")

# ----------------------------------------------------------------------- Bessel functions


@rule("scipy.special.i0")
def i0(y, x):
    dy_dx = scipy.special.i1(x)


@rule("scipy.special.i1")
def i1(y, x):
    dy_dx = 0.5 * (scipy.special.i0(x) + scipy.special.iv(2, x))


@rule("scipy.special.j0")
def j0(y, x):
    dy_dx = -scipy.special.j1(x)


@rule("scipy.special.y0")
def y0(y, x):
    dy_dx = -scipy.special.y1(x)


@rule("scipy.special.j1")
def j1(y, x):
    dy_dx = 0.5 * (scipy.special.jv(0, x) - scipy.special.jv(2, x))


@rule("scipy.special.y1")
def y1(y, x):
    dy_dx = 0.5 * (scipy.special.yn(0, x) - scipy.special.yn(2, x))


@rule("scipy.special.jv", "scipy.special.jn")
def jv(y, n, x):
    dy_dx = 0.5 * (scipy.special.jv(n - 1, x) - scipy.special.jv(n + 1, x))


@rule("scipy.special.yn", "scipy.special.yv")
def yv(y, n, x):
    dy_dx = 0.5 * (scipy.special.yv(n - 1, x) - scipy.special.yv(n + 1, x))


@rule("scipy.special.iv")
def iv(y, n, x):
    dy_dx = 0.5 * (scipy.special.iv(n - 1, x) + scipy.special.iv(n + 1, x))


@rule("scipy.special.kv", "scipy.special.kn")
def kv(y, n, x):
    dy_dx = -0.5 * (scipy.special.kv(n - 1, x) + scipy.special.kv(n + 1, x))


@rule("scipy.special.ive")
def ive(y, n, x):
    dy_dx = 0.5 * (scipy.special.ive(n - 1, x) + scipy.special.ive(n + 1, x)) - np.sign(x) * y


@rule("scipy.special.i0e")
def i0e(y, x):
    dy_dx = scipy.special.i1e(x) - np.sign(x) * y


@rule("scipy.special.i1e")
def i1e(y, x):
    dy_dx = 0.5 * (scipy.special.i0e(x) + scipy.special.ive(2, x)) - np.sign(x) * y


# ------------------------------------------------------------------------- normalisations


@rule("scipy.special.wofz", kind=_complex)
def wofz(y, z):
    dy_dz = 2j / math.sqrt(math.pi) - 2.0 * z * y


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
