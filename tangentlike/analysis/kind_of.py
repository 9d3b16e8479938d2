"""The kind of one expression, from the kinds of the names in it."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .. import ir
from ..kind import BOOL, FLOAT, INT, OTHER, UNKNOWN, Dim, Kind
from .operations import is_container_method, is_stop_gradient, rule_object

_INTEGERS = Kind("tuple", "int", item=INT)
_SHAPE_KINDS = {
    "shape": _INTEGERS,
    "strides": _INTEGERS,
    "ndim": INT,
    "size": INT,
    "nbytes": INT,
    "itemsize": INT,
    "dtype": OTHER,
    "flags": OTHER,
}
_BUILTIN_KINDS: dict[Any, Kind] = {
    builtins.len: INT,
    builtins.int: INT,
    builtins.bool: BOOL,
    builtins.ord: INT,
    builtins.id: INT,
    builtins.hash: INT,
    builtins.isinstance: BOOL,
    builtins.hasattr: BOOL,
    builtins.callable: BOOL,
    builtins.any: BOOL,
    builtins.all: BOOL,
    builtins.str: OTHER,
    builtins.repr: OTHER,
    builtins.type: OTHER,
    builtins.print: OTHER,
    builtins.format: OTHER,
    builtins.range: Kind("list", "int", item=INT),
}


def kind_of(expr: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """What is known of the value of `expr`.

    >>> kind_of(ir.Const(2.0), {}, None).dtype
    'float'
    >>> vector = Kind("array", "float", ("n",))
    >>> kind_of(ir.Index(ir.Var("x"), ir.Const(0)), {"x": vector}, None)
    Kind(form='number', dtype='float', shape=(), items=None, item=None)
    """
    match expr:
        case ir.Var(name):
            return kinds.get(name, UNKNOWN)
        case ir.Const(value):
            return _literal(value)
        case ir.Ref(obj=obj):
            return _live(expr.text, obj)
        case ir.Display():
            return _display(expr, kinds, book)
        case ir.Index(base, key):
            return index_kind(kind_of(base, kinds, book), key, kinds, book)
        case ir.Attribute(base, name):
            return _attribute(expr, kind_of(base, kinds, book), name, kinds, book)
        case ir.Lazy(form, items):
            values = items[1:] if form == "if" else items
            joined = kind_of(values[0], kinds, book)
            for value in values[1:]:
                joined = joined.join(kind_of(value, kinds, book))
            return joined
        case ir.Call():
            return _call(expr, kinds, book)
        case _:
            return UNKNOWN


def _literal(value: Any) -> Kind:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    if isinstance(value, float):
        return FLOAT
    return Kind("number", "complex", ()) if isinstance(value, complex) else OTHER


def _live(text: str, obj: Any) -> Kind:
    """Data of the user's module may be rebound between runs: only library constants count."""
    if isinstance(obj, (FunctionType, ModuleType, type, np.ufunc)):
        return OTHER
    if "." in text and isinstance(obj, float) and text.rpartition(".")[2] in ("pi", "e", "inf"):
        return FLOAT
    return UNKNOWN


def _display(expr: ir.Display, kinds: Mapping[str, Kind], book: Any) -> Kind:
    items = tuple(kind_of(item, kinds, book) for item in expr.items)
    integers = all(item.dtype in ("int", "bool") for item in items)
    dtype = "int" if integers and items else "?"
    if expr.form == "tuple":
        return Kind("tuple", dtype, items=items)
    return Kind(expr.form)  # what a list holds may change later, through any of its names


