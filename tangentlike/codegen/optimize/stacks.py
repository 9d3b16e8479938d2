"""Saved values that nobody wants back: the stack goes, with its pushes and pops."""

from __future__ import annotations

from ... import ir
from ...analysis.liveness import Liveness
from .analyses import analyses
from .effects import effect_of, is_pure
from .facts import Facts


def remove_unread_stacks(function: ir.Function, facts: Facts) -> ir.Function:
    """Drop lists that are only pushed to and popped into names that nobody reads.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program("s = []; s.append(x); y = x * 2; x = s.pop(); return y")
    >>> print(show(remove_unread_stacks(f, Facts()).body))
    y = x * 2
    return y
    """
    return remove_stacks(function, frozenset(created_lists(function)), facts)


def remove_stacks(
    function: ir.Function, names: frozenset[str], facts: Facts, beside: ir.Block = ()
) -> ir.Function:
    """Drop those of the stacks that nobody reads; what binds them (`beside`) may stay."""
    stacks = set(names)
    if not stacks:
        return function
    live = analyses(function, facts).live
    for stmt in ir.statements(function.body):
        for name in sorted(stacks & ir.reads(stmt)):
            if not (_is_push(stmt, name, facts) or _is_dead_pop(stmt, name, live)):
                stacks.discard(name)
    if not stacks:
        return function

    def one(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        if not ir.is_compound(stmt) and stmt not in beside:
            effect = effect_of(stmt, facts)
            if stacks & (effect.reads | effect.binds):
                return ()
        return None

    return ir.with_body(function, ir.rewrite(function.body, one))


def created_lists(function: ir.Function) -> set[str]:
    """Names bound once, to a new empty list."""
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=target, value=ir.Display(form="list", items=())):
                found.update(ir.target_names(target))
    if not found:
        return found
    bound = ir.bindings(ir.statements(function.body), function.param_names)
    return {name for name in found if bound[name] == 1}


def is_push(stmt: ir.Stmt) -> bool:
    """Whether a statement of a transform saves a value on a stack."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "append"), args=(_,))):
            return stmt.origin.role == "save"
    return False


def _is_push(stmt: ir.Stmt, name: str, facts: Facts) -> bool:
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "append"), args=(value,))):
            return base == name and name not in ir.names_in(value) and is_pure(value, facts, True)
        case _:
            return False


def _is_dead_pop(stmt: ir.Stmt, name: str, live: Liveness) -> bool:
    match stmt:
        case ir.Assign(target=target, value=ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=())):
            names = ir.target_names(target)
            return base == name and not any(live.is_live_after(stmt, n) for n in names)
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(base), "pop"), args=())):
            return base == name
        case _:
            return False
