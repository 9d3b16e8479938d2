"""Value and gradient of programs that write in place, as an expert writes them by hand."""

from __future__ import annotations

from typing import Any

import numpy as np


def cholesky_by_columns(a: Any) -> Any:
    n = len(a)
    low = np.zeros_like(a)
    for j in range(n):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    value = np.sum(np.log(np.diag(low))) + low[n - 1, 0]

    a_bar = np.zeros_like(a)
    low_bar = np.diag(1.0 / np.diag(low))
    low_bar[n - 1, 0] += 1.0
    for j in reversed(range(n)):
        d = low[j, j]
        r_bar = low_bar[j + 1 :, j] / d
        s_bar = 0.5 * (low_bar[j, j] - r_bar @ low[j + 1 :, j]) / d
        a_bar[j + 1 :, j] = r_bar
        a_bar[j, j] = s_bar
        low_bar[j + 1 :, :j] -= np.outer(r_bar, low[j, :j])
        low_bar[j, :j] -= r_bar @ low[j + 1 :, :j] + 2.0 * s_bar * low[j, :j]
    return value, (a_bar,)


def gauss_seidel_1d(a: Any, sweeps: int) -> Any:
    a = a.copy()
    saved = []
    for _ in range(sweeps):
        for i in range(1, len(a) - 1):
            saved.append(a[i])
            a[i] = (a[i - 1] + a[i] * a[i] + a[i + 1]) / 3.0
    value = np.sum(a * a)

    a_bar = 2.0 * a
    for _ in range(sweeps):
        for i in range(len(a) - 2, 0, -1):
            third = a_bar[i] / 3.0
            a_bar[i] = 2.0 * saved.pop() * third
            a_bar[i - 1] += third
            a_bar[i + 1] += third
    return value, (a_bar,)


def jacobi_2d(a: Any, sweeps: int) -> Any:
    a = a.copy()
    saved = []
    for _ in range(sweeps):
        b = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        saved.append(b)
        a[1:-1, 1:-1] = b * (1.0 + 0.1 * b)
    value = np.sum(a[2] ** 2)

    a_bar = np.zeros_like(a)
    a_bar[2] = 2.0 * a[2]
    for _ in range(sweeps):
        share = 0.2 * a_bar[1:-1, 1:-1] * (1.0 + 0.2 * saved.pop())
        a_bar[1:-1, 1:-1] = share
        a_bar[1:-1, :-2] += share
        a_bar[1:-1, 2:] += share
        a_bar[2:, 1:-1] += share
        a_bar[:-2, 1:-1] += share
    return value, (a_bar,)


def heat_equation(u: Any, conductivity: Any, steps: int) -> Any:
    u = u.copy()
    saved = []
    for _ in range(steps):
        slope = u[1:] - u[:-1]
        saved.append(slope)
        flux = conductivity * slope
        u[1:-1] += 0.1 * (flux[1:] - flux[:-1])
        u[0] = u[1]
        u[-1] = 0.5
    value = np.sum(u * u)

    u_bar = 2.0 * u
    conductivity_bar = np.zeros_like(conductivity)
    for _ in range(steps):
        u_bar[-1] = 0.0
        u_bar[1] += u_bar[0]
        u_bar[0] = 0.0
        inner = 0.1 * u_bar[1:-1]
        flux_bar = np.zeros_like(conductivity)
        flux_bar[1:] += inner
        flux_bar[:-1] -= inner
        conductivity_bar += flux_bar * saved.pop()
        slope_bar = conductivity * flux_bar
        u_bar[1:] += slope_bar
        u_bar[:-1] -= slope_bar
    return value, (u_bar, conductivity_bar)


def pendulum_trajectory(theta: float, omega: float, gravity: float, steps: int) -> Any:
    states = np.zeros((steps, 2))
    states[0] = theta, omega
    for t in range(1, steps):
        states[t, 1] = states[t - 1, 1] - 0.1 * gravity * np.sin(states[t - 1, 0])
        states[t, 0] = states[t - 1, 0] + 0.1 * states[t, 1]
    value = np.sum(states[:, 0] ** 2) + states[-1, 1]

    gravity_bar = 0.0
    theta_bar, omega_bar = 2.0 * states[-1, 0], 1.0
    for t in range(steps - 1, 0, -1):
        omega_bar += 0.1 * theta_bar
        angle = states[t - 1, 0]
        gravity_bar -= 0.1 * omega_bar * np.sin(angle)
        theta_bar += 2.0 * angle - 0.1 * gravity * omega_bar * np.cos(angle)
    return value, (theta_bar, omega_bar, gravity_bar)


