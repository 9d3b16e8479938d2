"""Entries that are held at the very point where the next operation has an infinite derivative.

In `np.sqrt(np.maximum(x, 0.0))` the root's derivative is infinite wherever x is negative, and what
it is multiplied by is zero there by construction: `maximum` holds the entry. The mathematics is
fine (the derivative is 0), zero times infinity is not. So both modes divide by infinity there::

    r = np.sqrt(m)        m_bar = 0.5 * r_bar / np.where(x >= 0.0, r, np.inf)

Values are held by `maximum`, `minimum`, `clip`, a branch of `np.where`, a store under a mask and a
factor of booleans. Only a bound that is written out and is the singular point counts, so that
`np.log(np.maximum(x, eps))` keeps its text.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection

import numpy as np

from .. import ir
from ..ir.facts import fact
from ..ir.index import ProgramIndex
from .context import Context
from .fragile import is_silent

_ARCS = (np.arcsin, np.arccos)
_MULTIPLICATIONS = (operator.mul, np.multiply)
_KEEPING_ZERO = (operator.neg, np.negative, abs, np.absolute, np.fabs, np.square, np.sin, np.tanh)
_COMPARED = {np.maximum: (">=", operator.ge), np.minimum: ("<=", operator.le)}
_COMPARED |= {np.fmax: _COMPARED[np.maximum], np.fmin: _COMPARED[np.minimum]}


class Held:
    """Finds, for the operations of one function, which entries of their operand move at all.

    `is_written` says whether the array of a name is written in place; the adjoints of `kept` are
    results, so that they have to be true in all entries.
    """

    def __init__(
        self,
        function: ir.Function,
        active: frozenset[str],
        context: Context,
        is_written: Callable[[str], bool],
        kept: Collection[str] = (),
    ) -> None:
        self.function = function
        self.active = active
        self.context = context
        self.is_written = is_written
        self.kept = kept

    def moving(self, stmt: ir.Assign) -> ir.Expr | None:
        """Where the operand of a singular operation moves; None for "everywhere" or "unknown"."""
        at = _singular_at(stmt.value)
        if not at or not isinstance(stmt.value, ir.Call):
            return None
        operand = stmt.value.args[0]
        if not isinstance(operand, ir.Var):
            return None
        block, position = self._place(stmt)
        found = self._mask(operand.name, block, position, at)
        if found is None:
            return None
        mask, start = found
        return mask if self._stands(mask, block[start:position]) else None

    def _place(self, stmt: ir.Stmt) -> tuple[ir.Block, int]:
        index = fact(ProgramIndex, self.function)
        if stmt not in index:
            return (), 0
        return index.block(stmt), index.positions[index.number(stmt)]

    def _mask(
        self, name: str, block: ir.Block, position: int, at: frozenset[float]
    ) -> tuple[ir.Expr, int] | None:
        """The mask under which `name` moves, and where in the block it was made."""
        if name in self.kept:
            return None
        stored: tuple[ir.Expr, int] | None = None
        for start in range(position - 1, -1, -1):
            match block[start]:
                case ir.Assign(target=str(target), value=ir.Call() as call) if target == name:
                    if stored is not None:
                        return stored if self._is_new(call) else None
                    if self.is_written(name):
                        return None
                    mask = self._by(call, at)
                    return self._through(call, block, start, at) if mask is None else (mask, start)
                case ir.Store(target=ir.Index(ir.Var(base), key), value=value) if base == name:
                    if stored is None and _literal(value) in at and not _slices(key):
                        stored = self._left(name, key), start
                    elif stored is None:
                        return None
                case stmt if ir.is_compound(stmt) or name in ir.binds(stmt):
                    return None
                case stmt if stored is not None and name in ir.reads(stmt):
                    return None  # (another name may be a view of it)
        return None

    def _is_new(self, call: ir.Call) -> bool:
        rule = self.context.rule_for(call)
        return rule is not None and rule.view_of(call) == "no"

    def _left(self, name: str, key: ir.Expr) -> ir.Expr:
        kind = self.context.kind_of(key)
        if kind.dtype == "bool" and kind.same_shape(self.context.kind_of(ir.Var(name))):
            return ir.Call(self.context.numpy("logical_not"), (key,))
        return ir.Call(self.context.helper("places_left"), (ir.Var(name), key))

    def _through(
        self, call: ir.Call, block: ir.Block, start: int, at: frozenset[float]
    ) -> tuple[ir.Expr, int] | None:
        """What keeps zero (a multiple, a root) of something held at 0 is held at 0."""
        obj = getattr(call.fn, "obj", None)
        if at != {0.0} or call.kwargs:
            return None
        operands = call.args if obj in _MULTIPLICATIONS else call.args[:1]
        if obj not in (*_MULTIPLICATIONS, *_KEEPING_ZERO) and _singular_at(call) != at:
            return None
        for operand in operands:
            if isinstance(operand, ir.Var) and operand.name in self.active:
                found = self._mask(operand.name, block, start, at)
                if found is not None:
                    return found
        return None

    def _by(self, call: ir.Call, at: frozenset[float]) -> ir.Expr | None:
        """The mask under which the result of one operation moves."""
        obj = getattr(call.fn, "obj", None)
        match call.args:
            case (x, bound) if obj in _COMPARED and self._moves(x) and _literal(bound) in at:
                text, compare = _COMPARED[obj]
                return ir.Call(ir.Ref(text, compare), (x, bound))
            case (mask, x, y) if obj is np.where and isinstance(mask, ir.Var):
                if self._moves(x) and _literal(y) in at:
                    return mask
                if self._moves(y) and _literal(x) in at:
                    return ir.Call(self.context.numpy("logical_not"), (mask,))
            case (first, second) if obj in _MULTIPLICATIONS and at == {0.0}:
                for x, flags in ((first, second), (second, first)):
                    if self._moves(x) and self.context.kind_of(flags).dtype == "bool":
                        return flags
        return self._clipped(call, at)

    def _clipped(self, call: ir.Call, at: frozenset[float]) -> ir.Expr | None:
        """`(x >= 0.0) & (x <= 1.0)` for `np.clip(x, 0.0, 1.0)`."""
        match call:
            case ir.Call(fn=ir.Ref(obj=np.clip), args=(x, *bounds), kwargs=()):
                pass
            case ir.Call(fn=ir.Attribute(x, "clip"), args=bounds, kwargs=()):
                pass
            case _:
                return None
        if not self._moves(x) or not {_literal(b) for b in bounds} & at:
            return None
        rule = self.context.rule_for(call)
        assert rule is not None
        return self.context.bind(rule, call).partials.get("a")

    def _moves(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Var) and expr.name in self.active

    def _stands(self, mask: ir.Expr, since: ir.Block) -> bool:
        """Whether a mask is the same where it is used as where its entries were held."""
        read = set(ir.names_in(mask))
        if isinstance(mask, ir.Call) and mask.fn == self.context.helper("places_left"):
            read = set(ir.names_in(mask.args[1]))
        bound = {n for stmt in ir.statements(since[1:]) for n in ir.binds(stmt)}
        return not read & bound and not any(map(self.is_written, read))


def taken(call: ir.Expr) -> dict[str, ir.Expr]:
    """For `np.maximum(a, b)`: where each of its operands is the result, ties included."""
    match call:
        case ir.Call(fn=ir.Ref(obj=obj), args=(a, b), kwargs=()) if obj in (*_COMPARED,):
            text, compare = _COMPARED[obj]
            sides = ((a, b), (b, a))
            return {
                x.name: ir.Call(ir.Ref(text, compare), (x, other))
                for x, other in sides
                if isinstance(x, ir.Var) and a != b
            }
    return {}


def _singular_at(value: ir.Expr) -> frozenset[float]:
    """The points at which an operation is finite and its derivative is not."""
    if not isinstance(value, ir.Call) or not value.args or value.kwargs:
        return frozenset()
    obj = getattr(value.fn, "obj", None)
    if any(obj is known for known in _ARCS):
        return frozenset((-1.0, 1.0))
    if obj is np.arccosh:
        return frozenset((1.0,))
    return frozenset((0.0,) if is_silent(value) else ())


def _slices(key: ir.Expr) -> bool:
    """Whether a key is written as one cannot write it outside of brackets, or is everything."""
    parts = key.items if isinstance(key, ir.Display) else (key,)
    return any(isinstance(part, ir.Slice) or part == ir.Const(Ellipsis) for part in parts)


def _literal(expr: ir.Expr) -> float | None:
    if isinstance(expr, ir.Const) and type(expr.value) in (int, float):
        return float(expr.value)
    match expr:
        case ir.Call(fn=ir.Ref(obj=operator.neg), args=(ir.Const(value),)):
            return -float(value) if type(value) in (int, float) else None
    return None
