"""Restores that wait: `t = h; h = saved.pop()` keeps the later value of h only because the pop
comes early. After the last reader of t the pop may come without a second name."""

from __future__ import annotations

from .. import ir
from .analyses import analyses
from .effects import Effect, effect_of, stack_name
from .facts import Facts
from .rewriting import map_stmt, replace_names, with_body


def delay_restores(function: ir.Function, facts: Facts) -> ir.Function:
    """Move a pop past the last reader of the value that it replaces.

    >>> from tangentlike.frontend import program
    >>> from tangentlike.emit import show
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
    return with_body(function, _Delay(function, facts).block(function.body))


class _Delay:
    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self.facts = facts
        known = analyses(function, facts)
        self.pinned, self.live = known.pinned, known.live

    def block(self, block: ir.Block) -> ir.Block:
        stmts = [map_stmt(stmt, block=self.block) for stmt in block]
        for position, stmt in enumerate(stmts):
            later = self._delayed(stmt, stmts, block, position)
            if later is not None:  # the next round looks for more
                return (*stmts[:position], *later)
        changed = any(new is not old for new, old in zip(stmts, block, strict=True))
        return tuple(stmts) if changed else block

    def _delayed(
        self, stmt: ir.Stmt, stmts: list[ir.Stmt], known: ir.Block, position: int
    ) -> list[ir.Stmt] | None:
        """The rest of the block from `t = h` on, with the pop of h moved; None if it must stay."""
        match stmt:
            case ir.Assign(target=str(kept), value=ir.Var(name)) if stmt.origin.role != "primal":
                pass
            case _:
                return None
        pop_at = self._find_pop(name, kept, stmts, position)
        if pop_at is None or {name, kept} & self.pinned:
            return None
        pop = stmts[pop_at]
        effect = effect_of(pop, self.facts)
        moved = [*stmts[position + 1 : pop_at]]
        for at in range(pop_at + 1, len(stmts)):
            other, other_effect = stmts[at], effect_of(stmts[at], self.facts)
            if not self.live.is_live_after(known[at - 1], kept):
                return [*moved, pop, *stmts[at:]]
            if self._blocks(other_effect, effect, name, kept):
                return None
            moved.append(_renamed(other, kept, name))
        if moved and not self.live.is_live_after(known[-1], kept):
            return [*moved, pop]
        return None

    def _find_pop(
        self, name: str, kept: str, stmts: list[ir.Stmt], position: int
    ) -> int | None:
        """Where `name = saved.pop()` stands, right after copies and pops of other names."""
        for at in range(position + 1, len(stmts)):
            match stmts[at]:
                case ir.Assign(target=str(target), value=value):
                    if target == name:
                        return at if _is_pop(value) else None
                    effect = effect_of(stmts[at], self.facts)
                    if target == kept or {name, kept} & effect.reads:
                        return None
                case _:
                    return None
        return None

    def _blocks(self, other: Effect, pop: Effect, name: str, kept: str) -> bool:
        """Whether a statement may not come before the pop, or not read h for t."""
        if name in other.reads or name in other.binds or kept in other.binds:
            return True
        stacks = frozenset(map(stack_name, pop.writes)) | pop.reads
        return not stacks.isdisjoint(other.reads | other.binds) or other.fixed


def _is_pop(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=(), kwargs=()):
            return True
        case _:
            return False


def _renamed(stmt: ir.Stmt, old: str, new: str) -> ir.Stmt:
    values: dict[str, ir.Expr] = {old: ir.Var(new)}

    def on_block(block: ir.Block) -> ir.Block:
        return tuple(_renamed(s, old, new) for s in block)

    return map_stmt(stmt, expr=lambda e: replace_names(e, values), block=on_block)
