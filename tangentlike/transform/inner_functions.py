"""Local functions that a derivative still mentions: printed beside it, or as the lambda they are.

A local function is a stand-in for its code (`frontend.lifting`). Where derivatives pass through a
call of it, there is a pair or a tangent function. Elsewhere the program calls the function itself:

before::                                        after::
    while np.abs(residual(x, c=c)) > 1e-9:          def residual(x, *, c):
                                                        return x * x - c
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .. import ir
from ..frontend.lifting import Lifted, lifted_of
from .function_values import is_partial
from .operators import is_inner


def with_inner_functions(
    function: ir.Function, primal_of: Callable[[Any, str], ir.Ref]
) -> ir.Function:
    """A function that mentions no stand-ins; `primal_of` gives a function of the module for one."""
    if not any(map(_mentions, ir.statements(function.body))):
        return function

    def expr(e: ir.Expr) -> ir.Expr:
        code = _lambda(e)
        if code is not None:
            return code
        if isinstance(e, ir.Ref) and is_inner(e):
            return primal_of(e.obj, e.text)
        return ir.rebuild(e, expr)

    def block(b: ir.Block) -> ir.Block:
        return tuple(ir.map_statement(s, expr=expr, block=block) for s in b)

    return dataclasses.replace(function, body=block(function.body))


def _mentions(stmt: ir.Stmt) -> bool:
    return any(
        isinstance(part, ir.Ref) and is_inner(part)
        for expr in ir.expressions(stmt)
        for part in ir.walk(expr)
    )


def _lambda(expr: ir.Expr) -> ir.Expr | None:
    """The user's lambda, where a function value is one and captures nothing but values."""
    ref: Any = expr.args[0] if is_partial(expr) else expr  # type: ignore[union-attr]
    lifted: Lifted | None = lifted_of(ref.obj) if isinstance(ref, ir.Ref) else None
    if lifted is None or lifted.code is None or lifted.defaults:
        return None
    given = dict(expr.kwargs) if isinstance(expr, ir.Call) else {}
    code = lifted.code
    if set(code.names) - given.keys() or any(is_partial(e) for e in given.values()):
        return None
    values = tuple(given[name] for name in code.names)
    return ir.Opaque(code.text, code.names, values, code.refs, code.at)
