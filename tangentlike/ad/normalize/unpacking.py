"""What is unpacked, so that its adjoint is that of what it was: arrays by a name of their own, and
`a, b = t` as `a = t[0]; b = t[1]`, where what is unpacked is written in place.

An item that is written is followed as the view of its tuple that it is: its adjoint is the item
of the tuple's adjoint. The stacks in the tape of a callee are such items.
"""

from __future__ import annotations

import dataclasses

from ... import ir
from ...analysis.record_types import record_class
from ..context import Context


def named_before_unpacked(function: ir.Function, context: Context) -> ir.Function:
    """Name the array that an operation makes before its entries or rows are unpacked.

    Before: `a, b = np.exp(x)`. After: `parts = np.exp(x); a, b = parts`. The rule of an
    operation is about its result as a whole, and the result of this one is no tuple. A
    namedtuple that is unpacked where it is made is named in the same way, and so is what a
    function of the user's gives, unless it surely is a tuple: `a, b = split(x)`.
    """

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(target=tuple(), value=ir.Call() | ir.Attribute() as value):
                form = context.kind_of(value).form
                if context.rule_for(value) is not None:
                    made_whole = form in ("array", "value")
                else:
                    made_whole = form != "tuple" and _is_of_user(value, context)
                if made_whole or record_class(value) is not None:
                    parts = _fresh("parts", value, context)
                    again = dataclasses.replace(stmt, value=ir.Var(parts))
                    return (ir.Assign(parts, value, stmt.origin), again)
        return None

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _is_of_user(value: ir.Expr, context: Context) -> bool:
    fn = value.fn if isinstance(value, ir.Call) else None
    return isinstance(fn, ir.Ref) and bool(context.is_callee(fn.obj))


def _fresh(wanted: str, value: ir.Expr, context: Context) -> str:
    name = context.fresh(wanted, context.kind_of(value), temporary=True)
    return name
