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
_MOST = 10_000  # objects that are looked at; what holds more is taken to hold everything


class Reach:
    """All arrays, containers and objects that can be reached from some objects."""

    def __init__(self, objects: Iterable[Any]) -> None:
        self.found: dict[int, Any] = {}
        self.arrays: list[Any] = []
        self.whole = self._collect(list(objects))

    def _collect(self, pending: list[Any]) -> bool:
        while pending:
            obj = pending.pop()
            if id(obj) in self.found or is_plain(obj):
                continue
            self.found[id(obj)] = obj
            if leaves.is_array(obj):
                self.arrays.append(obj)
            if len(self.found) > _MOST:
                return False
            pending.extend(_held(obj))
        return True

    def meets(self, other: Reach) -> bool:
        """Whether something can be reached from both that one of them could change."""
        if not (self.whole and other.whole) or self.found.keys() & other.found.keys():
            return True
        return any(leaves.share(a, b) for a in self.arrays for b in other.arrays)


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


def hold_one_twice(objects: Iterable[Any]) -> bool:
    """Whether a container or an object is held twice, or two arrays share memory."""
    pending, arrays = list(objects), []
    seen: set[int] = set()
    while pending:
        obj = pending.pop()
        if is_plain(obj) or callable(obj) or isinstance(obj, (types.ModuleType, np.dtype)):
            continue
        if leaves.is_array(obj):
            arrays.append(obj)
        elif id(obj) in seen:
            return True
        if not isinstance(obj, tuple):
            seen.add(id(obj))
        if len(seen) > _MOST:
            return True
        pending.extend(_held(obj))
    return leaves.hold_one_twice(arrays)
