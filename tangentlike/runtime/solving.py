"""Equations, integrals and motions that SciPy solves: what their derivatives are computed from.

A solver runs as it stands, and what it finds is a constant for derivatives. What depends on
parameters is the user's function at the places that the solver found: the programs in
`rules/solver_programs.py` evaluate it there.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .refused import NotDifferentiated


class Root(NamedTuple):
    """What `scipy.optimize.root` and `root_scalar` give, as far as it is differentiated."""

    root: Any
    x: Any
    converged: bool
    success: bool


class Motion(NamedTuple):
    """What `scipy.integrate.solve_ivp` gives, as far as it is differentiated."""

    t: Any
    y: Any
    success: bool
    status: int
    message: str


# ------------------------------------------------------------------------------- equations

_AGREEMENT = 1e-3  # of two estimates of a slope


def solved_equation(
    solver: str, f: Callable[..., Any], args: Any, *rest: Any, **options: Any
) -> Any:
    """The root that a solver of `scipy.optimize` finds, the value of `f` there, and its slope.

    For a root that is a vector, the slope is the inverse of the Jacobian matrix. It is found by
    differences, and only has to be near.
    """
    if options.get("full_output"):
        raise NotDifferentiated("`full_output=` of a solver is not differentiated", "Leave it out.")
    solve = getattr(importlib.import_module("scipy.optimize"), solver)
    found = solve(f, *rest, args=args, **options)
    if not getattr(found, "success", getattr(found, "converged", True)):
        raise NotDifferentiated(
            f"the equation is not solved: {getattr(found, 'message', getattr(found, 'flag', ''))}",
            "Give the solver a better start, or more iterations.",
        )
    root = getattr(found, "x", getattr(found, "root", found))
    if np.iscomplexobj(root):
        raise NotDifferentiated("a complex root is not differentiated", "Solve for two real ones.")
    if solver in ("fsolve", "root"):
        root = np.asarray(root)
        value = np.asarray(f(root, *args))
        slope = _slope(lambda h: _jacobian(f, args, root, h), root)
        return root, value, np.linalg.inv(slope)
    return root, f(root, *args), _slope(lambda h: _quotient(f, args, root, h), root)


def _slope(estimate: Callable[[Any], Any], root: Any) -> Any:
    """An estimate that does not change where its step gets smaller."""
    size = float(np.max(np.abs(root)))
    for scale in (size, 1.0) if size > 0 else (1.0,):
        before = None
        for power in (4, 5, 6):
            try:
                now = np.asarray(estimate(scale * 10.0**-power))
            except (ArithmeticError, ValueError):  # (a step out of the domain of the function)
                before = None
                continue
            if before is not None and _agree(before, now):
                return now[()]
            before = now
    raise NotDifferentiated(
        "the equation has no slope at the root that the solver found",
        "A root where the function jumps, or touches zero only, has no derivative.",
    )


def _agree(first: Any, second: Any) -> bool:
    size = np.max(np.abs(second)) if np.ndim(second) == 2 else np.abs(second)
    return bool(np.all(np.abs(first - second) < _AGREEMENT * size))


def _quotient(f: Callable[..., Any], args: Any, root: Any, h: Any) -> Any:
    return (f(root + h, *args) - f(root - h, *args)) / (2.0 * h)


def _jacobian(f: Callable[..., Any], args: Any, root: Any, h: Any) -> Any:
    columns = []
    for k in range(root.size):
        step = np.zeros(root.size)
        step[k] = h
        step = step.reshape(root.shape)
        change = np.subtract(f(root + step, *args), f(root - step, *args))
        columns.append(np.ravel(change) / (2.0 * h))
    return np.stack(columns, axis=-1)


# -------------------------------------------------------------------------------- integrals


def quadrature(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    """The integral that `scipy.integrate.quad` finds, its error, what a sum over places gives, and
    these places: each `(p, q, s, w)` stands for the point `p * a + q * b + s` with the weight `w`,
    times the width where both bounds are finite. (An infinite bound counts as 0.)

    The places are those of Gauss in each interval into which the solver divided the domain.
    """
    if options.keys() - {"epsabs", "epsrel", "limit", "points"}:
        raise NotDifferentiated("this option of `quad` is not differentiated")
    quad = importlib.import_module("scipy.integrate").quad
    value, error, report, *trouble = quad(f, a, b, args=args, full_output=1, **options)
    if trouble:
        raise NotDifferentiated(f"the integral is not found: {trouble[0]}")
    points, weights = np.polynomial.legendre.leggauss(21)
    places = []
    for low, high in zip(report["alist"][: report["last"]], report["blist"][: report["last"]]):  # noqa: B905
        inside = 0.5 * (low + high) + 0.5 * (high - low) * points
        for x, w in zip(inside.tolist(), (0.5 * (high - low) * weights).tolist()):  # noqa: B905
            places.extend(_places(x, w, a, b))
    width = b - a if math.isfinite(a) and math.isfinite(b) else 1.0
    start, end = (x if math.isfinite(x) else 0.0 for x in (a, b))
    total = sum(w * f(p * start + q * end + s, *args) for p, q, s, w in places) * width
    if not abs(total - value) <= 10.0 * abs(error) + 1e-6 * abs(value):
        raise NotDifferentiated(
            "the integrand has a singularity, at which the derivative of its integral is not known",
            "Substitute the variable so that the integrand is smooth.",
        )
    return value, error, total, places


def _places(x: float, w: float, a: float, b: float) -> list[tuple[float, float, float, float]]:
    """Where a solver for infinite bounds evaluates at `x` of its own interval from 0 to 1."""
    if math.isfinite(a) and math.isfinite(b):
        u = (x - a) / (b - a)
        return [(1.0 - u, u, 0.0, w / (b - a))]
    far, w = (1.0 - x) / x, w / (x * x)
    if math.isfinite(a):
        return [(1.0, 0.0, far, w if b > 0 else -w)] if b > 0 else [(1.0, 0.0, -far, -w)]
    if math.isfinite(b):
        return [(0.0, 1.0, -far, w)] if a < 0 else [(0.0, 1.0, far, -w)]
    sign = 1.0 if b > 0 else -1.0
    return [(0.0, 0.0, far, sign * w), (0.0, 0.0, -far, sign * w)]


# ---------------------------------------------------------------------------------- motions

_MOST_STEPS = 20_000
_OPTIONS = {
    "odeint": {"Dfun", "col_deriv", "ml", "mu", "rtol", "atol", "tcrit", "h0", "hmax", "hmin"}
    | {"ixpr", "mxstep", "mxhnil", "mxordn", "mxords", "printmessg"},
    "solve_ivp": {"method", "t_eval", "vectorized", "rtol", "atol", "max_step", "first_step"}
    | {"jac", "min_step", "lband", "uband", "jac_sparsity"},
}


def solved_motion(
    solver: str, f: Callable[..., Any], y0: Any, times: Any, args: Any, **options: Any
) -> Any:
    """The states that a solver of `scipy.integrate` finds, and the steps that follow the motion
    closely: for each interval between two times, where each step begins and how long it is, as
    parts of the interval. Of `solve_ivp` also the times, as parts of its span, and the message.
    """
    unknown = options.keys() - _OPTIONS[solver]
    if unknown:
        raise NotDifferentiated(f"`{min(unknown)}=` of `{solver}` is not differentiated")
    if solver == "odeint":
        values = importlib.import_module("scipy.integrate").odeint(f, y0, times, args, **options)
        steps = _steps(lambda t, y: f(y, t, *args), y0, times)
        return values, steps
    found = importlib.import_module("scipy.integrate").solve_ivp(
        f, times, y0, args=args or None, **options
    )
    if not found.success:
        raise NotDifferentiated(f"the motion is not found: {found.message}")
    steps = _steps(lambda t, y: f(t, y, *args), y0, [times[0], *found.t])
    parts = (found.t - times[0]) / (times[1] - times[0])
    return found.y, steps, parts, found.message


def _steps(f: Callable[..., Any], y0: Any, times: Any) -> list[list[tuple[float, float]]]:
    solve = importlib.import_module("scipy.integrate").solve_ivp
    y, count, found = np.atleast_1d(np.asarray(y0, dtype=float)), 0, []
    for start, end in itertools.pairwise(times):
        if start == end:
            found.append([(0.0, 1.0)])
            continue
        near = 1e-9 * (np.max(np.abs(y)) + 1e-300)
        followed = solve(f, (start, end), y, rtol=1e-9, atol=near)
        count += len(followed.t)
        if not followed.success or count > _MOST_STEPS:
            raise NotDifferentiated(
                f"the motion is not followed in {_MOST_STEPS} steps",
                "The equation may be stiff: write the steps of an implicit method.",
            )
        parts = (followed.t - start) / (end - start)
        found.append(list(zip(parts[:-1].tolist(), np.diff(parts).tolist())))  # noqa: B905
        y = followed.y[:, -1]
    return found
