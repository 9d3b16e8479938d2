"""Signals and data by loops that write: FFT, covariance, convolution, pooling, soft-DTW."""

import numpy as np

from .registry import Program


def fft_in_place(z):
    n = len(z)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            t = z[i]
            z[i] = z[j]
            z[j] = t
    length = 2
    while length <= n:
        half = length // 2
        for start in range(0, n, length):
            for k in range(half):
                twiddle = np.exp(-2j * np.pi * k / length)
                u = z[start + k]
                v = z[start + k + half] * twiddle
                z[start + k] = u + v
                z[start + k + half] = u - v
        length *= 2


def spectrum_energy(x):
    z = np.zeros(len(x), dtype=complex)
    z[:] = x
    fft_in_place(z)
    return np.abs(z[1]) ** 2 + 0.5 * np.abs(z[3]) + z[2].imag


def spectrum_by_numpy(x):
    z = np.fft.fft(x)
    return np.abs(z[1]) ** 2 + 0.5 * np.abs(z[3]) + z[2].imag


def covariance_by_loops(data):
    m, n = data.shape
    mean = np.zeros(n)
    for j in range(n):
        for i in range(m):
            mean[j] += data[i, j]
        mean[j] /= m
    for i in range(m):
        for j in range(n):
            data[i, j] -= mean[j]
    cov = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            for k in range(m):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= m - 1.0
            cov[j, i] = cov[i, j]
    return np.sum(cov**2)


def correlation_by_loops(data):
    m = data.shape[0]
    mean = data.mean(axis=0)
    std = np.sqrt(np.mean((data - mean) ** 2, axis=0))
    std[std <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(m) * std
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        corr[i + 1 :, i] = corr[i, i + 1 :]
    return np.sum(corr[0] * corr[-1])


def convolution_by_loops(image, kernel):
    kh, kw = kernel.shape
    out = np.zeros((image.shape[0] - kh + 1, image.shape[1] - kw + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i : i + kh, j : j + kw] * kernel)
    return np.sum(np.tanh(out))


def convolution_by_scalars(signal, kernel):
    out = np.zeros(len(signal) + len(kernel) - 1)
    for i in range(len(signal)):
        for j in range(len(kernel)):
            out[i + j] += signal[i] * kernel[j]
    return np.sum(out**2)


def max_pooling(image, size):
    h, w = image.shape[0] // size, image.shape[1] // size
    pooled = np.empty((h, w))
    for i in range(h):
        for j in range(w):
            pooled[i, j] = np.max(image[i * size : (i + 1) * size, j * size : (j + 1) * size])
    return np.sum(pooled * pooled)


def convolutional_layer(image, kernel, bias):
    padded = np.zeros((image.shape[0] + 2, image.shape[1] + 2))
    padded[1:-1, 1:-1] = image
    out = np.empty_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = np.sum(padded[i : i + 3, j : j + 3] * kernel) + bias
    out[out < 0.0] = 0.0
    return np.mean(out)


def sparse_matvec(values, columns, starts, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y @ y


def sparse_scatter(values, rows, columns, x):
    y = np.zeros_like(x)
    for k in range(len(values)):
        y[rows[k]] += values[k] * np.sin(x[columns[k]])
    return np.sum(y**2)


def soft_minimum(a, b, c, gamma):
    m = min(a, b, c)
    return m - gamma * np.log(
        np.exp(-(a - m) / gamma) + np.exp(-(b - m) / gamma) + np.exp(-(c - m) / gamma)
    )


def soft_dtw(x, y, gamma):
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), 1e3)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = (x[i - 1] - y[j - 1]) ** 2
            cost[i, j] = d + soft_minimum(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1], gamma)
    return cost[n, m]


def hidden_markov_log_likelihood(transition, emission, observations):
    alpha = np.full(transition.shape[0], 1.0 / transition.shape[0])
    loglik = 0.0
    for t in range(len(observations)):
        alpha *= emission[:, observations[t]]
        c = np.sum(alpha)
        loglik += np.log(c)
        alpha /= c
        alpha = alpha @ transition
    return loglik


