"""Calls that write in place without looking like it: `w.__setitem__(k, v)`, `operator.iadd(w, v)`,
and calls for their effect of functions that only the running program knows (`f(w, out=w)`)."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .. import ir
from ..errors import CLASS_IS_READ, UnknownClassError, UnsupportedError
from ..ir.kind import UNKNOWN, Kind
from .operations import is_container_method, operands, rule_object

_BY_NAME = {
    getattr(operator, f"i{word}"): f"a {sign}= b"
    for word, sign in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"),
        ("mod", "%"), ("pow", "**"), ("matmul", "@"), ("and", "&"), ("or", "|"), ("xor", "^"),
        ("lshift", "<<"), ("rshift", ">>"), ("concat", "+"),
    )
} | {operator.setitem: "a[k] = v", operator.delitem: "del a[k]"}  # fmt: skip
# Methods of containers that give None: one whose result is used belongs to another class.
_GIVING_NOTHING = frozenset(
    ["add", "append", "clear", "discard", "extend", "insert", "remove", "reverse", "sort", "update"]
)
_METHODS = {f"__{op.__name__.strip('_')}__": text for op, text in _BY_NAME.items()}


def refuse_hidden_writes(
    function: ir.Function, active: Collection[str], kinds: Mapping[str, Kind], book: Any
) -> None:
    """Refuse writes by the name of an operator, and what may write active arguments unseen."""
    for stmt in ir.statements(function.body):
        for call in _calls(stmt):
            _refuse_by_name(call, stmt, kinds)
        match stmt:
            case ir.Do(value=ir.Call() as call) if not is_container_method(call, kinds):
                if rule_object(call, kinds) is None:
                    _refuse_unknown(call, stmt, active, kinds, book)
            case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(base), name)) as call):
                form = kinds.get(base, UNKNOWN).form
                if name in _GIVING_NOTHING and form in ("unknown", "object"):
                    _refuse_result(call, stmt, function)


def _calls(stmt: ir.Stmt) -> Iterator[ir.Call]:
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            if isinstance(part, ir.Call):
                yield part


def _refuse_by_name(call: ir.Call, stmt: ir.Stmt, kinds: Mapping[str, Kind]) -> None:
    match call:
        case ir.Call(fn=ir.Ref(text=name, obj=obj), args=(ir.Var(written), *_)):
            text = next((text for known, text in _BY_NAME.items() if known is obj), "")
        case ir.Call(fn=ir.Attribute(ir.Var(written), name)):
            text = _METHODS.get(name, "")
        case _:
            return
    if text and kinds.get(written, UNKNOWN).form not in ("number", "other"):
        raise UnsupportedError(
            f"`{name}` is called by its name", call.at or stmt.origin.place, f"Write `{text}`."
        )


def _refuse_unknown(
    call: ir.Call,
    stmt: ir.Stmt,
    active: Collection[str],
    kinds: Mapping[str, Kind],
    book: Any,
) -> None:
    culprits = [n for n in operands(call, kinds, book) if n in active]
    if culprits:
        name = getattr(call.fn, "name", "")
        own = next(iter(ir.children(call.fn)), call.fn)
        told = isinstance(own, ir.Var) and own.name in active  # (its class may tell what it does)
        raise (UnknownClassError if told else UnsupportedError)(
            f"`{name}` may write its arguments, which carry derivatives",
            call.at or stmt.origin.place,
            "Assign what it computes instead, or apply tl.stop_gradient to its arguments.",
        )


def _refuse_result(call: ir.Call, stmt: ir.Stmt, function: ir.Function) -> None:
    """`y = layer.update(x)`, which is no `update` of a dict: its class tells what it does.

    Whether it carries derivatives is not known either, so that what depends on no parameter is
    let pass only.
    """
    if _depending(function) & ir.names_in(call):
        assert isinstance(call.fn, ir.Attribute) and isinstance(call.fn.base, ir.Var)
        raise UnknownClassError(
            f"the class of `{call.fn.base.name}` is not known, and the method `{call.fn.name}` is "
            "called",
            call.at or stmt.origin.place,
            CLASS_IS_READ,
        )


def _depending(function: ir.Function) -> frozenset[str]:
    """The names that are computed from parameters."""
    found = set(function.param_names)
    before = 0
    while len(found) > before:
        before = len(found)
        for stmt in ir.statements(function.body):
            if ir.reads(stmt) & found:
                found.update(ir.binds(stmt))
    return frozenset(found)
