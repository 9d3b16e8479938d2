"""Methods of `runtime.Shadow` in a derivative that is differentiated again, as functions.

before::                       after::
    bars = Shadow()                bars = Shadow()
    y_bar = bars.take(y)           y_bar = Shadow.take(bars, y)

They are operations that both modes know: of the adjoints they are linear functions, and what they
are found by, memory and objects, is the same for adjoints, tangents of adjoints, and so on.
"""

from __future__ import annotations

import dataclasses

from ... import ir, runtime
from ...ir.facts import fact
from ...ir.index import references
from ...ir.kind import Kind

SHADOW = Kind("object", cls=runtime.Shadow)
_METHODS = {name: getattr(runtime.Shadow, name) for name in runtime.Shadow.operations}
_MADE_OF = {"take": 1, "put": 2}  # where what a value was made of begins
_NAMES = {id(method): name for name, method in _METHODS.items()}
_OWN = frozenset((id(runtime.Shadow), *_NAMES))


def shadow_method(expr: ir.Expr | None) -> str:
    """The method of `Shadow` that a call is of, written as a function; "" for any other call."""
    if isinstance(expr, ir.Call) and isinstance(expr.fn, ir.Ref):
        return _NAMES.get(id(expr.fn.obj), "")
    return ""


def has_shadow(function: ir.Function) -> bool:
    """Whether a function finds adjoints by identity."""
    if function.shadows or not _refers(function):
        return bool(function.shadows)
    return any(map(_makes, ir.statements(function.body)))


def _refers(function: ir.Function) -> bool:
    """Whether a function refers to `Shadow` or to one of its methods."""
    return any(id(ref.obj) in _OWN for ref in fact(references, function))


def _makes(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(target=str(), value=ir.Call(fn=ir.Ref(obj=obj))):
            return obj is runtime.Shadow
    return False


def shadow_names(function: ir.Function) -> frozenset[str]:
    """The names of the shadows of a function: made here, given, or in one another."""
    found = set(function.shadows)
    if not found and not _refers(function):
        return frozenset()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call() as call):
                if _makes(stmt) or _is_inside(call, found):
                    found.add(name)
    return frozenset(found)


def _is_inside(call: ir.Call, shadows: set[str]) -> bool:
    """Whether a call is `bars2.of(bars)`, the shadow of a shadow."""
    match call:
        case ir.Call(fn=ir.Attribute(ir.Var(outer), "of"), args=(ir.Var(inner),)):
            return outer in shadows and inner in shadows
    return shadow_method(call) == "of" and ir.names_in(call) <= shadows


def called_shadows(function: ir.Function) -> frozenset[str]:
    """The names on which methods of `Shadow` are called, written as functions: shadows, wherever
    they come from (those inside a tape have no other sign of what they are)."""
    if not _refers(function):
        return frozenset()
    found: set[str] = set()
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            for part in ir.parts_of(expr):
                if shadow_method(part):
                    assert isinstance(part, ir.Call)
                    found |= ir.names_in(part.args[0])
    return frozenset(found)


def as_functions(function: ir.Function) -> ir.Function:
    """A function with the methods of its shadows as functions of them."""
    names = shadow_names(function)
    if not names:
        return function

    def named(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, named)
        match expr:
            case ir.Call(fn=ir.Attribute(ir.Var(name) as base, method)) if name in names:
                fn, args = ir.Ref(f"Shadow.{method}", _METHODS[method]), expr.args
                for _, g in expr.kwargs:  # (of `add_at`)
                    args = (*args, ir.Const(None), g)
                held = _MADE_OF.get(method)
                if held is not None:
                    args = (*args[:held], ir.Display("tuple", args[held:]))
                return dataclasses.replace(expr, fn=fn, args=(base, *args), kwargs=())
        return expr

    return ir.with_body(function, ir.rewrite(function.body, expression=named))


def as_methods(function: ir.Function) -> ir.Function:
    """The same as it is printed: with methods."""
    if not _refers(function):
        return function

    def called(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, called)
        name = shadow_method(expr)
        if not name:
            return expr
        assert isinstance(expr, ir.Call)
        base, *args = expr.args
        if name == "add_at" and len(args) == 4 and args[2] == ir.Const(None):
            fn = ir.Attribute(base, name)
            return dataclasses.replace(expr, fn=fn, args=tuple(args[:2]), kwargs=(("g", args[3]),))
        if name in _MADE_OF and isinstance(args[-1], ir.Display):
            args[-1:] = args[-1].items
        return dataclasses.replace(expr, fn=ir.Attribute(base, name), args=tuple(args))

    return ir.with_body(function, ir.rewrite(function.body, expression=called))
