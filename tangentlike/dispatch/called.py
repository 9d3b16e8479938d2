"""Derivatives of functions that only the running program knows (`runtime.functions`).

The call is what is differentiated: for `f(x, n, rate=k)` the function

    def f_call(x0, x1, *, rate):
        return f(x0, x1, rate=rate)

so that anything that can be called by name can be called at run time, partials and NumPy's
functions included.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ad.request import Request
from ..errors import UnsupportedError
from ..pipeline.stages import derive
from ..rules.twins import twin

_count = itertools.count(1)
_PLAIN = (
    types.FunctionType,
    types.BuiltinFunctionType,
    np.ufunc,
    functools.partial,
    functools._lru_cache_wrapper,
    type(np.sum),  # NumPy's functions that others may overload
)


def derive_call(
    f: Any, count: int, wrt: tuple[Any, ...], words: tuple[str, ...], mode: str
) -> tuple[Any, Callable[[], bool]]:
    """The pair or the tangent function of one way of calling a function, and what tells whether
    its helpers are still those that were read."""
    name = _name_of(f)
    _refuse_hidden(f, name)
    names = tuple(f"x{w}" if isinstance(w, int) else w for w in wrt)
    call = _call_of(f, name, count, words)
    # (Nothing is known of the arguments: they may be complex.)
    made = derive(call, Request(mode, names, has_complex=True, exposed=True))
    if made.written_params:
        raise UnsupportedError(
            f"`{name}`, which is known only when the program runs, writes its arguments",
            hint="Call it by its name, or let it return a new array.",
        )
    outer = made.given_back()
    if outer:  # (the text around the call takes what it gives for its own)
        raise UnsupportedError(
            f"`{name}`, which is known only when the program runs, gives `{outer[0]}` itself, "
            "which lives outside of it",
            hint=f"Call it by its name, or let it return a copy: `{outer[0]}.copy()`.",
        )
    return (made.functions if mode == "callee" else made.function), made.meanings.hold


def _name_of(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return name if name.isidentifier() else "function"


def _refuse_hidden(f: Any, name: str) -> None:
    """An object that is called, or a method, may hold what carries derivatives."""
    inner = f
    while isinstance(inner, functools.partial):
        inner = inner.func
    owner = getattr(inner, "__self__", None)
    if isinstance(inner, _PLAIN) and (owner is None or inspect.ismodule(owner)):
        return
    if twin(inner) is not None:  # a function of CuPy
        return
    raise UnsupportedError(
        f"`{name}` is called, and it shows only when the program runs that it is no plain "
        f"function but a {type(inner).__name__}",
        hint="Pass a function, or call the method by its name; a class is called by its name, "
        "defined outside the function.",
    )


def _call_of(f: Any, name: str, count: int, words: tuple[str, ...]) -> types.FunctionType:
    """A function of the call's own arguments, with source."""
    inner = f"_{name}" if name in ("np", *words) or name.startswith("x") else name
    positions = [f"x{i}" for i in range(count)]
    params = ", ".join([*positions, *(["*"] if words else []), *words])
    given = ", ".join([*positions, *(f"{w}={w}" for w in words)])
    text = f"def {name}_call({params}):\n    return {inner}({given})\n"
    file = f"<tangentlike call {next(_count)} of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np, inner: f, "__name__": "called"}
    exec(compile(text, file, "exec"), namespace)
    made: types.FunctionType = namespace[f"{name}_call"]
    return made
