"""Entries of an adjoint that are taken out: read, then set to zero.

The adjoint of `A[k] = v` takes what `A_bar[k]` holds. What was added to the entry just before
need not go through the array, and the zero may wait until the taken entry was read, so that no
copy of it is made.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ... import ir
from .analyses import Asking
from .effects import effect_of, root_names
from .facts import Facts, runtime_name
from .propagate import source_of

_BINARY = {operator.iadd: ir.Ref("+", operator.add), operator.isub: ir.Ref("-", operator.sub)}
_ZERO = ir.Const(0.0)


def take_entries(function: ir.Function, facts: Facts) -> ir.Function:
    """Add on the way out; set to zero after the last reader.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program('''A_bar[k] += s
    ... t = A_bar[k].copy()
    ... A_bar[k] = 0.0
    ... return A_bar, t'''))
    >>> print(show(take_entries(f, Facts()).body))
    t = A_bar[k] + s
    A_bar[k] = 0.0
    return A_bar, t
    >>> f = derived(program('''t = A_bar[k].copy()
    ... A_bar[k] = 0.0
    ... x_bar = t * t
    ... A_bar[j] += x_bar
    ... return A_bar'''))
    >>> facts = Facts(floating=frozenset(["t", "x_bar"]))
    >>> print(show(take_entries(f, facts).body))
    t = A_bar[k].copy()
    x_bar = t * t
    A_bar[k] = 0.0
    A_bar[j] += x_bar
    return A_bar
    """
    return _Taking(function, facts).rewritten(function)


class _Taking(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        stmts = [self.nested(stmt) for stmt in block]
        for position in range(len(stmts) - 1):
            place = _taken(stmts[position], stmts[position + 1])
            if place is None:
                continue
            later = self._added(stmts, position, place) or self._delayed(
                stmts, block, position, place
            )
            if later is not None:  # the next round looks for more
                return tuple(later)
        return ir.unless_same(stmts, block)

    def _added(
        self, stmts: Sequence[ir.Stmt], position: int, place: ir.Index
    ) -> list[ir.Stmt] | None:
        """`A[k] += s; ...; t = A[k].copy()` -> `...; t = A[k] + s`."""
        taking = stmts[position]
        assert isinstance(taking, ir.Assign)
        if place not in (taking.value, source_of(taking.value)):
            return None  # (its entries are summed)
        for at in range(position - 1, -1, -1):
            stmt = stmts[at]
            match stmt:
                case ir.Update(target=target, op=op, value=value) if target == place:
                    if op.obj not in _BINARY or stmt.origin.role != "adjoint":
                        return None
                    between = stmts[at + 1 : position]
                    if root_names(place) & ir.names_in(value):
                        return None
                    if any(self._disturbs(s, (place, value)) for s in between):
                        return None
                    total = ir.Call(_BINARY[op.obj], (place, value))
                    taken = ir.Assign(taking.target, total, taking.origin)
                    return [*stmts[:at], *between, taken, *stmts[position + 1 :]]
            if self._disturbs(stmt, (place,)):
                return None
        return None

    def _delayed(
        self, stmts: Sequence[ir.Stmt], known: ir.Block, position: int, place: ir.Index
    ) -> list[ir.Stmt] | None:
        """`t = A[k].copy(); A[k] = 0.0; ...` -> the zero after the last reader of t."""
        taking, zero = stmts[position], stmts[position + 1]
        assert isinstance(taking, ir.Assign) and isinstance(taking.target, str)
        if _copied(taking.value) is None:
            return None  # a number: there is nothing to save
        first = at = position + 2
        target = ir.Var(taking.target)
        while self.live.is_live_after(known[at - 1], taking.target):
            if at == len(stmts) or self._disturbs(stmts[at], (place, target)):
                return None
            at += 1
        while at < len(stmts) and stmts[at].origin.place == zero.origin.place:
            if self._disturbs(stmts[at], (place,)):
                break
            at += 1
        if at == first:
            return None
        return [*stmts[: position + 1], *stmts[first:at], zero, *stmts[at:]]

    def _disturbs(self, stmt: ir.Stmt, exprs: tuple[ir.Expr, ...]) -> bool:
        """Whether a statement reads or writes the array of the entry (the first expression), or
        changes anything that the expressions read."""
        effect = effect_of(stmt, self.facts)
        array = {m for name in root_names(exprs[0]) for m in self.sharing.members(name)}
        if effect.fixed or array & (effect.reads | effect.writes):
            return True
        read = frozenset().union(*map(ir.names_in, exprs))
        if read & effect.binds:
            return True
        members = sorted({m for name in read for m in self.sharing.members(name)})
        return bool(effect.writes) and self.sharing.meet(members, effect.writes)


def _taken(first: ir.Stmt, second: ir.Stmt) -> ir.Index | None:
    """The entry that two statements take out: `t = A[k].copy(); A[k] = 0.0`."""
    match first, second:
        case ir.Assign(target=str(), value=value), ir.Store(target=ir.Index() as place) if (
            second.origin.role == "adjoint" and second.value == _ZERO
        ):
            return place if place in (value, _copied(value)) else None
    return None


def _copied(value: ir.Expr) -> ir.Expr | None:
    """`A[k]` of `A[k].copy()`, also where that is summed over axes which may have been broadcast:
    `unbroadcast(A[k].copy(), x)`."""
    match value:
        case ir.Call(fn=ir.Ref(obj=obj), args=(summed, _)) if runtime_name(obj) == "unbroadcast":
            return source_of(summed)
    return source_of(value)
