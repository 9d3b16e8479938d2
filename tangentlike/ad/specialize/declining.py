"""Methods of operators that may decline: `return NotImplemented` where nothing else is tried.

before::                                     after::
    if not isinstance(other, Vec):               if not isinstance(other, Vec):
        result = NotImplemented                      raise TypeError("unsupported operand")
    else:                                        result = Vec(self.x - other.x)
        result = Vec(self.x - other.x)           return result
    return result
"""

from __future__ import annotations

import dataclasses
import operator
import types

from ... import ir
from ...frontend.lower import Lowered

_NOT = ir.Ref("not", operator.not_)


def may_decline(fn: types.FunctionType) -> bool:
    """Whether an operator's method may say that it is not defined, so that another is tried."""
    return "NotImplemented" in fn.__code__.co_names


def raising(lowered: Lowered, text: str) -> Lowered:
    """The method of the operator `text` with what Python raises where it declines."""
    message = f'raise TypeError("unsupported operand of {text}")'

    def parts(stmt: ir.Stmt) -> list[ir.Stmt] | None:
        match stmt:
            case ir.Assign(value=ir.Ref(obj=obj)) if obj is NotImplemented:
                error = (ir.Ref("TypeError", TypeError),)
                return [ir.OpaqueStmt(message, (), (), error, (), stmt.origin)]
            case ir.Return(value=ir.Ref(obj=obj)) if obj is NotImplemented:
                error = (ir.Ref("TypeError", TypeError),)
                ending = dataclasses.replace(stmt, value=ir.Const(None))
                return [ir.OpaqueStmt(message, (), (), error, (), stmt.origin), ending]
            case ir.If() if type(stmt) is ir.If:
                body, orelse = stmt.body, stmt.orelse
                if _raises(body, message):
                    return [dataclasses.replace(stmt, body=body, orelse=()), *orelse]
                if _raises(orelse, message):
                    test = ir.Call(_NOT, (stmt.test,))
                    return [dataclasses.replace(stmt, test=test, body=orelse, orelse=()), *body]
        return None

    function = ir.with_body(lowered.function, ir.rewrite(lowered.function.body, after=parts))
    return dataclasses.replace(lowered, function=function)


def _raises(block: ir.Block, message: str) -> bool:
    return bool(block) and isinstance(block[-1], ir.OpaqueStmt) and block[-1].text == message
