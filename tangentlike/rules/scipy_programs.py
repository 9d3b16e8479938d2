"""Operations of SciPy written as programs (see `programs.py`).

Imported only when a program that has imported one of these parts of SciPy is differentiated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.special

from ..runtime import NotDifferentiated, trapezoid

# Whether this SciPy has repetitions of less than no things (1.15 gives zero).
_REPEATS_ANY = float(scipy.special.comb(-0.5, 2.0, repetition=True)) != 0.0


def special_comb(N, k, *, exact=False, repetition=False):
    if exact:
        raise NotDifferentiated("comb has no derivative with exact=True, which gives an integer")
    n, k = np.asarray(N), np.asarray(k)
    if repetition and not _REPEATS_ANY:
        n, repetition = n + k - 1, False
    if repetition:
        none = (k == 0) & (n >= 0)
        return scipy.special.binom(np.where(none, 1.0, n + k - 1), np.where(none, 0.0, k))
    some = (k <= n) & (n >= 0) & (k >= 0)
    found = scipy.special.binom(np.where(some, n, 1.0), np.where(some, k, 0.0))
    return np.where(some, found, 0.0)[()]


def multivariate_normal_logpdf(x, mean=None, cov=1, allow_singular=False):
    """(SciPy takes a number or a vector for a diagonal matrix. One that is singular has no
    Cholesky factor, here or there: `LinAlgError`.)"""
    centred = np.atleast_1d(x) if mean is None else np.atleast_1d(x - mean)
    matrix = cov
    if np.ndim(cov) < 2:
        matrix = np.diag(cov * np.ones(max(np.size(mean), np.size(cov))))
    size = matrix.shape[0]
    rows = np.reshape(centred, (-1, size))
    root = np.linalg.cholesky(matrix)
    white = np.linalg.solve(root, rows.T)
    squares = np.sum(white * white, axis=0)
    found = -0.5 * (squares + size * np.log(2.0 * np.pi)) - np.sum(np.log(np.diag(root)))
    return np.reshape(found, centred.shape[:-1])[()]


def multivariate_normal_pdf(x, mean=None, cov=1, allow_singular=False):
    return np.exp(multivariate_normal_logpdf(x, mean, cov))


def multivariate_normal_entropy(mean, cov):
    size = cov.shape[0]
    root = np.linalg.cholesky(cov)  # (SciPy reads the lower triangle, as this does)
    return 0.5 * size * np.log(2.0 * np.pi * np.e) + np.sum(np.log(np.diag(root)))


def dirichlet_logpdf(x, alpha):
    total = np.sum(scipy.special.gammaln(alpha)) - scipy.special.gammaln(np.sum(alpha))
    return np.sum((alpha - 1.0) * np.log(x)) - total


def dirichlet_pdf(x, alpha):
    return np.exp(dirichlet_logpdf(x, alpha))


# ------------------------------------------------------------------------ factored matrices


if scipy.linalg.cho_factor(np.array([[1.0, 0.5], [0.5, 1.0]]))[0][1, 0]:

    def linalg_cho_factor(a, lower=False):
        """(SciPy before 1.18 leaves the entries of `a` in the other triangle.)"""
        if lower:
            return scipy.linalg.cholesky(a, lower=True) + np.triu(a, 1), lower
        return scipy.linalg.cholesky(a, lower=False) + np.tril(a, -1), lower

else:

    def linalg_cho_factor(a, lower=False):
        if lower:
            return scipy.linalg.cholesky(a, lower=True), lower
        return scipy.linalg.cholesky(a, lower=False), lower


def linalg_cho_solve(c_and_lower, b):
    c = c_and_lower[0]
    if c_and_lower[1]:
        half = scipy.linalg.solve_triangular(c, b, lower=True)
        return scipy.linalg.solve_triangular(c, half, trans="C", lower=True)
    half = scipy.linalg.solve_triangular(c, b, trans="C", lower=False)
    return scipy.linalg.solve_triangular(c, half, lower=False)


def linalg_lu_factor(a):
    """Gauss's elimination with the pivots that LAPACK chooses."""
    lu = np.array(a)
    piv = np.zeros(len(lu), np.int32)
    for k in range(len(lu)):
        column = lu[k:, k]
        row = k + np.argmax(np.abs(np.real(column)) + np.abs(np.imag(column)))
        piv[k] = row
        if row != k:
            lu[[k, row]] = lu[[row, k]]
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return lu, piv


def linalg_lu_solve(lu_and_piv, b, trans=0):
    lu, piv = lu_and_piv
    if trans == 0:
        rows = np.asarray(b)[_order(piv)]
        half = scipy.linalg.solve_triangular(lu, rows, lower=True, unit_diagonal=True)
        return scipy.linalg.solve_triangular(lu, half)
    turned = lu.T if trans == 1 else np.conj(lu.T)
    half = scipy.linalg.solve_triangular(turned, b, lower=True)
    rows = scipy.linalg.solve_triangular(turned, half, unit_diagonal=True)
    return rows[np.argsort(_order(piv))]


def _order(piv):
    """The rows after each was exchanged for another one in turn."""
    order = list(range(len(piv)))
    for place, other in enumerate(piv):
        order[place], order[other] = order[other], order[place]
    return order


