"""Adjoints of reads and writes in arrays and containers; copies that keep the layout."""

from __future__ import annotations

import functools
import types
from array import array
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from .broadcasting import _is_complex, broadcast_like, real_part, unbroadcast, zeros_like
from .records import (
    SEQUENCES,
    Mirror,
    Record,
    added,
    attribute_of,
    copied_fields,
    dict_with,
    fields_of,
    has_no_fields,
    is_array,
    is_array_class,
)


def stop_gradient(x: Any) -> Any:
    """`x` as a value, a constant for derivatives.

    Parameters
    ----------
    x : Any
        A number, an array or a container of them.

    Returns
    -------
    Any
        `x` itself.

    Examples
    --------
    >>> stop_gradient(3.0)
    3.0
    """
    return x


def accumulate(a: Any, b: Any) -> Any:
    """The sum of two adjoints of one value, entry by entry in containers; a new object."""
    return added(a, b)


def add_at(x_bar: Any, key: Any, g: Any) -> Any:
    """Add `g` to `x_bar[key]` in place and return `x_bar`; repeated indices count.

    With `...` for the key, all of `x_bar`, be it an array or a container.
    """
    if key is Ellipsis and isinstance(x_bar, list):
        x_bar[:] = accumulate(x_bar, g)
    elif key is Ellipsis and isinstance(x_bar, dict):
        x_bar.update(accumulate(x_bar, g))
    elif key is Ellipsis and isinstance(x_bar, Mirror):
        vars(x_bar).update(vars(accumulate(x_bar, g)))
    elif isinstance(x_bar, (list, deque, dict)):
        x_bar[key] = accumulate(x_bar[key], g)
    elif isinstance(x_bar, tuple) and getattr(x_bar[key], "base", None) is not None:
        add_at(x_bar[key], Ellipsis, g)  # (an array seen in parts: `np.unstack(m_bar)`)
    elif not _is_fancy(key):
        x_bar[key] += fitting(g, x_bar)
    elif type(x_bar) is np.ndarray and _rows_of_integers(x_bar, key):
        _add_rows(x_bar, np.asarray(key), fitting(g, x_bar))
    else:
        np.add.at(x_bar, key, fitting(g, x_bar))
    return x_bar


def fitting(g: Any, x_bar: Any) -> Any:
    """`g` as an array like `x_bar` takes it in: its real part, where that is real."""
    real = getattr(getattr(x_bar, "dtype", None), "kind", None) == "f"
    return real_part(g) if real and _is_complex(g) else g


def part_like(part: Any, value: Any) -> Any:
    """The adjoint of `value` where `part`, an item or entries of an adjoint, is what it was put
    into: an object of its own, summed to the shape of `value`; containers as they are. A `part`
    of 0.0 is the zero of any structure."""
    if isinstance(part, list) and is_array(value):  # (entries put into a slice of a list)
        return unbroadcast(np.stack(part) if part else np.zeros(0), value)
    if isinstance(part, (*SEQUENCES, dict, Mirror)):
        found = copy(part)  # (a list has a list for its adjoint, from which items are taken)
        return list(found) if isinstance(found, tuple) and isinstance(value, list) else found
    if value is None or isinstance(value, (str, bytes)) or callable(value):
        return part  # (0.0: there is no derivative)
    if type(part) is float and part == 0.0:
        return zeros_like(value)
    found = unbroadcast(part, value)
    shared = found is part or getattr(found, "base", None) is not None
    return copy(found) if shared else found


def into_part(g: Any, part: Any) -> Any:
    """The adjoint of the `part` of which `part_like` made a value: 0.0 where 0.0 was the zero of
    that value's structure."""
    if type(part) is float and part == 0.0 and (isinstance(g, (list, dict)) or np.ndim(g)):
        return 0.0
    return broadcast_like(g, part)


def _is_fancy(key: Any) -> bool:
    if isinstance(key, tuple):
        return any(map(_is_fancy, key))
    # A mask selects every entry at most once; 0-d integers are plain indices.
    dtype = getattr(key, "dtype", None)
    if dtype is not None:
        return dtype.kind != "b" and getattr(key, "ndim", 0) > 0
    return isinstance(key, list)


def _rows_of_integers(x_bar: np.ndarray, key: Any) -> bool:
    if isinstance(key, tuple) or x_bar.ndim < 2 or not x_bar.flags.c_contiguous:
        return False
    return np.asarray(key).dtype.kind in "iu" and x_bar.shape[0] > 0


def _add_rows(x_bar: np.ndarray, rows: np.ndarray, g: Any) -> None:
    # NumPy adds at positions of a flat array five times faster than at rows.
    width = x_bar[0].size
    starts = (rows.reshape(-1, 1) % x_bar.shape[0]) * width
    positions = (starts + np.arange(width)).reshape(-1)
    full = np.broadcast_to(g, rows.shape + x_bar.shape[1:])
    np.add.at(x_bar.reshape(-1), positions, full.reshape(-1))


