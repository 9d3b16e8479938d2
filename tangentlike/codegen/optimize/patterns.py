"""What a pass looks for: a pass of whose pattern no statement is costs nothing.

Each form of statement that some pass begins at has a bit. The bits of a statement are worked out
once, those of a program by one `or` for each statement.
"""

from __future__ import annotations

import operator

from ... import ir
from .facts import numpy_name, runtime_name

_DERIVED = ("adjoint", "tangent")
_IN_PLACE = ("+", "-", "*", "/", "//", "%", "**", "@")
_COUNTING = ("+", "-", "*", "//", "%", "len")


COPY = 1  # `x = y`, `x = 1.0`
BRANCH = 2
ZERO = 4  # `x_bar = 0.0`, `x_bar = zeros_like(x)`
ADDITION = 8  # `x_bar += e`
TAKEN = 16  # `A_bar[k] = 0.0`
REDUCTION = 32  # `t_bar = unbroadcast(g, t)`
COPIED = 64  # `A_bar[k].copy()` somewhere in it
QUOTIENT = 128  # `a_bar = y_bar / b`
READ = 256  # `t = x[i]`, `t = a.T`, `n = m - 1`
OWN = 512  # `x = x + e`, `A[k] = A[k] * e`
NEW_LIST = 1024  # `saved = []`


@ir.of_node
def patterns_of(stmt: ir.Stmt) -> int:
    """The forms that a statement, or one in it, has."""
    found = 0
    for block in ir.blocks(stmt):
        for inner in block:
            found |= patterns_of(inner)
    match stmt:
        case ir.Assign():
            found |= _of_assignment(stmt)
        case ir.Update(op=op):
            if op.obj in (operator.iadd, operator.isub):
                found |= ADDITION
        case ir.Store(target=ir.Index(), value=value):
            found |= TAKEN if value == ir.Const(0.0) else 0
            found |= OWN if _is_arithmetic(value) else 0
        case ir.If():
            found |= BRANCH
    if stmt.origin.role in _DERIVED and any(map(_copies, ir.expressions(stmt))):
        found |= COPIED
    return found


def _of_assignment(stmt: ir.Assign) -> int:
    found = 0
    match stmt.value:
        case ir.Var() | ir.Const():
            found |= COPY
        case ir.Display(form="list", items=()):
            found |= NEW_LIST
        case ir.Index() | ir.Attribute(name="T"):
            found |= READ
        case ir.Call(fn=ir.Ref(text=text, obj=obj)):
            found |= READ if text in _COUNTING else 0
            found |= OWN if text in _IN_PLACE else 0
            if stmt.origin.role in _DERIVED:
                found |= QUOTIENT if text == "/" else 0
                found |= _OF_HELPERS.get(runtime_name(obj) or numpy_name(obj), 0)
    if isinstance(stmt.value, ir.Const) and stmt.value == ir.Const(0.0):
        found |= ZERO
    return found


_OF_HELPERS = {"unbroadcast": REDUCTION, "zeros_like": ZERO}


def _is_arithmetic(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref) and expr.fn.text in _IN_PLACE


@ir.of_node
def _copies(expr: ir.Expr) -> bool:
    """Whether a copy is made in an expression."""
    for part in ir.parts_of(expr):
        if type(part) is ir.Attribute and part.name == "copy":
            return True
        if type(part) is ir.Ref and runtime_name(part.obj) == "copy":
            return True
    return False
