"""Two statements that exist only between reading and lowering.

The targets pass removes `Assignment`, the jumps pass `Continue`; nothing after the frontend
ever sees them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

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
