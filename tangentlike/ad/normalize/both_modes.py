"""What is spelled out before either mode: reads of dicts, starred arguments, arrays unpacked."""

from __future__ import annotations

import dataclasses

from ... import ir
from ...analysis.activity import has_fields_like_arrays, refuse_fields_like_arrays
from ...analysis.record_types import record_class
from ..context import Context
from .arguments import spell_arguments, starred_calls
from .array_operands import operands_as_arrays
from .container_calls import calls_containers, plain_container_calls
from .iterators import no_dicts_for_their_items
from .mappings import reads_by_key, reads_dicts
from .unknown_objects import late_operators


def spelled(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """The function itself where there is nothing to spell out."""
    function = no_dicts_for_their_items(function, wrt, context)
    if reads_dicts(function) or calls_containers(function) or has_fields_like_arrays(function):
        varied = context.varied(function, wrt)
        refuse_fields_like_arrays(function, varied)
        function = reads_by_key(function, varied, context)
        function = plain_container_calls(function, varied, context)
    function = late_operators(function, wrt, context)
    function = starred_calls(spell_arguments(function, context), wrt, context)
    function = named_before_unpacked(function, context)
    return operands_as_arrays(function, wrt, context)


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
                    parts = context.fresh("parts", context.kind_of(value), temporary=True)
                    again = dataclasses.replace(stmt, value=ir.Var(parts))
                    return (ir.Assign(parts, value, stmt.origin), again)
        return None

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _is_of_user(value: ir.Expr, context: Context) -> bool:
    fn = value.fn if isinstance(value, ir.Call) else None
    return isinstance(fn, ir.Ref) and bool(context.is_callee(fn.obj))
