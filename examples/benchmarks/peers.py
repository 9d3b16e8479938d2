"""JAX and PyTorch as contenders of the page: the programs under their own `np`, or rewritten."""

from __future__ import annotations

import difflib
import inspect
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import KERNELS, Kernel

# (One thread, as for the others.)
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def under(fn: Any, module: Any) -> Any:
    """The function with another module under the name `np`."""
    return types.FunctionType(fn.__code__, {**fn.__globals__, "np": module}, fn.__name__)


def with_jax(name: str, kernel: Kernel, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Value and gradient, jitted, of arrays that JAX holds; raises ImportError without JAX."""
    os.environ.setdefault("XLA_FLAGS", _ONE_THREAD)
    import jax
    import jax_kernels

    jax.config.update("jax_enable_x64", True)
    fn = getattr(jax_kernels, name, None) or under(kernel.fn, jax.numpy)
    jitted = jax.jit(jax.value_and_grad(fn, tuple(range(kernel.count))))
    given = tuple(map(jax.numpy.asarray, args))
    return lambda: jax.block_until_ready(jitted(*given))


def changed_lines() -> dict[str, int]:
    """How many lines of a program JAX's version adds or changes, by its name."""
    import jax_kernels

    found = {}
    for name, kernel in KERNELS.items():
        if hasattr(jax_kernels, name):
            texts = kernel.fn, getattr(jax_kernels, name)
            before, after = ([x.strip() for x in inspect.getsource(f).splitlines()] for f in texts)
            before = before[before.index(after[0]) :]  # (without the decorator)
            found[name] = sum(line.startswith("+ ") for line in difflib.ndiff(before, after))
    return found


class TorchNames:
    """PyTorch under the names and options of NumPy that the programs use."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._torch, name)
        if isinstance(found, types.ModuleType):
            return found
        return lambda x, *rest, **options: (
            found(x, *rest, **options)
            if not isinstance(x, float)
            else getattr(np, name)(x, *rest, **options)
        )

    def maximum(self, a: Any, b: Any) -> Any:
        return self._torch.maximum(a, self._torch.as_tensor(b))

    def max(self, x: Any, axis: int, keepdims: bool) -> Any:
        return self._torch.amax(x, axis, keepdim=keepdims)

    def var(self, x: Any, axis: int, keepdims: bool) -> Any:
        return self._torch.var(x, axis, correction=0, keepdim=keepdims)

    def cumsum(self, x: Any) -> Any:
        return self._torch.cumsum(x, 0)


def with_torch(kernel: Kernel, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Value and gradient of tensors; raises ImportError without PyTorch."""
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    fn = under(kernel.fn, TorchNames(torch))
    given = [torch.tensor(a) for a in args]
    for leaf in given[: kernel.count]:
        leaf.requires_grad_()

    def call() -> Any:
        value = fn(*given)
        return value.detach(), torch.autograd.grad(value, given[: kernel.count])

    return call
