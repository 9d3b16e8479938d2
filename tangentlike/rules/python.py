"""Rules of Python's operators and built-in functions."""

from __future__ import annotations

import copy as copying
import dataclasses
import operator
from dataclasses import replace

import numpy as np

from .. import ir, runtime
from ..ir.kind import FLOAT, INT, UNKNOWN, Kind
from .book import KindOf, nondifferentiable, rule
from .kinds_of import (
    argument,
    broadcast,
    elementwise,
    first,
    integer_elementwise,
    same_as,
    unknown,
)
from .tables import linear

# --------------------------------------------------------------------------- arithmetic


def _joined(call: ir.Call, kind_of: KindOf) -> Kind:
    """`+` joins two lists, everything else is arithmetic."""
    left, right = (kind_of(arg) for arg in call.args[:2])
    if left.form == right.form == "list":
        same = left.item is not None and left.item == right.item
        return Kind("list", item=left.item if same else None)
    if left.form == right.form == "tuple" and left.items is not None and right.items is not None:
        return Kind("tuple", items=left.items + right.items)
    found = elementwise(call, kind_of)
    if found.form in ("list", "tuple"):  # (how long the other is, is not known)
        return replace(found, items=None, item=None)
    return found


@rule(operator.add, operator.iadd, np.add, kind=_joined)
def add(y, a, b):
    if is_list(a) or is_list(b):
        y_dot = a_dot + b_dot
        a_bar = y_bar[: len(a)]
        b_bar = y_bar[len(a) :]
    elif is_sequence(a) or is_sequence(b):
        y_dot = joined(a_dot, b_dot)
        a_bar = y_bar[: len(a)]
        b_bar = y_bar[len(a) :]
    else:
        dy_da = 1.0
        dy_db = 1.0


@rule(operator.sub, operator.isub, np.subtract)
def subtract(y, a, b):
    dy_da = 1.0
    dy_db = -1.0


def _repeated(call: ir.Call, kind_of: KindOf) -> Kind:
    """`*` repeats a list (not a float times: an array is meant), everything else is arithmetic."""
    kinds = [kind_of(arg) for arg in call.args[:2]]
    for one, two in zip(kinds, kinds[::-1], strict=True):  # (one if it is `mul(*pair)`)
        if one.form in ("list", "tuple") and two.form == "number":
            is_count = two.dtype not in ("float", "complex")
            return Kind(one.form, item=one.item) if is_count else UNKNOWN
    return elementwise(call, kind_of)


@rule(operator.mul, operator.imul, np.multiply, kind=_repeated)
def multiply(y, a, b):
    if is_sequence(a):
        y_dot = a_dot * b
        a_bar = add_repeats(y_bar, a)
    elif is_sequence(b):
        y_dot = a * b_dot
        b_bar = add_repeats(y_bar, b)
    else:
        dy_da = b
        dy_db = a


@rule(operator.truediv, operator.itruediv, np.divide)
def divide(y, a, b):
    dy_da = 1.0 / b
    dy_db = -(y / b)


@rule(operator.neg, np.negative)
def negative(y, x):
    dy_dx = -1.0


@rule(operator.pos, np.positive)
def positive(y, x):
    dy_dx = 1.0


# --------------------------------------------------------------------------- conversions


def _float(call: ir.Call, kind_of: KindOf) -> Kind:
    return FLOAT


@rule(float, kind=_float)
def float_(y, x=0.0):
    y_dot = float(x_dot)
    if is_number(x):
        x_bar = y_bar
    else:
        x_bar = broadcast_like(y_bar, x)


def _list(call: ir.Call, kind_of: KindOf) -> Kind:
    kind = kind_of(call.args[0]) if call.args else UNKNOWN
    form = "tuple" if call.fn == ir.TUPLE else "list"
    if kind.form not in ("list", "tuple") and not kind.is_view:
        return Kind(form)
    return Kind(form, items=kind.items if form == "tuple" else None, item=kind.item)


def _scalar_type(call: ir.Call, kind_of: KindOf) -> Kind:
    # A NumPy scalar type makes an array of an array.
    kind = kind_of(call.args[0]) if call.args else FLOAT
    dtype = "complex" if call.fn.obj in (np.complex64, np.complex128) else "float"
    return Kind("number" if kind.form == "number" else "value", dtype, kind.shape)


