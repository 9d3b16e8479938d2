"""A tape that can be run backwards more than once.

The backward function pops its stacks and restores arrays in place, so each run gets a copy of
what it changes. Names that share an object, and views that share memory, share it in the copy.
"""

from __future__ import annotations

import copy
from array import array
from collections import deque
from typing import Any

import numpy as np

from .records import Record, copied_fields, dict_with, fields_of, is_array_class, names_of
from .schedules import DiskStack
from .sharing import (
    address,
    bytes_like,
    memory_extent,
    memory_owner,
    says_where,
    typed_owner,
    view_like,
)


def fresh_tape(tape: Any, arrays: bool = True) -> Any:
    """A copy of a tape: stacks, nested tapes and, with `arrays`, the arrays and objects in them.

    Arrays that share memory share it in the copy: each becomes the view at the same place of
    other memory, which is made once for all views of an owner.
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
    elif isinstance(value, dict):
        result = {} if type(value) is dict else dict_with(value, {})
        made[id(value)] = (value, result)
        for key, item in value.items():
            dict.__setitem__(result, key, _copied(item, made, arrays))
        return result
    elif isinstance(value, (set, deque, bytearray, array)):
        result = copied_fields(value, lambda item: _copied(item, made, arrays))
    elif isinstance(value, DiskStack):
        result = value.copied()
    elif arrays and _is_array(value):
        result = _copied_array(value, made)
    elif arrays and (fields := fields_of(value)) is not None:
        result = copy.copy(value)
        made[id(value)] = (value, result)
        if hasattr(value, "__dict__") and id(vars(value)) in made:
            object.__setattr__(result, "__dict__", made[id(vars(value))][1])
        elif hasattr(value, "__dict__"):  # (the tape may hold what `vars` gave)
            made[id(vars(value))] = vars(value), vars(result)
        for name, field in fields.items():
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


def _copied_array(x: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    if not says_where(x):
        return _copied_foreign(x, made)
    if x.size == 0:
        return x.copy()
    owner = memory_owner(x)
    typed = typed_owner(owner)
    if typed is not None:
        start = address(np.frombuffer(typed, typed.typecode))
        there = _copied(typed, made, True)
        return np.ndarray(x.shape, x.dtype, there, address(x) - start, x.strides)
    known = made.get(-id(owner))  # the negative key: the memory behind the copies of its views
    if known is None:
        low, high = memory_extent(owner)
        known = made[-id(owner)] = owner, (low, bytes_like(x, high - low))
    low, memory = known[1]
    view = view_like(x, memory, address(x) - low)
    view[...] = x
    if isinstance(x, np.ndarray):
        view.flags.writeable = x.flags.writeable
    return view


def _copied_foreign(array: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    """A copy of an array of which is not known where it lies in its owner's memory: of those that
    share memory there may be one only."""
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
