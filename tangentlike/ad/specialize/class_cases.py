"""Objects of one of several classes: each class has its own method, and the run says which.

before::                         after::
    for layer in layers:             for layer in layers:
        h = layer(h)                     if type(layer) is Dense:
                                             h = Dense_call(layer, h)
                                         else:
                                             h = Dropout_call(layer, h)

What the classes may be is a fact about a name (`Kind.among`), joined from all that it may stand
for. The last case asks nothing: the method that it calls checks the class itself.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Mapping

from ... import ir
from ...frontend.structures import sets_attribute
from ...ir.kind import FUNCTION, UNKNOWN, Kind
from ...ir.names import Names
from ...runtime import plain_function, require_class
from .method_lookup import BINARY, UNARY

_IS = ir.Ref("is", operator.is_)
_PLAIN = ir.Ref("plain_function", plain_function)
_TYPE = ir.Ref("type", type)


def by_class(
    stmt: ir.Stmt,
    kinds: Mapping[str, Kind],
    spelled: Callable[[ir.Stmt, Mapping[str, Kind]], ir.Stmt],
    names: Names,
) -> ir.Stmt | None:
    """A statement that asks something of an object of one of several classes, as a branch for
    each; None for any other. `spelled` gives the statement where names have certain kinds."""
    for name in sorted(_asked(stmt)):
        among = [k for k in kinds.get(name, UNKNOWN).among if _may_have(k, name, stmt)]
        cases = [(kind, spelled(stmt, {**kinds, name: kind})) for kind in among]
        if all(case == stmt for _, case in cases):
            continue
        made: ir.Block = (cases[-1][1],)
        if cases[-1][0] == FUNCTION:
            made = _of_function(stmt, name, names)
        for kind, case in cases[-2::-1]:
            assert kind.cls is not None
            same = (ir.Call(_TYPE, (ir.Var(name),)), ir.Ref(kind.cls.__name__, kind.cls))
            made = (ir.If(ir.Call(_IS, same), (case,), made, stmt.origin),)
        return made[0]
    return None


def _of_function(stmt: ir.Stmt, name: str, names: Names) -> ir.Block:
    """`h = layer(h)` where `layer` is a function, which has no values of its own:
    `function = plain_function(layer); h = function(h)`."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Var(called)) as call) if called == name:
            function = names.fresh("function")
            checked = ir.Call(_PLAIN, (ir.Var(name),), at=stmt.origin.place)
            again = dataclasses.replace(call, fn=ir.Var(function))
            return (
                ir.Assign(function, checked, stmt.origin),
                dataclasses.replace(stmt, value=again),
            )
    return (stmt,)


def checked_classes(function: ir.Function) -> dict[str, type]:
    """The parameters of which a function begins by checking the class (`require_class(p, A)`)."""
    found: dict[str, type] = {}
    for stmt in function.body:
        match stmt:
            case ir.Do(value=ir.Call(ir.Ref(obj=obj), (ir.Var(name), ir.Ref(obj=type() as cls)))):
                if obj is require_class:
                    found[name] = cls
            case _:
                break
    return found


def of_class(kind: Kind, cls: type) -> Kind:
    """What is known of an object of one of several classes, once its class is known."""
    return next((one for one in kind.among if one.cls is cls), kind)


def _asked(stmt: ir.Stmt) -> set[str]:
    """The names of objects whose methods a statement may call. (A function that is given an
    object asks it itself.)"""
    parts: tuple[ir.Expr, ...] = ()
    match stmt:
        case ir.Store(target=ir.Attribute(base) | ir.Index(base)):
            parts = (base,)
        case ir.Assign(value=value) | ir.Do(value=value):
            match value:
                case ir.Attribute(base) | ir.Index(base) | ir.Call(fn=ir.Attribute(base)):
                    parts = (base,)
                case ir.Call(fn=ir.Ref(obj=obj), args=args):
                    operators = callable(obj) and (obj in BINARY or obj in UNARY)
                    parts = args if operators else ()
                case ir.Call(fn=fn):
                    parts = (fn,)
    return {part.name for part in parts if isinstance(part, ir.Var)}


def _may_have(kind: Kind, name: str, stmt: ir.Stmt) -> bool:
    """Whether objects of a class may have the attribute that a statement asks for."""
    match getattr(stmt, "value", None):
        case ir.Call(fn=ir.Attribute(ir.Var(base), asked)) | ir.Attribute(ir.Var(base), asked):
            if base != name or kind.cls is None or asked in dict(kind.fields):
                return True
            if inspect.getattr_static(kind.cls, asked, None) is not None:
                return True
            return hasattr(kind.cls, "__getattr__") or sets_attribute(kind.cls, asked)
    return True
