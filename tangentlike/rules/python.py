"""Rules of Python's operators and built-in functions."""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from .. import ir
from ..ir.kind import FLOAT, UNKNOWN, Kind
from .book import KindOf, rule
from .kinds_of import broadcast, elementwise, first
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
    """`*` repeats a list, everything else is arithmetic."""
    kinds = [kind_of(arg) for arg in call.args[:2]]
    for one, other in zip(kinds, kinds[::-1], strict=True):  # (one if it is `mul(*pair)`)
        if one.form in ("list", "tuple") and other.form == "number":
            return Kind(one.form, item=one.item)
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
    form = "tuple" if call.fn == ir.Ref("tuple", tuple) else "list"
    if kind.form not in ("list", "tuple") and not kind.is_view:
        return Kind(form)
    return Kind(form, items=kind.items if form == "tuple" else None, item=kind.item)


def _scalar_type(call: ir.Call, kind_of: KindOf) -> Kind:
    # A NumPy scalar type makes an array of an array.
    kind = kind_of(call.args[0]) if call.args else FLOAT
    dtype = "complex" if call.fn.obj in (np.complex64, np.complex128) else "float"
    return Kind("number" if kind.form == "number" else "value", dtype, kind.shape)


linear("np.float64(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type)
linear("np.float32(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type)
linear("np.complex128(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type)
linear("np.complex64(x=0.0)", "unbroadcast(y_bar, x)", _scalar_type)


@rule(list, tuple, view="maybe", kind=_list)
def list_(y, x=()):
    y_dot = list(x_dot)
    if is_sequence(x):
        x_bar = list(y_bar)
    else:
        x_bar = join_items(y_bar, x)


# ----------------------------------------------------------------- of several, of a sequence


def _sum(call: ir.Call, kind_of: KindOf) -> Kind:
    kind = kind_of(call.args[0]) if call.args else UNKNOWN
    if kind.form == "array" and kind.rank == 1:
        return Kind("number", kind.dtype, ())
    items = kind.items if kind.items is not None else (kind.item,) if kind.item else ()
    if kind.form == "dict":  # (its keys are summed up)
        return UNKNOWN
    total = Kind("number", "int", ())
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
