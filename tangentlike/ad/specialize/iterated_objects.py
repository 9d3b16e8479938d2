"""Loops over objects whose class says by `__iter__` what they yield: the list of it.

before::                         after::
    for a in v:                      v_items = Vec_iter(v)
        s = s + a                    for a in v_items:
                                         s = s + a

`Vec_iter` is `__iter__` with `list(...)` where it returns `iter(...)`. Of an object that yields in
another way `list(v)` is taken for a loop: the reverse sweep would ask its `__getitem__`, which may
say something else. (Where it carries derivatives, such a list is refused.)
"""

from __future__ import annotations

import builtins
import dataclasses
import types
from collections.abc import Callable, Mapping

from ... import ir
from ...frontend.lower import Lowered
from ...ir.kind import UNKNOWN, Kind
from ...ir.names import Names
from ..all_names import all_names
from .method_lookup import MethodLookup

_TAKING = (
    *(builtins.list, builtins.tuple, builtins.sum, builtins.sorted, builtins.min, builtins.max),
    *(builtins.zip, builtins.enumerate, builtins.any, builtins.all),
)
_COMPARING = (builtins.min, builtins.max)


def objects_as_lists(
    lowered: Lowered,
    kinds: Mapping[str, Kind],
    kind: Callable[[ir.Expr], Kind],
    lookup: MethodLookup,
) -> Lowered:
    """The function with a list for each object that is gone through."""
    speller = _Speller(kinds, kind, lookup, Names(all_names(lowered.function)))
    body = speller.block(lowered.function.body)
    if not speller.made:
        return lowered
    function = dataclasses.replace(lowered.function, body=body)
    return dataclasses.replace(
        lowered, function=function, temporaries=lowered.temporaries | speller.made
    )


def _yields(kind: Kind, lookup: MethodLookup) -> bool:
    return kind.cls is not None and lookup.iteration(kind.cls) is not None


class _Speller(ir.Rewriter):
    def __init__(
        self,
        kinds: Mapping[str, Kind],
        kind: Callable[[ir.Expr], Kind],
        lookup: MethodLookup,
        names: Names,
    ) -> None:
        self.kinds = kinds
        self.kind = kind
        self.lookup = lookup
        self.names = names
        self.made: set[str] = set()

    def named(self, wanted: str) -> str:
        name = self.names.fresh(wanted)
        self.made.add(name)
        return name

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt] | None:
        before: list[ir.Stmt] = []
        match stmt:
            case ir.For():
                header = self.taken(stmt.iter, stmt.origin, before, loop=True, any_way=True)
                return [*before, dataclasses.replace(self.inside(stmt), iter=header)]
            case ir.Assign(target=tuple(), value=ir.Var() as value):
                items = self.items(value, stmt.origin, before)
                return [*before, dataclasses.replace(stmt, value=items)]
            case ir.Assign(target=tuple(), value=value) if _yields(self.kind(value), self.lookup):
                name = self.named("whole")
                again = dataclasses.replace(stmt, value=ir.Var(name))
                return [ir.Assign(name, value, stmt.origin), again]  # (next time it is a name)
            case ir.Assign(value=ir.Call() as call):
                taken = self.taken(call, stmt.origin, before)
                return [*before, dataclasses.replace(stmt, value=taken)] if before else [stmt]
        return None

    def taken(
        self,
        expr: ir.Expr,
        origin: ir.Origin,
        before: list[ir.Stmt],
        loop: bool = False,
        any_way: bool = False,
    ) -> ir.Expr:
        """An expression that goes through its arguments, or is gone through, with lists."""
        match expr:
            case ir.Var() if loop:
                return self.items(expr, origin, before, any_way)
            case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is known for known in _TAKING):
                if len(args) > 1 and any(obj is known for known in _COMPARING):
                    return expr  # (the arguments themselves)
                count = len(args) if obj is builtins.zip else 1
                items = tuple(
                    self.taken(arg, origin, before, True, any_way) for arg in args[:count]
                )
                items += args[count:]
                return expr if items == args else dataclasses.replace(expr, args=items)
        return expr

    def items(
        self, value: ir.Var, origin: ir.Origin, before: list[ir.Stmt], any_way: bool = False
    ) -> ir.Expr:
        kind = self.kinds.get(value.name, UNKNOWN)
        if _yields(kind, self.lookup):
            listed = ir.Call(ir.Attribute(value, "__iter__"), (), at=origin.place)
        elif any_way and isinstance(getattr(kind.cls, "__iter__", None), types.FunctionType):
            listed = ir.Call(ir.Ref("list", list), (value,), at=origin.place)
        else:
            return value
        name = self.named(f"{value.name}_items")
        before.append(ir.Assign(name, listed, origin))
        return ir.Var(name)
