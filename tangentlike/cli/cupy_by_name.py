"""CuPy where it is not installed: the names of its functions, all that printing needs."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..rules.twins import register_array_module

__all__ = ["cupy_by_name"]

_METHODS = ("at", "reduce", "accumulate", "outer")  # of a ufunc


@contextlib.contextmanager
def cupy_by_name() -> Iterator[None]:
    """Let `import cupy` inside find a module of names, unless CuPy is installed."""
    if "cupy" in sys.modules or importlib.util.find_spec("cupy") is not None:
        yield
        return
    sys.modules["cupy"] = _names()
    try:
        yield
    finally:
        del sys.modules["cupy"]


class _Named:
    """A function of CuPy that a program names; it cannot be called."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "cupy"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TangentlikeError(
            f"`cupy.{self.__name__}` cannot be called: CuPy is not installed",
            hint="Without it a derivative can be printed, and not run.",
        )


@cache
def _names() -> types.ModuleType:
    """A module with NumPy's functions by name, and with its types and constants."""
    module = _mirror(np, "cupy")
    module.ndarray = type("ndarray", (), {"__module__": "cupy"})  # type: ignore[attr-defined]
    module.fuse = _fuse  # type: ignore[attr-defined]
    for name in ("linalg", "fft", "random"):
        setattr(module, name, _mirror(getattr(np, name), f"cupy.{name}"))
    register_array_module(module)
    return module


def _mirror(original: types.ModuleType, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    for member, value in vars(original).items():
        if member.startswith("_") or isinstance(value, types.ModuleType):
            continue
        if callable(value) and not isinstance(value, type):
            value = _function(f"{name}.{member}".removeprefix("cupy."), value)
        setattr(module, member, value)
    return module


def _function(name: str, original: Any) -> _Named:
    found = _Named(name)
    if isinstance(original, np.ufunc):
        for method in _METHODS:
            setattr(found, method, _Named(f"{name}.{method}"))
    return found


def _fuse(*args: Any, **kwargs: Any) -> Any:
    """`cupy.fuse`, with brackets or without: what it decorates."""
    return args[0] if args else _fuse
