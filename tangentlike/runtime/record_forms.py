"""Adjoints and tangents of objects that are copied, read by the names of their fields, or written
as dicts and tuples."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from .broadcasting import zeros_like
from .mutation import copy
from .records import Mirror, Record, fields_of, names_of, record_like
from .refused import written_for

_COPYING = ("__copy__", "__deepcopy__", "__reduce__", "__getstate__", "__setstate__")


def require_plain_copy(x: Any) -> None:
    """Refuse to follow a copy of an object whose class has its own way of being copied."""
    fields = None if isinstance(x, (Mirror, Record)) else fields_of(x)
    if fields is not None:
        for name in _COPYING:
            found = getattr(type(x), name, None)
            if found is not None and found is not getattr(object, name, None):
                raise TypeError(
                    f"{type(x).__name__} has {name} of its own, which is not tracked: "
                    "make the copy in the function, from fields"
                )
    items = fields if fields is not None else x if isinstance(x, dict) else {}
    for item in x if isinstance(x, (list, tuple)) else items.values():
        require_plain_copy(item)


def deepcopy_dot(x_dot: Any, x: Any) -> Any:
    """The tangents, or adjoints, of `copy.deepcopy(x)`."""
    require_plain_copy(x)
    return copy(x_dot)


def shallow_dot(x_dot: Any, x: Any) -> Any:
    """The tangents, or adjoints, of `copy.copy(x)`: what a container holds is not copied."""
    if isinstance(x_dot, Mirror):
        require_plain_copy(x)
        return Mirror(**vars(x_dot))
    if isinstance(x_dot, Record):
        return Record(x_dot._names, x_dot)
    return x_dot.copy() if isinstance(x_dot, (list, dict)) else copy(x_dot)


def field_dot(x_dot: Any, x: Any, name: str) -> Any:
    """The tangent of `getattr(x, name)`, for the fields of objects."""
    if not isinstance(x_dot, (Mirror, Record)):
        raise AttributeError(f"no field `{name}`", name=name, obj=Mirror())
    return getattr(x_dot, name)


def field_bar(g: Any, x: Any, name: str) -> Any:
    """The adjoint of `x` in `getattr(x, name)`: zero but for this one field."""
    found = zeros_like(x)
    field_dot(found, x, name)
    setattr(found, name, g)
    return found


def attributes_bar(g: Any, x: Any) -> Any:
    """The adjoint of `x` in `vars(x)`."""
    found = zeros_like(x)
    vars(found).update(g)
    return found


def named_items(x: Any) -> dict[str, Any]:
    """`x._asdict()` of a namedtuple, or the same of its mirror."""
    if isinstance(x, Record):
        return dict(zip(x._names, x, strict=True))
    if not isinstance(x, tuple) or type(x)._asdict.__module__ != collections.__name__:  # type: ignore[attr-defined]
        raise written_for("a namedtuple", x)
    return x._asdict()  # type: ignore[attr-defined]


def named_items_bar(g: Any, x: Any) -> Any:
    """The adjoint of `x` in `x._asdict()`."""
    names = names_of(x) or ()
    return Record(names, [g[name] for name in names])


def unnested(x_dot: Any, x: Any, named: bool) -> Any:
    """The tangents of `asdict(x)`, or of `astuple(x)` where the fields are not named."""
    if dataclasses.is_dataclass(x):
        names = [field.name for field in dataclasses.fields(x)]
        items = [unnested(getattr(x_dot, n), getattr(x, n), named) for n in names]
        return dict(zip(names, items, strict=True)) if named else items
    if isinstance(x, (list, tuple)):
        items = [unnested(d, v, named) for d, v in zip(x_dot, x, strict=True)]
        return Record(x_dot._names, items) if isinstance(x_dot, Record) else items
    if isinstance(x, dict):
        return {key: unnested(x_dot[key], v, named) for key, v in x.items()}
    return copy(x_dot)


def unnested_bar(g: Any, x: Any, named: bool) -> Any:
    """The adjoint of `x` in `asdict(x)` or `astuple(x)`."""
    if dataclasses.is_dataclass(x):
        fields = dataclasses.fields(x)
        parts = [g[f.name if named else n] for n, f in enumerate(fields)]
        own = {f.name: p for f, p in zip(fields, parts, strict=True)}
        whole = fields_of(x) or {}
        items = [
            unnested_bar(own[n], v, named) if n in own else zeros_like(v) for n, v in whole.items()
        ]
        return record_like(x, *items)
    if isinstance(x, (list, tuple)):
        items = [unnested_bar(part, v, named) for part, v in zip(g, x, strict=True)]
        names = names_of(x)
        return items if names is None else Record(names, items)
    if isinstance(x, dict):
        return {key: unnested_bar(g[key], v, named) for key, v in x.items()}
    return copy(g)
