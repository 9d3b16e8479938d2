"""Kinds somebody states from outside the function: annotations and example arguments."""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..frontend.owners import is_numerical, is_ours, is_pythons
from ..frontend.resolve import note_class
from ..frontend.signatures import plain_signature
from ..frontend.structures import (
    FEW,
    assigned_attributes,
    has_methods,
    has_names,
    has_places,
    is_object,
    structure_of,
    tuple_of,
)
from ..ir.kind import BOOL, FLOAT, INT, MANY, NOTHING, OTHER, UNKNOWN, Dim, Kind
from ..pytree.leaves import is_array

COMPLEX = Kind("number", "complex", ())
_NAMED = {
    "float": FLOAT,
    "int": INT,
    "bool": BOOL,
    "complex": COMPLEX,
    "str": OTHER,
    "bytes": OTHER,
    "None": OTHER,
    "ndarray": Kind("array"),
    "NDArray": Kind("array"),
    "list": Kind("list"),
    "List": Kind("list"),
    "tuple": Kind("tuple"),
    "Tuple": Kind("tuple"),
    "dict": Kind("dict"),
    "Dict": Kind("dict"),
}
_SCALARS = {"float64": "float", "float32": "float", "floating": "float", "float": "float"}
_SCALARS |= {"complex128": "complex", "complex64": "complex", "complex": "complex"}
_SCALARS |= {"int64": "int", "int32": "int", "int": "int", "bool_": "bool", "bool": "bool"}


_GENERATORS = tuple(
    f"{numpy}.random.{name}" for numpy in ("np", "numpy") for name in ("Generator", "RandomState")
)


def kind_from_annotation(text: str) -> Kind:
    """The kind an annotation promises; what we cannot read promises nothing.

    >>> kind_from_annotation("float").form, kind_from_annotation("np.ndarray").form
    ('number', 'array')
    >>> kind_from_annotation("tuple[float, int]").items[1].dtype
    'int'
    """
    try:
        tree = ast.parse(text.strip() or "None_", mode="eval").body
    except SyntaxError:
        return UNKNOWN
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return kind_from_annotation(tree.value)
    return _of_tree(tree)


def _of_tree(tree: ast.expr) -> Kind:
    if isinstance(tree, ast.Constant) and tree.value is None:
        return OTHER
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return _of_tree(tree.left).join(_of_tree(tree.right))
    if isinstance(tree, ast.Attribute) and ast.unparse(tree) in _GENERATORS:
        return Kind("other", cls=getattr(np.random, tree.attr))
    if isinstance(tree, (ast.Name, ast.Attribute)):
        return _NAMED.get(_last_name(tree), UNKNOWN)
    if isinstance(tree, ast.Subscript):
        return _of_generic(_last_name(tree.value), tree.slice)
    return UNKNOWN


def _of_generic(name: str, argument: ast.expr) -> Kind:
    kind = _NAMED.get(name, UNKNOWN)
    inside = argument.elts if isinstance(argument, ast.Tuple) else [argument]
    if name == "NDArray":
        return replace(kind, dtype=_SCALARS.get(_last_name(inside[0]), "?"))
    if kind.form == "list":
        return replace(kind, item=_of_tree(inside[0]))
    if kind.form == "dict":
        return replace(kind, item=_of_tree(inside[-1]))
    if kind.form == "tuple":
        if isinstance(inside[-1], ast.Constant) and inside[-1].value is Ellipsis:
            return replace(kind, item=_of_tree(inside[0]))
        return replace(kind, items=tuple(map(_of_tree, inside)))
    return UNKNOWN if name != "ndarray" else kind


def _last_name(tree: ast.expr) -> str:
    if isinstance(tree, ast.Attribute):
        return tree.attr
    return tree.id if isinstance(tree, ast.Name) else ""


