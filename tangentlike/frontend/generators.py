"""Generator functions of the user's, read as the statements that they run.

A `for` through the call of one is the generator's own statements, with the body of the loop in the
place of each `yield`. That is what Python does, in the same order:

    def halves(x):                before::                       after::
        while np.sum(x) > 1:          for y in halves(v):            x2 = v
            x = x / 2                     if y[0] < 0:               while np.sum(x2) > 1:
            yield x                           break                      x2 = x2 / 2
                                          s = s + np.sum(y)              y = x2
                                                                         if y[0] < 0:
                                                                             break
                                                                         s = s + np.sum(y)

Everywhere else a generator is the list of what it yields (`filled_list`), where that all of it is
made at once changes nothing (`rules/iterators.py`).
"""

from __future__ import annotations

import collections
import inspect
import operator
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from .. import ir
from ..ir import Assign, Attribute, Block, Call, Const, Display, Do, Expr, If, Origin, Ref, Return
from ..ir.names import Names
from ..runtime.recent import Recent
from ..runtime.records import attribute_of
from .jumps import structure_jumps, without_jumps
from .lifting import copy_of
from .owners import is_library, is_numerical, is_of_runtime, is_pythons, mark
from .resolve import Scope
from .source import find_definition
from .structures import items_by_place


def generated(items: list[Any], *read: Any, writes: bool, endless: bool, never_ends: bool) -> Any:
    """What an inner generator function gives, which reads these: a mark in the program, which
    `rules/iterators.py` takes away."""
    raise AssertionError("a mark in the program, which is never called")


GENERATED = Ref("generated", generated)
_DEFINITIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Lambda)
_LOOPS = (gast.For, gast.While)


def is_generator_function(obj: Any) -> bool:
    """Whether a function is the user's, and its calls make generators."""
    return (
        isinstance(obj, types.FunctionType)
        and bool(obj.__code__.co_flags & inspect.CO_GENERATOR)
        and attribute_of(obj, "__wrapped__", None) is None
        and not is_of_runtime(obj)
    )


@dataclass(frozen=True)
class Manner:
    """How a generator runs, as far as its text says. `writes`: it may change what it has yielded,
    or what others see. `endless`: it may go on for ever. `never_ends`: it does."""

    writes: bool
    endless: bool
    never_ends: bool


def manner_of(node: Any, lookup: Callable[[str], Any]) -> Manner:
    """The manner of a generator function; `lookup` finds the objects behind its outer names."""
    parts = list(gast.walk(node))[1:]
    own = _counted_up(node)
    return Manner(
        any(_writes(part, lookup, own) for part in parts),
        any(isinstance(part, gast.While | gast.YieldFrom) for part in parts),
        any(_never_ends(part) for part in parts),
    )


_KNOWN: Recent[types.CodeType, Manner] = Recent(256)


def manner_of_function(fn: types.FunctionType) -> Manner:
    """The manner of a live generator function; of one that calls itself the most careful."""
    known = _KNOWN.get(fn.__code__)
    if known is None:
        _KNOWN.put(fn.__code__, Manner(True, True, False))
        made = manner_of(find_definition(fn).node, Scope.of(fn).lookup)
        known = _KNOWN.put(fn.__code__, made)
    return known


def manner_of_method(fn: types.FunctionType, cls: type) -> Manner:
    """The same of a method, with what its class does where the method reads an item or an attribute
    of its object."""
    own = fn.__code__.co_varnames[:1]
    found, called = manner_of_function(fn), set()
    for part in gast.walk(find_definition(fn).node):
        match part:
            case gast.Subscript(value=gast.Name(id=name), ctx=gast.Load()) if name in own:
                called.add(getattr(cls, "__getitem__", None))
            case gast.Attribute(value=gast.Name(id=name), attr=attr) if name in own:
                called.add(attribute_of(getattr(cls, attr, None), "fget", None))
    read = (method for method in called if isinstance(method, types.FunctionType))
    writes = found.writes or any(manner_of_function(method).writes for method in read)
    ends = fn is items_by_place and hasattr(cls, "__len__")
    return replace(found, writes=writes, endless=found.endless and not ends)


