"""Whose arrays a call has; those of the array API standard are wrapped on the way in, unwrapped on
the way out.

What the derivative itself runs on are `runtime.standard.StandardArray`s, which answer to NumPy's
functions; the caller sees arrays of their own module only.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np

from ..errors import TangentlikeError
from ..pytree import leaves
from ..runtime.standard import HOMES, StandardArray, home_of, mirror_of, taken

F = TypeVar("F", bound=Callable[..., Any])
_WHOLE = (str, bytes, type, np.ndarray, np.generic, types.FunctionType, types.BuiltinFunctionType)


def with_ours(args: Any, kwargs: Any) -> tuple[Any, Any] | None:
    """Arguments with what stands for arrays of the standard; None where there are none."""
    homes: set[str] = set()
    given: tuple[Any, Any] = _changed((args, kwargs), lambda value: _wrapped(value, homes))
    if len(homes) > 1:
        one, other, *_ = sorted(homes)
        raise TangentlikeError(f"an array of {other} among arrays of {one}")
    return given if homes else None


def standard_arrays_too(function: F) -> F:
    """A derivative that takes arrays of the standard as well, and answers in kind."""

    def called(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if sys.modules.keys().isdisjoint(HOMES):  # (the other way round it looks at each module)
            return function(*args, **kwargs)
        given = with_ours(args, kwargs)
        if given is None:
            return function(*args, **kwargs)
        return given_back(function(*given[0], **given[1]))

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__qualname__, called.__module__ = function.__qualname__, function.__module__
    called.__annotations__ = function.__annotations__
    called.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return cast(F, called)


def namespace_of(values: Iterable[Any]) -> types.ModuleType | None:
    """The module that the arrays among some values name as theirs, if it is the same for all."""
    found: set[types.ModuleType] = set()
    for value in values:
        for array in leaves.arrays(value):
            ask = getattr(type(array), "__array_namespace__", None)
            found.add(types if ask is None else ask(array))
    module = found.pop() if len(found) == 1 else None
    return module if module is not types else None


def _wrapped(value: Any, homes: set[str]) -> Any:
    home = home_of(type(value))
    if home is not None:
        homes.add(home)
        try:
            mirror_of(home)
            return taken(value)
        except TypeError as error:
            raise TangentlikeError(str(error)) from None
    if isinstance(value, types.ModuleType):
        for home, functions in HOMES.items():
            if value.__name__ == functions:
                return mirror_of(home)
        return value
    return NotImplemented


def given_back(result: Any) -> Any:
    """The result with arrays of their own module, and pullbacks that give such."""
    if isinstance(result, types.FunctionType):
        return standard_arrays_too(result)
    return _changed(result, _unwrapped)


def _unwrapped(value: Any) -> Any:
    if isinstance(value, StandardArray):
        return value.array
    return given_back(value) if isinstance(value, types.FunctionType) else NotImplemented


def _changed(values: Any, change: Callable[[Any], Any]) -> Any:
    """Values with what `change` makes of what is in them: containers and objects stay themselves
    where nothing in them is changed, and what is one object stays one."""
    made: dict[int, Any] = {}

    def changed(value: Any) -> Any:
        kind = type(value)
        if kind in leaves.PLAIN or kind is np.ndarray:
            return value
        if id(value) in made:
            return made[id(value)]
        found = change(value)
        if found is NotImplemented:
            made[id(value)] = found = value  # (of what holds itself)
            items = None if isinstance(value, _WHOLE) else leaves.held_by(value)
            if items:
                own = [changed(item) for item in items]
                if any(a is not b for a, b in zip(own, items, strict=True)):
                    found = leaves.with_contents(value, own)
        made[id(value)] = found
        return found

    return changed(values)
