"""Constructors that pass their arguments on: `*args` and `**options` as what the parent takes.

before::                                        after::
    def __init__(self, n, *args, **options):        def __init__(self, n, w, rate=0.1):
        super().__init__(*args, **options)              super().__init__(w, rate=rate)
        self.n = n                                      self.n = n
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .. import ir
from ..frontend.lower import Lowered, lower

_STARRED = ("*", "**")


def arguments_passed_on(lowered: Lowered, parent: Callable[[Lowered, str], Any]) -> Lowered:
    """The function with the parameters of its parent's `__init__` where it only passes them on;
    `parent` gives what `super().name` is."""
    function = lowered.function
    starred = {p.name for p in function.params if p.kind in _STARRED}
    found = [stmt for stmt in function.body if _passes(stmt, starred)]
    uses = [s for s in ir.statements(function.body) if starred & (ir.reads(s) | set(ir.binds(s)))]
    init = parent(lowered, "__init__") if starred and len(found) == 1 else None
    if init is None or len(uses) != 1 or not hasattr(init, "__code__"):
        return lowered
    stmt = found[0]
    assert isinstance(stmt, ir.Do) and isinstance(stmt.value, ir.Call)
    taken = arguments_passed_on(lower(init), parent).function.params[1:]
    params = _taken(stmt.value, taken)
    own = {name for s in ir.statements(function.body) for name in ir.binds(s)}
    own |= set(function.param_names)
    if params is None or own & {p.name for p in params}:
        return lowered
    plain = [p for p in function.params if p.kind not in _STARRED]
    by_position = any(p.kind == "*" for p in function.params)
    defaults = any(p.default is not None for p in plain if p.kind != "keyword")
    if not by_position or (defaults and any(p.default is None for p in params)):
        params = [dataclasses.replace(p, kind="keyword") for p in params]
    given = tuple(a for a in stmt.value.args if not ir.is_starred(a))
    words = tuple((p.name, ir.Var(p.name)) for p in params)
    call = dataclasses.replace(stmt.value, args=given, kwargs=(*stmt.value.kwargs, *words))
    at = function.body.index(stmt)
    body = (
        *function.body[:at],
        dataclasses.replace(stmt, value=call),
        *function.body[at + 1 :],
    )
    first = [p for p in plain if p.kind != "keyword"]
    last = [p for p in plain if p.kind == "keyword"]
    again = dataclasses.replace(function, params=(*first, *params, *last), body=body)
    return dataclasses.replace(lowered, function=again)


def _passes(stmt: ir.Stmt, starred: set[str]) -> bool:
    """Whether it is `parent.__init__(..., *args, **options)` with all that a function is given."""
    match stmt:
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(), "__init__"), args=args)):
            passed = {n for a in args if isinstance(a, ir.Opaque) for n in a.names}
            return bool(starred) and passed == starred
    return False


def _taken(call: ir.Call, params: tuple[ir.Param, ...]) -> list[ir.Param] | None:
    """The parameters of the parent that the call itself does not give; None where they are
    starred again, or have defaults that mean something else here."""
    count = sum(1 for arg in call.args if not ir.is_starred(arg))
    words = {word for word, _ in call.kwargs}
    left = [p for p in params[count:] if p.name not in words]
    plain = all(p.kind in ("any", "keyword") and _is_constant(p.default) for p in left)
    return left if plain else None


def _is_constant(default: ir.Expr | None) -> bool:
    return default is None or isinstance(default, ir.Const)
