"""What is known of the operands of a statement while it is executed once.

    for j in range(n):
        t = a[j + 1 :] - b[j + 1 :]      # equally long, if `a` and `b` are
        v = q * v[1:] + p * v[:-1]       # `v[1:]` and `v[:-1]` are, though `v` is another each time

A `Kind` holds in every run, and so says nothing of sizes that differ from one iteration to the
next. Within one they have names: those of `v@3`, say, for what `v` stands for until it is bound
again. What a loop binds has no number at its head, where iterations meet: nothing is carried from
one into another. Masks have such names as well, where nothing can write into them: `r[near]` and
`f[near]` are equally long.
"""

from __future__ import annotations

import operator
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .. import ir
from ..ir.dataflow import Problem, solve
from ..ir.index import ProgramIndex
from ..ir.kind import MANY, UNKNOWN, Dim, Kind
from ..rules.index_kinds import NUMBERED, bound_text, key_parts
from .kind_of import kind_of

_SIZED = ("array", "value")


class LocalKinds:
    """What is known where the statements of a function stand.

    >>> from ..frontend.lower import program
    >>> f = program('''for i in range(n):
    ...     left = v[1:]
    ...     right = v[:-1]
    ...     v = left + right''')
    >>> kinds = {name: Kind("array", "float", (None,)) for name in ("v", "left", "right")}
    >>> at = LocalKinds(f, ProgramIndex(f), kinds, None).at(f.body[0].body[2])
    >>> [at(ir.Var(name)).shape for name in ("v", "left", "right")]
    [('v@2.0',), ('v@2.0-1',), ('v@2.0-1',)]
    """

    def __init__(
        self, function: ir.Function, index: ProgramIndex, kinds: dict[str, Kind], book: Any
    ) -> None:
        self._index, self._kinds, self._book = index, kinds, book
        masks = {n for n, k in kinds.items() if k.is_mask}
        masks -= masks and handed_on(index.statements)
        self._open = {n for n, k in kinds.items() if _is_open(k)} | masks
        self._settled = {n for n in masks if _is_settled(n, index)}
        self._numbered: dict[tuple[str, int], ir.Var] = {}
        self._known = ChainMap[str, Kind]({}, self._kinds)
        problem = _Numbers(index, frozenset(self._open))
        self._names = solve(function, problem, index)
        for stmt in index.statements:
            match stmt:
                case ir.Assign(target=str(name), value=value) if name in problem.names:
                    value = updated_array(stmt, kinds) or value
                    self._bind(name, 2 * index.number(stmt) + 1, self._substituted(stmt, value))

    def at(self, stmt: ir.Stmt) -> Callable[[ir.Expr], Kind]:
        """What tells the kind of an expression that the statement reads."""
        return lambda expr: kind_of(self._substituted(stmt, expr), self._known, self._book)

    def _substituted(self, stmt: ir.Stmt, expr: ir.Expr) -> ir.Expr:
        place = self._index.number(stmt)
        numbers = self._names.before[place] or {}
        read = ir.names_in(expr) & self._open
        return ir.substitute(
            expr, {name: self._name(name, numbers.get(name, 2 * place)) for name in read}
        )

    def _name(self, name: str, number: int) -> ir.Var:
        if name in self._settled:
            self._known.setdefault(settled(name).name, self._kinds[name])
            return settled(name)
        if (name, number) not in self._numbered:
            found = self._numbered[name, number] = ir.Var(f"{name}{NUMBERED}{number}")
            self._known[found.name] = _with_names(self._kinds[name], found.name)
        return self._numbered[name, number]

    def _bind(self, name: str, number: int, value: ir.Expr) -> None:
        """Note what a name stands for now, if that is known better here."""
        whole = self._kinds[name]
        text = bound_text(value) if whole.integer else None
        if text is not None:  # (equal integers have one name)
            self._numbered[name, number] = ir.Var(text)
            self._known.setdefault(text, whole)
            return
        kind, found = self._of_operation(value), self._name(name, number).name
        if whole.integer and whole.spells is None:
            self._known[found] = ir.replaced(whole, spells=kind.spells)
        elif kind.shape is not None:
            shape = kind.shape if whole.shape is None else whole.shape
            if isinstance(whole.shape, tuple) and kind.rank == whole.rank:
                pairs = zip(kind.shape, whole.shape, strict=True)
                shape = tuple(here if known in (None, MANY) else known for here, known in pairs)
            self._known[found] = _with_names(whole.with_shape(shape), found)

    def _of_operation(self, value: ir.Expr) -> Kind:
        """The kind of a value; of a function of the user's nothing is asked for these names."""
        if isinstance(value, ir.Call):
            is_callee = getattr(self._book, "is_callee", None)
            if not isinstance(value.fn, ir.Ref) or (is_callee and is_callee(value.fn.obj)):
                return UNKNOWN
        return kind_of(value, self._known, self._book)


