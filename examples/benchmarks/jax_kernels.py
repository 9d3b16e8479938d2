"""The programs of kernels.py that JAX does not run as they stand, or runs better otherwise.

In-place writes are made with `.at`, loops with `lax.scan`, pairs of particles as arrays: what a
user of JAX writes. The page counts how many lines differ from the program in NumPy.
"""

# The programs stand as a user would write them, without annotations.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import jax.numpy as np
from jax import lax


def diffusion(u):
    for _ in range(30):
        c = u[1:-1, 1:-1]
        f = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * c
        u = u.at[1:-1, 1:-1].set(c + 0.1 * f)
    return np.sum(u**2)


def jacobi_in_place(u):
    v = u
    for _ in range(20):
        inner = 0.25 * (u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1])
        v = v.at[1:-1, 1:-1].set(inner)
        inner = 0.25 * (v[1:-1, 2:] + v[1:-1, :-2] + v[2:, 1:-1] + v[:-2, 1:-1])
        u = u.at[1:-1, 1:-1].set(inner)
    return np.sum(u * u)


def burgers(u):
    def step(u, _):
        u = u - 0.1 * u * (u - np.roll(u, 1)) + 0.05 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
        return u, None

    u, _ = lax.scan(step, u, None, 50)
    return np.sum(u * u)


def wave(u, c):
    def step(state, _):
        u, v = state
        lap = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        v = v + 0.1 * c * lap
        u = u + 0.1 * v
        return (u, v), None

    (u, _), _ = lax.scan(step, (u, np.zeros_like(u)), None, 25)
    return np.sum(u * u)


def reaction(s):
    def step(state, _):
        u, v = state
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        w = u * v * v
        u, v = u + 0.16 * lu - w + 0.035 * (1 - u), v + 0.08 * lv + w - 0.1 * v
        return (u, v), None

    (_, v), _ = lax.scan(step, (s[0], s[1]), None, 20)
    return np.sum(v)


def power_iteration(a, x):
    def step(x, _):
        x = a @ x
        x = x / np.sqrt(x @ x)
        return x, None

    x, _ = lax.scan(step, x, None, 20)
    return x @ a @ x


def recurrent(w, u, xs):
    def step(h, x):
        return np.tanh(w @ h + u @ x), None

    h, _ = lax.scan(step, np.zeros(len(w)), xs)
    return h @ h


def garch(p, y):
    def step(state, y):
        s, total = state
        total += np.log(s) + y**2 / s
        s = p[0] + p[1] * y**2 + p[2] * s
        return (s, total), None

    (_, total), _ = lax.scan(step, (0.1, 0.0), y)
    return total


def kalman(a, q, ys):
    def step(state, y):
        m, p, total = state
        m, p = a @ m, a @ p @ a.T + q
        s = p + np.eye(4)
        e = y - m
        g = np.linalg.solve(s, p)
        total += e @ np.linalg.solve(s, e) + np.linalg.slogdet(s)[1]
        m, p = m + g.T @ e, p - p @ g
        return (m, p, total), None

    (_, _, total), _ = lax.scan(step, (np.zeros(4), np.eye(4), 0.0), ys)
    return total


def forward_algorithm(t, e):
    def step(state, e):
        a, total = state
        a = (a @ t) * e
        s = np.sum(a)
        a, total = a / s, total + np.log(s)
        return (a, total), None

    (_, total), _ = lax.scan(step, (e[0], 0.0), e[1:])
    return total


def smoothing(alpha, y):
    def step(state, y):
        level, total = state
        total += (y - level) ** 2
        level = level + alpha * (y - level)
        return (level, total), None

    (_, total), _ = lax.scan(step, (y[0], 0.0), y[1:])
    return total


def n_body(x, v):
    def step(state, _):
        x, v = state
        d = x[None, :, :] - x[:, None, :]
        r3 = (np.sum(d * d, axis=2) + 0.1) ** 1.5
        v = v + 0.01 * np.sum(d / r3[:, :, None], axis=1)
        x = x + 0.01 * v
        return (x, v), None

    (x, _), _ = lax.scan(step, (x, v), None, 15)
    return np.sum(x * x)


def coulomb_loops(x, q):
    i, j = np.tril_indices(len(q), -1)
    d = x[i] - x[j]
    return np.sum(q[i] * q[j] / np.sqrt(np.sum(d * d, axis=1) + 0.01))


def double_pendulum(start, p):
    def step(state, _):
        a, b, va, vb = state
        d = a - b
        den = p[0] + p[1] * np.sin(d) ** 2
        fa = -p[2] * np.sin(a) - p[1] * np.sin(d) * vb**2 / den
        fb = -p[3] * np.sin(b) + p[0] * np.sin(d) * va**2 / den
        va, vb = va + 0.01 * fa, vb + 0.01 * fb
        a, b = a + 0.01 * va, b + 0.01 * vb
        return (a, b, va, vb), None

    (a, b, _, _), _ = lax.scan(step, (start[0], start[1], 0.0, 0.0), None, 80)
    return a * a + b * b


def gated(w, u, xs):
    def step(h, x):
        z = 1.0 / (1.0 + np.exp(-(w @ x + u @ h)))
        h = (1.0 - z) * h + z * np.tanh(x)
        return h, None

    h, _ = lax.scan(step, np.zeros(12), xs)
    return np.sum(h * h)


def monte_carlo_call(p, z):
    drift = (p[0] - 0.5 * p[1] ** 2) * 0.05
    s = np.prod(np.exp(drift + p[1] * 0.2 * z), axis=1)
    return np.exp(-p[0]) * np.mean(np.maximum(s - 1.0 + p[2], 0.0))


def binomial_tree(p, strikes):
    n = 60
    up = np.exp(p[1] * np.sqrt(1.0 / n))
    q = (np.exp(p[0] / n) - 1.0 / up) / (up - 1.0 / up)
    k = np.arange(n + 1)
    v = np.maximum(up ** (2.0 * k - n) - strikes[50], 0.0)

    def step(v, _):
        return np.exp(-p[0] / n) * (q * np.roll(v, -1) + (1.0 - q) * v), None

    v, _ = lax.scan(step, v, None, n)
    return v[0]
