"""Bindings that wait: `t = h; h = saved.pop()` keeps the old value of h only because the new one
comes early. After the last reader of t it may come without a second name; so an adjoint that
updates itself comes last among the contributions of its statement.
"""

from __future__ import annotations

from ... import ir
from .analyses import COPY, Asking, patterns_of
from .effects import Effect, effect_of, is_trusted, stack_name
from .facts import Facts


def delay_restores(function: ir.Function, facts: Facts) -> ir.Function:
    """Move a binding past the last reader of the value that it replaces.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program('''t = h
    ... h = h_saved.pop()
    ... s_bar = h_bar * (1.0 - t * t)
    ... w_bar += np.outer(s_bar, h)
    ... return w_bar'''), "restore")
    >>> print(show(delay_restores(f, Facts()).body))
    s_bar = h_bar * (1.0 - h * h)
    h = h_saved.pop()
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
        moved = [*stmts[position + 1 : bound_at]]
        for at in range(bound_at + 1, len(stmts)):
            other, other_effect = stmts[at], effect_of(stmts[at], self.facts)
            if not self.live.is_live_after(known[at - 1], kept):
                return [*moved, pop, *stmts[at:]]
            if self._blocks(other_effect, effect, name, kept):
                return None
            moved.append(_renamed(other, kept, name))
        if moved and not self.live.is_live_after(known[-1], kept):
            return [*moved, pop]
        return None

    def _next_binding(
        self, name: str, kept: str, stmts: list[ir.Stmt], position: int
    ) -> int | None:
        """Where `name` is bound next, with nothing before that reads it or the copy of it."""
        for at in range(position + 1, len(stmts)):
            match stmts[at]:
                case ir.Assign(target=str(target), value=value):
                    effect = effect_of(stmts[at], self.facts)
                    if target == name:
                        movable = is_trusted(stmts[at]) and (effect.silent or _is_pop(value))
                        return at if movable else None
                    if target == kept or {name, kept} & effect.reads:
                        return None
                case _:
                    return None
        return None

    def _blocks(self, other: Effect, pop: Effect, name: str, kept: str) -> bool:
        """Whether a statement may not come before the pop, or not read h for t."""
        if name in other.reads or name in other.binds or kept in other.binds:
            return True
        stacks = frozenset(map(stack_name, pop.writes))
        if other.fixed or not stacks.isdisjoint(other.reads | other.binds):
            return True
        return not self.can_move(pop, (other,))


def _is_pop(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=(), kwargs=()):
            return True
        case _:
            return False


def _renamed(stmt: ir.Stmt, old: str, new: str) -> ir.Stmt:
    values: dict[str, ir.Expr] = {old: ir.Var(new)}
    return ir.rewrite((stmt,), expression=lambda e: ir.substitute(e, values))[0]
