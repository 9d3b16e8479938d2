"""Operands of a ufunc told `where=`, such that nothing happens in the entries that it leaves out.

    np.divide(a, b, out=z, where=m)        b_there = np.where(m, b, 1)
                                           divide = np.divide(a, b_there)
                                           z[...] = np.where(m, divide, z)

NumPy computes the chosen entries only: no division by zero, no warning. Spelled as a selection
all entries are computed, so that the others get operands that any operation can take, and their
derivatives are finite there as well, to any order.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import ir
from ..context import Context

# What takes every number, and gives no infinity.
_EASY = (np.add, np.subtract, np.multiply, np.negative, np.maximum, np.minimum, np.fmax, np.fmin)
_EASY_TOO = (np.absolute, np.sign, np.sin, np.cos, np.tanh, np.arctan, np.square, np.clip)
# Operands, by position, that decide alone.
_DECIDING: dict[object, int] = {np.divide: 1, np.floor_divide: 1, np.remainder: 1, np.fmod: 1}
_DECIDING |= {np.power: 0, np.float_power: 0}
# An operand at which an operation is smooth, where 1 is not.
_INSIDE: dict[object, int] = {np.arcsin: 0, np.arccos: 0, np.arctanh: 0, np.arccosh: 2}


def calm_elsewhere(
    call: ir.Call, mask: ir.Expr, origin: ir.Origin, context: Context
) -> tuple[list[ir.Stmt], ir.Call]:
    """The statements that make such operands, and the call with them."""
    ufunc = call.fn.obj if isinstance(call.fn, ir.Ref) else None
    if not isinstance(ufunc, np.ufunc) or ufunc in (*_EASY, *_EASY_TOO):
        return [], call
    made: list[ir.Stmt] = []

    def there(position: int, arg: ir.Expr) -> ir.Expr:
        if isinstance(arg, ir.Const) or _DECIDING.get(ufunc, position) != position:
            return arg
        value = ir.Call(context.numpy("where"), (mask, arg, ir.Const(_INSIDE.get(ufunc, 1))))
        word = f"{arg.name}_there" if isinstance(arg, ir.Var) else "there"
        name = context.fresh(word, context.kind_of(value))
        made.append(ir.Assign(name, value, origin))
        return ir.Var(name)

    args = tuple(there(position, arg) for position, arg in enumerate(call.args))
    return made, dataclasses.replace(call, args=args)
