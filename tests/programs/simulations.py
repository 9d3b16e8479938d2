"""Simulations and training loops that write their state: n-body, trajectories, Adam."""

import numpy as np

from .registry import Program


def accelerations(position, mass, acceleration):
    for i in range(len(mass)):
        d = position - position[i]
        r2 = np.sum(d * d, axis=1)
        inverse = np.zeros(len(mass))
        apart = r2 > 0.0
        inverse[apart] = r2[apart] ** -1.5
        acceleration[i] = np.sum((mass * inverse)[:, None] * d, axis=0)


def n_body(position, velocity, mass, steps):
    dt = 0.05
    acceleration = np.zeros_like(position)
    accelerations(position, mass, acceleration)
    for _ in range(steps):
        velocity += 0.5 * dt * acceleration
        position += dt * velocity
        accelerations(position, mass, acceleration)
        velocity += 0.5 * dt * acceleration
    return 0.5 * np.sum(mass[:, None] * velocity**2) + np.sum(position[0] ** 2)


def n_body_masked(position, mass):
    d = position[None, :, :] - position[:, None, :]
    r2 = np.sum(d**2, axis=2)
    inverse = r2.copy()
    inverse[inverse > 0.0] = inverse[inverse > 0.0] ** -0.5
    energy = inverse * (mass * mass[:, None])
    return -0.5 * np.sum(energy)


def pendulum_trajectory(theta, omega, gravity, steps):
    states = np.zeros((steps, 2))
    states[0] = theta, omega
    for t in range(1, steps):
        states[t, 1] = states[t - 1, 1] - 0.1 * gravity * np.sin(states[t - 1, 0])
        states[t, 0] = states[t - 1, 0] + 0.1 * states[t, 1]
    return np.sum(states[:, 0] ** 2) + states[-1, 1]


def predator_prey(rates, start, steps):
    path = np.empty((steps + 1, 2))
    path[0] = start
    for t in range(steps):
        x, y = path[t]
        path[t + 1, 0] = x + 0.1 * (rates[0] * x - rates[1] * x * y)
        path[t + 1, 1] = y + 0.1 * (rates[2] * x * y - rates[3] * y)
    return np.mean(path[:, 0]) * np.max(path[:, 1])


def lorenz_rk4(state, sigma, steps):
    dt = 0.02
    for _ in range(steps):
        k1 = lorenz_slope(state, sigma)
        k2 = lorenz_slope(state + 0.5 * dt * k1, sigma)
        k3 = lorenz_slope(state + 0.5 * dt * k2, sigma)
        k4 = lorenz_slope(state + dt * k3, sigma)
        state += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum(state**2)


def lorenz_slope(s, sigma):
    slope = np.empty(3)
    slope[0] = sigma * (s[1] - s[0])
    slope[1] = s[0] * (28.0 - s[2]) - s[1]
    slope[2] = s[0] * s[1] - 8.0 / 3.0 * s[2]
    return slope


def quadratic_gradient(w, target):
    return 2.0 * (w - target) + 0.3 * np.cos(w)


def adam_hyperparameters(rate, decay, w, target, steps):
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    for t in range(1, steps + 1):
        g = quadratic_gradient(w, target)
        m *= decay
        m += (1.0 - decay) * g
        v *= 0.99
        v += 0.01 * g * g
        mhat = m / (1.0 - decay**t)
        vhat = v / (1.0 - 0.99**t)
        w -= rate * mhat / (np.sqrt(vhat) + 1e-8)
    return np.sum((w - target) ** 2)


def momentum_descent(rate, w, steps):
    velocity = np.zeros_like(w)
    losses = np.zeros(steps)
    for t in range(steps):
        losses[t] = np.sum(w**4)
        velocity[:] = 0.8 * velocity - rate * 4.0 * w**3
        w += velocity
    return losses[-1] + 0.1 * np.sum(losses)


def lstm_cell_loop(w, xs):
    n = w.shape[0] // 4
    h = np.zeros(n)
    c = np.zeros(n)
    for t in range(len(xs)):
        gates = w @ np.concatenate([h, xs[t]])
        gates[: 3 * n] = 1.0 / (1.0 + np.exp(-gates[: 3 * n]))
        gates[3 * n :] = np.tanh(gates[3 * n :])
        c *= gates[n : 2 * n]
        c += gates[:n] * gates[3 * n :]
        h = gates[2 * n : 3 * n] * np.tanh(c)
    return np.sum(h * h)


def spring_chain(rest, x, steps):
    v = np.zeros_like(x)
    for _ in range(steps):
        force = np.zeros_like(x)
        for i in range(len(x) - 1):
            stretch = x[i + 1] - x[i] - rest
            force[i] += stretch + 0.1 * stretch**3
            force[i + 1] -= stretch + 0.1 * stretch**3
        v += 0.1 * force
        x += 0.1 * v
    return np.sum(x * v)


PROGRAMS = [
    Program(
        n_body,
        lambda rng: (
            2.0 * rng.normal(size=(3, 2)),
            0.1 * rng.normal(size=(3, 2)),
            rng.uniform(0.5, 1, 3),
            3,
        ),
        (0, 1, 2),
    ),
    Program(
        n_body_masked,
        lambda rng: (2.0 * rng.normal(size=(4, 2)), rng.uniform(0.5, 1, 4)),
        (0, 1),
    ),
    Program(pendulum_trajectory, lambda rng: (0.5, 0.1, 9.8, 12), (0, 1, 2)),
    Program(
        predator_prey,
        lambda rng: (np.array([1.1, 0.4, 0.1, 0.4]), np.array([2.0, 1.0]), 12),
        (0, 1),
    ),
    Program(lorenz_rk4, lambda rng: (np.array([1.0, 1.1, 20.0]), 10.0, 5), (0, 1)),
    Program(
        adam_hyperparameters,
        lambda rng: (0.05, 0.9, rng.normal(size=4), rng.normal(size=4), 6),
        (0, 1, 2, 3),
    ),
    Program(momentum_descent, lambda rng: (0.02, rng.normal(size=4), 5), (0, 1)),
    Program(lstm_cell_loop, lambda rng: (0.5 * rng.normal(size=(8, 5)), rng.normal(size=(4, 3)))),
    Program(spring_chain, lambda rng: (0.9, np.arange(5.0) + 0.2 * rng.normal(size=5), 4), (0, 1)),
]
