"""Which entries of an array a statement reads or writes, round by round of its loops.

    for j in range(n):
        low[j, j] = sqrt(a[j, j] - low[j, :j] @ low[j, :j])

No round writes what an earlier one has read: columns before `j` are read, column `j` is written.
So nothing overwritten has to be saved, and what is read may be read again in the reverse
sweep. Keys count here where they are linear in loop variables of `range` and in integers that
are bound once; of any other key it is only known that it may lie anywhere.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .. import ir
from ..frontend.owners import is_operation
from ..ir.index import OUTERMOST
from ..ir.kind import Kind
from ..rules.index_kinds import key_parts
from .aliases import Aliases
from .memory import Sources, base_names
from .sharing import owner
from .structure import ROOT, BlockKey, Structure, shape_only

# --------------------------------------------------------------------------------------------------
# Integers that are linear in loop variables and sizes, and proofs that they are not negative.


@dataclass(frozen=True)
class Affine:
    """`constant + sum of coefficient * variable`; variables are names.

    >>> print(Affine.of("n") - Affine.of("i").shifted(1))
    n - i - 1
    """

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()  # sorted by name, no zero among them

    @staticmethod
    def of(name: str) -> Affine:
        return Affine(0, ((name, 1),))

    def shifted(self, by: int) -> Affine:
        return Affine(self.constant + by, self.terms)

    def times(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(self.constant * factor, tuple((n, c * factor) for n, c in self.terms))

    def __add__(self, other: Affine) -> Affine:
        total = dict(self.terms)
        for name, coefficient in other.terms:
            total[name] = total.get(name, 0) + coefficient
        kept = sorted((n, c) for n, c in total.items() if c)
        return Affine(self.constant + other.constant, tuple(kept))

    def __sub__(self, other: Affine) -> Affine:
        return self + other.times(-1)

    def coefficient(self, name: str) -> int:
        return dict(self.terms).get(name, 0)

    def replaced(self, name: str, value: Affine) -> Affine:
        """The same with a value in place of a variable."""
        factor = self.coefficient(name)
        return self - Affine.of(name).times(factor) + value.times(factor)

    def renamed(self, names: Mapping[str, str]) -> Affine:
        return Affine(self.constant, tuple(sorted((names.get(n, n), c) for n, c in self.terms)))

    def __str__(self) -> str:
        parts = [(c, n if abs(c) == 1 else f"{abs(c)} * {n}") for n, c in self.terms]
        parts.sort(key=lambda part: -part[0])
        if self.constant or not parts:
            parts.append((self.constant, str(abs(self.constant))))
        text = " ".join(f"{'-' if c < 0 else '+'} {shown}" for c, shown in parts)
        return text.removeprefix("+ ")


class Bounds(NamedTuple):
    """What a variable is at least, and what it is at most: each of several."""

    least: tuple[Affine, ...] = ()
    most: tuple[Affine, ...] = ()


@dataclass
class Inequalities:
    """Bounds of variables, by name; `sizes` are names of what is never negative.

    >>> i, j, n = map(Affine.of, "ijn")
    >>> known = Inequalities({"j": Bounds((Affine(),), (i.shifted(-1),))})  # j in range(i)
    >>> known.proves(i - j.shifted(1)), known.proves(j.shifted(-1))
    (True, False)
    """

    bounds: dict[str, Bounds] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()

    def proves(self, value: Affine, done: frozenset[str] = frozenset()) -> bool:
        """Whether a value is surely not negative: variables are replaced by their bounds, each
        once, until only sizes are left."""
        if all(c > 0 and n in self.sizes for n, c in value.terms):
            return value.constant >= 0
        for name, coefficient in value.terms:
            if name in self.bounds and name not in done:
                bounds = self.bounds[name]
                options = bounds.least if coefficient > 0 else bounds.most
                if any(self.proves(value.replaced(name, b), done | {name}) for b in options):
                    return True
        return False


# --------------------------------------------------------------------------------------------------
# The entries that a statement reads or writes.

_DEEPEST = 8  # definitions that an index, or the array of an entry, is followed through
_Span = tuple[Affine, "Affine | None"]  # the first and the last index on an axis, if it is known
_ANYWHERE: _Span = (Affine(), None)


@dataclass(frozen=True)
class Access:
    """`name[key]`, read or written where a statement stands. (`key` None: all entries.)

    `after`: the statement itself has been executed when this is read again.
    """

    stmt: ir.Stmt
    name: str
    key: ir.Expr | None
    after: bool = False


class Regions:
    """Answers whether entries that are read may be written later, and the like."""

    def __init__(self, facts: Structure, kind_of: Callable[[ir.Expr], Kind]) -> None:
        self.facts = facts
        self.kind_of = kind_of
        self._spans: dict[tuple[BlockKey, ir.Expr], tuple[_Span, ...]] = {}
        self._loops_around: dict[BlockKey, list[ir.Stmt]] = {}
        self._disjoint: dict[tuple[object, ...], bool] = {}

    def is_fixed(self, name: str) -> bool:
        """Whether a name is one array all the time."""
        return self.kind_of(ir.Var(name)).form == "array" and self.is_bound_once(name)

    def part(self, expr: ir.Expr) -> ir.Index | None:
        """The entries of a fixed array that an expression is: `a[k]`, or a name for them."""
        match expr:
            case ir.Index(ir.Var(name)) if self.is_fixed(name):
                return expr
            case ir.Var(name):
                made = self.local_value(name)
                return self.part(made) if isinstance(made, ir.Index) else None
        return None

    def may_overwrite(self, read: Access, write: Access) -> bool:
        """Whether a statement may change entries after they were read (and before they are read
        again in the reverse sweep)."""
        number = self.facts.number
        first, second = number(read.stmt), number(write.stmt)
        same_round = second > first or (second == first and not read.after)
        return self._meet(read, write, same_round, later_rounds=True)

    def may_meet_in_round(self, read: Access, write: Access) -> bool:
        """Whether two statements may touch the same entries in the same round of their loops."""
        return self._meet(read, write, same_round=True, later_rounds=False)

    def may_meet_later(self, write: Access, read: Access, made: ir.Stmt | None = None) -> bool:
        """Whether entries may be read after a statement has written them; in the same round of
        the loops around the statement that has `made` the array, where that is given."""
        same_round = self.facts.number(read.stmt) > self.facts.number(write.stmt)
        outer = 0 if made is None else len(self._loops(made))
        return self._meet(write, read, same_round, later_rounds=True, outer=outer)

    # ------------------------------------------------------------------------- disjointness

    def _meet(
        self, read: Access, write: Access, same_round: bool, later_rounds: bool, outer: int = 0
    ) -> bool:
        """Whether they meet; later rounds of the `outer` loops do not count."""
        mine, theirs = self._loops(read.stmt), self._loops(write.stmt)
        common = [a for a, b in zip(mine, theirs, strict=False) if a is b]
        rounds = list(enumerate(common))[outer:] if later_rounds else []
        if read.name != write.name or read.key is None or write.key is None:
            return same_round or bool(rounds)
        if same_round and not self._apart(read, write, len(common), None):
            return True
        return not all(self._apart(read, write, at, loop) for at, loop in rounds)

    def _apart(self, read: Access, write: Access, shared: int, later: ir.Stmt | None) -> bool:
        """Whether no entry is read and written where the first loops are in the same round, and
        the next one, `later`, is in a later round for the write. (Where in its block each of the
        two stands makes no difference.)"""
        blocks = map(self.facts.block_of, (read.stmt, write.stmt))
        at = (read.key, write.key, *blocks, shared, later is not None)
        if at not in self._disjoint:
            self._disjoint[at] = self._are_apart(read, write, shared, later)
        return self._disjoint[at]

    def _are_apart(self, read: Access, write: Access, shared: int, later: ir.Stmt | None) -> bool:
        assert read.key is not None and write.key is not None
        mine, theirs = self._loops(read.stmt), self._loops(write.stmt)
        own = {name: f"{name}'" for loop in theirs[shared:] for name in _variables(loop)}
        known = Inequalities(dict(self._bounds(mine)), _Sizes())
        for name, bounds in self._bounds(theirs[shared:]):
            least, most = (tuple(b.renamed(own) for b in side) for side in bounds)
            known.bounds[own[name]] = Bounds(least, most)
        for name, step in _steps(later):
            earlier, now = Affine.of(name), Affine.of(own[name])
            if step < 0:
                earlier, now, name = now, earlier, own[name]
            old = known.bounds.get(name, Bounds())
            known.bounds[name] = Bounds(old.least, (*old.most, now.shifted(-1)))
        spans = zip(self._key(read.stmt, read.key), self._key(write.stmt, write.key), strict=False)
        return any(
            _is_before(a, (b[0].renamed(own), b[1] and b[1].renamed(own)), known) for a, b in spans
        )

    # ------------------------------------------------------------------------ what keys span

    def _key(self, stmt: ir.Stmt, key: ir.Expr) -> tuple[_Span, ...]:
        at = (self.facts.block_of(stmt), key)
        if at not in self._spans:
            self._spans[at] = tuple(self._axes(stmt, key))
        return self._spans[at]

    def _axes(self, stmt: ir.Stmt, key: ir.Expr) -> Iterator[_Span]:
        """The span on each axis, up to a part that may take several of them (or none)."""
        known = self._known_at(stmt)
        for part in key_parts(key):
            if isinstance(part, ir.Slice):
                yield self._slice(part, known)
                continue
            kind = self.kind_of(part)
            if kind.form != "number" or kind.dtype != "int":
                return
            at = self._affine(part)
            yield (at, at) if at is not None and known.proves(at) else _ANYWHERE

    def _known_at(self, stmt: ir.Stmt) -> Inequalities:
        """The bounds of the variables of the loops around a statement, also by the tests of what
        branches in these stand around it: `if n >= 1:`."""
        known = Inequalities(dict(self._bounds(self._loops(stmt))), _Sizes())
        tests: list[tuple[ir.Expr, bool]] = []  # of branches further in, and how they came out
        block = self.facts.block_of(stmt)
        while block != ROOT:
            around = self.facts.owner[block]
            if isinstance(around, ir.If) and not isinstance(around, ir.Try):
                tests.append((around.test, block[1] == 0))
            for name in _variables(around):
                for test, holds in tests:
                    for value in self._not_negative(test, holds, known):
                        known.bounds[name] = _narrowed(known.bounds[name], name, value)
            block = self.facts.parent[block]
        return known

    def _not_negative(self, test: ir.Expr, holds: bool, known: Inequalities) -> Iterator[Affine]:
        """What is surely not negative where a test of integers holds, or does not."""
        match test:
            case ir.Lazy("and", items) if holds:
                for item in items:
                    yield from self._not_negative(item, holds, known)
            case ir.Call(ir.Ref(obj=obj), (left, right), ()) if obj in _COMPARISONS:
                one, other = self._affine(left), self._affine(right)
                if one is None or other is None:
                    return
                asked = _COMPARISONS[obj] if holds else _COMPARISONS[_OPPOSITE[obj]]
                less, greater = other - one, one - other
                if "=" not in asked and asked != "!":
                    yield (less if asked == "<" else greater).shifted(-1)
                elif asked != "!":
                    yield from [less] * ("<" in asked) + [greater] * (">" in asked)
                else:
                    yield from (v.shifted(-1) for v in (less, greater) if known.proves(v))

    def _slice(self, part: ir.Slice, known: Inequalities) -> _Span:
        step = ir.Const(1) if part.step is None else part.step
        if not (isinstance(step, ir.Const) and type(step.value) is int and step.value > 0):
            return _ANYWHERE
        first = None if part.lower is None else self._affine(part.lower)
        if first is None or not known.proves(first):
            first = Affine()
        last = None if part.upper is None else self._affine(part.upper)
        return first, last.shifted(-1) if last is not None and known.proves(last) else None

    # ------------------------------------------------------------------------------ integers

    def _affine(self, expr: ir.Expr, deep: int = 0) -> Affine | None:
        """An index as linear in loop variables and sizes."""
        match expr:
            case ir.Const(value):
                return Affine(value) if type(value) is int else None
            case ir.Var(name):
                return self._named(name, deep)
            case ir.Call(fn=ir.Ref(obj=obj), args=(only,), kwargs=()):
                if obj is len and isinstance(only, ir.Var) and self.is_fixed(only.name):
                    return Affine.of(_size(only.name, 0))
                value = self._affine(only, deep) if obj is operator.neg else None
                return None if value is None else value.times(-1)
            case ir.Call(fn=ir.Ref(obj=obj), args=(left, right), kwargs=()):
                return self._combined(obj, self._affine(left, deep), self._affine(right, deep))
            case ir.Index(ir.Attribute(ir.Var(name), "shape"), ir.Const(axis)):
                whole = type(axis) is int and axis >= 0 and self.is_fixed(name)
                return Affine.of(_size(name, axis)) if whole else None
        return None

    def _combined(self, obj: object, left: Affine | None, right: Affine | None) -> Affine | None:
        if left is None or right is None:
            return None
        if obj is operator.add:
            return left + right
        if obj is operator.sub:
            return left - right
        if obj is operator.mul and not (left.terms and right.terms):
            return right.times(left.constant) if not left.terms else left.times(right.constant)
        return None

    def _named(self, name: str, deep: int) -> Affine | None:
        """A loop variable, an integer that is bound once, or what a name is short for."""
        kind = self.kind_of(ir.Var(name))
        if kind.form != "number" or kind.dtype != "int":
            return None
        made = self.local_value(name)
        value = None if made is None or deep > _DEEPEST else self._affine(made, deep + 1)
        if value is not None:
            return value
        loop = self.facts.single(name)
        if isinstance(loop, ir.For) and name in _variables(loop):
            return Affine.of(name)
        return Affine.of(name) if self.is_bound_once(name) else None

    def local_value(self, name: str) -> ir.Expr | None:
        """What a name is bound to by one assignment, in the same round as it is read."""
        made = self.facts.single(name)
        if not isinstance(made, ir.Assign) or made.target != name:
            return None
        return made.value if self.facts.lasts_a_round(name) else None

    def is_bound_once(self, name: str) -> bool:
        """Whether a name has one value in all of the function."""
        made = self.facts.single(name)
        at_root = made is not None and self.facts.block_of(made) == ROOT
        return at_root or self.facts.is_given(name)

    # --------------------------------------------------------------------------------- loops

    def _loops(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        """The loops around a statement, outermost first."""
        return self._loops_of(self.facts.block_of(stmt))

    def _loops_of(self, key: BlockKey) -> list[ir.Stmt]:
        if key not in self._loops_around:
            owner = self.facts.owner.get(key)
            around = [] if key == ROOT else self._loops_of(self.facts.parent[key])
            loop: list[ir.Stmt] = [owner] if isinstance(owner, ir.For | ir.While) else []
            self._loops_around[key] = around + loop
        return self._loops_around[key]

    def _bounds(self, loops: list[ir.Stmt]) -> Iterator[tuple[str, Bounds]]:
        for loop in loops:
            for name in _variables(loop):
                assert isinstance(loop, ir.For)
                yield name, self._range(loop.iter)

    def _range(self, iterable: ir.Expr) -> Bounds:
        """The bounds of what a `range` (reversed or not) yields, or the counter of `enumerate`."""
        assert isinstance(iterable, ir.Call) and isinstance(iterable.fn, ir.Ref)
        if iterable.fn.obj is reversed:
            return self._range(iterable.args[0])
        if iterable.fn.obj is enumerate:
            return Bounds((Affine(),))
        step = _step(iterable)
        limits = iterable.args[:2]
        start, stop = limits if len(limits) == 2 else (ir.Const(0), *limits)
        if step > 0:
            return Bounds(self._each(start, max), self._each(stop, min, -1))
        return Bounds(self._each(stop, max, 1), self._each(start, min))

    def _each(self, bound: ir.Expr, joined_by: object, shift: int = 0) -> tuple[Affine, ...]:
        """`max(a, b)` is at least each of them, `min(a, b)` at most each."""
        parts: tuple[ir.Expr, ...] = (bound,)
        made = self.local_value(bound.name) if isinstance(bound, ir.Var) else None
        match bound if made is None else made:
            case ir.Call(fn=ir.Ref(obj=obj), args=(_, _, *_) as args, kwargs=()) if (
                obj is joined_by
            ):
                parts = args
        found = map(self._affine, parts)
        return tuple(value.shifted(shift) for value in found if value is not None)


_COMPARISONS = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "<=>",
    operator.ne: "!",
}  # fmt: skip
_OPPOSITE = {
    operator.lt: operator.ge, operator.le: operator.gt, operator.gt: operator.le,
    operator.ge: operator.lt, operator.eq: operator.ne, operator.ne: operator.eq,
}  # fmt: skip


def _narrowed(bounds: Bounds, name: str, value: Affine) -> Bounds:
    """The bounds of a variable where a value that is linear in it is not negative."""
    coefficient = value.coefficient(name)
    if coefficient == 1:
        return Bounds((*bounds.least, Affine.of(name) - value), bounds.most)
    if coefficient == -1:
        return Bounds(bounds.least, (*bounds.most, Affine.of(name) + value))
    return bounds


class _Sizes(frozenset[str]):
    """The names that `_size` gives."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.startswith("len ")


