"""Names of the outside that one function writes and another reads: refused.

A derivative reads such a name again in its reverse sweep, when it may mean something else. The
function that writes it reads it through opaque code, whose values are kept.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator
from typing import Any

from .. import ir
from ..errors import UnsupportedError
from ..frontend.owners import is_numerical, is_ours
from .flow import writes_outside

_STORES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL"))


def refuse_moving(functions: Iterable[ir.Function]) -> None:
    """Refuse functions of one file of which one reads a name that another one writes."""
    functions = tuple(functions)
    reads: dict[str, ir.Stmt] = {}
    written: set[str] = set()
    called: list[Any] = []
    for function in functions:
        for stmt in ir.statements(function.body):
            if isinstance(stmt, ir.OpaqueStmt) and writes_outside(stmt):
                written.add(stmt.text.partition(" = ")[0])
            for ref in _refs(stmt):
                if isinstance(ref.obj, types.FunctionType):
                    called.append(ref.obj)
                elif not callable(ref.obj) and not isinstance(ref.obj, types.ModuleType):
                    reads.setdefault(ref.text, stmt)
    if not reads:
        return
    for name in sorted(reads.keys() & (written | _stored(called))):
        raise UnsupportedError(
            f"`{name}` is read here, and a function that is called rebinds it",
            reads[name].origin.place,
            f"Declare `global {name}` here too, or pass it as an argument.",
        )


def _refs(stmt: ir.Stmt) -> Iterator[ir.Ref]:
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            if isinstance(part, ir.Ref):
                yield part
            elif isinstance(part, ir.Opaque):
                yield from (ref for ref in part.refs if callable(ref.obj))


def _stored(called: list[Any]) -> set[str]:
    """The globals that some functions write, or functions of globals that they name."""
    found: set[str] = set()
    seen: set[int] = set()
    while called:
        fn = called.pop()
        if id(fn) in seen or is_numerical(fn) or is_ours(fn):
            continue
        seen.add(id(fn))
        code = fn.__code__
        found.update(i.argval for i in dis.get_instructions(code) if i.opname in _STORES)
        named = (fn.__globals__.get(name) for name in code.co_names)
        called.extend(other for other in named if isinstance(other, types.FunctionType))
    return found
