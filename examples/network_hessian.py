"""The Hessian of a small network's loss at its minimum: which directions the data decide.

The network has two hidden units that start alike and a scale that moves freely between its
layers, so the Hessian at the minimum has eigenvalues near zero, and the rest are positive.
The sum of the eigenvalues is the trace, which a few products with random signs estimate
(Hutchinson).

    python examples/network_hessian.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl

X = np.linspace(-2.0, 2.0, 21)
Y = np.tanh(1.5 * X - 0.5) - 0.6 * np.tanh(X)


def loss(p: np.ndarray) -> float:
    hidden = np.tanh(np.outer(X, p[0:2]) + p[2:4])
    r = hidden @ p[4:6] - Y
    return np.mean(r**2)


gradient = tl.grad(loss)
hessian = tl.hessian(loss)
product = tl.hvp(loss)


def trained(steps: int = 60) -> np.ndarray:
    """Newton's method, damped where the Hessian is not positive."""
    p = np.array([1.0, 0.8, -0.3, 0.1, 0.8, -0.5])
    damping = 1e-2
    for _ in range(steps):
        step = np.linalg.solve(hessian(p) + damping * np.eye(6), -gradient(p))
        if loss(p + step) < loss(p):
            p, damping = p + step, 0.3 * damping
        else:
            damping *= 10.0
    return p


def trace_by_products(p: np.ndarray, samples: int, seed: int = 0) -> float:
    """Hutchinson's estimate: the mean of z . H z over vectors of random signs."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(samples, p.size))
    return float(np.mean([z @ product(p, z) for z in signs]))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args(argv)
    print(hessian.source)
    p = trained(options.steps)
    matrix = hessian(p)
    print(f"loss {loss(p):.2e}, gradient {np.linalg.norm(gradient(p)):.1e}")
    print("eigenvalues of the Hessian:", np.linalg.eigvalsh(matrix).round(5))
    print(f"trace {np.trace(matrix):.4f}, by 2000 products {trace_by_products(p, 2000):.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
