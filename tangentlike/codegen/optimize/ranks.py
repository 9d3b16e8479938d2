"""How many axes the values of a derived program have: of names that a transform made, too."""

from __future__ import annotations

import operator

import numpy as np

from ... import ir
from ...rules.index_kinds import key_parts
from .facts import Facts, numpy_name, runtime_name

_OPERATORS = ("+", "-", "*", "/", "**", "%", "//")
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like", "copy")
_OPEN = -1  # that of a name of which no definition is known yet


class Ranks:
    """Ranks of names and expressions; None where they are not known."""

    def __init__(self, function: ir.Function, facts: Facts) -> None:
        self._facts = facts
        self._names: dict[str, int | None] = dict.fromkeys(function.param_names)
        definitions: list[tuple[str, ir.Expr | None]] = []
        for stmt in ir.statements(function.body):
            match stmt:
                case ir.Assign(target=str(name)):
                    definitions.append((name, stmt.value))
                case ir.Update(target=ir.Var(name)):
                    definitions.append((name, ir.Call(_ADD, (ir.Var(name), stmt.value))))
                case _:
                    definitions += [(name, None) for name in ir.binds(stmt)]
        definitions = [(name, value) for name, value in definitions if self._given(name) is None]
        self._names.update((name, _OPEN) for name, _ in definitions)
        changed = True
        while changed:
            changed = False
            for name, value in definitions:
                before = self._names[name]
                found = None if value is None else self._of(value)
                joined = found if before == _OPEN else before if found in (before, _OPEN) else None
                if joined != before:
                    self._names[name], changed = joined, True

    def of(self, expr: ir.Expr) -> int | None:
        """The rank of an expression's value."""
        found = self._of(expr)
        return None if found == _OPEN else found

    def _given(self, name: str) -> int | None:
        return self._facts.kind(name).rank

    def _of(self, expr: ir.Expr) -> int | None:
        match expr:
            case ir.Const(value):
                return 0 if isinstance(value, (int, float, complex)) else None
            case ir.Var(name):
                given = self._given(name)
                return self._names.get(name) if given is None else given
            case ir.Attribute(base, "T") | ir.Call(fn=ir.Attribute(base, "copy"), args=()):
                return self._of(base)
            case ir.Index(base, key):
                return self._of_part(self._of(base), key)
            case ir.Call(fn=ir.Ref() as fn, args=args, kwargs=kwargs):
                return self._of_call(fn, args, dict(kwargs))
        return None

    def _of_part(self, rank: int | None, key: ir.Expr) -> int | None:
        if rank is None or rank == _OPEN:
            return rank
        for part in key_parts(key):
            number = isinstance(part, ir.Const) and type(part.value) is int
            if number or (isinstance(part, ir.Var) and self._facts.kind(part.name).integer):
                rank -= 1
            elif not isinstance(part, ir.Slice):
                return None
        return rank

    def _of_call(
        self, fn: ir.Ref, args: tuple[ir.Expr, ...], options: dict[str, ir.Expr]
    ) -> int | None:
        name = runtime_name(fn.obj) or numpy_name(fn.obj)
        ranks = [self._of(arg) for arg in args]
        elementwise = isinstance(fn.obj, np.ufunc) and fn.obj.signature is None
        if fn.text in _OPERATORS or (elementwise and fn.obj.nout == 1 and not options):
            return _widest(ranks)
        if fn.text == "@" and len(ranks) == 2:
            return _of_product(*ranks)
        if name in ("unbroadcast", "broadcast_like") and len(ranks) == 2:
            return ranks[1]
        if name in _LIKE and ranks:
            return ranks[0]
        if name == "sum" and len(ranks) == 1 and not options:
            return 0
        return 2 if name == "outer" and not options else None


_ADD = ir.Ref("+", operator.add)


def _widest(ranks: list[int | None]) -> int | None:
    known = [rank for rank in ranks if rank is not None]
    if len(known) < len(ranks) or not known:
        return None
    return _OPEN if _OPEN in known else max(known)


def _of_product(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if _OPEN in (left, right):
        return _OPEN
    return left + right - 2 if left in (1, 2) and right in (1, 2) else None
