"""What is said of a result, before anything runs, is what NumPy gives: a number or an array, and of
which rank. (`u = np.zeros_like(0.5)` is an array, which other names of it share.)"""

from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy

import tangentlike as tl
from tangentlike import ir
from tangentlike.analysis.kind_of import kind_of
from tangentlike.analysis.kinds import infer_kinds
from tangentlike.frontend.lower import lower_nested, program
from tangentlike.ir.kind import Kind
from tangentlike.rules.book import default_book
from tangentlike.testing import check_grads

BOOK = default_book()
VALUES = {
    "number": 0.7,
    "NumPy number": np.float64(0.7),
    "rank 0": np.array(0.7),
    "complex": np.array(0.7 + 0.2j),
    "one": np.array([0.7]),
    "vector": np.array([0.7, 0.3, 0.4]),
    "matrix": np.array([[0.7, 0.2], [0.3, 0.9]]),
}
_DTYPES = {"f": "float", "c": "complex"}
# (polynomials, for vectors of coefficients, and what is not asked for numbers)
_APART = {"polyder", "polyadd", "polysub", "polyint", "polyval", "trim_zeros", "unique", "i0"}
_FILES = ("save", "load", "fromfile", "show", "test", "info", "set", "print")
NAMES = [
    name
    for name in dir(np)
    if callable(getattr(np, name))
    and not isinstance(getattr(np, name), type)
    and name not in _APART
    and not name.startswith(_FILES)
]
METHODS = [
    *("astype", "clip", "conj", "copy", "cumprod", "cumsum", "argsort", "ravel", "reshape"),
    *("round", "squeeze", "sum", "take", "transpose"),
]


def _kind(value):
    array = np.asarray(value)
    form = "array" if isinstance(value, np.ndarray) else "number"
    return Kind(form, _DTYPES[array.dtype.kind], tuple(1 if n == 1 else None for n in array.shape))


def _expr(arg):
    if isinstance(arg, tuple):
        return ir.Display("tuple", tuple(map(ir.Const, arg)))
    return ir.Ref("float", float) if arg is float else ir.Const(arg)


def _fits(kind, result):
    if kind.form == "number":
        return not isinstance(result, np.ndarray | list | tuple)
    if kind.form != "array":
        return True
    return isinstance(result, np.ndarray) and kind.rank in (None, result.ndim)


