"""How an operation, and what it is made of, behaves where it is not wanted.

Asked only of what a mask selects from: whether the adjoint that comes to it as zero may meet
a factor that is infinite there, and whether the primal would have said so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from ... import ir
from ...analysis.memory import surely_basic
from ...errors import UnsupportedError
from ...kind import Kind
from ..contributions import Contribution
from .presence import Presence

LINEAR, PRODUCT, SINGULAR, SILENT = range(4)

# The derivative is infinite where the function itself is finite and says nothing.
_SILENT_AT = (np.sqrt, np.cbrt, np.arcsin, np.arccos, np.arccosh)
_POWERS = (operator.pow, np.power, np.float_power)


class Fragility:
    """The strongest class of operation that leads, entry for entry, to a name's value.

    LINEAR: sums and multiples. PRODUCT: products, of finite values by themselves. SINGULAR: with
    an infinite derivative somewhere (`a / b`, `np.log(x)`). SILENT: such a one of which the value
    is finite there (`np.sqrt(x)`).
    """

    def __init__(self, presence: Presence) -> None:
        self.presence = presence

    def of(self, name: str) -> int:
        """The class of a name."""
        return self._classes.get(name, LINEAR)

    @cached_property
    def _classes(self) -> dict[str, int]:
        """The classes of all names above LINEAR: what a loop carries needs several rounds."""
        found: dict[str, int] = {}
        changed = True
        while changed:
            changed = False
            for name, stmts in self._sources.items():
                strongest = max(self._of_source(stmt, found) for stmt in stmts)
                if strongest > found.get(name, LINEAR):
                    found[name] = strongest
                    changed = True
        return found

    @cached_property
    def _sources(self) -> dict[str, list[ir.Stmt]]:
        """The statements that give a name its value, or entries of it."""
        found: dict[str, list[ir.Stmt]] = {}
        for stmt in ir.statements(self.presence.facts.function.body):
            match stmt:
                case ir.Assign(target=str(name)):
                    found.setdefault(name, []).append(stmt)
                case ir.Store(target=ir.Index(ir.Var(name), _), value=ir.Var()):
                    found.setdefault(name, []).append(stmt)
        return found

    def _of_source(self, stmt: ir.Stmt, known: Mapping[str, int]) -> int:
        match stmt:
            case ir.Store(value=ir.Var(name)):
                return known.get(name, LINEAR)
            case ir.Assign(value=ir.Display(items=items)):
                return max((known.get(n, LINEAR) for e in items for n in ir.names_in(e)), default=0)
            case ir.Assign(value=ir.Call() | ir.Var() as value):
                parts = self._elementwise(stmt)
                own = max((operation_class(value, c.value) for c in parts), default=LINEAR)
                return max((own, *(known.get(c.name, LINEAR) for c in parts)))
        return LINEAR

    def _elementwise(self, stmt: ir.Assign) -> list[Contribution]:
        if id(stmt) in self.presence.calls or stmt.target not in self.presence.active:
            return []
        try:
            return [c for c in self.presence.chain(stmt).contributions if c.elementwise]
        except UnsupportedError:  # (refused where the sweep comes to it, if it does)
            return []


def operation_class(call: ir.Expr, contribution: ir.Expr) -> int:
    """The class of one operation, by what it adds to an operand's adjoint."""
    match call:
        case ir.Call(fn=ir.Ref(obj=obj)) if any(obj is known for known in _SILENT_AT):
            return SILENT
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, ir.Const(p))) if obj in _POWERS:
            if isinstance(p, int | float):
                return PRODUCT if p >= 1 else SILENT if p > 0 else SINGULAR
    return max(map(_part_class, ir.walk(contribution)), default=LINEAR)


def _part_class(part: ir.Expr) -> int:
    match part:
        case ir.Call(fn=ir.Ref(obj=obj), args=(left, right)):
            if obj is operator.truediv and not isinstance(right, ir.Const):
                return SINGULAR
            if obj is operator.mul and not isinstance(left, ir.Const):
                return PRODUCT
        case ir.Call(fn=ir.Ref(text="power_slope" | "log_or_zero")):
            return SINGULAR
    return LINEAR


def worth_masking(key: ir.Expr, fragility: int, kind_of: Callable[[ir.Expr], Kind]) -> bool:
    """Whether entries of such a value left out by a key are kept from dividing by zero.

    Selections by conditions always are: that is what they are for. Slices, places and index arrays
    are used for other reasons, and only where nothing else would have told is more said.
    """
    if key == ir.Const(Ellipsis):
        return fragility > LINEAR
    parts = key.items if isinstance(key, ir.Display) else (key,)
    if any(kind_of(part).dtype == "bool" for part in parts):
        return fragility >= PRODUCT
    if not surely_basic(key, kind_of) and any(kind_of(part).dtype == "?" for part in parts):
        return fragility >= SINGULAR
    return fragility >= SILENT
