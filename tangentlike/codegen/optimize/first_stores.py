"""Entries of an array of zeros to which something is added for the first time are given it.

The last thing done to a text that is run, not to one that is differentiated again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ... import ir
from ...analysis.memory import surely_basic
from ...ir.kind import Kind
from ...rules.index_kinds import key_parts
from .accumulate import IADD, ISUB
from .algebra import ADD, SUB, build, is_operation, ordered, product_of
from .analyses import Asking
from .effects import effect_of
from .facts import DERIVED_NAME, Facts, numpy_name


def stored_first(
    functions: Sequence[ir.Function], facts: Mapping[str, Facts]
) -> tuple[ir.Function, ...]:
    """The functions of a module with stores for what is added to zeros.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .rewriting import derived
    >>> f = derived(program('''x_bar = np.zeros_like(x)
    ... x_bar[2] -= 3.0 * d
    ... x_bar[0] += d
    ... x_bar[0] += e
    ... x_bar[1:] += e
    ... return x_bar'''))
    >>> known = {"x": Kind("array", "float", ("n!",))}
    >>> print(show(stored_first((f,), {f.name: Facts(kinds=known)})[0].body))
    x_bar = np.zeros_like(x)
    x_bar[2] = -3.0 * d
    x_bar[0] = d
    x_bar[0] += e
    x_bar[1:] += e
    return x_bar
    """
    known = ((f, facts.get(f.name)) for f in functions)
    return tuple(f if k is None else _First(f, k).function(f) for f, k in known)


class _First(Asking):
    def function(self, function: ir.Function) -> ir.Function:
        """The function, where its adjoints are real numbers, each with a name."""
        plain = self.facts.real and not self.facts.by_identity
        stmts = ir.statements(function.body) if plain else ()
        adds = any(type(s) is ir.Update and type(s.target) is ir.Index for s in stmts)
        return self.rewritten(function) if adds else function

    def block(self, block: ir.Block) -> ir.Block:
        zeros: dict[str, list[ir.Expr]] = {}  # the keys at which something was added
        out: list[ir.Stmt] = []
        for stmt in block:
            new = self.nested(stmt)
            match stmt:
                case ir.Update(ir.Index(ir.Var(name), key), op=op, value=value) if (
                    name in zeros and op in (IADD, ISUB) and name not in ir.names_in(value)
                ):
                    new = self._stored(stmt, name, key, zeros[name])
                    zeros[name].append(key)
                case _:
                    effect = effect_of(stmt, self.facts)
                    zeros = {
                        name: keys
                        for name, keys in zeros.items()
                        if name not in effect.reads | effect.binds
                        and effect.binds.isdisjoint(n for key in keys for n in ir.names_in(key))
                    }
                    made = _made_of_zeros(stmt)
                    if made is not None:
                        zeros[made] = []
            out.append(new)
        return ir.unless_same(out, block)

    def _stored(
        self, stmt: ir.Update, name: str, key: ir.Expr, before: Sequence[ir.Expr]
    ) -> ir.Stmt:
        basic = surely_basic(key, self._kind_of) and name not in ir.names_in(key)
        if not basic or not all(_are_apart(key, other) for other in before):
            return stmt
        value = stmt.value
        if stmt.op == ISUB:
            if (
                is_operation(value, ADD)
                or is_operation(value, SUB)
                or not self._is_entry(name, key)
            ):
                return stmt  # (an array would be made for the sign)
            product = product_of(value)
            product = dataclasses.replace(product, coefficient=-product.coefficient)
            value = build(ordered(product), lambda e: True)
        return ir.Store(ir.Index(ir.Var(name), key), value, stmt.origin)

    def _is_entry(self, name: str, key: ir.Expr) -> bool:
        """Whether a key selects one number."""
        found = DERIVED_NAME.match(name)
        rank = self.facts.kind(found["primal"] if found else name).rank
        parts = key_parts(key)
        whole = all(self._kind_of(part).integer or _is_integer(part) for part in parts)
        return whole and len(parts) == rank

    def _kind_of(self, expr: ir.Expr) -> Kind:
        return self.facts.kind(expr.name) if isinstance(expr, ir.Var) else Kind()


def _made_of_zeros(stmt: ir.Stmt) -> str | None:
    match stmt:
        case ir.Assign(str(name), ir.Call(ir.Ref(obj=obj), (ir.Var(like),), ())) if name != like:
            derived = stmt.origin.role == "adjoint"
            return name if derived and numpy_name(obj) == "zeros_like" else None
    return None


def _is_integer(part: ir.Expr) -> bool:
    return isinstance(part, ir.Const) and type(part.value) is int


def _are_apart(key: ir.Expr, other: ir.Expr) -> bool:
    """Whether two keys surely select different entries: at some axis there are two integers, or
    slices of which the one ends where the other begins."""
    for one, two in zip(key_parts(key), key_parts(other), strict=False):
        if not all(_is_integer(part) or isinstance(part, ir.Slice) for part in (one, two)):
            return False  # (what comes after it stands for other axes)
        match one, two:
            case ir.Const(int(i)), ir.Const(int(j)) if i != j and (i < 0) == (j < 0):
                return True
            case ir.Slice(lower, upper, None), ir.Slice(low, up, None):
                if (upper is not None and upper == low) or (up is not None and up == lower):
                    return True
    return False
