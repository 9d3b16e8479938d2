"""`a[0] += change(a)`: Python reads `a[0]` before it computes the value, which changes it.

before::                     after::
    v = change(a)                old = a[0]
    a[0] += v                    v = change(a)
                                 old += v
                                 a[0] = old
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from ... import ir
from ...analysis.memory import base_names, element, key_parts
from ...analysis.sharing import Sharing, owner
from ...analysis.structure import Structure, structure
from ...ir.rewrite import unless_same
from ..context import Context


def places_read_first(function: ir.Function, wrt: tuple[str, ...], context: Context) -> ir.Function:
    """A function whose updates have their places read before the calls that may change these."""
    return _Reader(context, function).rewritten(function)


@dataclasses.dataclass
class _Reader(ir.Rewriter):
    context: Context
    function: ir.Function

    @functools.cached_property
    def facts(self) -> Structure:
        return structure(self.function)

    @functools.cached_property
    def classes(self) -> dict[str, str]:
        """What may share memory in the function."""
        return Sharing(self.facts, self.context.sources()).classes

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            first = self._first_change(stmt, out) if isinstance(stmt, ir.Update) else None
            if first is None:
                out.append(self.inside(stmt))
                continue
            assert isinstance(stmt, ir.Update)
            kind, target = self.context.kind_of(stmt.target), stmt.target
            old = ir.Var(self.context.fresh("old", kind, temporary=True))
            out.insert(first, ir.Assign(old.name, target, stmt.origin))
            out.append(dataclasses.replace(stmt, target=old))
            if isinstance(target, ir.Var):
                out.append(ir.Assign(target.name, old, stmt.origin))
            else:
                out.append(ir.Store(target, old, stmt.origin))
        return unless_same(out, block)

    def _first_change(self, update: ir.Update, before: Sequence[ir.Stmt]) -> int | None:
        """Where the first call stands that computes the value of an update and may change its
        place: of the same line, and not among what finds the place first, which is `g.step().cells`
        of `g.step().cells[0] += v`."""
        found, place = None, set(ir.names_in(update.target))
        for at in reversed(range(len(before))):
            stmt = before[at]
            if stmt.origin.place != update.origin.place:
                break
            bound = set(ir.target_names(stmt.target)) if isinstance(stmt, ir.Assign) else set()
            if bound & place and bound != {getattr(update.target, "name", "")}:
                place |= ir.reads(stmt)
            elif self._changes(update, stmt):
                found = at
        return found

    def _changes(self, update: ir.Update, stmt: ir.Stmt) -> bool:
        """Whether a statement is a call that may change what is updated."""
        value, sources = getattr(stmt, "value", None), self.context.sources()
        if not isinstance(value, ir.Call):
            return False
        match update.target:
            case ir.Var(name):
                again = name in self.function.param_names or len(self.facts.definitions[name]) > 1
                return again and isinstance(stmt, ir.Assign) and name in ir.binds(stmt)
            case ir.Attribute(_, field):
                effects = sources.effects(value)
                return effects is not None and field in effects.assigned
            case ir.Index(base, key):
                slices = any(isinstance(part, ir.Slice) for part in key_parts(key))
                if slices and sources.kind_of(base).form == "array":
                    return False  # (a view)
        written = {n for w in sources.written(stmt) for n in (w, owner(w), element(w))}
        places = {n for b in base_names(update.target) for n in (b, element(b))}
        return bool(written) and not {self.classes.get(n, n) for n in written}.isdisjoint(
            self.classes.get(n, n) for n in places
        )
