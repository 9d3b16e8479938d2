"""`else` of a loop: it runs unless the loop was left by `break`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..ir import Assign, Block, Break, Call, Const, For, If, Var, While
from ..ir.names import Names
from .operators import NOT


def run_unless_broken(loop: For | While, orelse: Block, names: Names) -> Sequence[Any]:
    """The loop followed by its `else`, behind a flag if there is a `break`.

    before::
        for x in xs:              after::   stopped = False
            if x > 1:                       for x in xs:
                break                           if x > 1:
        else:                                       stopped = True
            y = 0                                   break
                                            if not stopped:
                                                y = 0
    """
    if not orelse:
        return [loop]
    if not _breaks(loop.body):
        return [loop, *orelse]
    flag = Var(names.fresh("stopped"))
    origin = loop.origin
    body = _flagged(loop.body, flag)
    return [
        Assign(flag.name, Const(False), origin),
        dataclasses.replace(loop, body=body),
        If(Call(NOT, (flag,)), orelse, (), origin),
    ]


def _breaks(block: Block) -> bool:
    """Whether a `break` of this very loop stands in the block."""
    for stmt in block:
        if isinstance(stmt, Break):
            return True
        if isinstance(stmt, If) and (_breaks(stmt.body) or _breaks(stmt.orelse)):
            return True
    return False


def _flagged(block: Block, flag: Var) -> Block:
    """The block with the flag set before each `break` of this very loop."""
    result: list[Any] = []
    for stmt in block:
        if isinstance(stmt, Break):
            result.append(Assign(flag.name, Const(True), stmt.origin))
        elif isinstance(stmt, If):
            body, orelse = _flagged(stmt.body, flag), _flagged(stmt.orelse, flag)
            stmt = dataclasses.replace(stmt, body=body, orelse=orelse)
        result.append(stmt)
    return tuple(result)
