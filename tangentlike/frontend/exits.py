"""Jumps out of the body of a `with` or `try`, made after it: the body is then left at its end."""

from __future__ import annotations

import functools
from typing import Any

from ..ir import Assign, Block, Break, Const, Continue, If, Return, Var
from ..ir.names import Names
from .jumps import Jumps, contains_jump, keep_and_set, replace_jumps

_FLAGS: dict[type[Any], str] = {Return: "returned", Break: "stopped", Continue: "skipped"}


def without_jumps(block: Block, names: Names) -> tuple[Block, Block, Block]:
    """(what stands before the body, the body without jumps, the jumps made after it).

    before::                     after::
        with manager:                with manager:
            y = f(x)                     y = f(x)
            return y * y                 result = y * y
                                     return result
    """
    jumps = Jumps(names)
    block = jumps.tails(jumps.without_loop_returns(block))
    kinds = [kind for kind in _FLAGS if contains_jump(block, kind)]
    if not kinds:
        return (), block, ()
    last = block[-1]
    result = names.fresh("result") if Return in kinds else ""
    if type(last) in _FLAGS and not contains_jump(block[:-1], *_FLAGS):
        if isinstance(last, Return):
            kept = Assign(result, last.value or Const(None), last.origin)
            return (), (*block[:-1], kept), (Return(Var(result), last.origin),)
        return (), block[:-1], (last,)
    before: list[Any] = []
    after: list[Any] = []
    for kind in kinds:
        flag = names.fresh(_FLAGS[kind])
        origin = last.origin
        before.append(Assign(flag, Const(False), origin))
        jump: Any = Return(Var(result), origin) if kind is Return else kind(origin)
        after.append(If(Var(flag), (jump,), (), origin))
        block = replace_jumps(block, kind, functools.partial(keep_and_set, result, flag))
    return tuple(before), block, tuple(after)
