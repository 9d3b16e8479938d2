"""docs/compare.md: what its table says of other tools, run where these are installed.

Each probe is named by the tool and the row of the table; the entries of Tangent are probed by hand
(tests/tangent_gradients.py says with what).
"""

from __future__ import annotations

import contextlib
import importlib
import io
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.thorough  # (PyTorch and JAX take seconds to begin)


def recurrence(np: Any, w: Any, h: Any) -> Any:
    for _ in range(3):
        h = np.tanh(w * h)
    return np.sum(h)


def doubled_until_large(np: Any, x: Any) -> Any:
    while np.sum(x) < 100.0:
        x = x * 2.0
    return np.sum(x)


class Scaled:
    def __init__(self, w: float) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return (self.w * x * x).sum()


# --------------------------------------------------------------------------------------- JAX


@pytest.fixture
def jax() -> Any:
    found = pytest.importorskip("jax")
    found.config.update("jax_enable_x64", True)
    return found


def test_jax_prints_its_own_language(jax: Any) -> None:
    text = str(jax.make_jaxpr(jax.grad(lambda x: jax.numpy.sum(x * x)))(np.ones(2)))
    assert "lambda" in text and "mul" in text and "def " not in text


def test_jax_names_the_primitive_of_a_nan(jax: Any) -> None:
    jax.config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError) as caught:
            jax.grad(lambda x: jax.numpy.sum(jax.numpy.sqrt(jax.numpy.maximum(x, 0.0))))(
                np.array([-1.0, 4.0])
            )
    finally:
        jax.config.update("jax_debug_nans", False)
    assert "nan" in str(caught.value)


def test_jax_arrays_are_not_written(jax: Any) -> None:
    x = jax.numpy.ones(3)
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 2.0
    assert jax.grad(lambda x: x.at[0].set(3.0).sum())(x)[0] == 0.0


def test_jax_takes_python_loops_without_jit_only(jax: Any) -> None:
    def fn(x: Any) -> Any:
        return doubled_until_large(jax.numpy, x)

    np.testing.assert_allclose(jax.grad(fn)(np.ones(2)), 64.0)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(jax.grad(fn))(np.ones(2))


def test_jax_has_forward_mode_second_derivatives_batches_checkpoints(jax: Any) -> None:
    def fn(w: Any, h: Any) -> Any:
        return recurrence(jax.numpy, w, h)

    w, h = np.full(2, 0.5), np.ones(2)
    tangent = jax.jvp(fn, (w, h), (np.ones(2), np.zeros(2)))[1]
    np.testing.assert_allclose(tangent, jax.grad(fn)(w, h).sum())
    assert jax.hessian(fn)(w, h).shape == (2, 2)
    assert jax.vmap(jax.grad(fn), (0, None))(np.stack([w, w]), h).shape == (2, 2)
    np.testing.assert_allclose(jax.grad(jax.checkpoint(fn))(w, h), jax.grad(fn)(w, h))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        importlib.import_module("jax.ad_checkpoint").print_saved_residuals(fn, w, h)
    assert "f64[2]" in printed.getvalue()


def test_jax_takes_objects_and_closures(jax: Any) -> None:
    model = Scaled(2.0)
    np.testing.assert_allclose(jax.grad(lambda x: model(x))(np.ones(2)), 4.0)


# ----------------------------------------------------------------------------------- PyTorch


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def of_tensor(torch: Any, fn: Callable[[Any], Any], x: Any) -> Any:
    tensor = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    fn(tensor).backward()
    return tensor.grad.numpy()


def test_torch_has_a_graph_of_backward_nodes(torch: Any) -> None:
    y = torch.tanh(torch.ones(2, requires_grad=True)).sum()
    assert [type(node).__name__ for node in (y.grad_fn, y.grad_fn.next_functions[0][0])] == [
        "SumBackward0",
        "TanhBackward0",
    ]


def test_torch_names_the_forward_call_of_a_nan(torch: Any) -> None:
    with (
        pytest.warns(UserWarning, match="forward call that caused the error"),
        pytest.raises(RuntimeError, match="SqrtBackward0"),
        torch.autograd.detect_anomaly(),
    ):
        of_tensor(torch, lambda x: torch.sum(torch.sqrt(x) * 0.0), [0.0, 4.0])


def test_torch_follows_writes_and_checks_versions(torch: Any) -> None:
    def written(x: Any) -> Any:
        y = x * 1.0
        y[1:] *= 2.0
        return y.sum()

    def overwritten(x: Any) -> Any:
        y = torch.exp(x)
        y[0] = 0.0
        return y.sum()

    np.testing.assert_allclose(of_tensor(torch, written, [1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        of_tensor(torch, overwritten, [1.0, 2.0])


def test_torch_has_forward_mode_second_derivatives_batches_checkpoints(torch: Any) -> None:
    module = types.SimpleNamespace(tanh=torch.tanh, sum=torch.sum)
    w, h = torch.full((2,), 0.5, dtype=torch.float64), torch.ones(2, dtype=torch.float64)

    def fn(w: Any) -> Any:
        return recurrence(module, w, h)

    gradient = torch.func.grad(fn)(w)
    tangent = torch.func.jvp(fn, (w,), (torch.ones(2, dtype=torch.float64),))[1]
    np.testing.assert_allclose(tangent, gradient.sum())
    assert torch.func.hessian(fn)(w).shape == (2, 2)
    assert torch.func.vmap(torch.func.grad(fn))(torch.stack([w, w])).shape == (2, 2)
    again = of_tensor(
        torch, lambda w: torch.utils.checkpoint.checkpoint(fn, w, use_reentrant=False), [0.5, 0.5]
    )
    np.testing.assert_allclose(again, gradient)
    seen: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        fn(w.requires_grad_())
    assert seen
    np.testing.assert_allclose(
        of_tensor(torch, lambda x: doubled_until_large(module, x), [1.0, 1.0]), 64.0
    )


# ---------------------------------------------------------------------------------- autograd


def test_autograd() -> None:
    autograd = pytest.importorskip("autograd")
    anp = pytest.importorskip("autograd.numpy")
    w, h = np.full(2, 0.5), np.ones(2)

    def fn(w: Any) -> Any:
        return recurrence(anp, w, h)

    gradient = autograd.grad(fn)(w)
    jvp = autograd.differential_operators.make_jvp(fn)(w)(np.ones(2))[1]
    np.testing.assert_allclose(jvp, gradient.sum())
    assert autograd.hessian(fn)(w).shape == (2, 2)
    np.testing.assert_allclose(autograd.grad(autograd.checkpoint(fn))(w), gradient)
    assert not hasattr(autograd, "vmap")
    np.testing.assert_allclose(
        autograd.grad(lambda x: doubled_until_large(anp, x))(np.ones(2)), 64.0
    )
    np.testing.assert_allclose(autograd.grad(Scaled(2.0))(np.ones(2)), 4.0)

    def written(x: Any) -> Any:
        y = x * 1.0
        y[0] = 0.0
        return anp.sum(y)

    with pytest.raises(TypeError, match="does not support item assignment"):
        autograd.grad(written)(np.ones(2))
