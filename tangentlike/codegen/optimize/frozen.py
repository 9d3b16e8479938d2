"""Attributes of frozen objects: a cached property stores what it computed nonetheless."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeGuard

from ... import ir
from ...runtime import is_stored, require_class, store_in_frozen
from ...runtime.containers import is_frozen
from .facts import DERIVED_NAME, Facts

_STORE = ir.Ref(store_in_frozen.__name__, store_in_frozen)


def stored_in_frozen(
    functions: tuple[ir.Function, ...], facts: Mapping[str, Facts]
) -> tuple[ir.Function, ...]:
    """The functions as they run, with stores that the class of an object does not refuse.

    before::                            after::
        self.norm = computed(self)          store_in_frozen(self, 'norm', computed(self))
    """
    parts = (part for function in functions for part in ir.walk_block(function.body))
    cached = {part.args[1] for part in parts if _calls(part, is_stored)}
    return tuple(_stored_in(f, facts[f.name], cached) for f in functions) if cached else functions


def _stored_in(function: ir.Function, facts: Facts, cached: Collection[ir.Expr]) -> ir.Function:
    classes: dict[ir.Expr, type] = {}
    for part in ir.walk_block(function.body):
        match part:
            case ir.Call(args=(own, ir.Ref(obj=cls), *_)) if _calls(part, require_class):
                classes[own] = cls

    def may_be_frozen(name: str) -> bool:
        derived = DERIVED_NAME.match(name)  # (a tangent that is given may be such an object, too)
        names = (name, derived["primal"]) if derived else (name,)
        known = [classes.get(ir.Var(n), facts.kind(n).cls) for n in names]
        return any(cls is None or is_frozen(cls) for cls in known)

    def statement(stmt: ir.Stmt) -> ir.Stmt | None:
        match stmt:
            case ir.Store(target=ir.Attribute(ir.Var(name) as base, attribute), value=value):
                if ir.Const(attribute) in cached and may_be_frozen(name):
                    given = (base, ir.Const(attribute), value)
                    return ir.Do(ir.Call(_STORE, given, at=stmt.origin.place), stmt.origin)
        return None

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _calls(part: ir.Expr, fn: object) -> TypeGuard[ir.Call]:
    return isinstance(part, ir.Call) and getattr(part.fn, "obj", None) is fn
