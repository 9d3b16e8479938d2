"""Options, shapes, layouts and types of operations: two modes, differences, the inner product.

Each case is a call with the options that matter (`axis`, `keepdims`, `where`, `initial`, `ddof`,
`out`, `dtype`, `order`, `casting`) of arrays of rank 0 to 4, empty and of size 1 among them, in every
layout, real, complex, float32 and mixed with integers and numbers. A fixed sample runs with the
suite; `TANGENTLIKE_VARIANTS=2000` in the environment runs more.
"""

from __future__ import annotations

import linecache
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings

import tangentlike as tl
from tests import operation_options as options
from tests.operation_options import Case
from tests.sampled import one_in

EXAMPLES = os.environ.get("TANGENTLIKE_VARIANTS")
STEP = 1e-6


def program(text: str) -> Callable[..., Any]:
    """The function of x, y and mask that computes a call."""
    source, file = f"def operation(x, y, mask):\n    return {text}\n", f"<operation {text}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), names)
    return names["operation"]


def carries(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "fc"


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def like(value: Any, make: Callable[..., Any], *more: Any) -> Any:
    """`make` of every leaf of a nested value."""
    if isinstance(value, (list, tuple)):
        rows = zip(value, *more, strict=True)
        return type(value)(like(first, make, *rest) for first, *rest in rows)
    return make(value, *more)


def direction(rng: np.random.Generator) -> Callable[[Any], Any]:
    """A function that draws a value of the shape, type and layout of another."""

    def draw(value: Any) -> Any:
        drawn = rng.uniform(-1.0, 1.0, np.shape(value))
        if np.asarray(value).dtype.kind == "c":
            drawn = drawn + 1j * rng.uniform(-1.0, 1.0, np.shape(value))
        return filled(value, drawn) if isinstance(value, np.ndarray) else type(value)(drawn)

    return draw


def filled(value: np.ndarray, content: Any, dtype: Any = None) -> np.ndarray:
    """An array that lies in memory as `value` does."""
    made = np.empty_like(value, dtype)
    made[...] = content
    return made


def inner(a: Any, b: Any) -> float:
    """The real inner product of all entries that carry derivatives."""
    pairs = zip(leaves(a), leaves(b), strict=True)
    return sum(float(np.sum(np.real(np.conj(p) * q))) for p, q in pairs if carries(p))


def moved(value: Any, dot: Any, step: float) -> Any:
    """`value + step * dot`, in double precision."""
    if dot is None:
        return value
    if isinstance(value, np.ndarray):
        dtype = np.result_type(value.dtype, np.float64)
        return filled(value, value.astype(dtype) + step * dot.astype(dtype), dtype)
    return float(value) + step * float(dot)


def differences(case: Case, dots: list[Any]) -> Any:
    """Central differences along a direction, of the call in double precision."""
    exact = program(case.text.replace("float32", "float64").replace("complex64", "complex128"))
    args = (case.x, case.y, case.mask)
    ahead, behind = (
        exact(*[moved(a, d, step) for a, d in zip(args, dots, strict=True)])
        for step in (STEP, -STEP)
    )

    def quotient(p: Any, q: Any) -> Any:
        return (np.asarray(p) - np.asarray(q)) / (2.0 * STEP) if carries(p) else p

    return like(ahead, quotient, behind)


def assert_same(found: Any, expected: Any, tolerance: float) -> None:
    """The primal's own value, to the last digit unless a type to compute in is given."""
    for p, q in zip(leaves(found), leaves(expected), strict=True):
        assert type(p) is type(q) and np.asarray(p).dtype == np.asarray(q).dtype
        np.testing.assert_allclose(p, q, rtol=tolerance)


def assert_alike(found: Any, expected: Any) -> None:
    """The same shapes and types, where the values carry derivatives."""
    for p, q in zip(leaves(found), leaves(expected), strict=True):
        if carries(q):
            assert np.shape(p) == np.shape(q)
            assert np.asarray(p).dtype == np.asarray(q).dtype


def is_low(*values: Any) -> bool:
    return any(
        np.asarray(v).dtype in (np.float32, np.complex64) for value in values for v in leaves(value)
    )


@pytest.mark.parametrize(
    "family", one_in(3, ["unary", "binary", "reductions", "along", "rearranged", "matrices"], 2)
)
@pytest.mark.filterwarnings("ignore")
def test_options(family: str, pytestconfig: pytest.Config) -> None:
    examples = int(EXAMPLES or (30 if pytestconfig.getoption("--all") else 10))

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(getattr(options, family)())
    def check(case: Case) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_case(case)

    check()


def check_case(case: Case) -> None:
    fn, args = program(case.text), (case.x, case.y, case.mask)
    try:
        plain = fn(*args)
    except (AttributeError, TypeError, ValueError, np.linalg.LinAlgError):
        reject()  # NumPy refuses the call, or has no such function in this version
    if not all(np.all(np.isfinite(v)) for v in leaves(plain)):
        reject()
    draw = direction(np.random.default_rng(5))
    seed = like(plain, draw)
    dots = [draw(a) if carries(a) else None for a in args]
    value, pullback = tl.vjp(fn, *args)
    bars = pullback(seed)
    digits = 1e-6 if "dtype" in case.text else 1e-13
    assert_same(value, plain, digits)
    also, tangent = tl.jvp(fn, args, tuple(dots))
    assert_same(also, plain, digits)
    assert_alike(tangent, plain)
    active = [i for i, dot in enumerate(dots) if dot is not None]
    for i in active:
        assert_alike(bars[i], args[i])
    tolerance = 5e-3 if is_low(*(args[i] for i in active), plain) or "32" in case.text else 2e-5
    forward = inner(seed, tangent)
    reverse = sum(inner(dots[i], bars[i]) for i in active)
    scale = tolerance * max(1.0, abs(forward))
    assert abs(reverse - forward) <= scale, f"<u, Jv> = {forward}, <J^T u, v> = {reverse}"
    numeric = inner(seed, differences(case, dots))
    assert abs(forward - numeric) <= scale, f"<u, Jv> = {forward}, by differences {numeric}"