def listed(fn: Ref) -> Ref:
    """A copy of a generator function, read as what gives the list of what it yields."""
    made = copy_of(fn.obj)
    mark(made, listed=fn.obj)
    return Ref(fn.text, made)


def _counted_up(node: Any) -> set[str]:
    """Names that begin as constants, and of which nothing but results of arithmetic is seen: what
    `s += x` writes, if anything, is an array of its own (`yield s / n`, and not `yield s`)."""
    bound: collections.Counter[str] = collections.Counter()
    seen: collections.Counter[str] = collections.Counter()
    for part in gast.walk(node):
        match part:
            case gast.Name(id=name, ctx=gast.Load()):
                seen[name] += 1
            case gast.Name(id=name):
                bound[name] += 1
        match part:
            case gast.Assign(targets=[target], value=value):
                pairs = zip(_items(target), _items(value), strict=False)
                bound.subtract(t.id for t, v in pairs if _is_constant_of_name(v, t))
            case gast.AugAssign(target=gast.Name(id=name)):
                bound[name] -= 1
            case gast.BinOp(left=left, right=right):
                seen.subtract(e.id for e in (left, right) if isinstance(e, gast.Name))
    return {name for name, count in bound.items() if count == 0 == seen[name]}


def _items(node: Any) -> list[Any]:
    return node.elts if isinstance(node, gast.Tuple) else [node]


def _is_constant_of_name(value: Any, target: Any) -> bool:
    return isinstance(value, gast.Constant) and isinstance(target, gast.Name)


def _writes(part: Any, lookup: Callable[[str], Any], own: Collection[str]) -> bool:
    match part:
        case gast.AugAssign(target=gast.Name(id=name)) if name in own:
            return False
        case gast.AugAssign() | gast.Delete() | gast.Global() | gast.Nonlocal():
            return True
        case gast.Subscript(ctx=gast.Store()) | gast.Attribute(ctx=gast.Store()):
            return True
        case gast.Call(func=gast.Name(id=name)):
            try:
                obj = lookup(name)
            except KeyError:
                return True
            if is_generator_function(obj):
                return manner_of_function(obj).writes
            return not (is_pythons(obj) or is_numerical(obj) or is_library(obj))
        case gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr=attr)):
            try:
                return not isinstance(lookup(name), types.ModuleType)
            except KeyError:
                return not is_pure_method(attr)
        case gast.Call(func=gast.Attribute(attr=attr)):
            return not is_pure_method(attr)
        case gast.Call():
            return True
    return False


def is_pure_method(name: str) -> bool:
    """Whether methods of this name, of arrays and containers, change nothing."""
    writing = ("sort", "fill", "put", "partition", "resize", "itemset", "setflags", "byteswap")
    known = hasattr(np.ndarray, name) or name in ("items", "keys", "values", "get", "format")
    return known and name not in writing


def _never_ends(part: Any) -> bool:
    """Whether this is a loop without an end, that nothing in it leaves."""
    if not (isinstance(part, gast.While) and isinstance(part.test, gast.Constant)):
        return False
    leaves = (gast.Return, gast.Raise)
    inside = [inner for stmt in part.body for inner in gast.walk(stmt)]
    broken = any(isinstance(stmt, gast.Break) for stmt in _own_jumps(part.body))
    return not broken and not any(isinstance(inner, leaves) for inner in inside)


def _own_jumps(block: Sequence[Any]) -> Iterator[Any]:
    """The statements of a loop's body, without those of the loops in it."""
    for stmt in block:
        yield stmt
        if not isinstance(stmt, (*_LOOPS, *_DEFINITIONS)):
            for name in ("body", "orelse", "finalbody", "handlers"):
                yield from _own_jumps(getattr(stmt, name, None) or ())


# -------------------------------------------------------------------- the list of what it yields


def filled_list(
    read: Callable[[Callable[[Expr], Block]], Block],
    names: Names,
    origin: Origin,
    ended: Callable[[Expr], Expr] = lambda items: items,
) -> Block:
    """The body of a function that gives the list of what a generator yields. `read` reads the
    generator's body, given what stands for a `yield`; `ended` says what is made of the list.

    before::                      after::
        yield x                       items = []
        if y > 0:                     items.append(x)
            return                    if not y > 0:
        yield y                           items.append(y)
                                      return items
    """
    items = ir.Var(names.fresh("items"))

    def added(value: Expr) -> Block:
        return (Do(Call(Attribute(items, "append"), (value,)), origin),)

    body = run_through(read(added), names, origin)
    empty = Assign(items.name, Display("list", ()), origin)
    return (empty, *body, Return(ended(items), origin))


