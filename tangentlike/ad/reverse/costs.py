"""What the reverse sweep may as well compute again, or read again, as save."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.memory import surely_basic
from ...analysis.recompute import Costs as Predicates
from ...analysis.structure import Structure
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


# --------------------------------------------------------------------------------------------------
# Values of which the sweep reads the shape alone: another value that has it may be there anyway.
#
#     t = 0.5 * v[1:]                       v_bar[1:] += 0.5 * unbroadcast(y_bar, v[1:])
#     y = t + w
#
# The shape of `t` is that of `v[1:]`, whatever that is: `t` need not be saved.

_LINEAR = frozenset((operator.add, operator.sub, operator.neg))
_SCALING = _LINEAR | {operator.mul, operator.truediv}


def shaped_alike(facts: Structure, context: Context) -> dict[str, str]:
    """Names that only sums read, and for each the one operand of its own that is no number."""
    found: dict[str, str] = {}
    for name in facts.definitions:
        other = _operand(name, facts, context)
        if other is not None and all(map(_is_sum, facts.used_by.get(name, ()))):
            further = found.get(other)
            found[name] = further if further and _lasts(further, name, facts) else other
    return found


def _operand(name: str, facts: Structure, context: Context) -> str | None:
    """`v` of `t = 0.5 * v`, where `v` still is what it was wherever `t` is read."""
    stmt = facts.single(name)
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=())) if obj in _SCALING:
            kinds = {arg: context.kind_of(arg) for arg in args}
        case _:
            return None
    arrays = [arg for arg, kind in kinds.items() if kind.form != "number"]
    wide = arrays or [arg for arg in args if kinds[arg].dtype == context.kinds[name].dtype]
    other = wide[0] if wide else None
    if len(arrays) > 1 or not isinstance(other, ir.Var):
        return None
    kind = kinds[other]
    same_class = context.real or (kind.dtype != "?" and kind.dtype == context.kinds[name].dtype)
    if kind.form not in ("number", "array", "value") or not same_class:
        return None
    return other.name if _lasts(other.name, name, facts) else None


def _lasts(other: str, name: str, facts: Structure) -> bool:
    """Whether a name keeps its value from where another is bound to where that is read last."""
    stmt = facts.definitions[name][0]
    end = facts.end_of_use(name, stmt)
    local = facts.is_local(name, facts.block_of(stmt))
    return local and not facts.rebound_between(other, stmt, end)


def _is_sum(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj))):
            return obj in _LINEAR
    return False
