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


def least_squares(x, y):
    a = x.T @ x + 0.1 * np.eye(x.shape[1])
    w = np.linalg.solve(a, x.T @ y)
    r = x @ w - y
    q = np.linalg.solve(a, 2.0 * (x.T @ r))
    y_bar = x @ q - 2.0 * r
    return r @ r, (-np.outer(y_bar, w) - np.outer(r, q), y_bar)


def matrix_exponential(a):
    terms = [np.eye(len(a))]
    for k in range(1, 12):
        terms.append(terms[-1] @ a / k)
    a_bar, term_bar = np.zeros_like(a), np.ones_like(a)
    for k in range(11, 0, -1):
        step = term_bar / k
        a_bar += terms[k - 1].T @ step
        term_bar = 1.0 + step @ a.T
    return np.sum(terms), (a_bar,)


def power_iteration(a, x):
    xs, norms = [x], []
    for _ in range(20):
        z = a @ xs[-1]
        norms.append(np.sqrt(z @ z))
        xs.append(z / norms[-1])
    x = xs.pop()
    ax = a @ x
    a_bar, x_bar = np.outer(x, x), ax + a.T @ x
    value = x @ ax
    for norm in norms[::-1]:
        z_bar = (x_bar - (x_bar @ x) * x) / norm
        x = xs.pop()
        a_bar += np.outer(z_bar, x)
        x_bar = a.T @ z_bar
    return value, (a_bar, x_bar)


def diffusion(u):
    for _ in range(30):
        f = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        u = u.copy()
        u[1:-1, 1:-1] += 0.1 * f
    u_bar = 2.0 * u
    for _ in range(30):
        f_bar = 0.1 * u_bar[1:-1, 1:-1]
        u_bar[2:, 1:-1] += f_bar
        u_bar[:-2, 1:-1] += f_bar
        u_bar[1:-1, 2:] += f_bar
        u_bar[1:-1, :-2] += f_bar
        u_bar[1:-1, 1:-1] -= 4.0 * f_bar
    return np.sum(u**2), (u_bar,)


def jacobi_in_place(u):
    u, v = u.copy(), u.copy()
    for _ in range(20):
        v[1:-1, 1:-1] = 0.25 * (u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1])
        u[1:-1, 1:-1] = 0.25 * (v[1:-1, 2:] + v[1:-1, :-2] + v[2:, 1:-1] + v[:-2, 1:-1])
    u_bar, v_bar = 2.0 * u, np.zeros_like(u)
    for _ in range(20):
        for to, of in ((u_bar, v_bar), (v_bar, u_bar)):
            part = 0.25 * to[1:-1, 1:-1]
            to[1:-1, 1:-1] = 0.0
            of[1:-1, 2:] += part
            of[1:-1, :-2] += part
            of[2:, 1:-1] += part
            of[:-2, 1:-1] += part
    return np.sum(u * u), (u_bar + v_bar,)


def cumulative(x):
    e = np.exp(-x)
    w = np.cumsum(e)
    log_w = np.log(w)
    return log_w @ x, (log_w - np.cumsum((x / w)[::-1])[::-1] * e,)


def lennard_jones(x):
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d * d, axis=2) + np.eye(len(x))
    s = 0.01 / r2**3
    w = (3.0 * s - 6.0 * s * s) / r2
    np.fill_diagonal(w, 0.0)
    x_bar = 2.0 * (np.sum(w, axis=1)[:, None] * x - w @ x)
    return np.sum(np.triu(s * s - s, 1)), (x_bar,)


def spring_chain(x):
    d = x[1:] - x[:-1]
    length = np.sqrt(np.sum(d * d, axis=1))
    stretch = length - 0.1
    d_bar = (2.0 * stretch / length)[:, None] * d
    x_bar = np.zeros_like(x)
    x_bar[:, 1] = 1.0
    x_bar[1:] += d_bar
    x_bar[:-1] -= d_bar
    return stretch @ stretch + np.sum(x[:, 1]), (x_bar,)


def masked_completion(x, mask):
    d = np.where(mask, x - 0.5, 0.0)
    return np.sum(d * d) + 0.01 * np.sum(np.abs(x)), (2.0 * d + 0.01 * np.sign(x),)
