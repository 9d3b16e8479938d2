"""Copies between names that the program did not ask for: read the source instead.

`p_bar = r_bar` makes two names for one value. As long as neither is bound again, a reader of
the one may read the other; a write in place is seen through both, so it does not matter.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ... import ir
from .analyses import COPIED, COPY, Analyses, Asking, patterns_of
from .effects import NOTHING, Effect, effect_of, expr_effect, is_trusted
from .facts import Facts, runtime_name
from .sharing import sources

Copies = dict[str, ir.Expr]


def propagate_copies(function: ir.Function, facts: Facts) -> ir.Function:
    """Replace names that only repeat another name, or a number, by what they repeat.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program("p_bar = r_bar; s_bar = p_bar * x; return s_bar + p_bar"))
    >>> print(show(propagate_copies(f, Facts()).body))
    p_bar = r_bar
    s_bar = r_bar * x
    return s_bar + r_bar
    """
    pinned = Analyses(function, facts).pinned
    return ir.with_body(function, _Propagation(facts, pinned).block(function.body))


class _Propagation:
    """What repeats what, kept true from statement to statement.

    `copies`: name -> what it repeats, and the binding of that it repeats; `bound`: name -> its
    latest binding. What is learned in a branch or loop is taken back at its end, by a journal:
    copying the tables for each would make long programs quadratic.
    """

    def __init__(self, facts: Facts, pinned: frozenset[str]) -> None:
        self.facts = facts
        self.pinned = pinned
        self.copies: dict[str, tuple[ir.Expr, int] | None] = {}
        self.bound: dict[str, int | None] = {}
        self.bindings = 0
        self.journal: list[tuple[dict[str, Any], str, Any]] = []

    def block(self, block: ir.Block) -> ir.Block:
        """Rewrite a block; afterwards the tables say what holds at its end."""
        new = map(self.statement, block)
        return ir.unless_same([stmt for stmt in new if stmt is not None], block)

    def statement(self, stmt: ir.Stmt) -> ir.Stmt | None:
        effect = effect_of(stmt, self.facts)
        if isinstance(stmt, ir.If | ir.For | ir.While):
            new = self._compound(stmt, effect.binds)
        else:
            copies = self._known(effect.reads)
            new = _read(stmt, copies) if copies else stmt
            if isinstance(new, ir.Assign) and new.value == ir.Var(str(new.target)):
                return None  # (`x = t`, where `t` is `x` still)
        self._forget(effect.binds)
        self._learn(new)
        return new

    def _compound(self, stmt: ir.Stmt, binds: frozenset[str]) -> ir.Stmt:
        """A loop comes to its head with what an iteration bound; where an exception is caught,
        what the body of a `try` bound may have been bound already."""
        if isinstance(stmt, ir.While):
            self._forget(binds)

        def apart(block: ir.Block) -> ir.Block:
            caught = isinstance(stmt, ir.Try) and block is stmt.orelse
            return self._apart(block, binds if caught or isinstance(stmt, ir.For) else NOTHING)

        return ir.map_statement(stmt, self._header, apart)

    def _header(self, expr: ir.Expr) -> ir.Expr:
        copies = self._known(ir.names_in(expr))
        return _replaced(expr, copies) if copies else expr

    def _apart(self, block: ir.Block, bound: frozenset[str] = NOTHING) -> ir.Block:
        """Rewrite a block whose end says nothing of what comes after it; `bound` may have been
        bound again at its beginning."""
        mark = len(self.journal)
        self._forget(bound)
        block = self.block(block)
        while len(self.journal) > mark:
            table, name, before = self.journal.pop()
            table[name] = before
        return block

    # --------------------------------------------------------------------------- the tables

    def _known(self, names: Iterable[str]) -> Copies:
        """What some names repeat, as far as that still holds."""
        found: Copies = {}
        if not self.copies:
            return found
        for name in names:
            value, binding = self.copies.get(name) or (None, 0)
            source = value.base if isinstance(value, ir.Index) else value
            if isinstance(source, ir.Var) and (self.bound.get(source.name) or 0) != binding:
                continue
            if value is not None:
                found[name] = value
        return found

    def _set(self, table: dict[str, Any], name: str, value: Any) -> None:
        self.journal.append((table, name, table.get(name)))
        table[name] = value

    def _learn(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(source)) if name != source:
                if source in self.pinned:
                    return
                binding = self.bound.get(source) or 0
            case ir.Assign(str(name), ir.Index(ir.Var(source), ir.Const(int()))) if name != source:
                if source in self.pinned or (self.facts.kind_behind(source).rank or 0) < 2:
                    return
                binding = self.bound.get(source) or 0
            case ir.Assign(target=str(name), value=ir.Const(value)):
                if not isinstance(value, (int, float, complex)):
                    return
                binding = 0
            case _:
                return
        ours = stmt.origin.role != "primal" or name in self.facts.temporaries
        if ours and name not in self.pinned:
            self._set(self.copies, name, (stmt.value, binding))

    def _forget(self, bound: frozenset[str]) -> None:
        """Names bound again repeat nothing, and nothing repeats them."""
        for name in bound:
            self.bindings += 1
            self._set(self.bound, name, self.bindings)
            if self.copies.get(name) is not None:
                self._set(self.copies, name, None)


def _read(stmt: ir.Stmt, copies: Copies) -> ir.Stmt:
    bare = isinstance(stmt, ir.Update) and isinstance(stmt.target, ir.Var)
    if isinstance(stmt, ir.Store | ir.Update) and not bare:
        # The place written must stay a place: numbers cannot stand there.
        names: Copies = {n: e for n, e in copies.items() if not isinstance(e, ir.Const)}
        new = ir.map_statement(stmt, expr=lambda e: _replaced(e, names))
        return ir.replaced(new, value=_replaced(new.value, copies))
    return ir.map_statement(stmt, expr=lambda e: _replaced(e, copies))


def _replaced(expr: ir.Expr, copies: Copies) -> ir.Expr:
    """Names by what they repeat; a number takes no index and has no attributes to ask for. A name
    of a row stays, but its entries are those of the array."""
    if isinstance(expr, ir.Var):
        source = copies.get(expr.name, expr)
        return expr if isinstance(source, ir.Index) else source
    if isinstance(expr, ir.Index | ir.Attribute) and isinstance(expr.base, ir.Var):
        base = copies.get(expr.base.name)
        if isinstance(base, ir.Index) and isinstance(expr, ir.Index) and _is_place(expr.key):
            return ir.Index(base.base, ir.Display("tuple", (base.key, expr.key)), expr.at)
        if isinstance(base, ir.Const):
            kept = expr.base
            return ir.rebuild(expr, lambda part: part if part is kept else _replaced(part, copies))
    return _decided(ir.rebuild(expr, lambda part: _replaced(part, copies)))


def _decided(expr: ir.Expr) -> ir.Expr:
    """`2 is None`, which Python warns of, and what it decides."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Const(value), ir.Const(None))) if (
            obj is operator.is_ or obj is operator.is_not
        ):
            return ir.Const((value is None) == (obj is operator.is_))
        case ir.Lazy("if", (ir.Const(bool() as test), then, otherwise)):
            return then if test else otherwise
        case ir.Lazy("and", (ir.Const(True), last)):
            return last
    return expr


