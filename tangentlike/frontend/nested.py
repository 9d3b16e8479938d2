"""Two statements that exist only between reading and lowering.

The targets pass removes `Assignment`, the jumps pass `Continue`; nothing after the frontend
ever sees them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Union

from .. import ir
from ..ir import Attribute, Expr, Index, Origin, Var

Place = Union[Var, Index, Attribute, "tuple[Place, ...]"]


@dataclass(frozen=True)
class Assignment:
    """`first = second = ... = value` with any targets: names, items, attributes, tuples."""

    targets: tuple[Place, ...]
    value: Expr
    origin: Origin = field(compare=False, repr=False)


@dataclass(frozen=True)
class Continue:
    """Goes on with the next iteration of the innermost loop."""

    origin: Origin = field(compare=False, repr=False)


Stmt = ir.Stmt | Assignment | Continue


def in_blocks(stmt: Any, fn: Callable[[ir.Block], ir.Block]) -> Any:
    """The statement with `fn` applied to the blocks nested in it."""
    match stmt:
        case ir.If():
            return dataclasses.replace(stmt, body=fn(stmt.body), orelse=fn(stmt.orelse))
        case ir.For() | ir.While():
            return dataclasses.replace(stmt, body=fn(stmt.body))
    return stmt
