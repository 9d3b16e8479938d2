"""Calls of `functools.singledispatch` functions: the run says which function it is.

before::                                after::
    y = area(shape, scale)                  dispatched = area.dispatch(type(shape))
                                            y = dispatched(shape, scale)

What is called then is a function that only the running program knows, derived when it comes there.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import ir
from ..ir.names import Names
from .book import default_book

if TYPE_CHECKING:
    from ..frontend.lower import Lowered


def dispatch_spelled(lowered: Lowered) -> Lowered:
    """A lowered function without calls of functions that dispatch on the type of an argument."""
    every = list(ir.statements(lowered.function.body))
    if not any(_dispatching(stmt) for stmt in every):
        return lowered
    bound = {name for stmt in every for name in (*ir.binds(stmt), *ir.reads(stmt))}
    names, made = Names({*bound, *lowered.function.param_names}), set[str]()

    def parts(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        call = _dispatching(stmt)
        if call is None:
            yield stmt
            return
        assert isinstance(stmt, ir.Assign) and isinstance(call.fn, ir.Ref)
        kind = ir.Call(ir.Ref("type", type), call.args[:1], at=call.at)
        asked = ir.Attribute(call.fn, "dispatch", call.at)
        of_type, name = names.fresh("of_type"), names.fresh("dispatched")
        made.update((of_type, name))
        yield ir.Assign(of_type, kind, stmt.origin)
        yield ir.Assign(name, ir.Call(asked, (ir.Var(of_type),), at=call.at), stmt.origin)
        yield dataclasses.replace(stmt, value=dataclasses.replace(call, fn=ir.Var(name)))

    body = ir.rewrite(lowered.function.body, after=parts)
    return lowered.with_body(body, made)


def _dispatching(stmt: ir.Stmt) -> ir.Call | None:
    """The call of such a function that a statement makes."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(obj=obj), args=(first, *_)) as call):
            if _is_dispatcher(obj) and not ir.is_starred(first):
                return call if default_book().find(obj) is None else None
    return None


def _is_dispatcher(obj: Any) -> bool:
    """Whether an object is what `functools.singledispatch` makes of a function."""
    if not isinstance(obj, types.FunctionType) or obj.__globals__ is not vars(functools):
        return False
    return all(hasattr(obj, name) for name in ("dispatch", "registry", "register"))
