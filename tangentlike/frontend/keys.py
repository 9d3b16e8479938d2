"""Keys of items: they stay whole, but for what must be evaluated exactly once, or earlier."""

from __future__ import annotations

import builtins
from collections.abc import Callable

from .. import ir
from ..ir import Call, Display, Expr, Lazy, Opaque, Ref, Slice
from .nested import Walrus
from .operands import is_atom, keeps_whole
from .operators import is_arithmetic, is_truth

# Built-ins that give integers from integers, so that they may stay inside a key.
_KEY_FUNCTIONS = frozenset(
    map(id, (builtins.int, builtins.len, builtins.abs, builtins.min, builtins.max, slice, round))
)


def flat_key(expr: Expr, operand: Callable[[Expr], Expr], within: Callable[[Expr], bool]) -> Expr:
    """A key with the calls in it named by `operand`; `within` says what needs statements.

    before::                         after::
        x[np.argmax(y) + 1, :n]          argmax_y = np.argmax(y)
                                         x[argmax_y + 1, :n]
    """

    def key(expr: Expr) -> Expr:
        match expr:
            case Call(fn=fn, kwargs=()) if is_arithmetic(fn) or is_truth(fn):
                return ir.rebuild(expr, key)
            case Call(fn=Ref(obj=obj), kwargs=()) if id(obj) in _KEY_FUNCTIONS:
                return ir.rebuild(expr, key)
            case Call() | Walrus():
                return operand(expr)
            case Lazy() if not keeps_whole(expr) or within(expr):
                return operand(expr)
            case Opaque() | Lazy():
                return expr
        return ir.rebuild(expr, key)

    return key(expr)


def fixed_key(key: Expr, named: Callable[[Expr], Expr]) -> Expr:
    """A key evaluated now: every part of it that is no atom gets a name."""
    if is_atom(key):
        return key
    if isinstance(key, Slice) or (isinstance(key, Display) and key.form == "tuple"):
        return ir.rebuild(key, lambda part: fixed_key(part, named))
    return named(key)