def index_kind(base: Kind, key: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """The kind of `base[key]`."""
    if base.form in ("list", "tuple", "dict"):
        return _element_at(base, key)
    if base.form == "number":
        return UNKNOWN
    if base.form == "other":
        return OTHER
    if base.form not in ("array", "value"):
        return UNKNOWN
    parts = key_parts(key)
    rank = base.rank
    if any(not _is_basic(part, kinds, book) for part in parts):
        return _fancy(base, parts, kinds, book)
    dims = _basic_dims(base, parts, rank, kinds, book)
    if dims is None:
        has_slice = any(isinstance(p, ir.Slice) or p == ir.Const(...) for p in parts)
        return Kind("array" if has_slice else "value", base.dtype)
    if not dims and ir.Const(...) not in parts:
        return Kind("number", base.dtype, ())
    return Kind("array", base.dtype, dims)


def key_parts(key: ir.Expr) -> tuple[ir.Expr, ...]:
    """The components of an index: those of a tuple, or the one.

    >>> len(key_parts(ir.Display("tuple", (ir.Var("i"), ir.Slice()))))
    2
    """
    return key.items if isinstance(key, ir.Display) and key.form == "tuple" else (key,)


def _element_at(base: Kind, key: ir.Expr) -> Kind:
    if isinstance(key, ir.Slice):
        return replace(base, items=None, item=element_kind(base))
    items = base.items or ()
    place = key.value if isinstance(key, ir.Const) else None
    if isinstance(place, int) and -len(items) <= place < len(items):
        return items[place]
    return element_kind(base)


def element_kind(kind: Kind) -> Kind:
    """What iteration over a value of this kind yields (for a dict: what its values are).

    >>> element_kind(Kind("array", "float", ("n", "m"))).shape
    ('m',)
    """
    if kind.form in ("list", "tuple", "dict"):
        if kind.item is None and kind.items:
            common = kind.items[0]
            for item in kind.items[1:]:
                common = common.join(item)
            return common
        return kind.item or (Kind("number", kind.dtype, ()) if kind.dtype == "int" else UNKNOWN)
    if kind.form == "array" and kind.rank:
        assert isinstance(kind.shape, tuple)
        if kind.rank == 1:
            return Kind("number", kind.dtype, ())
        return Kind("array", kind.dtype, kind.shape[1:])
    if kind.form in ("array", "value"):
        return Kind("value", kind.dtype)
    return OTHER if kind.form == "other" else UNKNOWN


def _is_basic(part: ir.Expr, kinds: Mapping[str, Kind], book: Any) -> bool:
    if isinstance(part, ir.Slice) or part in (ir.Const(None), ir.Const(...)):
        return True
    kind = kind_of(part, kinds, book)
    return kind.form == "number" and kind.dtype == "int"


def _fancy(base: Kind, parts: tuple[ir.Expr, ...], kinds: Mapping[str, Kind], book: Any) -> Kind:
    """Some part is an array, a list or of unknown kind."""
    part_kinds = [kind_of(p, kinds, book) for p in parts]
    if any(k.form in ("array", "list") for k in part_kinds):
        index = part_kinds[0]
        single = len(parts) == 1 and index.form == "array" and index.dtype == "int"
        if single and isinstance(index.shape, tuple) and isinstance(base.shape, tuple):
            return Kind("array", base.dtype, (*index.shape, *base.shape[1:]))
        return Kind("array", base.dtype)
    has_slice = any(isinstance(p, ir.Slice) for p in parts)
    return Kind("array" if has_slice else "value", base.dtype)


def _basic_dims(
    base: Kind, parts: tuple[ir.Expr, ...], rank: int | None, kinds: Mapping[str, Kind], book: Any
) -> tuple[Dim, ...] | None:
    """Dimensions after integers drop theirs, slices keep one, None adds one."""
    if rank is None or not isinstance(base.shape, tuple):
        return None
    consuming = [p for p in parts if p not in (ir.Const(None), ir.Const(...))]
    if len(consuming) > rank:
        return None
    dims: list[Dim] = []
    axis = 0
    for part in parts:
        if part == ir.Const(...):
            skipped = rank - len(consuming)
            dims.extend(base.shape[axis : axis + skipped])
            axis += skipped
        elif part == ir.Const(None):
            dims.append(1)
        else:
            if isinstance(part, ir.Slice):
                dims.append(base.shape[axis] if part == ir.Slice() else None)
            axis += 1
    return (*dims, *base.shape[axis:])


def _attribute(
    expr: ir.Attribute, base: Kind, name: str, kinds: Mapping[str, Kind], book: Any
) -> Kind:
    if name in ("shape", "strides", "ndim", "dtype"):
        if name == "shape" and base.form in ("array", "value") and base.rank is not None:
            return replace(_INTEGERS, items=(INT,) * base.rank)
        return _SHAPE_KINDS[name]
    if base.form not in ("array", "value", "number"):
        return UNKNOWN
    if name in _SHAPE_KINDS:
        return _SHAPE_KINDS[name]
    return _by_rule(expr, kinds, book)


def _call(call: ir.Call, kinds: Mapping[str, Kind], book: Any) -> Kind:
    obj = rule_object(call, kinds)
    if is_stop_gradient(obj) and call.args:
        return kind_of(call.args[0], kinds, book)
    if is_container_method(call, kinds):
        return _container_method(call, kinds, book)
    known = _BUILTIN_KINDS.get(obj) if _hashable(obj) else None
    return known if known is not None else _by_rule(call, kinds, book)


def _container_method(call: ir.Call, kinds: Mapping[str, Kind], book: Any) -> Kind:
    assert isinstance(call.fn, ir.Attribute)
    base = kind_of(call.fn.base, kinds, book)
    match call.fn.name:
        case "append" | "extend" | "insert" | "clear" | "update" | "remove" | "sort" | "reverse":
            return OTHER
        case "count" | "index":
            return INT
        case "copy":
            return base
        case "pop" if base.form in ("list", "dict") and len(call.args) < 2:
            return element_kind(base)
        case _:
            return UNKNOWN


def _by_rule(expr: ir.Call | ir.Attribute, kinds: Mapping[str, Kind], book: Any) -> Kind:
    """What the operation's entry in the rulebook says of its result."""
    obj = rule_object(expr, kinds)
    if obj is None or book is None:
        return UNKNOWN
    call = expr if isinstance(expr, ir.Call) else ir.Call(ir.Ref(expr.name, obj), (expr.base,))
    known: dict[ir.Expr, Kind] = {}
    if _is_numeric(call, obj, kinds, book):
        for arg in call.args:
            kind = kind_of(arg, kinds, book)
            known[arg] = replace(kind, form="value") if kind.form == "unknown" else kind
    result: Kind = book.result_kind(call, lambda e: known.get(e) or kind_of(e, kinds, book))
    return result


_ARITHMETIC = (operator.sub, operator.truediv, operator.pow, operator.floordiv, operator.neg)
_IN_PLACE = (operator.isub, operator.itruediv, operator.ipow, operator.ifloordiv)
_REPEATING = (operator.add, operator.mul, operator.iadd, operator.imul)


def _is_numeric(call: ir.Call, obj: Any, kinds: Mapping[str, Kind], book: Any) -> bool:
    """Whether an elementwise operation has a numeric result whatever its operands are.

    `x - y` has, since no list can be subtracted; `x + y` may join lists, `2 * x` repeat one.
    """
    if isinstance(obj, np.ufunc):
        return obj.signature is None
    if obj in _ARITHMETIC or obj in _IN_PLACE:
        return True
    if obj not in _REPEATING:
        return False
    operands = [kind_of(arg, kinds, book) for arg in call.args]
    return any(
        kind.form in ("array", "value")
        or (kind.form == "number" and kind.dtype in ("float", "complex"))
        for kind in operands
    )


def _hashable(obj: Any) -> bool:
    return getattr(type(obj), "__hash__", None) is not None
