"""Arrays whose adjoints are found by their memory: which they are, and what must hold for it.

Where a statement bound such an array, the reverse sweep asks whether it made a new one, whose
adjoint goes on to its operands, or a view, whose adjoint is in that of its base already.
"""

from __future__ import annotations

from collections.abc import Collection

from .. import ir, runtime
from ..errors import SharingError, UnsupportedError
from .aliases import Aliases, is_sure_view
from .memory import OVERLAPPING, Sources
from .operations import rule_object


def entangled_names(
    function: ir.Function,
    aliases: Aliases,
    active: Collection[str],
    severed: Collection[str],
    sources: Sources,
) -> frozenset[str]:
    """The entangled arrays that may carry derivatives; refuses where one is bound in a way that
    is not followed."""
    classes = {aliases.class_of(name) for name in aliases.entangled & set(active)}
    names = frozenset(n for n in aliases.entangled if aliases.class_of(n) in classes)
    for stmt in ir.statements(function.body):
        bound = names & set(ir.binds(stmt))
        if (bound and not _is_followed(stmt, sources)) or bound & set(severed):
            (name, *_) = sorted(bound)
            raise SharingError(
                f"`{name}` is bound here, and may share memory with an array written in place",
                stmt.origin.place,
                f"Give the array a name of its own by a plain assignment, or a copy: `{name} = "
                f"{name}.copy()`.",
                (name,),
            )
    return names


def refuse_twice(function: ir.Function) -> None:
    """Refuse the reverse sweep of what finds adjoints by their memory."""
    for stmt in ir.statements(function.body):
        for part in (part for expr in ir.expressions(stmt) for part in ir.walk(expr)):
            if isinstance(part, ir.Ref) and part.obj is runtime.SharedAdjoints:
                raise UnsupportedError(
                    "a gradient that tracks shared memory at run time is not differentiated "
                    "in reverse mode",
                    stmt.origin.place,
                    "Use forward mode over it, as hvp does, or copy the arrays where they differ.",
                )


def _is_followed(stmt: ir.Stmt, sources: Sources) -> bool:
    match stmt:
        case ir.Update():
            return True  # (of an array: it stays the same one)
        case ir.Assign(value=ir.Call() as call) if rule_object(call, sources.kinds) in OVERLAPPING:
            return False
        case ir.Assign(target=str(name), value=value):
            return name not in ir.names_in(value) or is_sure_view(value, sources)
        case ir.Assign(target=target, value=ir.Call() as call):
            own = set(ir.target_names(target)) & ir.names_in(call)
            known = sources.effects(call) is not None
            return not own and known and not sources.repeats(call)
        case _:
            return False
