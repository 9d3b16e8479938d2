"""Sums over broadcast axes that wait until something sums anyway.

`t_bar = unbroadcast(g, t)` needs `t` for its shape alone; in a loop every `t` is kept for it. What
reads `t_bar` may take care of the sum itself: another `unbroadcast`, and the adjoints of a
product, which know the shape of `a @ b` by `a` and `b`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import ir
from .algebra import is_literal, product_of
from .analyses import REDUCTION, Asking, patterns_of
from .effects import effect_of
from .facts import SUMMING_RUNTIME, Facts, runtime_name
from .shapes import is_number

_SUMMING = ("unbroadcast", *SUMMING_RUNTIME)


def absorb_reductions(function: ir.Function, facts: Facts) -> ir.Function:
    """Leave out a sum over broadcast axes whose readers sum.

    >>> from tangentlike import runtime
    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program('''t_bar = unbroadcast(g, t)
    ... a_bar = matmul_bar_a(t_bar, a, b)
    ... b_bar = matmul_bar_b(t_bar, a, b)
    ... return a_bar, b_bar''', vars(runtime)))
    >>> print(show(absorb_reductions(f, Facts()).body))
    t_bar = g
    a_bar = matmul_bar_a(t_bar, a, b)
    b_bar = matmul_bar_b(t_bar, a, b)
    return a_bar, b_bar
    """
    return _Absorbing(function, facts).rewritten(function)


class _Absorbing(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        out = []
        sums = any(patterns_of(stmt) & REDUCTION for stmt in block)
        popped = {name for stmt in block if sums and _is_pop(stmt) for name in ir.binds(stmt)}
        for position, stmt in enumerate(block):
            new: ir.Stmt = self.nested(stmt)
            match stmt:
                case ir.Assign(target=str(name), value=ir.Call(args=(g, ir.Var(like)))) if (
                    patterns_of(stmt) & REDUCTION
                ):
                    if _is_sum(stmt.value) and stmt.origin.role == "adjoint":
                        kept_for_it = like in popped and self._kept_for(like, block, position)
                        if self._is_summed(name, stmt, block[position + 1 :], kept_for_it):
                            new = ir.Assign(name, g, stmt.origin)
            out.append(new)
        return ir.unless_same(out, block)

    def _kept_for(self, like: str, block: ir.Block, position: int) -> bool:
        """Whether a value comes from a stack for this statement alone."""
        for stmt in reversed(block[:position]):
            if like in ir.binds(stmt):
                return _is_pop(stmt) and not self.live.is_live_after(block[position], like)
            if like in effect_of(stmt, self.facts).reads:
                return False
        return False

    def _is_summed(
        self, name: str, definition: ir.Stmt, following: Sequence[ir.Stmt], kept_for_it: bool
    ) -> bool:
        """Whether every reader of the value sums over broadcast axes; `kept_for_it`: also one
        that would not have to."""
        if name in self.pinned:
            return False
        last, read = definition, False
        for position, stmt in enumerate(following):
            if not self.live.is_live_after(last, name):
                return read
            if name in effect_of(stmt, self.facts).reads:
                read = True
                if ir.is_compound(stmt) or name in ir.binds(stmt):
                    return False
                if not self._sums(stmt, name, following[position + 1 :], kept_for_it):
                    return False
            last = stmt
        return read and not self.live.is_live_after(last, name)

    def _sums(
        self, stmt: ir.Stmt, name: str, following: Sequence[ir.Stmt], kept_for_it: bool
    ) -> bool:
        match stmt:
            case ir.Assign(target=str(scaled), value=value) if _is_multiple(
                value, name, self.facts
            ):
                ours = stmt.origin.role == "adjoint"
                return ours and self._is_summed(scaled, stmt, following, kept_for_it)
        allowed = _SUMMING if kept_for_it else SUMMING_RUNTIME
        return all(_only_in(expr, name, allowed, self.facts) for expr in ir.expressions(stmt))


def _is_sum(expr: ir.Expr) -> bool:
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(_, _), kwargs=()):
            return runtime_name(obj) == "unbroadcast"
    return False


def _is_pop(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Attribute(ir.Var(), "pop"), args=())):
            return True
    return False


def _is_multiple(expr: ir.Expr, name: str, facts: Facts) -> bool:
    """Whether an expression is the value of the name, times numbers."""
    if isinstance(expr, ir.Var) or is_literal(expr):
        return False
    product = product_of(expr)
    others = [f for f in product.factors if f != ir.Var(name)]
    return len(others) + 1 == len(product.factors) and all(
        is_number(part, facts) for part in (*others, *product.divisors)
    )


def _only_in(expr: ir.Expr, name: str, summing: Sequence[str], facts: Facts) -> bool:
    """Whether a name occurs only where a sum over broadcast axes is taken of it."""
    match expr:
        case ir.Var():
            return expr.name != name
        case ir.Call(fn=ir.Ref(obj=obj), args=(first, *others)) if runtime_name(obj) in summing:
            parts = [first, *others, *(value for _, value in expr.kwargs)]
            if first == ir.Var(name) or _is_multiple(first, name, facts):
                parts = parts[1:]
            return all(_only_in(part, name, summing, facts) for part in parts)
    return all(_only_in(part, name, summing, facts) for part in ir.children(expr))