def _size(name: str, axis: int) -> str:
    return f"len {name} {axis}"


def _is_before(a: _Span, b: _Span, known: Inequalities) -> bool:
    """Whether one of two spans ends before the other one begins."""
    return any(
        last is not None and known.proves(first - last.shifted(1))
        for last, first in ((a[1], b[0]), (b[1], a[0]))
    )


def _variables(loop: ir.Stmt) -> tuple[str, ...]:
    """The variable of a loop that counts."""
    match loop:
        case ir.For(target=str(name), iter=iterable) if _step(iterable):
            return (name,)
        case ir.For(target=(str(name), _), iter=ir.Call(fn=ir.Ref(obj=obj), args=(_,))):
            return (name,) if obj is enumerate else ()
    return ()


def _steps(loop: ir.Stmt | None) -> tuple[tuple[str, int], ...]:
    """The variable of a loop, and the sign of its step."""
    if not isinstance(loop, ir.For):
        return ()
    return tuple((name, _step(loop.iter) or 1) for name in _variables(loop))


def _step(iterable: ir.Expr) -> int:
    """The step of a `range` with a literal step, reversed or not; 0 for what is none."""
    match iterable:
        case ir.Call(fn=ir.Ref(obj=obj), args=(inner,)) if obj is reversed:
            return -_step(inner)
        case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=()) if obj is range:
            if any(map(ir.is_starred, args)) or not args:
                return 0
            if len(args) < 3:
                return 1
            match args[2]:
                case ir.Const(int() as step):
                    return step
                case ir.Call(fn=ir.Ref(obj=op), args=(ir.Const(int() as step),)):
                    return -step if op is operator.neg else 0
    return 0


