"""What is added to entries of an array of zeros for the first time is stored; where something may
be there already, it is added."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.codegen.optimize import Facts, simplified
from tangentlike.codegen.optimize.contracted import stored_first
from tangentlike.codegen.optimize.facts import derived
from tangentlike.codegen.print import show
from tangentlike.frontend.lower import program
from tangentlike.ir.kind import INT, Kind
from tangentlike.testing import check_grads

RNG = np.random.default_rng(2)
KINDS = {"x": Kind("array", "float", ("n!",)), "m": Kind("array", "float", ("n!", "k!"))}
KINDS |= {"i": INT, "j": INT}


def written(text: str) -> str:
    f = derived(program(text))
    return show(stored_first((f,), {f.name: Facts(kinds=KINDS)})[0].body)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x_bar[0] += a", "x_bar[-1] += b"),  # (of length 1 they are one entry)
        ("x_bar[i] += a", "x_bar[j] += b"),
        ("x_bar[:-1] += a", "x_bar[1:] += b"),
        ("x_bar[0] += a", "x_bar[:1] += b"),
        ("x_bar[::2] += a", "x_bar[1::2] += b"),
        ("x_bar[2:] += a", "x_bar[...] += b"),
        ("x_bar[:i] += a", "i = i - 1; x_bar[i:] += b"),
        ("x_bar[0] += a", "y = x_bar; x_bar[1] += b"),
        ("x_bar[0] += a", "x_bar[1] += b * x_bar[0]"),
        ("x_bar[0] += a", "x_bar[x] += b"),
        ("x_bar[0] += a", "for k in range(3):\n    x_bar[1] += b"),
        ("x_bar[0] += a", "x_bar[1:] -= b"),
    ],
)
def test_the_second_stays_a_sum(first: str, second: str) -> None:
    text = f"x_bar = np.zeros_like(x)\n{first}\n{second}\nreturn x_bar"
    lines = written(text).splitlines()
    assert lines[1] == first.replace("+=", "=")
    assert "\n".join(lines[2:-1]) == second.replace("; ", "\n")


def test_entries_and_slices_that_are_apart_are_both_stored() -> None:
    text = """m_bar = np.zeros_like(m)
