"""Values of which the sweep reads the shape alone: another value that has it may be there anyway.

    t = 0.5 * v[1:]                       v_bar[1:] += 0.5 * unbroadcast(y_bar, v[1:])
    y = t + w

The shape of `t` is that of `v[1:]`, whatever that is: `t` need not be saved.
"""

from __future__ import annotations

import operator

from ... import ir
from ...analysis.structure import Structure
from ..context import Context

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
