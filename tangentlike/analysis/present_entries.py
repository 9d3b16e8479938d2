"""Entries of dicts, and attributes, that surely are there when they are replaced:
`d[k] = d[k] * y`.

Then nothing needs to be remembered of whether the key was there, and the dict keeps its length.
"""

from __future__ import annotations

from .. import ir
from .memory import Sources
from .structure import Structure


def entry_is_there(
    stmt: ir.Stmt, target: ir.Index | ir.Attribute, facts: Structure, sources: Sources
) -> bool:
    """Whether `target`, an entry or attribute that `stmt` writes, was read or written in the same
    block before, and nothing between may take one out of a container or object.

    >>> from ..frontend.lower import program
    >>> from ..ir.kind import UNKNOWN
    >>> from .structure import structure
    >>> def asked(text):
    ...     function = program(text)
    ...     store = function.body[-1]
    ...     sources = Sources({}, lambda e: UNKNOWN, lambda c: "no", lambda c: None, None)
    ...     return entry_is_there(store, store.target, structure(function), sources)
    >>> asked("v = d[k]; d[k] = v * y"), asked("v = d[j]; d[k] = v * y")
    (True, False)
    >>> asked("v = d[k]; d.clear(); d[k] = v * y"), asked("v = d[k]; k = j; d[k] = v * y")
    (False, False)
    """
    if not isinstance(target.base, ir.Var):
        return False
    block, number = facts.block_of(stmt), facts.number(stmt)
    before = [
        use
        for use in facts.used_by.get(target.base.name, ())
        if facts.block_of(use) == block and facts.number(use) < number
        if _looks_up(use, target)
    ]
    if not before:
        return False
    seen = max(before, key=lambda use: facts.number(use))
    if any(facts.rebound_between(name, seen, number) for name in ir.names_in(target)):
        return False
    start = facts.number(seen)
    between = (s for s in ir.statements(facts.function.body) if start < facts.number(s) < number)
    return all(_takes_nothing(s, sources) for s in between)


def _looks_up(stmt: ir.Stmt, entry: ir.Index | ir.Attribute) -> bool:
    match stmt:
        case ir.Assign(value=ir.Call(args=args)):
            return entry in args
        case ir.Assign(value=value):
            return value == entry
        case ir.Store(target=target):
            return target == entry
    return False


def _takes_nothing(stmt: ir.Stmt, sources: Sources) -> bool:
    """Whether a statement surely takes nothing out of a container or object."""
    match stmt:
        case ir.Assign():
            return not sources.written(stmt)
        case ir.Store():
            return True
    return False