# --------------------------------------------------------------------------------------------------
# Tokens for the entries of an array that adjoint statements read, and what overwrites them.


class Parts:
    """Names the parts of arrays that are distinguished: `#a|3` is one part of the content `#a`.

    `writes` says what a statement writes in place.
    """

    def __init__(
        self,
        regions: Regions,
        aliases: Aliases,
        writes: Callable[[ir.Stmt], tuple[str, ...]],
    ) -> None:
        self.regions = regions
        self.aliases = aliases
        self._numbers: dict[ir.Index, int] = {}
        self._parts: list[ir.Index] = []
        self._writes: dict[str, list[Access]] = {}  # by class
        for stmt in ir.statements(regions.facts.function.body):
            for name in writes(stmt):
                written = Access(stmt, name, written_key(stmt, name))
                for held in aliases.contents(name):
                    self._writes.setdefault(held, []).append(written)

    def token(self, expr: ir.Expr) -> str | None:
        """The token for the entries that an expression reads; None where all of them count."""
        entries = self.entries(expr)
        if entries is None:
            return None
        number = self._numbers.setdefault(entries, len(self._parts))
        if number == len(self._parts):
            self._parts.append(entries)
        return f"#{self.aliases.content_of(_name(entries))}|{number}"

    def entries(self, expr: ir.Expr) -> ir.Index | None:
        """`a[k]`, where `a` is written in place, but never under a name that is a view."""
        entries = self.regions.part(expr)
        if entries is None:
            return None
        name = _name(entries)
        if not self.aliases.has_variable(name):
            return None
        held = (self.aliases.content_of(name),)
        if self.aliases.contents(name) != held:
            return None
        if isinstance(expr, ir.Var) and self.aliases.contents(expr.name) != held:
            return None
        return entries

    def access(self, token: str, stmt: ir.Stmt, after: bool) -> Access:
        """The part of a token, read when a statement is reversed."""
        entries = self._parts[int(token.rpartition("|")[2])]
        return Access(stmt, _name(entries), entries.key, after)

    def written_to(self, entries: ir.Index) -> Iterator[Access]:
        """All writes into the memory of a part."""
        yield from self._writes.get(self.aliases.content_of(_name(entries)), ())

    def lasts(self, entries: ir.Index, stmt: ir.Stmt, after: bool) -> bool:
        """Whether what entries are, where a statement stands, is never overwritten."""
        read = Access(stmt, _name(entries), entries.key, after)
        return not any(self.regions.may_overwrite(read, w) for w in self.written_to(entries))

    def is_steady(self, entries: ir.Index, first: ir.Stmt, last: int) -> bool:
        """Whether no statement after `first`, up to the one of that number, changes entries in
        the same round."""
        read = Access(first, _name(entries), entries.key)
        number = self.regions.facts.number
        start = number(first)
        return not any(
            start < number(w.stmt) <= last and self.regions.may_meet_in_round(read, w)
            for w in self.written_to(entries)
        )


