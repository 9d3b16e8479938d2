"""Rules of operators, elementwise functions, built-ins and `math`; the book that holds them."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from tests.rule_instance import adjoint, check, flat, instance_of, tangent

from tangentlike import ir, runtime
from tangentlike.emit import show
from tangentlike.errors import Place, TangentlikeError, UnsupportedError
from tangentlike.kind import FLOAT, Kind
from tangentlike.rules import (
    RuleBook,
    bind,
    default_book,
    nondifferentiable,
    register_array_module,
    rule,
)
from tangentlike.rules.linear import put_tangents
from tangentlike.rules.template import template_of

BOOK = default_book()
X, W = ir.Var("x"), ir.Var("w")


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


@pytest.mark.parametrize(("fn", "low", "high"), ONE_ARGUMENT, ids=lambda v: str(v))
def test_one_argument(fn, low, high):
    check(fn, vector(4, low, high))
    if fn is not list:
        check(fn, matrix(2, 3, low, high)[:, ::2])
    if fn not in (list, np.unwrap):
        check(fn, float(vector(1, low, high)[0]))


COMPLEX = [np.exp, np.log, np.sin, np.cos, np.tan, np.sqrt, np.tanh, np.square, np.reciprocal]
COMPLEX += [np.abs, np.real, np.imag, np.conj, np.angle, operator.neg, np.arctan, np.arccosh]
COMPLEX += [np.sign] if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else []


@pytest.mark.parametrize("fn", COMPLEX, ids=str)
def test_complex(fn):
    check(fn, complex_vector())


TWO_ARGUMENTS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod]
TWO_ARGUMENTS += [np.add, np.subtract, np.multiply, np.divide, np.hypot, np.arctan2, np.maximum]
TWO_ARGUMENTS += [np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.copysign]
TWO_ARGUMENTS += [np.fmod, np.remainder, np.divmod, operator.pow, np.power, np.float_power]
TWO_ARGUMENTS += [np.heaviside, np.nextafter]


@pytest.mark.parametrize("fn", TWO_ARGUMENTS, ids=str)
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


@pytest.mark.parametrize(("fn", "x"), MATH, ids=str)
def test_math(fn, x):
    check(fn, x)


MATH_TWO = [math.pow, math.atan2, math.hypot, math.fmod, math.copysign, math.remainder, math.log]


@pytest.mark.parametrize("fn", MATH_TWO, ids=str)
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
    (runtime.broadcast_like, vector(3), matrix(2, 3)),
    (runtime.broadcast_like, 0.4, matrix(2, 3)),
    (runtime.reciprocal_or_zero, vector()),
    (runtime.ratio_or_zero, vector(), vector(3, 0.3, 0.6)),
    (runtime.log_or_zero, vector(3, 0.3, 0.6)),
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


@pytest.mark.parametrize("fn", FLOAT32, ids=str)
def test_float32_stays_float32(fn):
    assert slopes_of(fn, vector(3, 0.2, 0.9).astype(np.float32))[0].dtype == np.float32


FLOAT32_TWO = [np.maximum, np.hypot, np.logaddexp, operator.pow, np.arctan2, operator.truediv]


@pytest.mark.parametrize("fn", FLOAT32_TWO, ids=str)
def test_float32_of_two_stays_float32(fn):
    x = vector(3, 0.2, 0.9).astype(np.float32)
    for other in (vector(3, 0.3, 0.8, seed=5).astype(np.float32), np.float32(0.7)):
        assert slopes_of(fn, x, other)[0].dtype == np.float32


def slopes_of(fn, *args):
    instance, env = instance_of(fn, args, {}, True)
    y = fn(*args)
    seed = np.ones_like(y)
    return [adjoint(instance, env, y, seed, p) for p in list(instance.arguments)[:1]]


# ------------------------------------------------------------------------- what is printed


def printed(fn, *args, kinds=None, param=None, text=None, **kwargs):
    call = ir.Call(ir.Ref(text or fn.__name__, fn), args, tuple(kwargs.items()))
    instance = bind(BOOK.find(fn), call, kinds or {})
    params = [param] if param else [p for p in instance.partials]
    expr = instance.adjoint(params[0])
    return None if expr is None else show(expr).replace("$", "")


SAME = {"x": Kind("array", "?", "x"), "w": Kind("array", "?", "x")}
TEXTS = [
    ((operator.pow, X, ir.Const(2)), "2.0 * y_bar * x"),
    ((operator.pow, X, ir.Const(3)), "3.0 * y_bar * x**2"),
    ((operator.pow, X, ir.Const(0.5)), "0.5 * y_bar / y"),
    ((operator.pow, X, ir.Const(1)), "y_bar"),
    ((operator.pow, X, ir.Const(0)), None),
    ((operator.pow, X, ir.Const(1.1)), "1.1 * y_bar * x**0.1"),
    ((np.tanh, X), "y_bar * (1.0 - y * y)"),
    ((np.exp, X), "y_bar * y"),
    ((np.sqrt, X), "0.5 * y_bar / y"),
    ((np.log, X), "y_bar / x"),
    ((np.cos, X), "-(y_bar * np.sin(x))"),
    ((operator.mul, X, W), "y_bar * w"),
    ((operator.truediv, X, W), "y_bar / w"),
    ((operator.add, X, W), "y_bar"),
    ((operator.mul, X, ir.Const(3.0)), "3.0 * y_bar"),
    ((np.maximum, X, ir.Const(0.0)), "y_bar * np.heaviside(x, 0.5)"),
]


@pytest.mark.parametrize(("call", "text"), TEXTS, ids=lambda v: str(v)[:20])
def test_adjoint_reads_as_a_person_writes_it(call, text):
    assert printed(*call, kinds=SAME) == text


def test_unknown_shapes_are_summed_at_run_time():
    assert printed(operator.mul, X, W) == "unbroadcast(y_bar * w, x)"
    assert printed(operator.mul, X, W, kinds={"w": FLOAT}) == "y_bar * w"


def test_complex_partials_are_conjugated():
    kinds = {"x": Kind("array", "complex", "x")}
    assert printed(np.exp, X, kinds=kinds) == "y_bar * np.conj(y)"
    call = ir.Call(ir.Ref("exp", np.exp), (X,))
    careful = bind(BOOK.find(np.exp), call, {}, real=False)
    assert show(careful.adjoint("x")).replace("$", "") == "y_bar * np.conj(y)"


def test_module_is_spelled_as_in_the_call():
    call = ir.Call(ir.Ref("xp.cos", np.cos), (X,))
    instance = bind(BOOK.find(np.cos), call, {}, alias="xp")
    assert show(instance.adjoint("x")).replace("$", "") == "-(y_bar * xp.sin(x))"


def forward(fn, *args, dots, kinds=None):
    instance = bind(BOOK.find(fn), ir.Call(ir.Ref(fn.__name__, fn), args), kinds or {})
    expr = instance.tangent_with(dots)
    return None if expr is None else show(expr).replace("$", "")


def test_tangents_of_constants_are_folded():
    x_dot, w_dot = ir.Var("x_dot"), ir.Var("w_dot")
    assert forward(operator.mul, X, W, dots={"a": x_dot}) == "w * x_dot"
    assert forward(operator.sub, X, W, dots={"a": None, "b": w_dot}) == "-w_dot"
    assert forward(operator.sub, X, W, dots={"a": x_dot, "b": w_dot}) == "x_dot - w_dot"
    assert forward(np.sin, X, dots={"x": x_dot}) == "np.cos(x) * x_dot"
    assert forward(np.sin, X, dots={}) is None


def test_zero_tangents_inside_calls_are_zeros_of_the_argument():
    book = RuleBook()

    @rule(np.concatenate, book=book)
    def concatenate(y, a, b):
        y_dot = np.concatenate([a_dot, b_dot])

    @rule(np.where, book=book)
    def where(y, c, a, b):
        y_dot = np.where(c, a_dot, b_dot)

    call = ir.Call(ir.Ref("np.concatenate", np.concatenate), (X, W))
    found = bind(book.find(np.concatenate), call, {})
    with pytest.raises(UnsupportedError):
        found.tangent_with({"a": X})
    text = show(put_tangents(found.tangent, {"a": ir.Var("x_dot")}, found.arguments))
    assert text == "np.concatenate([x_dot, zeros_like(w)])"


# ------------------------------------------------------------------------------- the book


def test_every_rule_can_be_read():
    for _, entry in BOOK.rules():
        if not entry.builder:
            template_of(entry)


def test_every_runtime_function_that_is_emitted_has_a_rule():
    for name in runtime.__all__:
        obj = getattr(runtime, name)
        # `conj` marks what a template decides, `add_at` stands as a statement.
        if name in ("add_at", "conj") or obj.__module__.rpartition(".")[2] not in CORE:
            continue
        assert BOOK.find(obj) or BOOK.is_nondifferentiable(obj), name


CORE = ("broadcasting", "complex_numbers", "kinks", "mutation", "sequences", "special")


def test_aliases_and_in_place_operators():
    assert BOOK.find(np.multiply) is BOOK.find(operator.mul) is BOOK.find(operator.imul)
    assert BOOK.find(np.absolute) is BOOK.find(abs)
    assert BOOK.find(np.power) is BOOK.find(pow)
    assert BOOK.find([1, 2]) is None and BOOK.find(np.ones(2)) is None
    assert BOOK.find_attribute("real") is BOOK.find(np.real)
    assert BOOK.is_nondifferentiable(operator.lt) and BOOK.is_constant_attribute("shape")
    clip = ir.Call(ir.Attribute(X, "clip"), (ir.Const(0.0), ir.Const(1.0)))
    assert BOOK.find_call(clip) is BOOK.find(np.clip)
    assert show(bind(BOOK.find_call(clip), clip, {}).partials["a"]) == "(x >= 0.0) & (x <= 1.0)"


def test_a_second_rule_is_refused_unless_it_overrides():
    def half(x):
        return 0.5 * x

    book = RuleBook()

    @rule(half, book=book)
    def halves(y, x):
        dy_dx = 0.5

    with pytest.raises(TangentlikeError, match="half has a rule already"):
        rule(half, book=book)(halves)
    rule(half, book=book, override=True)(halves)
    both = BOOK | book
    assert both.find(half) is book.find(half) and both.find(np.tanh) is BOOK.find(np.tanh)
    assert BOOK.find(half) is None


def test_names_that_do_not_exist_are_skipped():
    book = RuleBook()

    @rule("numpy.surely_not_there", "numpy.tanh", book=book)
    def tanh(y, x):
        dy_dx = 1.0 - y * y

    assert book.find(np.tanh) is not None


def test_libraries_imported_later_are_found():
    import sys
    from types import ModuleType

    book = RuleBook()

    @rule("later_library.twice", book=book)
    def twice(y, x):
        dy_dx = 2.0

    library = ModuleType("later_library")
    library.twice = lambda x: 2 * x
    assert book.find(library.twice) is None
    sys.modules["later_library"] = library
    try:
        assert book.find(library.twice).name == "later_library.twice"
    finally:
        del sys.modules["later_library"]


def test_mirrors_of_numpy_share_its_rules():
    mirror = SimpleNamespace(
        tanh=lambda x: np.tanh(x), cos=lambda x: np.cos(x), sin=lambda x: np.sin(x)
    )
    register_array_module(mirror)
    assert BOOK.find(mirror.tanh) is BOOK.find(np.tanh)
    call = ir.Call(ir.Ref("cp.cos", mirror.cos), (X,))
    found = bind(BOOK.find(mirror.cos), call, {}, alias="cp").adjoint("x")
    sine = next(e for e in ir.walk(found) if isinstance(e, ir.Ref) and e.text == "cp.sin")
    assert sine.obj is mirror.sin


def test_arguments_without_rule_are_refused_at_the_call():
    place = Place("model.py", 7, "y = np.tanh(x, out=z)", 4, 16)
    call = ir.Call(ir.Ref("np.tanh", np.tanh), (X,), (("out", W),), at=place)
    with pytest.raises(UnsupportedError) as error:
        bind(BOOK.find(np.tanh), call, {})
    assert "model.py:7" in str(error.value) and "`out`" in str(error.value)
    assert "^^^^" in str(error.value) and "tl.rule" in str(error.value)


def test_an_active_argument_without_line_is_refused():
    call = ir.Call(ir.Ref("np.nan_to_num", np.nan_to_num), (X,), (("posinf", W),))
    instance = bind(BOOK.find(np.nan_to_num), call, {})
    with pytest.raises(UnsupportedError, match="posinf"):
        instance.adjoint("posinf")


MALFORMED = {
    "both_forms": "a tangent and adjoints, not both",
    "unknown_name": "`nonsense` is no parameter",
    "wrong_parameter": "belongs to no parameter",
    "stated_twice": "stated twice",
    "a_loop": "only assignments",
    "no_parameter": "first parameter",
    "asks_wrongly": "cannot ask about `z`",
}


def both_forms(y, x):
    dy_dx = 1.0
    x_bar = y_bar


def unknown_name(y, x):
    dy_dx = nonsense * x


def wrong_parameter(y, x):
    z_bar = y_bar


def stated_twice(y, x):
    dy_dx = 1.0
    dy_dx = 2.0


def a_loop(y, x):
    for i in range(3):
        pass


def no_parameter():
    pass


def asks_wrongly(y, x):
    if z is None:
        dy_dx = 1.0


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_rules_say_file_and_line(name):
    book = RuleBook()
    fn = globals()[name]
    rule(np.tanh, book=book)(fn)
    with pytest.raises(TangentlikeError) as error:
        template_of(book.find(np.tanh))
    assert MALFORMED[name] in str(error.value)
    assert f"{__file__}:" in str(error.value)
    assert error.value.place.line >= fn.__code__.co_firstlineno


def test_branches_builders_and_operands():
    book = RuleBook()

    @rule(np.sum, book=book)
    def total(y, x, axis=None, keepdims=False):
        y_dot = np.sum(x_dot, axis, keepdims=keepdims)
        if axis is None:
            x_bar = broadcast_like(y_bar, x)
        elif rank(x) == 2 and axis == 0:
            x_bar = np.broadcast_to(y_bar, x.shape)
        else:
            x_bar = y_bar[:, None]

    @rule(np.multiply, builder=True, book=book)
    def product(call, kind_of):
        return "def product(y, *xs):\n    xs_bar = first(y_bar)\n    y_dot = sum(xs_dot)\n".replace(
            "first", "list"
        )

    def adjoint_text(kinds, *args):
        call = ir.Call(ir.Ref("np.sum", np.sum), args)
        return show(bind(book.find(np.sum), call, kinds).adjoint("x")).replace("$", "")

    assert adjoint_text({}, X) == "broadcast_like(y_bar, x)"
    plane = {"x": Kind("array", "float", (None, None))}
    assert adjoint_text(plane, X, ir.Const(0)) == "np.broadcast_to(y_bar, x.shape)"
    assert adjoint_text({}, X, ir.Const(0)) == "y_bar[:, None]"
    assert adjoint_text({}, X, W) == "y_bar[:, None]"
    call = ir.Call(ir.Ref("np.sum", np.sum), (X,))
    assert show(bind(book.find(np.sum), call, {}).tangent_with({"x": W})) == "np.sum(w)"

    call = ir.Call(ir.Ref("np.multiply", np.multiply), (X, W))
    found = bind(book.find(np.multiply), call, {})
    assert list(found.arguments) == ["xs0", "xs1"]
    assert show(found.adjoint("xs1")).replace("$", "") == "xs_bar[1]"
    (name, value), = found.temporaries_for(found.adjoint("xs1"))
    assert (name, show(value).replace("$", "")) == ("$xs_bar", "list(y_bar)")
    assert show(found.tangent_with({"xs0": X, "xs1": W})) == "sum((x, w))"


def test_nondifferentiable_by_users():
    book = RuleBook()
    nondifferentiable(np.tanh, book=book)
    assert book.is_nondifferentiable(np.tanh) and not book.is_nondifferentiable(np.sin)


# ---------------------------------------------------------------------- kinds of results

ARRAY = Kind("array", "float", ("n", "m"))
KINDS = [
    (np.exp, (X,), {"x": ARRAY}, ARRAY),
    (operator.mul, (X, ir.Const(2.0)), {"x": ARRAY}, ARRAY),
    (operator.mul, (X, W), {"x": FLOAT, "w": FLOAT}, FLOAT),
    (operator.add, (X, W), {"x": ARRAY, "w": Kind("array", "float", ("m",))}, ARRAY),
    (operator.add, (X, W), {"x": ARRAY, "w": Kind("array", "complex", (1,))},
     Kind("array", "complex", ("n", "m"))),
    (operator.truediv, (ir.Const(1), ir.Const(2)), {}, FLOAT),
    (operator.lt, (X, ir.Const(0)), {"x": ARRAY}, Kind("array", "bool", ("n", "m"))),
    (operator.mul, (X, ir.Const(2.0)), {"x": Kind("array", "?", "x")}, Kind("value", "?", "x")),
    (np.clip, (X, ir.Const(None), ir.Const(1.0)), {"x": ARRAY}, ARRAY),
    (math.sin, (X,), {}, FLOAT),
    (len, (X,), {}, Kind("number", "int", ())),
    (np.abs, (X,), {"x": Kind("array", "complex", ("n",))}, Kind("array", "float", ("n",))),
]


@pytest.mark.parametrize(("fn", "args", "kinds", "expected"), KINDS, ids=str)
def test_result_kinds(fn, args, kinds, expected):
    from tangentlike.rules.bind import as_kind_of

    call = ir.Call(ir.Ref(fn.__name__, fn), args)
    assert BOOK.result_kind(call, as_kind_of(kinds)) == expected


# -------------------------------------------------------------------------- runtime core


def test_unbroadcast():
    g = np.ones((2, 3))
    assert runtime.unbroadcast(g, g * 2) is g
    assert runtime.unbroadcast(1.5, 2.0) == 1.5
    assert runtime.unbroadcast(g, 2.0) == 6.0 and type(runtime.unbroadcast(g, 2.0)) is float
    assert runtime.unbroadcast(g, np.ones(3)).tolist() == [2, 2, 2]
    assert runtime.unbroadcast(g, np.ones((2, 1))).tolist() == [[3], [3]]
    assert runtime.unbroadcast(g, np.ones((1, 3))).shape == (1, 3)
    assert isinstance(runtime.unbroadcast(g, np.array(1.0)), np.ndarray)
    assert runtime.unbroadcast(g, np.ones(3, np.float32)).dtype == np.float32
    assert runtime.unbroadcast(g + 1j, np.ones(3)).dtype == float
    assert runtime.unbroadcast(2 + 1j, 1.0) == 2.0
    assert runtime.unbroadcast(np.arange(3.0), [1.0, 2.0, 3.0]) == [0, 1, 2]
    assert type(runtime.unbroadcast(g, np.float32(1))) is np.float32
    with pytest.raises(TypeError, match="list"):
        runtime.unbroadcast([1.0], 2.0)
    with pytest.raises(ValueError, match="does not fit"):
        runtime.unbroadcast(1.0, g)


def test_zeros_and_ones_follow_structure():
    x = {"w": np.ones((2, 2), np.float32), "b": [1.0, 2], "n": (3, "text"), "i": np.arange(2)}
    zero = runtime.zeros_like(x)
    assert zero["w"].dtype == np.float32 and zero["b"] == [0.0, 0.0] and zero["n"] == [0.0, 0.0]
    assert zero["i"].dtype == float
    assert runtime.ones_like([2.0, np.zeros(2)])[1].tolist() == [1, 1]
    assert runtime.accumulate(zero, runtime.ones_like(x))["b"] == [1.0, 1.0]


def test_scalar_seed():
    assert runtime.scalar_seed(2.0) == 1.0
    assert runtime.scalar_seed(np.float32(2)).dtype == np.float32
    assert runtime.scalar_seed(np.array(2.0)).shape == ()
    for wrong, word in ((np.ones(3), r"\(3,\)"), (1j, "complex"), ([1.0], "list")):
        with pytest.raises(ValueError, match=word):
            runtime.scalar_seed(wrong)


def test_add_at_counts_repeats():
    x_bar = np.zeros(4)
    runtime.add_at(x_bar, np.array([1, 1, -1]), np.array([1.0, 2.0, 4.0]))
    assert x_bar.tolist() == [0, 3, 0, 4]
    table = np.zeros((3, 2, 2))
    rows = np.array([[0, 2], [-1, 0]])
    g = np.arange(16.0).reshape(2, 2, 2, 2)
    expected = table.copy()
    np.add.at(expected, rows, g)
    assert np.array_equal(runtime.add_at(table, rows, g), expected)
    assert runtime.add_at({"a": 1.0}, "a", 2.0) == {"a": 3.0}
    assert runtime.add_at(np.zeros((2, 2)), (slice(None), 0), 1.0).tolist() == [[1, 0], [1, 0]]
    assert runtime.add_at(np.zeros(3), np.array([True, False, True]), 1.0).tolist() == [1, 0, 1]
    twice = runtime.add_at(np.zeros((2, 3)), (slice(None), [0, 0]), np.ones((2, 2)))
    assert twice.tolist() == [[2, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::2],
        lambda a: a[:, ::-1],
        lambda a: a[::-2, 1:],
        lambda a: a[:, 1],
    ],
)
def test_copies_keep_the_layout(view):
    x = view(np.arange(24.0).reshape(6, 4))
    y = runtime.copy(x)
    assert np.array_equal(x, y) and x.strides == y.strides and not np.shares_memory(x, y)
    assert np.shares_memory(x.ravel(), x) == np.shares_memory(y.ravel(), y)
