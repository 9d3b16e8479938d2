"""Newton's method with conjugate gradients on the Rosenbrock function, 50 dimensions.

SciPy asks for products of the Hessian with vectors; `tl.hvp` gives them without the Hessian,
at the cost of about two gradients each. The minimum is 0 at (1, ..., 1).

    python examples/newton_cg.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import tangentlike as tl


def rosenbrock(x: np.ndarray) -> float:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


gradient = tl.grad(rosenbrock)
product = tl.hvp(rosenbrock)


def minimum(n: int = 50, steps: int = 200) -> Any:
    """SciPy's answer from a fixed start."""
    from scipy.optimize import minimize

    start = np.where(np.arange(n) % 2 == 0, -1.2, 1.0)
    options = {"maxiter": steps, "xtol": 1e-10}
    return minimize(
        rosenbrock, start, method="Newton-CG", jac=gradient, hessp=product, options=options
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args(argv)
    print(product.source)
    found = minimum(steps=options.steps)
    print(f"value {found.fun:.2e} after {found.nit} steps, {found.nhev} Hessian products")
    print(f"farthest from 1: {np.max(np.abs(found.x - 1.0)):.2e}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
