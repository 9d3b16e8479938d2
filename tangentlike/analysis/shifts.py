"""Extrema that no result depends on: `m = np.max(x); m + np.log(np.sum(np.exp(x - m)))`.

A maximum is subtracted before `exp` so that nothing overflows, and is made up for afterwards: the
result is the same whatever `m` is, so `m` carries no derivative. What is followed: each value that
`m` goes into is `u + by * m` or `u * exp(by * m)`, where `u` is free of `m` and `by` is a number;
where `by` is zero it does not depend on `m` any more.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .. import ir
from ..ir.facts import fact
from ..ir.index import ProgramIndex, references
from ..ir.kind import UNKNOWN, Kind
from ..rules.book import as_function_call
from .operations import is_one_of, rule_object

_EXTREMA = (np.max, np.min, np.ndarray.max, np.ndarray.min)
_OF_TWO = (np.maximum, np.minimum)
_SUMS = (np.sum, np.mean, np.ndarray.sum, np.ndarray.mean)
_PRODUCTS = (operator.matmul, np.matmul, np.dot, np.ndarray.dot)
_OPERATORS = {
    id(operator.add): "+", id(np.add): "+", id(operator.sub): "-", id(np.subtract): "-",
    id(operator.mul): "*", id(np.multiply): "*", id(operator.truediv): "/", id(np.divide): "/",
}  # fmt: skip
_ALL, _EACH = "all", "each"


@dataclass(frozen=True)
class _Part:
    """`u + by * m`, or as a `factor` `u * exp(by * m)`.

    The extremum is that over one `axis`, over all entries (`_ALL`), or of two arrays (`_EACH`).
    `kept`: the value has that axis; `grown`: it may have others before those of the extremum.
    """

    by: float
    axis: int | str
    kept: bool = True
    grown: bool = False
    factor: bool = False


def cancelled_extrema(function: ir.Function, kinds: Mapping[str, Kind]) -> frozenset[str]:
    """The names that are bound to extrema on which no result depends.

    >>> from ..frontend.lower import program
    >>> f = program("m = np.max(x); d = x - m; e = np.exp(d); s = e.sum(); p = e / s; return p")
    >>> cancelled_extrema(f, {})
    frozenset({'m'})
    """
    if not any(ref.obj is np.exp for ref in fact(references, function)):
        return frozenset()
    index = fact(ProgramIndex, function)
    found = []
    for number, stmt in enumerate(index.statements):
        match stmt:
            case ir.Assign(target=str(name), value=ir.Call() as call):
                if is_one_of(rule_object(call, kinds), (*_EXTREMA, *_OF_TWO)):
                    followed = _Followed(function, index, kinds, as_function_call(call))
                    found += [name] * followed.cancels(number)
    return frozenset(found).difference(function.param_names)


def _reduced(call: ir.Call, rank: int | None) -> tuple[int | str, bool] | None:
    """The axis of a reduction, and whether it is kept; None where these are no literals, or there
    are other arguments."""
    words = dict(call.kwargs)
    axis = call.args[1] if len(call.args) == 2 else words.pop("axis", ir.Const(None))
    keepdims = words.pop("keepdims", ir.Const(False))
    if words or len(call.args) > 2 or not isinstance(keepdims, ir.Const):
        return None
    match axis:
        case ir.Const(None):
            return _ALL, True
        case ir.Const(int(number)):
            counted = number if number >= 0 or rank is None else number + rank
            return counted, bool(keepdims.value)
    return None


class _Followed:
    """The values that an extremum, the result of `call`, goes into. `of` is its first argument,
    where that has one value in a run."""

    def __init__(
        self, function: ir.Function, index: ProgramIndex, kinds: Mapping[str, Kind], call: ir.Call
    ) -> None:
        self.index, self.kinds, self.call = index, kinds, call
        of = call.args[0] if call.args else None
        self.rank = self._kind(of).rank
        several = isinstance(of, ir.Var) and (
            len(index.definitions.get(of.name, ())) + (of.name in function.param_names) > 1
        )
        self.of = None if several else of
        self.parts: dict[str, _Part] = {}

    def _kind(self, expr: ir.Expr | None) -> Kind:
        return self.kinds.get(expr.name, UNKNOWN) if isinstance(expr, ir.Var) else UNKNOWN

    @property
    def extremum(self) -> _Part | None:
        """What the result of the call is in terms of itself; None where it is not followed."""
        if is_one_of(getattr(self.call.fn, "obj", None), _OF_TWO):
            return _Part(1, _EACH) if len(self.call.args) == 2 and not self.call.kwargs else None
        reduced = _reduced(self.call, self.rank)
        return None if reduced is None else _Part(1, *reduced)

    def cancels(self, begun: int) -> bool:
        """Whether what comes of the extremum, bound by statement `begun`, is free of it in the end:
        all of it stands in one block and is bound once."""
        index, extremum = self.index, self.extremum
        pending, block = {begun}, (index.parents[begun], index.branches[begun])
        while pending:
            number = min(pending)
            pending.remove(number)
            stmt = index.statements[number]
            if not isinstance(stmt, ir.Assign) or not isinstance(stmt.target, str):
                return False
            part = extremum if number == begun else self._value(stmt.value)
            if part is None or (index.parents[number], index.branches[number]) != block:
                return False
            if part.by:
                uses = index.uses.get(stmt.target, ())
                if index.definitions[stmt.target] != [number] or any(n <= number for n in uses):
                    return False
                self.parts[stmt.target] = part
                pending.update(uses)
        return True

    def _value(self, value: ir.Expr) -> _Part | None:
        """What an expression is in terms of the extremum; None: unknown."""
        match value:
            case ir.Var(name):
                return self.parts[name]
            case ir.Attribute(ir.Var(name), attribute) if attribute in ir.SHAPE_ATTRIBUTES:
                return replace(self.parts[name], by=0)
            case ir.Index(ir.Var(name), key) if not ir.names_in(key) & self.parts.keys():
                return self._entries(self.parts[name], key)
            case ir.Call():
                return self._call(value)
        return None

    def _call(self, call: ir.Call) -> _Part | None:
        obj, call = rule_object(call, self.kinds), as_function_call(call)
        if is_one_of(obj, _SUMS):
            return self._sum(call)
        parts = [self.parts.get(arg.name) if isinstance(arg, ir.Var) else None for arg in call.args]
        first = parts[0] if parts else None
        if call.kwargs or not all(isinstance(arg, (ir.Var, ir.Const, ir.Ref)) for arg in call.args):
            return None
        if len(parts) == 1 and first is not None:
            if obj is np.exp and not first.factor:
                return replace(first, factor=True)
            if obj is np.log and first.factor:
                return replace(first, factor=False)
            if obj is operator.neg:
                return first if first.factor else replace(first, by=-first.by)
        if len(parts) == 2 and is_one_of(obj, _PRODUCTS):
            one = [part for part in parts if part is not None]
            if all(part.factor and part.axis == _ALL for part in one):
                return replace(one[0], by=sum(part.by for part in one))
        if len(parts) == 2 and id(obj) in _OPERATORS:
            return self._combined(_OPERATORS[id(obj)], call.args, parts)
        return None

    def _sum(self, call: ir.Call) -> _Part | None:
        """A sum of entries that have the same factor."""
        reduced, of = _reduced(call, self.rank), call.args[0] if call.args else None
        part = self.parts.get(of.name) if isinstance(of, ir.Var) else None
        if reduced is None or part is None or not part.factor:
            return None
        if part.axis == _ALL:
            return part
        whole = part.kept and not (part.grown and reduced[0] != -1)
        return replace(part, kept=reduced[1]) if whole and reduced[0] == part.axis else None

    def _combined(
        self, sign: str, args: tuple[ir.Expr, ...], parts: list[_Part | None]
    ) -> _Part | None:
        """Entry by entry: a sum of shifts, a product of factors."""
        one, other = parts
        some = one or other
        assert some is not None
        if one is not None and other is not None:
            alike = one.kept == other.kept or one.axis == 0  # (the first axis: `x - x.max(axis=0)`)
            both = replace(one, kept=one.kept or other.kept, grown=one.grown or other.grown)
            if one.factor != other.factor or not alike:
                return None
            if one.factor and one.by == other.by and sign in "+-":
                return both
            if one.factor != (sign in "*/"):
                return None
            return replace(both, by=one.by + other.by if sign in "+*" else one.by - other.by)
        if some.factor != (sign in "*/"):
            return None
        by = -some.by if one is None and sign in "-/" else some.by
        free = args[0] if one is None else args[1]
        kept = some.kept or (some.axis == 0 and free == self.of)
        return replace(some, by=by, kept=kept, grown=some.grown or self._may_grow(free, kept))

    def _may_grow(self, free: ir.Expr, kept: bool) -> bool:
        """Whether an operand may have more axes than what has the axis of the extremum, or not."""
        if isinstance(free, ir.Const) or (free == self.of and kept):
            return False
        rank = self._kind(free).rank
        return rank is None or self.rank is None or rank > self.rank - (not kept)

    def _entries(self, part: _Part, key: ir.Expr) -> _Part | None:
        """Entries of a value: all have the same part of an extremum over all; otherwise `[:, None]`
        and `[:, 0]`, which bring and take away the axis, of length one, of the extremum."""
        if part.axis == _ALL or part.grown:
            return part if part.axis == _ALL else None
        match key, part.axis:
            case ir.Display(items=(ir.Var(rows), ir.Var(columns))), 1 if self._are_all_rows(rows):
                taken = self.kinds.get(columns, UNKNOWN)
                one_each = taken.integer or (taken.dtype == "int" and taken.rank == 1)
                return replace(part, kept=False) if part.kept and one_each else None
            case ir.Display(items=(ir.Slice(None, None, None), last)), 1:
                pass
            case ir.Display(items=(ir.Const(value), last)), axis if value is Ellipsis:
                if axis != (-1 if self.rank is None else self.rank - 1):
                    return None
            case _:
                return None
        if part.kept:
            return replace(part, kept=False) if last == ir.Const(0) else None
        is_new = last == ir.Const(None) or (isinstance(last, ir.Ref) and last.obj is None)
        return replace(part, kept=True) if is_new else None

    def _are_all_rows(self, name: str) -> bool:
        """Whether a name means `np.arange(rows)`: bound once, and read only to take entries."""
        rows, shape = self.kinds.get(name, UNKNOWN).shape, self._kind(self.of).shape
        if self.rank != 2 or shape is None or rows != shape[:1] or rows == (None,):
            return False
        index = self.index
        numbers = (*index.definitions.get(name, ()), *index.uses[name])
        made, *used = (getattr(index.statements[number], "value", None) for number in numbers)
        if not isinstance(made, ir.Call) or len(index.definitions[name]) != 1:
            return False
        return (
            rule_object(made, self.kinds) is np.arange
            and len(made.args) == 1
            and all(isinstance(use, ir.Index) and use.base != ir.Var(name) for use in used)
        )
