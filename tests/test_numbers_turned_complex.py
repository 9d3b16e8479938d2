"""A negative number to a fractional power is complex in Python, which no text tells beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl


def modulus(x: Any) -> Any:
    return abs((-x) ** 0.5) * x


def by_parts(x: Any) -> Any:
    z = (-x) ** 0.5 + 1.0
    return (z * z.conjugate()).real * x


def imaginary(x: Any) -> Any:
    return ((-x) ** 1.5 + 2.0).imag * x


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for n in range(3):
        total = total + abs((-x) ** (n + 0.5) + x)
    return total


def root(v: Any) -> Any:
    return v**0.5


def in_a_helper(x: Any) -> Any:
    return abs(root(-x) + root(x)) ** 2


PROGRAMS = [modulus, by_parts, imaginary, in_a_loop, in_a_helper]


def slope(f: Any, x: float) -> float:
    return float((f(x + 1e-6) - f(x - 1e-6)) / 2e-6)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [0.7, -0.4])
def test_gradients_and_tangents(program: Any, x: float) -> None:
    expected = slope(program, x)
    gradient = tl.grad(program)
    assert gradient(x) == pytest.approx(expected, rel=1e-6)
    assert gradient(x) == pytest.approx(expected, rel=1e-6)  # (known by now)
    assert tl.value_and_grad(program)(x) == pytest.approx((program(x), expected), rel=1e-6)
    assert tl.jvp(program, (x,), (1.0,))[1] == pytest.approx(expected, rel=1e-6)
    curvature = (slope(program, x + 1e-4) - slope(program, x - 1e-4)) / 2e-4
    try:
        found = tl.grad(gradient)(x)
    except tl.TangentlikeError as error:  # (the inner derivative is made before it is known)
        assert "complex" in str(error)
    else:
        assert found == pytest.approx(curvature, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_pullbacks_are_right_or_refused(program: Any) -> None:
    try:
        (found,) = tl.vjp(program, 0.7)[1](1.0)
    except tl.TangentlikeError as error:
        assert "complex" in str(error)
    else:
        assert found == pytest.approx(slope(program, 0.7), rel=1e-6)


def test_the_advice_helps() -> None:
    def said(x: Any) -> Any:
        return abs(complex(-x) ** 0.5) * x

    assert tl.vjp(said, 0.7)[1](1.0)[0] == pytest.approx(slope(said, 0.7), rel=1e-6)


def test_real_powers_are_left_alone() -> None:
    gradient = tl.grad(lambda x: abs(x**0.5))
    assert gradient(4.0) == 0.25
    assert "conj" not in gradient.source
    with np.errstate(invalid="ignore"):
        assert np.isnan(tl.grad(lambda v: np.sum(v**0.5))(np.array([-1.0]))[0])