m_bar[0] += a
m_bar[1, :i] += b
m_bar[1, i:] += c
m_bar[2, 0] -= 2.0 * d
m_bar[2, 0] += d
return m_bar"""
    expected = text.replace("+=", "=", 3).replace("-= 2.0", "= -2.0")
    assert written(text) == expected


def test_what_is_no_array_of_zeros_is_added_to() -> None:
    for start in ("x_bar = np.ones_like(x)", "x_bar = y", "x_bar = zeros_like(y)", "pass"):
        text = f"{start}; x_bar[0] += a; return x_bar"
        assert "x_bar[0] += a" in written(text)


def ends(x: Any) -> Any:
    return x[0] * x[-1] ** 2 + np.sum(x[1:] * x[:-1]) + 3.0 * x[0]


def parts(p: Any, z: Any) -> Any:
    return np.sum((p[0] * z - p[1] * z**2) ** 2) - p[2] * p[1]


def halves(x: Any, n: int) -> Any:
    return np.sum(np.sin(x[:n])) * np.sum(x[n:] ** 2) - np.sum(x[n - 1 : n + 1])


def of_rows(m: Any, i: int) -> Any:
    total = np.sum(m[i] * m[0])
    i = i - 1
    return total * np.sum(m[i, 1:]) + m[-1, 0]


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((ends, (RNG.random(n),)) for n in (1, 2, 5)),
    (parts, (RNG.random(3), RNG.random(4))),
    *((halves, (RNG.random(5), n)) for n in (1, 3, -2)),
    *((of_rows, (RNG.random((3, 3)), i)) for i in (0, 1, 2)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_gradients(case: int) -> None:
    f, args = CASES[case]
    check_grads(f, args, order=2)
    single = tuple(a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in args)
    found = tl.grad(f)(*single)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, tl.grad(f)(*args), rtol=1e-4)


# What is stored first into an array that was made without derivatives replaces nothing that anybody
# asks the adjoint of.


def each(x, w):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.sin(x[i]) * w[i]
    return np.sum(out**2)


def back(x, w):
    out = np.zeros(len(x))
    for i in range(len(x) - 1, -1, -1):
        out[i] = x[i] * w[i]
    return out @ w


def rows(x, w):
    out = np.zeros((len(x), len(w)))
    for i, v in enumerate(x):
        out[i] = v * w
    return np.sum(out**3)


def rows_slice(x, w):
    out = np.zeros((len(x), len(w)))
    for i, v in enumerate(x):
        out[i, :] = v * w
    return np.sum(out**3)


def recur(x, w):
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = out[i - 1] * w[i] + x[i]
    return np.sum(out * w)


def twice(x, w):
    out = np.zeros(len(x))
    for k in range(2):
        for i in range(len(x)):
            out[i] = x[i] * w[i] + out[i] * 0.5 * k
    return np.sum(out**2)


def same_place(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[0] = x[i] * w[i]
    return np.sum(out**2)


def modulo(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i % 2] = x[i] * w[i]
    return np.sum(out**2)


def updated_before(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] += x[i]
        out[i] = x[i] * w[i] * out[i]
    return np.sum(out**2)


def two_loops(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 2
    s = np.sum(out)
    for i in range(len(x)):
        out[i] = out[i] * w[i] * s
    return np.sum(out**2)


def in_two_halves(x, w):
    out = np.zeros(len(x))
    out[:2] = x[:2] * w[:2]
    out[2:] = x[2:] ** 2
    return np.sum(out * w)


def whole_then(x, w):
    out = np.zeros(len(x))
    out[:] = x * w
    out[1] = x[0]
    return np.sum(out * w)


def returned(x, w):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] * w[i]
    return out


def in_outer(x, w):
    s = 0.0
    for k in range(3):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = x[i] * w[k]
        s += np.sum(out**2)
    return s


def viewed(x, w):
    out = np.zeros(len(x))
    v = out[::-1]
    v[:] = x
    for i in range(len(x)):
        out[i] = x[i] * w[i]
    return np.sum(out * v)


def doubled_into(o, x):
    o[:] = x * 2.0


def by_helper(x, w):
    out = np.zeros(len(x))
    doubled_into(out, x)
    for i in range(len(x)):
        out[i] = x[i] * w[i]
    return np.sum(out**2)


def by_helper_later(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * w[i]
    doubled_into(out, x)
    return np.sum(out**2)


def fills(x, w):
    out = np.zeros(len(x))
    out.fill(x[0])
    np.add.at(out, [0, 1], x[:2])
    for i in range(2):
        out[i] = x[i] * w[i]
    return np.sum(out**2)


def matrix(x, w):
    n = len(x)
    K = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] = np.exp(-((x[i] - x[j]) ** 2) * w[0])
    return np.sum(K**2) + K[0, 1]


def tri(x, w):
    n = len(x)
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            K[i, j] = x[i] * x[j]
            K[j, i] = K[i, j]
    return np.sum(K * w)


def skip(x, w):
    out = np.empty(len(x))
    i = 0
    while i < len(x):
        out[i] = x[i] * w[i]
        i += 1
    return np.sum(out**2)


def rebound_key(x, w):
    out = np.zeros(len(x))
    k = 0
    for i in range(len(x)):
        out[k] = x[i] * w[i]
        k = 1 if i > 1 else k + 1
    return np.sum(out**2)


def branch(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0.3:
            out[i] = x[i] * w[i]
        else:
            out[i] = w[i] ** 2
    return np.sum(out**2)


FIRST = [each, back, rows, rows_slice, recur, in_two_halves, matrix]
LATER = [
    twice,
    same_place,
    modulo,
    updated_before,
    two_loops,
    whole_then,
    in_outer,
    viewed,
    by_helper,
    by_helper_later,
    fills,
    tri,
    skip,
    rebound_key,
    branch,
]


@pytest.mark.parametrize("fn", FIRST + LATER)
def test_adjoints_of_what_is_filled_entry_by_entry(fn):
    rng = np.random.default_rng(0)
    args = rng.random(4), rng.random(4)
    tl.check_grads(fn, args, wrt=(0, 1), order=2)
    found = tl.jacrev(tl.grad(fn, wrt=(0, 1)), wrt=(0, 1))(*args)
    hessian = tl.hessian(fn, wrt=(0, 1))(*args)
    for a, b in itertools.product(range(2), repeat=2):
        np.testing.assert_allclose(found[a][b], hessian[a][b], rtol=1e-9, atol=1e-12)
    if fn in FIRST:
        source = tl.grad(fn, wrt=(0, 1), example=args).source
        assert "] = 0.0" not in source, source


def test_jacobians_of_what_is_filled_and_returned():
    args = np.array([0.3, 0.8, 0.1]), np.array([1.1, 0.2, 0.7])
    found = tl.jacrev(returned, wrt=(0, 1))(*args)
    for one, other in zip(found, tl.jacfwd(returned, wrt=(0, 1))(*args)):
        np.testing.assert_allclose(one, other)


def _lists_of_arrays_then_of_lists(x: Any, y: Any) -> Any:
    p = [x * y, y]
    s = np.sum(p[0] * np.sin(p[1]))
    p = [[x, y * 2.0], [y * x, x]]
    q = p[1]
    for k in range(2):
        s = s + np.sum(q[k] * p[0][k] * p[1][k])
    return s


def _dicts_of_arrays_then_of_lists(x: Any, y: Any) -> Any:
    p = {"w": x * y, "v": y}
    s = np.sum(p["w"] * np.sin(p["v"]))
    p = {"w": [x, y * 2.0], "v": [y * x, x]}
    q = p["w"]
    for k in range(2):
        s = s + np.sum(q[k] * p["v"][k] * p["w"][k])
    return s


@pytest.mark.parametrize("fn", [_lists_of_arrays_then_of_lists, _dicts_of_arrays_then_of_lists])
def test_one_name_for_adjoints_of_two_structures(fn: Any) -> None:
    """`p_bar` is the adjoint of two lists, one after the other: `+=` would lengthen an item of
    the second, where it adds to one of the first."""
    x, y = RNG.normal(size=3), RNG.normal(size=3)
    df = tl.grad(fn, wrt=("x", "y"), example=(x, y))
    given = tl.grad(fn, wrt=("x", "y"))(x, y)
    for made, expected in zip(df(x, y), given, strict=True):
        np.testing.assert_allclose(made, expected)
    assert "add_at(p_bar, " in df.source and "p_bar[" in df.source
    check_grads(fn, (x, y), order=2)


def test_what_is_known_of_adjoints_follows_their_names() -> None:
    text = """a_bar = np.zeros_like(a)
f(a_bar)
a2_bar = np.zeros_like(a2)
f(a2_bar)
return 0.0"""
    array, items = Kind("array", "float", ("n!",)), Kind("list", items=(Kind("array"),))
    for second, form in ((array, "array"), (items, "unknown")):
        known = Facts(kinds={"a": array, "a2": second}, original={"a2": "a"})
        made, after = simplified(derived(program(text, {"np": np})), known)
        assert show(made.body).count("a_bar = ") == 2
        assert after.kind_behind("a_bar").form == form
