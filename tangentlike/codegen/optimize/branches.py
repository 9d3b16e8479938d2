"""Branches: zeros that both assign, ternaries that lowering opened, empty sides."""

from __future__ import annotations

import operator
from collections.abc import Iterator

from ... import ir
from .effects import NOTHING, Effect, effect_of, expr_effect, is_trusted
from .facts import Facts, numpy_name, runtime_name

_NOT = ir.Ref("not", operator.not_)
_OPPOSITE = {
    operator.is_: ir.Ref("is not", operator.is_not),
    operator.is_not: ir.Ref("is", operator.is_),
}


def tidy_branches(function: ir.Function, facts: Facts) -> ir.Function:
    """No empty first branch, no `if` around nothing, ternaries as the user wrote them.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> f = program('''if c:
    ...     t = a
    ... else:
    ...     t = 0.0
    ... return t''')
    >>> print(show(tidy_branches(f, Facts(temporaries=frozenset("t"))).body))
    t = a if c else 0.0
    return t
    """

    def one(stmt: ir.Stmt) -> Iterator[ir.Stmt] | None:
        branch = isinstance(stmt, ir.If) and not isinstance(stmt, ir.Try)
        return _tidied(stmt, facts) if branch else None  # type: ignore[arg-type]

    return ir.with_body(function, ir.rewrite(function.body, after=one))


def _tidied(stmt: ir.If, facts: Facts) -> Iterator[ir.Stmt]:
    if not stmt.body and not stmt.orelse:
        if not expr_effect(stmt.test, facts, is_trusted(stmt)).silent:
            yield ir.Do(stmt.test, stmt.origin)
    elif not stmt.body:
        yield ir.If(_negated(stmt.test), stmt.orelse, (), stmt.origin)
    else:
        yield _as_ternary(stmt, facts) or stmt


def _negated(test: ir.Expr) -> ir.Expr:
    """`not test`; only `is` has an opposite that is the same for every operand, NaN included."""
    if isinstance(test, ir.Call) and isinstance(test.fn, ir.Ref):
        if test.fn == _NOT:
            return test.args[0]
        if test.fn.obj in (operator.is_, operator.is_not):
            return ir.Call(_OPPOSITE[test.fn.obj], test.args, test.kwargs, test.at)
    return ir.Call(_NOT, (test,))


def _as_ternary(stmt: ir.If, facts: Facts) -> ir.Stmt | None:
    """An `if` that gives a flattening temporary one of two values is a conditional expression."""
    if len(stmt.body) != 1 or len(stmt.orelse) != 1 or stmt.origin.role != "primal":
        return None
    match stmt.body[0], stmt.orelse[0]:
        case (
            ir.Assign(target=str(name), value=then, origin=origin),
            ir.Assign(target=str(other), value=otherwise),
        ) if name == other and name in facts.temporaries:
            value = ir.Lazy("if", (stmt.test, then, otherwise))
            return ir.Assign(name, value, origin)
    return None


def sink_zeros(function: ir.Function, facts: Facts) -> ir.Function:
    """Move a zero into the branches when both add to it, so that each assigns its first value.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from .facts import derived
    >>> f = derived(program('''t_bar = 0.0
    ... if c:
    ...     t_bar += g
    ... else:
    ...     t_bar -= g
    ... return t_bar'''))
    >>> print(show(sink_zeros(f, Facts()).body))
    if c:
        t_bar = 0.0
        t_bar += g
    else:
        t_bar = 0.0
        t_bar -= g
    return t_bar
    """

    return _Sinking(facts).rewritten(function)


class _Sinking(ir.Rewriter):
    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt | None] = []
        zeros: dict[str, int] = {}
        for stmt in block:
            if isinstance(stmt, ir.If) and not isinstance(stmt, ir.Try) and zeros:
                stmt = _sunk(stmt, zeros, out, self.facts)
            new = self.nested(stmt)
            effect = effect_of(new, self.facts)
            touched = effect.reads | effect.binds
            for name in [n for n, at in zeros.items() if n in touched or _reads(out[at], effect)]:
                del zeros[name]
            out.append(new)
            if _is_zero(new):
                assert isinstance(new, ir.Assign)
                zeros[str(new.target)] = len(out) - 1
        return ir.unless_same([s for s in out if s is not None], block)


def _reads(zero: ir.Stmt | None, effect: Effect) -> bool:
    """Whether what the zero is made from was bound again meanwhile."""
    return zero is not None and not ir.reads(zero).isdisjoint(effect.binds)


def _sunk(stmt: ir.If, zeros: dict[str, int], out: list[ir.Stmt | None], facts: Facts) -> ir.If:
    test = ir.names_in(stmt.test)
    for name in sorted(zeros):
        if name in test or not expr_effect(stmt.test, facts, True).silent:
            continue
        if _first_added(stmt.body, name, facts) and _first_added(stmt.orelse, name, facts):
            zero = out[zeros[name]]
            assert isinstance(zero, ir.Assign)
            out[zeros.pop(name)] = None
            copies = [ir.Assign(zero.target, zero.value, zero.origin) for _ in range(2)]
            stmt = ir.If(stmt.test, (copies[0], *stmt.body), (copies[1], *stmt.orelse), stmt.origin)
    return stmt


def _first_added(block: ir.Block, name: str, facts: Facts) -> bool:
    """Whether the first a block does with a name is to assign it or add to it."""
    bound = NOTHING
    for stmt in block:
        effect = effect_of(stmt, facts)
        if name not in effect.reads and name not in effect.binds:
            bound |= effect.binds
            continue
        match stmt:
            case ir.Update(target=ir.Var(target), value=value):
                return target == name and name not in ir.names_in(value)
            case ir.Assign(target=target, value=value):
                return target == name and name not in ir.names_in(value)
            case ir.If(test=test, body=body, orelse=orelse):
                if name in ir.names_in(test):
                    return False
                return _first_added(body, name, facts) and _first_added(orelse, name, facts)
            case _:
                return False
    return False


def _is_zero(stmt: ir.Stmt) -> bool:
    if stmt.origin.role not in ("adjoint", "tangent"):
        return False
    match stmt:
        case ir.Assign(target=str(), value=ir.Const(value)):
            return type(value) is float and value == 0.0
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(),))):
            return (runtime_name(obj) or numpy_name(obj)) == "zeros_like"
        case _:
            return False
