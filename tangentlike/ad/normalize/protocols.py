"""The methods that operators, tests, keys and built-in functions call: `x in log`, `if log:`.

What Python calls in `text` is the method of the operand's class in `calls`:

    text            calls                        text            calls
    x in log        log.__contains__(x)          not log         log.__bool__()
    log == 3        log.__eq__(3)                str(log)        log.__str__()
    log.size        the function of a property   table[log]      log.__hash__(), ...
"""

from __future__ import annotations

import builtins
import copy
import functools
import inspect
import operator
import types
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import gast

from ... import ir
from ...frontend.nested import Chain
from ...frontend.owners import is_pythons, is_standard
from ...frontend.structures import sets_attribute
from ...runtime import sorting_order
from ..specialize.method_lookup import BINARY, COMPARING, UNARY, is_comparison, is_made, may_decline

_TRUTH = ("__bool__", "__len__")
_TEXT = ("__str__", "__repr__", "__format__")
_KEY = ("__index__", "__hash__", "__eq__")
_ITEMS = ("__iter__", "__next__", "__getitem__", "__len__", "__reversed__")
_OPERATORS: dict[Any, tuple[str, ...]] = {
    **{obj: (f"__{name}__", f"__r{name}__") for obj, name in BINARY.items()},
    **{obj: (name,) for obj, name in UNARY.items()},
    **COMPARING,
    operator.contains: ("__contains__", *_ITEMS),
    **dict.fromkeys((operator.not_, bool), _TRUTH),
    **{str: _TEXT[:2], repr: ("__repr__",), hash: ("__hash__",)},
    **{int: ("__int__", "__index__", "__trunc__"), float: ("__float__", "__index__")},
    **dict.fromkeys((iter, next, list, tuple, enumerate, zip, reversed), _ITEMS),
    **dict.fromkeys((operator.is_, operator.is_not, isinstance, type, id, callable), ()),
    **dict.fromkeys((issubclass, copy.copy, functools.partial), ()),
    sorting_order: ("__lt__", "__gt__"),
}
_ANY = tuple(sorted({name for names in _OPERATORS.values() for name in (*names, *_TEXT, *_KEY)}))
_OF_ITEMS = (operator.contains, operator.eq, operator.ne, str, repr, hash, sorting_order)
_BY_ITEM = ("index", "count", "remove", "sort")
_BY_KEY = ("get", "pop", "setdefault", "add", "discard")

# An operand, whether what it holds is asked, too, and which methods of its class may be called.
Asked = tuple[ir.Expr, bool, tuple[str, ...]]


def asked_by(stmt: ir.Stmt) -> Iterator[Asked]:
    """What a statement asks by protocol of the values in it."""
    match stmt:
        case ir.If(test=test) | ir.While(test=test):
            yield from asked(test, True)
            return
        case ir.Store(target=ir.Index(_, key), value=value):
            yield key, True, _KEY
            yield from asked(value)
            return
        case ir.For(iter=value) | ir.Assign(target=tuple(), value=value):
            yield value, False, _ITEMS
    for expr in ir.expressions(stmt):
        yield from asked(expr)


def asked(expr: ir.Expr, truth: bool = False) -> Iterator[Asked]:
    """What an expression asks of the values in it; with `truth` whether it is true, too."""
    match expr:
        case ir.Lazy(form=form, items=items):
            for n, item in enumerate(items):
                tested = n == 0 if form == "if" else n < len(items) - 1
                yield from asked(item, tested or truth)
            return
        case Chain(operands=operands):
            for operand in operands:
                yield from asked(operand)
                yield operand, True, _ANY
            return
        case ir.Call(ir.Ref(obj=operator.not_), (operand,)):
            yield from asked(operand, True)
            return
    if truth:
        yield expr, False, _TRUTH
    for part in () if isinstance(expr, ir.Opaque) else ir.children(expr):
        yield from asked(part)
    yield from asked_here(expr)


def asked_here(expr: ir.Expr) -> Iterator[Asked]:
    """What an operation asks of its operands."""
    match expr:
        case ir.Attribute(base, name):
            yield base, False, (name,)
        case ir.Index(base, key):
            yield base, False, ("__getitem__",)
            yield key, True, _KEY
        case ir.Call(ir.Ref(obj=obj)):
            known = isinstance(obj, Hashable) and obj in _OPERATORS
            if not known and isinstance(obj, type | types.FunctionType) and not is_pythons(obj):
                return  # (of the user's, or of ours)
            for operand in ir.arguments(expr):
                yield operand, not known or obj in _OF_ITEMS, _OPERATORS[obj] if known else _ANY
                if obj is operator.contains:
                    yield operand, True, _KEY
        case ir.Call(ir.Attribute(base, name)) if name in (*_BY_ITEM, *_BY_KEY):
            for operand in (*((base,) if name in _BY_ITEM else ()), *ir.arguments(expr)):
                yield operand, True, ("__eq__", "__hash__", "__lt__", "__gt__")
        case ir.Display(keys=keys):
            for key in keys:
                yield key, True, _KEY


