"""Functions that take their array module from their arrays, on every module that is supported."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangentlike as tl
from tangentlike.rules import register_array_module
from tests.sampled import one_in
from tests.strict_array import StrictArray, from_strict, to_strict, xp

register_array_module(xp)
A = np.array([[0.7, 1.3, 0.4], [0.9, 0.2, 1.1], [1.6, 0.5, 0.8]])
MODULES = ("numpy", "stand-in of CuPy", "array_api_strict", "torch")


def given(module: str, array: np.ndarray) -> Any:
    """An array of a module; skips where that is not installed."""
    if module == "numpy":
        return array.copy()
    if module == "stand-in of CuPy":
        return to_strict(array)
    if module == "torch":
        pytest.importorskip("array_api_compat")
    return pytest.importorskip(module).asarray(array)


def back(x: Any) -> np.ndarray:
    if isinstance(x, StrictArray):
        return from_strict(x)
    return np.asarray(x.detach() if hasattr(x, "detach") else x)


def assert_kind(x: Any, like: Any) -> None:
    assert type(x) is type(like), type(x)
    assert x.dtype == like.dtype


def program(expression: str) -> Callable[..., Any]:
    """`f(x)` of an expression in `x` and the module `xp` that it names."""
    lines = "".join(f"    {line}\n" for line in expression.split("\n"))
    text = f"def f(x):\n    xp = x.__array_namespace__()\n{lines}"
    filename = f"<namespace {text}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


# What each row of docs/cupy.md is tested with: a function of a matrix of three rows.
ROWS = {
    "arithmetic, comparisons": "return xp.sum((x * x - 1.0 / x) ** 2 + 2.0 ** x + (x > 0.6) * x)",
    "`exp log sqrt sin .. tanh`": (
        "y = xp.exp(-x) + xp.log(x) + xp.sqrt(x) + xp.sin(x) * xp.cos(x) + xp.tan(0.3 * x)\n"
        "return xp.sum(y * xp.tanh(x) + xp.sinh(x) - xp.cosh(x) + xp.log1p(x) * xp.expm1(x))"
    ),
    "`asin acos atan atan2 asinh acosh atanh`": (
        "y = xp.asin(x / 2) + xp.acos(x / 2) + xp.atan(x) + xp.atan2(x, x * x)\n"
        "return xp.sum(y + xp.asinh(x) + xp.acosh(x + 1.0) + xp.atanh(x / 2))"
    ),
    "`pow square abs sign maximum minimum hypot`": (
        "y = xp.pow(x, 3.0) + xp.square(x) + xp.abs(x - 1.0) * xp.sign(x - 1.0)\n"
        "return xp.sum(y * xp.maximum(x, 1.0 / x) + xp.minimum(x, x * x) + xp.hypot(x, 2.0 * x))"
    ),
    "`log2 log10 logaddexp reciprocal negative`": (
        "y = xp.log2(x) * xp.log10(x) + xp.logaddexp(x, 2.0 * x)\n"
        "return xp.sum(y + xp.reciprocal(x) * xp.negative(x * x))"
    ),
    "`where clip`": "return xp.sum(xp.where(x > 0.6, x * x, xp.exp(x)) * xp.clip(x, 0.3, 1.2))",
    "`sum mean prod max min` with `axis`, `keepdims`": (
        "y = xp.sum(x, axis=0) * xp.mean(x, axis=1) + xp.prod(x, axis=-1)\n"
        "z = xp.max(x, axis=0, keepdims=True) * xp.min(x, axis=1, keepdims=True)\n"
        "return xp.sum(y) * xp.mean(z) + xp.max(x) * xp.min(x)"
    ),
    "`std var`": "return xp.std(x) + xp.sum(xp.var(x, axis=0) * xp.std(x, axis=1))",
    "`cumulative_sum cumulative_prod diff`": (
        "y = xp.cumulative_sum(x, axis=0) * xp.cumulative_prod(x, axis=1)\n"
        "return xp.sum(y) * xp.sum(xp.diff(x, axis=1) ** 2)"
    ),
    "`matmul @ tensordot vecdot matrix_transpose`": (
        "y = xp.matmul(x, x) @ x + xp.tensordot(x, x, axes=1)\n"
        "return xp.sum(y * xp.matrix_transpose(x)) + xp.sum(xp.vecdot(x, x * x))"
    ),
    "`reshape permute_dims expand_dims squeeze broadcast_to`": (
        "y = xp.permute_dims(xp.reshape(x, (1, 3, 3)), (2, 0, 1))\n"
        "z = xp.squeeze(xp.expand_dims(x[0, ...], axis=0), axis=0)\n"
        "return xp.sum(y * y * xp.broadcast_to(z, (3, 1, 3))) + xp.sum(xp.moveaxis(x, 0, 1) * x)"
    ),
    "`concat stack tile repeat flip roll`": (
        "y = xp.concat([x, x * x], axis=0) * xp.tile(x, (2, 1))\n"
        "z = xp.stack([xp.flip(x, axis=0), xp.roll(x, 1, axis=1)], axis=0)\n"
        "return xp.sum(y) * xp.sum(z * x) + xp.sum(xp.repeat(x, 2, axis=0) * y)"
    ),
    "`tril triu take sort`": (
        "y = xp.tril(x) * xp.exp(x) + xp.triu(x, k=1)\n"
        "i = xp.asarray([2, 0, 2])\n"
        "return xp.sum(y * xp.take(x, i, axis=0)) + xp.sum(xp.sort(x, axis=0)[0, ...] ** 2)"
    ),
    "entries, slices, rows that are read": (
        "total = 0.0 * x[0, 0]\n"
        "for i in range(3):\n"
        "    total = total + x[i, 0] * xp.sum(x[:, i]) * x[2, 1] + xp.sum(x[1:, ::2] ** 2)\n"
        "return total"
    ),
    "writes into arrays": (
        "y = xp.zeros((3, 3), dtype=x.dtype)\n"
        "y[...] = x * x\n"
        "for i in range(1, 3):\n"
        "    y[i, ...] = y[i, ...] * y[i - 1, ...] + x[i, ...]\n"
        "y[:, 0] += x[:, 1]\n"
        "return xp.sum(y * y)"
    ),
    "`linalg.inv solve det slogdet cholesky`": (
        "k = x @ xp.matrix_transpose(x) + xp.eye(3, dtype=x.dtype)\n"
        "y = xp.sum(xp.linalg.inv(k) * x) + xp.linalg.det(k) + xp.linalg.slogdet(k)[1]\n"
        "return y + xp.sum(xp.linalg.solve(k, x) ** 2) + xp.sum(xp.linalg.cholesky(k) * x)"
    ),
    "`linalg.eigh svd qr vector_norm trace outer`": (
        "k = x @ xp.matrix_transpose(x)\n"
        "y = xp.sum(xp.linalg.eigh(k)[0] ** 2) + xp.linalg.vector_norm(x) + xp.linalg.trace(k @ x)\n"
        "u, s, v = xp.linalg.svd(x, full_matrices=False)\n"
        "return y + xp.sum(s ** 3) + xp.sum(xp.linalg.outer(x[0, ...], x[1, ...]) * k)"
    ),
    "`fft.fft ifft rfft irfft`": (
        "z = xp.fft.rfft(x, axis=1)\n"
        "y = xp.fft.irfft(z * z, n=3, axis=1)\n"
        "w = xp.fft.ifft(xp.fft.fft(x + 0.0j))\n"
        "return xp.sum(y ** 2) + xp.sum(xp.real(w) * x) + xp.sum(xp.abs(z) ** 2)"
    ),
    "loops and branches": (
        "for i in range(3):\n"
        "    x = x + 0.1 * xp.sin(x) * i\n"
        "    if xp.sum(x) > 7.0:\n"
        "        x = x * x\n"
        "return xp.sum(x)"
    ),
}


def test_the_page_lists_what_is_tested() -> None:
    page = (Path(__file__).parent.parent / "docs" / "cupy.md").read_text()
    table = page[page.index("| operations | CuPy") :].split("\n\n")[0].splitlines()[2:]
    assert table == [f"| {row} | yes | yes | yes |" for row in ROWS]


CASES = [pytest.param(m, r, id=f"{m}-{r}") for r in ROWS for m in MODULES]


@pytest.mark.parametrize(("module", "row"), one_in(3, CASES))
def test_rows(module: str, row: str) -> None:
    """The gradient is that on NumPy, which is checked by differences, and forward mode agrees."""
    f = program(ROWS[row])
    want = tl.grad(f)(A.copy())
    if module == "numpy":
        tl.check_grads(f, (A.copy(),), order=1)
        return
    x = given(module, A)
    got = tl.grad(f)(x)
    assert_kind(got, x)
    np.testing.assert_allclose(back(got), want, rtol=1e-8, atol=1e-10)
    along = np.cos(np.arange(9.0)).reshape(3, 3)
    value, tangent = tl.jvp(f, (x,), (given(module, along),))
    assert_kind(value, x)
    assert float(tangent) == pytest.approx(float(np.sum(want * along)), rel=1e-8)


# ---------------------------------------------------------------------- how a module is found


def from_arrays(*arrays: Any) -> Any:
    """The namespace of the first array that names one, else NumPy: as libraries write it."""
    for x in arrays:
        if hasattr(x, "__array_namespace__"):
            return x.__array_namespace__()
    return np


def by_helper(x: Any) -> Any:
    xp = from_arrays(x)
    return _norm_of(xp, xp.tanh(x)) + xp.sum(_squares(x))


def _norm_of(xp: Any, y: Any) -> Any:
    return xp.linalg.vector_norm(y) * xp.pi


def _squares(y: Any) -> Any:
    xp = y.__array_namespace__()
    return xp.square(y) * y


def by_parameter(x: Any, xp: Any = np) -> Any:
    return xp.sum(xp.sin(x) * x)


def by_numpys_functions(x: Any) -> Any:
    return np.sum(np.tanh(x) @ np.transpose(x)) + np.linalg.norm(x)


def by_operators(x: Any) -> Any:
    return (x @ x * 2.0 - x / 3.0).sum() + abs(x - 1.0).mean()


@pytest.mark.parametrize("f", [by_helper, by_numpys_functions, by_operators, by_parameter])
@pytest.mark.parametrize("module", MODULES[1:])
def test_ways_to_name_the_module(module: str, f: Callable[..., Any]) -> None:
    want = tl.grad(f)(A.copy())
    x = given(module, A)
    got = tl.grad(f)(x)
    assert_kind(got, x)
    np.testing.assert_allclose(back(got), want, rtol=1e-9)


def test_the_namespace_found_is_used_by_the_adjoint() -> None:
    gradient = tl.grad(program("return xp.sum(xp.sin(x))"))
    gradient(A.copy())
    assert "import numpy as xp" in gradient.source and "xp.cos(x)" in gradient.source
    gradient(to_strict(A))
    assert "import strict_xp as xp" in gradient.source and "xp.cos(x)" in gradient.source
    assert "pair_of" not in gradient.source


def test_module_given_as_an_argument() -> None:
    standard = pytest.importorskip("array_api_strict")
    x = standard.asarray(A)
    got = tl.grad(by_parameter)(x, standard)
    np.testing.assert_allclose(back(got), np.sin(A) + A * np.cos(A))
    compat = pytest.importorskip("array_api_compat.torch")
    tensor = given("torch", A)
    np.testing.assert_allclose(back(tl.grad(by_parameter)(tensor, compat)), back(got))


def test_array_api_compats_own_question() -> None:
    compat = pytest.importorskip("array_api_compat")
    namespace = {"compat": compat}
    text = "def f(x):\n    xp = compat.array_namespace(x)\n    return xp.sum(xp.exp(x) * x)\n"
    linecache.cache["<compat>"] = (len(text), None, text.splitlines(True), "<compat>")
    exec(compile(text, "<compat>", "exec"), namespace)
    for module in ("array_api_strict", "torch"):
        got = tl.grad(namespace["f"])(given(module, A))
        np.testing.assert_allclose(back(got), np.exp(A) * (A + 1.0))


@pytest.mark.thorough
def test_array_api_compats_own_question_of_numpys_arrays() -> None:
    compat = pytest.importorskip("array_api_compat")
    fns = pytest.importorskip("array_api_compat.numpy")
    namespace = {"compat": compat, "fns": fns}
    text = (
        "def normed(x):\n    xp = compat.array_namespace(x)\n"
        "    return xp.exp(x) * x / xp.sum(fns.ones(3) * x)\n"
        "def f(x):\n    xp = compat.array_namespace(x)\n"
        "    mean = xp.mean(normed(x) ** 2) * compat.size(x)\n"
        "    rows = x[:, xp.newaxis] * x\n"
        "    return mean + xp.sum(rows**2) if compat.device(x) == 'cpu' else xp.sum(x)\n"
    )
    linecache.cache["<compat_numpy>"] = (len(text), None, text.splitlines(True), "<compat_numpy>")
    exec(compile(text, "<compat_numpy>", "exec"), namespace)
    tl.check_grads(namespace["f"], (np.array([0.3, 0.7, 1.2]),), order=2)


# ------------------------------------------------------------------ the calls and their arguments


def network(p: Any, x: Any) -> Any:
    xp = x.__array_namespace__()
    hidden = xp.tanh(x @ p["w"] + p["b"][0])
    return xp.sum(hidden * hidden)


@pytest.mark.parametrize("module", MODULES[2:])
def test_containers_pullbacks_and_second_order(module: str) -> None:
    on_numpy = {"w": A.copy(), "b": [A[0].copy()]}
    p = {"w": given(module, A), "b": [given(module, A[0])]}
    x = given(module, A)
    value, gradient = tl.value_and_grad(network)(p, x)
    want = tl.grad(network)(on_numpy, A.copy())
    assert_kind(value, x)
    np.testing.assert_allclose(back(gradient["w"]), want["w"])
    np.testing.assert_allclose(back(gradient["b"][0]), want["b"][0])
    _, pullback = tl.vjp(network, p, x)
    for factor in (1.0, 2.0):
        bars, x_bar = pullback(given(module, np.array(factor)))
        np.testing.assert_allclose(back(bars["w"]), factor * want["w"])
        assert_kind(x_bar, x)
    product = tl.hvp(network, wrt="x")(p, x, x)
    hessian = tl.hessian(network, wrt="x")(p, x)
    assert_kind(hessian, x)
    np.testing.assert_allclose(
        np.tensordot(back(hessian), A, 2), back(product), rtol=1e-9, atol=1e-12
    )
    expected = tl.hvp(network, wrt="x")(on_numpy, A.copy(), A.copy())
    np.testing.assert_allclose(back(product), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("module", MODULES[2:])
def test_arguments_stay_and_results_have_memory_of_their_own(module: str) -> None:
    def doubled(x: Any) -> Any:
        x *= 2.0
        return (x * x).sum() if hasattr(x, "sum") else x[0, 0]

    x = given(module, A)
    got = tl.grad(doubled)(x)
    np.testing.assert_array_equal(back(x), A)
    np.testing.assert_allclose(back(got), 8.0 * A)
    through = tl.autodiff(lambda x: x * 1.0 + 0.0)
    seed = given(module, np.ones((3, 3)))
    _, bar = through(x, seed)
    bar += 1.0
    np.testing.assert_array_equal(back(seed), np.ones((3, 3)))


def test_precision_and_graphs_of_torch() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    x = torch.asarray(A, dtype=torch.float32).requires_grad_()
    value, gradient = tl.value_and_grad(by_operators)(x)
    assert gradient.dtype == torch.float32 and not value.requires_grad
    (want,) = torch.autograd.grad(by_operators(x), x)
    assert torch.allclose(gradient, want, rtol=1e-5)


# ---------------------------------------------------------------------------------- refusals

W = np.eye(3)


def of_class(x: Any) -> Any:
    if type(x).__name__ == "Tensor":
        return (x * x).sum()
    return x.sum()


def holding_outer(x: Any) -> Any:
    return (x @ W).sum()


def deviation_of_tensor(x: Any) -> Any:
    return x.std()


def greatest_of_tensor(x: Any) -> Any:
    return x.max(0)[0].sum()


def exchanged(x: Any) -> Any:
    return (x.transpose(0, 1) * x).sum()


def unknown_function(x: Any) -> Any:
    xp = x.__array_namespace__()
    return xp.median(x)


def mixed(x: Any) -> Any:
    return (x * np.ones(3)).sum()


def another_module(x: Any) -> Any:
    xp = numpys_always(x)
    return xp.sum(x)


def numpys_always(x: Any) -> Any:
    if len(x) == 3:
        return np
    return x.__array_namespace__()


def torchs_own(x: Any) -> Any:
    import torch

    return torch.sum(x * x)


REFUSALS = {
    of_class: "`type` is asked",
    holding_outer: "`W`, which is defined outside",
    deviation_of_tensor: "`std` of arrays",
    greatest_of_tensor: "`max` of arrays",
    exchanged: "`transpose` of arrays",
    unknown_function: "has no `median`",
    mixed: "an array of NumPy among arrays of another module",
    another_module: "is written for the module",
    torchs_own: "array_api_compat.array_namespace",
}


@pytest.mark.parametrize("f", REFUSALS, ids=lambda f: f.__name__)
def test_what_might_mean_another_thing_is_refused(
    f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`x.std()` of a tensor divides by n - 1, and NumPy's by n: neither is taken for the other."""
    x = given("torch", A)
    monkeypatch.setitem(globals(), "W", x)
    errors = (tl.TangentlikeError, TypeError, AttributeError)
    with pytest.raises(errors, match=REFUSALS[f]):
        tl.grad(f)(x)


def test_arrays_of_two_modules_are_refused() -> None:
    other = given("array_api_strict", A)
    with pytest.raises(
        tl.TangentlikeError, match="an array of torch among arrays of array_api_strict"
    ):
        tl.grad(lambda x, y: (x * y).sum())(given("torch", A), other)
