"""Forty-two programs in plain NumPy, each a real function of arrays, as people write them.

`KERNELS` has for each the function, by which arguments it is differentiated, and what makes its
arguments. Sizes are those at which a call takes between 0.1 and 20 milliseconds.
"""

# The programs stand as a user would write them, without annotations.
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: E741

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kernel:
    """A program; `count` is how many of its first arguments it is differentiated by."""

    fn: Callable[..., Any]
    given: Callable[[Any], tuple[Any, ...]]
    count: int = 1
    theme: str = ""


KERNELS: dict[str, Kernel] = {}


def kernel(theme: str, given: Callable[[Any], tuple[Any, ...]], count: int = 1) -> Any:
    """Add a program to the collection."""

    def added(fn: Any) -> Any:
        KERNELS[fn.__name__] = Kernel(fn, given, count, theme)
        return fn

    return added


def definite(r, n):
    a = r.random((n, n))
    return a @ a.T / n + np.eye(n)


# ------------------------------------------------------------------- dense linear algebra


@kernel("dense", lambda r: (r.random((80, 60)), r.random((60, 70)), r.random((80, 70))), 2)
def low_rank(u, v, target):
    return np.sum((u @ v - target) ** 2)


@kernel("dense", lambda r: (definite(r, 80), r.random(80)), 2)
def gaussian_loglik(k, y):
    l = np.linalg.cholesky(k)
    z = np.linalg.solve(l, y)
    return -0.5 * z @ z - np.sum(np.log(np.diag(l)))


@kernel("dense", lambda r: (r.random(3), r.random((60, 4)), r.random(60)))
def gaussian_process(theta, x, y):
    d = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=2)
    k = theta[0] * np.exp(-d / theta[1]) + (theta[2] + 0.1) * np.eye(len(y))
    return 0.5 * y @ np.linalg.solve(k, y) + 0.5 * np.linalg.slogdet(k)[1]


@kernel("dense", lambda r: (r.random((100, 100)),))
def spectral_penalty(a):
    return np.sum(np.linalg.svd(a, full_matrices=False)[1] ** 3)


@kernel("dense", lambda r: (definite(r, 60),))
def eigenvalue_gap(a):
    w = np.linalg.eigvalsh(a)
    return w[-1] - w[0] + np.sum(w**2)


@kernel("dense", lambda r: (definite(r, 70), r.random(70)), 2)
def quadratic_form(a, x):
    return x @ a @ x / (x @ x)


@kernel("dense", lambda r: (r.random((40, 40)) / 40.0, r.random(40)), 2)
def power_iteration(a, x):
    for _ in range(20):
        x = a @ x
        x = x / np.sqrt(x @ x)
    return x @ a @ x


@kernel("dense", lambda r: (r.random((30, 8, 64)), r.random((64, 64))), 2)
def stacked_product(x, c):
    return np.sum(np.tanh(x @ c) ** 2)


@kernel("dense", lambda r: (r.random((50, 50)) / 50.0,))
def matrix_exponential(a):
    total, term = np.eye(len(a)), np.eye(len(a))
    for k in range(1, 12):
        term = term @ a / k
        total = total + term
    return np.sum(total)


@kernel("dense", lambda r: (r.random((200, 20)), r.random(200)), 2)
def least_squares(x, y):
    w = np.linalg.solve(x.T @ x + 0.1 * np.eye(x.shape[1]), x.T @ y)
    return np.sum((x @ w - y) ** 2)


# ------------------------------------------------------------------- stencils and fields


@kernel("stencils", lambda r: (r.random((60, 60)),))
def diffusion(u):
    for _ in range(30):
        c = u[1:-1, 1:-1]
        f = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * c
        u = u.copy()
        u[1:-1, 1:-1] = c + 0.1 * f
    return np.sum(u**2)


@kernel("stencils", lambda r: (r.random((60, 60)),))
def jacobi_in_place(u):
    v = u.copy()
    for _ in range(20):
        v[1:-1, 1:-1] = 0.25 * (u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1])
        u[1:-1, 1:-1] = 0.25 * (v[1:-1, 2:] + v[1:-1, :-2] + v[2:, 1:-1] + v[:-2, 1:-1])
    return np.sum(u * u)


@kernel("stencils", lambda r: (r.random(400),))
def burgers(u):
    for _ in range(50):
        u = u - 0.1 * u * (u - np.roll(u, 1)) + 0.05 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
    return np.sum(u * u)


@kernel("stencils", lambda r: (r.random((50, 50)), r.random((50, 50))), 2)
def wave(u, c):
    v = np.zeros_like(u)
    for _ in range(25):
        lap = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        v = v + 0.1 * c * lap
        u = u + 0.1 * v
    return np.sum(u * u)


