"""Python's operators as the operations they are: one table from syntax to `Ref`.

`a * b` is `Call(Ref("*", operator.mul), (a, b))`; a rule for `operator.mul` needs to know nothing
of syntax trees.
"""

from __future__ import annotations

import operator
from typing import Any

import gast

from ..ir import Ref

BINARY: dict[type[Any], Ref] = {
    gast.Add: Ref("+", operator.add),
    gast.Sub: Ref("-", operator.sub),
    gast.Mult: Ref("*", operator.mul),
    gast.Div: Ref("/", operator.truediv),
    gast.FloorDiv: Ref("//", operator.floordiv),
    gast.Mod: Ref("%", operator.mod),
    gast.Pow: Ref("**", operator.pow),
    gast.MatMult: Ref("@", operator.matmul),
    gast.LShift: Ref("<<", operator.lshift),
    gast.RShift: Ref(">>", operator.rshift),
    gast.BitAnd: Ref("&", operator.and_),
    gast.BitOr: Ref("|", operator.or_),
    gast.BitXor: Ref("^", operator.xor),
}

UPDATE: dict[type[Any], Ref] = {
    gast.Add: Ref("+=", operator.iadd),
    gast.Sub: Ref("-=", operator.isub),
    gast.Mult: Ref("*=", operator.imul),
    gast.Div: Ref("/=", operator.itruediv),
    gast.FloorDiv: Ref("//=", operator.ifloordiv),
    gast.Mod: Ref("%=", operator.imod),
    gast.Pow: Ref("**=", operator.ipow),
    gast.MatMult: Ref("@=", operator.imatmul),
    gast.LShift: Ref("<<=", operator.ilshift),
    gast.RShift: Ref(">>=", operator.irshift),
    gast.BitAnd: Ref("&=", operator.iand),
    gast.BitOr: Ref("|=", operator.ior),
    gast.BitXor: Ref("^=", operator.ixor),
}

NOT = Ref("not", operator.not_)
NEGATIVE = Ref("-", operator.neg)

UNARY: dict[type[Any], Ref] = {
    gast.USub: NEGATIVE,
    gast.UAdd: Ref("+", operator.pos),
    gast.Invert: Ref("~", operator.invert),
    gast.Not: NOT,
}

IN = Ref("in", operator.contains)

COMPARE: dict[type[Any], Ref] = {
    gast.Eq: Ref("==", operator.eq),
    gast.NotEq: Ref("!=", operator.ne),
    gast.Lt: Ref("<", operator.lt),
    gast.LtE: Ref("<=", operator.le),
    gast.Gt: Ref(">", operator.gt),
    gast.GtE: Ref(">=", operator.ge),
    gast.Is: Ref("is", operator.is_),
    gast.IsNot: Ref("is not", operator.is_not),
    gast.In: IN,
    # gast.NotIn has no function of its own: it is read as `not (a in b)`.
}

_ARITHMETIC = frozenset(ref.key for ref in (*BINARY.values(), *UNARY.values())) - {NOT.key}
_TRUTH = frozenset(ref.key for ref in COMPARE.values()) | {NOT.key}


def is_arithmetic(fn: object) -> bool:
    """Whether this callee is an arithmetic or bit operator (not a comparison, not `not`)."""
    return isinstance(fn, Ref) and fn.key in _ARITHMETIC


def is_truth(fn: object) -> bool:
    """Whether this callee is a comparison, a membership test or `not`."""
    return isinstance(fn, Ref) and fn.key in _TRUTH
