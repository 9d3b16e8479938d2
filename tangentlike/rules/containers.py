"""Rules of dicts that are made of others, and of lists whose items change places."""

from __future__ import annotations

import copy as copying
import dataclasses
import operator

from .. import ir, runtime
from ..ir.kind import INT, UNKNOWN, Kind
from .book import KindOf, nondifferentiable, rule
from .kinds_of import first, integer_elementwise, other, same_as, unknown

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


@rule(runtime.dict_bar, kind=same_as(1))
def dict_bar(y, g, x):
    y_dot = dict_bar(g_dot, x)
    g_bar = entries_bar(dict_dot(x, y_bar), g)
    x_bar = 0


@rule(runtime.merged_bar, kind=same_as(1))
def merged_bar(y, g, a, b):
    y_dot = merged_bar(g_dot, a, b)
    g_bar = entries_bar(y_bar, g, b)
    a_bar = 0
    b_bar = 0


@rule(runtime.entries_bar, kind=same_as(1))
def entries_bar(y, found, g, b=()):
    y_dot = entries_bar(found_dot, g, b)
    found_bar = entries_bar(y_bar, found, b)
    g_bar = 0
    b_bar = 0


# --------------------------------------------------------------------------- lists


def _list_of_items(call: ir.Call, kind_of: KindOf) -> Kind:
    kind = kind_of(call.args[0])
    return Kind("list", item=kind.item if kind.form in ("list", "dict") else None)


nondifferentiable(runtime.sorting_order, kind=lambda call, kind_of: Kind("list", "int", item=INT))


@rule(runtime.take_items, view="maybe", kind=_list_of_items)
def take_items(y, xs, order):
    y_dot = take_items(xs_dot, order)
    xs_bar = put_items(y_bar, order, xs)


@rule(runtime.put_items, kind=same_as(2))
def put_items(y, g, order, xs):
    y_dot = put_items(g_dot, order, xs)
    g_bar = take_items(y_bar, order)
    xs_bar = 0


def _columns(call: ir.Call, kind_of: KindOf) -> Kind:
    whole = isinstance(call.fn, ir.Ref) and call.fn.obj is runtime.column_lists
    return Kind("list", item=Kind("list" if whole else "tuple"))


@rule(runtime.columns, view="maybe", kind=_columns)
def columns(y, rows):
    y_dot = columns(rows_dot)
    rows_bar = columns_bar(y_bar, rows)


@rule(runtime.columns_bar, kind=same_as(1))
def columns_bar(y, g, rows):
    y_dot = columns_bar(g_dot, rows)
    g_bar = column_lists(y_bar)
    rows_bar = 0


@rule(runtime.column_lists, view="maybe", kind=_columns)
def column_lists(y, rows):
    y_dot = column_lists(rows_dot)
    rows_bar = columns_bar(y_bar, rows)


@rule(runtime.joined, kind=lambda call, kind_of: Kind("list"))
def joined(y, a, b):
    y_dot = joined(a_dot, b_dot)
    a_bar = y_bar[: len(a)]
    b_bar = y_bar[len(a) :]


# ------------------------------------------------------------------------- records


@rule(runtime.record_like, builder=True, view="maybe", kind=unknown)
def record_like(call, kind_of):
    """One item for each field."""
    items = [f"item{n}" for n in range(len(call.args) - 1)]
    dots = "".join(f", {item}_dot" for item in items)
    bars = [f"    {item}_bar = record_item(y_bar, record, {n})" for n, item in enumerate(items)]
    head = f"def record_like({', '.join(['y', 'record', *items])}):"
    return "\n".join([head, f"    y_dot = record_like(record{dots})", "    record_bar = 0", *bars])


@rule(runtime.saved_attribute, view="maybe", kind=unknown)
def saved_attribute(y, x, name):
    y_dot = saved_attribute(x_dot, name)
    x_bar = saved_attribute_bar(y_bar, x, name)


@rule(runtime.saved_attribute_bar, kind=unknown)
def saved_attribute_bar(y, g, x, name):
    y_dot = saved_attribute_bar(g_dot, x, name)
    g_bar = saved_attribute(y_bar, name)
    x_bar = 0