def _is_place(key: ir.Expr) -> bool:
    return isinstance(key, ir.Const) and type(key.value) is int


# --------------------------------------------------------------------------------------------------
# Copies that protect nothing: neither the copy nor its source is written while it lives.

_ARITHMETIC = ("+", "-", "*", "/", "**", "@")
_IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


def remove_needless_copies(function: ir.Function, facts: Facts) -> ir.Function:
    """Read the original instead of a copy that is consumed before anything is written.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
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
            if patterns_of(stmt) & COPIED and not ir.is_compound(stmt):
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
            if self.meet(classes, effect.writes) or isinstance(other, ir.Return):
                return False
            if stmt.target in effect.binds and not isinstance(other, ir.Assign):
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


# --------------------------------------------------------------------------------------------------
# Bindings that wait: `t = h; h = e` keeps the old value of h only because the new one comes early.
# After the last reader of t it may come without a second name; so an adjoint that
# updates itself comes last among the contributions of its statement.


def delay_restores(function: ir.Function, facts: Facts) -> ir.Function:
    """Move a binding past the last reader of the value that it replaces.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program('''t = h
    ... h = g * k
    ... s_bar = h_bar * (1.0 - t * t)
    ... w_bar += np.outer(s_bar, h)
    ... return w_bar'''), "restore")
    >>> print(show(delay_restores(f, Facts()).body))
    s_bar = h_bar * (1.0 - h * h)
    h = g * k
    w_bar += np.outer(s_bar, h)
    return w_bar
    """
    return _Delay(function, facts).rewritten(function)


class _Delay(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        stmts = [self.nested(stmt) for stmt in block]
        for position, stmt in enumerate(stmts):
            copies = patterns_of(stmt) & COPY
            later = self._delayed(stmt, stmts, block, position) if copies else None
            if later is not None:  # the next round looks for more
                return (*stmts[:position], *later)
        return ir.unless_same(stmts, block)

    def _delayed(
        self, stmt: ir.Stmt, stmts: list[ir.Stmt], known: ir.Block, position: int
    ) -> list[ir.Stmt] | None:
        """The rest of the block after `t = h`, h bound later; None if that must stay."""
        match stmt:
            case ir.Assign(target=str(kept), value=ir.Var(name)) if stmt.origin.role != "primal":
                pass
            case _:
                return None
        bound_at = self._next_binding(name, kept, stmts, position)
        if bound_at is None or {name, kept} & self.pinned:
            return None
        pop = stmts[bound_at]
        effect = effect_of(pop, self.facts)
        pop = _renamed(pop, kept, name)
        moved = [_renamed(other, kept, name) for other in stmts[position + 1 : bound_at]]
        for at in range(bound_at + 1, len(stmts)):
            other, other_effect = stmts[at], effect_of(stmts[at], self.facts)
            if not self.live.is_live_after(known[at - 1], kept):
                return [*moved, pop, *stmts[at:]]
            if self._blocks(other_effect, effect, name):
                return None
            moved.append(_renamed(other, kept, name))
            if kept in other_effect.binds:  # `t = t + e` reads that value last
                last = isinstance(other, ir.Assign) and other.target == kept
                return [*moved, pop, *stmts[at + 1 :]] if last else None
        if moved and not self.live.is_live_after(known[-1], kept):
            return [*moved, pop]
        return None

    def _next_binding(
        self, name: str, kept: str, stmts: list[ir.Stmt], position: int
    ) -> int | None:
        """Where `name` is bound next, by what may wait."""
        for at in range(position + 1, len(stmts)):
            effect = effect_of(stmts[at], self.facts)
            match stmts[at]:
                case ir.Assign(target=str(target)) if target == name:
                    return at if is_trusted(stmts[at]) and effect.silent else None
            if not effect.binds.isdisjoint((name, kept)):
                return None
        return None

    def _blocks(self, other: Effect, pop: Effect, name: str) -> bool:
        """Whether a statement may not come before the pop, or not read h for t."""
        if name in other.reads or name in other.binds:
            return True
        return other.fixed or not self.can_move(pop, (other,))


def _renamed(stmt: ir.Stmt, old: str, new: str) -> ir.Stmt:
    values: dict[str, ir.Expr] = {old: ir.Var(new)}
    return ir.rewrite((stmt,), expression=lambda e: ir.substitute(e, values))[0]
