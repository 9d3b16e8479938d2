"""Gradients through steps of gradient descent: a start that adapts fast, and a learning rate.

`adapted` takes one step on a task; the meta-loss is what is left after it (MAML). On quadratic
tasks both the best start and the best learning rate of a longer descent are known, so the
answers can be compared.

    python examples/inner_step.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl

# A task is a target and how strongly each direction counts.
TARGETS = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])
STRENGTHS = np.array([[1.0, 0.2], [0.5, 0.5], [0.1, 1.5]])


def task_loss(w, target, strength):
    return 0.5 * np.sum(strength * (w - target) ** 2)


inner_gradient = tl.grad(task_loss)


def meta_loss(w, rate):
    total = 0.0
    for target, strength in zip(TARGETS, STRENGTHS):
        adapted = w - rate * inner_gradient(w, target, strength)
        total = total + task_loss(adapted, target, strength)
    return total / len(TARGETS)


def best_start(rate: float, steps: int = 300) -> np.ndarray:
    """The start from which one step of this rate leaves least, by gradient descent."""
    gradient = tl.grad(meta_loss)
    w = np.zeros(2)
    for _ in range(steps):
        w = w - gradient(w, rate)
    return w


def known_best_start(rate: float) -> np.ndarray:
    """Each task is left with s (1 - rate s)^2 (w - target)^2 / 2: a weighted mean of targets."""
    weights = STRENGTHS * (1.0 - rate * STRENGTHS) ** 2
    return np.sum(weights * TARGETS, axis=0) / np.sum(weights, axis=0)


def after_descent(rate, steps):
    """What `steps` rounds of gradient descent on the second task leave, from (1, 0)."""
    w = np.array([1.0, 0.0])
    for _ in range(steps):
        w = w - rate * inner_gradient(w, TARGETS[1], STRENGTHS[1])
    return task_loss(w, TARGETS[1], STRENGTHS[1])


def known_hypergradient(rate: float, steps: int) -> float:
    """The descent leaves s (1 - rate s)^(2 steps) d^2 / 2 with s = 0.5 and d^2 = 5."""
    return -2.0 * steps * 0.5 * (1.0 - 0.5 * rate) ** (2 * steps - 1) * 0.5 * 0.5 * 5.0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args(argv)
    print(tl.grad(meta_loss).source)
    print("best start", best_start(0.4, options.steps), "expected", known_best_start(0.4))
    hypergradient = tl.grad(after_descent)
    print("by the rate", hypergradient(0.3, 10), "expected", known_hypergradient(0.3, 10))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
