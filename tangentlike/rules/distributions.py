"""Rules of the densities and distribution functions of `scipy.stats`.

By the argument for all of them, and by the parameters where the derivative has a closed form.
In each, z is the standardised argument.
"""

from __future__ import annotations

import numpy as np

from .book import rule
from .deferred import Deferred

scipy = Deferred("scipy")

# ------------------------------------------------------------------------ normal


@rule("scipy.stats.norm.logpdf")
def norm_logpdf(y, x, loc=0, scale=1):
    z = (x - loc) / scale
    dy_dx = -(z / scale)
    dy_dloc = z / scale
    dy_dscale = (z * z - 1.0) / scale


@rule("scipy.stats.norm.pdf")
def norm_pdf(y, x, loc=0, scale=1):
    z = (x - loc) / scale
    dy_dx = -(y * z / scale)
    dy_dloc = y * z / scale
    dy_dscale = y * (z * z - 1.0) / scale


@rule("scipy.stats.norm.cdf")
def norm_cdf(y, x, loc=0, scale=1):
    density = scipy.stats.norm.pdf(x, loc, scale)
    dy_dx = density
    dy_dloc = -density
    dy_dscale = -(density * (x - loc) / scale)


@rule("scipy.stats.norm.sf")
def norm_sf(y, x, loc=0, scale=1):
    density = scipy.stats.norm.pdf(x, loc, scale)
    dy_dx = -density
    dy_dloc = density
    dy_dscale = density * (x - loc) / scale


@rule("scipy.stats.norm.logcdf")
def norm_logcdf(y, x, loc=0, scale=1):
    hazard = np.exp(scipy.stats.norm.logpdf(x, loc, scale) - y)
    dy_dx = hazard
    dy_dloc = -hazard
    dy_dscale = -(hazard * (x - loc) / scale)


@rule("scipy.stats.norm.logsf")
def norm_logsf(y, x, loc=0, scale=1):
    hazard = np.exp(scipy.stats.norm.logpdf(x, loc, scale) - y)
    dy_dx = -hazard
    dy_dloc = hazard
    dy_dscale = hazard * (x - loc) / scale


# --------------------------------------------------------------------- Student's t


@rule("scipy.stats.t.logpdf")
def t_logpdf(y, x, df, loc=0, scale=1):
    z = (x - loc) / scale
    slope = (df + 1.0) * z / ((df + z * z) * scale)
    dy_dx = -slope
    dy_dloc = slope
    dy_dscale = (slope * (x - loc) - 1.0) / scale


@rule("scipy.stats.t.pdf")
def t_pdf(y, x, df, loc=0, scale=1):
    z = (x - loc) / scale
    slope = (df + 1.0) * z / ((df + z * z) * scale)
    dy_dx = -(y * slope)
    dy_dloc = y * slope
    dy_dscale = y * (slope * (x - loc) - 1.0) / scale


@rule("scipy.stats.t.cdf")
def t_cdf(y, x, df, loc=0, scale=1):
    density = scipy.stats.t.pdf(x, df, loc, scale)
    dy_dx = density
    dy_dloc = -density
    dy_dscale = -(density * (x - loc) / scale)


@rule("scipy.stats.t.logcdf")
def t_logcdf(y, x, df, loc=0, scale=1):
    hazard = np.exp(scipy.stats.t.logpdf(x, df, loc, scale) - y)
    dy_dx = hazard
    dy_dloc = -hazard
    dy_dscale = -(hazard * (x - loc) / scale)


# --------------------------------------------------------------- gamma, chi2, beta


@rule("scipy.stats.gamma.logpdf")
def gamma_logpdf(y, x, a, loc=0, scale=1):
    z = (x - loc) / scale
    dy_dx = ((a - 1.0) / z - 1.0) / scale
    dy_da = np.log(z) - scipy.special.digamma(a)


@rule("scipy.stats.gamma.pdf")
def gamma_pdf(y, x, a, loc=0, scale=1):
    z = (x - loc) / scale
    dy_dx = y * ((a - 1.0) / z - 1.0) / scale
    dy_da = y * (np.log(z) - scipy.special.digamma(a))


@rule("scipy.stats.gamma.cdf")
def gamma_cdf(y, x, a, loc=0, scale=1):
    dy_dx = scipy.stats.gamma.pdf(x, a, loc, scale)


@rule("scipy.stats.chi2.logpdf")
def chi2_logpdf(y, x, df, loc=0, scale=1):
    z = (x - loc) / scale
    dy_dx = ((0.5 * df - 1.0) / z - 0.5) / scale
    dy_ddf = 0.5 * (np.log(0.5 * z) - scipy.special.digamma(0.5 * df))


@rule("scipy.stats.chi2.pdf")
def chi2_pdf(y, x, df, loc=0, scale=1):
    z = (x - loc) / scale
    dy_dx = y * ((0.5 * df - 1.0) / z - 0.5) / scale
    dy_ddf = 0.5 * y * (np.log(0.5 * z) - scipy.special.digamma(0.5 * df))


@rule("scipy.stats.chi2.cdf")
def chi2_cdf(y, x, df, loc=0, scale=1):
    dy_dx = scipy.stats.chi2.pdf(x, df, loc, scale)


@rule("scipy.stats.beta.logpdf")
def beta_logpdf(y, x, a, b, loc=0, scale=1):
    z = (x - loc) / scale
    both = scipy.special.digamma(a + b)
    dy_dx = ((a - 1.0) / z - (b - 1.0) / (1.0 - z)) / scale
    dy_da = np.log(z) - scipy.special.digamma(a) + both
    dy_db = np.log1p(-z) - scipy.special.digamma(b) + both


@rule("scipy.stats.beta.pdf")
def beta_pdf(y, x, a, b, loc=0, scale=1):
    z = (x - loc) / scale
    both = scipy.special.digamma(a + b)
    dy_dx = y * ((a - 1.0) / z - (b - 1.0) / (1.0 - z)) / scale
    dy_da = y * (np.log(z) - scipy.special.digamma(a) + both)
    dy_db = y * (np.log1p(-z) - scipy.special.digamma(b) + both)


@rule("scipy.stats.beta.cdf")
def beta_cdf(y, x, a, b, loc=0, scale=1):
    dy_dx = scipy.stats.beta.pdf(x, a, b, loc, scale)


# ------------------------------------------------------------------------ Poisson


@rule("scipy.stats.poisson.logpmf")
def poisson_logpmf(y, k, mu, loc=0):
    dy_dmu = (k - loc) / mu - 1.0


@rule("scipy.stats.poisson.pmf")
def poisson_pmf(y, k, mu, loc=0):
    dy_dmu = y * ((k - loc) / mu - 1.0)


@rule("scipy.stats.poisson.cdf")
def poisson_cdf(y, k, mu, loc=0):
    dy_dmu = -scipy.stats.poisson.pmf(np.floor(k), mu, loc)
