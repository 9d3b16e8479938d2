"""Derivatives of operators, elementwise functions, built-ins, `math` and our runtime."""

from __future__ import annotations

import cmath
import itertools
import math
import operator
import sys
import warnings

import numpy as np
import pytest

import tangentlike as tl
from tangentlike import ir, runtime
from tangentlike.rules import default_book
from tests.rule_instance import adjoint, check, flat, instance_of, tangent


def shown(value: object) -> str:
    """A test's name must be the same in every process: functions without their addresses."""
    return getattr(value, "__name__", None) or str(value)


BOOK = default_book()


def vector(n: int = 3, low: float = -1.0, high: float = 1.0, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, n)


def matrix(m: int, n: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return np.random.default_rng(2).uniform(low, high, (m, n))


def complex_vector(n: int = 3) -> np.ndarray:
    return vector(n) + 1j * vector(n, seed=7)


# ------------------------------------------------------------------ derivatives by numbers

ONE_ARGUMENT = [
    *[(f, -0.9, 0.9) for f in (np.exp, np.exp2, np.expm1, np.sin, np.cos, np.tan, np.arctan)],
    *[(f, -0.9, 0.9) for f in (np.sinh, np.cosh, np.tanh, np.arcsinh, np.arcsin, np.arccos)],
    *[(f, 0.2, 0.9) for f in (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt)],
    *[(f, 0.2, 0.9) for f in (np.reciprocal, np.square, np.arctanh, np.abs, np.fabs)],
    *[(f, 1.2, 1.9) for f in (np.arccosh, operator.neg, operator.pos, np.negative, np.positive)],
    *[(f, -2.9, 2.9) for f in (np.sinc, np.deg2rad, np.rad2deg, np.sign, np.conj, np.real)],
    *[(f, -2.9, 2.9) for f in (np.imag, np.angle, np.nan_to_num, np.modf, np.frexp, abs)],
    *[(f, 0.2, 2.9) for f in (np.float64, list, np.unwrap, np.degrees, np.radians)],
]


@pytest.mark.parametrize(("fn", "low", "high"), ONE_ARGUMENT, ids=shown)
def test_one_argument(fn, low, high):
    check(fn, vector(4, low, high))
    if fn is not list:
        check(fn, matrix(2, 3, low, high)[:, ::2])
    if fn not in (list, np.unwrap):
        check(fn, float(vector(1, low, high)[0]))


COMPLEX = [np.exp, np.log, np.sin, np.cos, np.tan, np.sqrt, np.tanh, np.square, np.reciprocal]
COMPLEX += [np.abs, np.real, np.imag, np.conj, np.angle, operator.neg, np.arctan, np.arccosh]
COMPLEX += [np.sign] if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else []


@pytest.mark.parametrize("fn", COMPLEX, ids=shown)
def test_complex(fn):
    check(fn, complex_vector())


TWO_ARGUMENTS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod]
TWO_ARGUMENTS += [np.add, np.subtract, np.multiply, np.divide, np.hypot, np.arctan2, np.maximum]
TWO_ARGUMENTS += [np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.copysign]
TWO_ARGUMENTS += [np.fmod, np.remainder, np.divmod, operator.pow, np.power, np.float_power]
TWO_ARGUMENTS += [np.heaviside, np.nextafter]


@pytest.mark.parametrize("fn", TWO_ARGUMENTS, ids=shown)
def test_two_arguments_broadcast(fn):
    values = (
        float(vector(1, 0.5, 1.0)[0]),
        vector(3, 0.5, 1.0, seed=3),
        matrix(2, 3, 1.1, 1.4),
        matrix(2, 1, 0.31, 0.4),
        np.array(0.77),
    )
    for a, b in itertools.product(values, values):
        if a is not b:
            check(fn, a, b)


@pytest.mark.parametrize("fn", [operator.add, operator.mul, operator.truediv, operator.sub])
def test_real_meets_complex(fn):
    check(fn, vector(), complex_vector())
    check(fn, complex_vector(), vector())
    check(fn, vector(), 1.5 + 2j)
    check(fn, 1.3, complex_vector())


@pytest.mark.parametrize("p", [0, 1, 2, 3, 4, 0.5, 1.5, -1, -2, -0.3, 2.0, 3.0, 0.3])
def test_power_of_literal_exponent(p):
    check(operator.pow, vector(3, 0.4, 1.6), p)
    check(operator.pow, float(vector(1, 0.4, 1.6)[0]), p)
    if p == int(p):
        check(operator.pow, vector(3, -1.6, -0.4), p)
        with np.errstate(invalid="ignore"):  # no derivative by the exponent there
            check(np.power, vector(3, -1.6, -0.4), float(p))


def test_power_of_literal_base():
    check(operator.pow, 2.0, vector())


