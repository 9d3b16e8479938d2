"""Implicit differentiation of a fixed point, by a rule of the user's.

`x = cos(a x)` is solved by iterating. Differentiating the iteration would keep every iterate;
the rule states instead what the implicit function theorem says of the solution, and the
iteration is never looked at.

    python examples/fixed_point.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import tangentlike as tl


def solution(a):
    """The x with x = cos(a x), for each entry of a (between -1 and 1)."""
    x = 0.5 * np.ones_like(a)
    for _ in range(200):
        x = np.cos(a * x)
    return x


@tl.rule(solution)
def solution_rule(x, a):
    # x = cos(a x), so dx = -sin(a x) (x da + a dx).
    s = np.sin(a * x)
    dx_da = -s * x / (1.0 + s * a)


def loss(a):
    return np.sum((solution(a) - 0.8) ** 2)


def fitted(steps: int = 40) -> np.ndarray:
    """The a for which the fixed point is 0.8: arccos(0.8) / 0.8, by Newton's method."""
    gradient, hessian = tl.grad(loss), tl.hessian(loss)
    a = np.array([0.9, 0.6])
    for _ in range(steps):
        a = a - np.linalg.solve(hessian(a), gradient(a))
    return a


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args(argv)
    print(tl.grad(loss).source)
    tl.check_rule(solution, np.array([0.3, 0.7]))
    print("found", fitted(options.steps), "expected", np.arccos(0.8) / 0.8)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