class _Numbers(Problem["dict[str, int] | None"]):
    """Of each of some names, which of its values it has: that which one statement binds, or was
    the first to read."""

    forward, bottom = True, None

    def __init__(self, index: ProgramIndex, names: frozenset[str]) -> None:
        self.index, self.names = index, names

    def join(self, a: dict[str, int] | None, b: dict[str, int] | None) -> dict[str, int] | None:
        if a is None or b is None or a == b:
            return b if a is None else a
        return {name: number for name, number in a.items() if b.get(name) == number}

    def transfer(self, stmt: ir.Stmt, state: dict[str, int] | None) -> dict[str, int] | None:
        found, place = dict(state or {}), 2 * self.index.number(stmt)
        if not ir.is_compound(stmt):
            for name in self.names & ir.reads(stmt):
                found.setdefault(name, place)
        return found if isinstance(stmt, ir.For) else self._bound(stmt, found)

    def enter(self, stmt: ir.For | ir.Try, state: dict[str, int] | None) -> dict[str, int] | None:
        return self._bound(stmt, dict(state or {}))

    def _bound(self, stmt: ir.Stmt, state: dict[str, int]) -> dict[str, int]:
        for name in self.names.intersection(ir.binds(stmt)):
            state[name] = 2 * self.index.number(stmt) + 1
        return state


def _is_open(kind: Kind) -> bool:
    """Whether more may be known of a value in one place than everywhere."""
    if kind.integer:
        return True
    if kind.form not in _SIZED or kind.grown is not None or isinstance(kind.shape, str):
        return False
    return kind.shape is None or not {None, MANY}.isdisjoint(kind.shape)


# --------------------------------------------------------------------------------------------------
# Masks into which nothing can write: what two arrays have where one is True is equally long.


def settled(mask: str) -> ir.Var:
    """The name of a mask that is one in all of a run."""
    return ir.Var(f"{mask}{NUMBERED}")


def _is_settled(name: str, index: ProgramIndex) -> bool:
    bound = index.definitions.get(name, [])
    loops = (n for number in bound for n in (number, *index.around(number)))
    return len(bound) <= 1 and not any(isinstance(index.statements[n], _LOOPS) for n in loops)


_LOOPS = (ir.For, ir.While)


def updated_array(stmt: ir.Assign, kinds: Mapping[str, Kind]) -> ir.Var | None:
    """`a` of `a = a + b`, where the user wrote `a += b` and `a` is surely an array with axes: the
    sum is as large as that."""
    match stmt:
        case ir.Assign(value=ir.Call(args=(ir.Var(name) as old, _)), updates=True):
            kind = kinds.get(name, UNKNOWN)
            return old if kind.form == "array" and kind.rank else None
    return None


def handed_on(stmts: Iterable[ir.Stmt]) -> set[str]:
    """The names with which statements do anything else than bind them, read entries by them, and
    compute: what these stand for may be written."""
    found: set[str] = set()
    for stmt in stmts:
        if not isinstance(stmt, ir.Assign):
            found.update(ir.binds(stmt))
        read = (stmt.target, stmt.value) if isinstance(stmt, ir.Store) else ir.expressions(stmt)
        found.update(*map(_handed_on, read))
    return found


def _handed_on(expr: ir.Expr) -> frozenset[str]:
    """Those of an expression."""
    match expr:
        case ir.Index(base, key):
            whole = (base, *key_parts(key))
            inner = (e for e in whole if e is base or not isinstance(e, ir.Var))
            return frozenset().union(*map(_handed_on, inner))
        case ir.Call(ir.Ref(obj=obj), args, ()) if _computes(obj, len(args)):
            return frozenset().union(*(_handed_on(a) for a in args if not isinstance(a, ir.Var)))
        case ir.Call(ir.Attribute(ir.Var(), method), args, ()) if method in _ASKING:
            return frozenset().union(*map(_handed_on, args))
    return ir.names_in(expr)


_ASKING = ("any", "all", "sum", "mean", "nonzero", "copy", "astype")  # methods of arrays


def _computes(obj: object, count: int) -> bool:
    if isinstance(obj, np.ufunc):
        return count == obj.nin
    return obj in _COMPUTING


_COMPUTING = (operator.invert, operator.and_, operator.or_, np.where, np.sum, np.any, np.all)


def _with_names(kind: Kind, number: str) -> Kind:
    """The same with names for what is not known of the shape."""
    if kind.integer:
        return kind
    if isinstance(kind.shape, tuple):
        return kind.with_shape(tuple(_named(d, f"{number}.{n}") for n, d in enumerate(kind.shape)))
    return kind.with_shape(number) if kind.shape is None else kind


def _named(dim: Dim, name: str) -> Dim:
    return name if dim is None else f"{name}{MANY}" if dim == MANY else dim