def thomas(lower: Any, diagonal: Any, upper: Any, rhs: Any) -> Any:
    diagonal, rhs = diagonal.copy(), rhs.copy()
    n = len(rhs)
    factors = np.empty(n)
    for i in range(1, n):
        factors[i] = w = lower[i - 1] / diagonal[i - 1]
        diagonal[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    x = rhs.copy()
    x[n - 1] /= diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / diagonal[i]
    value = np.sum(x * x)

    x_bar = 2.0 * x
    lower_bar, diagonal_bar = np.zeros_like(lower), np.zeros_like(diagonal)
    upper_bar = np.zeros_like(upper)
    for i in range(n - 1):
        s_bar = x_bar[i] / diagonal[i]
        x_bar[i] = s_bar
        diagonal_bar[i] -= s_bar * x[i]
        upper_bar[i] -= s_bar * x[i + 1]
        x_bar[i + 1] -= s_bar * upper[i]
    x_bar[n - 1] /= diagonal[n - 1]
    diagonal_bar[n - 1] -= x_bar[n - 1] * x[n - 1]
    for i in range(n - 1, 0, -1):
        w = factors[i]
        w_bar = -x_bar[i] * rhs[i - 1] - diagonal_bar[i] * upper[i - 1]
        x_bar[i - 1] -= w * x_bar[i]
        upper_bar[i - 1] -= w * diagonal_bar[i]
        lower_bar[i - 1] = quotient = w_bar / diagonal[i - 1]
        diagonal_bar[i - 1] -= w * quotient
    return value, (lower_bar, diagonal_bar, upper_bar, x_bar)


def forward_substitution(low: Any, b: Any) -> Any:
    b = b.copy()
    n = len(b)
    for i in range(n):
        for j in range(i):
            b[i] -= low[i, j] * b[j]
        b[i] /= low[i, i]
    value = np.sum(b * b)

    b_bar = 2.0 * b
    low_bar = np.zeros_like(low)
    for i in reversed(range(n)):
        s_bar = b_bar[i] / low[i, i]
        b_bar[i] = s_bar
        low_bar[i, i] = -s_bar * b[i]
        for j in range(i):
            b_bar[j] -= s_bar * low[i, j]
            low_bar[i, j] = -s_bar * b[j]
    return value, (low_bar, b_bar)


def back_substitution(upper: Any, b: Any) -> Any:
    n = len(b)
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - np.dot(upper[i, i + 1 :], x[i + 1 :])) / upper[i, i]
    value = x[0] * x[-1] + np.sum(x)

    x_bar = np.ones(n)
    x_bar[0] += x[-1]
    x_bar[-1] += x[0]
    upper_bar = np.zeros_like(upper)
    for i in range(n):
        s_bar = x_bar[i] / upper[i, i]
        x_bar[i] = s_bar
        upper_bar[i, i] = -s_bar * x[i]
        x_bar[i + 1 :] -= s_bar * upper[i, i + 1 :]
        upper_bar[i, i + 1 :] = -s_bar * x[i + 1 :]
    return value, (upper_bar, x_bar)


def sparse_matvec(values: Any, columns: Any, starts: Any, x: Any) -> Any:
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    value = y @ y

    y_bar = 2.0 * y
    values_bar, x_bar = np.zeros_like(values), np.zeros_like(x)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            values_bar[k] = y_bar[i] * x[columns[k]]
            x_bar[columns[k]] += y_bar[i] * values[k]
    return value, (values_bar, x_bar)


def recursive_filter(b: Any, a: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = b[0] * x[n]
        if n >= 1:
            y[n] += b[1] * x[n - 1] - a[0] * y[n - 1]
        if n >= 2:
            y[n] -= a[1] * y[n - 2]
    value = np.sum(y * y)

    y_bar = 2.0 * y
    a_bar, b_bar, x_bar = np.zeros_like(a), np.zeros_like(b), np.zeros_like(x)
    for n in reversed(range(len(x))):
        s_bar = y_bar[n]
        if n >= 2:
            a_bar[1] -= s_bar * y[n - 2]
            y_bar[n - 2] -= s_bar * a[1]
        if n >= 1:
            a_bar[0] -= s_bar * y[n - 1]
            y_bar[n - 1] -= s_bar * a[0]
            b_bar[1] += s_bar * x[n - 1]
            x_bar[n - 1] += s_bar * b[1]
        b_bar[0] += s_bar * x[n]
        x_bar[n] += s_bar * b[0]
    return value, (b_bar, a_bar, x_bar)
