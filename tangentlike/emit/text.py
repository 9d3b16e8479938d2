"""Any piece of a program as Python text, for people, doctests and tests."""

from __future__ import annotations

from typing import Any, get_args

from .. import ir
from . import layout, to_gast
from .printer import Printer

_STATEMENTS = get_args(ir.Stmt)


def show(thing: Any) -> str:
    """The Python text of a module, a function, a block, a statement or an expression.

    Without imports and without comments.

    >>> import operator
    >>> x = ir.Var("x")
    >>> show(ir.Call(ir.Ref("+", operator.add), (x, ir.Const(1.0))))
    'x + 1.0'
    """
    printer = Printer()
    if isinstance(thing, ir.Module):
        return "\n\n\n".join(show(fn) for fn in thing.functions)
    if isinstance(thing, ir.Function):
        lines = layout.function_lines(thing, to_gast.function(thing), printer, comments=False)
    elif isinstance(thing, tuple):
        nodes = to_gast.block(thing, empty=True)
        lines = layout.block_lines(thing, nodes, printer)
    elif isinstance(thing, _STATEMENTS):
        return show((thing,))
    else:
        return printer.text(to_gast.expression(thing))
    return "\n".join(line.text for line in lines)