def linalg_block_diag(*arrs):
    blocks = [np.atleast_2d(block) for block in arrs]
    rows, columns = 0, 0
    for block in blocks:
        rows += block.shape[0]
        columns += block.shape[1]
    result = np.zeros((rows, columns), np.result_type(*blocks))
    row, column = 0, 0
    for block in blocks:
        result[row : row + block.shape[0], column : column + block.shape[1]] = block
        row += block.shape[0]
        column += block.shape[1]
    return result


# ------------------------------------------------------------------------ structured matrices


def linalg_toeplitz(c, r=None):
    column = _vector(c)
    row = np.conj(column) if r is None else _vector(r)
    return _shifted(np.concatenate([column[::-1], row[1:]]), len(column), len(row))[::-1]


def linalg_hankel(c, r=None):
    column = _vector(c)
    row = np.zeros_like(column) if r is None else _vector(r)
    return _shifted(np.concatenate([column, row[1:]]), len(column), len(row))


def linalg_circulant(c):
    column = _vector(c)
    return linalg_toeplitz(column, np.concatenate([column[:1], column[:0:-1]]))


def _shifted(values, count, size):
    """Rows of which each begins one entry later."""
    return np.stack([values[k : k + size] for k in range(count)])


def _vector(x):
    if np.ndim(x) > 1:
        raise NotDifferentiated("a matrix of rows that repeat is made of several vectors at once")
    return np.atleast_1d(x)


def linalg_expm_frechet(A, E, method=None, compute_expm=True, check_finite=True):
    """(It stands in the corner of the exponential of a block matrix.)"""
    A, E, size = np.asarray(A), np.asarray(E), len(A)
    both = scipy.linalg.expm(np.block([[A, E], [np.zeros_like(A), A]]))
    return (both[:size, :size], both[:size, size:]) if compute_expm else both[:size, size:]


def linalg_solve_toeplitz(c_or_cr, b, check_finite=True):
    if isinstance(c_or_cr, tuple):
        return np.linalg.solve(linalg_toeplitz(c_or_cr[0], c_or_cr[1]), b)
    return np.linalg.solve(linalg_toeplitz(c_or_cr), b)


