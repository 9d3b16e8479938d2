"""Loop headers that a reverse sweep can run again: nothing they name changes in the loop."""

from __future__ import annotations

import dataclasses

from .. import ir
from ..ir import Assign, Call, Expr, For, Function, Opaque, Target, Var
from ..ir.names import Names
from .naming import names_of, noun
from .operands import is_atom, is_shape_query
from .webs import Reaching, reaching


def copied_with(function: Function, found: Reaching, names: Names) -> tuple[Function, Reaching]:
    """Give a loop variable that is rebound in the body, or read after the loop, a name of its own.
    `found` are the definitions that reach; those of the result are returned with it.

    before::                    after::
        for i in range(n):          for i_it in range(n):
            i = i + 1                   i = i_it
            s = s + i                   i = i + 1
                                        s = s + i
    """
    if not any(found.escaping):
        return function, found
    escaping = iter(found.escaping)
    copies = ir.Loops(lambda loop: (_copy(loop, next(escaping), names),))
    function = copies.rewritten(function)
    return function, reaching(function)


def _copy(loop: For, escaping: frozenset[str], names: Names) -> For:
    fresh = {
        name: names.fresh(f"{name}_it" if name.strip("_") else "k")
        for name in dict.fromkeys(ir.target_names(loop.target))
        if name in escaping
    }
    if not fresh:
        return loop
    copies = tuple(Assign(name, Var(own), loop.origin) for name, own in fresh.items())
    target: Target = ir.map_target(loop.target, lambda n: fresh.get(n, n))
    return dataclasses.replace(loop, target=target, body=(*copies, *loop.body))


def spread_headers(function: Function, names: Names) -> Function:
    """Name the items that `zip` and `enumerate` put side by side, where the loop names their tuple.

    before::                       after::
        for p in zip(xs, ys):          for p_xs, p_ys in zip(xs, ys):
            s = s + p[0] * p[1]            p = (p_xs, p_ys)
                                           s = s + p[0] * p[1]
    """

    def spread(loop: For) -> tuple[For]:
        made: list[ir.Stmt] = []

        def parts(target: Target, iterable: Expr) -> Target:
            items = _side_by_side(iterable)
            if items and isinstance(target, str):
                own = tuple(names.fresh(f"{target}_{word}") for word, _ in items)
                made.append(Assign(target, ir.Display("tuple", tuple(map(Var, own))), loop.origin))
                target = own
            if len(target) != len(items):
                return target
            return tuple(parts(t, part) for t, (_, part) in zip(target, items, strict=True))

        target = parts(loop.target, loop.iter)
        if not made:
            return (loop,)
        return (dataclasses.replace(loop, target=target, body=(*reversed(made), *loop.body)),)

    return ir.Loops(spread).rewritten(function)


def _side_by_side(iterable: Expr) -> list[tuple[str, Expr]]:
    """What a header puts side by side, with a word for each; nothing where it gives one item, or
    it is not known how many."""
    match iterable:
        case Call(fn=ir.Ref(obj=obj) as fn, args=args) if not any(map(ir.is_starred, args)):
            found = [(a.name if isinstance(a, Var) else str(n), a) for n, a in enumerate(args)]
            if obj is zip:
                return found
            if obj is enumerate:
                return [("count", fn), *found[:1]]
    return []


def fix_headers(function: Function, names: Names | None = None) -> Function:
    """Name what a loop header reads where the loop, or later code, changes it.

    before::                    after::
        for i in range(n):          n_old = n
            n = n - i               for i in range(n_old):
                                        n = n - i
    """
    names = names_of(function) if names is None else names

    def fixed(loop: For) -> list[ir.Stmt]:
        changed = frozenset(n for s in ir.statements(loop.body) for n in ir.binds(s))
        before: list[ir.Stmt] = []
        loop = _fix(loop, changed, names, before)
        return [*before, loop]

    return ir.Loops(fixed).rewritten(function)


def _fix(
    loop: For,
    changed: frozenset[str],
    names: Names,
    out: list[ir.Stmt],
) -> For:
    def operand(expr: Expr) -> Expr:
        whole = is_atom(expr) or is_shape_query(expr) or isinstance(expr, Opaque)
        if whole and ir.names_in(expr) & changed:
            name = names.fresh(noun(expr))
            out.append(Assign(name, expr, loop.origin))
            return Var(name)
        if isinstance(expr, Call) and not is_shape_query(expr):
            return ir.rebuild(expr, operand)
        return expr

    iterable = operand(loop.iter)
    return loop if iterable is loop.iter else dataclasses.replace(loop, iter=iterable)