def _check(fn, call_of, value, more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call_of(value)
        except Exception:
            return
    given = tuple(map(_expr, more))
    call = ir.Call(fn, given if isinstance(fn, ir.Attribute) else (ir.Var("a"), *given))
    found = kind_of(call, {"a": _kind(value)}, BOOK)
    assert _fits(found, result), (found, result)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_results_of_functions(value):
    for name in NAMES:
        fn = getattr(np, name)
        for more in ((), (0,), (None,), ((),)):
            _check(ir.Ref(f"np.{name}", fn), lambda v, f=fn, m=more: f(v, *m), value, more)


@pytest.mark.parametrize("value", list(VALUES.values())[1:], ids=list(VALUES)[1:])
def test_results_of_methods(value):
    for name in METHODS:
        for more in ((), (0,), (float,), ((),), ((1,),)):
            _check(
                ir.Attribute(ir.Var("a"), name),
                lambda v, n=name, m=more: getattr(v, n)(*m),
                value,
                more,
            )


@pytest.mark.parametrize("value", list(VALUES.values())[1:], ids=list(VALUES)[1:])
def test_transposes(value):
    found = kind_of(ir.Attribute(ir.Var("a"), "T"), {"a": _kind(value)}, BOOK)
    assert _fits(found, value.T), (found, value.T)


A, SQUARE = np.arange(6.0).reshape(2, 3) + 1, np.arange(9.0).reshape(3, 3) + np.eye(3)
OPERANDS = {
    **{"s": 2.5, "n": 3, "m": 2, "k": 1, "z": 0, "one": -1, "N": None, "L": [1.0, 2.0, 3.0]},
    **{"sh": (3, 2), "ax": (0, 1), "p": (1, 0), "v": np.array([0.1, 0.2, 0.3]), "a": A},
    **{"b": A.reshape(3, 2) - 0.5, "sq": SQUARE, "t": np.arange(12.0).reshape(2, 2, 3)},
    **{"o1": np.ones((1, 3)), "mk": np.array([True, False, True]), "i": np.array([0, 1])},
    **{"c": np.array([1.0, 1.0j, 2.0]), "cols": [np.ones(3), np.ones(3)]},
}
EXPRESSIONS = Path(__file__).with_name("expressions.txt").read_text().splitlines()


def _exact(value):
    if isinstance(value, tuple | list):
        return Kind(type(value).__name__, items=tuple(map(_exact, value)))
    if value is None:
        return Kind("other")
    if isinstance(value, np.ndarray):
        dtype = {"f": "float", "c": "complex", "i": "int", "b": "bool"}[value.dtype.kind]
        return Kind("array", dtype, tuple(1 if n == 1 else None for n in value.shape))
    return Kind("number", type(value).__name__, ())


def _less(value):
    """Of an array, that it is one; of a number, that it is one or an array."""
    kind = _exact(value)
    if kind.form == "array":
        return Kind("array", kind.dtype)
    return Kind("value", "float") if isinstance(value, float) else Kind()


def _holds(kind, value):
    if kind.form in ("tuple", "list"):
        parts = kind.items if kind.items is not None else [kind.item or Kind()] * len(value)
        named = isinstance(value, tuple if kind.form == "tuple" else list)
        return named and len(parts) == len(value) and all(map(_holds, parts, value))
    if not _fits(kind, value) or kind.form != "array":
        return _fits(kind, value)
    if kind.dtype not in ("?", _exact(value).dtype):
        return False
    sizes = zip(kind.shape or (), value.shape, strict=False)
    return all(size == n for size, n in sizes if isinstance(size, int))


@pytest.mark.parametrize("part", range(4))
def test_less_is_said_where_less_is_known(part):
    """`x.reshape(n, m)` has two axes also where nobody knows that `n` and `m` are integers."""
    for expression in EXPRESSIONS[part::4]:
        value = eval(expression, {"np": np, "scipy": scipy, **OPERANDS})
        function = lower_nested(program(f"y = {expression}; return y")).function
        names = sorted(set(OPERANDS) & set(re.findall(r"\w+", expression)))
        for known in itertools.product((_exact, _less, None), repeat=len(names)):
            given = {n: kind(OPERANDS[n]) for n, kind in zip(names, known, strict=True) if kind}
            found = infer_kinds(function, given, BOOK)["y"]
            assert _holds(found, value), (expression, given, found)


def add_into(total, v):
    total += v


def written_by_a_helper(x):
    total = np.zeros_like(x)
    add_into(total, x * x)
    return total * x


def written_in_a_dict(x):
    u = np.ones_like(x)
    held = {"u": u}
    held["u"] *= x
    return u * u


def written_by_its_transpose(x):
    u = np.full_like(x, 0.5)
    w = np.transpose(u)
    w += x
    return u * w


def written_by_a_view(x):
    u = np.copy(x)
    u[np.newaxis][0] *= x
    return u * u


def clipped_is_a_number(x):
    u = np.clip(np.array(x), 0.0, 5.0)
    w = u
    w += x * x
    return u * w


def flipped_is_a_number(x):
    u = np.flip(np.array(x))
    w = u
    w *= x
    return u * w


def summed_has_an_axis(x):
    u = np.cumsum(np.array(x), axis=-1)
    return np.sum(u[0] * x)


def rolled(x):
    u = np.roll(x, 1)
    w = u
    w *= x
    return u * w


def cast_is_a_number(x):
    w = (np.sin(x) + 0.0).astype(float)
    u = w
    w += x
    return u * w


def one_of_the_choices(x):
    u = np.choose(0, [np.sin(x), x])
    w = u
    w += x
    return u * w


def entry_of_a_number(x):
    u = (np.sin(x) + 0.0).flat[0]
    w = u
    w += x
    return u * w


def broadcast_to_an_array(x):
    u = np.broadcast_arrays(np.sin(x), 1.0)[0]
    w = u
    w += x
    return u * w


@pytest.mark.filterwarnings("ignore:Numpy has detected")
@pytest.mark.parametrize(
    "fn",
    [
        *(cast_is_a_number, one_of_the_choices, entry_of_a_number, broadcast_to_an_array),
        *(written_by_a_helper, written_in_a_dict, written_by_its_transpose, written_by_a_view),
        *(clipped_is_a_number, flipped_is_a_number, summed_has_an_axis, rolled),
    ],
)
def test_arrays_of_numbers_are_arrays(fn):
    value, slope = tl.value_and_grad(fn)(0.7)
    assert value == pytest.approx(fn(0.7))
    assert slope == pytest.approx((fn(0.7 + 1e-6) - fn(0.7 - 1e-6)) / 2e-6)
    check_grads(fn, (0.7,))


class Range(NamedTuple):
    low: float
    high: float


def range_of(a, low, high):
    if high - low == 1:
        return Range(a[low], a[low])
    middle = (low + high) // 2
    left, right = range_of(a, low, middle), range_of(a, middle, high)
    return Range(min(left.low, right.low), max(left.high, right.high))


def width(a):
    both = range_of(a, 0, len(a))
    return both.high - both.low**2


def power_of(a, n):
    if n == 1:
        return a
    h = power_of(a, n // 2)
    s = h @ h
    return s @ a if n % 2 else s


def walks(a, n=5):
    return np.sum(power_of(a, n))


def even(x, n):
    return x if n == 0 else odd(x * x, n - 1) * x


def odd(x, n):
    if n == 0:
        return 0.5 * x
    return np.sin(even(x, n - 1))


def alternating(x):
    return np.sum(even(x, 5) * x)


@pytest.mark.parametrize(
    ("fn", "x", "pairs"),
    [
        (width, np.array([0.4, 0.9, -0.2, 0.6]), 1),
        (walks, np.array([[0.7, 0.2], [0.3, 0.9]]), 1),
        (alternating, np.array([0.7, 0.3, 0.4]), 2),
    ],
)
def test_a_function_that_calls_itself_gives_what_it_gives_at_its_end(fn, x, pairs):
    """It is one function, whatever the calls of it are known to give it."""
    df = tl.grad(fn)
    check_grads(fn, (x,))
    df(x)
    text = df.source_for(x)
    assert text.count("_bwd(tape, ") == pairs
    assert not re.search("unbroadcast|accumulate|scalar_seed|matmul_bar", text)


def one_or_the_other(x, n):
    if n == 0:
        return x[0]
    s = one_or_the_other(x, n - 1)
    return x * s if n == 1 else s * x


def one_of_both(x):
    return np.sum(one_or_the_other(x, 2) * x) + one_or_the_other(x, 0)


def in_order(a):
    if len(a) < 2:
        return a
    low = [v for v in a[1:] if v < a[0]]
    return in_order(low) + [a[0]] + in_order([v for v in a[1:] if v >= a[0]])


def of_sorted(x):
    s = in_order([x[0], x[1] * 2.0, x[2]])
    return s[0] * s[1] + s[2] ** 2


def leaves_of(tree):
    if not isinstance(tree, list):
        return [tree]
    found = []
    for part in tree:
        found = found + leaves_of(part)
    return found


def of_leaves(x):
    found = leaves_of([x[0], [x[1], [x[2]]]])
    return found[0] * found[1] + found[2] ** 2


def levels(n, d):
    if n == 0:
        return {}
    found = levels(n - 1, d * 0.5)
    found[n] = d * n
    return found


def of_levels(x):
    found = levels(3, x[0])
    return found[1] * found[2] + found[3] * x[1]


@pytest.mark.parametrize("fn", [one_of_both, of_sorted, of_leaves, of_levels])
def test_a_function_that_calls_itself_may_give_anything(fn):
    check_grads(fn, (np.array([0.7, 0.3, 0.4]),))


def test_a_dict_of_a_function_that_calls_itself_to_second_order():
    check_grads(of_levels, (np.array([0.7, 0.3, 0.4]),), order=2)
