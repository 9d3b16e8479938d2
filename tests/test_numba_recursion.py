"""`target="numba"`: functions that call themselves, or each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tangentlike as tl
from tests.processes import python
from tests.test_kinds_of_results import walks, width

numba = pytest.importorskip("numba")
# (Each compilation takes a second.)
pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("compiled_apart")]
VECTOR = np.random.default_rng(2).uniform(0.3, 1.0, 8)


def power(x, n):
    if n == 0:
        return 1.0
    if n % 2 == 0:
        h = power(x, n // 2)
        return h * h
    return x * power(x, n - 1)


def integrand(x, p):
    return math.exp(-p * x * x)


def adaptive(a, b, fa, fm, fb, whole, p, depth):
    m = 0.5 * (a + b)
    fl, fr = integrand(0.5 * (a + m), p), integrand(0.5 * (m + b), p)
    left = (m - a) / 6.0 * (fa + 4.0 * fl + fm)
    right = (b - m) / 6.0 * (fm + 4.0 * fr + fb)
    if depth == 0 or abs(left + right - whole) < 1e-6:
        return left + right
    left = adaptive(a, m, fa, fl, fm, left, p, depth - 1)
    return left + adaptive(m, b, fm, fr, fb, right, p, depth - 1)


def integral(p, b):
    fa, fm, fb = integrand(0.0, p), integrand(0.5 * b, p), integrand(b, p)
    return adaptive(0.0, b, fa, fm, fb, b / 6.0 * (fa + 4.0 * fm + fb), p, 8)


def even(x, n):
    if n == 0:
        return x
    return odd(x * x, n - 1) * 0.5


def odd(x, n):
    if n == 0:
        return 1.0 * x
    return np.sin(even(x + 1.0, n - 1))


def alternating(x, n):
    return even(x, n) + x


def merged(a, low, high):
    if high - low < 2:
        return
    middle = (low + high) // 2
    merged(a, low, middle)
    merged(a, middle, high)
    for i in range(low, middle):
        a[i] *= a[middle + i - low]


def in_place(x):
    a = x.copy()
    merged(a, 0, len(a))
    return a[0] + a[1]


def gathered(i, first, following, w):
    total = w[i]
    child = first[i]
    while child >= 0:
        total += math.sin(gathered(child, first, following, w)) * w[i]
        child = following[child]
    return total


def forest(w, first, following):
    total = 0.0
    for i in range(2):
        total += gathered(i, first, following, w) ** 2
    return total


def halves(a):
    n = len(a)
    if n == 1:
        return a[0] * a[0]
    return halves(a[: n // 2]) * halves(a[n // 2 :]) + a[0]


class Segment(NamedTuple):
    a: float
    b: float
    c: float


def length(s, depth):
    if depth == 0:
        return math.sqrt((s.c - s.a) ** 2 + 1e-3) + 0.1 * s.b
    s = Segment(s.a, 0.9 * s.b * s.c, s.c)
    ab, bc = 0.5 * (s.a + s.b), 0.5 * (s.b + s.c)
    m = 0.5 * (ab + bc)
    return length(Segment(s.a, ab, m), depth - 1) * length(Segment(m, bc, s.c), depth - 1)


def nested(x, m, n):
    if m == 0:
        return 0.9 * x + n
    if n == 0:
        return nested(0.1 * x * x, m - 1, 1)
    return math.sin(nested(nested(x, m, n - 1), m - 1, n - 1))


def transformed(z):
    n = len(z)
    if n == 1:
        return z.copy()
    e, o = transformed(z[::2].copy()), transformed(z[1::2].copy())
    out = np.empty(n, dtype=np.complex128)
    for k in range(n // 2):
        t = np.exp(-2j * np.pi * k / n) * o[k]
        out[k] = e[k] + t
        out[k + n // 2] = e[k] - t
    return out


def spectrum(x):
    z = transformed(x + 0j)
    return np.sum(np.abs(z) ** 2 * np.arange(len(x)))


CHILDREN = (np.array([2, -1, 4, -1, -1]), np.array([-1, -1, 3, -1, -1]))
CASES: list[tuple[Callable[..., Any], Any, tuple[Any, ...]]] = [
    (power, 0, (1.1, 11)),
    (integral, (0, 1), (1.3, 2.0)),
    (alternating, 0, (0.4, 5)),
    (in_place, 0, (VECTOR,)),
    (forest, 0, (VECTOR[:5].copy(), *CHILDREN)),
    (halves, 0, (VECTOR,)),
    (walks, 0, (VECTOR[:4].reshape(2, 2).copy(), 7)),
    (length, 0, (Segment(0.1, 0.9, 0.4), 3)),
    (nested, 0, (0.4, 2, 2)),
    (spectrum, 0, (VECTOR[:4].copy(),)),
    (width, 0, (VECTOR,)),
]


def moved(x: Any, h: float) -> Any:
    return type(x)(*(item + h for item in x)) if isinstance(x, tuple) else x + h


@pytest.mark.parametrize(
    ("fn", "wrt", "args"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_gradients(fn: Any, wrt: Any, args: tuple[Any, ...]) -> None:
    df = tl.value_and_grad(fn, wrt, target="numba")
    value, found = df(*args)
    expected, wanted = tl.value_and_grad(fn, wrt)(*args)
    assert value == pytest.approx(expected, rel=1e-12)
    found, wanted, at = (
        (found, wanted, wrt) if isinstance(wrt, tuple) else ((found,), (wanted,), (wrt,))
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-14)
    ahead, back = (
        fn(*(moved(x, h) if k in at else x for k, x in enumerate(args))) for h in (1e-6, -1e-6)
    )
    slope = sum(np.sum(g) for g in found)
    assert slope == pytest.approx((ahead - back) / 2e-6, rel=1e-5, abs=1e-9)


def test_the_text() -> None:
    df = tl.grad(power, target="numba", example=(1.1, 11))
    assert "power_tapes.append((x, n, h, power_tape, power_x, power_tape2))" in df.source
    assert "return result, len(power_tapes) - 1" in df.source
    assert "x, n, h, power_tape, power_x, power_tape2 = power_tapes[tape]" in df.source
    assert "= [(0.0, 0, 0.0, 0, 0.0, 0)]" in df.source


def test_again_in_another_process(compiled_apart: Path) -> None:
    """Code that Numba kept of functions that call each other would not find them."""
    text = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import tangentlike as tl; "
    text += (
        "import test_numba_recursion as t; print(tl.grad(t.alternating, target='numba')(0.4, 5))"
    )
    for _ in range(2):
        assert float(python("-c", text)) == pytest.approx(tl.grad(alternating)(0.4, 5), rel=1e-12)


def test_standalone_files(tmp_path: Path) -> None:
    out = tmp_path / "integral_grad.py"
    call = ["-m", "tangentlike", "grad", f"{__file__}:integral", "--wrt", "p,b"]
    call += ["--value", "p=1.3", "--value", "b=2.0", "--target", "numba", "--standalone"]
    python(*call, "-o", str(out))
    text = "import integral_grad as g; print(g.integral_grad(1.3, 2.0))"
    found = eval(python("-c", text, folder=tmp_path))
    np.testing.assert_allclose(found, tl.grad(integral, (0, 1))(1.3, 2.0), rtol=1e-11)
