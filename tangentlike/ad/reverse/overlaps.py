"""Slices assigned to overlapping slices of the same array.

    a[::2] = v                    require_read_first(a, slice(None, None, 2), v)
                                  a[::2] = v

The adjoint takes it that the value is read before anything is written, and so it is for most:
NumPy copies the value, or writes in a suitable order. Where steps differ it does not, which is
checked when the program runs unless the text tells that the steps are equal.
"""

from __future__ import annotations

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.memory import key_parts
from ...analysis.structure import Structure
from ..context import Context
from .adjoints import as_value

_WHOLE = (ir.Slice(), ir.Const(Ellipsis))


def checked_overlap(
    stmt: ir.Store, facts: Structure, aliases: Aliases, context: Context
) -> list[ir.Stmt]:
    """A write of entries, after a check where its value may be other entries of the array."""
    target, value = stmt.target, stmt.value
    if not isinstance(target, ir.Index) or not isinstance(target.base, ir.Var):
        return [stmt]
    base = target.base
    if not isinstance(value, ir.Var) or aliases.class_of(value.name) != aliases.class_of(base.name):
        return [stmt]
    kinds = (context.kind_of(base), context.kind_of(target), context.kind_of(value))
    if any(kind.form not in ("array", "value", "unknown") for kind in kinds):
        return [stmt]  # (an item of a list, or a number)
    if any(kind.rank not in (None, 1) for kind in kinds[1:]) or _is_fancy(target.key, context):
        return [stmt]
    if _in_step(_origin(target, facts), _origin(value, facts)):
        return [stmt]
    if _is_only_stored(value.name, facts, context):
        return [stmt]
    operands = (base, as_value(target.key), value)
    check = ir.Call(context.helper("require_read_first"), operands)
    return [ir.Do(check, stmt.origin), stmt]


def _is_only_stored(name: str, facts: Structure, context: Context) -> bool:
    """Whether a name is of memory that was just made, in the block of its one use: that memory has
    no other name, and what the target already holds cannot be a part of it."""
    made, uses = facts.single(name), facts.used_by.get(name, [])
    if not isinstance(made, ir.Assign) or len(uses) != 1:
        return False
    if facts.block_of(made) != facts.block_of(uses[0]):
        return False
    sources = context.sources()
    return not (sources.nodes(made.value) | sources.elements(made.value))


def _is_fancy(key: ir.Expr, context: Context) -> bool:
    """Whether a key has index arrays or masks in it, for which NumPy copies what overlaps."""
    parts = (part for part in key_parts(key) if not isinstance(part, ir.Slice))
    return any(context.kind_of(part).form in ("array", "list") for part in parts)


def _origin(view: ir.Expr, facts: Structure) -> tuple[str, tuple[ir.Expr, ...]]:
    """The array that a view is of, as far as names bound once tell, and the keys on the way."""
    keys: tuple[ir.Expr, ...] = ()
    while True:
        match view:
            case ir.Index(base, key):
                keys = keys if key in _WHOLE else (key, *keys)
                view = base
            case ir.Var(name):
                made = facts.single(name)
                if not isinstance(made, ir.Assign) or not isinstance(made.target, str):
                    return name, keys
                if not isinstance(made.value, ir.Var | ir.Index):
                    return name, keys
                view = made.value
            case _:
                return "", keys


def _in_step(
    first: tuple[str, tuple[ir.Expr, ...]], second: tuple[str, tuple[ir.Expr, ...]]
) -> bool:
    """Whether two views of one array, if they are vectors, surely have equal strides or strides
    of opposite sign."""
    if first[0] != second[0] or not first[0]:
        return False
    if all(len(keys) <= 1 for _, keys in (first, second)):
        steps = [_step(keys[0]) if keys else 1 for _, keys in (first, second)]
        if None not in steps:
            return steps[0] == steps[1] or steps[0] * steps[1] < 0  # type: ignore[operator]
    if len(first[1]) != len(second[1]):
        return False
    pairs = zip(first[1], second[1], strict=True)
    return all(_shape_of(one) == _shape_of(other) for one, other in pairs)


def _step(key: ir.Expr) -> int | None:
    """The step of a slice of a vector, if it is written out."""
    if not isinstance(key, ir.Slice):
        return None
    if key.step is None:
        return 1
    value = key.step.value if isinstance(key.step, ir.Const) else None
    return value if type(value) is int else None


def _shape_of(key: ir.Expr) -> tuple[object, ...]:
    """What of a key decides the strides of the view: its slices, by their steps."""
    return tuple(
        (part.step or ir.Const(1),) if isinstance(part, ir.Slice) else part in _WHOLE
        for part in key_parts(key)
    )