CLIP = [(-0.5, 0.5), (None, 0.3), (-0.3, None), (0.5, -0.5)]


@pytest.mark.parametrize(("low", "high"), CLIP)
def test_clip(low, high):
    check(np.clip, vector(5), low, high)
    check(np.clip, vector(5), low, high if high is None else np.float64(high))


def test_clip_by_arrays():
    check(np.clip, matrix(4, 3), vector(3, -0.5, -0.2), matrix(4, 1, 0.2, 0.5))


MATH = [
    *[(f, 0.6) for f in (math.exp, math.expm1, math.log, math.log2, math.log10, math.log1p)],
    *[(f, 0.6) for f in (math.sqrt, math.sin, math.cos, math.tan, math.asin, math.acos)],
    *[(f, 0.6) for f in (math.atan, math.sinh, math.cosh, math.tanh, math.asinh, math.atanh)],
    *[(f, -0.6) for f in (math.radians, math.degrees, math.fabs, math.erf, math.erfc)],
    *[(f, 1.6) for f in (math.acosh, math.gamma, math.lgamma, math.modf, math.frexp, float)],
    *[(f, -1.4) for f in (math.gamma, math.lgamma, abs)],
    *[(getattr(math, f), 0.6) for f in ("exp2", "cbrt") if hasattr(math, f)],
]


@pytest.mark.parametrize(("fn", "x"), MATH, ids=shown)
def test_math(fn, x):
    check(fn, x)


def by_modulus_and_phase(a, b):
    z = cmath.log(complex(a, b)) * cmath.rect(a, b) + cmath.sqrt(a - 2.0)
    return cmath.phase(z) * z.real + cmath.atanh(3.0 * a).imag * b + cmath.acos(b - 2.0).real


@pytest.mark.parametrize("name", ["exp", "log10", "sin", "cos", "tan", "asin", "acos", "atan"])
def test_complex_math(name):
    """(With the inverses and the hyperbolic ones. Refused before.)"""
    first = getattr(cmath, name)
    other = getattr(cmath, {"exp": "tanh", "log10": "sqrt"}.get(name, f"{name}h"))

    def f(a, b):
        w = first(complex(a, b)) * other(a * b)
        return w.real * a + w.imag * b

    tl.check_grads(f, (0.6, 0.8), order=2)
    tl.check_grads(by_modulus_and_phase, (0.6, 0.8), order=2)


MATH_TWO = [math.pow, math.atan2, math.hypot, math.fmod, math.copysign, math.remainder, math.log]


@pytest.mark.parametrize("fn", MATH_TWO, ids=shown)
def test_math_of_two(fn):
    check(fn, 1.7, 0.6)


SEQUENCES = [
    (sum, [1.0, 2.5, -1.0]),
    (sum, [np.ones(3), matrix(2, 3), 2.0]),
    (sum, vector(4)),
    (sum, matrix(3, 2)),
    (sum, [1.0, 2.0], 0.5),
    (max, [1.0, 3.0, 2.0]),
    (min, [1.0, 3.0, 2.0]),
    (max, vector(4)),
    (max, 1.0, 2.0),
    (min, 1.0, 2.0),
    (max, 1.0, 4.0, 2.0),
    (min, 1.0, 4.0, 2.0),
    (math.fsum, [1.0, 2.0]),
    (math.prod, [1.5, 2.0, -3.0]),
    (math.prod, [1.5, 0.0, -3.0]),
    (math.prod, [1.5, 0.0, 0.0]),
    (math.dist, [1.0, 2.0], [0.5, -1.0]),
    (math.hypot, 1.0, 2.0, 3.0),
    (math.hypot, 1.5),
    (operator.add, [1.0, 2.0], [3.0]),
    (operator.mul, [1.0, 2.0], 3),
    (list, [1.0, 2.0]),
    (complex, 1.0, 2.0),
    (np.ldexp, vector(), 3),
    (math.ldexp, 0.3, 3),
]
if sys.version_info >= (3, 12):
    SEQUENCES.append((math.sumprod, [1.0, 2.5, -1.0], [0.5, 0.0, 2.0]))
if sys.version_info >= (3, 13):
    SEQUENCES.append((math.fma, 1.5, -2.0, 0.5))


@pytest.mark.parametrize("case", SEQUENCES, ids=lambda c: f"{c[0].__name__}")
def test_sequences(case):
    if case[0] in (operator.add, operator.mul):  # lists are known by their kinds only
        instance, env = instance_of(case[0], case[1:], {}, True)
        y = case[0](*case[1:])
        y_bar = [float(i) for i in range(len(y))]
        parts = [adjoint(instance, env, y, y_bar, p) for p in ("a", "b")[: len(env)]]
        assert parts == ([[0.0, 1.0], [2.0]] if case[0] is operator.add else [[6.0, 9.0]])
        return
    check(*case)


