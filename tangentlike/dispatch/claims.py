"""Whether a call's arguments are what annotations and examples say they are.

The transform trusts both: it leaves out an `unbroadcast` where shapes are said to agree, and
the derivative of an argument said to be an integer. A call that does not keep the promise gets
a derivative made without it.
"""

from __future__ import annotations

import copyreg
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..frontend.structures import is_function, is_object, structure_of
from ..ir.kind import FUNCTION, UNKNOWN, Kind, Shape, is_many
from ..pytree import leaves

UNSTATED = type("Unstated", (), {})()  # an example that promises nothing
copyreg.pickle(type(UNSTATED), lambda _: "UNSTATED")  # (there is one)

_CLASSES = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
# A value of the class on the right may stand where that on the left is promised: a constant
# integer does no harm where a float is expected, the other way round it would.
_FITS = {"float": {"float", "int", "bool"}, "int": {"int", "bool"}, "bool": {"bool"}}


def claims_of(annotations: Mapping[str, str], example: Mapping[str, Any] | None) -> dict[str, Kind]:
    """What is promised of each parameter; those of which nothing is are left out."""
    from ..analysis.declared import kind_from_annotation, kinds_from_example

    promised = {name: kind_from_annotation(text) for name, text in annotations.items() if text}
    if example is not None:
        stated = kinds_from_example(example)
        promised.update({name: kind for name, kind in stated.items() if kind != UNKNOWN})
    return {name: kind for name, kind in promised.items() if kind != UNKNOWN}


def broken(claims: Mapping[str, Kind], given: Mapping[str, Any]) -> list[str]:
    """The parameters whose arguments are not what is promised of them."""
    sizes: dict[str, int] = {}
    return [name for name, kind in claims.items() if not _holds(kind, given.get(name), sizes)]


def _holds(kind: Kind, value: Any, sizes: dict[str, int]) -> bool:
    if type(value) is float and kind.form == "number":
        return kind.dtype in ("float", "complex", "?")
    if type(value) is np.ndarray and kind.form == "array":
        if kind.dtype != "?" and kind.dtype != _CLASSES.get(value.dtype.kind):
            return False
        return _shape_holds(kind.shape, value.shape, sizes)
    if kind.form == "unknown":
        return True
    if kind.form in ("number", "array", "value"):
        if leaves.is_array(value):
            fits = kind.form != "number" and _class_holds(kind, value.dtype.kind, exact=True)
            return fits and _shape_holds(kind.shape, value.shape, sizes)
        if kind.form == "array" or not isinstance(
            value, (int, float, complex, np.number, np.bool_)
        ):
            return False
        return _class_holds(kind, np.dtype(type(value)).kind, exact=False)
    if kind.form == "object":
        return structure_of(value, ranks=True) in (kind.among or (kind,))
    if kind == FUNCTION:
        return is_function(value)
    if kind.form == "other" and kind.cls is not None:
        return isinstance(value, kind.cls)
    if kind.form == "other":
        return not leaves.has_leaf(value)
    if not isinstance(value, _CONTAINERS[kind.form]):
        return False
    inside = [item for _, item in leaves.contents(value) or []]
    if kind.items is not None:
        if len(kind.items) != len(inside):
            return False
        return all(_holds(k, v, sizes) for k, v in zip(kind.items, inside, strict=True))
    return kind.item is None or all(_holds(kind.item, item, sizes) for item in inside)


_CONTAINERS: dict[str, type | tuple[type, ...]] = {
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": (set, frozenset),
}


def _class_holds(kind: Kind, letter: str, exact: bool) -> bool:
    found = _CLASSES.get(letter, "?")
    if kind.dtype in ("?", "complex") and not exact:
        return True
    if kind.dtype == "?":
        return True
    return found == kind.dtype if exact else found in _FITS[kind.dtype]


def _shape_holds(promised: Shape, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
    if not isinstance(promised, tuple):
        return True
    if len(promised) != len(shape):
        return False
    for dim, size in zip(promised, shape, strict=True):
        if type(dim) is str:
            if sizes.setdefault(dim, size) != size or (size == 1 and is_many(dim)):
                return False
        elif dim is not None and dim != size:
            return False
    return True


def stand_in(value: Any, count: list[int] | None = None) -> Any:
    """An example that promises of `value` its type, its rank, which axes have length 1, and no
    more: all other sizes differ."""
    used = [1] if count is None else count
    if leaves.is_array(value):
        shape = []
        for size in value.shape:
            used[0] += size != 1
            shape.append(1 if size == 1 else used[0])
        return np.broadcast_to(np.zeros((), value.dtype), shape)
    if isinstance(value, (list, tuple)):
        items = [stand_in(item, used) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: stand_in(item, used) for key, item in value.items()}
    if isinstance(value, (bool, np.bool_)):
        return False
    return type(value)(0) if isinstance(value, (int, float, complex, np.number)) else value


def example_key(example: Any, above: tuple[Any, ...] = ()) -> Any:
    """What of example arguments the transform looks at: types, dtypes and shapes.

    >>> example_key((1.0, [2]))
    ('tuple', (('float',), ('list', (('int',),))))
    """
    name = type(example).__name__
    if isinstance(example, (types.ModuleType, types.FunctionType, type)):
        return (name, id(example))
    if leaves.is_array(example):
        return (name, str(example.dtype), tuple(example.shape))
    if is_object(example):
        return structure_of(example)
    inside = leaves.contents(example)
    if inside is None or any(example is outer for outer in above):
        return (name,)
    return (name, tuple(example_key(item, (*above, example)) for _, item in inside))
