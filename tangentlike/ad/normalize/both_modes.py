"""What is spelled out before either mode: reads of dicts, starred arguments, arrays unpacked."""

from __future__ import annotations

from ... import ir
from ...analysis.activity import has_fields_like_arrays, refuse_fields_like_arrays
from ..context import Context
from .arguments import spell_arguments, starred_calls
from .array_operands import operands_as_arrays
from .container_calls import calls_containers, plain_container_calls
from .iterated_dicts import no_dicts_for_their_items
from .mappings import reads_by_key, reads_dicts
from .unknown_objects import late_operators
from .unpacking import named_before_unpacked


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