def kinds_from_example(args: Mapping[str, Any], exact: int = 1) -> dict[str, Kind]:
    """Kinds of example arguments: ranks stay, sizes become symbols, equal sizes one symbol.

    A size of 1 stays 1, because it broadcasts, and the others are not 1: so an example decides
    what may broadcast. Sizes of at most `exact` stay as they are.

    >>> kinds = kinds_from_example({"w": np.ones((3, 2)), "x": np.ones(2), "k": 4})
    >>> kinds["w"].shape, kinds["x"].shape, kinds["k"].dtype
    (('w.0!', 'w.1!'), ('w.1!',), 'int')
    """
    symbols: dict[int, Dim] = {size: size for size in range(1, exact + 1)}
    return {name: _example(value, name, symbols) for name, value in args.items()}


def _example(value: Any, name: str, symbols: dict[int, Dim], above: tuple[Any, ...] = ()) -> Kind:
    """The kind of an example value; `above` are the containers that it is in, one of which may
    contain itself."""
    if any(value is outer for outer in above):
        return UNKNOWN
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, (int, float, complex, np.number)):
        return Kind("number", _dtype_class(np.dtype(type(value))), ())
    if isinstance(value, (list, tuple)):
        return _example_sequence(value, name, symbols, above)
    if isinstance(value, dict):
        inside = (*above, value)
        kinds = [_example(v, f"{name}.{k}", symbols, inside) for k, v in value.items()]
        apart = len(value) <= FEW or any(kind != kinds[0] for kind in kinds)
        if has_names(value) and kinds and apart:
            return Kind("dict", items=tuple(kinds), names=tuple(value), lasting=True)
        return Kind("dict", item=_join_all(kinds), lasting=True)
    if is_array(value):
        dims = tuple(_dim(n, f"{name}.{axis}", symbols) for axis, n in enumerate(value.shape))
        return Kind("array", _dtype_class(np.dtype(value.dtype)), dims)
    if is_object(value) or isinstance(value, (set, frozenset)):
        return structure_of(value, ranks=True)
    if value is None:
        return NOTHING
    return OTHER if isinstance(value, (str, bytes)) else structure_of(value)


def _example_sequence(
    value: Any, name: str, symbols: dict[int, Dim], above: tuple[Any, ...]
) -> Kind:
    inside = (*above, value)
    kinds = [_example(v, f"{name}.{i}", symbols, inside) for i, v in enumerate(value)]
    if isinstance(value, tuple):
        return tuple_of(value, kinds)
    common = _join_all(kinds)
    if has_places(value) and (common is None or common.rank is None):
        return Kind("list", items=tuple(kinds), lasting=True)
    return Kind("list", item=common, lasting=True)


def _join_all(kinds: list[Kind]) -> Kind | None:
    if not kinds:
        return None
    joined = kinds[0]
    for kind in kinds[1:]:
        joined = joined.join(kind)
    return joined


def _dim(size: int, symbol: str, symbols: dict[int, Dim]) -> Dim:
    return symbols.setdefault(size, f"{symbol}{MANY}")


def _dtype_class(dtype: np.dtype[Any]) -> str:
    classes = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
    return classes.get(dtype.kind, "?")


# --------------------------------------------------------------------------------------------------
# Classes of arguments as annotations state them: `def loss(model: Model, x)`.
#
# They let a derivative be written before there is a call. A call tells more, and is believed
# instead (`structures`); the emitted text checks the class of each object that it is given.


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
    params = plain_signature(fn).parameters.values()
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
    note_class(cls)
    assigned = assigned_attributes(cls)
    fields: dict[str, Kind] = {}
    for base in reversed(cls.__mro__[:-1]):
        names = vars(sys.modules.get(base.__module__, types))
        for name, text in vars(base).get("__annotations__", {}).items():
            fields[name] = _kind(text, names, (*above, cls))
    known = ((n, k) for n, k in fields.items() if k.holds_objects and n not in assigned)
    return Kind("object", cls=cls, fields=tuple(known))
