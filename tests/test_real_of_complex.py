"""Real values made of complex ones (`np.abs(z)`, `np.std(z)`) among complex values.

Their adjoints come with imaginary parts that mean nothing; none of these may reach `z`.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

RNG = np.random.default_rng(3)
Z = RNG.uniform(0.3, 1.0, (3, 3)) + 1j * RNG.uniform(0.3, 1.0, (3, 3)) - 0.5
C = RNG.uniform(0.3, 1.0, (3, 3)) - 1j * RNG.uniform(0.3, 1.0, (3, 3))

# Real values of z, and programs that put a real `r` among complex values.
REAL = [
    *("np.abs(z)", "np.real(z)", "np.imag(z)", "np.angle(z)", "np.std(z, axis=0)", "z.var(1)"),
    *("np.nanstd(z, axis=1)", "np.nanvar(z, axis=0)", "np.linalg.norm(z, axis=0)"),
    *("np.var(z, axis=0, where=np.abs(z) > 0.1)", "np.linalg.svdvals(z)"),
    *("np.linalg.eigvalsh(z + np.conj(z).T)", "np.linalg.eigh(z + np.conj(z).T)[0] + np.zeros(3)"),
    *("np.fft.irfft(z)", "np.linalg.slogdet(z)[1] + np.zeros(3)", "np.linalg.cond(z) * C.real"),
    *("np.real(z + 1j * np.real(z))", "np.imag(1j * z)", "np.linalg.norm(z) * C.real"),
]
AMONG = [
    *("np.concatenate([r, C[0]])", "np.stack([r, C[0]])", "np.vdot(r, C[0])", "np.outer(r, C)"),
    *("np.hstack([r, C[0]])", "np.einsum('i,j', r, C[0])", "np.block([r, C[0]])"),
    *("np.polyadd(r, C[0])", "np.polysub(C[0], r[:2])", "np.cross(C[0], r)"),
    *("np.polyval(C[0], r)", "np.append(r, C)", "np.diff(r, prepend=1j)"),
    *("np.interp(r, [0.0, 0.5, 2.0], C[0])", "np.trapezoid(C[0], r)", "np.trapezoid(r, C[0])"),
    *("np.average(C[0], weights=r)", "np.exp(1j * np.std(z)) * r", "np.exp(1j * np.sum(r))"),
]
CASES = [
    *((real, "np.stack([r, 1j * r])") for real in REAL),
    *(("np.abs(z[0])", among) for among in AMONG),
]


def program(real: str, among: str) -> Any:
    source, file = f"def p(z):\n    r = {real}\n    return {among}\n", f"<{real} {among}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {"np": np, "C": C}
    exec(compile(source, file, "exec"), names)
    return names["p"]


def inner(a: Any, b: Any) -> float:
    return float(np.sum(np.real(np.conj(a) * b)))


@pytest.mark.parametrize(("real", "among"), CASES)
def test_only_the_real_part_comes_back(real: str, among: str) -> None:
    p = program(real, among)
    try:
        value = np.asarray(p(Z))
    except AttributeError:
        pytest.skip("not in this version")
    rng = np.random.default_rng(0)
    direction = rng.normal(size=Z.shape) + 1j * rng.normal(size=Z.shape)
    seed = (rng.normal(size=value.shape) + 1j * rng.normal(size=value.shape))[()]
    backward = inner(tl.vjp(p, Z)[1](seed)[0], direction)
    forward = inner(seed, tl.jvp(p, (Z,), (direction,))[1])
    step = 1e-6 * direction
    difference = inner(seed, (p(Z + step) - p(Z - step)) / 2e-6)
    np.testing.assert_allclose([backward, forward], difference, rtol=1e-6, atol=1e-6)


def spectrum_error(x):
    z = np.fft.fft(x)
    return np.sum(np.abs(np.concatenate([np.abs(z), 1j * np.std(z) * z])) ** 2)


def test_second_order() -> None:
    tl.check_grads(spectrum_error, (np.array([0.3, 1.2, 0.7, -0.4]),), order=2)


def test_text_says_nothing_of_it_where_all_is_real() -> None:
    for example in (np.ones(3), Z):
        assert "np.real" not in tl.grad(spread, example=(example,)).source
    np.testing.assert_allclose(tl.grad(spread, example=(Z,))(Z), 2.0 * Z)
    derivative = tl.grad(turned_spread, example=(Z,))
    assert "np.real(product_bar)" not in derivative.source
    assert "np.real" in derivative.source


def spread(x):
    return np.sum(np.abs(x) ** 2)


def turned_spread(x):
    return np.sum(np.abs(np.abs(x) * np.exp(1j * x.real)) ** 2)


def in_buffers(x):
    z = np.zeros(3, dtype=complex)
    r = np.zeros(3)
    for i in range(3):
        r[i] = x[i] * x[i]
    for i in range(3):
        z[i] = r[i] * (0.5 + 1j)
    r[1] = x[2]
    z[0] = r[1] * r[2]
    z[1] += r[0]
    return np.sum(np.abs(z) ** 2) + np.sum(r * z.imag)


@pytest.mark.filterwarnings("error")
def test_real_buffers_take_the_real_part_without_a_warning() -> None:
    tl.check_grads(in_buffers, (np.array([0.3, 1.2, 0.7]),), order=2)


def masked_mean(s, x, mask):
    return np.mean(s * np.ones(2) + x, where=mask)


def test_a_mean_under_a_mask_that_is_broadcast() -> None:
    tl.check_grads(masked_mean, (0.5, np.array([[1.0, 2.0]]), np.array([[True]])), wrt=("s", "x"))


def conjugate_product(x, y):
    return np.vdot(x, y)


def test_tangents_of_complex_tangents_are_complex() -> None:
    tl.check_grads(conjugate_product, (Z[0], C[0]), order=2)


# A real x beside complex values: its adjoint is real, in the text that is printed, too.
BESIDE = [
    *("x @ z", "z @ x", "x[0] @ z", "z @ x[0]", "x[0] @ z[1]", "np.stack([z, z]) @ x"),
    *("np.vdot(z, x) * z", "np.vdot(x, z) * z", "np.einsum('ij,kj->ik', x, z)", "np.stack([z, x])"),
    *("np.linalg.multi_dot([x, z, x])", "np.linalg.solve(x + 4.0 * np.eye(3), z)"),
    *("np.linalg.solve(z, x)", "np.where(x > 0.5, x, z)", "np.asarray(x, dtype=complex) * z"),
    *("np.interp(x[0], [0.0, 0.6, 2.0], z[0])", "np.polyval(x[0], z)", "np.linalg.det(z) * x"),
    *("np.interp(x[0], x[1].cumsum(), z[0])", "np.trapezoid(z, x)"),
]


def beside(call: str) -> Any:
    source = (
        "def size(x):\n"
        "    z = np.exp(1j * x) + x.T * (0.2 + 0.5j)\n"
        f"    y = {call}\n"
        "    return np.sum(np.abs(y) ** 2)\n"
    )
    file = f"<a real x in {call}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), names)
    return names["size"]


@pytest.mark.parametrize("call", BESIDE)
def test_a_real_value_among_complex_ones(call: str) -> None:
    """Texts gave adjoints with imaginary parts, which a derivative of them took for values."""
    size, x = beside(call), RNG.uniform(0.3, 1.0, (3, 3))
    tl.check_grads(size, (x,), order=2)
    for example in (None, (x,)):
        derivative = tl.grad(size, example=example)
        expected = derivative(x)
        names: dict[str, Any] = {}
        exec(derivative.source, names)
        found = names["size_grad"](x)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("call", ["x @ z", "z @ x", "np.linalg.multi_dot([x, z, x])"])
def test_a_gradient_inside_is_real(call: str) -> None:
    size, x = beside(call), RNG.uniform(0.3, 1.0, (3, 3))

    def penalty(x):
        return np.sum(tl.grad(size)(x) ** 2)

    tl.check_grads(penalty, (x,))
