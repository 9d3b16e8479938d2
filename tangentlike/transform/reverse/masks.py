"""The branch of `np.where` that is not taken lets no NaN or infinity through.

In `np.where(x > 0, np.log(x), 0.0)` the logarithm's derivative is infinite where it is not
selected, and zero times infinity is NaN. The adjoint of a value whose only use is such a
selection is zero outside the mask *by construction*; while it is carried back through
elementwise operations each product is taken under the same mask.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import ir
from ..context import Context
from ..contributions import Contribution
from ..loops import is_call


def selections(stmt: ir.Assign, context: Context) -> dict[str, ir.Expr]:
    """For `y = np.where(c, a, b)`: under which mask each of `a` and `b` is used."""
    call = stmt.value
    if not isinstance(call, ir.Call) or not isinstance(call.fn, ir.Ref) or len(call.args) != 3:
        return {}
    if context.book.find(call.fn.obj) is not context.book.find(np.where):
        return {}
    mask, first, second = call.args
    if not isinstance(mask, ir.Var) or first == second:
        return {}
    found: dict[str, ir.Expr] = {}
    if isinstance(first, ir.Var):
        found[first.name] = mask
    if isinstance(second, ir.Var):
        found[second.name] = ir.Call(context.numpy("logical_not"), (mask,))
    return found


def under_mask(c: Contribution, mask: ir.Expr, like: ir.Expr, context: Context) -> Contribution:
    """The contribution with its product taken under a mask (`like` is the result)."""
    if not c.elementwise or (not c.full and isinstance(c.value, ir.Var)):
        return c
    value = c.value
    if is_call(value, context.helper("unbroadcast").obj):
        assert isinstance(value, ir.Call)
        inner = _masked(value.args[0], mask, like, context)
        return dataclasses.replace(c, value=dataclasses.replace(value, args=(inner, value.args[1])))
    return dataclasses.replace(c, value=_masked(value, mask, like, context))


def _masked(value: ir.Expr, mask: ir.Expr, like: ir.Expr, context: Context) -> ir.Expr:
    if context.kind_of(mask).same_shape(context.kind_of(like)):
        return ir.Call(context.numpy("where"), (mask, value, ir.Const(0.0)))
    return ir.Call(context.helper("masked"), (value, mask))