# ------------------------------------------------------------------------- loops through a call


@dataclass(frozen=True)
class Beside:
    """What a loop goes through together with a generator: `enumerate` counts, `zip` takes items of
    others, until one of them has no more. `first` makes lists of them, `ended` leaves the loop."""

    generator: Expr
    count: str = ""
    parts: tuple[Expr | None, ...] = ()  # (None is the generator's item)
    first: Block = ()
    ended: Block = ()
    counted: Block = ()

    @classmethod
    def of(cls, iterable: Expr, names: Names, origin: Origin) -> Beside:
        """What the header of a loop says; all of it, where it goes through one thing only."""
        match iterable:
            case Call(fn=Ref(obj=obj), args=(inner, *starts), kwargs=()) if obj is enumerate:
                start = starts[0] if starts else Const(0)
                columns: tuple[Expr, ...] = ()
            case (
                Call(fn=Ref(obj=obj), args=columns, kwargs=())
                | Call(fn=Ref(obj=obj), args=columns, kwargs=(("strict", Const(False)),))
            ) if obj is zip:
                found = [c for c in columns if _makes_generator(c)]
                if len(found) != 1 or any(map(ir.is_starred, columns)):
                    return cls(iterable)
                (inner,), start = found, Const(0)
            case _:
                return cls(iterable)
        count = names.fresh("count")
        first: list[Any] = [Assign(count, start, origin)]
        parts: list[Expr | None] = [] if columns else [ir.Var(count), None]
        ended: list[Any] = []
        for column in columns:
            if column is inner:
                parts.append(None)
                continue
            items = ir.Var(names.fresh("column"))
            first.append(Assign(items.name, Call(Ref("list", list), (column,)), origin))
            none_left = Call(
                Ref(">=", operator.ge), (ir.Var(count), Call(Ref("len", len), (items,)))
            )
            ended.append(If(none_left, (ir.Break(origin),), (), origin))
            parts.append(ir.Index(items, ir.Var(count)))
        more = ir.Update(ir.Var(count), Ref("+=", operator.iadd), Const(1), origin)
        return cls(inner, count, tuple(parts), tuple(first), tuple(ended), (more,))

    def item(self, value: Expr) -> Expr:
        """What the loop binds, where the generator yields this."""
        if not self.parts:
            return value
        return Display("tuple", tuple(value if part is None else part for part in self.parts))


def _makes_generator(expr: Expr) -> bool:
    return (
        isinstance(expr, Call) and isinstance(expr.fn, Ref) and is_generator_function(expr.fn.obj)
    )


def turn(body: Block, names: Names, origin: Origin) -> tuple[Block, Block, Block]:
    """A loop's body as what stands for a `yield`: what stands before the loop, the body itself,
    after which the generator returns where the loop was left, and what stands after the loop."""
    flags, inner, jumps = without_jumps(body, names)
    before: list[Any] = []
    after: list[Any] = []
    leaving: list[Any] = []
    for jump in jumps:
        flag, made = (jump.test, jump.body[0]) if isinstance(jump, If) else (None, jump)
        if isinstance(made, ir.Continue):
            continue
        left: list[Any] = []
        if isinstance(made, Return):
            returned = names.fresh("returned")
            before.append(Assign(returned, Const(False), origin))
            after.append(If(ir.Var(returned), (made,), (), origin))
            left.append(Assign(returned, Const(True), origin))
        left.append(Return(Const(None), origin))
        leaving.extend([If(flag, tuple(left), (), origin)] if flag is not None else left)
    return tuple(before), (*flags, *inner, *leaving), tuple(after)


def run_through(body: Block, names: Names, origin: Origin) -> Block:
    """A generator's statements, with jumps to its end as structure."""
    whole = ir.Function("generator", (), body, origin.place)
    *statements, _ = structure_jumps(whole, names).body
    return tuple(statements)
