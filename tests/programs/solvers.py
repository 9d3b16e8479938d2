"""Solvers in place: triangular, tridiagonal and Toeplitz systems, relaxation sweeps."""

import numpy as np

from .registry import Program


def diagonally_dominant(rng, n=5):
    return rng.normal(size=(n, n)) + 2.0 * n * np.eye(n), rng.normal(size=n)


def forward_substitution(low, b):
    n = len(b)
    for i in range(n):
        for j in range(i):
            b[i] -= low[i, j] * b[j]
        b[i] /= low[i, i]
    return np.sum(b * b)


def back_substitution(upper, b):
    x = np.zeros(len(b))
    for i in reversed(range(len(b))):
        x[i] = (b[i] - np.dot(upper[i, i + 1 :], x[i + 1 :])) / upper[i, i]
    return x[0] * x[-1] + np.sum(x)


def thomas(lower, diagonal, upper, rhs):
    n = len(rhs)
    for i in range(1, n):
        w = lower[i - 1] / diagonal[i - 1]
        diagonal[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    rhs[n - 1] /= diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        rhs[i] = (rhs[i] - upper[i] * rhs[i + 1]) / diagonal[i]
    return np.sum(rhs * rhs)


def thomas_by_numpy(lower, diagonal, upper, rhs):
    a = np.diag(diagonal) + np.diag(lower, -1) + np.diag(upper, 1)
    return np.sum(np.linalg.solve(a, rhs) ** 2)


def durbin(r):
    n = len(r)
    y = np.zeros(n)
    z = np.zeros(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        s = r[k]
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -s / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return np.sum(y * y)


def durbin_by_solve(r):
    n = len(r)
    column = np.concatenate([[1.0], r[:-1]])
    toeplitz = column[np.abs(np.arange(n)[:, None] - np.arange(n))]
    return np.sum(np.linalg.solve(toeplitz, -r) ** 2)


def jacobi_system(a, b, sweeps):
    x = np.zeros_like(b)
    new = np.zeros_like(b)
    for _ in range(sweeps):
        for i in range(len(b)):
            s = b[i]
            for j in range(len(b)):
                if j != i:
                    s -= a[i, j] * x[j]
            new[i] = s / a[i, i]
        x[:] = new
    return x @ x


def gauss_seidel_system(a, b, sweeps):
    n = len(b)
    x = np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return np.sum(x**2)


def successive_overrelaxation(a, b, omega):
    x = np.zeros(len(b))
    error = 1.0
    while error > 1e-14:
        error = 0.0
        for i in range(len(b)):
            r = b[i] - a[i] @ x
            step = omega * r / a[i, i]
            x[i] += step
            error = max(error, abs(step))
    return np.sum(x * x)


def conjugate_gradient(b0, b):
    a = b0 @ b0.T + 4.0 * np.eye(len(b))  # symmetric for every b0
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    while np.sqrt(rr) > 1e-12:
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p *= new / rr
        p += r
        rr = new
    return x @ x


def newton_system(p, x):
    for _ in range(6):
        f = np.array([x[0] ** 2 + x[1] - p[0], x[0] * x[1] - p[1]])
        jac = np.empty((2, 2))
        jac[0, 0] = 2.0 * x[0]
        jac[0, 1] = 1.0
        jac[1, 0] = x[1]
        jac[1, 1] = x[0]
        det = jac[0, 0] * jac[1, 1] - jac[0, 1] * jac[1, 0]
        x[0], x[1] = (
            x[0] - (jac[1, 1] * f[0] - jac[0, 1] * f[1]) / det,
            x[1] - (jac[0, 0] * f[1] - jac[1, 0] * f[0]) / det,
        )
    return x[0] * x[1] ** 2


def polynomial_division(numerator, denominator):
    n, d = len(numerator), len(denominator)
    quotient = np.zeros(n - d + 1)
    for i in range(n - d + 1):
        quotient[i] = numerator[i] / denominator[0]
        for j in range(d):
            numerator[i + j] -= quotient[i] * denominator[j]
    return np.sum(quotient**2) + numerator[-1]


def solution_square(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


PROGRAMS = [
    Program(forward_substitution, lambda rng: diagonally_dominant(rng, 4), (0, 1)),
    Program(back_substitution, lambda rng: diagonally_dominant(rng, 4), (0, 1)),
    Program(
        thomas,
        lambda rng: (
            rng.normal(size=4),
            rng.uniform(3, 5, 5),
            rng.normal(size=4),
            rng.normal(size=5),
        ),
        (0, 1, 2, 3),
        oracle=thomas_by_numpy,
    ),
    Program(durbin, lambda rng: (rng.uniform(-0.3, 0.3, 5),), oracle=durbin_by_solve),
    Program(jacobi_system, lambda rng: (*diagonally_dominant(rng, 3), 4), (0, 1)),
    Program(gauss_seidel_system, lambda rng: (*diagonally_dominant(rng, 4), 3), (0, 1)),
    Program(
        successive_overrelaxation,
        lambda rng: (*diagonally_dominant(rng, 3), 1.1),
        (0, 1),
        oracle=lambda a, b, omega: solution_square(a, b),
    ),
    Program(
        conjugate_gradient,
        lambda rng: (rng.normal(size=(4, 4)), rng.normal(size=4)),
        (0, 1),
        oracle=lambda b0, b: solution_square(b0 @ b0.T + 4.0 * np.eye(4), b),
    ),
    Program(newton_system, lambda rng: (np.array([2.0, 0.8]), np.array([1.0, 1.0]))),
    Program(
        polynomial_division,
        lambda rng: (rng.normal(size=6), np.array([1.3, -0.4, 0.2])),
        (0, 1),
    ),
]