linear("np.float64(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type, "maybe")
linear("np.float32(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type, "maybe")
linear("np.complex128(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type, "maybe")
linear("np.complex64(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type, "maybe")


@rule(list, tuple, view="maybe", kind=_list)
def list_(y, x=()):
    y_dot = list(x_dot)
    if is_list(x):
        x_bar = list(y_bar)
    else:
        x_bar = join_items(y_bar, x)


# ----------------------------------------------------------------- of several, of a sequence


def _sum(call: ir.Call, kind_of: KindOf) -> Kind:
    kind = kind_of(call.args[0]) if call.args else UNKNOWN
    if kind.form == "dict":  # (its keys are summed up)
        return UNKNOWN
    items = kind.items if kind.items is not None else (kind.item,) if kind.item else ()
    if kind.form == "array" and kind.rank == 1:
        items = (Kind("number", kind.dtype, ()),)
    total = kind_of(argument(call, 1, "start", 0))
    for item in items:
        total = broadcast(total, item)
    return total if items else UNKNOWN


@rule(sum, kind=_sum)
def sum_(y, xs, start=0):
    y_dot = sum(xs_dot) + start_dot
    xs_bar = sum_items_bar(y_bar, xs)
    start_bar = unbroadcast(y_bar, start)


def _extreme(name: str, call: ir.Call) -> str:
    """A template for `max(xs)` or `max(a, b, ...)`; ties share equally."""
    count = len(call.args)
    if count == 1:
        return (
            f"def {name}(y, xs):\n"
            "    shares = tie_shares(xs, y)\n"
            "    y_dot = dot_items(shares, xs_dot)\n"
            "    xs_bar = scale_items(y_bar, shares)\n"
        )
    params = [f"x{place}" for place in range(count)]
    head = f"def {name}(y, {', '.join(params)}):\n"
    if count == 2:
        a, b = params if name == "max" else params[::-1]
        return head + (
            f"    dy_dx0 = greater_share({a}, {b})\n    dy_dx1 = greater_share({b}, {a})\n"
        )
    ties = " + ".join(f"1.0 * ({x} == y)" for x in params)
    lines = "".join(f"    dy_d{x} = ({x} == y) / ties\n" for x in params)
    return f"{head}    ties = {ties}\n{lines}"


def _of_all(call: ir.Call, kind_of: KindOf) -> Kind:
    if len(call.args) == 1:
        kind = kind_of(call.args[0])
        if kind.form == "array" and kind.rank == 1:
            return Kind("number", kind.dtype, ())
        return UNKNOWN if kind.item is None else kind.item
    kinds = [kind_of(arg) for arg in call.args]
    found = first(call, kind_of)
    for kind in kinds[1:]:
        found = found.join(kind)
    return found


@rule(max, builder=True, view="maybe", kind=_of_all)
def max_(call: ir.Call, kind_of: KindOf) -> str:
    return _extreme("max", call)


@rule(min, builder=True, view="maybe", kind=_of_all)
def min_(call: ir.Call, kind_of: KindOf) -> str:
    return _extreme("min", call)


# --------------------------------------------------------------------------------------------------
# Rules of dicts that are made of others, and of lists whose items change places.


# --------------------------------------------------------------------------- dicts


def _dict(call: ir.Call, kind_of: KindOf) -> Kind:
    kind = kind_of(call.args[0]) if call.args else UNKNOWN
    return Kind("dict", item=kind.item if kind.form == "dict" else None)


@rule(dict, view="maybe", kind=_dict)
def dict_(y, x=()):
    if is_dict(x):
        y_dot = dict(x_dot)
        x_bar = dict(y_bar)
    else:
        y_dot = dict_dot(x, x_dot)
        x_bar = dict_bar(y_bar, x)


def _merged(call: ir.Call, kind_of: KindOf) -> Kind:
    """`|` merges two dicts; everything else is an operation on integers or truth values."""
    kinds = [kind_of(arg) for arg in call.args[:2]]
    if any(kind.form == "dict" for kind in kinds):
        same = kinds[0].form == kinds[1].form and kinds[0].item == kinds[1].item
        return Kind("dict", item=kinds[0].item if same else None)
    if all(kind.form == "unknown" and not kind.discrete for kind in kinds):
        return UNKNOWN
    return integer_elementwise(call, kind_of)


@rule(operator.or_, operator.ior, kind=_merged)
def merge(y, a, b):
    if is_dict(a) or is_dict(b):
        y_dot = a_dot | b_dot
        a_bar = merged_bar(y_bar, a, b)
        b_bar = dict_bar(y_bar, b)


@rule(runtime.dict_dot, kind=_dict)
def dict_dot(y, x, d):
    y_dot = dict_dot(x, d_dot)
    x_bar = 0
    d_bar = dict_bar(y_bar, x)


linear("dict_bar(g, x)", "entries_bar(dict_dot(x, y_bar), g)", same_as(1))
linear("merged_bar(g, a, b)", "entries_bar(y_bar, g, b)", same_as(1))
linear("entries_bar(found, g, b=())", "entries_bar(y_bar, found, b)", same_as(1))


# --------------------------------------------------------------------------- lists


def _list_of_items(call: ir.Call, kind_of: KindOf) -> Kind:
    kind = kind_of(call.args[0])
    return Kind("list", item=kind.item if kind.form in ("list", "dict") else None)


nondifferentiable(runtime.sorting_order, kind=lambda call, kind_of: Kind("list", "int", item=INT))


linear("take_items(xs, order)", "put_items(y_bar, order, xs)", _list_of_items, "maybe")
linear("put_items(g, order, xs)", "take_items(y_bar, order)", same_as(2))


def _columns(call: ir.Call, kind_of: KindOf) -> Kind:
    whole = isinstance(call.fn, ir.Ref) and call.fn.obj is runtime.column_lists
    return Kind("list", item=Kind("list" if whole else "tuple"))


linear("columns(rows)", "columns_bar(y_bar, rows)", _columns, "maybe")
linear("columns_bar(g, rows)", "column_lists(y_bar)", same_as(1))
linear("column_lists(rows)", "columns_bar(y_bar, rows)", _columns, "maybe")


@rule(runtime.joined, kind=lambda call, kind_of: Kind("list"))
def joined(y, a, b):
    y_dot = joined(a_dot, b_dot)
    a_bar = y_bar[: len(a)]
    b_bar = y_bar[len(a) :]


# ------------------------------------------------------------------------- records


@rule(runtime.record_like, builder=True, view="maybe", kind=unknown)
def record_like(call, kind_of):
    """One item for each field. (Which these were, the mirror tells: an object with slots may have
    got others since, in places before.)"""
    items = [f"item{n}" for n in range(len(call.args) - 1)]
    dots = "".join(f", {item}_dot" for item in items)
    bars = [f"    {item}_bar = record_item(y_bar, y, {n})" for n, item in enumerate(items)]
    head = f"def record_like({', '.join(['y', 'record', *items])}):"
    return "\n".join([head, f"    y_dot = record_like(record{dots})", "    record_bar = 0", *bars])


linear("saved_attribute(x, name)", "saved_attribute_bar(y_bar, x, name)", unknown, "maybe")
linear("saved_attribute_bar(g, x, name)", "saved_attribute(y_bar, name)", unknown)
linear("record_item(g, record, place)", "record_item_bar(y_bar, record, place)", unknown, "maybe")
linear("record_item_bar(g, record, place)", "record_item(y_bar, record, place)", unknown)


@rule(runtime.replaced, view="maybe", kind=unknown)
def replaced(y, record, field, value):
    y_dot = replaced(record_dot, field, value_dot)
    record_bar = replaced_bar(y_bar, record, field)
    value_bar = getattr(y_bar, field)


# (A field may be replaced by a value of another shape: the adjoint has that of `g`.)
linear("replaced_bar(g, record, field)", "replaced_bar(y_bar, g, field)", unknown)


# --------------------------------------------------------------------------------------------------
# Rules of objects that are copied, read by the names of their fields, or written as dicts.


# ------------------------------------------------------------------------------ copies


@rule(copying.deepcopy, kind=first)
def deepcopy(y, x):
    y_dot = deepcopy_dot(x_dot, x)
    x_bar = deepcopy_dot(y_bar, x)


@rule(copying.copy, view="maybe", kind=first)
def copy(y, x):
    y_dot = shallow_dot(x_dot, x)
    x_bar = shallow_dot(y_bar, x)


linear("deepcopy_dot(d, x)", "deepcopy_dot(y_bar, x)", first)
linear("shallow_dot(d, x)", "shallow_dot(y_bar, x)", first, "maybe")


# --------------------------------------------------------------------- fields by their names


def _names(call: ir.Call, kind_of) -> Kind:
    return Kind("tuple", item=Kind("other"))


nondifferentiable(dataclasses.fields, kind=_names)


@rule(getattr, view="maybe", kind=unknown)
def getattr_(y, x, name):
    y_dot = field_dot(x_dot, x, name)
    x_bar = field_bar(y_bar, x, name)


linear("field_dot(d, x, name)", "field_bar(y_bar, x, name)", unknown, "maybe")
linear("field_bar(g, x, name)", "field_dot(y_bar, x, name)", unknown)
linear("named_items(x)", "named_items_bar(y_bar, x)", lambda call, kind_of: Kind("dict"), "maybe")
linear("named_items_bar(g, x)", "named_items(y_bar)", unknown)


@rule(vars, view="maybe", kind=lambda call, kind_of: Kind("dict"))
def vars_(y, x):
    y_dot = vars(x_dot)
    x_bar = attributes_bar(y_bar, x)


linear("attributes_bar(g, x)", "vars(y_bar)", unknown)


# ----------------------------------------------------------------- objects as dicts and tuples


@rule(dataclasses.asdict, kind=lambda call, kind_of: Kind("dict"))
def asdict(y, x):
    y_dot = unnested(x_dot, x, True)
    x_bar = unnested_bar(y_bar, x, True)


@rule(dataclasses.astuple, kind=lambda call, kind_of: Kind("tuple"))
def astuple(y, x):
    y_dot = unnested(x_dot, x, False)
    x_bar = unnested_bar(y_bar, x, False)


linear("unnested(d, x, named)", "unnested_bar(y_bar, x, named)", unknown)
linear("unnested_bar(g, x, named)", "unnested(y_bar, x, named)", unknown)
