"""What is added to entries of an array of zeros for the first time is stored; where something may
be there already, it is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.codegen.optimize import Facts
from tangentlike.codegen.optimize.contracted import stored_first
from tangentlike.codegen.optimize.rewriting import derived
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
    for start in ("x_bar = np.ones_like(x)", "x_bar = y", "x_bar = zeros_like(x)", "pass"):
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
