"""Programs as people write them for themselves: parameters in dicts and objects, helpers, loops.

`USERS` has for each the function, what makes its arguments, and by which it is differentiated.
"""

# The programs stand as a user would write them, without annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

USERS: dict[str, tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]], Any]] = {}


def user(given: Callable[[Any], tuple[Any, ...]], wrt: Any = 0) -> Any:
    """Add a program to the collection."""

    def added(fn: Any) -> Any:
        USERS[fn.__name__] = (fn, given, wrt)
        return fn

    return added


# ------------------------------------------------------------------- layers and embeddings


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


@user(
    lambda r: (
        {"w": r.normal(size=(6, 3)), "b": r.normal(size=3), "c": r.normal(size=6)},
        r.normal(size=(20, 6)),
    )
)
def autoencoder(params, x):
    hidden = sigmoid(x @ params["w"] + params["b"])
    out = hidden @ params["w"].T + params["c"]
    return np.mean((out - x) ** 2)


class Dense:
    def __init__(self, weight, bias):
        self.weight = weight
        self.bias = bias

    def __call__(self, x):
        return np.tanh(x @ self.weight + self.bias)


@user(
    lambda r: (
        Dense(r.normal(size=(4, 4)), r.normal(size=4)),
        r.normal(size=(12, 4)),
        r.normal(size=(12, 4)),
    )
)
def residual_net(layer, x, y):
    h = x
    for _ in range(3):
        h = h + 0.1 * layer(h)
    return np.sum((h - y) ** 2)


@user(
    lambda r: (
        r.normal(size=(9, 4)),
        r.normal(size=(9, 4)),
        r.integers(0, 9, 15),
        r.integers(0, 9, 15),
        r.integers(0, 9, (15, 5)),
    ),
    (0, 1),
)
def skip_gram(words, contexts, center, positive, negative):
    """Negative sampling: the words seen together score high, those drawn at random low."""
    v = words[center]
    good = np.sum(v * contexts[positive], axis=1)
    bad = np.einsum("nd,nkd->nk", v, contexts[negative])
    return -np.sum(np.log(sigmoid(good))) - np.sum(np.log(sigmoid(-bad)))


# ------------------------------------------------------------------- dynamics and control


class Spring:
    def __init__(self, stiffness, damping):
        self.stiffness = stiffness
        self.damping = damping

    def force(self, x, v):
        return -self.stiffness * x - self.damping * v


@user(lambda r: (Spring(2.0, 0.1), 1.0, 0.0, 40), (0, 1, 2))
def spring_energy(spring, x, v, steps):
    for _ in range(steps):
        v = v + 0.05 * spring.force(x, v)
        x = x + 0.05 * v
    return 0.5 * v**2 + 0.5 * spring.stiffness * x**2


def rates(state, p):
    prey, predators = state
    return np.array([p[0] * prey - p[1] * prey * predators, p[2] * prey * predators - predators])


@user(lambda r: (np.array([1.1, 0.4, 0.3]), r.random(2) + 1.0, r.random((25, 2)) + 1.0), (0, 1))
def lotka_volterra(p, state, data):
    loss = 0.0
    for observed in data:
        middle = state + 0.05 * rates(state, p)
        state = state + 0.1 * rates(middle, p)
        loss += np.sum((state - observed) ** 2)
    return loss


@user(
    lambda r: (
        0.1 * r.normal(size=(2, 4)),
        np.eye(4) + 0.1 * r.normal(size=(4, 4)),
        r.normal(size=(4, 2)),
        r.normal(size=4),
        12,
    )
)
def lqr_cost(gain, a, b, x, steps):
    cost = 0.0
    for _ in range(steps):
        u = -gain @ x
        cost += x @ x + 0.1 * (u @ u)
        x = a @ x + b @ u
    return cost + 10.0 * (x @ x)


@user(lambda r: ({"p": 1.2, "i": 0.3, "d": 0.05}, r.random(60)))
def pid_tracking(gains, target):
    y, integral, last = 0.0, 0.0, 0.0
    cost = 0.0
    for goal in target:
        error = goal - y
        integral += 0.1 * error
        u = gains["p"] * error + gains["i"] * integral + gains["d"] * (error - last)
        y = y + 0.1 * (u - y)
        last = error
        cost += error**2 + 0.01 * u**2
    return cost


# ------------------------------------------------------------------- images and series


@user(lambda r: (r.random((16, 14)), 0.3), (0, 1))
def bilateral(img, sigma):
    h, w = img.shape
    center = img[1:-1, 1:-1]
    total = np.zeros((h - 2, w - 2))
    weights = np.zeros((h - 2, w - 2))
    for i in range(3):
        for j in range(3):
            shifted = img[i : i + h - 2, j : j + w - 2]
            weight = np.exp(-((shifted - center) ** 2) / (2.0 * sigma**2))
            total += weight * shifted
            weights += weight
    return np.sum((total / weights) ** 2)


