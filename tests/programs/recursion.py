"""Recursion: one self-call, two, mutual, over halves of an array, over a tree, adaptive."""

import numpy as np

from .registry import Program, vector


def fast_power(x, n):
    if n == 0:
        return 1.0
    half = fast_power(x, n // 2)
    if n % 2:
        return half * half * x
    return half * half


def halves_sum(x):
    n = len(x)
    if n == 1:
        return np.sin(x[0])
    left = halves_sum(x[: n // 2])
    right = halves_sum(x[n // 2 :])
    return left + right + 0.1 * left * right


def even_steps(x, n):
    if n == 0:
        return x
    return odd_steps(np.sin(x), n - 1)


def odd_steps(x, n):
    if n == 0:
        return 2.0 * x
    return even_steps(x * x + 0.5, n - 1)


def de_casteljau(points, t):
    if len(points) == 1:
        return np.sum(points[0] ** 2)
    return de_casteljau((1.0 - t) * points[:-1] + t * points[1:], t)


def bump(t, width):
    return np.exp(-((t - 0.3) ** 2) / width)


def simpson(width, a, b):
    return (b - a) / 6.0 * (bump(a, width) + 4.0 * bump(0.5 * (a + b), width) + bump(b, width))


def adaptive(width, a, b, depth):
    m = 0.5 * (a + b)
    coarse = simpson(width, a, b)
    fine = simpson(width, a, m) + simpson(width, m, b)
    if depth == 0 or abs(fine - coarse) < 1e-3:
        return fine + (fine - coarse) / 15.0
    return adaptive(width, a, m, depth - 1) + adaptive(width, m, b, depth - 1)


def adaptive_quadrature(width, right):
    return adaptive(width, 0.0, right, 6)


def tree_energy(tree, w):
    if isinstance(tree, tuple):
        left, right = tree
        return np.tanh(w[0] * tree_energy(left, w) + w[1] * tree_energy(right, w))
    return w[2] * tree


def tree_of_numbers(w):
    return tree_energy(((0.1, 0.7), (0.3, (0.5, -0.2))), w)


def chebyshev(x, n):
    if n == 0:
        return 1.0
    if n == 1:
        return x
    return 2.0 * x * chebyshev(x, n - 1) - chebyshev(x, n - 2)


def determinant(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total = 0.0
    for j in range(n):
        minor = np.concatenate([a[1:, :j], a[1:, j + 1 :]], axis=1)
        total = total + (-1) ** j * a[0, j] * determinant(minor)
    return total


PROGRAMS = [
    Program(fast_power, lambda rng: (1.2, 11), oracle=lambda x, n: x**n),
    Program(halves_sum, vector(7)),
    Program(even_steps, lambda rng: (0.4, 5)),
    Program(de_casteljau, lambda rng: (rng.normal(size=(4, 2)), 0.3), (0, 1)),
    Program(adaptive_quadrature, lambda rng: (0.05, 1.2), (0, 1)),
    Program(tree_of_numbers, vector(3)),
    Program(chebyshev, lambda rng: (0.3, 6), oracle=lambda x, n: np.cos(n * np.arccos(x))),
    Program(determinant, lambda rng: (rng.normal(size=(3, 3)),), oracle=np.linalg.det),
]
