"""The parameters that a function has, whatever it says of itself.

`inspect.signature` shows what `__signature__` and `__wrapped__` say: what a decorator wants to be
seen. A call binds what the code says, and so do we.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from .owners import mark_of


class _OfCode(inspect.Signature):
    """The signature of a function that we made, of which the code may show another one."""

    # (`functools.wraps` hands `__signature__` on to functions of other code.)
    code: types.CodeType | None = None


def give_signature(function: Any, signature: inspect.Signature) -> None:
    """Say with which parameters a function that we made is called."""
    parameters = list(signature.parameters.values())
    stated = _OfCode(parameters, return_annotation=signature.return_annotation)
    stated.code = function.__code__
    function.__signature__ = stated


def plain_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, or class, itself, whatever it says that it wraps or looks like.

    >>> def f(*args): return args
    >>> f.__signature__ = inspect.signature(lambda x, y: 0)
    >>> inspect.signature(f), plain_signature(f)
    (<Signature (x, y)>, <Signature (*args)>)
    """
    if type(function) is types.FunctionType:
        stated = function.__dict__.get("__signature__")
        ours = isinstance(stated, _OfCode) and stated.code is function.__code__
        if stated is not mark_of(function, "signature") and not ours:
            function = bare_copy(function)
    elif isinstance(function, type) and type(function).__call__ is type.__call__:
        for name in ("__new__", "__init__"):
            method = inspect.getattr_static(function, name)
            method = method.__func__ if isinstance(method, staticmethod) else method
            if isinstance(method, types.FunctionType):
                own = plain_signature(method)
                first, *rest = own.parameters.values()
                return own.replace(parameters=[first] * (first.kind == first.VAR_POSITIONAL) + rest)
    return inspect.signature(function, follow_wrapped=False)


def showing(signature: inspect.Signature) -> Callable[..., Any]:
    """A function that shows a signature, for `inspect` to work with."""

    def shown() -> None:
        """It is never called."""

    shown.__signature__ = signature  # type: ignore[attr-defined]
    return shown


def bare_copy(function: types.FunctionType) -> types.FunctionType:
    """A function of the same code, without what attributes say about it."""
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return made


def defaults_of(function: types.FunctionType | None) -> dict[str, Any]:
    """The default objects of a function, by parameter."""
    if function is None:
        return {}
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    found = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    return {**found, **(function.__kwdefaults__ or {})}
