"""What exists only between reading and lowering.

The targets pass removes `Assignment`, the jumps pass `Continue`, flattening `Define` and `Walrus`;
nothing after the frontend ever sees them. A `Closure` or `Chain` that stays is opaque code like any
other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from .. import ir
from ..ir import Attribute, Call, Continue, Expr, Index, Opaque, Origin, Var

Place = Union[Var, Index, Attribute, "Star", "tuple[Place, ...]"]


@ir.quickened
@dataclass(frozen=True)
class Star:
    """`*rest` among the targets of an unpacking."""

    target: Place


@ir.quickened
@dataclass(frozen=True)
class Assignment:
    """`first = second = ... = value` with any targets: names, items, attributes, tuples."""

    targets: tuple[Place, ...]
    value: Expr
    origin: Origin = field(compare=False, repr=False)


@ir.quickened
@dataclass(frozen=True)
class Define:
    """`def` inside the function."""

    function: ir.Function
    origin: Origin = field(compare=False, repr=False)


@ir.quickened
@dataclass(frozen=True)
class Closure(Opaque):
    """An opaque lambda that knows its parts; their free names mean what `values` says."""

    params: tuple[ir.Param, ...] = field(default=(), compare=False, repr=False)
    body: Expr = field(default=ir.Const(None), compare=False, repr=False)


@ir.quickened
@dataclass(frozen=True)
class Refused(Opaque):
    """A part of an expression that is cut out (`frontend.cuts`)."""

    refusal: Any = field(default=None, compare=False, repr=False)


@ir.quickened
@dataclass(frozen=True)
class Walrus(Opaque):
    """`(target := value)`: opaque code whose first name is the one that it binds."""

    inner: Expr = field(default=ir.Const(None), compare=False, repr=False)

    @property
    def target(self) -> str:
        """The name it binds, as it is written now."""
        name = self.values[0]
        assert isinstance(name, Var)
        return name.name

    @property
    def value(self) -> Expr:
        """What is bound."""
        return ir.substitute(self.inner, dict(zip(self.names, self.values, strict=True)))


@ir.quickened
@dataclass(frozen=True)
class Chain(Opaque):
    """`a < f(x) < b`: opaque code that knows its parts, whose free names mean what `values` says.
    An operand in the middle is evaluated once, those after it only if what is left of it holds."""

    operators: tuple[ir.Ref, ...] = field(default=(), compare=False, repr=False)
    inner: tuple[Expr, ...] = field(default=(), compare=False, repr=False)

    @property
    def operands(self) -> tuple[Expr, ...]:
        meaning = dict(zip(self.names, self.values, strict=True))
        return tuple(ir.substitute(part, meaning) for part in self.inner)

    def test(self, number: int, a: Expr, b: Expr) -> Expr:
        """The comparison of that number, of these operands."""
        operator = self.operators[number]
        if operator == ir.NOT:  # (`a not in b`)
            return Call(ir.NOT, (Call(ir.IN, (a, b), (), self.at),), (), self.at)
        return Call(operator, (a, b), (), self.at)


Stmt = ir.Stmt | Assignment | Continue | Define
