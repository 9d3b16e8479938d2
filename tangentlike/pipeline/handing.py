"""Outer arrays that a function hands on to what may write them, as views that are read only.

    W = np.ones(3)                      W = np.ones(3)

    def loss(x):                        def loss(x):
        model.w = W                         W_view = read_only(W)
        return model.fit(x)                 model.w = W_view
                                            return model.fit(x)

Nothing can write the array unseen: NumPy raises an error where it is written, which is what is
refused (`dispatch/blame.py`). Writes by the name of the array itself stay what they are.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import numpy as np

from .. import ir, runtime
from ..frontend.lower import Lowered
from ..ir.facts import fact
from ..ir.index import all_names, references
from ..ir.names import Names

_READ_ONLY = ir.Ref("read_only", runtime.read_only)
_ASKING = (operator.is_, operator.is_not)


def can_be_handed(obj: Any) -> bool:
    """Whether an object is an array of numbers of NumPy's own class."""
    return type(obj) is np.ndarray and obj.dtype.kind in "biufc"


def with_views(lowered: Lowered, arrays: Collection[Any]) -> Lowered:
    """The function with views of these arrays in the place of their names."""
    function = lowered.function
    named = {ref.key: ref for ref in fact(references, function)}
    found = [ref for ref in named.values() if any(ref.obj is array for array in arrays)]
    if not found:
        return lowered
    names = Names(all_names(function))
    views = {ref.key: ir.Var(names.fresh(f"{ref.text.replace('.', '_')}_view")) for ref in found}

    def viewed(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Ref(key=key) if key in views:
                return views[key]
            case ir.Call(fn=ir.Ref(obj=obj)) if any(obj is asks for asks in _ASKING):
                return expr
        return ir.rebuild(expr, viewed)

    def statement(stmt: ir.Stmt) -> ir.Instead:
        if not isinstance(stmt, ir.Store | ir.Update):
            return None
        return (ir.replaced(stmt, value=viewed(stmt.value)),)

    origin = ir.Origin(function.place)
    head = [ir.Assign(views[r.key].name, ir.Call(_READ_ONLY, (r,)), origin) for r in found]
    body = (*head, *ir.rewrite(function.body, statement, viewed))
    return lowered.with_body(body, [view.name for view in views.values()])
