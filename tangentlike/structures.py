"""What arguments tell the transform that a program does not: dicts whose keys are numbers.

`for k in table: s += k` reads keys if `table` is a dict and values if it is a list. Where the
keys are no numbers a program can only use them as keys, so nothing needs to be known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import leaves
from .errors import TangentlikeError
from .kind import UNKNOWN, Kind

# Attributes of arrays whose derivative is not that of a field of the same name.
OF_ARRAYS = frozenset(
    ("T", "real", "imag", "shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides")
    + ("flags", "device")
)

Structures = tuple[tuple[str, Kind], ...]


def structures_of(given: Mapping[str, Any]) -> Structures:
    """The structure of those arguments that hold dicts with numbers for keys, by parameter.

    >>> [(name, kind.form) for name, kind in structures_of({"t": {0: 1.5}, "x": [2.5]})]
    [('t', 'dict')]
    """
    found = []
    for name, value in given.items():
        if leaves.is_leaf(value) or isinstance(value, (str, int)):
            continue
        refuse_fields_like_arrays(name, value)
        if _has_numbers_for_keys(value):
            found.append((name, _structure(value)))
    return tuple(found)


def _has_numbers_for_keys(value: Any, above: tuple[Any, ...] = ()) -> bool:
    if isinstance(value, dict) and any(isinstance(key, (int, float)) for key in value):
        return True
    if any(value is outer for outer in above):
        return False
    inside = leaves.children(value) or ()
    return any(_has_numbers_for_keys(item, (*above, value)) for _, item in inside)


def _structure(value: Any) -> Kind:
    if isinstance(value, tuple):
        return Kind("tuple", items=tuple(map(_structure, value)))
    if not isinstance(value, (list, dict)):
        return UNKNOWN
    kinds = [_structure(item) for item in (value.values() if isinstance(value, dict) else value)]
    same = bool(kinds) and all(kind == kinds[0] for kind in kinds)
    form = "dict" if isinstance(value, dict) else "list"
    return Kind(form, item=kinds[0] if same and kinds[0] != UNKNOWN else None)


def refuse_fields_like_arrays(name: str, value: Any, above: tuple[Any, ...] = ()) -> None:
    """`box.size` is taken for the size of an array, which has no derivative: a field of that
    name that has one is refused."""
    if leaves.is_leaf(value) or any(value is outer for outer in above):
        return
    for field, item in (leaves.named_children(value) or {}).items():
        if field in OF_ARRAYS and leaves.has_leaf(item):
            raise TangentlikeError(
                f"the {type(value).__name__} in `{name}` has a field `{field}`, "
                "which is also an attribute of arrays",
                hint=f"Rename it: `{field}_` could be told apart.",
            )
    for _, item in leaves.children(value) or ():
        refuse_fields_like_arrays(name, item, (*above, value))
