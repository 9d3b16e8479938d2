"""What the program puts into each of its lists and dicts, where all of it can be seen."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import ir
from ..rules.iterator_programs import program_of
from .operations import rule_object

_INSERTED = {"append": 0, "insert": 1}  # method -> position of what it puts in
_HARMLESS = frozenset(
    ("pop", "clear", "reverse", "sort", "index", "count", "copy", "remove", "get", "items")
    + ("keys", "values")
)
_READING = frozenset(
    map(id, (len, enumerate, zip, reversed, range, sum, max, min, any, all, sorted, print))
)


@dataclass(frozen=True)
class Contents:
    """`inserted`: name -> every expression that the program may put into the container it names.
    (Of `list(a)` and `a * 3` what is in `a` is left out.) `exposed`: names whose container may be
    changed under another name; of these nothing is inserted."""

    inserted: Mapping[str, tuple[ir.Expr, ...]]
    exposed: frozenset[str]


def contents(function: ir.Function, book: Any) -> Contents:
    """What the program may put into its lists and dicts.

    >>> from ..frontend.lower import program
    >>> contents(program("xs = [a]; xs.append(b)"), None).inserted["xs"]
    (Var(name='a'), Var(name='b'))
    """
    inserted: dict[str, list[ir.Expr]] = {}
    exposed: set[str] = set()
    for stmt in ir.statements(function.body):
        _statement(stmt, inserted, exposed, book)
    for names in _names_of_one(function):
        if not exposed.isdisjoint(names):
            exposed |= names
        elif not names.isdisjoint(inserted):
            together = [item for name in sorted(names) for item in inserted.get(name, ())]
            inserted.update(dict.fromkeys(names, together))
    seen = {name: tuple(found) for name, found in inserted.items() if name not in exposed}
    return Contents(seen, frozenset(exposed))


def _names_of_one(function: ir.Function) -> list[frozenset[str]]:
    """Sets of names that plain copies, `b = a`, make names of one object."""
    found: dict[str, set[str]] = {}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Var(other)):
                together = found.get(name, {name}) | found.get(other, {other})
                found.update(dict.fromkeys(together, together))
    return list({id(names): frozenset(names) for names in found.values()}.values())


def made_of(value: ir.Expr) -> ir.Expr | None:
    """What `list(a)` takes its items from; None of any other expression."""
    match value:
        case ir.Call(ir.Ref(obj=builtins.list), (source,), ()) if not ir.is_starred(source):
            return source
    return None


def _statement(
    stmt: ir.Stmt, inserted: dict[str, list[ir.Expr]], exposed: set[str], book: Any
) -> None:
    match stmt:
        case ir.Assign(target=str(name), value=ir.Display(form, items)) if form != "tuple":
            inserted.setdefault(name, []).extend(items)
            exposed.update(*map(ir.names_in, items))
        case ir.Assign(target=str(name), value=value) if (made := made_of(value)) is not None:
            inserted.setdefault(name, [])
            exposed.update(_escaping(made, book))
        case ir.Store(target=ir.Index(ir.Var(name), key), value=value):
            if isinstance(key, ir.Slice):
                exposed.add(name)
            inserted.setdefault(name, []).append(value)
            exposed.update(ir.names_in(value))
        case ir.Update(ir.Index(ir.Var(name), key) as item, op, value) if type(key) is not ir.Slice:
            inserted.setdefault(name, []).append(ir.Call(op, (item, value)))
            exposed.update(ir.names_in(value))
        case ir.Update(target=target):
            exposed.update(ir.names_in(target.base if isinstance(target, ir.Index) else target))
            exposed.update(ir.names_in(stmt.value))
        case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), method), args=args)):
            at = _INSERTED.get(method)
            if at is not None and len(args) > at:
                inserted.setdefault(name, []).append(args[at])
                exposed.update(ir.names_in(args[at]))
            elif method not in _HARMLESS:
                exposed.update(ir.reads(stmt))
        case ir.Assign(target=str(), value=ir.Var()):
            pass  # (see `_names_of_one`)
        case ir.Return() | ir.If() | ir.While() | ir.For():
            pass
        case _:
            for expr in ir.expressions(stmt):
                exposed.update(_escaping(expr, book))


def _escaping(expr: ir.Expr, book: Any) -> frozenset[str]:
    """Names whose container the value of an expression may hand on."""
    match expr:
        case ir.Index() | ir.Attribute():
            return frozenset()  # an element, not the container
        case ir.Call(fn=ir.Attribute(ir.Var(_), method)) if method in _HARMLESS:
            return frozenset()
        case ir.Call() if _only_reads(expr, book):
            return frozenset()
        case _:
            return ir.names_in(expr)


def _only_reads(call: ir.Call, book: Any) -> bool:
    if isinstance(call.fn, ir.Ref) and (id(call.fn.obj) in _READING or _is_operator(call.fn)):
        return True
    obj = rule_object(call, {})
    if program_of(obj) is not None:
        return True  # (new lists of the items)
    if obj is None or book is None:
        return False
    rule = book.find(obj)
    return rule.view_of(call) == "no" if rule is not None else bool(book.is_nondifferentiable(obj))


def _is_operator(fn: ir.Ref) -> bool:
    """Whether it is `+`, `*`, `|`, ...: these make new containers of the items."""
    return not fn.text.replace(".", "").isidentifier()
