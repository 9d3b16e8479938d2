"""The programs of the pictures of `tangentlike explain` in docs/debugging.md.

tangentlike explain docs/images/explained.py:FUNC --args FUNC_arguments -o page.html
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def recurrence(w, h, steps):
    for _ in range(steps):
        h = np.tanh(w @ h)
    return np.sum(h * h)


def recurrence_arguments() -> tuple:
    rng = np.random.default_rng(0)
    return 1.5 * rng.standard_normal((4, 4)), rng.standard_normal(4), 6


def heat(u, conductivity, steps):
    u = u.copy()
    for _ in range(steps):
        flux = conductivity * np.diff(u)
        u[1:-1] += 0.1 * np.diff(flux)
        u[0] = 0.0
    return np.sum(u[1:-1] ** 2)


def heat_arguments() -> tuple:
    x = np.linspace(0.0, np.pi, 33)
    return np.sin(x), np.ones(32), 20


def layer(params, x):
    return np.maximum(params["w"] @ x + params["b"], 0.0)


def softmax_loss(logits, label):
    shifted = logits - np.max(logits)
    return np.log(np.sum(np.exp(shifted))) - shifted[label]


def network(layers, x, label):
    for params in layers[:-1]:
        x = layer(params, x)
    last = layers[-1]
    return softmax_loss(last["w"] @ x + last["b"], label)


def network_arguments() -> tuple:
    rng = np.random.default_rng(1)
    sizes = (6, 8, 8, 3)
    layers = [
        {"w": rng.standard_normal((m, n)) / np.sqrt(n), "b": np.zeros(m)}
        for n, m in pairwise(sizes)
    ]
    return layers, rng.standard_normal(6), 1


def likelihood(p, counts):
    total = 0.0
    for k in range(len(counts)):
        share = p[k] / np.sum(p)
        if counts[k] > 0:
            total += counts[k] * np.log(share)
        total -= 0.1 * np.sqrt(share)
    return total


def likelihood_arguments() -> tuple:
    return np.array([0.5, 0.0, 0.3, 0.2]), np.array([5, 0, 3, 2])


def energy(positions, strength):
    result = 0.0
    for i in range(len(positions)):
        for j in range(i):
            r = np.linalg.norm(positions[i] - positions[j])
            attraction = strength / r**6
            result += attraction * (attraction - 1.0)
    return result


def energy_arguments() -> tuple:
    return np.random.default_rng(2).uniform(0.0, 3.0, (4, 3)), 1.0
