"""Calls that write in place without looking like it: `w.__setitem__(k, v)`, `operator.iadd(w, v)`,
and calls for their effect of functions that only the running program knows (`f(w, out=w)`)."""

from __future__ import annotations

import builtins
import operator
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .. import ir
from ..errors import CLASS_IS_READ, UnknownClassError, UnsupportedError
from ..ir.facts import fact
from ..ir.kind import UNKNOWN, Kind
from .flow import computed_from
from .operations import changes_its_object, is_container_method, operands, rule_object
from .refusals import unknown_class

_BY_NAME = {
    getattr(operator, f"i{word}"): f"a {sign}= b"
    for word, sign in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"),
        ("mod", "%"), ("pow", "**"), ("matmul", "@"), ("and", "&"), ("or", "|"), ("xor", "^"),
        ("lshift", "<<"), ("rshift", ">>"), ("concat", "+"),
    )
} | {operator.setitem: "a[k] = v", operator.delitem: "del a[k]"}  # fmt: skip
# Methods of containers that give None: one whose result is used belongs to another class.
GIVING_NOTHING = frozenset(
    ["add", "append", "clear", "discard", "extend", "insert", "remove", "reverse", "sort", "update"]
)
_BY_KEY = {ir.Ref(text, obj).key: text for obj, text in _BY_NAME.items()}
_METHODS = {f"__{op.__name__.strip('_')}__": text for op, text in _BY_NAME.items()}

Place = int | str  # of an argument: its position, or its keyword


def refuse_hidden_writes(
    function: ir.Function, active: Collection[str], kinds: Mapping[str, Kind], book: Any
) -> None:
    """Refuse writes by the name of an operator, and what may write active arguments unseen."""
    unknown: list[tuple[ir.Call, ir.Stmt]] = []
    for stmt in ir.statements(function.body):
        for call in _calls(stmt):
            _refuse_by_name(call, stmt, kinds)
            late = _is_differentiated(call, stmt, active) or is_of_keys(call, function, kinds)
            if not late and _is_unknown(call, kinds, book):
                unknown.append((call, stmt))
        match stmt:
            case ir.Assign(value=ir.Call(fn=ir.Attribute(ir.Var(base), name)) as call):
                form = kinds.get(base, UNKNOWN).form
                alike = name in GIVING_NOTHING and changes_its_object(call, kinds)
                if alike and form in ("unknown", "object"):
                    _refuse_result(call, stmt, function)
    if unknown:
        sharing = _sharing(function, active, kinds, book)
        for call, stmt in unknown:
            _refuse_unknown(call, stmt, active, sharing, function, kinds, book)


def is_late(call: ir.Call, active: Collection[str]) -> bool:
    """Whether what carries derivatives is given to a function that is not known now. (It must be
    seen to write nothing even where its result carries none.)"""
    if not isinstance(call.fn, ir.Var) or any(map(ir.is_starred, call.args)):
        return False
    if call.fn.name in active:
        return False  # an object with values of its own: its class must be known
    return bool(late_places(call, active))


def is_of_keys(call: ir.Call, function: ir.Function, kinds: Mapping[str, Kind]) -> bool:
    """Whether a call is the method of a set that is only asked what is in it (`done.add(u)`,
    `if u in done`): what it holds are keys, which it neither writes nor gives back."""
    match call.fn:
        case ir.Attribute(ir.Var(name)) if kinds.get(name, UNKNOWN).form == "set":
            return name in fact(_only_asked, function)
    return False


def _only_asked(function: ir.Function) -> frozenset[str]:
    """The names that are read for nothing but what is in them, how many, and to put it there (be
    it where the function calls itself)."""
    read: Counter[str] = Counter()
    for stmt in ir.statements(function.body):
        for expr in ir.expressions(stmt):
            for part in ir.walk(expr):
                match part:
                    case ir.Var(name):
                        read[name] += 1
                    case ir.Call(fn=ir.Ref(obj=operator.contains), args=(_, ir.Var(name))):
                        read[name] -= 1
                    case ir.Call(fn=ir.Ref(obj=builtins.len), args=(ir.Var(name),)):
                        read[name] -= 1
                    case ir.Call(ir.Ref(text), args, kwargs) if text == function.name:
                        given = (*zip(function.param_names, args, strict=False), *kwargs)
                        read.subtract(name for name, arg in given if arg == ir.Var(name))
        match stmt:
            case ir.Do(value=ir.Call(fn=ir.Attribute(ir.Var(name), "add" | "discard" | "remove"))):
                read[name] -= 1
    return frozenset(name for name, count in read.items() if count == 0)