def is_part(token: str) -> bool:
    return "|" in token


def whole_of(token: str) -> str:
    """The token of the content that a part belongs to."""
    return token.partition("|")[0]


def written_key(stmt: ir.Stmt, name: str) -> ir.Expr | None:
    """The key of the entries of a name that a statement writes; None where it may be others."""
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(base), key)) if base == name:
            return key
        case ir.Update(target=ir.Index(ir.Var(base), key)) if base == name:
            return key
    return None


def _name(entries: ir.Index) -> str:
    assert isinstance(entries.base, ir.Var)
    return entries.base.name


# --------------------------------------------------------------------------------------------------
# Entries of arrays that are written and never read again: `q[1:] *= w` before `return q[0]`.
#
# The result does not depend on what is written there, so its adjoint is zero: not as a number,
# which `0 * inf` would make NaN, but because no statement ever adds to it. Told by what keys span,
# as far as that is known; entries that a mask or an array of indices chooses may be any.


_ITEMS = ("unknown", "value", "list")
_WITHOUT_DERIVATIVES = (np.empty, np.zeros, np.ones, np.empty_like, np.zeros_like, np.ones_like)


class _Read(NamedTuple):
    """A read of an array, or of what may share memory with it: of these entries, where they are
    distinguished, by this name."""

    stmt: ir.Stmt
    entries: ir.Index | None
    alias: str

    def access(self, name: str) -> Access:
        """The same as one of an array: of any of its entries, where the name is another."""
        same = self.entries is not None and self.entries.base == ir.Var(name)
        return Access(self.stmt, name, self.entries.key if same and self.entries else None)


