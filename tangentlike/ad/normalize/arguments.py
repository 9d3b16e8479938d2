"""Arguments as a callee gets them: starred ones one by one, and callees that fit the call."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ... import ir
from ...analysis.operations import is_python_function, rule_object
from ...analysis.record_types import required_fields
from ..context import Context


def spell_arguments(function: ir.Function, context: Context) -> ir.Function:
    """`g(x, *pair)` -> `pair_0 = pair[0]; pair_1 = pair[1]; g(x, pair_0, pair_1)`, and calls of
    functions with starred or function-valued parameters -> calls of their variants."""
    if not any(map(_wanted, ir.statements(function.body))):
        return function

    def statement(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
                before, new = _spelled(call, stmt.origin, context)
                yield from before
                yield stmt if new is call else dataclasses.replace(stmt, value=new)
            case _:
                yield stmt

    return ir.with_body(function, ir.rewrite(function.body, after=statement))


def _wanted(stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Assign(value=ir.Call() as call) | ir.Do(value=ir.Call() as call):
            is_user = isinstance(call.fn, ir.Ref) and is_python_function(call.fn.obj)
            return is_user or any(map(ir.is_starred, call.args))
    return False


def _spelled(call: ir.Call, origin: ir.Origin, context: Context) -> tuple[list[ir.Stmt], ir.Call]:
    before: list[ir.Stmt] = []
    if any(map(ir.is_starred, call.args)):
        args = tuple(a for arg in call.args for a in _items(arg, before, origin, context))
        call = dataclasses.replace(call, args=args) if before or args != call.args else call
        call = _with_fields(call, before, origin, context)
    obj, book = rule_object(call, context.kinds), context.book
    if not isinstance(call.fn, ir.Ref) or not is_python_function(obj):
        return before, call
    if book.find(obj) is not None or book.is_nondifferentiable(obj):
        return before, call
    return before, context.callees.variants.of_call(call)


def _with_fields(
    call: ir.Call, before: list[ir.Stmt], origin: ir.Origin, context: Context
) -> ir.Call:
    """`Point(*t)` -> `x, y = t; Point(x, y)`: a class all of whose fields must be given says how
    many items there are."""
    fields = required_fields(call)
    starred = [arg for arg in call.args if isinstance(arg, ir.Opaque) and ir.is_starred(arg)]
    if fields is None or len(starred) != 1 or not isinstance(starred[0].values[0], ir.Var):
        return call
    place, count = call.args.index(starred[0]), len(fields) - len(call.args) - len(call.kwargs) + 1
    if count < 1 or starred[0].text.startswith("**"):
        return call
    names = tuple(map(context.names.fresh, fields[place : place + count]))
    context.temporaries.update(names)
    before.append(ir.Assign(names, starred[0].values[0], origin))
    items = map(ir.Var, names)
    return dataclasses.replace(call, args=(*call.args[:place], *items, *call.args[place + 1 :]))


def _items(
    arg: ir.Expr, before: list[ir.Stmt], origin: ir.Origin, context: Context
) -> list[ir.Expr]:
    """What a starred argument stands for, where the number of its items is known."""
    if not ir.is_starred(arg) or not isinstance(arg, ir.Opaque) or len(arg.values) != 1:
        return [arg]
    (value,) = arg.values
    kind = context.kind_of(value)
    plain = arg.text == f"*{arg.names[0]}" and isinstance(value, ir.Var)
    if not plain or kind.form != "tuple" or kind.items is None:
        return [arg]
    found: list[ir.Expr] = []
    for position in range(len(kind.items)):
        name = context.names.fresh(f"{arg.names[0]}_{position}")
        context.temporaries.add(name)
        item = ir.Index(value, ir.Const(position), origin.place)
        before.append(ir.Assign(name, item, origin))
        found.append(ir.Var(name))
    return found
