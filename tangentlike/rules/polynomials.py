"""The module `numpy.polynomial`: programs (see `programs.py`). Coefficients stand in rising order.

Series of orthogonal polynomials are summed by Clenshaw's recurrence.

With `p[k + 1](x) = slope(k, x) * p[k](x) + last(k) * p[k - 1](x)` and `p[0] = 1` the sum over
`c[k] * p[k](x)` is the `b[0]` of `b[k] = c[k] + slope(k, x) * b[k + 1] + last(k + 1) * b[k + 2]`.
"""

from __future__ import annotations

import numpy as np


def _series(x, c, tensor, slope, last):
    terms = np.reshape(c, np.shape(c) + (1,) * (np.ndim(x) if tensor else 0))
    first = terms[-1] + np.zeros_like(x)
    second = np.zeros_like(first)
    for k in range(len(terms) - 2, -1, -1):
        next_first = terms[k] + slope(k, x) * first + last(k + 1) * second
        second = first
        first = next_first
    return first


def polyval(x, c, tensor=True):
    return _series(x, c, tensor, _monomial, _nothing)


def chebval(x, c, tensor=True):
    return _series(x, c, tensor, _chebyshev, _minus_one)


def legval(x, c, tensor=True):
    return _series(x, c, tensor, _legendre, _minus_share)


def hermval(x, c, tensor=True):
    return _series(x, c, tensor, _hermite, _minus_two_k)


def hermeval(x, c, tensor=True):
    return _series(x, c, tensor, _monomial, _minus_k)


def lagval(x, c, tensor=True):
    return _series(x, c, tensor, _laguerre, _minus_share)


def _monomial(k, x):
    return x


def _chebyshev(k, x):
    return x if k == 0 else 2.0 * x


def _legendre(k, x):
    return (2.0 * k + 1.0) / (k + 1.0) * x


def _hermite(k, x):
    return 2.0 * x


def _laguerre(k, x):
    return (2.0 * k + 1.0 - x) / (k + 1.0)


def _nothing(k):
    return 0.0


def _minus_one(k):
    return -1.0


def _minus_share(k):
    return -k / (k + 1.0)


def _minus_two_k(k):
    return -2.0 * k


def _minus_k(k):
    return -float(k)


# ------------------------------------------------------------------ powers: arithmetic of series


def _trimmed(c):
    """Without the zeros at the end, as the functions of the module give their results."""
    n = len(c)
    while n > 1 and c[n - 1] == 0:
        n = n - 1
    return c[:n]


def polyadd(c1, c2):
    return _trimmed(np.polyadd(np.asarray(c1)[::-1], np.asarray(c2)[::-1])[::-1])


def polysub(c1, c2):
    return _trimmed(np.polysub(np.asarray(c1)[::-1], np.asarray(c2)[::-1])[::-1])


def polymulx(c):
    return np.concatenate([np.zeros(1), np.asarray(c)])


def polymul(c1, c2):
    return _trimmed(np.convolve(_trimmed(np.asarray(c1)), _trimmed(np.asarray(c2))))


def polydiv(c1, c2):
    top, bottom = np.asarray(c1), np.asarray(c2)
    if len(top) < len(bottom):
        return np.zeros(1), top
    quotient, rest = np.polydiv(top[::-1], bottom[::-1])
    return quotient[::-1], _trimmed(rest[::-1])


def polypow(c, pow, maxpower=None):
    if pow == 0:
        return np.ones(1)
    product = np.asarray(c)
    for _ in range(pow - 1):
        product = np.convolve(product, c)
    return product


def polyder(c, m=1, scl=1, axis=0):
    rows = np.moveaxis(np.asarray(c), axis, 0)
    for _ in range(m):
        if len(rows) == 1:
            rows = 0.0 * rows
        else:
            factors = np.reshape(np.arange(1.0, len(rows)), (-1,) + (1,) * (rows.ndim - 1))
            rows = scl * rows[1:] * factors
    return np.moveaxis(rows, 0, axis)


def polyint(c, m=1, k=(), lbnd=0, scl=1, axis=0):
    rows = np.moveaxis(np.asarray(c), axis, 0)
    for i in range(m):
        factors = np.reshape(np.arange(1.0, len(rows) + 1.0), (-1,) + (1,) * (rows.ndim - 1))
        risen = np.concatenate([0.0 * rows[:1], scl * rows / factors])
        constant = np.ravel(k)[i] if i < np.size(k) else 0.0
        first = risen[:1] + constant - np.reshape(polyval(lbnd, risen), rows[:1].shape)
        rows = np.concatenate([first, risen[1:]])
    return np.moveaxis(rows, 0, axis)


def polyvander(x, deg):
    points = np.atleast_1d(x)
    power = points * 0.0 + 1.0
    columns = [power]
    for _ in range(deg):
        power = power * points
        columns.append(power)
    return np.stack(columns, axis=-1)


def polyfit(x, y, deg, rcond=None, full=False, w=None):
    powers = np.vander(x, deg + 1, increasing=True)
    values = np.asarray(y)
    if w is not None:
        powers = powers * np.expand_dims(w, 1)
        values = values * np.reshape(w, (-1,) + (1,) * (values.ndim - 1))
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    smallest = len(x) * 2.220446049250313e-16 if rcond is None else rcond
    found = np.linalg.lstsq(powers / scale, values, smallest)[0]
    return found / np.reshape(scale, (-1,) + (1,) * (values.ndim - 1))


def polyroots(c):
    return np.sort(np.roots(np.asarray(c)[::-1]))


def polyfromroots(roots):
    return np.poly(np.asarray(roots))[::-1]


def polyvalfromroots(x, r, tensor=True):
    zeros = np.reshape(r, np.shape(r) + (1,) * (np.ndim(x) if tensor else 0))
    return np.prod(x - zeros, axis=0)


def polyval2d(x, y, c):
    return polyval(y, polyval(x, c), tensor=False)


def polyval3d(x, y, z, c):
    return polyval(z, polyval(y, polyval(x, c), tensor=False), tensor=False)
