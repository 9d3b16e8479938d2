"""A double pendulum from its Lagrangian: the equations of motion are never written down.

With L(q, v) = T - V, Euler and Lagrange say d/dt dL/dv = dL/dq, so the acceleration solves
(d2L/dv2) a = dL/dq - (d2L/dq dv) v. All of these are derivatives of one function. The energy is
conserved, and for the textbook pendulum the acceleration is known in closed form.

    python examples/double_pendulum.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl

GRAVITY = 9.81


def kinetic(q, v):
    """Two unit masses on rods of unit length."""
    first = v[0] ** 2
    second = first + v[1] ** 2 + 2.0 * v[0] * v[1] * np.cos(q[0] - q[1])
    return 0.5 * (first + second)


def potential(q):
    return -GRAVITY * (2.0 * np.cos(q[0]) + np.cos(q[1]))


def lagrangian(q, v):
    return kinetic(q, v) - potential(q)


force = tl.grad(lagrangian, wrt="q")
momentum = tl.grad(lagrangian, wrt="v")
mass = tl.hessian(lagrangian, wrt="v")


def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    # The momentum changes by d(dL/dv)/dq along v, which is one forward sweep.
    _, drift = tl.jvp(momentum, (q, v), (v, None))
    return np.linalg.solve(mass(q, v), force(q, v) - drift)


def known_acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The textbook formula for equal masses and lengths."""
    d, g = q[0] - q[1], GRAVITY
    below = 3.0 - np.cos(2.0 * d)
    first = -3.0 * g * np.sin(q[0]) - g * np.sin(q[0] - 2.0 * q[1])
    first -= 2.0 * np.sin(d) * (v[1] ** 2 + v[0] ** 2 * np.cos(d))
    second = 2.0 * v[0] ** 2 + 2.0 * g * np.cos(q[0]) + v[1] ** 2 * np.cos(d)
    return np.array([first / below, 2.0 * np.sin(d) * second / below])


def energy(q: np.ndarray, v: np.ndarray) -> float:
    return float(kinetic(q, v) + potential(q))


def swung(steps: int, dt: float = 0.002) -> tuple[np.ndarray, np.ndarray]:
    """Angles and their velocities after so many steps of Runge and Kutta's method."""
    state = np.array([[2.0, 1.5], [0.0, 0.0]])

    def rate(s: np.ndarray) -> np.ndarray:
        return np.stack([s[1], acceleration(s[0], s[1])])

    for _ in range(steps):
        k1 = rate(state)
        k2 = rate(state + 0.5 * dt * k1)
        k3 = rate(state + 0.5 * dt * k2)
        k4 = rate(state + dt * k3)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return state[0], state[1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args(argv)
    print(momentum.source)
    print(mass.source)
    start = energy(np.array([2.0, 1.5]), np.zeros(2))
    q, v = swung(options.steps)
    print(f"angles {q}, energy {energy(q, v):.9f}, at the start {start:.9f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
