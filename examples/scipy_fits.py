"""Derivatives where SciPy asks for them: to fit a decay, solve a system, integrate an equation.

Each derivative is given as it stands: SciPy calls it with the arguments that it calls the function
with, and the product of the Hessian with a vector after the argument, `hessp(x, v, *args)`.

    python examples/scipy_fits.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import tangentlike as tl

TIMES = np.linspace(0.0, 2.0, 21)
RATES = np.array([2.0, 1.5])  # the amplitude and the rate of the decay that is fitted


def residuals(p: np.ndarray, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    return p[0] * np.exp(-p[1] * t) - y


def misfit(p: np.ndarray, t: np.ndarray, y: np.ndarray) -> float:
    r = p[0] * np.exp(-p[1] * t) - y
    return 0.5 * np.sum(r * r)


def meeting(x: np.ndarray) -> np.ndarray:
    """Zero where a circle of radius 2 meets a parabola."""
    return np.array([x[0] ** 2 + x[1] ** 2 - 4.0, x[1] - x[0] ** 2])


def van_der_pol(t: float, y: np.ndarray, mu: float) -> np.ndarray:
    return np.array([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])


def fitted_by_newton(steps: int = 50) -> Any:
    """The decay by `minimize`: value, gradient and products with the Hessian."""
    from scipy.optimize import minimize

    data = (TIMES, residuals(RATES, TIMES, 0.0))
    return minimize(
        tl.value_and_grad(misfit), np.ones(2), args=data, jac=True,
        hessp=tl.hvp(misfit), method="trust-ncg", options={"maxiter": steps},
    )  # fmt: skip


def fitted_by_least_squares() -> Any:
    """The same decay by `least_squares`."""
    from scipy.optimize import least_squares

    data = (TIMES, residuals(RATES, TIMES, 0.0))
    return least_squares(residuals, np.ones(2), jac=tl.jacobian(residuals), args=data)


def met() -> Any:
    """Where circle and parabola meet, by `root`."""
    from scipy.optimize import root

    return root(meeting, np.ones(2), jac=tl.jacobian(meeting))


def integrated(mu: float = 50.0) -> Any:
    """A stiff oscillator by `solve_ivp`, whose implicit steps need the Jacobian by y."""
    from scipy.integrate import solve_ivp

    jacobian = tl.jacobian(van_der_pol, wrt="y")
    start = np.array([2.0, 0.0])
    return solve_ivp(van_der_pol, (0.0, 30.0), start, args=(mu,), method="Radau", jac=jacobian)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args(argv)
    print(tl.value_and_grad(misfit).source)
    print(f"minimize:      {fitted_by_newton(options.steps).x}")
    print(f"least_squares: {fitted_by_least_squares().x}")
    print(f"root:          {met().x}")
    path = integrated()
    print(f"solve_ivp:     {path.t.size} steps, {path.njev} Jacobians")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
