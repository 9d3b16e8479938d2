"""SciPy's solvers of equations, integrals and motions as programs (see `programs.py`).

The solver runs as it stands (`runtime/solving.py`), and what it finds is a constant. Then:

- *A root* is followed by chord steps `root - (f(root) - rest) / slope`, which do not change its
  value. Each one makes one more order of its derivatives right, however rough the slope is.
- *An integral* is the sum over the places that the solver chose.
- *A motion* is followed by Runge and Kutta's steps (of the fifth order, by Dormand and Prince)
  along times that were chosen for it: its derivative is that of the discretised equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime import Motion, Root, quadrature, solved_equation, solved_motion, stop_gradient

_ORDERS = 4  # of derivatives


# -------------------------------------------------------------------------------- equations


def _followed(f: Callable[..., Any], args: Any, root: Any, rest: Any, slope: Any) -> Any:
    for _ in range(_ORDERS):
        root = root - (f(root, *args) - rest) / slope
    return root


def _vector_followed(f: Callable[..., Any], args: Any, root: Any, rest: Any, inverse: Any) -> Any:
    for _ in range(_ORDERS):
        change = np.asarray(f(root, *args)) - rest
        root = root - np.reshape(inverse @ np.ravel(change), np.shape(rest))
    return root


def optimize_brentq(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    root, rest, slope = solved_equation("brentq", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_brenth(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    root, rest, slope = solved_equation("brenth", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_bisect(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    root, rest, slope = solved_equation("bisect", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_ridder(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    root, rest, slope = solved_equation("ridder", f, args, a, b, **options)
    return _followed(f, args, root, rest, slope)


def optimize_newton(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), **options: Any
) -> Any:
    root, rest, slope = solved_equation("newton", func, args, x0, fprime, **options)
    return _followed(func, args, root, rest, slope)


def optimize_root_scalar(f: Callable[..., Any], args: Any = (), **options: Any) -> Any:
    root, rest, slope = solved_equation("root_scalar", f, args, **options)
    found = _followed(f, args, root, rest, slope)
    return Root(found, found, True, True)


def optimize_fsolve(func: Callable[..., Any], x0: Any, args: Any = (), **options: Any) -> Any:
    root, rest, inverse = solved_equation("fsolve", func, args, x0, **options)
    return _vector_followed(func, args, root, rest, inverse)


def optimize_root(fun: Callable[..., Any], x0: Any, args: Any = (), **options: Any) -> Any:
    root, rest, inverse = solved_equation("root", fun, args, x0, **options)
    found = _vector_followed(fun, args, root, rest, inverse)
    return Root(found, found, True, True)


# -------------------------------------------------------------------------------- integrals


def integrate_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    value, error, found, places = quadrature(func, a, b, args, **options)
    start = 0.0 if np.isinf(a) else a
    end = 0.0 if np.isinf(b) else b
    width = 1.0 if np.isinf(a) or np.isinf(b) else b - a
    total = 0.0
    for p, q, s, w in places:
        total = total + w * func(p * start + q * end + s, *args)
    return width * total - found + value, error


def integrate_fixed_quad(
    func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5
) -> Any:
    points, weights = np.polynomial.legendre.leggauss(n)
    values = func((b - a) * (points + 1.0) / 2.0 + a, *args)
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None


# ---------------------------------------------------------------------------------- motions


def _step(f: Callable[..., Any], args: Any, t: Any, h: Any, y: Any, state_first: bool) -> Any:
    k1 = _slope(f, args, t, y, state_first)
    k2 = _slope(f, args, t + h / 5.0, y + h / 5.0 * k1, state_first)
    z = y + h / 40.0 * (3.0 * k1 + 9.0 * k2)
    k3 = _slope(f, args, t + 0.3 * h, z, state_first)
    z = y + h / 45.0 * (44.0 * k1 - 168.0 * k2 + 160.0 * k3)
    k4 = _slope(f, args, t + 0.8 * h, z, state_first)
    z = y + h / 6561.0 * (19372.0 * k1 - 76080.0 * k2 + 64448.0 * k3 - 1908.0 * k4)
    k5 = _slope(f, args, t + h / 1.125, z, state_first)
    z = 9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3 + 49.0 / 176.0 * k4
    k6 = _slope(f, args, t + h, y + h * (z - 5103.0 / 18656.0 * k5), state_first)
    z = 35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4
    return y + h * (z - 2187.0 / 6784.0 * k5 + 11.0 / 84.0 * k6)


def _slope(f: Callable[..., Any], args: Any, t: Any, y: Any, state_first: bool) -> Any:
    if state_first:
        return np.asarray(f(y, t, *args))
    return np.asarray(f(t, y, *args))


def integrate_odeint(
    func: Callable[..., Any], y0: Any, t: Any, args: Any = (), **options: Any
) -> Any:
    values, steps = solved_motion("odeint", func, y0, t, args, **options)
    y = np.atleast_1d(y0) * 1.0
    rows = [y]
    for i in range(len(steps)):
        length = t[i + 1] - t[i]
        for begin, part in steps[i]:
            y = _step(func, args, t[i] + begin * length, part * length, y, True)
        rows.append(y)
    followed = np.stack(rows)
    return followed - stop_gradient(followed) + values


def integrate_solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    *,
    args: Any = (),
    **options: Any,
) -> Any:
    values, steps, parts, message = solved_motion(
        "solve_ivp", fun, y0, t_span, args, t_eval=t_eval, method=method, **options
    )
    start = t_span[0]
    t = t_eval
    if t_eval is None:
        t = start + parts * (t_span[1] - start)
    y = np.asarray(y0) * 1.0
    rows = []
    for i in range(len(steps)):
        length = t[i] - start
        for begin, part in steps[i]:
            y = _step(fun, args, start + begin * length, part * length, y, False)
        rows.append(y)
        start = t[i]
    followed = np.stack(rows, axis=1)
    return Motion(t, followed - stop_gradient(followed) + values, True, 0, message)