def late_places(call: ir.Call, active: Collection[str]) -> tuple[Place, ...]:
    """Where the arguments of a call that carry derivatives stand."""
    places: list[tuple[Place, ir.Expr]] = [*enumerate(call.args), *call.kwargs]
    return tuple(p for p, e in places if isinstance(e, ir.Var) and e.name in active)


def _is_differentiated(call: ir.Call, stmt: ir.Stmt, active: Collection[str]) -> bool:
    """Whether a call is that of a function value that is given what carries derivatives: its own
    derivative, made when it runs, finds what it writes. (So do methods, which are function values
    by then. What carries derivatives itself is an object of a class that is not known.)"""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Var()) as whole):
            return whole is call and is_late(call, active)
        case ir.Return(value=whole):
            return whole is call
    return False


def _sharing(
    function: ir.Function, active: Collection[str], kinds: Mapping[str, Kind], book: Any
) -> frozenset[str]:
    """The active names, and those of what is read out of them: writes into it are seen there."""
    found = set(active)
    before = -1
    while len(found) > before:
        before = len(found)
        for stmt in ir.statements(function.body):
            match stmt:
                case ir.Assign(
                    target=target, value=ir.Var() | ir.Index() | ir.Attribute() as value
                ):
                    if not found.isdisjoint(operands(value, kinds, book)):
                        found.update(ir.target_names(target))
                case ir.For(target=target, iter=ir.Var(name)) if name in found:
                    found.update(ir.target_names(target))
    return frozenset(found)


def _is_unknown(call: ir.Call, kinds: Mapping[str, Kind], book: Any) -> bool:
    """Whether only the running program knows what is called."""
    if not isinstance(call.fn, ir.Var | ir.Index | ir.Attribute) or is_container_method(
        call, kinds
    ):
        return False
    obj = rule_object(call, kinds)
    return obj is None or not (book.find(obj) or book.is_nondifferentiable(obj))


def _calls(stmt: ir.Stmt) -> Iterator[ir.Call]:
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            if isinstance(part, ir.Call):
                yield part


def _refuse_by_name(call: ir.Call, stmt: ir.Stmt, kinds: Mapping[str, Kind]) -> None:
    match call:
        case ir.Call(fn=ir.Ref(text=name, key=key), args=(ir.Var(written), *_)):
            text = _BY_KEY.get(key, "")
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
    sharing: Collection[str],
    function: ir.Function,
    kinds: Mapping[str, Kind],
    book: Any,
) -> None:
    given = ir.arguments(call)
    found = {n for e in given for n in operands(e, kinds, book)} & set(sharing)
    if isinstance(stmt, ir.Do):
        found.update(n for n in operands(call, kinds, book) if n in active)
    stores = isinstance(stmt, ir.Do) and not ir.names_in(call.fn)  # (an outer object may keep them)
    if not found or (not stores and all(kinds.get(n, UNKNOWN).form == "number" for n in found)):
        return
    if isinstance(stmt, ir.Assign) and isinstance(call.fn, ir.Attribute):
        raise unknown_class(call.fn, call.at or stmt.origin.place)
    name = getattr(call.fn, "name", "")
    own = next(iter(ir.children(call.fn)), call.fn)
    varied = isinstance(own, ir.Var) and (
        own.name in active or own.name in computed_from(function, function.param_names)
    )
    refusal = UnknownClassError if varied else UnsupportedError  # (its class may tell what it does)
    raise refusal(
        f"{f'`{name}`' if name else 'this call'} may write its arguments, which carry derivatives",
        call.at or stmt.origin.place,
        "Assign what it computes instead, or apply tl.stop_gradient to its arguments.",
        "memory",
    )


def _refuse_result(call: ir.Call, stmt: ir.Stmt, function: ir.Function) -> None:
    """`y = layer.update(x)`, which is not the `update` of a dict: its class tells what it does.

    Whether it carries derivatives is not known either, so that what depends on no parameter is
    let pass only.
    """
    if computed_from(function, function.param_names) & ir.names_in(call):
        assert isinstance(call.fn, ir.Attribute) and isinstance(call.fn.base, ir.Var)
        raise UnknownClassError(
            f"the class of `{call.fn.base.name}` is not known, and the method `{call.fn.name}` is "
            "called",
            call.at or stmt.origin.place,
            CLASS_IS_READ,
        )