RUNTIME = [
    (runtime.unbroadcast, matrix(2, 3), vector(3)),
    (runtime.part_like, matrix(2, 3), vector(3)),
    (runtime.part_like, [1.0, 2.0], [0.0, 0.0]),
    (runtime.broadcast_like, vector(3), matrix(2, 3)),
    (runtime.broadcast_like, 0.4, matrix(2, 3)),
    (runtime.reciprocal_or_zero, vector()),
    (runtime.ratio_or_zero, vector(), vector(3, 0.3, 0.6)),
    (runtime.log_or_zero, vector(3, 0.3, 0.6)),
    (runtime.times_log, vector(), vector(), vector(3, 0.3, 0.6)),
    (runtime.power_slope, vector(3, 0.3, 0.6), vector(3, 1.3, 1.6)),
    (runtime.exp_of_difference, vector(), vector(3, 1.0, 2.0)),
    (runtime.sinc_derivative, vector(4, -2.0, 2.0), 1),
    (runtime.sinc_derivative, vector(4, -2.0, 2.0), 4),
    (runtime.adjoint_of_real, vector(), vector()),
    (runtime.adjoint_of_real, vector(), complex_vector()),
    (runtime.adjoint_of_imag, vector(), complex_vector()),
    (runtime.dot_items, [1.0, 2.0], [3.0, 0.5]),
    (runtime.scale_items, 0.7, [3.0, 0.5]),
    (runtime.accumulate, [1.0, 2.0], [3.0, 0.5]),
    (runtime.copy, vector()),
    (runtime.sum_items_bar, vector(3), [vector(3), 2.0]),
    (runtime.join_items, [1.0, 2.0], vector(2)),
    (runtime.products_of_others, [1.0, 2.0, 0.0], 2.0),
    (runtime.difference_over, [1.0, 2.0], [0.5, 0.0], 2.0),
    (runtime.add_repeats, [1.0, 2.0, 3.0, 4.0], [0.0, 0.0]),
]


@pytest.mark.parametrize("case", RUNTIME, ids=lambda c: f"{c[0].__name__}")
def test_runtime_functions_have_rules(case):
    structural = (runtime.unbroadcast, runtime.broadcast_like, runtime.adjoint_of_real)
    structural += (runtime.part_like,)
    structural += (runtime.adjoint_of_imag, runtime.sum_items_bar, runtime.join_items)
    if case[0] in (*structural, runtime.add_repeats):  # the last argument gives the shape only
        fn, *args, like = case
        instance, env = instance_of(fn, (*args, like), {}, True)
        first = next(iter(instance.arguments))
        y = fn(*args, like)
        y_dot = tangent(instance, env, y, {first: args[0]})
        np.testing.assert_allclose(_numbers(y_dot), _numbers(y))
        g = adjoint(instance, env, y, y, first)
        dot = _numbers(args[0]) @ _numbers(g)
        np.testing.assert_allclose(dot, _numbers(y) @ _numbers(y))
        assert adjoint(instance, env, y, y, list(instance.arguments)[1]) is None
        return
    check(*case)


def _numbers(value):
    return flat(value)


def test_polygamma_agrees_with_scipy():
    special = pytest.importorskip("scipy.special")
    for order, x in itertools.product(range(4), (0.1, 1.0, 5.5, 30.0, -0.5, -7.3)):
        expected = float(special.digamma(x) if order == 0 else 0.0)
        if order and x > 0:
            expected = float(special.polygamma(order, x))
        if order == 0 or x > 0:
            assert math.isclose(runtime.polygamma(order, x), expected, rel_tol=1e-11)
    assert math.isnan(runtime.polygamma(0, -2.0))


# ----------------------------------------------------------------------------- the kinks


def slopes(fn, *args, **kwargs):
    """All adjoints of a call for the seed 1, without any warning."""
    instance, env = instance_of(fn, args, kwargs, True)
    y = fn(*args, **kwargs)
    seed = np.ones_like(y) if isinstance(y, np.ndarray) else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [
            adjoint(instance, env, y, seed, p)
            for p, a in instance.arguments.items()
            if isinstance(a, ir.Var)
        ]


