"""What may be a dict, for all that is known, where its items are taken one after the other.

    t = {"a": x} if keyed else [x]            t = {"a": x} if keyed else [x]
                                              require_no_dict(t)
    for v in t: s += v                        for v in t: s += v

A dict is gone through by its keys, which carry no derivative, where its tangent or adjoint would
be gone through by values. Where a function makes dicts, and nothing tells whether it is one of
them that a loop, an unpacking or a `list(t)` goes through, the derivative is written for other
things, and says so when it runs. (Parameters are known for what is given.)
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import ir
from ..context import Context

_VIEWS = ("items", "keys", "values")
_TAKING_ITEMS = (zip, enumerate, reversed, sorted, list, tuple, iter, sum, max, min, map, filter)


def no_dicts_for_their_items(
    function: ir.Function, wrt: tuple[str, ...], context: Context
) -> ir.Function:
    """The function itself where all that is gone through is known to be a dict, or to be none."""
    found = {
        name
        for stmt in ir.statements(function.body)
        for name in _gone_through(stmt, context)
        if context.kind_of(ir.Var(name)).form == "unknown" and name not in function.param_names
    }
    found -= _views(function)
    if not found or not _makes_dicts(function, context, set()):
        return function
    checked = found & context.varied(function, wrt)
    if not checked:
        return function
    helper = context.helper("require_no_dict")

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        for name in dict.fromkeys(_gone_through(stmt, context)):
            if name in checked:
                yield ir.Do(ir.Call(helper, (ir.Var(name),)), stmt.origin)
        yield stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _views(function: ir.Function) -> set[str]:
    """The names that stand for views of dicts wherever they are bound."""
    views: set[str] = set()
    others: set[str] = set()
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call(fn=ir.Attribute(_, method), args=())):
                (views if method in _VIEWS else others).add(name)
            case _:
                others.update(ir.binds(stmt))
    return views - others


def _gone_through(stmt: ir.Stmt, context: Context) -> Iterator[str]:
    """The names whose items a statement takes one after the other."""
    match stmt:
        case ir.For(iter=ir.Var(name)) | ir.Assign(target=tuple(), value=ir.Var(name)):
            yield name
        case ir.Do(value=ir.Call(fn=ir.Attribute(_, "extend"), args=(ir.Var(name),))):
            yield name
        case ir.Update(target=target, value=ir.Var(name)):
            if context.kind_of(target).form == "list":
                yield name
    if isinstance(stmt, ir.While):
        return  # (a test is asked again and again)
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            match part:
                case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(
                    obj is taking for taking in _TAKING_ITEMS
                ):
                    yield from (arg.name for arg in args if isinstance(arg, ir.Var))


def _makes_dicts(function: ir.Function, context: Context, seen: set[int]) -> bool:
    """Whether a function, or one that it calls, makes a dict; `seen` are those asked before."""
    for stmt in ir.statements(function.body):
        for part in (part for expr in ir.expressions(stmt) for part in ir.walk(expr)):
            match part:
                case ir.Display(form="dict"):
                    return True
                case ir.Call(fn=ir.Ref(obj=obj)) if obj is dict:
                    return True
                case ir.Call(fn=ir.Ref(obj=obj)) if id(obj) not in seen:
                    seen.add(id(obj))
                    if not context.is_callee(obj):
                        continue
                    if _makes_dicts(context.callees.lowered(obj).function, context, seen):
                        return True
    return False
