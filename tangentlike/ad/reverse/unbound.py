"""Names that the sweep asks for their shape where the primal may not have bound them, and
attributes that may not be there yet.

`d_bar = np.zeros_like(d)` stands in front of a reversed branch that only some runs take, and `d`
is bound in that branch alone. In the other runs nobody reads these zeros: `d` begins as None.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import ir
from ...analysis.liveness import Assigned, entry_is_there
from ...analysis.looking import shape_only
from ...analysis.record_types import record_class, record_names, sets_when_made
from ...analysis.structure import Structure
from ..context import Context
from ..specialize.object_calls import checked_classes
from .sweep import ReversedBlock


def possibly_unbound(tree: ReversedBlock, assigned: Assigned) -> tuple[str, ...]:
    """The primal's names whose zeros are made where the names may be unbound, in order."""
    return tuple(dict.fromkeys(_unbound_in(tree, assigned)))


def _unbound_in(tree: ReversedBlock, assigned: Assigned) -> Iterator[str]:
    for step in tree.steps:
        for name in _shapes_asked(step.entry):
            if not assigned.is_bound_behind(step.stmt, name):
                yield name
        for name in _shapes_asked(step.exit):
            if not assigned.is_bound_before(step.stmt, name):
                yield name
        for block in step.blocks:
            yield from _unbound_in(block, assigned)


def _shapes_asked(stmts: list[ir.Stmt]) -> Iterator[str]:
    """The names after which zeros are shaped: `d` of `d_bar = np.zeros_like(d)`."""
    for stmt in stmts:
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name), *_))):
                if shape_only(obj) == 0:
                    yield name


def may_be_unset(stmt: ir.Stmt, entries: ir.Attribute, facts: Structure, context: Context) -> bool:
    """Whether an attribute that a statement assigns may not have been there: of an object that is
    made here, or that is given, of a class that does not set it when an object is made."""
    name = getattr(entries.base, "name", "")
    cls = context.kind_of(entries.base).cls
    if name in facts.function.param_names:
        checked = checked_classes(facts.function)
        cls = cls or checked.get(name)
        if cls is None and checked:
            # (A tangent or adjoint has the attributes that its object has, but no class.)
            return any(not sets_when_made(other, entries.name) for other in checked.values())
    for bound in facts.definitions.get(name, ()):
        made = bound.value if isinstance(bound, ir.Assign) else None
        if isinstance(made, ir.Call) and record_class(made) is not None:
            return entries.name not in record_names(made)
    if cls is not None and sets_when_made(cls, entries.name):
        return False
    return not entry_is_there(stmt, entries, facts, context.sources())
