"""Calls that stay as they stand, of functions out of which something was cut.

What is left of such a function may give nothing back and write nothing, so that its call seems to
carry no derivative; but the call runs the function as the user wrote it, all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .. import ir
from ..frontend.cuts import Cuts
from .operations import is_python_function

__all__ = ["refuse_cut_callees"]


def refuse_cut_callees(
    function: ir.Function, varied: Collection[str], active: Collection[str], cuts: Cuts
) -> None:
    """Refuse a call that is given what varies and stays as it stands, if something was cut out of
    what it runs."""
    for stmt in ir.statements(function.body):
        parts = [part for expr in ir.expressions(stmt) for part in ir.walk(expr)]
        if not any(isinstance(part, ir.Call | ir.Opaque) for part in parts):
            continue
        if ir.reads(stmt).isdisjoint(varied) or not set(active).isdisjoint(ir.binds(stmt)):
            continue
        refusal = cuts.behind(_called(parts))
        if refusal is not None:
            raise refusal


def _called(parts: list[ir.Expr]) -> Iterator[str]:
    """The names of the functions that an expression may call."""
    for part in parts:
        match part:
            case ir.Ref(text, obj) if is_python_function(obj):
                yield text.rpartition(".")[2]
                yield obj.__name__
            case ir.Attribute(name=name):
                yield name
