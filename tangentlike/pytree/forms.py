"""What of a call's arguments decides which derivative serves them: types, not values."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..runtime.records import fields_of
from .containers import is_registered
from .leaves import PLAIN

# Of these only the class matters.
_CLASS_ONLY = frozenset(
    (range, bytes, slice, type(Ellipsis), np.bool_, np.float32, np.complex128, np.complex64)
    + (np.int8, np.int16, np.int32, np.int64, np.uint8, np.random.Generator, np.random.RandomState)
)
_BY_IDENTITY = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, types.ModuleType)
_DEEPEST = 16  # (a value that holds itself has no form: what is made for it is looked up anew)


def forms(args: Iterable[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
    """Types of numbers, shapes and dtypes of arrays, structures of containers and objects, one
    after the other; None where a value is of a kind that is not described here.

    Calls with equal forms are alike in all that a derivative depends on.

    >>> forms(([1, 2], {"w": np.zeros(2)}), {})
    [<class 'list'>, 2, <class 'int'>, <class 'dict'>, ('w',), 1, (2,), dtype('float64')]
    """
    found: list[Any] = []
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            found.append(value.shape)
            found.append(value.dtype)
        elif kind in PLAIN:
            found.append(kind)
        elif not _describe(value, found, 0):
            return None
    if kwargs:
        found.append(tuple(kwargs))
        if not _describe_all(kwargs.values(), found, 0):
            return None
    return found


def _describe(value: Any, found: list[Any], depth: int) -> bool:
    """Append the form of a value; whether it has one."""
    kind: Any = type(value)
    if kind is np.ndarray:
        found += (value.shape, value.dtype)
        return True
    found.append(kind)
    if kind in PLAIN or kind in _CLASS_ONLY:
        return True
    if depth > _DEEPEST:
        return False
    if kind is list or kind is tuple:
        return _describe_items(value, found, depth)
    if kind is dict:
        found.append(tuple(value))
        return _describe_items(list(value.values()), found, depth)
    if isinstance(value, _BY_IDENTITY):
        found.append(value)
        return True
    if isinstance(value, tuple) and hasattr(value, "_fields") and not is_registered(value):
        return _describe_all(value, found, depth)
    if is_registered(value) or not _holds_what_it_shows(kind) or fields_of(value) is None:
        return False
    attributes = vars(value)
    found.append(tuple(attributes))
    return _describe_all(attributes.values(), found, depth)


def _describe_items(value: list[Any] | tuple[Any, ...], found: list[Any], depth: int) -> bool:
    kinds = set(map(type, value))
    found.append(len(value))
    if not PLAIN.issuperset(kinds):
        return _describe_all(value, found, depth)
    found.append(kinds.pop() if len(kinds) == 1 else tuple(map(type, value)))
    return True


def _describe_all(values: Iterable[Any], found: list[Any], depth: int) -> bool:
    return all(_describe(value, found, depth + 1) for value in values)


@functools.lru_cache(maxsize=1024)
def _holds_what_it_shows(cls: Any) -> bool:
    """Whether all that objects of a class hold stands in their `__dict__`."""
    if issubclass(cls, (dict, list, tuple, set, str, int, float, complex, np.generic, np.ndarray)):
        return False
    slots = any("__slots__" in vars(base) for base in cls.__mro__[:-1])
    return not slots and (dataclasses.is_dataclass(cls) or not hasattr(cls, "dtype"))
