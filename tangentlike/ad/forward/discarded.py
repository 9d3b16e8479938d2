"""Tangents that are computed for entries which nobody takes.

The tangent of `np.sqrt(x)` is infinite at 0, also where `np.where` or a masked write leaves that
entry out afterwards. The number goes with the entry; what stays is that NumPy warns of it, where
the primal is silent. Forward mode computes the tangent before the mask is known (it may not exist
yet), so that such a tangent is computed with the warnings off::

    r = np.sqrt(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        r_dot = 0.5 * x_dot / r
    r[x <= 0.0] = 1.0
    r_dot[x <= 0.0] = 0.0
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ... import ir
from ...rules.ruled import ForeignBook
from ..context import Context
from ..fragile import LINEAR, PICKING, SILENT, SINGULAR, Fragility

# What gives entries of its operands (those from a position on) and leaves others out.
_CHOOSING = {np.where: 1, np.select: 1, np.choose: 1}
_SELECTING = (np.maximum, np.minimum, np.fmax, np.fmin, np.clip)


class Discarded:
    """Which tangents of one function may be of entries that a mask leaves out."""

    def __init__(self, function: ir.Function, active: frozenset[str], context: Context) -> None:
        self.function = function
        self.context = context
        self.fragility = Fragility(function, active, context)

    def wrapped(self, stmt: ir.Stmt, lines: list[ir.Stmt]) -> list[ir.Stmt]:
        """A statement's lines, those that compute its tangent in silence where it needs that."""
        names = ir.binds(stmt)
        if len(names) != 1 or names[0] not in self._silenced:
            return lines
        if max(self.fragility.operands(stmt).values(), default=LINEAR) == LINEAR:
            return lines
        out: list[ir.Stmt] = []
        for line in lines:
            out += self._silent(line) if line.origin.role == "tangent" else [line]
        return out

    def _silent(self, line: ir.Stmt) -> list[ir.Stmt]:
        ignored = tuple((kind, ir.Const("ignore")) for kind in ("divide", "invalid"))
        context = ir.Call(self.context.numpy("errstate"), (), ignored)
        enter = ir.Enter(context, "", True, line.origin)
        return [enter, line, ir.Leave(context, line.origin)]

    @cached_property
    def _silenced(self) -> frozenset[str]:
        """Names that a selection takes some entries of, or that lead to one; singular ones."""
        if isinstance(self.context.book, ForeignBook):  # (only NumPy warns)
            return frozenset()
        found = {name for s in ir.statements(self.function.body) for name in self._selected(s)}
        found = {name for name in found if self.fragility.of(name) >= SINGULAR}
        changed = bool(found)
        while changed:
            before = len(found)
            for stmt in ir.statements(self.function.body):
                if found & {*ir.binds(stmt), *_stored(stmt)}:
                    operands = self.fragility.operands(stmt)
                    found |= {n for n in operands if self.fragility.of(n) >= SINGULAR}
            changed = len(found) > before
        return frozenset(found)

    def _selected(self, stmt: ir.Stmt) -> list[str]:
        match stmt:
            case ir.Store(target=ir.Index(ir.Var(name), key)) if key != ir.Const(Ellipsis):
                return [name] if self.fragility.worth_masking(name, key) else []
            case ir.Assign(value=ir.Index(ir.Var(name), key)):
                return [name] if self.fragility.worth_masking(name, key) else []
            case ir.Assign(value=ir.Call() as call):
                return self._of_call(call)
        return []

    def _of_call(self, call: ir.Call) -> list[str]:
        obj = getattr(call.fn, "obj", None)
        start = next((at for fn, at in _CHOOSING.items() if fn is obj), None)
        if start is not None:
            return _names(call.args[start:])
        picks = next((level for fn, level in PICKING.items() if fn is obj), None)
        if any(obj is fn for fn in _SELECTING):
            picks = SILENT
        if picks is not None:
            return [n for n in _names(call.args) if self.fragility.of(n) >= picks]
        if "where" in dict(call.kwargs):
            base = call.fn.base if isinstance(call.fn, ir.Attribute) else call.args[0]
            return _names((base,))
        return []


def _names(exprs: tuple[ir.Expr, ...]) -> list[str]:
    return [e.name for e in exprs if isinstance(e, ir.Var)]


def _stored(stmt: ir.Stmt) -> tuple[str, ...]:
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name), _)):
            return (name,)
    return ()
