"""Grids: relaxation sweeps in one to three dimensions, heat, waves, driven cavity."""

import numpy as np

from .registry import Program


def jacobi_1d(a, b, sweeps):
    for _ in range(sweeps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3.0
        a[1:-1] = (b[:-2] + b[1:-1] * b[1:-1] + b[2:]) / 3.0
    return np.sum(a * a)


def jacobi_2d(a, sweeps):
    b = a.copy()
    for _ in range(sweeps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = b[1:-1, 1:-1] * (1.0 + 0.1 * b[1:-1, 1:-1])
    return np.sum(a[2] ** 2)


def jacobi_3d(a, sweeps):
    n = a.shape[0]
    for _ in range(sweeps):
        old = a.copy()
        for i in range(1, n - 1):
            a[i, 1:-1, 1:-1] = (
                old[i - 1, 1:-1, 1:-1]
                + old[i + 1, 1:-1, 1:-1]
                + old[i, :-2, 1:-1]
                + old[i, 2:, 1:-1]
                + old[i, 1:-1, :-2]
                + old[i, 1:-1, 2:]
            ) / 6.0
    return np.sum(a**3)


def gauss_seidel_1d(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, len(a) - 1):
            a[i] = (a[i - 1] + a[i] * a[i] + a[i + 1]) / 3.0
    return np.sum(a * a)


def gauss_seidel_2d(a, sweeps):
    n, m = a.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] * a[i, j + 1])
    return np.sum(a * a)


def gauss_seidel_3d(a):
    n = a.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            for k in range(1, n - 1):
                around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k]
                around += a[i, j + 1, k] + a[i, j, k - 1] * a[i, j, k + 1]
                a[i, j, k] = around / 6.0
    return np.sum(a[1] ** 2)


def red_black(a, sweeps):
    for sweep in range(2 * sweeps):
        start = 1 + sweep % 2
        a[start:-1:2] = 0.5 * (a[start - 1 : -2 : 2] + a[start + 1 :: 2] ** 2)
    return np.sum(a * a)


def heat_equation(u, conductivity, steps):
    for _ in range(steps):
        flux = conductivity * (u[1:] - u[:-1])
        u[1:-1] += 0.1 * (flux[1:] - flux[:-1])
        u[0] = u[1]
        u[-1] = 0.5
    return np.sum(u * u)


def heat_history(initial, diffusivity, steps):
    u = np.zeros((steps + 1, len(initial)))
    u[0] = initial
    for t in range(steps):
        u[t + 1, 0] = u[t, 0]
        u[t + 1, -1] = u[t, -1]
        u[t + 1, 1:-1] = u[t, 1:-1] + diffusivity * (u[t, 2:] - 2 * u[t, 1:-1] + u[t, :-2])
    return np.sum(u[-1] ** 2) + u[steps // 2, 1]


def burgers(u, nu, steps):
    dx, dt = 0.2, 0.02
    for _ in range(steps):
        un = u.copy()
        u[1:-1] = (
            un[1:-1]
            - un[1:-1] * dt / dx * (un[1:-1] - un[:-2])
            + nu * dt / dx**2 * (un[2:] - 2.0 * un[1:-1] + un[:-2])
        )
        u[0] = un[0] - un[0] * dt / dx * (un[0] - un[-2])
        u[-1] = u[0]
    return np.sum(u**2)


def wave_2d(u, speed, steps):
    previous = u.copy()
    current = u.copy()
    after = np.zeros_like(u)
    for _ in range(steps):
        lap = (
            current[2:, 1:-1]
            + current[:-2, 1:-1]
            + current[1:-1, 2:]
            + current[1:-1, :-2]
            - 4.0 * current[1:-1, 1:-1]
        )
        after[1:-1, 1:-1] = 2.0 * current[1:-1, 1:-1] - previous[1:-1, 1:-1] + speed**2 * 0.1 * lap
        after[0, :] = 0.0
        after[-1, :] = after[-2, :]
        after[:, 0] = after[:, 1]
        after[:, -1] = 0.0
        previous, current, after = current, after, previous
    return np.sum(current**2)


def advect_upwind(u, velocity, steps):
    for _ in range(steps):
        for i in range(len(u) - 1, 0, -1):
            if velocity > 0.0:
                u[i] = u[i] - velocity * (u[i] - u[i - 1])
            else:
                u[i] = u[i] * 0.9
    return u @ u


def build_source(b, u, v, dt, dx, dy):
    b[1:-1, 1:-1] = (
        1.0
        / dt
        * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy))
        - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)) ** 2
    )
    return b


def pressure_poisson(p, dx, dy, b, sweeps):
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
        ) / (2.0 * (dx**2 + dy**2)) - 0.1 * dx * dy * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0


def cavity_flow(u, v, p, lid, nu, steps):
    dx, dy, dt = 0.4, 0.5, 0.05
    b = np.zeros_like(p)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        b = build_source(b, u, v, dt, dx, dy)
        pressure_poisson(p, dx, dy, b, 2)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2.0 * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - dt / (2.0 * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2.0 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[-1, :] = lid
        v[0, :] = 0.0
        v[:, -1] = 0.0
    return np.sum(u * u) + np.sum(v * v) + np.sum(p * p)


PROGRAMS = [
    Program(jacobi_1d, lambda rng: (rng.normal(size=7), rng.normal(size=7), 3), (0, 1)),
    Program(jacobi_2d, lambda rng: (rng.normal(size=(5, 4)), 3)),
    Program(jacobi_3d, lambda rng: (rng.normal(size=(4, 4, 4)), 2)),
    Program(gauss_seidel_1d, lambda rng: (rng.normal(size=6), 3)),
    Program(gauss_seidel_2d, lambda rng: (rng.normal(size=(4, 4)), 2)),
    Program(gauss_seidel_3d, lambda rng: (rng.normal(size=(4, 4, 4)),)),
    Program(red_black, lambda rng: (rng.normal(size=8), 2)),
    Program(heat_equation, lambda rng: (rng.normal(size=6), rng.uniform(0.5, 1, 5), 4), (0, 1)),
    Program(heat_history, lambda rng: (rng.normal(size=5), 0.2, 4), (0, 1)),
    Program(burgers, lambda rng: (rng.normal(size=7), 0.3, 4), (0, 1)),
    Program(wave_2d, lambda rng: (rng.normal(size=(5, 4)), 0.8, 4), (0, 1)),
    Program(advect_upwind, lambda rng: (rng.normal(size=6), 0.4, 3), (0, 1)),
    Program(
        cavity_flow,
        lambda rng: (
            0.1 * rng.normal(size=(5, 4)),
            0.1 * rng.normal(size=(5, 4)),
            0.1 * rng.normal(size=(5, 4)),
            1.2,
            0.1,
            2,
        ),
        (0, 1, 2, 3, 4),
    ),
]
