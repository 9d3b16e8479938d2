"""`target="cupy-fused"`: elementwise chains of adjoints as functions that CuPy fuses.

Everywhere the stand-in's `fuse` runs them, which takes elementwise operations only; where there is
a device, CuPy's own does.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import register_array_module
from tests.devices import from_device, held_by_device, to_device
from tests.programs import PROGRAMS, Program
from tests.sampled import one_in
from tests.strict_array import from_strict, fusing, to_strict
from tests.strict_array import fusing as cp
from tests.test_strict_array import FOLLOWED, STRICT_BOTH, STRICT_ONLY, leaves, rewritten

register_array_module(fusing)
X = np.array([[0.7, 1.3], [0.4, 0.9]])


def layers(w: Any, x: Any) -> Any:
    h = cp.tanh(x @ w)
    y = h * cp.exp(-h * h)
    for _ in range(2):
        y = cp.where(y > 0.1, y * y + cp.sin(y), 2.0**y)
    return cp.sum(y * cp.log(1.0 + y * y) / cp.maximum(y, 0.3))


def on_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    return types.FunctionType(fn.__code__, {**fn.__globals__, "cp": np}, fn.__name__)


def differences(fn: Callable[..., Any], *args: Any) -> np.ndarray:
    found = np.zeros_like(args[0])
    for place in np.ndindex(args[0].shape):
        step = np.zeros_like(args[0])
        step[place] = 1e-6
        high, low = fn(args[0] + step, *args[1:]), fn(args[0] - step, *args[1:])
        found[place] = (high - low) / 2e-6
    return found


@pytest.mark.parametrize("example", [None, (to_strict(X), to_strict(X))], ids=["", "example"])
def test_fused_gradient(example: Any) -> None:
    fused = tl.grad(layers, target="cupy-fused", example=example)
    got = from_strict(fused(to_strict(X), to_strict(X)))
    np.testing.assert_allclose(got, differences(on_numpy(layers), X, X), rtol=1e-6, atol=1e-8)
    plain = tl.grad(layers, example=example)
    np.testing.assert_allclose(got, from_strict(plain(to_strict(X), to_strict(X))), rtol=1e-12)
    assert "@cp.fuse()\ndef fused_h_bar(" in fused.source
    assert "fuse" not in plain.source
    value, _ = tl.value_and_grad(layers, target="cupy-fused")(to_strict(X), to_strict(X))
    assert float(value) == pytest.approx(float(on_numpy(layers)(X, X)))


def test_fused_functions_are_called_on_arrays() -> None:
    fused = tl.grad(layers, target="cupy-fused")
    fused(to_strict(X), to_strict(X))
    held = [cell.cell_contents for cell in fused.__wrapped__.__closure__]
    kernels = [value for value in held if type(value).__name__ == "_Fused"]
    assert len(kernels) >= 4 and all(kernel.calls for kernel in kernels)


def indices(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n - 1):
        total = total + x[(2 * i + 1) % n] * x[n - 1 - i]
    return cp.sum(total)


def test_integers_and_numbers_stay_as_they_are() -> None:
    fused = tl.grad(indices, target="cupy-fused")
    fused(to_strict(X[0]), 2)
    assert "fused_" not in fused.source

    def of_numbers(a: float, b: float) -> float:
        return a * b * a + cp.pi * b

    assert "fused_" not in tl.grad(of_numbers, target="cupy-fused", example=(1.0, 2.0)).source


def test_refused_where_nothing_fuses() -> None:
    with pytest.raises(tl.UnsupportedError, match="`np` is `numpy`, which fuses nothing"):
        tl.grad(lambda x: np.sum(np.sin(x) * x * x), target="cupy-fused")
    with pytest.raises(tl.UnsupportedError, match="no target 'cuda'"):
        tl.grad(layers, target="cuda")


@functools.cache
def module_of(theme: str) -> types.ModuleType:
    return rewritten(theme, "from tests.strict_array import fusing as xp")


# (What is fused is found in the text that is derived, which tests/test_strict_array.py runs of all.)
WHOLE = [p for p in FOLLOWED if p.name not in {**STRICT_ONLY, **STRICT_BOTH}]


@pytest.mark.parametrize("program", one_in(4, [pytest.param(p, id=p.name) for p in WHOLE[1::3]]))
def test_programs(program: Program) -> None:
    fn = getattr(module_of(program.theme), program.fn.__name__)
    expected = tl.grad(program.fn, wrt=program.wrt)(*program.arguments())
    gradient = tl.grad(fn, wrt=program.wrt, target="cupy-fused")(*to_strict(program.arguments()))
    for mine, theirs in zip(leaves(from_strict(gradient)), leaves(expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


# ---------------------------------------------------------------------------- on a device


@pytest.fixture
def device() -> Any:
    cupy = held_by_device()
    if cupy is None:
        pytest.skip("there is no device that CuPy finds")
    return cupy


def test_on_a_device(device: Any) -> None:
    fn = types.FunctionType(layers.__code__, {**globals(), "cp": device}, "layers")
    x = device.asarray(X)
    got = tl.grad(fn, target="cupy-fused")(x, x)
    np.testing.assert_allclose(got.get(), tl.grad(on_numpy(layers))(X, X), rtol=1e-8)


def test_programs_on_a_device(device: Any) -> None:
    whole = {p.name for p in WHOLE}
    for program in (p for p in PROGRAMS[::7] if p.name in whole):
        fn = getattr(rewritten(program.theme, "import cupy as xp"), program.fn.__name__)
        gradient = tl.grad(fn, wrt=program.wrt, target="cupy-fused")(
            *to_device(program.arguments())
        )
        expected = tl.grad(program.fn, wrt=program.wrt)(*program.arguments())
        for mine, theirs in zip(leaves(from_device(gradient)), leaves(expected), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
