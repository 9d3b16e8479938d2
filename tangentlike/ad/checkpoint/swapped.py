"""Arrays that a checkpointed loop writes in place and hands on under other names.

    for t in tl.checkpointed(range(n)):          a round of the loop begins with
        new[1:-1] = f(u)                             u = copy(u)
        u, new = new, u                              new = copy(new)

so that it writes nothing but arrays of its own, and its state is what it hands on. Nobody can
tell the difference as long as no other name sees what the rounds write.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import ir
from ...analysis.memory import Sources
from ...analysis.sharing import Sharing, owner
from ...analysis.structure import structure
from .outline import mark_of, strip

Swapped = dict[int, tuple[str, ...]]


def swapped_arrays(function: ir.Function, sources: Sources) -> tuple[Swapped, frozenset[str]]:
    """The names of arrays that each checkpointed loop (by its id) both writes and binds anew, where
    the rounds may write copies instead; and the parameters that the function changes."""
    plain = strip(function)
    sharing = Sharing(structure(plain), sources, function.param_names)
    seen = {owner(node) for pair in sharing.conflicts for node in pair} | _outer(plain)
    found: Swapped = {}
    for loop in ir.statements(function.body):
        if mark_of(loop) is None or not isinstance(loop, ir.For | ir.While):
            continue
        inside = list(ir.statements(loop.body))
        written = {name for stmt in inside for name in sources.written(stmt)}
        bound = {n for s in inside if not isinstance(s, ir.Update) for n in ir.binds(s)}
        classes = {sharing.classes.get(n, n) for n in written}
        together = {owner(n) for n, c in sharing.classes.items() if c in classes} | written
        if written & bound and not together & seen:
            found[id(loop)] = tuple(sorted(together & bound))
    return found, frozenset(sharing.changed)


def _outer(function: ir.Function) -> set[str]:
    """Names that may stand for an object of no function, or a part of one."""
    return {
        name
        for stmt in ir.statements(function.body)
        for name in ir.binds(stmt)
        if any(isinstance(part, ir.Ref) for expr in ir.expressions(stmt) for part in _parts(expr))
    }


def _parts(expr: ir.Expr) -> Iterator[ir.Expr]:
    """What an expression may hand on as it is: not the functions that it calls."""
    yield expr
    match expr:
        case ir.Call(fn=ir.Ref(), args=args, kwargs=kwargs):
            inner = (*args, *(value for _, value in kwargs))
        case _:
            inner = ir.children(expr)
    for part in inner:
        yield from _parts(part)


__all__ = ["swapped_arrays"]
