"""Where in its adjoint a value of a registered class has the adjoints of its items.

An adjoint mirrors what an object holds, attribute by attribute. Which attribute an item is, is
found by taking a copy apart in which every array and number is an object of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import TangentlikeError
from ..runtime.records import fields_of, names_of, record_like
from .containers import taken_apart
from .leaves import contents, has_leaf, held_by, is_array, is_leaf, is_zero, with_contents, zeros


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
    if isinstance(bar, (list, tuple)):
        return list(bar)
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
    if names_of(value) is not None or not isinstance(value, (list, tuple, dict)):
        return record_like(value, *items)
    return dict(zip(value, items, strict=True)) if isinstance(value, dict) else items
