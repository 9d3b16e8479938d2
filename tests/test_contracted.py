"""Sums that a product of vectors or matrices does: right for every program that takes them, and
left alone where a vector is written later, or the total is read meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.codegen.optimize import Facts
from tangentlike.codegen.optimize.contracted import contracted
from tangentlike.codegen.optimize.facts import derived
from tangentlike.codegen.print import show
from tangentlike.frontend.lower import program
from tangentlike.ir.kind import Kind
from tangentlike.testing import check_grads

RNG = np.random.default_rng(3)
W, U, XS, X = (
    RNG.normal(size=(3, 3)),
    RNG.normal(size=(3, 2)),
    RNG.normal(size=(4, 2)),
    RNG.random(3),
)
KINDS = {n: Kind("array", "float", ("n",)) for n in "xgh"} | {"s": Kind("number", "float", ())}
KINDS |= {"m": Kind("array", "float", ("n", "n")), "c": Kind("array", "float", ("n", 1))}
KINDS["xs"] = Kind("array", "float", ("k", "n"))
KINDS |= {"t": Kind("array", "float", ("n", "n", "k")), "b": Kind("array", "bool", ("n", "n"))}
KINDS |= {"w": Kind("array", "float", (None,)), "a": Kind("number", "float", ())}
FLOATING = frozenset(name for name, kind in KINDS.items() if kind.dtype == "float")


def written(text: str) -> str:
    f = derived(program(text, {"np": np}))
    facts = Facts(kinds=KINDS, floating=FLOATING)
    return show(contracted((f,), {f.name: facts})[0].body)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("np.sum(x * g)", "x @ g"),
        ("np.sum(2.0 * x * g)", "2.0 * (x @ g)"),
        ("np.sum(s * x * g)", "s * (x @ g)"),
        ("-np.sum(x * g * h)", "-(x @ (g * h))"),
        ("np.sum(m[:, 0] * x)", "m[:, 0] @ x"),
        ("np.sum(m[:, 0] * x[1:])", "np.sum(m[:, 0] * x[1:])"),
        ("np.sum(x[1:] * g[:-1])", "x[1:] @ g[:-1]"),
        ("np.sum(m[1:, 0] * g[k:])", "np.sum(m[1:, 0] * g[k:])"),
        ("np.sum(m[k:, 0] * m_bar[k:, 0])", "m[k:, 0] @ m_bar[k:, 0]"),
        ("np.sum(m * m_bar)", "np.vdot(m, m_bar)"),
        ("np.sum(g_bar * x)", "g_bar @ x"),
        ("np.sum(w * g)", "np.sum(w * g)"),  # (one may have one entry, the other several)
        ("np.sum(w_bar * w)", "np.sum(w_bar * w)"),  # (as an adjoint that is spread)
        ("np.sum(c * m)", "np.sum(c * m)"),
        ("np.sum(m * x)", "np.sum(m * x)"),
        ("np.sum(s * x)", "np.sum(s * x)"),
        ("np.sum(x * g / h)", "np.sum(x * g / h)"),
        ("np.sum(x * unknown)", "np.sum(x * unknown)"),
        ("np.sum(x * g, axis=0)", "x @ g"),
        ("np.sum(m * m_bar, axis=1)", "np.einsum('ij,ij->i', m, m_bar)"),
        ("np.sum(m * m_bar * x, axis=0)", "np.einsum('ij,j->j', m * m_bar, x)"),
        ("np.sum(s * m * x, axis=0)", "s * np.einsum('ij,j->j', m, x)"),
        ("np.sum(m * x, axis=1)", "m @ x"),
        ("-2.0 * np.sum(x[:, None] * m, axis=0)", "-2.0 * (x @ m)"),
        ("np.sum(m[:, :, None] * m_bar, axis=1)", "m @ m_bar"),
        ("np.sum(m[:, :, None] * t, axis=0)", "np.einsum('ij,ijk->jk', m, t)"),
        ("np.sum(t * x, axis=(0, -1))", "np.einsum('ijk,k->j', t, x)"),
        ("np.sum(m[:, None] * s, axis=1)", "np.sum(m[:, None] * s, axis=1)"),
        ("np.sum(m * m_bar, axis=k)", "np.sum(m * m_bar, axis=k)"),
        ("np.sum(m * x / s, axis=1)", "np.sum(m * x / s, axis=1)"),
        ("np.sum(m * unknown, axis=1)", "np.sum(m * unknown, axis=1)"),
        ("np.sum(b * b, axis=1)", "np.sum(b * b, axis=1)"),  # (counts, not truths)
    ],
)
def test_sums_of_products(before: str, after: str) -> None:
    made = "g_bar = 2.0 * g; w_bar = w / s; m_bar = -m; "
    assert written(f"{made}a_bar = {before}; return a_bar").splitlines()[3] == f"a_bar = {after}"


def kept_axis(s: Any, x: Any) -> Any:
    return np.sum(np.sum(s * x, keepdims=True) ** 2)


def kept_rows(s: Any, x: Any) -> Any:
    return np.sum(np.sin(np.sum(s * np.outer(x, x), axis=1, keepdims=True)))


def of_one_entry(s: Any, x: Any) -> Any:
    c = np.array([1.3])
    return np.sum((s * c * x) ** 2) + np.sum(np.where(x > 0.5, s * c, s * x)) ** 2


def narrow_adjoint(s: Any, x: Any) -> Any:
    c, t = np.array([1.3]), s * x
    return np.sum(s * t * c)


def narrow_rows(s: Any, x: Any) -> Any:
    m = s * np.outer(x, x)
    return np.sum(s * m * np.max(x, keepdims=True)) + np.sum(m * m)


def shrinking(s: Any, x: Any) -> Any:
    for _ in range(2):
        x = s * x[1:] + (1.0 - s) * x[:-1]
    return np.sum(x**2)


@pytest.mark.parametrize(
    "fn", [kept_axis, kept_rows, of_one_entry, narrow_adjoint, narrow_rows, shrinking]
)
def test_axes_of_one_entry_are_spread(fn: Any) -> None:
    for x in (X, X[:1] if fn is not shrinking else X[:2].repeat(2)):
        check_grads(fn, (0.7, x))
        df = tl.grad(fn, example=(0.7, x))
        assert df(0.7, X) == pytest.approx(tl.grad(fn)(0.7, X), rel=1e-12)


_BEFORE = "A_bar = np.zeros_like(m)\ng = s * x\n"


@pytest.mark.parametrize(
    "body",
    [
        "A_bar += np.outer(g, x)\n    g += x",  # the vector is written afterwards
        "g += x\n    A_bar += np.outer(g, x)",  # in the next round
        "v = g[1:]\n    A_bar += np.outer(g, x)\n    v *= 2.0",
        "A_bar += np.outer(g, x)\n    s = A_bar[0, 0]",  # the total is read
        "A_bar += np.outer(A_bar[0], x)",
        "A_bar = 2.0 * A_bar\n    A_bar += np.outer(g, x)",
        "B_bar = A_bar\n    A_bar += np.outer(g, x)\n    s = B_bar[0, 0]",
        "A_bar += np.outer(m, x)",
        "A_bar += np.outer(unknown, x)",
        "A_bar[0] += np.outer(g, x)",
        "if s > 0.0:\n        A_bar += np.outer(g, x)",
    ],
)
def test_sums_that_stay(body: str) -> None:
    assert "append" not in written(_BEFORE + f"for k in range(n):\n    {body}\nreturn A_bar")


@pytest.mark.parametrize(
    "body",
    [
        "A_bar += np.outer(g, x)",
        "A_bar -= np.outer(g, 2.0 * x)",
        "g = 2.0 * x\n    g += h\n    A_bar += np.outer(g, x)",
        "A_bar += np.outer(g, x)\n    g = 2.0 * g\n    g += x",
        "A_bar += np.outer(g, x)\n    A_bar += np.outer(x, h)",
    ],
)
def test_sums_that_are_collected(body: str) -> None:
    text = _BEFORE + f"for k in range(n):\n    {body}\nreturn A_bar"
    new = written(text)
    values: dict[str, Any] = {}
    for name, code in (("old", text), ("new", new)):
        lines = "\n    ".join(code.splitlines())
        exec(f"def {name}(m, s, x, h, n):\n    {lines}", {"np": np}, values)
    for rounds in (0, 1, 3):
        given = W, 2.0, X, X**2, rounds
        old, found = (values[n](*(np.copy(v) for v in given)) for n in ("old", "new"))
        assert np.allclose(old, found, rtol=1e-14)
    assert "append" in new and "np.outer" not in new


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("A_bar += np.outer(g, x)", "np.array(g_rows).T @ xs[::-1]"),
        ("A_bar += np.outer(x, g)", "np.array(x_rows).T @ np.array(g_rows)"),  # (of no rounds)
        ("A_bar += np.outer(g, x)\n    if s > 9.0:\n        break", "@ np.array(x_rows)"),
        ("A_bar += np.outer(g, x)\n    x = 2.0 * x", "@ np.array(x_rows)"),
        ("A_bar += np.outer(g, x)\n    xs = xs + 1.0", "@ np.array(x_rows)"),
        ("A_bar += np.outer(g, x)\n    xs[0] = 1.0", "np.outer(g, x)"),
        ("A_bar += np.outer(g, x)\n    x *= 2.0", "np.outer(g, x)"),
    ],
)
def test_rows_of_a_matrix_are_not_collected(body: str, rows: str) -> None:
    assert rows in written(_BEFORE + f"for x in reversed(xs):\n    {body}\nreturn A_bar")


def recurrent(w: Any, u: Any, xs: Any) -> Any:
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return h @ h


def iterated(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = w @ x
        x = x / np.sqrt(x @ x)
    return x @ w @ x


def written_in_place(w: Any, x: Any) -> Any:
    y = x.copy()
    for k in range(3):
        y += np.sin(w @ y)
        y[k] *= 0.5
        y = y * x
    return np.sum(y)


def nested(w: Any, x: Any) -> Any:
    total = 0.0
    for i in range(2):
        y = x * (i + 1.0)
        for _ in range(i + 1):
            y = np.tanh(w @ y) + y
        total += y @ w @ y
    return total


def until(w: Any, x: Any) -> Any:
    n = 0
    while n < 3 and np.sum(x * x) < 1e6:
        x = np.tanh(w @ x) * 2.0
        n += 1
    return np.sum(x * x) * x[0]


def in_a_branch(w: Any, x: Any) -> Any:
    for k in range(4):
        if k % 2:
            x = np.sin(w @ x)
        else:
            x = w.T @ x + x
    return x @ x


def kept_states(w: Any, x: Any) -> Any:
    states = []
    for _ in range(3):
        x = np.tanh(w @ x)
        states.append(x)
    return np.sum(np.array(states) ** 2)


PROGRAMS = [(recurrent, (W, U, XS)), *((f, (W, X)) for f in (iterated, written_in_place, nested))]
PROGRAMS += [(f, (W, X)) for f in (until, in_a_branch, kept_states)]


@pytest.mark.parametrize(("fn", "args"), PROGRAMS)
def test_programs(fn: Any, args: tuple[Any, ...]) -> None:
    check_grads(fn, args)
    wrt = tuple(range(len(args)))
    df = tl.grad(fn, wrt=wrt, example=args)
    for got, want in zip(df(*args), tl.grad(fn, wrt=wrt)(*args), strict=True):
        assert np.allclose(got, want, rtol=1e-12)


def test_no_round_adds_nothing() -> None:
    for bar in tl.grad(recurrent, wrt=(0, 1))(W, U, XS[:0]):
        assert not bar.any() and bar.ndim == 2


def test_single_precision_stays() -> None:
    args = [a.astype(np.float32) for a in (W, U, XS)]
    assert [bar.dtype for bar in tl.grad(recurrent, wrt=(0, 1))(*args)] == [np.float32] * 2


def test_second_order() -> None:
    direction = RNG.normal(size=(3, 3))
    df = tl.grad(iterated)
    assert "_rows" in tl.grad(iterated, example=(W, X)).source
    _, forward = tl.jvp(lambda w: df(w, X), (W,), (direction,))
    assert "_rows" in tl.hvp(iterated, example=(W, X)).source
    reverse = tl.grad(lambda w: np.sum(df(w, X) * direction))(W)
    step = 1e-5 * direction
    assert np.allclose(forward, (df(W + step, X) - df(W - step, X)) / 2e-5, atol=1e-6)
    assert np.allclose(forward, reverse, rtol=1e-9)
