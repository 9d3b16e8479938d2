"""What the reverse sweep may as well compute again, or read again, as save."""

from __future__ import annotations

from dataclasses import dataclass

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.memory import surely_basic
from ...analysis.recompute import Costs as Predicates
from ..context import Context

_CHEAP_CALLS = ("len", "int", "range", "min", "max")


@dataclass(frozen=True)
class Costs:
    """One function's definitions, as `analysis.recompute` asks about them."""

    aliases: Aliases
    context: Context

    def predicates(self) -> Predicates:
        return Predicates(self._free, self._light, self._is_reference, self._is_same)

    def _free(self, stmt: ir.Assign) -> bool:
        """Aliases, items, attributes, integers and tests: as good as a push."""
        match stmt.value:
            case ir.Var() | ir.Index() | ir.Attribute() | ir.Const():
                return True
        kind = self.context.kind_of(stmt.value)
        return self._is_arithmetic(stmt.value) and kind.form == "number" and kind.discrete

    def _light(self, stmt: ir.Assign) -> bool:
        """One arithmetic operation on Python or NumPy numbers."""
        number = self.context.kind_of(stmt.value).form == "number"
        return number and self._is_arithmetic(stmt.value)

    def _is_arithmetic(self, value: ir.Expr) -> bool:
        if not isinstance(value, ir.Call) or not isinstance(value.fn, ir.Ref):
            return False
        text = value.fn.text
        return not text.replace(".", "_").isidentifier() or text in _CHEAP_CALLS

    def _is_reference(self, stmt: ir.Assign) -> bool:
        """Whether a value is surely an alias or a view: what it refers to is restored in place."""
        if isinstance(stmt.value, ir.Var) or stmt.target in self.aliases.paths:
            return True
        if not isinstance(stmt.value, ir.Index):
            return False
        basic = surely_basic(stmt.value.key, self.context.kind_of)  # (else it may be a copy)
        return basic and self.context.kind_of(stmt.value).form == "array"

    def _is_same(self, stmt: ir.Assign, place: ir.Index) -> bool:
        """Whether a value that is stored to entries is neither broadcast nor cast to integers."""
        value, entries = self.context.kind_of(ir.Var(str(stmt.target))), self.context.kind_of(place)
        alike = value.form == entries.form and value.dtype == entries.dtype == "float"
        return alike and (value.form == "number" or value.same_shape(entries))


@dataclass(frozen=True)
class IdentityCosts(Costs):
    """Where adjoints are found by identity: what is computed again is the same memory, or an
    integer."""

    def _free(self, stmt: ir.Assign) -> bool:
        kind, value = self.context.kind_of(stmt.value), stmt.value
        if isinstance(value, ir.Index):
            of_array = self.context.kind_of(value.base).form == "array"
            return of_array and kind.form == "array" and self._is_reference(stmt)
        return self._is_arithmetic(value) and kind.form == "number" and kind.discrete

    def _light(self, stmt: ir.Assign) -> bool:
        return False

    def _is_same(self, stmt: ir.Assign, place: ir.Index) -> bool:
        return False
