"""What can be reached from a value: whether two of them may be changed through one another."""

from __future__ import annotations

import contextlib
import functools
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..runtime.records import attribute_of
from . import leaves

_CONTAINERS = (list, tuple, dict, set, deque)


class Reach:
    """All arrays, containers and objects that can be reached from some objects; `twice` are those
    that are found in two ways."""

    def __init__(self, objects: Iterable[Any]) -> None:
        self.found: dict[int, Any] = {}
        self.twice: dict[int, Any] = {}
        self.arrays: list[Any] = []
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


_CODE: tuple[type, ...] = (
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type),
    *(functools.partial, functools._lru_cache_wrapper, np.ufunc, type(np.sum), np.dtype),
)


def is_data(obj: Any) -> bool:
    """Whether a value is an array, a container that may change, or an object with attributes."""
    return not is_plain(obj) and not isinstance(obj, (*_CODE, tuple, frozenset, range))


def is_plain(obj: Any) -> bool:
    return obj is None or isinstance(obj, (bool, int, float, complex, str, bytes, np.generic))


def _held(obj: Any) -> Iterator[Any]:
    """What an object holds; of functions what they capture, since others may change that."""
    if isinstance(obj, dict):
        yield from obj.values()
    elif isinstance(obj, _CONTAINERS):
        yield from obj
    elif isinstance(obj, np.ndarray):
        yield from obj.flat if obj.dtype.kind == "O" else ()
    elif isinstance(obj, types.FunctionType):
        yield from obj.__defaults__ or ()
        yield from (obj.__kwdefaults__ or {}).values()
        for cell in obj.__closure__ or ():
            with contextlib.suppress(ValueError):  # (nothing is bound to it yet)
                yield cell.cell_contents
    elif isinstance(obj, types.MethodType):
        yield obj.__self__
    elif isinstance(obj, functools.partial):
        yield from (obj.func, *obj.args, *obj.keywords.values())
    elif not isinstance(obj, (type, types.ModuleType)):
        yield from (attribute_of(obj, "__dict__", None) or {}).values()
        for cls in type(obj).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(obj, name):
                    yield getattr(obj, name)
