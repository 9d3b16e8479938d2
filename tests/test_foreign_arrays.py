"""What differs where arrays are not NumPy's: entries are views, sums are written in place."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import register_array_module
from tangentlike.runtime import standard
from tests.strict_array import from_strict, to_strict, xp

register_array_module(xp)
X = np.array([0.7, 1.3, -0.4, 0.9])


def program(body: str, **names: Any) -> Callable[..., Any]:
    """`f(x)` of these statements."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"def f(x):\n{lines}"
    filename = f"<foreign {text}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = names or {"xp": xp}
    exec(compile(text, filename, "exec"), namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


def differences(fn: Callable[..., Any]) -> np.ndarray:
    """The gradient of a function of a strict array by central differences."""
    steps = 1e-6 * np.eye(X.size)
    return np.array([float(fn(to_strict(X + h)) - fn(to_strict(X - h))) / 2e-6 for h in steps])


SUMS = [
    "s = xp.sum(x)\nfor i in range(3):\n    s += xp.sin(s) * xp.sum(x)\nreturn s * s",
    "s = xp.sum(x)\nfor i in range(3):\n    s *= x[i]\nreturn s * s",
    "s = 0.0\nfor i in range(3):\n    s += xp.sum(x * x) * (1.0 + s)\nreturn s",
    "s = xp.sum(x)\nt = s * 1.0\ns += xp.sum(x * x)\nreturn t * s",
    "m = xp.max(x)\nm += m * x[1]\nreturn m * m * xp.sum(x)",
    "i = xp.argmax(x)\ni += 1\nreturn x[i - 1] * x[0] * x[i - 1]",
    "y = x * 1.0\nk = xp.argmin(x)\ny[k] *= y[k]\ny[k] += x[0]\nreturn xp.sum(y * y)",
]


@pytest.mark.parametrize("body", SUMS)
@pytest.mark.parametrize("options", [{}, {"example": (to_strict(X),)}], ids=["", "example"])
def test_sums_that_are_written(body: str, options: dict[str, Any]) -> None:
    fn = program(body)
    expected = differences(fn)
    gradient = from_strict(tl.grad(fn, **options)(to_strict(X)))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
    _, tangent = tl.jvp(fn, (to_strict(X),), (to_strict(np.ones(4)),))
    assert float(tangent) == pytest.approx(expected.sum(), rel=1e-5)


SHARED = [
    "s = xp.sum(x)\nt = s\ns += xp.sum(x * x)\nreturn t * s",
    "s = xp.sum(x)\nkept = [s]\ns += xp.sum(x * x)\nreturn kept[0] * s",
    "t = x[0]\nt += 2.0\nreturn t * x[0]",
    "y = x * x\nt = y[0]\ny[0] = 3.0 * t * t\nreturn t * y[0] + xp.sum(y)",
]


@pytest.mark.parametrize("body", SHARED)
def test_what_two_names_see_is_right_or_refused(body: str) -> None:
    fn = program(body)
    try:
        gradient = from_strict(tl.grad(fn)(to_strict(X)))
    except tl.UnsupportedError as refusal:
        assert refusal.place is not None
        return
    np.testing.assert_allclose(gradient, differences(fn), rtol=1e-5, atol=1e-6)


def test_numpys_own_functions_on_foreign_arrays() -> None:
    """A program that says `np` may be given any arrays that follow the protocols."""
    fn = program("s = np.sum(x)\nfor i in range(3):\n    s *= x[i]\nreturn s * s", np=np)
    derivative = tl.grad(fn)
    np.testing.assert_allclose(from_strict(derivative(to_strict(X))), derivative(X))
    np.testing.assert_allclose(derivative(X), differences(fn), rtol=1e-5)


def test_name_that_the_module_lacks_is_refused_with_its_line() -> None:
    lacking = types.ModuleType("lacking")
    lacking.__dict__.update({k: v for k, v in vars(xp).items() if k != "expand_dims"})
    register_array_module(lacking)
    fn = program(
        "m = lib.mean(x.reshape(1, 2, 2), axis=(0, 2))\nreturn lib.sum(m * m)", lib=lacking
    )
    with pytest.raises(tl.UnsupportedError, match="which has no `expand_dims`.*\n.*lib.mean"):
        tl.grad(fn)(to_strict(X))


def test_name_that_is_not_needed_may_be_lacking() -> None:
    lacking = types.ModuleType("lacking")
    lacking.__dict__.update({k: v for k, v in vars(xp).items() if k != "expand_dims"})
    register_array_module(lacking)
    derivative = tl.grad(program("return lib.sum(x * lib.tanh(x))", lib=lacking))
    assert "lib." in derivative.source and "np." not in derivative.source
    derivative(to_strict(X))


def test_pullback_runs_as_often_as_asked() -> None:
    """Or says that it cannot: its tape is copied, with what shares memory in it."""
    bodies = [
        "y = x * 1.0\nfor i in range(1, 4):\n    y[i] = y[i] * y[i - 1]\nreturn xp.sum(y * y)",
        "y = xp.zeros(4)\ny[:] = x * x\nlow = y[:2]\nlow *= y[2:] * low\nreturn xp.sum(y * y * x)",
        "y = xp.zeros(4)\ny[:] = x * x\nlow = y[:2]\nfor i in range(3):\n    low *= low\nreturn xp.sum(low * y[1:3])",
    ]
    for body in bodies:
        fn = program(body)
        _, pullback = tl.vjp(fn, to_strict(X))
        for _ in range(2):
            try:
                (bar,) = from_strict(pullback(to_strict(np.array(1.0))))
            except NotImplementedError as refusal:
                assert "use grad instead of vjp" in str(refusal)
                continue
            np.testing.assert_allclose(bar, differences(fn), rtol=1e-5)


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("array_api_compat")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "array_api_compat.torch", raising=False)
    with pytest.raises(TypeError, match="need the package torch: install it"):
        standard.functions_of("torch")