@kernel("stencils", lambda r: (r.random((100, 100)),))
def total_variation(x):
    dx, dy = x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1]
    return np.sum(np.sqrt(dx * dx + dy * dy + 1e-6))


@kernel("stencils", lambda r: (r.random((40, 40)), r.random((5, 5))), 2)
def convolution_loop(x, k):
    y = np.zeros((36, 36))
    for i in range(5):
        for j in range(5):
            y = y + k[i, j] * x[i : i + 36, j : j + 36]
    return np.sum(np.maximum(y - 5.0, 0.0) ** 2)


@kernel("stencils", lambda r: (r.random((2, 48, 48)),))
def reaction(s):
    u, v = s[0], s[1]
    for _ in range(20):
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        w = u * v * v
        u, v = u + 0.16 * lu - w + 0.035 * (1 - u), v + 0.08 * lv + w - 0.1 * v
    return np.sum(v)


# ------------------------------------------------------------------- recurrences, time series


@kernel("series", lambda r: (r.random((16, 16)) / 4, r.random((16, 8)), r.random((60, 8))), 2)
def recurrent(w, u, xs):
    h = np.zeros(len(w))
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return h @ h


@kernel("series", lambda r: (np.array([0.1, 0.2, 0.7]), r.random(300) - 0.5))
def garch(p, y):
    s, total = 0.1, 0.0
    for t in range(len(y)):
        total += np.log(s) + y[t] ** 2 / s
        s = p[0] + p[1] * y[t] ** 2 + p[2] * s
    return total


@kernel("series", lambda r: (definite(r, 4) * 0.2, definite(r, 4), r.random((40, 4))), 2)
def kalman(a, q, ys):
    m, p, total = np.zeros(4), np.eye(4), 0.0
    for y in ys:
        m, p = a @ m, a @ p @ a.T + q
        s = p + np.eye(4)
        e = y - m
        g = np.linalg.solve(s, p)
        total += e @ np.linalg.solve(s, e) + np.linalg.slogdet(s)[1]
        m, p = m + g.T @ e, p - p @ g
    return total


@kernel("series", lambda r: (r.random((8, 8)), r.random((60, 8))), 2)
def forward_algorithm(t, e):
    a = e[0]
    total = 0.0
    for k in range(1, len(e)):
        a = (a @ t) * e[k]
        s = np.sum(a)
        a, total = a / s, total + np.log(s)
    return total


@kernel("series", lambda r: (np.array(0.3), r.random(500)))
def smoothing(alpha, y):
    level, total = y[0], 0.0
    for t in range(1, len(y)):
        total += (y[t] - level) ** 2
        level = level + alpha * (y[t] - level)
    return total


@kernel("series", lambda r: (r.random(200),))
def cumulative(x):
    w = np.cumsum(np.exp(-x))
    return np.sum(np.log(w) * x)


@kernel("series", lambda r: (r.random(256),))
def spectrum(x):
    z = np.fft.rfft(x - np.mean(x))
    return np.sum(np.log(1.0 + np.abs(z) ** 2))


# ------------------------------------------------------------------- particles, mechanics


@kernel("particles", lambda r: (r.random((60, 3)),))
def lennard_jones(x):
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d * d, axis=2) + np.eye(len(x))
    s = 0.01 / r2**3
    return np.sum(np.triu(s * s - s, 1))


@kernel("particles", lambda r: (r.random((10, 2)), r.random((10, 2))), 2)
def n_body(x, v):
    for _ in range(15):
        d = x[None, :, :] - x[:, None, :]
        r3 = (np.sum(d * d, axis=2) + 0.1) ** 1.5
        v = v + 0.01 * np.sum(d / r3[:, :, None], axis=1)
        x = x + 0.01 * v
    return np.sum(x * x)


@kernel("particles", lambda r: (r.random((20, 3)), r.random(20)), 2)
def coulomb_loops(x, q):
    e = 0.0
    for i in range(len(q)):
        for j in range(i):
            d = x[i] - x[j]
            e += q[i] * q[j] / np.sqrt(d @ d + 0.01)
    return e


@kernel("particles", lambda r: (r.random(2), r.random(4)), 2)
def double_pendulum(start, p):
    a, b = start[0], start[1]
    va, vb = 0.0, 0.0
    for _ in range(80):
        d = a - b
        den = p[0] + p[1] * np.sin(d) ** 2
        fa = -p[2] * np.sin(a) - p[1] * np.sin(d) * vb**2 / den
        fb = -p[3] * np.sin(b) + p[0] * np.sin(d) * va**2 / den
        va, vb = va + 0.01 * fa, vb + 0.01 * fb
        a, b = a + 0.01 * va, b + 0.01 * vb
    return a * a + b * b


