"""What is unpacked, so that its adjoint is that of what it was: arrays by a name of their own, and
`a, b = t` as `a = t[0]; b = t[1]`, where what is unpacked is written in place.

An item that is written is followed as the view of its tuple that it is: its adjoint is the item
of the tuple's adjoint. The stacks in the tape of a callee are such items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from ... import ir
from ...analysis.record_types import record_class
from ..context import Context


def named_before_unpacked(function: ir.Function, context: Context) -> ir.Function:
    """Name the array that an operation makes before its entries or rows are unpacked.

    Before: `a, b = np.exp(x)`. After: `parts = np.exp(x); a, b = parts`. The rule of an
    operation is about its result as a whole, and the result of this one is no tuple. A
    namedtuple that is unpacked where it is made is named in the same way, and so is what a
    function of the user's gives, unless it surely is a tuple: `a, b = split(x)`.
    """

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(target=tuple(), value=ir.Call() | ir.Attribute() as value):
                form = context.kind_of(value).form
                if context.rule_for(value) is not None:
                    made_whole = form in ("array", "value")
                else:
                    made_whole = form != "tuple" and _is_of_user(value, context)
                if made_whole or record_class(value) is not None:
                    parts = _fresh("parts", value, context)
                    again = dataclasses.replace(stmt, value=ir.Var(parts))
                    return (ir.Assign(parts, value, stmt.origin), again)
        return None

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _is_of_user(value: ir.Expr, context: Context) -> bool:
    fn = value.fn if isinstance(value, ir.Call) else None
    return isinstance(fn, ir.Ref) and bool(context.is_callee(fn.obj))


def items_of_unpacked(
    function: ir.Function, context: Context, shared: frozenset[str]
) -> ir.Function:
    """Unpack item by item where an item is written. `shared` are parameters a caller sees written.

    Before: `s, xs = t; x = xs.pop()`. After: `s = t[0]; xs = t[1]; x = xs.pop()`.
    """
    function = _items_written(function, context)
    sources = context.sources()
    written = {
        name.removesuffix("[*]")
        for stmt in ir.statements(function.body)
        for name in sources.written(stmt)
    }
    lengths = _lengths(function, written)

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Assign(target=tuple(target), value=ir.Var(base)):
                names = frozenset(ir.target_names(target))
                counted = context.kinds[base].form == "tuple" or base in shared
                if counted and names & written and base not in names:
                    return tuple(_items(target, stmt.value, stmt.origin))
                of_rows = context.kinds[base].form == "array"  # (how many shows when it runs)
                if of_rows and ({base} | names) & written and base not in names:
                    count = (stmt.value, ir.Const(len(target)))
                    check = ir.Do(ir.Call(context.helper("require_items"), count), stmt.origin)
                    return (check, *_items(target, stmt.value, stmt.origin))
            case ir.Assign(target=tuple(target), value=ir.Attribute() | ir.Index() as value):
                names = frozenset(ir.target_names(target))
                if context.kind_of(value).form == "array" and names & written:
                    rows = _fresh("rows", value, context)
                    again = dataclasses.replace(stmt, value=ir.Var(rows))
                    return (ir.Assign(rows, value, stmt.origin), *(statement(again) or (again,)))
            case ir.Assign(target=tuple(target), value=ir.Call() as call):
                touched = {*ir.target_names(target), *ir.names_in(call)} & written
                if touched and _makes_views(call, context) and _count(call, lengths) == len(target):
                    parts = _fresh("parts", call, context)
                    named = ir.Assign(parts, call, stmt.origin)
                    return (named, *_items(target, ir.Var(parts), stmt.origin))
        return None

    return ir.with_body(function, ir.rewrite(function.body, statement))


def _items_written(function: ir.Function, context: Context) -> ir.Function:
    """`parts[1] *= v` writes into the array, where `parts` are views that a call has made.

    Before: `parts = np.split(y, 3); parts[1] *= v`.
    After: `parts = np.split(y, 3); part = parts[1]; part *= v`.
    """
    lists = {
        stmt.target
        for stmt in ir.statements(function.body)
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, str)
        if isinstance(stmt.value, ir.Call) and _makes_views(stmt.value, context)
    }

    def statement(stmt: ir.Stmt) -> tuple[ir.Stmt, ...] | None:
        match stmt:
            case ir.Update(target=ir.Index(ir.Var(name)) as item) if name in lists:
                part = _fresh("part", item, context)
                named = ir.Assign(part, item, stmt.origin)
                return named, dataclasses.replace(stmt, target=ir.Var(part))
        return None

    if not lists:
        return function
    return ir.with_body(function, ir.rewrite(function.body, statement))


def _makes_views(call: ir.Call, context: Context) -> bool:
    """Whether a call makes a list of views of its argument, as `np.split` does."""
    views = context.sources().view_of(call) in ("view", "maybe")
    return views and context.kind_of(call).form == "list"


def _count(call: ir.Call, lengths: Mapping[str, int]) -> int | None:
    """How many parts `np.split(y, 3)` and `np.split(y, [2])` make, where that can be seen."""
    match call:
        case ir.Call(args=(_, ir.Const(int(count)))):
            return count
        case ir.Call(args=(_, ir.Var(places))) if places in lengths:
            return lengths[places] + 1
    return None


def _lengths(function: ir.Function, written: Collection[str]) -> dict[str, int]:
    """The lengths of lists that are written out, and are not written to."""
    found: dict[str, int] = {}
    bound: set[str] = set(function.param_names) | set(written)
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Display("list", items)) if name not in bound:
                found[name] = len(items)
        for name in ir.binds(stmt):
            if name in bound:
                found.pop(name, None)
            bound.add(name)
    return found


def _fresh(wanted: str, value: ir.Expr, context: Context) -> str:
    name = context.fresh(wanted, context.kind_of(value), temporary=True)
    return name


def _items(target: ir.Target, value: ir.Expr, origin: ir.Origin) -> list[ir.Stmt]:
    """Assignments of the items of a tuple to (nested) targets."""
    if isinstance(target, str):
        return [ir.Assign(target, value, origin)]
    place = origin.place
    return [
        ir.Assign(part, ir.Index(value, ir.Const(i), place), origin)
        for i, part in enumerate(target)
    ]
