"""A tape that can be run backwards more than once.

The backward function pops its stacks and restores arrays in place, so each run gets a copy of
what it changes. Names that share an object, and views that share memory, share it in the copy.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .records import Record, fields_of, is_array_class, names_of
from .schedules import DiskStack
from .sharing import memory_owner

__all__ = ["fresh_tape"]


def fresh_tape(tape: Any, arrays: bool = True) -> Any:
    """A copy of a tape: stacks, nested tapes and, with `arrays`, the arrays and objects in them.

    Arrays that share memory share it in the copy: the owner of the memory is copied once, and
    each view of it becomes the view at the same place of the copy.
    """
    return _copied(tape, {}, arrays)


def _copied(value: Any, made: dict[int, tuple[Any, Any]], arrays: bool) -> Any:
    found = made.get(id(value))
    if found is not None:
        return found[1]
    if isinstance(value, list):
        names = names_of(value)
        result: Any = [] if names is None else Record(names, ())
        made[id(value)] = (value, result)  # the original is kept: an id alone may be reused
        result.extend(_copied(item, made, arrays) for item in value)
        return result
    if isinstance(value, tuple):
        items = [_copied(item, made, arrays) for item in value]
        result = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    elif type(value) is dict:
        result = {}
        made[id(value)] = (value, result)
        result.update((key, _copied(item, made, arrays)) for key, item in value.items())
        return result
    elif isinstance(value, DiskStack):
        result = value.copied()
    elif arrays and _is_array(value):
        result = _copied_array(value, made)
    elif arrays and fields_of(value):
        result = copy.copy(value)
        made[id(value)] = (value, result)
        for name, field in (fields_of(value) or {}).items():
            object.__setattr__(result, name, _copied(field, made, arrays))
        return result
    else:
        return value
    made[id(value)] = (value, result)
    return result


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "O"
    return is_array_class(type(value))


def _copied_array(array: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    if not isinstance(array, np.ndarray):
        return _copied_foreign(array, made)
    owner = memory_owner(array)
    low, size = _extent(owner)
    known = made.get(-id(owner))  # the negative key: the memory behind the copy of an owner
    if known is None:
        memory = np.zeros(size, np.uint8)
        made[-id(owner)] = (owner, memory)
        _window(owner, low, memory)[...] = owner
    else:
        memory = known[1]
    view = _window(array, low, memory)
    view.flags.writeable = array.flags.writeable
    return view


def _extent(array: np.ndarray) -> tuple[int, int]:
    """The lowest address that an array covers, and how many bytes from there on."""
    start = array.__array_interface__["data"][0]
    if array.size == 0:
        return start, array.itemsize
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    low = sum(step for step in steps if step < 0)
    high = sum(step for step in steps if step > 0)
    return start + low, high - low + array.itemsize


def _window(array: np.ndarray, low: int, memory: np.ndarray) -> np.ndarray:
    """The array at the same place of other memory, which begins where `low` was."""
    if array.size == 0:
        return array.copy()
    offset = array.__array_interface__["data"][0] - low
    return np.ndarray(array.shape, array.dtype, memory, offset, array.strides)


def _copied_foreign(array: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    """A copy of an array that is not NumPy's: where it lies in its owner's memory is not known
    in general, so of arrays that share memory there may be one only."""
    owner = array
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    if id(owner) in made:
        raise NotImplementedError(
            "a pullback that restores arrays in place saves two views of one array, which are "
            "not copied for arrays of type " + type(array).__name__ + "; use grad instead of vjp"
        )
    result = array.copy()
    made[id(owner)] = (owner, result)
    return result
