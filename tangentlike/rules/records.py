"""Rules of objects that are copied, read by the names of their fields, or written as dicts."""

from __future__ import annotations

import copy as copying
import dataclasses

from .. import ir, runtime
from ..ir.kind import Kind
from .book import nondifferentiable, rule
from .kinds_of import first, other, unknown

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
