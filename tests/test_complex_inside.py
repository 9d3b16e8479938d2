"""Derivatives inside a function that is differentiated, where values are complex: they allow for
conjugates wherever the function around may give them complex numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tangentlike as tl
from tests.sampled import one_in

Z = 0.6 - 1.1j
ZS = np.array([1.0 + 2.0j, -0.5 + 0.3j])
S = np.array([0.3 - 0.4j, 1.5 + 0.2j])


def mul(x, y):
    return x * y


def energy(x, y):
    return np.sum(np.abs(x * y) ** 2 + np.real(x * x * y))


def phase(q, w):
    return np.sum(np.real(q * w * w) - np.imag(q * q * w))


energy_gradient = tl.grad(energy)
energy_both = tl.value_and_grad(energy)
energy_by_both = tl.grad(energy, wrt=(0, 1))


def by_pullback(x):
    """A real factor, a complex one made here, a complex seed."""
    _, pull = tl.vjp(mul, x, x * (1.0 + 2.0j))
    a, b = pull(0.3 - 0.4j)
    return a + np.real(b * (2.0 - 1.0j))


def by_gradient(x):
    return np.sum(tl.grad(energy)(x, x * (1.0 + 2.0j)) * x)


def by_gradient_of_the_complex_one(x):
    g = tl.grad(energy, wrt=1)(x, (x * x + x * 1j) * ZS)
    return np.sum(np.real(g * S))


def by_gradient_made_outside(x):
    return np.sum(energy_gradient(x, x * ZS) * x)


def by_value_and_gradient(x):
    value, gradient = energy_both(x, x * ZS)
    return value + np.sum(gradient * x)


def by_both(x):
    a, b = energy_by_both(x, x * ZS)
    return np.sum(a * x) + np.sum(np.imag(b * S))


def by_a_lambda(x):
    w = x * Z
    return np.sum(tl.grad(lambda v: phase(v, w) * 1.0)(x))


def by_tangent(x):
    value, slope = tl.jvp(mul, (x, x * ZS), (x, S))
    return np.sum(np.real(slope * np.conj(value)))


def by_a_seed_only(x):
    """The seed is complex, and with it the adjoint of a product."""
    _, pull = tl.vjp(lambda a: a * (x * 1j), x)
    return np.sum(np.real(pull(x * (0.3 - 0.4j))[0]))


def helper(x, y):
    _, pull = tl.vjp(mul, x, y)
    return pull(S)


def in_a_helper(x):
    a, b = helper(x, x * ZS)
    return np.sum(a) + np.sum(np.real(b * S))


def constant_beside(x):
    """The inner derivative does not depend on what is differentiated."""
    a, b = helper(np.ones(2), ZS)
    return np.sum(a * x) + np.sum(np.real(b * x * S))


def constant_from_outside(x):
    _, pull = tl.vjp(mul, x, Z * np.ones(2))
    return np.sum(np.real(pull(S)[1] * x * Z))


def by_transform(x):
    _, pull = tl.vjp(mul, x, np.fft.fft(x))
    a, b = pull(S)
    return np.sum(a * x) + np.sum(np.real(b * S))


def of_a_derivative(x):
    return np.sum(tl.grad(lambda v: np.sum(tl.grad(energy)(v, v * ZS)))(x) * x)


def in_a_loop(x):
    out = 0.0
    z = x * (1.0 + 0.5j)
    for _ in range(3):
        _, pull = tl.vjp(mul, x, z)
        a, z = pull(S)
        out = out + np.sum(a)
    return out


PROGRAMS = (
    *(by_pullback, by_gradient, by_gradient_of_the_complex_one, by_gradient_made_outside),
    *(by_value_and_gradient, by_both, by_a_lambda, by_tangent, by_a_seed_only, in_a_helper),
    *(constant_beside, constant_from_outside, by_transform, of_a_derivative, in_a_loop),
)


@pytest.mark.parametrize("f", one_in(2, PROGRAMS), ids=lambda f: f.__name__)
def test_inner_derivatives_allow_for_complex_values(f):
    x = np.array([0.7, -1.2]) if f is not by_pullback else 0.7
    value, gradient = tl.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    tl.check_grads(f, (x,))
    v = np.array([0.4, 1.3]) if f is not by_pullback else 0.4
    _, slope = tl.jvp(f, (x,), (v,))
    assert slope == pytest.approx(np.sum(gradient * v), rel=1e-9)


def of_arguments(x, y, s):
    _, pull = tl.vjp(mul, x, y)
    a, b = pull(s)
    return a + np.real(b * np.conj(y))


def test_complex_arguments():
    """`y` and `s` are complex where the function is called, and nothing in it says so."""
    x, y, s, v = 0.7, 1.0 + 2.0j, 0.3 - 0.4j, 0.5 - 0.25j
    value, slope = tl.jvp(lambda y: of_arguments(x, y, s), (y,), (v,))
    ahead, behind = of_arguments(x, y + 1e-6 * v, s), of_arguments(x, y - 1e-6 * v, s)
    assert value == pytest.approx(of_arguments(x, y, s))
    assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-8)
    gradient = tl.grad(of_arguments, wrt=1)(x, y, s)
    assert np.real(np.conj(gradient) * v) == pytest.approx(slope, rel=1e-12)


def test_real_programs_have_no_conjugates():
    def f(x):
        return np.sum(tl.grad(lambda v: np.sum(v**3))(x) * x)

    assert "conj" not in tl.grad(f).source


def default_by_position(x, y=1.0 + 2.0j):
    return np.abs(x * y + x * x)


def default_from_outside(x, *, y=Z):
    return np.abs(x * y + x * x)


def helper_with_default(x, y=Z):
    return x * y


def default_of_a_helper(x):
    return np.abs(helper_with_default(x) + x * x)


def type_by_name(x):
    z = np.array([x, -x * x]).astype(np.cdouble)
    return np.sum(np.abs(np.sqrt(z) * x + z * z))


def type_by_code(x):
    z = np.zeros(2, "c16")
    z[0] = x
    z[1] = -x * x
    return np.sum(np.abs(np.sqrt(z) * x + z * z))


DEFAULTS = (
    *(default_by_position, default_from_outside, default_of_a_helper),
    *(type_by_name, type_by_code),
)


@pytest.mark.parametrize("f", DEFAULTS, ids=lambda f: f.__name__)
def test_complex_values_that_no_argument_brings(f):
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    assert tl.grad(f)(0.7) == pytest.approx(slope, rel=1e-8)
    assert tl.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-8)


def lists_of_both(a, b):
    b = np.maximum(b, -0.4)
    q = [a * 1j, b]
    q[1] = q[0] * 0.3
    c = np.tanh(q[1].imag)
    return np.sum(a * a) + b[0] + c[2]


def chosen_of_both(a, b):
    b = np.tanh(b)
    b[1:] *= a[1:]
    q = np.where(a > 0.1, a * 1j, b)
    return b[0] + np.sum(q.imag - q.real * 0.3)


def stacked(a, b):
    a = np.sin(a)
    b = b * a[0]
    b[1] = a[1]
    q = np.stack([b, a * 1j])
    return b[2] + np.sum(np.tanh(q.sum(axis=0).imag)) + a[0]


@pytest.mark.parametrize("program", [lists_of_both, chosen_of_both, stacked])
@pytest.mark.parametrize("told", [False, True])
def test_real_adjoints_take_the_real_part_of_what_comes_back(program, told):
    args = (np.array([0.3, 0.5, -0.2]), np.array([0.1, 0.7, 0.4]))
    wrt = (0, 1)
    gradient = tl.grad(program, wrt, example=args if told else None)
    for position, found in enumerate(gradient(*args)):
        for entry in range(3):
            up, down = [x.copy() for x in args], [x.copy() for x in args]
            up[position][entry] += 1e-6
            down[position][entry] -= 1e-6
            slope = (program(*up) - program(*down)) / 2e-6
            assert abs(found[entry] - slope) < 1e-7
    tl.check_grads(program, args, order=2)


def start_of_a_sum(x):
    return np.abs(sum(x, start=x[0] * (1.0 + 2.0j))) ** 2 * x[1]


def start_of_integers(x):
    return sum([1, 2], x[0]) * x[1]


def put_into_entries(x):
    y = np.zeros(3)
    y[...] = x[0] * x * 1j + x[1] * x
    return np.sum(y**2 * x)


def filled(x):
    return np.sum(np.full(3, x[0] * x[1] * (1.0 + 2.0j), dtype=float) ** 2 * x)


def cast(x):
    z = x[0] * x * (1.0 + 2.0j)
    return np.sum(z.astype(float) ** 2 * x) + np.cumsum(z, dtype=float)[1] ** 2 * x[2]


def result_given(x):
    y = np.zeros(3)
    np.multiply(x[0] * x * (1.0 + 2.0j), x, out=y, casting="unsafe")
    return np.sum(y**2 * x)


def missing(x):
    z = np.nan_to_num(x[0] * 1j * x, nan=x[0])
    return np.sum(z.real**2) + np.sum(z.imag**2)


def _begun(operation, masked=False):
    def program(x):
        y = operation(x[1:], initial=x[0] * x[1] * (1.0 + 2.0j) + x[2] ** 2 * 1j)
        return np.sum(y**2 * x)

    def of_some(x):
        start = x[0] * x[1] * (1.0 + 2.0j) + x[2] ** 2 * 1j
        return np.sum(operation(x[1:], where=[True, False], initial=start) ** 2 * x)

    return of_some if masked else program


DROPPED = (
    *(start_of_a_sum, start_of_integers, put_into_entries, filled, cast, result_given, missing),
    *(_begun(np.sum), _begun(np.sum, masked=True), _begun(np.nansum), _begun(np.prod)),
    *(_begun(np.prod, masked=True), _begun(np.nanprod), _begun(np.max), _begun(np.nanmin)),
)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("program", one_in(3, DROPPED))
def test_the_imaginary_part_that_numpy_drops_is_dropped_at_each_order(program):
    x, v = np.array([0.7, -0.4, 1.3]), np.array([0.3, 1.1, -0.6])

    def slope(x):
        return np.sum(tl.grad(program)(x) * v)

    tl.check_grads(program, (x,))
    differences = [(slope(x + step) - slope(x - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    second = tl.grad(slope)
    by_identity = second.__tangentlike__.derive().specialized_for((x,), {}).by_identity
    assert second(x) == pytest.approx(differences, rel=1e-6, abs=1e-7)
    assert by_identity.call((x,), {}) == pytest.approx(differences, rel=1e-6, abs=1e-7)
    forward = tl.jvp(slope, (x,), (v,))[1]
    assert forward == pytest.approx(np.dot(differences, v), rel=1e-6, abs=1e-7)


def test_a_key_of_a_dict_is_no_dtype() -> None:
    """`"D"` spells a complex dtype, and is what many call a diffusivity."""

    def diffused(p, u):
        return np.sum(p["D"] * np.roll(u, 1) ** 2 - u)

    def turned(p, u):
        z = np.array(p["D"] * u, "D")
        z[0] = z[0] * 1.0
        return np.sum(np.real(z * np.sqrt(np.asarray(-u, dtype="D"))))

    p, u = {"D": 0.3}, np.array([0.5, 1.2, 0.8])
    assert "real" not in tl.grad(diffused, wrt=(0, 1), example=(p, u)).source
    for f in (diffused, turned):
        tl.check_grads(f, (p, u), wrt=(0, 1))