@kernel("particles", lambda r: (r.random(100),))
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@kernel("particles", lambda r: (r.random((30, 2)),))
def spring_chain(x):
    d = x[1:] - x[:-1]
    length = np.sqrt(np.sum(d * d, axis=1))
    return np.sum((length - 0.1) ** 2) + np.sum(x[:, 1])


# ------------------------------------------------------------------- layers, learning


@kernel(
    "layers",
    lambda r: (r.random((64, 50)) - 0.5, r.random((50, 10)) - 0.5, r.random((100, 64)),
               np.eye(10)[r.integers(0, 10, 100)]),
    2,
)  # fmt: skip
def classifier(w1, w2, x, onehot):
    h = np.tanh(x @ w1)
    z = h @ w2
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.sum(onehot * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True)))) / len(x)


@kernel("layers", lambda r: (r.random((32, 16)), r.random((40, 32))), 2)
def attention(w, x):
    q = x @ w
    s = q @ q.T / 4.0
    a = np.exp(s - np.max(s, axis=1, keepdims=True))
    a = a / np.sum(a, axis=1, keepdims=True)
    return np.sum((a @ x) ** 2)


@kernel("layers", lambda r: (r.random(40), r.random(40), r.random((100, 40))), 2)
def layer_norm(g, b, x):
    m = np.mean(x, axis=1, keepdims=True)
    v = np.var(x, axis=1, keepdims=True)
    return np.sum(np.maximum(g * (x - m) / np.sqrt(v + 1e-5) + b, 0.0) ** 2)


@kernel("layers", lambda r: (r.random(30) - 0.5, r.random((200, 30)), np.sign(r.random(200) - 0.5)))
def logistic_regression(w, x, y):
    return np.sum(np.log1p(np.exp(-y * (x @ w)))) + 0.1 * w @ w


@kernel("layers", lambda r: (r.random((20, 10)), r.random((300, 10))))
def soft_kmeans(c, x):
    d = np.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=2)
    return -np.sum(np.log(np.sum(np.exp(-d), axis=1)))


@kernel("layers", lambda r: (r.random((100, 16)), r.integers(0, 100, (200, 2)), r.random(200)))
def embedding(e, pairs, y):
    z = np.sum(e[pairs[:, 0]] * e[pairs[:, 1]], axis=1)
    return np.sum((z - y) ** 2)


@kernel("layers", lambda r: (r.random((40, 40)), r.random((40, 40)) > 0.5))
def masked_completion(x, mask):
    return np.sum(np.where(mask, (x - 0.5) ** 2, 0.0)) + 0.01 * np.sum(np.abs(x))


@kernel("layers", lambda r: (r.random((12, 12)), r.random((12, 12)), r.random((30, 12))), 2)
def gated(w, u, xs):
    h = np.zeros(12)
    for x in xs:
        z = 1.0 / (1.0 + np.exp(-(w @ x + u @ h)))
        h = (1.0 - z) * h + z * np.tanh(x)
    return np.sum(h * h)


# ------------------------------------------------------------------- finance, estimation


@kernel("finance", lambda r: (r.random(3) * 0.2 + 0.1, r.random((200, 20)) - 0.5))
def monte_carlo_call(p, z):
    s = 1.0
    for k in range(z.shape[1]):
        s = s * np.exp((p[0] - 0.5 * p[1] ** 2) * 0.05 + p[1] * 0.2 * z[:, k])
    return np.exp(-p[0]) * np.mean(np.maximum(s - 1.0 + p[2], 0.0))


@kernel("finance", lambda r: (r.random(40), definite(r, 40), r.random(40)))
def portfolio(w, cov, mu):
    w = np.exp(w) / np.sum(np.exp(w))
    return w @ cov @ w - 0.5 * w @ mu


@kernel("finance", lambda r: (np.array([0.03, 0.2]), np.linspace(0.5, 1.5, 101)))
def binomial_tree(p, strikes):
    n = 60
    up = np.exp(p[1] * np.sqrt(1.0 / n))
    q = (np.exp(p[0] / n) - 1.0 / up) / (up - 1.0 / up)
    k = np.arange(n + 1)
    v = np.maximum(up ** (2.0 * k - n) - strikes[50], 0.0)
    for _ in range(n):
        v = np.exp(-p[0] / n) * (q * v[1:] + (1.0 - q) * v[:-1])
    return v[0]


@kernel("finance", lambda r: (r.random(4), r.random((500, 4)), r.random(500)))
def student_t(beta, x, y):
    e = y - x @ beta
    return np.sum(np.log(1.0 + e * e / 4.0))


@kernel("finance", lambda r: (r.random(5), np.linspace(0.1, 30.0, 200), r.random(200)))
def yield_curve(p, t, y):
    d = np.exp(-t / (p[3] + 1.0))
    f = p[0] + p[1] * (1.0 - d) / t + p[2] * ((1.0 - d) / t - d) + p[4]
    return np.sum((f - y) ** 2)
