"""Functions that are looked up in a table of the module, and called: `TABLE[key](x)`.

Such a name stands for a function, which carries no derivative and shares no memory with anything:
where it is called with what carries derivatives the run asks whether it is a plain function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import ir
from ..frontend.structures import is_function


def called_items(function: ir.Function) -> frozenset[str]:
    """The names that are items of outer dicts and lists of functions wherever they are bound, and
    of which nothing is asked but to be called."""
    found: set[str] = set()
    others = set(function.param_names)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Index(ir.Ref(obj=table), key)):
                fits = not isinstance(key, ir.Slice) and _holds_functions(table)
                (found if fits else others).add(name)
            case _:
                others.update(ir.binds(stmt))
    if not found - others:
        return frozenset()
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            others.update(_asked(expr))
    return frozenset(found - others)


def _holds_functions(table: Any) -> bool:
    if not isinstance(table, (dict, list, tuple)) or not table:
        return False
    return all(map(is_function, table.values() if isinstance(table, dict) else table))


def _asked(expr: ir.Expr) -> Iterator[str]:
    """The names in an expression that are used otherwise than by a call."""
    if isinstance(expr, ir.Var):
        yield expr.name
        return
    called = isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Var)
    for part in ir.children(expr)[1:] if called else ir.children(expr):
        yield from _asked(part)
