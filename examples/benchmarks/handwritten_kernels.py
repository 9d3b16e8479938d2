"""Value and gradient of some programs of kernels.py, as an expert writes them."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np


def low_rank(u, v, target):
    r = u @ v - target
    r_bar = 2.0 * r
    return np.sum(r**2), (r_bar @ v.T, u.T @ r_bar)


def quadratic_form(a, x):
    ax, xx = a @ x, x @ x
    value = x @ ax / xx
    return value, (np.outer(x / xx, x), (ax + a.T @ x - 2.0 * value * x) / xx)


def stacked_product(x, c):
    y = np.tanh(x @ c)
    z_bar = 2.0 * y * (1.0 - y * y)
    flat = z_bar.reshape(-1, c.shape[1])
    return np.sum(y**2), ((flat @ c.T).reshape(x.shape), x.reshape(-1, c.shape[0]).T @ flat)


def recurrent(w, u, xs):
    hs = [np.zeros(len(w))]
    for x in xs:
        hs.append(np.tanh(w @ hs[-1] + u @ x))
    h = hs.pop()
    value, h_bar = h @ h, 2.0 * h
    w_bar, u_bar = np.zeros_like(w), np.zeros_like(u)
    for x in xs[::-1]:
        s_bar = h_bar * (1.0 - h * h)
        h = hs.pop()
        w_bar += np.outer(s_bar, h)
        u_bar += np.outer(s_bar, x)
        h_bar = w.T @ s_bar
    return value, (w_bar, u_bar)


def rosenbrock(x):
    d, e = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
    x_bar = np.zeros_like(x)
    x_bar[1:] = 200.0 * d
    x_bar[:-1] -= 400.0 * d * x[:-1] + 2.0 * e
    return np.sum(100.0 * d**2 + e**2), (x_bar,)


def classifier(w1, w2, x, onehot):
    h = np.tanh(x @ w1)
    z = h @ w2
    z = z - np.max(z, axis=1, keepdims=True)
    e = np.exp(z)
    s = np.sum(e, axis=1, keepdims=True)
    value = -np.sum(onehot * (z - np.log(s))) / len(x)
    z_bar = (e / s * np.sum(onehot, axis=1, keepdims=True) - onehot) / len(x)
    h_bar = (z_bar @ w2.T) * (1.0 - h * h)
    return value, (x.T @ h_bar, h.T @ z_bar)


def logistic_regression(w, x, y):
    e = np.exp(-y * (x @ w))
    return np.sum(np.log1p(e)) + 0.1 * w @ w, (-(y * e / (1.0 + e)) @ x + 0.2 * w,)


def soft_kmeans(c, x):
    difference = x[:, None, :] - c[None, :, :]
    k = np.exp(-np.sum(difference**2, axis=2))
    s = np.sum(k, axis=1)
    weights = k / s[:, None]
    return -np.sum(np.log(s)), (-2.0 * np.einsum("ij,ijk->jk", weights, difference),)


def embedding(e, pairs, y):
    a, b = e[pairs[:, 0]], e[pairs[:, 1]]
    r = np.sum(a * b, axis=1) - y
    e_bar = np.zeros_like(e)
    np.add.at(e_bar, pairs[:, 0], 2.0 * r[:, None] * b)
    np.add.at(e_bar, pairs[:, 1], 2.0 * r[:, None] * a)
    return np.sum(r**2), (e_bar,)


def student_t(beta, x, y):
    e = y - x @ beta
    return np.sum(np.log(1.0 + e * e / 4.0)), (-(0.5 * e / (1.0 + e * e / 4.0)) @ x,)


def portfolio(w, cov, mu):
    p = np.exp(w)
    p = p / np.sum(p)
    p_bar = cov @ p + cov.T @ p - 0.5 * mu
    return p @ cov @ p - 0.5 * p @ mu, (p * (p_bar - p @ p_bar),)


def smoothing(alpha, y):
    level, total = y[0], 0.0
    slope, change = 0.0, 0.0
    for t in range(1, len(y)):
        e = y[t] - level
        total += e**2
        change -= 2.0 * e * slope
        level, slope = level + alpha * e, slope * (1.0 - alpha) + e
    return total, (change,)


def total_variation(x):
    dx, dy = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    s = np.sqrt(dx * dx + dy * dy + 1e-6)
    dx, dy = dx / s, dy / s
    x_bar = np.zeros_like(x)
    x_bar[1:, :-1] += dx
    x_bar[:-1, 1:] += dy
    x_bar[:-1, :-1] -= dx + dy
    return np.sum(s), (x_bar,)
