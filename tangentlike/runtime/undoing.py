"""What a statement overwrites, to be put back: entries, items, or all that something holds.

Nothing here asks what a program looks like: whether `x` is an array, a list, a dict or an object is
seen when it runs. Arrays give copies of their entries; containers the objects in them, which are
put back themselves, so that everybody who refers to them sees what was there before.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from .mutation import copy
from .records import Record, copied_fields, dict_with, fields_of, is_array

_MISSING = object()


def own(x: Any) -> Any:
    """An argument as an object of its own: no array, container or number in it is somebody
    else's, or there twice."""
    if isinstance(x, (float, complex)) and not isinstance(x, np.generic):
        return type(x)(x.real, x.imag) if isinstance(x, complex) else x * 1.0
    if isinstance(x, np.inexact):
        return x.dtype.type(x)
    if isinstance(x, Record):
        return Record(x._names, map(own, x))
    if isinstance(x, (list, tuple)):
        items = [own(item) for item in x]
        if hasattr(x, "_fields"):
            return type(x)(*items)
        return items if type(x) is list else type(x)(items)
    if isinstance(x, dict):
        return dict_with(x, {key: own(item) for key, item in x.items()})
    if is_array(x):
        return copy(x)
    return copied_fields(x, own)


def contents(x: Any) -> Any:
    """What an array, a container or an object holds; None for numbers and other values."""
    if is_array(x):
        return x.copy()
    if isinstance(x, (list, deque)):
        return list(x)
    if isinstance(x, (dict, set)):
        return x.copy()
    fields = fields_of(x)
    return None if fields is None else dict(fields)


class _Inside(NamedTuple):
    """Each object in something, with what it held."""

    objects: tuple[tuple[Any, Any], ...]


def contents_inside(x: Any) -> Any:
    """What `x` holds and all in it holds, for `put_inside`; of functions, what they capture.

    >>> w = [1.0, 2.0]
    >>> len(contents_inside(w.append).objects) >= 1
    True
    """
    found: dict[int, tuple[Any, Any]] = {}
    waiting = [x]
    while waiting:
        part = waiting.pop()
        if id(part) not in found and not (is_array(part) and not part.flags.writeable):
            found[id(part)] = part, contents(part)
            waiting += _parts(part)
    return _Inside(tuple(found.values()))


def _parts(x: Any) -> list[Any]:
    """What a container, an object or a function refers to."""
    if isinstance(x, (list, tuple, set, deque)):
        return [*x]
    if isinstance(x, dict):
        return [*x.values()]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, types.FunctionType):
        cells = (_of_cell(cell) for cell in x.__closure__ or ())
        return [*cells, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    if isinstance(x, (types.MethodType, types.BuiltinFunctionType)):
        function = getattr(x, "__func__", None)
        return [function, *([] if isinstance(x.__self__, types.ModuleType) else [x.__self__])]
    return [*(fields_of(x) or {}).values()]


def _of_cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # (the name is not bound yet)
        return None


def put_inside(x: Any, held: Any) -> None:
    """Make all in `x` hold what it held at `contents_inside(x)`."""
    for part, before in held.objects:
        put_contents(part, before)


def put_contents(x: Any, held: Any) -> None:
    """Make `x` hold what it held at `contents(x)`."""
    if is_array(x):
        x[...] = held
    elif isinstance(x, list):
        x[:] = held
    elif isinstance(x, deque):
        x.clear()
        x.extend(held)
    elif isinstance(x, (dict, set)):
        x.clear()
        x.update(held)
    elif isinstance(held, dict):  # (the fields of an object; a number holds nothing)
        for name in fields_of(x) or {}:
            if name not in held:
                object.__delattr__(x, name)
        for name, value in held.items():
            object.__setattr__(x, name, value)


def saved_item(base: Any, key: Any) -> Any:
    """What `base[key]` is before it is written: a copy of an array's entries, the item of a
    container."""
    if is_array(base):
        return copy(base[key])
    if isinstance(key, slice):
        return list(base)
    return base.get(key, _MISSING) if isinstance(base, dict) else base[key]


def put_item(base: Any, key: Any, item: Any) -> None:
    """Make `base[key]` what it was at `saved_item(base, key)`."""
    if isinstance(key, slice) and isinstance(base, list):
        base[:] = item
    elif item is _MISSING:
        del base[key]
    else:
        base[key] = item


def update_in_place(x: Any, new: Any) -> None:
    """Write `new`, the sum for `x += v`, into `x` if that is an array or a container."""
    if is_array(x):
        x[...] = new
    elif isinstance(x, (list, dict, set, deque)):
        if type(new) is not type(x):  # (of a list and an array it is an array)
            given, made = type(x).__name__, type(new).__name__
            raise TypeError(
                f"what is updated in place as a {given} would become a {made}, another object: "
                "write x = x + y where a new one is meant"
            )
        put_contents(x, new)


def updated(x: Any, new: Any) -> Any:
    """What `x` stands for after `x += v`: `x` itself where `update_in_place` wrote into it."""
    return x if is_array(x) or isinstance(x, (list, dict, set, deque)) else new