class UnreadEntries:
    """Answers for one function, of which each statement `reads` some arrays and entries of them."""

    def __init__(
        self,
        facts: Structure,
        aliases: Aliases,
        regions: Regions,
        sources: Sources,
        reads: Callable[[ir.Stmt], Iterator[ir.Expr]] | None = None,
    ) -> None:
        self.facts = facts
        self.reads = reads or arrays_read
        self.sources = sources
        self.aliases = aliases
        self.regions = regions
        self._members: dict[str, set[str]] = {}  # by class: all names that may share memory
        for node, held in aliases.classes.items():
            self._members.setdefault(held, set()).add(owner(node))
        self._reads: dict[str, list[_Read] | None] = {}  # by class
        self._answers: dict[int, bool] = {}
        self._writes_of: dict[str, list[Access] | None] = {}  # None: not known

    def writes(self, stmt: ir.Stmt) -> bool:
        """Whether what a statement writes into an array is never read."""
        number = self.facts.number(stmt)
        if number not in self._answers:
            self._answers[number] = self._writes(stmt)
        return self._answers[number]

    def _writes(self, stmt: ir.Stmt) -> bool:
        written = self._written(stmt)
        if written is None:
            return False
        assert isinstance(written.base, ir.Var)
        name = written.base.name
        if not self._is_settled(name, stmt):
            return False
        classes = {self.aliases.class_of(node) for node in (name, f"{name}[*]")}
        write = Access(stmt, name, written.key)
        return not any(
            reads is None or any(self._may_read(read, write) for read in reads)
            for reads in map(self._reads_of, sorted(classes))
        )

    def _may_read(self, read: _Read, write: Access) -> bool:
        """Whether what a statement writes may be read there."""
        of_round = self._is_of_round(read.alias, read.stmt, write)
        return not of_round and self.regions.may_meet_later(write, read.access(write.name))

    def fills(self, stmt: ir.Store) -> bool:
        """Whether a statement stores the first entries with derivatives into an array that was made
        without any: nothing asks for the adjoint of what was there before."""
        match stmt.target:
            case ir.Index(ir.Var(name)):
                pass
            case _:
                return False
        made = self.facts.single(name)
        if not (isinstance(made, ir.Assign) and _has_no_derivatives(made.value)):
            return False
        if not self._stands_before(made, stmt):
            return False
        this, writes = Access(stmt, name, stmt.target.key), self._all_writes(name)
        return writes is not None and not any(
            self.regions.may_meet_later(write, this, made)
            for write in writes
            if not _stores_literal(write.stmt)
        )

    def _stands_before(self, made: ir.Stmt, stmt: ir.Stmt) -> bool:
        """Whether a statement comes first wherever the other is executed, in the same round."""
        facts, home = self.facts, self.facts.block_of(made)
        block = facts.block_of(stmt)
        while block not in (home, ROOT):
            block = facts.parent[block]
        return block == home and facts.number(made) < facts.number(stmt)

    def may_put_another(self, stmt: ir.Store) -> bool:
        """Whether what a statement puts into a list or dict may be replaced by another item."""
        match stmt.target:
            case ir.Index(ir.Var(base), key):
                this, writes = Access(stmt, base, key), self._all_writes(base)
            case _:
                return True
        return writes is None or any(self.regions.may_meet_later(this, write) for write in writes)

    def _all_writes(self, name: str) -> list[Access] | None:
        if name not in self._writes_of:
            self._writes_of[name] = self._writes_under(name)
        return self._writes_of[name]

    def _writes_under(self, name: str) -> list[Access] | None:
        """What may write an array, by this name or that of a part; None where that is not known."""
        found: list[Access] = []
        for alias in self._members.get(self.aliases.class_of(name), {name}):
            users = self.facts.used_by.get(alias, ())
            if alias in self.facts.kept or any(isinstance(s, ir.OpaqueStmt) for s in users):
                return None
            for write in self._written_by(alias):
                found.append(replace(write, name=name, key=write.key if alias == name else None))
        return found

    def _written_by(self, name: str) -> Iterator[Access]:
        """What may write an array by one name."""
        for stmt in self.facts.used_by.get(name, ()):
            key = written_key(stmt, name)
            if key is not None and not _hands_over(name, stmt):
                yield Access(stmt, name, key)
            elif name in map(owner, self.sources.written(stmt)) or _hands_over(name, stmt):
                yield Access(stmt, name, None)

    def _is_of_round(self, alias: str, read: ir.Stmt, write: Access) -> bool:
        """Whether an array is made in each round of the loop that it is written in, and read
        between the two, by a name that is bound there: what earlier rounds wrote is not seen."""
        number, loops = self.facts.number, self.facts.index.loops
        made, bound = self.facts.single(write.name), self.facts.single(alias)
        if made is None or bound is None or number(read) > number(write.stmt):
            return False
        around = (next(loops(number(s)), OUTERMOST) for s in (made, bound, write.stmt))
        return number(made) <= number(bound) < number(read) and len({*around}) == 1

    def _written(self, stmt: ir.Stmt) -> ir.Index | None:
        """The entries that a statement writes; None for what is not distinguished. (A new item of
        what may be a list is not a write into the item that was there.)"""
        match stmt:
            case ir.Store(target=ir.Index() as target) | ir.Update(target=ir.Index() as target):
                entries = self._entries(target)
                if entries is None or not isinstance(entries.base, ir.Var):
                    return None
                form = self.regions.kind_of(entries.base).form
                new_item = isinstance(stmt, ir.Store) and target == entries and form in _ITEMS
                return entries if form == "array" or new_item else None
        return None

    def _is_settled(self, name: str, stmt: ir.Stmt) -> bool:
        """Whether a name stands for one array from a statement on, whatever path led there, or in
        each round of a loop for a new one."""
        facts = self.facts
        loop, bound = facts.outer_loop[facts.block_of(stmt)], facts.definitions.get(name, ())
        if any(facts.number(made) >= facts.number(stmt) for made in bound):
            return False
        inside = [
            made
            for made in bound
            if loop != OUTERMOST
            and loop in (facts.number(made), facts.outer_loop[facts.block_of(made)])
        ]
        return not inside or (len(bound) == 1 and self._is_new(inside[0], stmt))

    def _is_new(self, made: ir.Stmt, stmt: ir.Stmt) -> bool:
        """Whether a statement that surely ran before another makes an array that shares memory with
        nothing."""
        index = self.facts.index
        around = map(index.statements.__getitem__, index.around(index.number(stmt)))
        blocks = {self.facts.block_of(s) for s in (stmt, *around)}
        return self.facts.block_of(made) in blocks and self._makes(made)

    def _makes(self, made: ir.Stmt) -> bool:
        """Whether a statement makes an array that shares memory with nothing."""
        match made:
            case ir.Assign(target=str(), value=ir.Call() as value):
                new = self.sources.view_of(value) == "no"  # (a user's may give what it keeps)
                return new and not self.sources.nodes(value) | self.sources.elements(value)
        return False

    def _entries(self, expr: ir.Expr) -> ir.Index | None:
        """Entries of an array that hold those that are meant: `a[1:]` of `tail[0]`, where
        `tail = a[1:]`."""
        part, names = self._part(expr), 0
        while part is not None and isinstance(part.base, ir.Var) and names < _DEEPEST:
            inner, names = self._part(part.base), names + 1
            if inner is None:
                return part
            part = inner
        return None

    def _part(self, expr: ir.Expr) -> ir.Index | None:
        """`a[k]`, or what a name is short for, while `a` is what it was. (What `a[[2, 0]]` gives is
        memory of its own.)"""
        match expr:
            case ir.Index(ir.Var()):
                return expr
            case ir.Var(name):
                value, made = self.regions.local_value(name), self.facts.single(name)
                if isinstance(value, ir.Index) and isinstance(value.base, ir.Var) and made:
                    if not self.sources.nodes(value):
                        return None
                    start = self.facts.number(made)
                    defined = self.facts.definitions.get(value.base.name, ())
                    late = any(self.facts.number(d) > start for d in defined)
                    return None if late else value
        return None

    def _reads_of(self, held: str) -> list[_Read] | None:
        """The reads of arrays of a class, latest first; None where entries may be read that no
        statement of the function names."""
        if held not in self._reads:
            self._reads[held] = self._reads_of_names(self._members.get(held, {owner(held)}))
        return self._reads[held]

    def _reads_of_names(self, names: set[str]) -> list[_Read] | None:
        used = self.facts.used_by
        if names & self.facts.kept or any(
            isinstance(stmt, ir.OpaqueStmt) for name in names for stmt in used.get(name, ())
        ):
            return None
        found: list[_Read] = []
        places = {place for name in names for place in self._places.get(name, ())}
        for stmt, read in map(self._read_parts.__getitem__, sorted(places, reverse=True)):
            if self._is_put_there(read, stmt):
                continue
            if ir.blocks(stmt):  # (a loop goes on reading what it runs over)
                return None
            (alias,) = base_names(read)
            found.append(_Read(stmt, self._entries(read), alias))
        return found

    @functools.cached_property
    def _read_parts(self) -> list[tuple[ir.Stmt, ir.Expr]]:
        """What all statements read of arrays, in program order."""
        every = ir.statements(self.facts.function.body)
        return [(stmt, read) for stmt in every for read in self.reads(stmt)]

    @functools.cached_property
    def _places(self) -> dict[str, list[int]]:
        """By name: which of these mention it. (Each array asks for those of its names only.)"""
        found: dict[str, list[int]] = {}
        for place, (_, read) in enumerate(self._read_parts):
            for name in ir.names_in(read):
                found.setdefault(name, []).append(place)
        return found

    def _is_put_there(self, read: ir.Expr, stmt: ir.Stmt) -> bool:
        """Whether a name of something new is read by nothing but a store of it: it is no other name
        for an item, and no view."""
        if not isinstance(stmt, ir.Store) or read != stmt.value or not isinstance(read, ir.Var):
            return False
        made, users = self.facts.single(read.name), self.facts.used_by.get(read.name, [])
        return users == [stmt] and made is not None and self._makes(made)


