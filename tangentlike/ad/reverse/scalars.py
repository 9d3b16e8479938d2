"""Arrays that may have rank 0, and whose adjoints are written in place.

What NumPy computes of arrays of rank 0 are scalars: after `y_bar = 2.0 * y`, NumPy refuses
`y_bar[...] = 0.0`. The adjoints of these names are made arrays before they are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import ir
from ...analysis.aliases import Aliases
from ...analysis.memory import key_parts
from ..context import Context

_FORMS = ("array", "value")


def written_scalars(function: ir.Function, aliases: Aliases, context: Context) -> frozenset[str]:
    """The names of such arrays: no key that they are read or written by tells that they have axes.

    `y[...] = v` with `y` of any rank; not `y[i] = v`, nor `y[1:] = v`.
    """
    looked_at: dict[str, bool] = {}  # name -> whether it surely has axes
    for stmt in ir.statements(function.body):
        for item in _items(stmt):
            if isinstance(item.base, ir.Var):
                name = item.base.name
                looked_at[name] = looked_at.get(name, False) or not _is_whole(item.key)
    names = {*function.param_names, *looked_at}
    if aliases.written:
        names.update(name for stmt in ir.statements(function.body) for name in ir.binds(stmt))
    return frozenset(n for n in names if _may_be(n, looked_at, aliases, context))


def _may_be(name: str, looked_at: dict[str, bool], aliases: Aliases, context: Context) -> bool:
    kind = context.kind_of(ir.Var(name))
    if kind.rank or looked_at.get(name, False):
        return False
    if kind.form == "unknown":
        return name in looked_at  # (by `...`, which is the key of arrays and numbers only)
    return kind.form in _FORMS and (aliases.is_written(name) or name in looked_at)


def _items(stmt: ir.Stmt) -> Iterator[ir.Index]:
    target = getattr(stmt, "target", None)
    for expr in (*ir.expressions(stmt), *([target] if isinstance(target, ir.Index) else [])):
        yield from (part for part in ir.walk(expr) if isinstance(part, ir.Index))


def _is_whole(key: ir.Expr) -> bool:
    """Whether a key is one that an array of rank 0 has: `...`, `()`, `(..., None)`."""
    return all(part in (ir.Const(Ellipsis), ir.Const(None)) for part in key_parts(key))
