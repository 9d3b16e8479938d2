"""docs/numba.md: which emitted texts Numba compiles, run where it is installed (the extra `peers`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl

PAGE = Path(__file__).parent.parent / "docs" / "numba.md"
RNG = np.random.default_rng(0)

pytestmark = pytest.mark.thorough  # (each compilation takes a second)


def regression(w, b, x, y):
    return np.sum((np.tanh(x @ w + b) - y) ** 2)


def logistic(x, r, steps):
    for _ in range(steps):
        x = r * x * (1.0 - x)
    return x


def stencil(a, steps):
    for _ in range(steps):
        a[1:-1] += 0.5 * (a[:-2] * a[2:])
    return np.sum(a)


def network(w, u, xs):
    h = np.zeros(w.shape[0])
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return np.sum(h)


def pairs(q, k):
    total = 0.0
    for i in range(len(q)):
        for j in range(i):
            r = q[i] - q[j]
            total += k / np.sqrt(np.sum(r * r))
    return total


def branches(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            total += np.log(x[i])
        else:
            total -= x[i]
    return total


def masked(x):
    return np.sum(np.sqrt(np.maximum(x, 0.0)))


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], bool, bool]] = [
    (regression, tuple(RNG.standard_normal(s) for s in [(3, 2), 2, (5, 3), (5, 2)]), False, True),
    (logistic, (0.3, 3.0, 50), False, True),
    (stencil, (RNG.standard_normal(8), 4), False, True),
    (network, tuple(RNG.standard_normal(s) for s in [(3, 3), (3, 2), (6, 2)]), False, False),
    (pairs, (RNG.standard_normal((6, 3)), 1.5), False, True),
    (branches, (RNG.standard_normal(6),), False, True),
    (masked, (RNG.standard_normal(6),), False, False),
]


def compiled_of_the_page() -> Callable[[Any], Any]:
    (text,) = re.findall(r"^```python\n(import re\n.*?)^```", PAGE.read_text(), re.M | re.S)
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    found: Callable[[Any], Any] = namespace["compiled"]
    return found


def own(args: tuple[Any, ...]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


@pytest.mark.parametrize(
    ("fn", "args", "plainly", "turned"), CASES, ids=lambda x: getattr(x, "__name__", "")
)
def test_what_numba_compiles(
    fn: Callable[..., Any], args: tuple[Any, ...], plainly: bool, turned: bool
) -> None:
    numba = pytest.importorskip("numba")
    df = tl.grad(fn, example=args)
    imported = re.findall(r"^from tangentlike.runtime import (.*)$", df.source, re.M)
    assert imported in ([], ["for_types"])
    namespace: dict[str, Any] = {}
    exec(df.source, namespace)
    ways = [(numba.njit(namespace[df.__name__]), plainly), (compiled_of_the_page()(df), turned)]
    for way, works in ways:
        if works:
            np.testing.assert_allclose(way(*own(args)), df(*own(args)))
        else:
            # (AssertionError: of rows; the second is no error of Numba's, by its class)
            refusals = (numba.core.errors.NumbaError, numba.core.errors.UnsupportedBytecodeError)
            with pytest.raises((*refusals, AssertionError)):
                way(*own(args))


def test_compiled_functions() -> None:
    numba = pytest.importorskip("numba")
    inner = numba.njit(masked)
    x = np.array([-1.0, 4.0])
    np.testing.assert_allclose(tl.grad(inner)(x), [0.0, 0.25])

    def outer(x):
        return 2.0 * inner(x)

    with pytest.raises(tl.UnsupportedError, match="no derivative rule"):
        tl.grad(outer)(x)
    with pytest.raises(tl.UnsupportedError, match="no target 'numba'"):
        tl.grad(masked, target="numba")(x)
