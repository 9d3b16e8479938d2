"""Any piece of a program as Python text, for people, doctests and tests."""

from __future__ import annotations

from typing import Any

from .. import ir
from . import to_gast
from .printer import Printer


def show(thing: ir.Module | ir.Function | ir.Block | ir.Stmt | ir.Expr) -> str:
    """The Python text of a module, a function, a block, a statement or an expression.

    Lines are as long as they are, and there are no comments and no imports.

    >>> import operator
    >>> x = ir.Var("x")
    >>> show(ir.Call(ir.Ref("+", operator.add), (x, ir.Const(1.0))))
    'x + 1.0'
    """
    printer = Printer()
    if isinstance(thing, ir.Module):
        return "\n\n\n".join(show(fn) for fn in thing.functions)
    if isinstance(thing, ir.Function):
        signature = ", ".join(printer.parameters(to_gast.parameters(thing.params)))
        body = to_gast.function(thing).body
        return f"def {thing.name}({signature}):\n" + _lines(printer, body, 1)
    if isinstance(thing, tuple):
        return _lines(printer, to_gast.block(thing, empty=True), 0)
    if isinstance(thing, ir.Stmt):
        return _lines(printer, to_gast.statement(thing), 0)
    return printer.text(to_gast.expression(thing))


def _lines(printer: Printer, body: list[Any], indentation: int) -> str:
    pad = "    " * indentation
    texts = []
    for node in body:
        text = printer.text(node, indentation)
        texts.append(text if text.startswith(pad) else pad + text)
    return "\n".join(texts)