def copy(x: Any) -> Any:
    """A copy that may be written instead of `x`: arrays keep the order of their axes in memory
    and their strides, so that `ravel` and `reshape` share memory where they did before;
    lists and dicts are copied with what they hold."""
    if type(x) is np.ndarray:
        return _copy_array(x)
    if isinstance(x, Mirror):
        return Mirror(**{name: copy(item) for name, item in vars(x).items()})
    if isinstance(x, Record):
        return Record(x._names, map(copy, x))
    if isinstance(x, list):
        return [_copied_inside(item) for item in x]
    if isinstance(x, tuple):
        items = [_copied_inside(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    if type(x) is dict:
        return {key: _copied_inside(item) for key, item in x.items()}
    if isinstance(x, dict):  # (of a class with ways of its own: a `defaultdict`, a `Counter`)
        return dict_with(x, {key: _copied_inside(item) for key, item in x.items()})
    if is_array_class(type(x)):
        return x.copy(order="K")
    return copied_fields(x, _copied_inside)


def _copied_inside(x: Any) -> Any:
    """What a container or object holds. (One without attributes may stand for what it is, as in
    `if token is END`.)"""
    return x if has_no_fields(x) else copy(x)


def _copy_array(x: np.ndarray) -> np.ndarray:
    flags = x.flags
    if flags.c_contiguous or flags.f_contiguous or 0 in x.strides or not x.size:
        return x.copy(order="K")
    if any(stride % x.itemsize for stride in x.strides):
        return x.copy(order="K")
    steps = [stride // x.itemsize for stride in x.strides]
    span = 1 + sum(abs(step) * (n - 1) for step, n in zip(steps, x.shape, strict=True))
    start = sum(-step * (n - 1) for step, n in zip(steps, x.shape, strict=True) if step < 0)
    memory = np.zeros(span, x.dtype)
    strided = np.lib.stride_tricks.as_strided(memory[start:], x.shape, x.strides)
    strided[...] = x
    return strided


# --------------------------------------------------------------------------------------------------
# What a statement overwrites, to be put back: entries, items, or all that something holds.
#
# Nothing here asks what a program looks like: whether `x` is an array, a list, a dict or an object
# is seen when it runs. Arrays give copies of their entries; containers the objects in them, which
# are put back themselves, so that everybody who refers to them sees what was there before.


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


class _Both(NamedTuple):
    """What a container of a class with attributes of its own holds."""

    items: Any
    attributes: dict[str, Any]


def contents(x: Any) -> Any:
    """What an array, a container or an object holds; None for numbers and other values."""
    if is_array(x):
        return x.copy()
    if isinstance(x, (list, deque)):
        items: Any = list(x)
    elif isinstance(x, (dict, set)):
        items = x.copy()
    elif isinstance(x, (bytearray, array)):
        return x[:]
    else:
        fields = fields_of(x)
        return None if fields is None else dict(fields)
    attributes = _attributes_beside(x)
    return _Both(items, dict(attributes)) if attributes else items


def _attributes_beside(x: Any) -> dict[str, Any]:
    """The attributes of a container that are not items of it."""
    found = attribute_of(x, "__dict__")
    return found if isinstance(found, dict) and found is not x else {}


class _Inside(NamedTuple):
    """Each object in something, with what it held."""

    objects: tuple[tuple[Any, Any], ...]


def contents_inside(x: Any) -> Any:
    """What `x` holds and all in it holds, for `put_inside`; of functions, what they capture.

    >>> w = [1.0, 2.0]
    >>> len(contents_inside(w.append).objects) >= 1
    True
    """
    parts = (p for p in inside(x) if not (is_array(p) and not p.flags.writeable))
    return _Inside(tuple((part, contents(part)) for part in parts))


def inside(x: Any) -> list[Any]:
    """`x`, what it holds, and what that holds; of functions, what they capture."""
    found: dict[int, Any] = {}
    waiting = [x]
    while waiting:
        part = waiting.pop()
        if id(part) not in found:
            found[id(part)] = part
            waiting += _parts(part)
    return list(found.values())


def _parts(x: Any) -> list[Any]:
    """What a container, an object or a function refers to."""
    if isinstance(x, (list, tuple, set, deque)):
        return [*x, *_attributes_beside(x).values()]
    if isinstance(x, dict):
        return [*x.values(), *_attributes_beside(x).values()]
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
    if isinstance(x, (list, deque, dict, set)):
        attributes = _attributes_beside(x)
        held, before = held if isinstance(held, _Both) else (held, {})
        if attributes or before:
            attributes.clear()
            attributes.update(before)
    if is_array(x):
        x[...] = held
    elif isinstance(x, (list, bytearray, array)):
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
