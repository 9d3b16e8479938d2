"""What can be reached from a value: whether two of them may be changed through one another."""

from __future__ import annotations

import contextlib
import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..runtime.records import attribute_of, is_machinery
from . import leaves

_CONTAINERS = (list, tuple, dict, set, deque)


class Reach:
    """All arrays, containers and objects that can be reached from some objects; `twice` are those
    that are found in two ways. `through` gives what functions and methods reach: what they capture,
    unless it says something else."""

    def __init__(
        self, objects: Iterable[Any], through: Callable[[Any], Iterable[Any]] | None = None
    ) -> None:
        self.found: dict[int, Any] = {}
        self.twice: dict[int, Any] = {}
        self.arrays: list[Any] = []
        self.functions: list[Any] = []
        pending = list(objects)
        while pending:
            obj = pending.pop()
            if is_plain(obj):
                continue
            if id(obj) in self.found:
                self.twice[id(obj)] = obj
                continue
            self.found[id(obj)] = obj
            if leaves.is_array(obj):
                self.arrays.append(obj)
            if isinstance(obj, FUNCTIONS):
                self.functions.append(obj)
                pending.extend((through or captured)(obj))
            else:
                pending.extend(_held(obj))

    def common(self, other: Reach) -> list[Any]:
        """What can be reached from both."""
        return [obj for key, obj in self.found.items() if key in other.found]

    def meets(self, other: Reach) -> bool:
        """Whether something can be reached from both that one of them could change."""
        if self.common(other):
            return True
        return any(leaves.share(a, b) for a in self.arrays for b in other.arrays)

    @property
    def holds_one_twice(self) -> bool:
        """Whether a container or an object is held twice, or two arrays share memory."""
        twice = (obj for obj in self.twice.values() if is_data(obj) or leaves.is_array(obj))
        return next(twice, None) is not None or leaves.hold_one_twice(self.arrays)


# (A builtin is a method where it is bound to data: `w.fill`.)
FUNCTIONS = (
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType),
    functools.partial,
)
_CODE: tuple[type, ...] = (
    *(*FUNCTIONS, types.ModuleType, type),
    *(functools._lru_cache_wrapper, np.ufunc, type(np.sum), np.dtype),
)


def is_data(obj: Any) -> bool:
    """Whether a value is an array, a container that may change, or an object with attributes."""
    return not is_plain(obj) and not isinstance(obj, (*_CODE, tuple, frozenset, range))


def is_plain(obj: Any) -> bool:
    return obj is None or isinstance(obj, (bool, int, float, complex, str, bytes, np.generic))


def _held(obj: Any) -> Iterator[Any]:
    """What a container or an object holds."""
    if isinstance(obj, dict):
        yield from obj.values()
    elif isinstance(obj, _CONTAINERS):
        yield from () if leaves.is_flat(obj) else obj
    elif isinstance(obj, np.ndarray):
        yield from obj.flat if obj.dtype.kind == "O" else ()
    elif not isinstance(obj, (type, types.ModuleType)) and not is_machinery(type(obj)):
        yield from (attribute_of(obj, "__dict__", None) or {}).values()
        for cls in type(obj).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(obj, name):
                    yield getattr(obj, name)


def captured(fn: Any) -> Iterator[Any]:
    """What a function or method captures, which it may change."""
    if isinstance(fn, types.FunctionType):
        yield from fn.__defaults__ or ()
        yield from (fn.__kwdefaults__ or {}).values()
        for cell in fn.__closure__ or ():
            with contextlib.suppress(ValueError):  # (nothing is bound to it yet)
                yield cell.cell_contents
    elif isinstance(fn, functools.partial):
        yield from (fn.func, *fn.args, *fn.keywords.values())
    else:
        yield fn.__self__
