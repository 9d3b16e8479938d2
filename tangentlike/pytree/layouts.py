"""Where in its adjoint a value of a registered class has the adjoints of its items.

An adjoint mirrors what an object holds, attribute by attribute. Which attribute an item is, is
found by taking a copy apart in which every array and number is an object of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..runtime.records import SEQUENCES, fields_of, names_of, record_like
from .leaves import (
    PLAIN,
    contents,
    has_leaf,
    held_by,
    is_array,
    is_leaf,
    is_registered,
    is_zero,
    taken_apart,
    with_contents,
    zeros,
)


@dataclass(frozen=True)
class Path:
    """The way to a part of a value: at each step, the place among `contents`."""

    steps: tuple[int, ...]

    def of(self, value: Any, bar: Any) -> Any:
        """What belongs to this part in the adjoint `bar` of a value."""
        for step in self.steps:
            bar = parts_of(value, bar)[step]
            value = (contents(value) or [])[step][1]
        return bar


Layout = Path | list[Any] | None  # (None for an item without derivative)


def layout_of(value: Any) -> list[Layout]:
    """For each item of a value of a registered class, the way to it."""
    probe = _Probe()
    items, _ = taken_apart(probe.copy(value, ()))
    return [probe.way_to(item, value) for item in _listed(items)]


def registered_parts(value: Any, bar: Any) -> list[Any]:
    """The adjoints of the items of a value of a registered class."""
    return [_located(layout, value, bar) for layout in layout_of(value)]


def parts_of(value: Any, bar: Any) -> list[Any]:
    """The adjoints of what a container holds, in the order of `contents`."""
    if bar is None or is_zero(bar):
        return [None] * len(held_by(value) or ())
    if isinstance(bar, SEQUENCES) or (is_array(bar) and isinstance(value, SEQUENCES)):
        return list(bar)  # (a text for any types may have an array for a list of numbers)
    keys = list(value) if isinstance(value, dict) else list(fields_of(value) or ())
    if isinstance(bar, dict):
        return [bar.get(key) for key in keys]
    return [getattr(bar, key, None) for key in keys]


def mirrored(value: Any, layouts: list[Layout], seeds: list[Any]) -> Any:
    """The adjoint of a value with the given adjoints of its items, and zeros for all else."""
    placed: dict[Path, Any] = {}
    _place(layouts, seeds, placed)
    return _mirrored(value, placed, ())


def _listed(items: Any) -> list[Any]:
    return list(items.values() if isinstance(items, dict) else items)


@dataclass
class _Probe:
    """Copies a value, and knows of each part of the copy where it is."""

    ways: dict[int, Path] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)  # (so that no two parts have one identity)

    def copy(self, value: Any, steps: tuple[int, ...], above: tuple[Any, ...] = ()) -> Any:
        if is_leaf(value):
            made = value[...] if is_array(value) else np.asarray(value)[()]
        else:
            inside = contents(value)
            if inside is None or any(value is outer for outer in above):
                return value
            items = [
                self.copy(item, (*steps, n), (*above, value)) for n, (_, item) in enumerate(inside)
            ]
            made = with_contents(value, items)
        self.ways[id(made)] = Path(steps)
        self.kept.append(made)
        return made

    def way_to(self, item: Any, value: Any) -> Layout:
        """The way to an item of the copy; for a container made by `flatten`, those to its items."""
        found = self.ways.get(id(item))
        if found is not None or not has_leaf(item):
            return found
        if type(item) in (list, tuple, dict):
            return [self.way_to(part, value) for part in _listed(item)]
        raise TangentlikeError(
            f"the `flatten` of {type(value).__name__} gives a {type(item).__name__} that the value "
            "does not hold",
            hint="It must hand out the arrays and numbers that are in attributes, as they are: "
            "what it computes has no derivative.",
        )


def _located(layout: Layout, value: Any, bar: Any) -> Any:
    if isinstance(layout, Path):
        return layout.of(value, bar)
    return None if layout is None else [_located(part, value, bar) for part in layout]


def _place(layout: Layout, seed: Any, placed: dict[Path, Any]) -> None:
    if isinstance(layout, Path):
        placed[layout] = seed
    elif layout is not None:
        for part, item in zip(layout, _listed(seed), strict=True):
            _place(part, item, placed)


def _mirrored(value: Any, placed: Mapping[Path, Any], steps: tuple[int, ...]) -> Any:
    if Path(steps) in placed:
        return placed[Path(steps)]
    if is_leaf(value):
        return zeros(value) if is_array(value) else type(value)(0.0)
    inside = contents(value)
    if inside is None:
        return 0.0
    items = [_mirrored(item, placed, (*steps, n)) for n, (_, item) in enumerate(inside)]
    if names_of(value) is not None or not isinstance(value, (*SEQUENCES, dict)):
        return record_like(value, *items)
    return dict(zip(value, items, strict=True)) if isinstance(value, dict) else items


# --------------------------------------------------------------------------------------------------
# What of a call's arguments decides which derivative serves them: types, not values.

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
    if kind in SEQUENCES:
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


def _describe_items(value: Collection[Any], found: list[Any], depth: int) -> bool:
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