def asked_in_text(text: str, read: Callable[[gast.AST], ir.Expr]) -> Iterator[Asked]:
    """What code that travels as text may ask, with what `read` makes of its parts: anything of the
    objects that it names."""
    seen: set[gast.AST] = set()
    for node in gast.walk(gast.parse(text.lstrip("*"))):
        match node:
            case gast.comprehension(iter=through):
                yield read(through), False, _ITEMS
                seen.add(through)
            case gast.Attribute(value=base, attr=name):
                yield read(base), False, (name,)
                seen.add(base)
            case gast.Name(ctx=gast.Load()) if node not in seen:
                yield read(node), True, _ANY


def is_operator(call: ir.Call) -> bool:
    """Whether it is one whose method is called by name in a statement of its own: `a + b`."""
    obj = getattr(call.fn, "obj", None)
    return isinstance(obj, types.BuiltinFunctionType) and (obj in BINARY or obj in UNARY)


def _is_of_pythons_modules(fn: types.FunctionType) -> bool:
    written_in: str = fn.__globals__.get("__name__", "")  # (a wrapper takes the module of another)
    return is_standard(written_in)


def function_called(cls: type, name: str) -> Any:
    """What a class calls where it is asked by protocol, or for an attribute of a name; a
    `cached_property` as it stands, which stores what it computes."""
    held = inspect.getattr_static(cls, name, None)
    if isinstance(held, types.FunctionType) and (is_made(held) or _is_of_pythons_modules(held)):
        return None  # (of a dataclass)
    if name.startswith("__") or isinstance(held, functools.cached_property):
        return held
    if held is None:
        field = name in getattr(cls, "__annotations__", ()) or sets_attribute(cls, name)
        return None if field else inspect.getattr_static(cls, "__getattr__", None)
    if isinstance(held, property):
        return held.fget
    return inspect.getattr_static(type(held), "__get__", None)


def tried_first(cls: type, names: tuple[str, ...]) -> tuple[str, ...]:
    """Of methods that stand for each other the one that a class has; others all."""
    first = next(iter(names), "")
    alone = first in ("__contains__", "__bool__", "__str__")
    has = alone and isinstance(getattr(cls, first, None), types.FunctionType)
    return names[:1] if has else names


def by_name(expr: ir.Expr, writer: Callable[[ir.Expr, str], Any], truth: bool = False) -> ir.Expr:
    """An expression in which methods that write are called by their names where that means the
    same: `log.__contains__(x)` for `x in log`. `writer` gives the method that an operand has by a
    name, if it writes; with `truth` only whether the value is true counts."""

    def part(e: ir.Expr, tested: bool = False) -> ir.Expr:
        return by_name(e, writer, tested)

    match expr:
        case ir.Opaque():
            return expr
        case ir.Lazy(form=form, items=items):
            tested = {id(items[0])} if form == "if" else set()
            return ir.rebuild(expr, lambda e: part(e, truth or id(e) in tested))
        case ir.Call(ir.Ref(obj=operator.not_ | builtins.bool) as fn, (operand,)):
            holds = part(operand, True)
            if fn.obj is bool and holds is not operand:
                return holds
            expr = ir.rebuild(expr, lambda e: holds if e is operand else e)
        case _:
            expr = ir.rebuild(expr, part)
    base, name, given = _named(expr)
    method = None if base is None else writer(base, name)
    if base is None or method is None or may_decline(method):
        name = next((n for n in _TRUTH if writer(expr, n)), "") if truth else ""
        base, given = expr, ()
    if not name:
        return expr
    call = ir.Call(ir.Attribute(base, name), given, (), getattr(expr, "at", None))
    return ir.Call(ir.BOOL, (call,)) if name in ("__len__", "__contains__") else call


def _named(expr: ir.Expr) -> tuple[ir.Expr | None, str, tuple[ir.Expr, ...]]:
    """The object, the name and the arguments of the method that an operation calls first."""
    match expr:
        case ir.Call(ir.Ref(obj=operator.contains), (item, base)):
            return base, "__contains__", (item,)
        case ir.Call(ir.Ref(obj=obj), (base, other)) if is_comparison(obj):
            return base, COMPARING[obj][0], (other,)
        case ir.Call(ir.Ref(obj=builtins.str | builtins.repr as obj), (base,)):
            return base, _OPERATORS[obj][0], ()
    return None, "", ()
