"""Attributes that numbers and arrays lack: what asks for them raises, as in the program itself.

before::                                 after::
    try:                                     try:
        y.name = "angle"                         absent_attribute(y, "name")
    except AttributeError:                   except AttributeError:
        pass                                     pass
    try:                                     try:
        z = y.fillna(0.0)                        z = absent_attribute(y, "fillna")
    except AttributeError:                   except AttributeError:
        z = np.nan_to_num(y)                     z = np.nan_to_num(y)

The text checks that it is a number or an array of NumPy's that is asked: entries of an array of
objects are refused there. Where no exception is caught, such attributes are refused at once.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import ir
from ...rules.ruled import ForeignBook
from ...runtime import absent_attribute
from ..context import Context

_ABSENT = ir.Ref(absent_attribute.__name__, absent_attribute)
_CLASSES = (np.ndarray, np.generic, np.float64, int, float, complex)


def absent_attributes(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """The function in which such attributes are asked for, and nothing is done with them."""
    builder = context.callees.builder
    if builder is None or not builder.tries or isinstance(builder.book.book, ForeignBook):
        return function

    def absent(base: ir.Expr, name: str) -> ir.Call | None:
        kind = context.kind_of(base)
        if kind.form not in ("number", "array", "value") or kind.cls is not None:
            return None
        if name in context.looked_up or any(hasattr(cls, name) for cls in _CLASSES):
            return None
        return ir.Call(_ABSENT, (base, ir.Const(name)), at=getattr(base, "at", None))

    def asked(stmt: ir.Stmt) -> ir.Stmt | None:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var() as base, name))):
                call = absent(base, name)
                return None if call is None else dataclasses.replace(stmt, value=call)
            case (
                ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var() as base, name)))
                | ir.Store(target=ir.Attribute(ir.Var() as base, name))
                | ir.Update(target=ir.Attribute(ir.Var() as base, name))
            ):
                call = absent(base, name)
                return None if call is None else ir.Do(call, stmt.origin)
        return None

    return ir.with_body(function, ir.rewrite(function.body, asked))