def recursive_filter(b, a, x):
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = b[0] * x[n]
        if n >= 1:
            y[n] += b[1] * x[n - 1] - a[0] * y[n - 1]
        if n >= 2:
            y[n] -= a[1] * y[n - 2]
    return np.sum(y * y)


def soft_histogram(x, centers):
    counts = np.zeros(len(centers))
    for v in x:
        w = np.exp(-2.0 * (v - centers) ** 2)
        w /= w.sum()
        counts += w
    counts /= len(x)
    return -np.sum(counts * np.log(counts))


def prefix_sums(x):
    n = len(x)
    stride = 1
    while stride < n:
        for i in range(n - 1, stride - 1, -1):
            x[i] += x[i - stride] * x[i]
        stride *= 2
    return np.sum(x * x)


def windows_as_rows(x, kh, kw):
    n, c, h, w = x.shape
    oh, ow = h - kh + 1, w - kw + 1
    rows = np.empty((n, c, kh, kw, oh, ow))
    for i in range(kh):
        for j in range(kw):
            rows[:, :, i, j] = x[:, :, i : i + oh, j : j + ow]
    return rows.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1), oh, ow


def convolved_and_normalized(x, filters):
    rows, oh, ow = windows_as_rows(x, *filters.shape[2:])
    images = (rows @ filters.reshape(len(filters), -1).T).reshape(x.shape[0], oh, ow, -1)
    centred = images - images.mean(axis=(0, 1, 2))
    return np.sum(centred**3 / np.sqrt(images.var(axis=(0, 1, 2)) + 0.1))


PROGRAMS = [
    Program(spectrum_energy, lambda rng: (rng.normal(size=8),), oracle=spectrum_by_numpy),
    Program(
        covariance_by_loops,
        lambda rng: (rng.normal(size=(5, 3)),),
        oracle=lambda data: np.sum(np.cov(data.T) ** 2),
    ),
    Program(correlation_by_loops, lambda rng: (rng.normal(size=(6, 3)),)),
    Program(
        convolution_by_loops,
        lambda rng: (rng.normal(size=(5, 5)), rng.normal(size=(2, 3))),
        (0, 1),
    ),
    Program(
        convolution_by_scalars,
        lambda rng: (rng.normal(size=5), rng.normal(size=3)),
        (0, 1),
        oracle=lambda s, k: np.sum(np.convolve(s, k) ** 2),
    ),
    Program(max_pooling, lambda rng: (rng.normal(size=(4, 6)), 2)),
    Program(
        convolutional_layer,
        lambda rng: (rng.normal(size=(4, 4)), rng.normal(size=(3, 3)), 0.1),
        (0, 1, 2),
    ),
    Program(
        sparse_matvec,
        lambda rng: (
            rng.normal(size=6),
            np.array([0, 2, 1, 0, 2, 2]),
            np.array([0, 2, 3, 6]),
            rng.normal(size=3),
        ),
        (0, 3),
    ),
    Program(
        sparse_scatter,
        lambda rng: (
            rng.normal(size=5),
            np.array([0, 2, 2, 1, 0]),
            np.array([1, 1, 0, 2, 2]),
            rng.normal(size=3),
        ),
        (0, 3),
    ),
    Program(soft_dtw, lambda rng: (rng.normal(size=4), rng.normal(size=5), 0.5), (0, 1)),
    Program(
        hidden_markov_log_likelihood,
        lambda rng: (
            rng.dirichlet(np.ones(3), 3),
            rng.dirichlet(np.ones(4), 3),
            np.array([0, 2, 3, 1, 1]),
        ),
        (0, 1),
    ),
    Program(
        recursive_filter,
        lambda rng: (rng.normal(size=2), np.array([-0.3, 0.2]), rng.normal(size=6)),
        (0, 1, 2),
    ),
    Program(soft_histogram, lambda rng: (rng.normal(size=6), np.linspace(-2, 2, 4)), (0, 1)),
    Program(prefix_sums, lambda rng: (rng.uniform(0.1, 0.5, 8),)),
    Program(
        convolved_and_normalized,
        lambda rng: (rng.normal(size=(2, 2, 4, 4)), rng.normal(size=(3, 2, 2, 2))),
        (0, 1),
    ),
]