def _has_no_derivatives(value: ir.Expr) -> bool:
    """Whether an array is made of numbers that the program states."""
    match value:
        case ir.Call(fn=ir.Ref(obj=obj), args=args):
            filled = obj is np.full and len(args) > 1 and isinstance(args[1], ir.Const | ir.Ref)
            return obj in _WITHOUT_DERIVATIVES or filled
    return False


def _stores_literal(stmt: ir.Stmt) -> bool:
    """Whether a statement stores a number that is written out, whose adjoint nobody asks for."""
    return isinstance(stmt, ir.Store) and isinstance(stmt.value, ir.Const)


def _hands_over(name: str, stmt: ir.Stmt) -> bool:
    """Whether a statement gives an array to what may write it: to any call but of an operation."""
    for expr in ir.expressions(stmt):
        for part in ir.walk(expr):
            known = isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref)
            if known and is_operation(part.fn.obj):  # type: ignore[union-attr]
                continue
            if isinstance(part, ir.Call | ir.Opaque) and name in ir.names_in(part):
                return True
    return False


def arrays_read(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """What a statement reads of arrays: names, and names with a key."""
    match stmt:
        case ir.Store(target=target, value=value) | ir.Update(target=target, value=value):
            if isinstance(target, ir.Index):
                yield from parts_read(target.key)
            elif isinstance(target, ir.Attribute):
                yield from parts_read(target.base)
            yield from parts_read(value)
        case _:
            for expr in ir.expressions(stmt):
                yield from parts_read(expr)


def parts_read(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The same of an expression."""
    match expr:
        case ir.Var():
            yield expr
        case ir.Index(ir.Var(), key):
            yield expr
            yield from parts_read(key)
        case ir.Attribute(ir.Var(), name) if name in ir.SHAPE_ATTRIBUTES:
            return
        case ir.Call(fn=ir.Ref(obj=obj), args=args, kwargs=kwargs):
            like = shape_only(obj)
            for position, arg in enumerate(args):
                if position != like or not isinstance(arg, ir.Var):
                    yield from parts_read(arg)
            for _, value in kwargs:
                yield from parts_read(value)
        case _:
            for child in ir.children(expr):
                yield from parts_read(child)