def linalg_khatri_rao(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return np.reshape(a[:, None, :] * b[None, :, :], (-1, a.shape[1]))


# ------------------------------------------------------------------ what `numpy.linalg` has, too


def linalg_pinv(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    if atol is not None or rtol is not None or return_rank:
        raise NotDifferentiated("pinv has no derivative rule with these options")
    return np.linalg.pinv(a)


def linalg_eig(a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, **options):
    if b is not None or left or options.get("homogeneous_eigvals"):
        raise NotDifferentiated("eig has no derivative rule with these options")
    w, v = np.linalg.eig(a)
    return (w + 0.0j, v) if right else w + 0.0j


def linalg_eigvals(a, b=None, **options):
    if b is not None or options.get("homogeneous_eigvals"):
        raise NotDifferentiated("eigvals has no derivative rule with these options")
    return np.linalg.eigvals(a) + 0.0j


def linalg_svd(
    a,
    full_matrices=True,
    compute_uv=True,
    overwrite_a=False,
    check_finite=True,
    lapack_driver="gesdd",
):
    if compute_uv:
        return np.linalg.svd(a, full_matrices)
    return np.linalg.svd(a, compute_uv=False)


def linalg_svdvals(a, overwrite_a=False, check_finite=True):
    return np.linalg.svd(a, compute_uv=False)


def linalg_qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if pivoting or mode not in ("full", "economic"):
        raise NotDifferentiated("qr has no derivative rule with these options")
    if mode == "economic":
        return np.linalg.qr(a)
    return np.linalg.qr(a, "complete")


def linalg_polar(a, side="right"):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    if side == "right":
        return u @ vh, np.conj(vh).T @ (s[:, None] * vh)
    return u @ vh, (u * s) @ np.conj(u).T


# ------------------------------------------------------------------------------ statistics


def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    return zmap(a, a, axis, ddof, nan_policy)


def gmean(a, axis=0, dtype=None, weights=None, *, nan_policy="propagate"):
    _only_propagating(nan_policy)
    if weights is None:
        return np.exp(np.mean(np.log(a), axis=axis))
    return np.exp(np.average(np.log(a), axis=axis, weights=weights))


def hmean(a, axis=0, dtype=None, *, weights=None, nan_policy="propagate"):
    _only_propagating(nan_policy)
    if weights is None:
        return 1.0 / np.mean(1.0 / a, axis=axis)
    return 1.0 / np.average(1.0 / a, axis=axis, weights=weights)


def pmean(a, p, *, axis=0, dtype=None, weights=None, nan_policy="propagate"):
    _only_propagating(nan_policy)
    if p == 0:
        return gmean(a, axis, weights=weights)
    return np.average(np.power(a, p), axis=axis, weights=weights) ** (1.0 / p)


def tmean(a, limits=None, inclusive=(True, True), axis=None, *, nan_policy="propagate"):
    _only_propagating(nan_policy)
    if limits is not None:
        raise NotDifferentiated("tmean has no derivative rule with limits")
    return np.mean(a, axis=axis)


def zmap(scores, compare, axis=0, ddof=0, nan_policy="propagate"):
    _only_propagating(nan_policy)
    centred = scores - np.mean(compare, axis=axis, keepdims=True)
    return centred / np.std(compare, axis=axis, ddof=ddof, keepdims=True)


def moment(a, order=1, axis=0, nan_policy="propagate", *, center=None):
    _only_propagating(nan_policy)
    middle = np.mean(a, axis=axis, keepdims=True) if center is None else center
    return np.mean((a - middle) ** order, axis=axis)


def skew(a, axis=0, bias=True, nan_policy="propagate"):
    _only_propagating(nan_policy)
    if not bias:
        raise NotDifferentiated("skew has no derivative rule with bias=False")
    return moment(a, 3, axis) / moment(a, 2, axis) ** 1.5


def kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate"):
    _only_propagating(nan_policy)
    if not bias:
        raise NotDifferentiated("kurtosis has no derivative rule with bias=False")
    found = moment(a, 4, axis) / moment(a, 2, axis) ** 2
    return found - 3.0 if fisher else found


def sem(a, axis=0, ddof=1, nan_policy="propagate"):
    _only_propagating(nan_policy)
    count = np.size(a) if axis is None else np.shape(a)[axis]
    return np.std(a, axis=axis, ddof=ddof) / np.sqrt(count)


def entropy(pk, qk=None, base=None, axis=0, *, nan_policy="propagate"):
    _only_propagating(nan_policy)
    shares = pk / np.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        found = np.sum(scipy.special.entr(shares), axis=axis)
    else:
        others = qk / np.sum(qk, axis=axis, keepdims=True)
        found = np.sum(scipy.special.rel_entr(shares, others), axis=axis)
    return found if base is None else found / np.log(base)


def variation(a, axis=0, nan_policy="propagate", ddof=0, *, keepdims=False):
    _only_propagating(nan_policy)
    spread = np.std(a, axis=axis, ddof=ddof, keepdims=keepdims)
    return spread / np.mean(a, axis=axis, keepdims=keepdims)


def trim_mean(a, proportiontocut, axis=0, *, nan_policy="propagate"):
    _only_propagating(nan_policy)
    rows = np.ravel(a) if axis is None else np.moveaxis(np.asarray(a), axis, 0)
    cut = int(proportiontocut * len(rows))
    return np.mean(np.sort(rows, axis=0)[cut : len(rows) - cut], axis=0)


def iqr(
    x, axis=None, rng=(25, 75), scale=1.0, nan_policy="propagate", interpolation="linear",
    keepdims=False,
):  # fmt: skip
    _only_propagating(nan_policy)
    ends = [25.0, 75.0] if rng is None else list(rng)
    low, high = np.percentile(x, ends, axis=axis, method=interpolation, keepdims=keepdims)
    if isinstance(scale, str):
        raise NotDifferentiated(f"iqr has no derivative rule for the scale {scale!r}")
    return (high - low) / scale


def median_abs_deviation(
    x, axis=0, center=None, scale=1.0, nan_policy="propagate", *, keepdims=False
):
    _only_propagating(nan_policy)
    if center not in (None, np.median) or isinstance(scale, str):
        raise NotDifferentiated("median_abs_deviation has no derivative rule with these options")
    middle = np.median(x, axis=axis, keepdims=True)
    return np.median(np.abs(x - middle), axis=axis, keepdims=keepdims) / scale


def linregress(x, y, alternative="two-sided", *, axis=0, nan_policy="propagate"):
    """(Of two vectors.)"""
    _only_propagating(nan_policy)
    if alternative != "two-sided" or np.ndim(x) != 1 or np.ndim(y) != 1:
        raise NotDifferentiated("linregress has no derivative rule with these options")
    one, other = x - np.mean(x), y - np.mean(y)
    along, across, both = np.mean(one * one), np.mean(other * other), np.mean(one * other)
    slope, r = both / along, both / np.sqrt(along * across)
    free = len(x) - 2
    error = np.sqrt((1.0 - r * r) * across / along / free)
    chance = 2.0 * scipy.stats.t.sf(np.abs(r) * np.sqrt(free / (1.0 - r * r)), free)
    return Regression(slope, np.mean(y) - slope * np.mean(x), r, chance, error)


class Regression(NamedTuple):
    """What `linregress` gives."""

    slope: float
    intercept: float
    rvalue: float
    pvalue: float
    stderr: float


def pearsonr(x, y, *, alternative="two-sided", method=None, axis=0):
    """(Of two vectors.)"""
    if alternative != "two-sided" or method is not None or np.ndim(x) != 1 or np.ndim(y) != 1:
        raise NotDifferentiated("pearsonr has no derivative rule with these options")
    found = linregress(x, y)
    return Correlation(found[2], found[3])


class Correlation(NamedTuple):
    """What `pearsonr` gives, and what tests of a mean give."""

    statistic: float
    pvalue: float


def ttest_1samp(
    a, popmean, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False
):
    _only_propagating(nan_policy)
    if alternative != "two-sided":
        raise NotDifferentiated("tests of a mean have a derivative rule where they are two-sided")
    count = np.size(a) if axis is None else np.shape(a)[axis]
    spread = np.std(a, axis=axis, ddof=1, keepdims=keepdims) / np.sqrt(count)
    return _tested((np.mean(a, axis=axis, keepdims=keepdims) - popmean) / spread, count - 1)


def ttest_rel(
    a, b, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False
):  # fmt: skip
    return ttest_1samp(a - b, 0.0, axis, nan_policy, alternative, keepdims=keepdims)


def ttest_ind(
    a, b, axis=0, equal_var=True, nan_policy="propagate", alternative="two-sided", trim=0,
    method=None, keepdims=False,
):  # fmt: skip
    _only_propagating(nan_policy)
    if not equal_var or alternative != "two-sided" or trim != 0 or method is not None:
        raise NotDifferentiated("ttest_ind has no derivative rule with these options")
    n = np.size(a) if axis is None else np.shape(a)[axis]
    m = np.size(b) if axis is None else np.shape(b)[axis]
    one = n * np.var(a, axis=axis, keepdims=keepdims)
    other = m * np.var(b, axis=axis, keepdims=keepdims)
    apart = np.mean(a, axis=axis, keepdims=keepdims) - np.mean(b, axis=axis, keepdims=keepdims)
    spread = np.sqrt((one + other) / (n + m - 2) * (1.0 / n + 1.0 / m))
    return _tested(apart / spread, n + m - 2)


def _tested(statistic, free):
    return Correlation(statistic, 2.0 * scipy.stats.t.sf(np.abs(statistic), free))


# What makes samples more normal: by Box and Cox, by Yeo and Johnson.


def boxcox(x, lmbda=None, alpha=None, optimizer=None):
    _only_with_a_power("boxcox", lmbda)
    return scipy.special.boxcox(x, lmbda)


def yeojohnson(x, lmbda=None):
    _only_with_a_power("yeojohnson", lmbda)
    above, below = np.maximum(x, 0.0), np.maximum(-x, 0.0)
    return scipy.special.boxcox1p(above, lmbda) - scipy.special.boxcox1p(below, 2.0 - lmbda)


def boxcox_llf(lmb, data, *, axis=0, keepdims=False, nan_policy="propagate"):
    _only_propagating(nan_policy)
    slopes = (lmb - 1.0) * np.log(data)
    return _likelihood(scipy.special.boxcox(data, lmb), slopes, axis, keepdims)


def yeojohnson_llf(lmb, data, *, axis=0, nan_policy="propagate", keepdims=False):
    _only_propagating(nan_policy)
    slopes = (lmb - 1.0) * np.sign(data) * np.log1p(np.abs(data))
    return _likelihood(yeojohnson(data, lmb), slopes, axis, keepdims)


def _likelihood(changed, slopes, axis, keepdims):
    """The logarithm of that of samples, as a normal distribution has them that are changed so."""
    spread = np.log(np.var(changed, axis=axis, keepdims=True))
    return np.sum(slopes - 0.5 * spread, axis=axis, keepdims=keepdims)[()]


def _only_with_a_power(name, lmbda):
    if lmbda is None:
        raise NotDifferentiated(f"{name} has a derivative rule where `lmbda` is given")


# How far two samples are apart, by the shares of them that lie below each place.


def wasserstein_distance(u_values, v_values, u_weights=None, v_weights=None):
    apart, steps = _shares_apart(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(apart) * steps)


def energy_distance(u_values, v_values, u_weights=None, v_weights=None):
    apart, steps = _shares_apart(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2.0 * np.sum(apart * apart * steps))


def _shares_apart(u_values, v_values, u_weights, v_weights):
    every = np.sort(np.concatenate([u_values, v_values]))
    below = _share(u_values, u_weights, every[:-1]) - _share(v_values, v_weights, every[:-1])
    return below, np.diff(every)


def _share(values, weights, places):
    """The share of the values that are at most as large as each of the places."""
    order = np.argsort(values)
    counts = np.searchsorted(np.asarray(values)[order], places, side="right")
    if weights is None:
        return counts / len(order)
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(weights)[order])])
    return sums[counts] / sums[-1]


