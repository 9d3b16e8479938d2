"""Copies between names that the program did not ask for: read the source instead.

`p_bar = r_bar` makes two names for one value. As long as neither is bound again, a reader of
the one may read the other; a write in place is seen through both, so it does not matter.
"""

from __future__ import annotations

from .. import ir
from .analyses import analyses
from .effects import effect_of
from .facts import Facts
from .rewriting import map_expr, map_stmt, replace_names, with_body

Copies = dict[str, ir.Expr]


def propagate_copies(function: ir.Function, facts: Facts) -> ir.Function:
    """Replace names that only repeat another name, or a number, by what they repeat.

    >>> from tangentlike.frontend import program
    >>> from tangentlike.emit import show
    >>> from .rewriting import derived
    >>> f = derived(program("p_bar = r_bar; s_bar = p_bar * x; return s_bar + p_bar"))
    >>> print(show(propagate_copies(f, Facts()).body))
    p_bar = r_bar
    s_bar = r_bar * x
    return s_bar + r_bar
    """
    pinned = analyses(function, facts).pinned
    return with_body(function, _Propagation(facts, pinned).block(function.body, {}))


class _Propagation:
    def __init__(self, facts: Facts, pinned: frozenset[str]) -> None:
        self.facts = facts
        self.pinned = pinned
        self.readers: dict[str, list[str]] = {}  # name -> names that ever repeated it

    def block(self, block: ir.Block, copies: Copies) -> ir.Block:
        """Rewrite a block; `copies` is changed to what holds after it."""
        out = [self.statement(stmt, copies) for stmt in block]
        changed = any(new is not old for new, old in zip(out, block, strict=True))
        return tuple(out) if changed else block

    def statement(self, stmt: ir.Stmt, copies: Copies) -> ir.Stmt:
        effect = effect_of(stmt, self.facts)
        if isinstance(stmt, ir.If):
            new = self._branches(stmt, copies)
        elif isinstance(stmt, ir.For | ir.While):
            new = self._loop(stmt, copies, effect.binds)
        else:
            new = self._read(stmt, copies) if not copies.keys().isdisjoint(effect.reads) else stmt
        self._forget(copies, effect.binds)
        self._learn(new, copies)
        return new

    def _read(self, stmt: ir.Stmt, copies: Copies) -> ir.Stmt:
        if isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var):
            return map_stmt(stmt, expr=lambda e: _replaced(e, copies))
        if isinstance(stmt, ir.Store | ir.Update):
            # The place written must stay a place: numbers cannot stand there.
            names: Copies = {n: e for n, e in copies.items() if isinstance(e, ir.Var)}
            return map_stmt(stmt, expr=lambda e: replace_names(e, names))
        return map_stmt(stmt, expr=lambda e: _replaced(e, copies))

    def _branches(self, stmt: ir.If, copies: Copies) -> ir.Stmt:
        test = _replaced(stmt.test, copies)
        body = self.block(stmt.body, dict(copies))
        orelse = self.block(stmt.orelse, dict(copies))
        if test is stmt.test and body is stmt.body and orelse is stmt.orelse:
            return stmt
        return ir.If(test, body, orelse, stmt.origin)

    def _loop(self, stmt: ir.For | ir.While, copies: Copies, binds: frozenset[str]) -> ir.Stmt:
        header = dict(copies)
        inside = dict(copies)
        self._forget(inside, binds)
        body = self.block(stmt.body, dict(inside))
        if isinstance(stmt, ir.While):
            test = _replaced(stmt.test, inside)
            if test is stmt.test and body is stmt.body:
                return stmt
            return ir.While(test, body, stmt.origin)
        iterable = _replaced(stmt.iter, header)
        if iterable is stmt.iter and body is stmt.body:
            return stmt
        return ir.For(stmt.target, iterable, body, stmt.origin)

    def _learn(self, stmt: ir.Stmt, copies: Copies) -> None:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(source)) if name != source:
                if source in self.pinned:
                    return
            case ir.Assign(target=str(name), value=ir.Const(value)):
                if not isinstance(value, (int, float, complex)):
                    return
            case _:
                return
        ours = stmt.origin.role != "primal" or name in self.facts.temporaries
        if ours and name not in self.pinned:
            copies[name] = stmt.value
            if isinstance(stmt.value, ir.Var):
                self.readers.setdefault(stmt.value.name, []).append(name)

    def _forget(self, copies: Copies, bound: frozenset[str]) -> None:
        """Names bound again repeat nothing, and nothing repeats them."""
        for name in bound:
            copies.pop(name, None)
            for reader in self.readers.get(name, ()):
                if copies.get(reader) == ir.Var(name):
                    del copies[reader]


def _replaced(expr: ir.Expr, copies: Copies) -> ir.Expr:
    """Names by what they repeat; a number takes no index and has no attributes to ask for."""
    if isinstance(expr, ir.Var):
        return copies.get(expr.name, expr)
    if isinstance(expr, ir.Index | ir.Attribute) and isinstance(expr.base, ir.Var):
        base = copies.get(expr.base.name)
        if isinstance(base, ir.Const):
            kept = expr.base
            return map_expr(expr, lambda part: part if part is kept else _replaced(part, copies))
    return map_expr(expr, lambda part: _replaced(part, copies))
