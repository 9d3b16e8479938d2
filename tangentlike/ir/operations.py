"""The operators and built-in functions that passes write, and look for."""

from __future__ import annotations

import operator

from .nodes import Ref

ADD = Ref("+", operator.add)
SUB = Ref("-", operator.sub)
MUL = Ref("*", operator.mul)
DIV = Ref("/", operator.truediv)
POW = Ref("**", operator.pow)
MATMUL = Ref("@", operator.matmul)
NEG = Ref("-", operator.neg)
NOT = Ref("not", operator.not_)
IADD = Ref("+=", operator.iadd)
ISUB = Ref("-=", operator.isub)
IN = Ref("in", operator.contains)
IS = Ref("is", operator.is_)
IS_NOT = Ref("is not", operator.is_not)
EQUAL = Ref("==", operator.eq)
LESS = Ref("<", operator.lt)
GREATER = Ref(">", operator.gt)
AT_LEAST = Ref(">=", operator.ge)

BOOL = Ref("bool", bool)
DICT = Ref("dict", dict)
HASATTR = Ref("hasattr", hasattr)
LEN = Ref("len", len)
LIST = Ref("list", list)
RANGE = Ref("range", range)
REVERSED = Ref("reversed", reversed)
SLICE = Ref("slice", slice)
TUPLE = Ref("tuple", tuple)
TYPE = Ref("type", type)
ZIP = Ref("zip", zip)
