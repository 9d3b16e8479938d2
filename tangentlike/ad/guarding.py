"""Products that stay finite, and silent, outside of a mask.

The adjoint (or tangent) that comes in is zero outside of the mask by construction. What it is
multiplied by or divided by need not be finite there, so that is replaced first: factors by 0,
divisors and bases by 1. Nothing is computed that has to be thrown away::

    x_bar = y_bar / x              x_bar = y_bar / np.where(selected, x, 1.0)
    b_bar = y_bar * a              b_bar = y_bar * np.where(selected, a, 0.0)
"""

from __future__ import annotations

import dataclasses
import operator

from .. import ir
from .context import MUL, Context

DIV = ir.Ref("/", operator.truediv)
POW = ir.Ref("**", operator.pow)
NEG = ir.Ref("-", operator.neg)
ZERO, ONE = ir.Const(0.0), ir.Const(1.0)
_SUMS = (operator.add, operator.sub)


def guarded(
    value: ir.Expr, moving: str, mask: ir.Expr, context: Context, held: bool = False
) -> ir.Expr:
    """`value`, linear in the variable `moving`, with everything else kept finite outside `mask`;
    zero there if `held`, whatever comes in: divisors are then infinite."""
    return _Guard(moving, mask, context, context.numpy("inf") if held else ONE).linear(value)


class _Guard:
    def __init__(self, moving: str, mask: ir.Expr, context: Context, divisor: ir.Expr) -> None:
        self.moving = moving
        self.mask = mask
        self.context = context
        self.outside = divisor

    def linear(self, expr: ir.Expr) -> ir.Expr:
        """An expression that is zero where `moving` is."""
        match expr:
            case ir.Var(name) if name == self.moving:
                return expr
            case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
                return ir.Call(NEG, (self.linear(inner),))
            case ir.Call(fn=ir.Ref(obj=obj) as fn, args=(left, right)) if obj in _SUMS:
                return ir.Call(fn, (self.linear(left), self.linear(right)))
            case ir.Call(fn=ir.Ref(obj=operator.mul), args=(left, right)):
                if self._moves(left):
                    return self._times(self.linear(left), right)
                return ir.Call(MUL, (self.factor(left), self.linear(right)))
            case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(left, right)):
                return ir.Call(DIV, (self.linear(left), self.divisor(right)))
            case ir.Call(fn=fn, args=(first, *rest)) if self._is_sum_of_broadcast(fn):
                return dataclasses.replace(expr, args=(self.linear(first), *rest))
        return self._where(expr, ZERO)

    def _times(self, linear: ir.Expr, factor: ir.Expr) -> ir.Expr:
        match factor:
            case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(over, under)):
                return self._times(ir.Call(DIV, (linear, self.divisor(under))), over)
            case ir.Const(value=1.0):
                return linear
        return ir.Call(MUL, (linear, self.factor(factor)))

    def factor(self, expr: ir.Expr) -> ir.Expr:
        """What `moving` is multiplied by."""
        if isinstance(expr, ir.Const) or self.context.kind_of(expr).discrete:
            return expr
        match expr:
            case ir.Call(fn=ir.Ref(obj=operator.neg), args=(inner,)):
                return ir.Call(NEG, (self.factor(inner),))
            case ir.Call(fn=ir.Ref(obj=operator.truediv), args=(left, right)):
                return ir.Call(DIV, (self.factor(left), self.divisor(right)))
            case ir.Call(fn=ir.Ref(obj=operator.mul), args=(ir.Const() as number, rest)):
                return ir.Call(MUL, (number, self.factor(rest)))
            case ir.Call(fn=ir.Ref(obj=operator.pow), args=(base, exponent)):
                return ir.Call(POW, (self._where(base, self.outside), exponent))
        return self._where(expr, ZERO)

    def divisor(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Const():
                return expr
            case ir.Call(fn=ir.Ref(obj=operator.mul), args=(ir.Const() as number, rest)):
                return ir.Call(MUL, (number, self.divisor(rest)))
        return self._where(expr, self.outside)

    def _moves(self, expr: ir.Expr) -> bool:
        return self.moving in ir.names_in(expr)

    def _is_sum_of_broadcast(self, fn: ir.Expr) -> bool:
        return fn == self.context.helper("unbroadcast")

    def _where(self, expr: ir.Expr, otherwise: ir.Expr) -> ir.Expr:
        return ir.Call(self.context.numpy("where"), (self.mask, expr, otherwise))
