"""Functions of NumPy and other libraries: they have no source, so that a one-line Python function
around each is what is differentiated."""

from __future__ import annotations

import builtins
import inspect
import itertools
import keyword
import linecache
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..runtime.recent import Recent
from .owners import is_numerical

_LIBRARIES = (
    "numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "math", "operator",
    "builtins",
)  # fmt: skip


def is_operation(fn: Any) -> bool:
    """Whether `fn` is a function of NumPy and the like, to be differentiated by its rule."""
    return is_numerical(fn) and library_path(fn) is not None


def library_path(fn: Any) -> tuple[str, str] | None:
    """Where a library function is found: ("numpy.linalg", "norm"); None if it is none."""
    name = getattr(fn, "__name__", "")
    for path in _LIBRARIES:
        module = sys.modules.get(path)
        if module is not None and name and getattr(module, name, None) is fn:
            return path, name
    return None


_COUNT = itertools.count(1)
_ONE_LINERS: Recent[tuple[Any, ...], types.FunctionType] = Recent(1024)


def one_line_function(
    op: Any,
    params: Sequence[str],
    operands: Sequence[str],
    constants: dict[str, Any] | None = None,
    spelled: str = "",
) -> types.FunctionType:
    """A Python function that does nothing but call `op`: `def sum(a): return np.sum(a)`.

    `operands` are the arguments as text; `constants` are names in them that mean objects, and
    `spelled` is one that means `op`.
    """
    constants = constants or {}
    call, namespace = _call_text(op, operands)
    if spelled:
        call, namespace = f"{spelled}({', '.join(operands)})", {}
    name = getattr(op, "__name__", "operation").strip("<>")
    taken = (*params, *namespace, *constants, *keyword.kwlist)
    if name in taken or hasattr(builtins, name):
        name = f"call_{name}"
    key = (id(op), tuple(params), call)
    known = None if constants else _ONE_LINERS.get(key)
    if known is not None:
        return known
    text = f"def {name}({', '.join(params)}):\n    return {call}\n"
    file = f"<{name} as a function {next(_COUNT)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    module = op.__module__ if spelled else "numpy"
    namespace = {**namespace, **constants, "__name__": module, "__builtins__": builtins}
    exec(compile(text, file, "exec"), namespace)
    function = namespace[name]
    assert isinstance(function, types.FunctionType)
    if not constants:
        _ONE_LINERS.put(key, function)
    return function


def as_documented(fn: types.FunctionType) -> types.FunctionType | None:
    """A function with the parameters that a decorated one shows, where itself it takes any:
    `def f(x, k=2.0): return decorated(x, k=k)` for `def wrapper(*args, **kwargs)` made with
    `functools.wraps`. None where the parameters are its own, or there are starred ones as well.
    """
    taking_any = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if not fn.__code__.co_flags & taking_any or not hasattr(fn, "__wrapped__"):
        return None
    params: list[str] = []
    given: list[str] = []
    constants: dict[str, Any] = {"decorated": fn}
    takes_words = fn.__code__.co_flags & inspect.CO_VARKEYWORDS
    before = None
    for p in inspect.signature(fn).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            return None
        if before == p.POSITIONAL_ONLY != p.kind:
            params.append("/")
        if p.kind == p.KEYWORD_ONLY != before:
            params.append("*")
        default = ""
        if p.default is not p.empty:
            written = isinstance(p.default, (bool, int, float, str, type(None)))
            default = f"={p.default!r}" if written else f"=default_{p.name}"
            constants[f"default_{p.name}"] = p.default
        params.append(p.name + default)
        # (What has a default is often left out, and a decorator may put others in its place.)
        named = p.kind == p.POSITIONAL_OR_KEYWORD and default and takes_words
        given.append(f"{p.name}={p.name}" if named or p.kind == p.KEYWORD_ONLY else p.name)
        before = p.kind
    if before == inspect.Parameter.POSITIONAL_ONLY:
        params.append("/")
    return one_line_function(fn, params, given, constants, "decorated")


def _call_text(op: Any, operands: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """How a program calls `op`, and the names it needs for that."""
    owner = getattr(op, "__objclass__", None)
    if owner is not None:
        rest = f"({', '.join(operands[1:])})" if callable(op) else ""
        return f"{operands[0]}.{op.__name__}{rest}", {}
    found = library_path(op)
    if found is None:
        return f"operation({', '.join(operands)})", {"operation": op}
    path, name = found
    root, *inner = path.split(".")
    if root == "builtins":
        return f"{name}({', '.join(operands)})", {}
    alias = "np" if root == "numpy" else root
    return f"{'.'.join([alias, *inner, name])}({', '.join(operands)})", {alias: sys.modules[root]}


def parameter_names(fn: Any, arity: int | None) -> tuple[str, ...]:
    """Names for the parameters of the one-line function, from the documentation if it has any."""
    if isinstance(fn, np.ufunc):
        count = fn.nin if arity is None else arity
        return ("x",) if count == 1 else tuple(f"x{i + 1}" for i in range(count))
    names = _documented_parameters(fn)
    required = [name for name, optional in names if not optional]
    count = (len(required) or 1) if arity is None else arity
    known = [name for name, _ in names][:count]
    if len(known) < count or len(set(known)) < count:
        return ("x",) if count == 1 else tuple(f"x{i + 1}" for i in range(count))
    return tuple(known)


def _documented_parameters(fn: Any) -> list[tuple[str, bool]]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        (p.name, p.default is not p.empty)
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name.isidentifier()
    ]


def literals_of(fn: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a NumPy function, which its one-line wrapper writes out."""
    for name, value in kwargs.items():
        items = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(v, (bool, int, float, str, type(None))) for v in items):
            raise UnsupportedError(
                f"the keyword argument {name} of {fn.__name__} is not a literal",
                hint="Write a function that makes the call, and differentiate that.",
            )
    return dict(kwargs)
