"""Classes of arguments as annotations state them: `def loss(model: Model, x)`.

They let a derivative be written before there is a call. A call tells more, and is believed
instead (`structures`); the emitted text checks the class of each object that it is given.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

from ..frontend.owners import is_numerical, is_ours, is_pythons
from ..frontend.structures import assigned_attributes, has_methods
from ..ir.kind import UNKNOWN, Kind


def stated_classes(fn: Any) -> dict[str, Kind]:
    """What annotations say of the parameters that are objects, or hold such.

    Of `def loss(model: Model, others: list[Model], x: float)` these are `model`, an object, and
    `others`, a list of such.
    """
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    names = dict(fn.__globals__)
    for name, cell in cells:
        with contextlib.suppress(ValueError):  # (not bound yet)
            names[name] = cell.cell_contents
    params = inspect.signature(fn, follow_wrapped=False).parameters.values()
    plain = [p for p in params if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    kinds = ((p.name, _kind(p.annotation, names, ())) for p in plain)
    return {name: kind for name, kind in kinds if kind.holds_objects}


def _kind(annotation: Any, names: Mapping[str, Any], above: tuple[type, ...]) -> Kind:
    """What an annotation says of objects; what it does not say, or may be several, is unknown."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, {}, names)
        except Exception:
            return UNKNOWN
        if isinstance(annotation, str):
            return _kind(annotation, names, above)
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, type) and origin is None:
        return _object(annotation, above)
    if origin is list and len(inside) == 1:
        return _containing("list", _kind(inside[0], names, above))
    if origin is dict and len(inside) == 2:
        return _containing("dict", _kind(inside[1], names, above))
    if origin is tuple and inside and Ellipsis not in inside:
        return Kind("tuple", items=tuple(_kind(item, names, above) for item in inside))
    return UNKNOWN


def _containing(form: str, item: Kind) -> Kind:
    return Kind(form, item=item) if item != UNKNOWN else UNKNOWN


def _object(cls: type, above: tuple[type, ...]) -> Kind:
    """An object, with what its class says of attributes that no method assigns."""
    if is_numerical(cls) or is_ours(cls) or is_pythons(cls):
        return UNKNOWN
    if cls in above or inspect.isabstract(cls) or not has_methods(cls):
        return UNKNOWN
    if issubclass(cls, (list, tuple, dict, str, bytes, int, float, complex)):
        return UNKNOWN
    assigned = assigned_attributes(cls)
    fields: dict[str, Kind] = {}
    for base in reversed(cls.__mro__[:-1]):
        names = vars(sys.modules.get(base.__module__, types))
        for name, text in vars(base).get("__annotations__", {}).items():
            fields[name] = _kind(text, names, (*above, cls))
    known = ((n, k) for n, k in fields.items() if k.holds_objects and n not in assigned)
    return Kind("object", cls=cls, fields=tuple(known))
