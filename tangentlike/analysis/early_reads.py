"""`a[0] += change(a)`: Python reads `a[0]` before it computes the value, which changes it.

A program of ours computes the value first. That is the same where the value leaves the place as it
is, or writes into the array there, which is added to afterwards; else the update is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ir
from ..errors import UnsupportedError
from ..ir.facts import fact
from ..ir.index import ProgramIndex
from .memory import Sources, base_names, element, key_parts
from .sharing import Sharing, owner
from .structure import structure


def refuse_early_reads(function: ir.Function, sources: Sources) -> None:
    """Refuse updates of a place that the computation of their values changes."""
    classes: dict[str, str] | None = None
    for update, before in _updates(function):
        for stmt in before:
            changed = _changes(update, stmt, sources)
            if changed is None:
                if classes is None:
                    classes = Sharing(structure(function), sources).classes
                changed = _shares(update, stmt, sources, classes)
            if changed:
                raise UnsupportedError(
                    "the right-hand side of an update changes the array that is updated",
                    update.origin.place,
                    "Python reads the old value before it computes the right-hand side. Do it in "
                    "two lines: `change = ...` and then `place += change`, or read `old = place` "
                    "before.",
                )


def _updates(function: ir.Function) -> Iterator[tuple[ir.Update, ir.Block]]:
    """The updates, with the calls before them that compute their values: of the same line."""
    index = fact(ProgramIndex, function)
    for update in index.statements:
        if not isinstance(update, ir.Update):
            continue
        before = index.preceding(update)
        start = len(before)
        while start and before[start - 1].origin.place == update.origin.place:
            start -= 1
        calls = tuple(s for s in _of_value(update, before[start:]) if _is_call(s))
        if calls:
            yield update, calls


def _of_value(update: ir.Update, before: ir.Block) -> ir.Block:
    """Without what finds the place first: `g.step().cells` of `g.step().cells[0] += v`."""
    place = set(ir.names_in(update.target))
    kept: list[ir.Stmt] = []
    for stmt in reversed(before):
        if isinstance(stmt, ir.Assign) and place & set(ir.target_names(stmt.target)):
            place |= ir.reads(stmt)
        else:
            kept.append(stmt)
    return tuple(reversed(kept))


def _is_call(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Assign | ir.Do) and isinstance(stmt.value, ir.Call)


def _changes(update: ir.Update, stmt: ir.Stmt, sources: Sources) -> bool | None:
    """Whether a call changes what is updated; None if that depends on what shares memory."""
    match update.target:
        case ir.Var(name):
            # (A name that is bound alone is read here: `item = row[1]; item += v; row[1] = item`.)
            several = isinstance(stmt, ir.Assign) and isinstance(stmt.target, tuple)
            return several and name in ir.binds(stmt)
        case ir.Attribute(_, field):
            value = getattr(stmt, "value", None)
            effects = sources.effects(value) if isinstance(value, ir.Call) else None
            return effects is not None and field in effects.assigned
        case ir.Index(base, key):
            slices = any(isinstance(part, ir.Slice) for part in key_parts(key))
            if slices and sources.kind_of(base).form == "array":
                return False  # (a view)
    return None if sources.written(stmt) else False


def _shares(update: ir.Update, stmt: ir.Stmt, sources: Sources, classes: dict[str, str]) -> bool:
    bases = base_names(update.target)
    places = {classes.get(n, n) for b in bases for n in (b, element(b))}
    written = {n for w in sources.written(stmt) for n in (w, owner(w), element(w))}
    return not places.isdisjoint(classes.get(n, n) for n in written)
