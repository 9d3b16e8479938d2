"""Equations, integrals and motions that SciPy solves, with functions of the user's inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

so = pytest.importorskip("scipy.optimize")
si = pytest.importorskip("scipy.integrate")

START = np.array([0.7, -0.4])


def root_of_a_closure(a, b):
    def f(t):
        return t**3 * a - b - t * np.sin(b)

    return so.brentq(f, 0.0, 5.0, xtol=1e-14) ** 2 * a


def root_with_arguments(a, b):
    found = so.bisect(lambda t, k: t * t - k, 0.0, 5.0, args=(a,), xtol=1e-14)
    return found + so.ridder(lambda t, k, m: t * t * m - k, 0.0, 9.0, (a, b), xtol=1e-14)


def root_by_newton(a, b):
    return so.newton(lambda t: t**3 - a * b, 1.5, tol=1e-14)


def root_as_a_result(a, b):
    return so.root_scalar(lambda t: t**3 - a, bracket=(0.0, 3.0), xtol=1e-14).root * b


def roots_of_a_vector(x):
    return np.sum(so.fsolve(lambda z: z**3 + z - x + 0.1 * z[::-1], np.zeros(2), xtol=1e-14) ** 3)


def roots_of_a_list(x):
    def equations(z, k):
        return [z[0] ** 3 + z[1] - x[0], k * z[1] - z[0] + x[1]]

    found = so.root(equations, np.zeros(2), args=(2.0 + x[0],), tol=1e-14)
    return found.x[0] * found.x[1]


def integral(a, b):
    value, _ = si.quad(lambda t: np.exp(-a * t) * np.cos(b * t), 0, b + 1.0)
    return value * a


def integrals_without_bounds(a, b):
    def bell(t):
        return np.exp(-a * t * t)

    ends = si.quad(bell, b, np.inf)[0] + 2.0 * si.quad(bell, -np.inf, b)[0]
    return ends + 3.0 * si.quad(bell, -np.inf, np.inf)[0]


def integral_of_a_root(a, b):
    return si.quad(lambda t: so.brentq(lambda s: s**3 + s - a * t, 0, 5, xtol=1e-14), 0, b)[0]


def motion(k, y0):
    def slope(y, t, k):
        return np.array([y[1], -k * y[0] * t])

    y = si.odeint(slope, y0, np.linspace(0.0, 0.4, 3), args=(k,), rtol=1e-9, atol=1e-9)
    return np.sum(y[:, 0] ** 2) * y[1, 1]


def motion_by_steps_of_the_solver(k, y0):
    found = si.solve_ivp(lambda t, y: [y[1], -k * np.sin(y[0])], (0.0, k), y0, rtol=1e-9, atol=1e-9)
    x, v = found.y
    return x[-1] ** 2 + v[-1]


def motion_at_times(k, y0):
    times = np.array([0.5, 1.0]) * k
    found = si.solve_ivp(
        lambda t, y, m: [y[1], -m * y[0]],
        (0.0, k),
        y0,
        "DOP853",
        times,
        args=(k,),
        rtol=1e-9,
        atol=1e-9,
    )
    return np.sum(found.y**2) + found.t[0]


SOLVED = [
    *((f, (2.0, 3.0)) for f in (root_of_a_closure, root_with_arguments, root_by_newton)),
    (root_as_a_result, (2.0, 3.0)),
    *((f, (START,)) for f in (roots_of_a_vector, roots_of_a_list)),
    *((f, (2.0, 0.5)) for f in (integral, integrals_without_bounds)),
]
MOTIONS = (motion, motion_by_steps_of_the_solver, motion_at_times)


@pytest.mark.parametrize(("fn", "args"), SOLVED, ids=lambda v: getattr(v, "__name__", ""))
def test_both_modes(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    tl.check_grads(fn, args)
    assert tl.value_and_grad(fn)(*args)[0] == pytest.approx(fn(*args), rel=1e-14)


@pytest.mark.parametrize("fn", MOTIONS, ids=lambda f: f.__name__)
def test_motions(fn: Callable[..., float]) -> None:
    k, h, along = 0.5, 1e-5, np.array([0.3, 0.8])
    slope = (fn(k + h, START + h * along) - fn(k - h, START - h * along)) / (2.0 * h)
    value, (k_bar, y0_bar) = tl.value_and_grad(fn, wrt=("k", "y0"))(k, START)
    assert value == pytest.approx(fn(k, START), rel=1e-14)
    assert k_bar + y0_bar @ along == pytest.approx(slope, rel=1e-6)
    assert tl.jvp(fn, (k, START), (1.0, along))[1] == pytest.approx(slope, rel=1e-6)


def test_a_solver_inside_another() -> None:
    tl.check_grads(integral_of_a_root, (2.0, 0.7))


@pytest.mark.parametrize("fn", [root_of_a_closure, integral])
def test_second_derivatives(fn: Callable[..., Any]) -> None:
    a, b, h = 2.0, 0.5, 1e-5
    first = tl.grad(fn)
    expected = (first(a + h, b) - first(a - h, b)) / (2.0 * h)
    assert tl.grad(first)(a, b) == pytest.approx(expected, rel=1e-7)
    assert tl.jvp(first, (a, b), (1.0, 0.0))[1] == pytest.approx(expected, rel=1e-7)


def test_small_scales() -> None:
    def length(a):
        return so.brentq(lambda t: math.exp(t / a) - 3.0, 0.0, 1e-7, xtol=1e-25, rtol=1e-14)

    assert tl.grad(length)(1e-8) == pytest.approx(math.log(3.0), rel=1e-9)


def a_singular_integrand(a):
    return si.quad(lambda t: a / np.sqrt(t), 0.0, 1.0)[0]


def a_jump(a):
    return so.bisect(lambda t: 1.0 if t > a else -1.0, 0.0, 5.0)


def another_result(a):
    y, _ = si.odeint(lambda y, t: -a * y, 1.0, [0.0, 1.0], full_output=True)
    return y[-1, 0]


def no_root(a):
    found = so.root(lambda t: t * t + a, 1.0)
    return found.x[0] if found.success else 100.0 * a


def no_root_in_time(a):
    found = so.root_scalar(lambda t: t**3 - a, bracket=(0.0, 50.0), method="bisect", maxiter=2)
    return found.root if found.converged else 100.0 * a


NOT_SOLVED = (no_root, no_root_in_time)


@pytest.mark.parametrize("fn", [a_singular_integrand, a_jump, another_result, *NOT_SOLVED])
def test_refused(fn: Callable[..., Any]) -> None:
    for derivative in (lambda: tl.grad(fn)(2.0), lambda: tl.jvp(fn, (2.0,), (1.0,))):
        with pytest.raises(tl.UnsupportedError):
            derivative()
