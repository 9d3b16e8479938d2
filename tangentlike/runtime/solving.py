"""Equations, integrals and motions that SciPy solves: what their derivatives are computed from.

A solver runs as it stands, and what it finds is a constant for derivatives. What depends on
parameters is the user's function at the places that the solver found: the programs in
`rules/programs.py` evaluate it there.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .broadcasting import conj
from .linalg import adjoint_matrix, inner_diagonal, pinv_bar, pinv_dot
from .products import vander_slope
from .statements import NotDifferentiated


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


# --------------------------------------------------------------------------------------------------
# Adjoints and tangents of least squares and of fitting a polynomial.
#
# Plain NumPy: what is not linear in the adjoint can be differentiated again as it stands.


def lstsq_bar_b(a: Any, b: Any, x: Any, x_bar: Any, residual_bar: Any) -> Any:
    """The adjoint of `b` in `np.linalg.lstsq(a, b)`."""
    b_bar = adjoint_matrix(np.linalg.pinv(a)) @ x_bar
    if residual_bar.size:
        b_bar = b_bar + 2.0 * (b - a @ x) * residual_bar
    return b_bar


def lstsq_bar_a(a: Any, b: Any, x: Any, x_bar: Any, residual_bar: Any) -> Any:
    """The adjoint of `a` in `np.linalg.lstsq(a, b)`: that of `pinv(a) @ b`."""
    y = np.linalg.pinv(a)
    columns = (b if np.ndim(b) == 2 else b[:, None], x_bar if np.ndim(b) == 2 else x_bar[:, None])
    a_bar = pinv_bar(a, y, columns[1] @ conj(columns[0]).T)
    if residual_bar.size:
        rest = b - a @ x
        if np.ndim(b) == 1:
            a_bar = a_bar - 2.0 * residual_bar * np.outer(rest, conj(x))
        else:
            a_bar = a_bar - 2.0 * (rest * residual_bar) @ conj(x).T
    return a_bar


def lstsq_dot(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> tuple[Any, Any, Any, Any]:
    """The tangents of what `np.linalg.lstsq(a, b)` returns."""
    x, residuals = y[0], y[1]
    inverse = np.linalg.pinv(a)
    x_dot = pinv_dot(a, inverse, a_dot) @ b + inverse @ b_dot
    if residuals.size:
        change = 2.0 * np.sum(np.real(conj(b - a @ x) * (b_dot - a_dot @ x)), axis=0)
        residual_dot = np.reshape(change, residuals.shape)
    else:
        residual_dot = np.zeros_like(residuals)
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return (
        x_dot,
        residual_dot,
        0.0,
        np.real(inner_diagonal(adjoint_matrix(u) @ a_dot @ adjoint_matrix(vh))),
    )


def lstsq_residual_bar(y: Any, y_bar: Any) -> Any:
    """The adjoint of the residuals of `np.linalg.lstsq`; one of its singular values is refused."""
    if np.any(np.not_equal(y_bar[3], 0.0)):
        raise NotImplementedError(
            "the singular values of np.linalg.lstsq have no derivative rule; use np.linalg.svd"
        )
    return np.zeros_like(y[1]) + y_bar[1]


def _powers(x: Any, deg: int) -> Any:
    if len(x) <= deg:
        raise ValueError(
            "np.polyfit of fewer points than coefficients has no unique fit, and no derivative"
        )
    return np.vander(x, deg + 1)


def polyfit_bar(g: Any, x: Any, deg: int, w: Any = None) -> Any:
    """The adjoint of `np.polyfit(x, y, deg, w=w)` by y: the fit is linear in it.

    >>> polyfit_bar(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 1).round(3) + 0.0
    array([1., 0.])
    """
    powers = _powers(x, deg)
    if w is None:
        return np.linalg.pinv(powers).T @ g
    weighted = np.linalg.pinv(powers * np.reshape(w, (-1, 1))).T @ g
    return np.reshape(w, (-1,) + (1,) * (np.ndim(g) - 1)) * weighted


def polyfit_dot_x(x_dot: Any, x: Any, y: Any, deg: int, w: Any = None) -> Any:
    """The tangent of `np.polyfit(x, y, deg, w=w)` by x."""
    powers = _powers(x, deg)
    weights = np.ones_like(powers) if w is None else np.reshape(w, (-1, 1)) + 0.0 * powers
    change = weights * vander_slope(x, powers) * np.reshape(x_dot, (-1, 1))
    matrix = weights * powers
    columns = weights[:, :1] * np.reshape(y, (len(x), -1))
    found = pinv_dot(matrix, np.linalg.pinv(matrix), change) @ columns
    return np.reshape(found, (deg + 1, *np.shape(y)[1:]))


def polyfit_bar_x(g: Any, x: Any, y: Any, deg: int, w: Any = None) -> Any:
    """The adjoint of `np.polyfit(x, y, deg, w=w)` by x."""
    powers = _powers(x, deg)
    weights = np.ones_like(powers) if w is None else np.reshape(w, (-1, 1)) + 0.0 * powers
    matrix = weights * powers
    columns = weights[:, :1] * np.reshape(y, (len(x), -1))
    g_columns = np.reshape(g, (deg + 1, -1))
    matrix_bar = pinv_bar(matrix, np.linalg.pinv(matrix), g_columns @ columns.T)
    return np.sum(matrix_bar * weights * vander_slope(x, powers), axis=1)
