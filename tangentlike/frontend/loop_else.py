"""`else` of a loop: it runs unless the loop was left by `break`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .. import ir
from ..ir import Assign, Block, Call, Const, For, If, Var, While
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
    return any(True for _ in ir.breaks(block))


def _flagged(block: Block, flag: Var) -> Block:
    """The block with the flag set before each `break` of this very loop."""
    own = list(ir.breaks(block))

    def flagged(stmt: Any) -> list[Any] | None:
        if not any(stmt is leaving for leaving in own):
            return None
        return [Assign(flag.name, Const(True), stmt.origin), stmt]

    return ir.rewrite(block, flagged)