@user(lambda r: (r.random((15, 15)), np.array([0.2, 0.5, 0.3])), (0, 1))
def separable_blur(img, k):
    rows = np.zeros_like(img)
    for i in range(1, img.shape[0] - 1):
        rows[i] = k[0] * img[i - 1] + k[1] * img[i] + k[2] * img[i + 1]
    out = np.zeros_like(img)
    for j in range(1, img.shape[1] - 1):
        out[:, j] = k[0] * rows[:, j - 1] + k[1] * rows[:, j] + k[2] * rows[:, j + 1]
    return np.mean((img - out) ** 2)


@user(lambda r: (0.3, 0.1, 0.2, r.random(48), 12), (0, 1, 2))
def holt_winters(alpha, beta, gamma, y, period):
    season = np.zeros(len(y) + period)
    level, trend = y[0], 0.0
    loss = 0.0
    for t in range(len(y)):
        error = y[t] - (level + trend + season[t])
        loss += error**2
        level = level + trend + alpha * error
        trend = trend + beta * error
        season[t + period] = season[t] + gamma * error
    return loss / len(y)


# ------------------------------------------------------------------- likelihoods and clusters


@user(lambda r: (np.array([0.2, 0.5]), r.random(40) + 0.1, r.integers(0, 2, 40)))
def weibull(theta, t, observed):
    shape, scale = np.exp(theta)
    z = t / scale
    log_hazard = np.log(shape / scale) + (shape - 1.0) * np.log(z)
    return -np.sum(observed * log_hazard - z**shape)


@user(lambda r: (0.2 * r.normal(size=3), 0.4, r.normal(size=(30, 3)), r.poisson(2.0, 30)), (0, 1))
def negative_binomial(beta, log_r, x, y):
    mu = np.exp(x @ beta)
    r = np.exp(log_r)
    log_p = gammaln(y + r) - gammaln(r) - gammaln(y + 1.0)
    log_p += r * np.log(r / (r + mu)) + y * np.log(mu / (r + mu))
    return -np.sum(log_p)


def matern(distance, length):
    scaled = np.sqrt(3.0) * distance / length
    return (1.0 + scaled) * np.exp(-scaled)


@user(lambda r: (np.array([0.1, -0.3, -1.0]), r.random((18, 2)), r.normal(size=18)))
def gp_matern(log_theta, x, y):
    amplitude, length, noise = np.exp(log_theta)
    distance = np.sqrt(np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=2))
    k = amplitude * matern(distance, length) + noise * np.eye(len(x))
    low = np.linalg.cholesky(k)
    z = np.linalg.solve(low, y)
    return 0.5 * np.sum(z**2) + np.sum(np.log(np.diag(low)))


@user(lambda r: (r.normal(size=(3, 2)), r.normal(size=(40, 2))))
def fuzzy_clusters(centers, x):
    d2 = np.sum((x[:, None, :] - centers) ** 2, axis=2) + 1e-6
    member = 1.0 / d2
    member = member / np.sum(member, axis=1, keepdims=True)
    return np.sum(member**2 * d2)


@user(lambda r: (0.4, r.random((25, 2)), r.random(25)))
def kernel_regression(bandwidth, x, y):
    """Leave-one-out error of a kernel smoother."""
    loss = 0.0
    for i in range(len(x)):
        w = np.exp(-np.sum((x - x[i]) ** 2, axis=1) / (2.0 * bandwidth**2))
        w[i] = 0.0
        loss += (y[i] - w @ y / np.sum(w)) ** 2
    return loss / len(x)


# ------------------------------------------------------------------- finance


@dataclass
class Rates:
    start: float
    speed: float
    mean: float
    volatility: float


@user(lambda r: (Rates(0.03, 0.5, 0.04, 0.01), r.normal(size=(50, 24))))
def vasicek_bond(model, z):
    dt = 1.0 / z.shape[1]
    rate = model.start * np.ones(len(z))
    integral = np.zeros(len(z))
    for k in range(z.shape[1]):
        integral += rate * dt
        drift = model.speed * (model.mean - rate) * dt
        rate = rate + drift + model.volatility * np.sqrt(dt) * z[:, k]
    return np.mean(np.exp(-integral))


@user(
    lambda r: (np.array([0.04, 1.5, 0.05, 0.3]), r.normal(size=(60, 20)), r.normal(size=(60, 20)))
)
def heston_call(p, z1, z2):
    v0, kappa, theta, xi = p
    n = z1.shape[1]
    dt = 1.0 / n
    log_s = np.zeros(len(z1))
    v = np.full(len(z1), v0)
    for k in range(n):
        root = np.sqrt(np.maximum(v, 1e-8) * dt)
        log_s = log_s - 0.5 * v * dt + root * z1[:, k]
        v = v + kappa * (theta - v) * dt + xi * root * z2[:, k]
    return np.mean(np.maximum(np.exp(log_s) - 1.0, 0.0))


@user(lambda r: (np.array([0.04, 0.1, -0.3, 0.05, 0.2]), np.linspace(-1, 1, 21), r.random(21)))
def svi_fit(p, k, market):
    a, b, rho, m, sigma = p
    w = a + b * (rho * (k - m) + np.sqrt((k - m) ** 2 + sigma**2))
    return np.mean((w - market) ** 2)