def _only_propagating(nan_policy):
    if nan_policy != "propagate":
        raise NotDifferentiated(f"nan_policy={nan_policy!r} has no derivative rule")


# ---------------------------------------------------------------------------------- signals


def signal_correlate(in1, in2, mode="full", method="auto"):
    if mode == "valid" and np.size(in2) > np.size(in1):
        raise NotDifferentiated("correlate has no derivative rule for a longer second operand")
    return scipy.signal.convolve(in1, np.conj(np.flip(in2)), mode)


def signal_convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if boundary != "fill" or fillvalue != 0:
        raise NotDifferentiated(f"the boundary {boundary!r} has no derivative rule")
    return scipy.signal.convolve(in1, in2, mode)


def signal_correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    if mode != "full" and any(np.array(in2.shape) > np.array(in1.shape)):
        raise NotDifferentiated("correlate2d has no derivative rule for a larger second operand")
    return signal_convolve2d(in1, np.conj(np.flip(in2)), mode, boundary, fillvalue)


def signal_medfilt(volume, kernel_size=None):
    sizes = (3,) * np.ndim(volume) if kernel_size is None else kernel_size
    return ndimage_median_filter(volume, sizes, mode="constant")


def signal_medfilt2d(input, kernel_size=3):
    return ndimage_median_filter(input, kernel_size, mode="constant")