@rule(runtime.record_item, view="maybe", kind=unknown)
def record_item(y, g, record, place):
    y_dot = record_item(g_dot, record, place)
    g_bar = record_item_bar(y_bar, record, place)
    record_bar = 0


@rule(runtime.record_item_bar, kind=unknown)
def record_item_bar(y, g, record, place):
    y_dot = record_item_bar(g_dot, record, place)
    g_bar = record_item(y_bar, record, place)
    record_bar = 0


@rule(runtime.replaced, view="maybe", kind=unknown)
def replaced(y, record, field, value):
    y_dot = replaced(record_dot, field, value_dot)
    record_bar = replaced_bar(y_bar, record, field)
    value_bar = getattr(y_bar, field)


@rule(runtime.replaced_bar, kind=unknown)
def replaced_bar(y, g, record, field):
    y_dot = replaced_bar(g_dot, record, field)
    g_bar = replaced_bar(y_bar, record, field)
    record_bar = 0


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


@rule(runtime.deepcopy_dot, kind=first)
def deepcopy_dot(y, d, x):
    y_dot = deepcopy_dot(d_dot, x)
    d_bar = deepcopy_dot(y_bar, x)
    x_bar = 0


@rule(runtime.shallow_dot, view="maybe", kind=first)
def shallow_dot(y, d, x):
    y_dot = shallow_dot(d_dot, x)
    d_bar = shallow_dot(y_bar, x)
    x_bar = 0


# --------------------------------------------------------------------- fields by their names


def _names(call: ir.Call, kind_of) -> Kind:
    return Kind("tuple", item=Kind("other"))


nondifferentiable(dataclasses.fields, kind=_names)
nondifferentiable(runtime.require_plain_copy, kind=other)


@rule(getattr, view="maybe", kind=unknown)
def getattr_(y, x, name):
    y_dot = field_dot(x_dot, x, name)
    x_bar = field_bar(y_bar, x, name)


@rule(runtime.field_dot, view="maybe", kind=unknown)
def field_dot(y, d, x, name):
    y_dot = field_dot(d_dot, x, name)
    d_bar = field_bar(y_bar, x, name)
    x_bar = 0


@rule(runtime.field_bar, kind=unknown)
def field_bar(y, g, x, name):
    y_dot = field_bar(g_dot, x, name)
    g_bar = field_dot(y_bar, x, name)
    x_bar = 0


@rule(runtime.named_items, view="maybe", kind=lambda call, kind_of: Kind("dict"))
def named_items(y, x):
    y_dot = named_items(x_dot)
    x_bar = named_items_bar(y_bar, x)


@rule(runtime.named_items_bar, kind=unknown)
def named_items_bar(y, g, x):
    y_dot = named_items_bar(g_dot, x)
    g_bar = named_items(y_bar)
    x_bar = 0


@rule(vars, view="maybe", kind=lambda call, kind_of: Kind("dict"))
def vars_(y, x):
    y_dot = vars(x_dot)
    x_bar = attributes_bar(y_bar, x)


@rule(runtime.attributes_bar, kind=unknown)
def attributes_bar(y, g, x):
    y_dot = attributes_bar(g_dot, x)
    g_bar = vars(y_bar)
    x_bar = 0


# ----------------------------------------------------------------- objects as dicts and tuples


@rule(dataclasses.asdict, kind=lambda call, kind_of: Kind("dict"))
def asdict(y, x):
    y_dot = unnested(x_dot, x, True)
    x_bar = unnested_bar(y_bar, x, True)


@rule(dataclasses.astuple, kind=lambda call, kind_of: Kind("tuple"))
def astuple(y, x):
    y_dot = unnested(x_dot, x, False)
    x_bar = unnested_bar(y_bar, x, False)


@rule(runtime.unnested, kind=unknown)
def unnested(y, d, x, named):
    y_dot = unnested(d_dot, x, named)
    d_bar = unnested_bar(y_bar, x, named)
    x_bar = 0


@rule(runtime.unnested_bar, kind=unknown)
def unnested_bar(y, g, x, named):
    y_dot = unnested_bar(g_dot, x, named)
    g_bar = unnested(y_bar, x, named)
    x_bar = 0
