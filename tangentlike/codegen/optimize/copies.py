"""Copies that protect nothing: neither the copy nor its source is written while it lives."""

from __future__ import annotations

import operator

from ... import ir
from .analyses import Asking
from .effects import effect_of, expr_effect
from .facts import Facts, runtime_name
from .sharing import sources

_ARITHMETIC = ("+", "-", "*", "/", "**", "@")
_IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)
_OURS = ("adjoint", "tangent")


def remove_needless_copies(function: ir.Function, facts: Facts) -> ir.Function:
    """Read the original instead of a copy that is consumed before anything is written.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program("s_bar = A[k].copy(); x = s_bar * s_bar; A[k] = 0.0; return x"))
    >>> facts = Facts(floating=frozenset(["s_bar"]))
    >>> print(show(remove_needless_copies(f, facts).body))
    s_bar = A[k]
    x = s_bar * s_bar
    A[k] = 0.0
    return x
    """
    return _Copies(function, facts).rewritten(function)


class _Copies(Asking):
    """`merged` are names that came to share memory in this pass: what was known of them is no
    longer so, and copies among them wait for the next."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        super().__init__(function, facts)
        self.merged: set[str] = set()

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for position, stmt in enumerate(block):
            new: ir.Stmt = self.nested(stmt)
            if stmt.origin.role in _OURS and not ir.is_compound(stmt):
                new = _consumed(new)
                source = _copied(new)
                if source is not None and self._unneeded(stmt, source, block[position + 1 :]):
                    assert isinstance(new, ir.Assign)
                    new = ir.Assign(new.target, source, new.origin)
            out.append(new)
        return ir.unless_same(out, block)

    def _unneeded(self, stmt: ir.Stmt, source: ir.Expr, following: ir.Block) -> bool:
        assert isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
        shared = sources(source, self.facts, True) | {stmt.target}
        if not expr_effect(source, self.facts, True).silent:
            return False
        classes = sorted({m for n in shared for m in self.sharing.members(n)})
        if self.merged.isdisjoint(classes) and self._outlives(stmt, classes, following):
            self.merged.update(classes)
            return True
        return False

    def _outlives(self, stmt: ir.Assign, classes: list[str], following: ir.Block) -> bool:
        """Whether nothing is written, or rebound, of these names while the copy is read."""
        assert isinstance(stmt.target, str)
        of_copy = self.live.mask(self.sharing.members(stmt.target))
        last: ir.Stmt = stmt
        for other in following:
            if not self.live.after(last) & of_copy:
                return True
            effect = effect_of(other, self.facts)
            if self.sharing.meet(classes, effect.writes) or isinstance(other, ir.Return):
                return False
            if stmt.target in effect.binds and not _is_plain_rebinding(other):
                return False
            last = other
        return not self.live.after(last) & of_copy


def _operands(expr: ir.Expr) -> ir.Expr:
    """A copy that is an operand of arithmetic is read once and gone."""
    new = ir.rebuild(expr, _operands)
    if isinstance(new, ir.Call) and isinstance(new.fn, ir.Ref) and new.fn.text in _ARITHMETIC:
        return ir.rebuild(new, _uncopied)
    return new


def _uncopied(operand: ir.Expr) -> ir.Expr:
    """What an operand is a copy of, or sums a copy of over axes which may have been broadcast."""
    match operand:
        case ir.Call(fn=ir.Ref(obj=obj), args=(summed, like)) if runtime_name(obj) == "unbroadcast":
            source = source_of(summed)
            return operand if source is None else ir.Call(operand.fn, (source, like))
    return source_of(operand) or operand


def _consumed(stmt: ir.Stmt) -> ir.Stmt:
    """What arithmetic takes, or an in-place operation adds, is read once and gone."""
    stmt = ir.map_statement(stmt, expr=_operands)
    if isinstance(stmt, ir.Update) and stmt.op.obj in _IN_PLACE:
        source = source_of(stmt.value)
        if source is not None:
            return ir.Update(stmt.target, stmt.op, source, stmt.origin)
    return stmt


def _is_plain_rebinding(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Assign)


def _copied(stmt: ir.Stmt) -> ir.Expr | None:
    """The value of an assignment without the copy that it makes; None where it makes none."""
    if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
        value = _uncopied(stmt.value)
        return None if value is stmt.value else value
    return None


def source_of(expr: ir.Expr) -> ir.Expr | None:
    """`X` of `X.copy()` or `copy(X)`."""
    match expr:
        case ir.Call(fn=ir.Attribute(base, "copy"), args=(), kwargs=()):
            return base
        case ir.Call(fn=ir.Ref(obj=obj), args=(base,)) if runtime_name(obj) == "copy":
            return base
        case _:
            return None