def signal_detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):
    data = np.asarray(data)
    centred = data - np.mean(data, axis=axis, keepdims=True)
    if type in ("constant", "c"):
        return centred
    if bp != 0:
        raise NotDifferentiated("detrend has no derivative rule for several pieces")
    times = np.arange(data.shape[axis]) - 0.5 * (data.shape[axis] - 1.0)
    rows = np.moveaxis(centred, axis, -1)
    slopes = np.sum(rows * times, axis=-1, keepdims=True) / np.sum(times * times)
    return np.moveaxis(rows - slopes * times, -1, axis)


def signal_hilbert(x, N=None, axis=-1):
    rows = np.moveaxis(x, axis, -1)
    size = rows.shape[-1] if N is None else N
    weights = np.zeros(size)
    weights[0] = 1.0
    weights[1 : (size + 1) // 2] = 2.0
    if size % 2 == 0:
        weights[size // 2] = 1.0
    return np.moveaxis(np.fft.ifft(np.fft.fft(rows, size) * weights), -1, axis)


def signal_sosfilt(sos, x, axis=-1, zi=None):
    if zi is not None:
        raise NotDifferentiated("sosfilt has no derivative rule with zi=")
    sos = np.asarray(sos)
    for place in range(len(sos)):
        x = scipy.signal.lfilter(sos[place, :3], sos[place, 3:], x, axis)
    return x


def signal_lfilter_zi(b, a):
    size = max(len(a), len(b)) - 1
    ahead = np.concatenate([b, np.zeros(size + 1 - len(b))]) / a[0]
    back = np.concatenate([a, np.zeros(size + 1 - len(a))]) / a[0]
    matrix = np.eye(size) - np.eye(size, k=1)
    matrix[:, 0] += back[1:]
    return np.linalg.solve(matrix, ahead[1:] - back[1:] * ahead[0])


def signal_filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    """Forwards and backwards over a signal that goes on beyond its ends."""
    if method != "pad":
        raise NotDifferentiated(f"filtfilt has no derivative rule for the method {method!r}")
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    rows = np.moveaxis(x, axis, -1)
    edge = 3 * max(len(a), len(b)) if padlen is None else padlen
    if padtype is None or edge == 0:
        edge, wide = 0, rows
    else:
        wide = np.concatenate(
            [
                _beyond(rows, edge, padtype),
                rows,
                _beyond(rows[..., ::-1], edge, padtype)[..., ::-1],
            ],
            axis=-1,
        )
    state = signal_lfilter_zi(b, a)
    there = scipy.signal.lfilter(b, a, wide, zi=state * wide[..., :1])[0][..., ::-1]
    back = scipy.signal.lfilter(b, a, there, zi=state * there[..., :1])[0][..., ::-1]
    return np.moveaxis(back[..., edge : back.shape[-1] - edge], -1, axis)


def _beyond(rows, edge, padtype):
    """What is put before the first entry."""
    if padtype == "odd":
        return 2.0 * rows[..., :1] - rows[..., edge:0:-1]
    if padtype == "even":
        return rows[..., edge:0:-1]
    return np.repeat(rows[..., :1], edge, axis=-1)


def signal_savgol_filter(
    x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0
):
    """(At the ends, the polynomial through the entries of the first and the last window.)"""
    rows = np.moveaxis(np.asarray(x) * 1.0, axis, -1)
    weights = scipy.signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    if mode != "interp":
        smooth = scipy.ndimage.convolve1d(rows, weights, mode=mode, cval=cval)
        return np.moveaxis(smooth, -1, axis)
    fits = []
    for k in range(window_length):
        fit = scipy.signal.savgol_coeffs(
            window_length, polyorder, deriv=deriv, delta=delta, pos=k, use="dot"
        )
        fits.append(fit)
    fitted = np.stack(fits, axis=-1).astype(rows.dtype)
    half = window_length // 2
    first = rows[..., :window_length] @ fitted[:, :half]
    last = rows[..., -window_length:] @ fitted[:, window_length - half :]
    smooth = scipy.ndimage.convolve1d(rows, weights, mode="constant")
    inner = smooth[..., half : rows.shape[-1] - half]
    return np.moveaxis(np.concatenate([first, inner, last], axis=-1), -1, axis)


def _spectra(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis):
    """The products of the spectra of overlapping pieces, and their frequencies and size."""
    if callable(detrend) or np.shape(x)[axis] != np.shape(y)[axis]:
        raise NotDifferentiated("spectra have no derivative rule for such a `detrend` or lengths")
    rows, others = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    taper = _taper(window, min(256 if nperseg is None else nperseg, rows.shape[-1]))
    size = len(taper)
    step = size - (size // 2 if noverlap is None else noverlap)
    count = size if nfft is None else nfft
    if scaling == "density":
        scale = 1.0 / (fs * np.sum(taper * taper))
    else:
        scale = 1.0 / np.sum(taper) ** 2
    pieces = _pieces(rows, size, step, detrend) * taper
    beside = _pieces(others, size, step, detrend) * taper
    if return_onesided and not np.iscomplexobj(x) and not np.iscomplexobj(y):
        found = np.conj(np.fft.rfft(pieces, count)) * np.fft.rfft(beside, count)
        twice = np.full(count // 2 + 1, 2.0)  # (of the others there is one more, left out)
        twice[0] = 1.0
        if count % 2 == 0:
            twice[-1] = 1.0
        return np.fft.rfftfreq(count, 1.0 / fs), found * (scale * twice), size, step
    found = np.conj(np.fft.fft(pieces, count)) * np.fft.fft(beside, count)
    return np.fft.fftfreq(count, 1.0 / fs), found * scale, size, step


def _pieces(rows, size, step, detrend):
    found = np.lib.stride_tricks.sliding_window_view(rows, size, axis=-1)[..., ::step, :]
    return signal_detrend(found, type=detrend) if detrend else found


def signal_csd(
    x,
    y,
    fs=1.0,
    window="hann",
    nperseg=None,
    noverlap=None,
    nfft=None,
    detrend="constant",
    return_onesided=True,
    scaling="density",
    axis=-1,
    average="mean",
):
    freqs, found, _, _ = _spectra(
        x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )
    if average == "mean":
        return freqs, np.moveaxis(np.mean(found, axis=-2), -1, axis)
    pairs = 2.0 * np.arange(1.0, (found.shape[-2] - 1) // 2 + 1)
    bias = 1.0 + np.sum(1.0 / (pairs + 1.0) - 1.0 / pairs)
    middle = np.median(np.real(found), axis=-2) + 1j * np.median(np.imag(found), axis=-2)
    return freqs, np.moveaxis(middle / bias, -1, axis)


def signal_welch(
    x,
    fs=1.0,
    window="hann",
    nperseg=None,
    noverlap=None,
    nfft=None,
    detrend="constant",
    return_onesided=True,
    scaling="density",
    axis=-1,
    average="mean",
):
    freqs, found = signal_csd(
        x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    )
    return freqs, np.real(found)


def signal_periodogram(
    x,
    fs=1.0,
    window="boxcar",
    nfft=None,
    detrend="constant",
    return_onesided=True,
    scaling="density",
    axis=-1,
):
    if nfft is not None and nfft < np.shape(x)[axis]:
        raise NotDifferentiated("periodogram has no derivative rule for a signal that it cuts off")
    size = np.shape(x)[axis]
    return signal_welch(x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis)


def signal_coherence(
    x,
    y,
    fs=1.0,
    window="hann",
    nperseg=None,
    noverlap=None,
    nfft=None,
    detrend="constant",
    axis=-1,
):
    freqs, first = signal_welch(x, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    _, second = signal_welch(y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    _, both = signal_csd(x, y, fs, window, nperseg, noverlap, nfft, detrend, axis=axis)
    return freqs, np.abs(both) ** 2 / first / second


def signal_spectrogram(
    x,
    fs=1.0,
    window=("tukey", 0.25),
    nperseg=None,
    noverlap=None,
    nfft=None,
    detrend="constant",
    return_onesided=True,
    scaling="density",
    axis=-1,
    mode="psd",
):
    if mode != "psd" or axis not in (-1, np.ndim(x) - 1):
        raise NotDifferentiated("spectrogram has a derivative rule for power along the last axis")
    length = len(window) if not isinstance(window, (str, tuple)) else 256
    size = min(length if nperseg is None else nperseg, np.shape(x)[-1])
    overlap = size // 8 if noverlap is None else noverlap
    freqs, found, size, step = _spectra(
        x, x, fs, window, size, overlap, nfft, detrend, return_onesided, scaling, -1
    )
    times = np.arange(size / 2, np.shape(x)[-1] - size / 2 + 1, step) / fs
    return freqs, times, np.swapaxes(np.real(found), -1, -2)


def signal_stft(
    x,
    fs=1.0,
    window="hann",
    nperseg=256,
    noverlap=None,
    nfft=None,
    detrend=False,
    return_onesided=True,
    boundary="zeros",
    padded=True,
    axis=-1,
    scaling="spectrum",
):
    if axis not in (-1, np.ndim(x) - 1) or boundary not in (None, "zeros") or callable(detrend):
        raise NotDifferentiated("stft has a derivative rule along the last axis, ended by zeros")
    size = min(256 if nperseg is None else nperseg, np.shape(x)[-1])
    taper = _taper(window, size)
    size = len(taper)
    step = size - (size // 2 if noverlap is None else noverlap)
    edge = size // 2 if boundary == "zeros" else 0
    length = np.shape(x)[-1] + 2 * edge
    rest = -(length - size) % step % size if padded else 0
    rows = np.concatenate(
        [np.zeros((*np.shape(x)[:-1], edge)), x, np.zeros((*np.shape(x)[:-1], edge + rest))],
        axis=-1,
    )
    pieces = _pieces(rows, size, step, detrend) * (taper * _amplitude(taper, scaling, fs))
    times = (
        np.arange(size / 2, length + rest - size / 2 + 1, step) - (size / 2 if edge else 0)
    ) / fs
    count = size if nfft is None else nfft
    if return_onesided and not np.iscomplexobj(x):
        return (
            np.fft.rfftfreq(count, 1.0 / fs),
            times,
            np.swapaxes(np.fft.rfft(pieces, count), -1, -2),
        )
    return np.fft.fftfreq(count, 1.0 / fs), times, np.swapaxes(np.fft.fft(pieces, count), -1, -2)


def _taper(window, size):
    if isinstance(window, (str, tuple)):
        return scipy.signal.get_window(window, size)
    return np.asarray(window)


def _amplitude(taper, scaling, fs):
    if scaling == "psd":
        return 1.0 / np.sqrt(fs * np.sum(taper * taper))
    return 1.0 / np.sum(taper)


def signal_istft(
    Zxx,
    fs=1.0,
    window="hann",
    nperseg=None,
    noverlap=None,
    nfft=None,
    input_onesided=True,
    boundary=True,
    time_axis=-1,
    freq_axis=-2,
    scaling="spectrum",
):
    if time_axis not in (-1, np.ndim(Zxx) - 1) or freq_axis not in (-2, np.ndim(Zxx) - 2):
        raise NotDifferentiated("istft has a derivative rule for the last two axes")
    usual = 2 * (np.shape(Zxx)[-2] - 1) if input_onesided else np.shape(Zxx)[-2]
    size = usual if nperseg is None else nperseg
    count = (size if input_onesided and size == usual + 1 else usual) if nfft is None else nfft
    step = size - (size // 2 if noverlap is None else noverlap)
    taper = _taper(window, size)
    columns = np.swapaxes(Zxx, -1, -2)
    pieces = np.fft.irfft(columns, count) if input_onesided else np.fft.ifft(columns, count)
    pieces = pieces[..., :size] * (taper / _amplitude(taper, scaling, fs))
    length = size + (np.shape(Zxx)[-1] - 1) * step
    found = np.zeros((*np.shape(Zxx)[:-2], length), dtype=pieces.dtype)
    norm = np.zeros(length)
    for start in range(0, length - size + 1, step):
        found[..., start : start + size] += pieces[..., start // step, :]
        norm[start : start + size] += taper * taper
    found = found / np.where(norm > 1e-10, norm, 1.0)
    if boundary:
        found = found[..., size // 2 : length - size // 2]
    return np.arange(found.shape[-1]) / fs, found


def signal_resample(x, num, t=None, axis=0, window=None, domain="time"):
    """(What has the highest frequency of the shorter signal stands for both of its signs.)"""
    if window is not None or domain != "time" or np.iscomplexobj(x):
        raise NotDifferentiated("resample has a derivative rule for real signals without a window")
    rows = np.moveaxis(x, axis, -1)
    size = rows.shape[-1]
    shorter = min(size, num)
    weights = np.ones(shorter // 2 + 1)
    if shorter % 2 == 0 and size != num:
        weights[-1] = 2.0 if num < size else 0.5
    kept = np.fft.rfft(rows)[..., : shorter // 2 + 1] * weights
    found = np.moveaxis(np.fft.irfft(kept, num) * (num / size), -1, axis)
    if t is None:
        return found
    return found, np.arange(num) * ((t[1] - t[0]) * size / num) + t[0]


# ----------------------------------------------------------------------------- image filters


def ndimage_maximum_filter(
    input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0
):
    windows, inner = _windows(input, size, footprint, mode, cval, origin)
    return _put_out(np.max(windows, axis=inner), output)


def ndimage_minimum_filter(
    input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0
):
    windows, inner = _windows(input, size, footprint, mode, cval, origin)
    return _put_out(np.min(windows, axis=inner), output)


def ndimage_median_filter(
    input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0
):
    """(Of an even number of entries the upper one of the two in the middle.)"""
    windows, inner = _windows(input, size, footprint, mode, cval, origin)
    rows = np.reshape(windows, (*windows.shape[: len(inner)], -1))
    return _put_out(np.sort(rows, axis=-1)[..., rows.shape[-1] // 2], output)


def ndimage_grey_erosion(
    input,
    size=None,
    footprint=None,
    structure=None,
    output=None,
    mode="reflect",
    cval=0.0,
    origin=0,
):
    if structure is not None:
        raise NotDifferentiated("grey_erosion has no derivative rule with structure=")
    return ndimage_minimum_filter(input, size, footprint, output, mode, cval, origin)


def ndimage_grey_dilation(
    input,
    size=None,
    footprint=None,
    structure=None,
    output=None,
    mode="reflect",
    cval=0.0,
    origin=0,
):
    if structure is not None or (size is not None and np.any(np.array(size) % 2 == 0)):
        raise NotDifferentiated("grey_dilation has a derivative rule for odd sizes alone")
    return ndimage_maximum_filter(input, size, footprint, output, mode, cval, origin)


_PADDED = {"reflect": "symmetric", "nearest": "edge", "mirror": "reflect", "wrap": "wrap"}


def _windows(x, size, footprint, mode, cval, origin):
    """What a filter sees at each place, and the axes of that."""
    if size is None or footprint is not None or origin != 0:
        raise NotDifferentiated("this filter has a derivative rule for size= alone")
    x = np.asarray(x)
    sizes = (size,) * x.ndim if isinstance(size, int) else tuple(size)
    widths = [(n // 2, n - n // 2 - 1) for n in sizes]
    if mode == "constant":
        wide = np.pad(x, widths, constant_values=cval)
    else:
        wide = np.pad(x, widths, mode=_PADDED[mode])
    inner = tuple(range(x.ndim, 2 * x.ndim))
    return np.lib.stride_tricks.sliding_window_view(wide, sizes), inner


def _put_out(result, output):
    """What a filter gives: the array that it writes, if it is given one."""
    if output is None:
        return result
    if not isinstance(output, np.ndarray):
        raise NotDifferentiated("`output=` says the type of the result, which is not followed")
    output[...] = result
    return output


# ------------------------------------------------------------------------------- distances


def spatial_distance_cdist(XA, XB, metric="euclidean", *, p=2):
    return _distances(np.asarray(XA)[:, None, :], np.asarray(XB)[None, :, :], metric, p)


def spatial_distance_euclidean(u, v, w=None):
    return _weighed(u, v, w, 2.0)


def spatial_distance_sqeuclidean(u, v, w=None):
    return np.sum((1.0 if w is None else w) * np.abs(u - v) ** 2)


def spatial_distance_cityblock(u, v, w=None):
    return _weighed(u, v, w, 1.0)


def spatial_distance_minkowski(u, v, p=2, w=None):
    return _weighed(u, v, w, p)


def _weighed(u, v, w, p):
    between = u - v
    return np.linalg.norm(between if w is None else w ** (1.0 / p) * between, p)


def spatial_distance_mahalanobis(u, v, VI):
    return np.sqrt((u - v) @ VI @ (u - v))


def spatial_distance_chebyshev(u, v):
    return _distances(u, v, "chebyshev", 2)


def spatial_distance_cosine(u, v):
    return _distances(u, v, "cosine", 2)


def spatial_distance_correlation(u, v):
    return _distances(u, v, "correlation", 2)


def spatial_distance_canberra(u, v):
    return _distances(u, v, "canberra", 2)


def spatial_distance_braycurtis(u, v):
    return _distances(u, v, "braycurtis", 2)


def spatial_distance_pdist(X, metric="euclidean", *, p=2):
    first, second = np.triu_indices(len(X), 1)
    return _distances(X[first], X[second], metric, p)


def spatial_distance_squareform(X, force="no", checks=True):
    rows = len(X) if np.ndim(X) == 2 else int(max(1.0, np.ceil(np.sqrt(2.0 * len(X)))))
    first, second = np.triu_indices(rows, 1)
    if np.ndim(X) == 2:
        return X[first, second]
    matrix = np.zeros((rows, rows))
    matrix[first, second] = X
    matrix[second, first] = X
    return matrix


def _distances(a, b, metric, p):
    if metric == "euclidean":
        return np.linalg.norm(a - b, axis=-1)
    if metric == "sqeuclidean":
        return np.sum((a - b) ** 2, axis=-1)
    if metric == "cityblock":
        return np.sum(np.abs(a - b), axis=-1)
    if metric == "chebyshev":
        return np.max(np.abs(a - b), axis=-1)
    if metric == "minkowski":
        return np.linalg.norm(a - b, p, axis=-1)
    if metric == "cosine":
        return 1.0 - _cosine(a, b)
    if metric == "correlation":
        centred = a - np.mean(a, axis=-1, keepdims=True)
        return 1.0 - _cosine(centred, b - np.mean(b, axis=-1, keepdims=True))
    if metric == "canberra":
        sizes = np.abs(a) + np.abs(b)
        return np.sum(np.abs(a - b) / np.where(sizes == 0.0, 1.0, sizes), axis=-1)
    if metric == "braycurtis":
        return np.sum(np.abs(a - b), axis=-1) / np.sum(np.abs(a + b), axis=-1)
    raise NotDifferentiated(f"distances of the metric {metric!r} have no derivative rule")


def _cosine(a, b):
    return np.sum(a * b, axis=-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


# -------------------------------------------------------------------------------- integrals


def integrate_trapezoid(y, x=None, dx=1.0, axis=-1):
    if x is None:
        return trapezoid(y, None, dx, axis)
    return trapezoid(y, x, axis=axis)


def integrate_cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    values = np.moveaxis(np.asarray(y), axis, -1)
    steps = dx
    if x is not None:
        steps = np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1)
    sums = np.cumsum(0.5 * steps * (values[..., 1:] + values[..., :-1]), axis=-1)
    if initial is not None:
        sums = np.concatenate([np.zeros_like(sums[..., :1]) + initial, sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


def integrate_simpson(y, x=None, *, dx=1.0, axis=-1):
    """(With an even number of points, the last interval by Cartwright's formula, as SciPy does.)"""
    values = np.moveaxis(np.asarray(y), axis, -1)
    size = values.shape[-1]
    steps = dx * np.ones(size - 1)
    if x is not None:
        steps = np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1)
    if size == 2:
        return np.sum(0.5 * steps * (values[..., 1:] + values[..., :-1]), axis=-1)[()]
    odd = size - 1 + size % 2  # so many points are taken by parabolas
    h0, h1 = steps[..., : odd - 1 : 2], steps[..., 1 : odd - 1 : 2]
    y0, y1, y2 = values[..., : odd - 2 : 2], values[..., 1 : odd - 1 : 2], values[..., 2:odd:2]
    both = h0 + h1
    weighted = y0 * (2.0 - h1 / h0) + y1 * (both * both / (h0 * h1)) + y2 * (2.0 - h0 / h1)
    total = np.sum(both / 6.0 * weighted, axis=-1)
    if odd < size:
        h, k = steps[..., -1], steps[..., -2]
        total = total + values[..., -1] * (2.0 * h * h + 3.0 * h * k) / (6.0 * (k + h))
        total = total + values[..., -2] * (h * h + 3.0 * h * k) / (6.0 * k)
        total = total - values[..., -3] * h**3 / (6.0 * k * (k + h))
    return total[()]
