"""Straight-line code: nested expressions, unpacking, reassignment, augmented assignment."""

import numpy as np

from .registry import Program, numbers, vector


def worked_example(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


def nested_expression(x, y):
    return np.sum(np.sin(x * np.exp(-y)) ** 2 + np.log(1.0 + x * x) / (2.0 + np.cos(y)))


def reassigned(x):
    a = np.sin(x)
    b = a * x
    a = b + a
    b = a * b
    a = a - 0.5 * b
    return np.sum(a * a)


def swapped(x, y):
    a, b = x * y, x + y
    a, b = b, a
    a, b = a * b, a - b
    return np.sum(a * np.cos(b))


def nested_unpacking(x, y):
    (a, b), c = (np.sin(x), y), x * y
    [d, e] = [a * c, b - c]
    return d * e + a


def starred_unpacking(x, y):
    first, *rest = (x * y, np.sin(x), np.cos(y), x)
    u, v, w = rest
    return first * u + v * w


def chained_assignment(x):
    a = b = 2.0 * x
    a = a * b
    return np.sum(a + np.sin(b))


def augmented_numbers(x, y):
    s = x
    s += y * y
    s *= x
    s -= 0.5 * y
    s /= 1.0 + y
    s **= 2
    return s


def walrus(x):
    return np.sum((t := np.sin(x)) * t + np.exp(t))


def powers(x, y):
    return np.sum(x**3 + 2.0**x + x**y + (1.0 + x) ** -0.5 + np.sqrt(x) * x**1.5)


def dead_code(x):
    unused = np.exp(x) * 3.0
    y = np.sin(x)
    unused = unused + y
    return np.sum(y * y)


def constant_part(x):
    grid = np.linspace(0.0, 1.0, 5)
    weights = np.exp(-grid) * grid
    return np.sum(weights * np.sin(grid * x)) + 3.0 * weights[2]


def least_squares(w, b, x, y):
    r = x @ w + b - y
    return 0.5 * np.mean(r**2) + 0.01 * np.sum(w * w)


def logistic_regression(w, x, y):
    z = x @ w
    return np.mean(np.log1p(np.exp(-y * z)))


def two_layers(w1, b1, w2, b2, x, y):
    h = np.tanh(x @ w1 + b1)
    p = h @ w2 + b2
    r = p - y
    return np.sum(r * r)


def softmax_cross_entropy(logits, onehot):
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    logsum = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum(onehot * (shifted - logsum), axis=1))


def gaussian_log_density(x, mean, factor):
    cov = factor @ factor.T + np.eye(3)
    d = x - mean
    sign, logdet = np.linalg.slogdet(cov)
    return -0.5 * (d @ np.linalg.solve(cov, d) + logdet + 3.0 * np.log(2.0 * np.pi))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def option_price(spot, strike, rate, sigma, years):
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * years) / root
    d2 = d1 - root
    # the logistic approximation of the normal distribution
    n1 = 1.0 / (1.0 + np.exp(-1.702 * d1))
    n2 = 1.0 / (1.0 + np.exp(-1.702 * d2))
    return spot * n1 - strike * np.exp(-rate * years) * n2


def methods(x):
    y = x.reshape(2, 3).T
    z = (y * y).sum(axis=0) + y.mean()
    return z.dot(np.array([1.0, -2.0])) + x.max()


PROGRAMS = [
    Program(worked_example, lambda rng: (2.0, 5.0), (0, 1)),
    Program(nested_expression, lambda rng: (rng.normal(size=4), rng.normal(size=4)), (0, 1)),
    Program(reassigned, vector(4)),
    Program(swapped, lambda rng: (rng.normal(size=3), rng.normal(size=3)), (0, 1)),
    Program(nested_unpacking, numbers((-1, 1), (-1, 1)), (0, 1)),
    Program(starred_unpacking, numbers((-1, 1), (-1, 1)), (0, 1)),
    Program(chained_assignment, vector(3)),
    Program(augmented_numbers, numbers((0.5, 1), (0.5, 1)), (0, 1)),
    Program(walrus, vector(3)),
    Program(powers, lambda rng: (rng.uniform(0.5, 2, 4), rng.uniform(0.5, 2, 4)), (0, 1)),
    Program(dead_code, vector(3)),
    Program(constant_part, numbers((0.5, 1.5))),
    Program(
        least_squares,
        lambda rng: (rng.normal(size=3), 0.3, rng.normal(size=(6, 3)), rng.normal(size=6)),
        (0, 1),
    ),
    Program(
        logistic_regression,
        lambda rng: (rng.normal(size=3), rng.normal(size=(8, 3)), np.sign(rng.normal(size=8))),
    ),
    Program(
        two_layers,
        lambda rng: (
            rng.normal(size=(3, 4)),
            rng.normal(size=4),
            rng.normal(size=(4, 2)),
            rng.normal(size=2),
            rng.normal(size=(5, 3)),
            rng.normal(size=(5, 2)),
        ),
        (0, 1, 2, 3),
    ),
    Program(
        softmax_cross_entropy,
        lambda rng: (rng.normal(size=(4, 3)), np.eye(3)[rng.integers(0, 3, 4)]),
    ),
    Program(
        gaussian_log_density,
        lambda rng: (rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))),
        (0, 1, 2),
    ),
    Program(rosenbrock, vector(5)),
    Program(option_price, lambda rng: (100.0, 95.0, 0.03, 0.25, 1.5), (0, 2, 3, 4)),
    Program(methods, vector(6)),
]