def test_kinks():
    zero = np.array([0.0])
    one = np.array([1.0])
    assert slopes(np.abs, zero)[0] == 0
    assert slopes(abs, 0.0)[0] == 0
    assert slopes(math.fabs, 0.0)[0] == 0
    assert [float(s[0]) for s in slopes(np.maximum, one, one)] == [0.5, 0.5]
    assert [float(s[0]) for s in slopes(np.minimum, one, one)] == [0.5, 0.5]
    assert slopes(np.maximum, zero, 0.0)[0] == 0.5
    assert slopes(max, 1.0, 1.0) == [0.5, 0.5]
    assert slopes(max, 1.0, 1.0, 0.0) == [0.5, 0.5, 0.0]
    assert slopes(max, [1.0, 1.0, 0.0]) == [[0.5, 0.5, 0.0]]
    assert float(slopes(np.clip, one, 0.0, 1.0)[0][0]) == 1.0
    assert [float(s[0]) for s in slopes(np.hypot, zero, zero)] == [0, 0]
    assert [float(s[0]) for s in slopes(np.arctan2, zero, zero)] == [0, 0]
    assert slopes(math.atan2, 0.0, 0.0) == [0, 0]
    assert slopes(math.hypot, 0.0, 0.0) == [0, 0]
    assert slopes(np.sinc, zero)[0] == 0
    assert slopes(math.dist, [1.0], [1.0]) == [[0.0], [0.0]]
    assert slopes(np.angle, np.array([0j]))[0] == 0
    assert slopes(np.abs, np.array([0j]))[0] == 0


def test_powers_at_the_edges():
    zero = np.array([0.0])
    assert slopes(operator.pow, zero, zero) == [0, 0]
    assert slopes(operator.pow, zero, np.array([2.0])) == [0, 0]
    assert slopes(operator.pow, zero, np.array([1.0])) == [1, 0]
    assert slopes(operator.pow, 0.0, 0.0) == [0, 0]
    dx, dp = slopes(operator.pow, np.array([-2.0]), np.array([3.0]))
    assert dx == 12.0 and np.isnan(dp)
    assert slopes(operator.pow, zero, 1.5)[0] == 0
    with np.errstate(divide="ignore"):
        assert np.isposinf(slopes(np.sqrt, zero)[0])
        assert np.isposinf(slopes(operator.pow, zero, 0.5)[0])


def test_logaddexp_at_infinity():
    inf = np.array([np.inf])
    assert [float(s[0]) for s in slopes(np.logaddexp, -inf, -inf)] == [0.5, 0.5]
    assert [float(s[0]) for s in slopes(np.logaddexp, inf, np.array([1.0]))] == [1.0, 0.0]
    assert [float(s[0]) for s in slopes(np.logaddexp, -inf, np.array([1.0]))] == [0.0, 1.0]


def test_nan_loses_against_numbers():
    nan, one = np.array([np.nan]), np.array([1.0])
    assert [float(s[0]) for s in slopes(np.fmax, nan, one)] == [0.0, 1.0]
    assert [float(s[0]) for s in slopes(np.fmin, one, nan)] == [1.0, 0.0]
    assert slopes(np.nan_to_num, nan)[0] == 0


FLOAT32 = [np.exp, np.log, np.sqrt, np.tanh, np.abs, np.log2, np.sinc, np.square, np.reciprocal]


@pytest.mark.parametrize("fn", FLOAT32, ids=shown)
def test_float32_stays_float32(fn):
    assert slopes_of(fn, vector(3, 0.2, 0.9).astype(np.float32))[0].dtype == np.float32


FLOAT32_TWO = [np.maximum, np.hypot, np.logaddexp, operator.pow, np.arctan2, operator.truediv]


@pytest.mark.parametrize("fn", FLOAT32_TWO, ids=shown)
def test_float32_of_two_stays_float32(fn):
    x = vector(3, 0.2, 0.9).astype(np.float32)
    for other in (vector(3, 0.3, 0.8, seed=5).astype(np.float32), np.float32(0.7)):
        assert slopes_of(fn, x, other)[0].dtype == np.float32


def slopes_of(fn, *args):
    instance, env = instance_of(fn, args, {}, True)
    y = fn(*args)
    seed = np.ones_like(y)
    return [adjoint(instance, env, y, seed, p) for p in list(instance.arguments)[:1]]


def test_every_runtime_function_that_is_emitted_has_a_rule():
    emitted = {name: obj for name, obj in vars(runtime).items() if callable(obj)}
    for name, obj in emitted.items():
        if name in STATEMENTS or obj.__module__.rpartition(".")[2] not in CORE:
            continue
        assert BOOK.find(obj) or BOOK.is_nondifferentiable(obj), name


CORE = ("broadcasting", "containers", "kinks", "mutation")
# What stands as a statement; `conj` marks what a template decides.
STATEMENTS = ("add_at", "conj", "put_contents", "put_inside", "put_item", "update_in_place")
STATEMENTS += ("restore_entry", "saved_entry")
STATEMENTS += ("store_in_frozen",)  # (in the text that runs, which no derivative is made of)
STATEMENTS += ("ExplicitDefaults", "existing_entry")  # (a class of dicts, and a function to read)
