"""Both adjoints of a division divide by the same: the second may read the first.

difference_bar = ratio_bar / d
d_bar -= ratio_bar * (ratio / d)          becomes        d_bar -= difference_bar * ratio
"""

from __future__ import annotations

from ... import ir
from .algebra import DIV, MUL, NEG, Product, build, product_of
from .analyses import Asking
from .effects import Effect, effect_of, expr_effect
from .facts import Facts
from .sharing import is_float


def share_quotients(function: ir.Function, facts: Facts) -> ir.Function:
    """Read a quotient that has a name where its parts are divided and multiplied again.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program("a_bar = y_bar / b; b_bar = -y_bar * (y / b); return a_bar, b_bar"))
    >>> facts = Facts(floating=frozenset(["a_bar", "y_bar"]))
    >>> print(show(share_quotients(f, facts).body))
    a_bar = y_bar / b
    b_bar = -a_bar * y
    return a_bar, b_bar
    """
    return _Quotients(function, facts).rewritten(function)


class _Quotients(Asking):
    def block(self, block: ir.Block) -> ir.Block:
        out = [self.nested(stmt) for stmt in block]
        for position, stmt in enumerate(block):
            match stmt:
                case ir.Assign(target=str(name), value=ir.Call(fn=fn, args=(ir.Var(over), under))):
                    if fn != DIV or stmt.origin.role != "adjoint" or name == over:
                        continue
                    read = expr_effect(stmt.value, self.facts, True)
                    if read.silent and name not in read.reads:
                        self._reuse(name, over, under, read, out, position + 1)
        return ir.unless_same(out, block)

    def _reuse(
        self, name: str, over: str, under: ir.Expr, read: Effect, out: list[ir.Stmt], start: int
    ) -> None:
        """Rewrite the statements up to the first that changes the quotient or what it is of."""
        parts = sorted(read.content | {name})
        for at in range(start, len(out)):
            stmt = out[at]
            if ir.blocks(stmt):
                return
            if stmt.origin.role == "adjoint":
                out[at] = ir.map_statement(
                    stmt, expr=lambda e: self._replaced(e, name, over, under)
                )
            effect = effect_of(stmt, self.facts)
            if effect.binds & (read.reads | {name}) or self.sharing.meet(parts, effect.writes):
                return

    def _replaced(self, expr: ir.Expr, name: str, over: str, under: ir.Expr) -> ir.Expr:
        """`over * (y / under)` as `name * y`."""
        if isinstance(expr, ir.Call) and expr.fn in (MUL, NEG):
            product = product_of(expr)
            for at, factor in enumerate(product.factors):
                match factor:
                    case ir.Call(fn=fn, args=(y, below)) if fn == DIV and below == under:
                        if ir.Var(over) in product.factors:
                            return self._with_quotient(product, at, y, name, over)
        return ir.rebuild(expr, lambda part: self._replaced(part, name, over, under))

    def _with_quotient(
        self, product: Product, at: int, y: ir.Expr, name: str, over: str
    ) -> ir.Expr:
        factors = list(product.factors)
        factors[at] = y
        factors[factors.index(ir.Var(over))] = ir.Var(name)
        shared = Product(product.coefficient, tuple(factors), product.divisors)
        return build(shared, lambda e: is_float(e, self.facts))
