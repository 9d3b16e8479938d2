"""What a `try` protects: changes made there do not count where a later statement raises."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.structure import BlockKey, Structure, bound_by
from ...frontend.jumps import ends_by_raising, last_to_raise
from ..context import Context

Writes = Callable[[ir.Stmt], Iterable[str]]


@dataclass
class Protected:
    """The outermost `try` that protects a statement (by its number), or a block within."""

    of_statement: dict[int, ir.Try] = field(default_factory=dict)
    of_block: dict[BlockKey, ir.Try] = field(default_factory=dict)


def protected(facts: Structure) -> Protected:
    """What the `try`s of a function protect. (One that lets its exception go on leaves nothing to
    be differentiated.)"""
    found = Protected()
    for stmt in facts.index.statements:
        if isinstance(stmt, ir.Try) and not ends_by_raising(stmt.orelse):
            for inner in ir.statements(ir.tried_and_rest(stmt)[0]):
                found.of_statement.setdefault(facts.number(inner), stmt)
                for which in range(len(ir.blocks(inner))):
                    found.of_block.setdefault(facts.block(inner, which), stmt)
    return found


def changes_midway(
    stmt: ir.Try,
    facts: Structure,
    aliases: Aliases,
    context: Context,
    writes: Writes,
    saving: frozenset[int],
) -> bool:
    """Whether the body of a `try` may raise after it has changed what is used afterwards.

    `writes` says what a statement writes in place; `saving` are the statements that overwrite what
    the reverse sweep restores.
    """
    if ends_by_raising(stmt.orelse):
        return False  # nothing is differentiated then
    tried, _ = ir.tried_and_rest(stmt)
    seen = facts.live_in(facts.block(stmt, 1))
    final = last_to_raise(tried)
    for inner in ir.statements(tried):
        last = any(inner is one for one in final)
        if last and isinstance(inner, ir.Assign | ir.Store | ir.Update) and not _calls(inner):
            continue  # it either raises or is done
        bound = frozenset(bound_by(inner))
        if not last and bound & seen and not all(context.kinds[n].discrete for n in bound & seen):
            return True
        if facts.number(inner) in saving and not last:
            return True
        if any(_is_seen(name, seen, facts, aliases) for name in writes(inner)):
            return True
    return False


def saved_before(stmt: ir.Try) -> tuple[ir.Block, ir.Try]:
    """What a `try` saves first of all is saved in front of it: no change that an exception undoes.

    `try: y_saved = y; y = x / d` -> `y_saved = y` and `try: y = x / d`. (Entries that are saved
    may not be there: that is caught.)
    """
    count = 0
    for inner in stmt.body:
        if not isinstance(inner, ir.Assign) or inner.origin.role != "save":
            break
        if not isinstance(inner.value, ir.Var):
            break
        count += 1
    return stmt.body[:count], dataclasses.replace(stmt, body=stmt.body[count:])


def saved_after(body: ir.Block, pushes: Iterable[ir.Stmt]) -> ir.Block:
    """A body whose saves are put on their stacks when all that it tries is done.

    `try: a_before = a[i]; a[i] = v; Tried()` -> `...; Tried(); a_saved.append(a_before)`
    """
    at = next((n for n, s in enumerate(body) if isinstance(s, ir.Tried)), len(body) - 1) + 1
    return (*body[:at], *pushes, *body[at:])


def _calls(stmt: ir.Stmt) -> bool:
    """Whether a statement calls a function, which may raise after it has written."""
    return isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)


def _is_seen(name: str, seen: frozenset[str], facts: Structure, aliases: Aliases) -> bool:
    """Whether memory is reached afterwards by a name that is live there, or from outside."""
    shared = aliases.class_of(name)
    names = [n for n in facts.home if aliases.class_of(n) == shared]
    return any(n in seen or n in facts.function.param_names for n in names)
