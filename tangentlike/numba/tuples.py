"""Adjoints and tangents of tuples, named ones too, as a name for each item.

Python adds to the items of an adjoint in place (`s_bar.x += ..`). Tuples of Numba's stay what they
are, and its lists hold items of one type. So the adjoint `s_bar` of a tuple is a name for each
item, and the plain tuple of these where it is handed on as a whole.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, Union

from .. import ir, runtime
from ..ad.specialize.callees import Emitted
from ..analysis.memory import base_names
from ..analysis.structure import Liveness, liveness
from ..codegen.optimize.facts import Facts
from ..ir.index import all_names
from ..ir.kind import FLOAT, Kind
from ..ir.names import Names

_ADD, _IADD = ir.ADD, ir.IADD
_S = TypeVar("_S", bound=ir.Stmt)
_Values = Union[ir.Expr, tuple["_Values", ...]]  # of the items of a tuple, of tuples in it


def tuples_apart(function: ir.Function, facts: Facts) -> tuple[ir.Function, Facts]:
    """The function with a name for each item of the adjoints and tangents of tuples, and what is
    known of it then.

    >>> from tangentlike.frontend.lower import program
    >>> from tangentlike.codegen.print import show
    >>> from tangentlike.codegen.optimize.facts import derived
    >>> f = derived(program('''s_bar = zeros_like(s)
    ... s_bar.v += g
    ... for i in range(n):
    ...     s_bar = step_bwd(tape, s_bar)
    ... return s_bar''', {"zeros_like": runtime.zeros_like, "step_bwd": Emitted("step_bwd")}))
    >>> pair = Kind("tuple", items=(FLOAT, FLOAT), names=("x", "v"))
    >>> made, _ = tuples_apart(f, Facts({"s": pair}, derivatives={"s_bar": "s"}))
    >>> print(show(made.body))
    s_x_bar = 0.0
    s_v_bar = 0.0
    s_v_bar += g
    for i in range(n):
        s_x_bar, s_v_bar = step_bwd(tape, (s_x_bar, s_v_bar))
    return s_x_bar, s_v_bar
    """
    derivatives = {
        name: facts.kind(primal)
        for name, primal in (facts.derivatives or {}).items()
        if _is_plain(facts.kind(primal))
    }
    known = {n: kind for n, kind in facts.kinds.items() if _is_plain(kind)}
    for stmt in ir.statements(function.body):
        match stmt:
            case ir.Assign(value=ir.Call(ir.Ref(obj=obj), (ir.Var(total), ir.Var(part)))) if (
                obj is runtime.accumulate and total in derivatives
            ):
                derivatives.setdefault(part, derivatives[total])
    bound = {name for stmt in ir.statements(function.body) for name in ir.binds(stmt)}
    apart = {n: kind for n, kind in derivatives.items() if n in bound - {*function.param_names}}
    if not derivatives and not known:
        return function, facts
    while True:
        attempt = _Apart(function, facts, {**known, **derivatives}, apart)
        made = attempt.rewritten(function)
        whole = attempt.whole | attempt.seen_twice(made)
        if not whole:
            return made, attempt.known_then()
        apart = {name: kind for name, kind in apart.items() if name not in whole}


def _is_plain(kind: Kind) -> bool:
    """Whether a value is a tuple of which each item is known to be a number, an array or such a
    tuple, or to carry no derivative."""
    if kind.form != "tuple" or not kind.items:
        return False
    return all(k.form in ("number", "array", "other") or _is_plain(k) for k in kind.items)


class _Apart(ir.Rewriter):
    """`kinds` are those of tuples, and of what their adjoints and tangents are of; `targets` are
    the names that stand for the items of one; `whole`: those that turn out to be needed as one.
    `in_place`: the items that a statement changes of a tuple that stays the same, by its id;
    `copies`: names that were one tuple, after a statement; `shared`: what a statement makes others
    see; `taken`: tuples that a statement takes out of a container."""

    def __init__(
        self,
        function: ir.Function,
        facts: Facts,
        kinds: Mapping[str, Kind],
        apart: Mapping[str, Kind],
    ) -> None:
        self.facts, self.kinds = facts, kinds
        self.names = Names(all_names(function))
        self.leaves: dict[str, Kind] = {}
        self.whole = set[str]()
        self.positional = {p for p in function.param_names if p in (facts.derivatives or {})}
        self.targets = {name: self._target(name, kind) for name, kind in apart.items()}
        self.written = {
            name for stmt in ir.statements(function.body) for name in self._writes(stmt)
        }
        self.stmt: ir.Stmt | None = None
        self.in_place: dict[int, tuple[str, ...]] = {}
        self.copies: list[tuple[ir.Stmt, str, str]] = []
        self.seen: list[str] = []
        self.before: list[ir.Stmt] = []
        self.shared: list[tuple[ir.Stmt, str]] = []
        self.taken: list[tuple[ir.Stmt, str, str]] = []

    def _target(self, name: str, kind: Kind) -> ir.Target:
        stem, mark, rest = name.rpartition("_")
        stem, end = (stem, f"_{rest}") if mark else (name, "")
        if kind.form != "tuple":
            made = self.names.fresh(name)
            self.leaves[made] = kind
            return made
        steps = kind.names or map(str, range(len(kind.items or ())))
        items = zip(steps, kind.items or (), strict=True)
        return tuple(self._target(f"{stem}_{step}{end}", item) for step, item in items)

    def _writes(self, stmt: ir.Stmt) -> Iterator[str]:
        """The tuple in which a statement puts another item in place."""
        match stmt:
            case ir.Store(target=target) | ir.Update(target=ir.Index() | ir.Attribute() as target):
                found = self._path(target)
            case ir.Do(ir.Call(args=(base, *_))):
                found = self._path(base)
            case _:
                return
        if found is not None:
            yield found[0]

    def known_then(self) -> Facts:
        """What is known of the function that was made."""
        numbers = {n: FLOAT for n, kind in self.leaves.items() if kind.form == "number"}
        return replace(
            self.facts,
            kinds={**self.facts.kinds, **numbers},
            behind={**self.facts.behind, **self.leaves},
            floating=self.facts.floating | self.leaves.keys(),
        )

    # ---------------------------------------------------------------- items

    def _path(self, expr: ir.Expr) -> tuple[str, ir.Target, Kind] | None:
        """The tuple of ours that an expression is a part of, and what stands for that part."""
        match expr:
            case ir.Var(name):
                target = self.targets.get(name)
                return None if target is None else (name, target, self.kinds[name])
            case ir.Attribute(base) | ir.Index(base):
                found = self._path(base)
                if found is None or isinstance(found[1], str):
                    return None
                place = _place(expr, found[2])
                if place is None:
                    self.whole.add(found[0])
                    return None
                return found[0], found[1][place], (found[2].items or ())[place]
        return None

    def _values(self, expr: ir.Expr, kind: Kind) -> _Values | None:
        """The values of the items of a tuple, where the text says which they are."""
        found = self._path(expr)
        if found is not None:
            return _read(found[1])
        match expr:
            case ir.Call(args=(ir.Call(), *_)):
                return None  # (it is called once)
            case ir.Display(form="tuple" | "list", items=items) if len(items) == len(_items(kind)):
                return self._each(items, kind)
            case ir.Call(fn=ir.Ref(obj=obj), args=(_, *items), kwargs=()) if (
                obj is runtime.record_like and len(items) == len(_items(kind))
            ):
                return self._each(items, kind)
            case ir.Call(fn=ir.Ref(obj=obj), args=(like,), kwargs=()) if obj is runtime.zeros_like:
                return self._zero(like, kind)
            case ir.Call(fn=ir.Ref(obj=obj), args=(a, b), kwargs=()) if obj is runtime.accumulate:
                return _sums(self._items_of(a, kind), self._items_of(b, kind))
            case ir.Call(fn=ir.Ref(obj=obj), args=(of,), kwargs=()) if obj is runtime.copy:
                return _copies(self._items_of(of, kind), kind)
        return None

    def _each(self, items: Sequence[ir.Expr], kind: Kind) -> _Values:
        """The values of items, those of tuples among them apart."""
        pairs = zip(items, _items(kind), strict=True)
        return tuple(
            self._items_of(item, k) if k.form == "tuple" else self.expression(item)
            for item, k in pairs
        )

    def _items_of(self, expr: ir.Expr, kind: Kind) -> _Values:
        """The items of a tuple, by their places where the text says no more."""
        found = self._path(expr)
        if found is not None:
            return _read(found[1])
        values = self._values(expr, kind)
        if values is not None:
            return values
        if isinstance(expr, (ir.Var, ir.Index, ir.Attribute)):
            return _by_place(self.expression(expr), kind)
        assert self.stmt is not None
        parts = self._target("item_part", kind)
        self.before.append(ir.Assign(parts, self.expression(expr), self.stmt.origin))
        return _read(parts)

    def _zero(self, like: ir.Expr, kind: Kind) -> _Values:
        """The adjoint of a value to which nothing was added."""
        if kind.form == "tuple":
            steps = kind.names or range(len(_items(kind)))
            return tuple(
                self._zero(_item(like, step), item)
                for step, item in zip(steps, _items(kind), strict=True)
            )
        if kind.form != "array":
            return ir.Const(0.0)
        if kind.dtype == "float":
            return ir.Call(self.facts.numpy_function("zeros_like"), (self.expression(like),))
        return ir.Call(ir.Ref("zeros_like", runtime.zeros_like), (self.expression(like),))

    def _handed_on(self, target: ir.Target) -> None:
        """Items of ours are given to somebody as a tuple."""
        if not isinstance(self.stmt, ir.Return):
            self.seen += _names(target)

    def seen_twice(self, made: ir.Function) -> set[str]:
        """The tuples that the made function has twice, where the function had one that changes."""
        if not self.in_place:
            return set()
        live, changed = liveness(made), Liveness(self._changes, self._binds)
        changed = liveness(made, known=changed)
        found = {
            name
            for stmt, copy, of in self.copies
            for name, other in ((copy, of), (of, copy))
            if changed.is_live_after(stmt, name) and live.is_live_after(stmt, other)
        }
        found |= {name for stmt, name in self.shared if changed.is_live_after(stmt, name)}
        held = {name for stmt, of, name in self.taken if live.is_live_after(stmt, of)}
        return held | self._tuples_of(found)

    def _changes(self, stmt: ir.Stmt) -> tuple[str, ...]:
        """The items that a statement changes in place."""
        return self.in_place.get(id(stmt), ())

    def _binds(self, stmt: ir.Stmt) -> Iterable[str]:
        return () if id(stmt) in self.in_place else ir.binds(stmt)

    # ---------------------------------------------------------------- statements

    def statement(self, stmt: ir.Stmt) -> ir.Instead:
        self.stmt, self.seen, self.before = stmt, [], []
        made = self._made(stmt)
        if made is None:
            if ir.is_compound(stmt):
                self.whole |= self.targets.keys() & {*ir.binds(stmt)}
                return None
            made = [self.inside(stmt)]
        if made:
            self.shared += [(made[-1], name) for name in self.seen]
        return [*self.before, *made]

    def _made(self, stmt: ir.Stmt) -> list[ir.Stmt] | None:
        """What stands for a statement that names a tuple of ours; None for others."""
        match stmt:
            case ir.Assign(target=target, value=value):
                return self._assigned(stmt, target, value)
            case ir.Store(target=target, value=value):
                if (found := self._path(target)) is not None:
                    return self._in_place(self._given(found[1], found[2], value, stmt))
            case ir.Update(target=target, op=op, value=value):
                if (found := self._path(target)) is not None:
                    return self._updated(found, op, value, stmt)
            case ir.Do(ir.Call(ir.Ref(obj=obj), (base, key, value))) if obj is runtime.add_at:
                if (found := self._path(ir.Index(base, key))) is not None:
                    return self._updated(found, _IADD, value, stmt)
            case ir.OpaqueStmt(names=names, writes=writes):
                self.whole |= self.targets.keys() & {*names, *writes}
        return None

    def _in_place(self, made: list[ir.Stmt]) -> list[ir.Stmt]:
        """Statements, noted as those that change items of a tuple that stays the same."""
        for stmt in made:
            self.in_place[id(stmt)] = tuple(ir.binds(stmt))
        return made

    def _assigned(self, stmt: ir.Assign, target: ir.Target, value: ir.Expr) -> list[ir.Stmt] | None:
        ours = [name for name in ir.binds(stmt) if name in self.targets]
        if not ours:  # (a list, to whose items something is added)
            return [stmt] if _zeros_of(value) in self.kinds else None
        if isinstance(target, str):
            return self._given(self.targets[target], self.kinds[target], value, stmt)
        apart = ir.map_target(target, lambda name: self.targets.get(name, name))
        made = ir.Assign(apart, self.expression(value), stmt.origin)
        self._require_new(ours, value, made)
        return [made]

    def _require_new(self, names: Collection[str], value: ir.Expr, made: ir.Stmt) -> None:
        """Names are one tuple each where these are added to, and nobody else sees what is added."""
        changed = self.written & {*names}
        match value:
            case ir.Call(fn=ir.Ref(obj=Emitted())) | ir.Call(fn=ir.Attribute(name="pop")):
                return
            case ir.Var() | ir.Index() | ir.Attribute():  # (of a container that nobody reads then)
                self.taken += [(made, base, name) for base in base_names(value) for name in changed]
            case _:
                self.whole |= changed

    def _given(
        self, target: ir.Target, kind: Kind, value: ir.Expr, stmt: ir.Assign | ir.Store
    ) -> list[ir.Stmt]:
        """What gives names the values of items."""
        if isinstance(target, str):
            return [ir.Assign(target, self.expression(value), stmt.origin)]
        values = self._values(value, kind)
        if values is None:
            item = ir.Assign(target, self.expression(value), stmt.origin)
            self._require_new(self._tuples_of(_names(target)), value, item)
            return [item]
        pairs = list(zip(_names(target), _flat(values), strict=True))
        made = self._one_by_one(pairs, stmt)
        if made and self._path(value) is not None:
            copies = ((name, of.name) for name, of in pairs if isinstance(of, ir.Var))
            self.copies += [(made[-1], name, of) for name, of in copies]
        return made

    def _tuples_of(self, names: Collection[str]) -> set[str]:
        """The tuples that names stand for items of."""
        pairs = self.targets.items()
        return {name for name, target in pairs if not {*names}.isdisjoint(_names(target))}

    def _one_by_one(
        self, pairs: list[tuple[str, ir.Expr]], stmt: ir.Assign | ir.Store
    ) -> list[ir.Stmt]:
        """Assignments, of which none changes what a later one reads."""
        first, then = [], []
        for at, (name, value) in enumerate(pairs):
            if value == ir.Var(name):
                continue
            if any(name in ir.names_in(later) for _, later in pairs[at + 1 :]):
                held = self.names.fresh(f"{name}_part")
                self.leaves[held] = self.leaves[name]
                first.append(ir.Assign(held, value, stmt.origin))
                then.append(ir.Assign(name, ir.Var(held), stmt.origin))
            else:
                first.append(ir.Assign(name, value, stmt.origin))
        return [*first, *then]

    def _updated(
        self, found: tuple[str, ir.Target, Kind], op: ir.Ref, value: ir.Expr, stmt: ir.Stmt
    ) -> list[ir.Stmt]:
        name, target, kind = found
        if isinstance(target, str):
            made: list[ir.Stmt] = [
                ir.Update(ir.Var(target), op, self.expression(value), stmt.origin)
            ]
            return made if kind.form == "array" else self._in_place(made)
        if op != _IADD:
            self.whole.add(name)
        sums = _sums(_read(target), self._items_of(value, kind))
        pairs = zip(_names(target), _flat(sums), strict=True)
        return self._in_place([ir.Assign(n, total, stmt.origin) for n, total in pairs])

    # ---------------------------------------------------------------- expressions

    def expression(self, expr: ir.Expr) -> ir.Expr:
        found = self._path(expr)
        if found is not None:
            if not isinstance(found[1], str):
                self._handed_on(found[1])
            return _display(_read(found[1]))
        match expr:
            case ir.Call(fn=ir.Ref(obj=Emitted()) as fn, args=args, kwargs=()):
                return ir.Call(fn, tuple(map(self._given_to_ours, args)), (), expr.at)
            case ir.Opaque(names=names):
                self.whole |= self.targets.keys() & {*names}
            case ir.Attribute(ir.Var(name) as base) if name in self.positional:
                place = _place(expr, self.kinds.get(name, Kind()))
                return expr if place is None else ir.Index(base, ir.Const(place))
            case ir.Call() if (like := _zeros_of(expr)) in self.kinds:
                values = self._values(expr, self.kinds[like])
                return expr if values is None else _display(values)
        return ir.rebuild(expr, self.expression)

    def _given_to_ours(self, expr: ir.Expr) -> ir.Expr:
        """An argument of a function of ours, which keeps none of its arguments."""
        found = self._path(expr)
        return self.expression(expr) if found is None else _display(_read(found[1]))


def _items(kind: Kind) -> tuple[Kind, ...]:
    return kind.items or ()


def _place(expr: ir.Attribute | ir.Index, kind: Kind) -> int | None:
    """Which item of a tuple an expression reads."""
    count = len(_items(kind))
    match expr:
        case ir.Attribute(name=name) if name in kind.names:
            return kind.names.index(name)
        case ir.Index(key=ir.Const(int(place))) if -count <= place < count:
            return place % count
        case ir.Index(key=ir.Call(ir.Ref(obj=operator.neg), (ir.Const(int(place)),))):
            return count - place if 0 < place <= count else None
    return None


def _zeros_of(expr: ir.Expr) -> str:
    """The name of which an expression is the adjoint to which nothing was added."""
    match expr:
        case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Var(name),)) if obj is runtime.zeros_like:
            return name
    return ""


def _item(of: ir.Expr, step: str | int) -> ir.Expr:
    return ir.Attribute(of, step) if isinstance(step, str) else ir.Index(of, ir.Const(step))


def _read(target: ir.Target) -> _Values:
    return ir.Var(target) if isinstance(target, str) else tuple(map(_read, target))


def _by_place(of: ir.Expr, kind: Kind) -> _Values:
    """The items of a plain tuple."""
    if kind.form != "tuple":
        return of
    items = enumerate(_items(kind))
    return tuple(_by_place(ir.Index(of, ir.Const(place)), item) for place, item in items)


def _sums(a: _Values, b: _Values) -> _Values:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(map(_sums, a, b))
    assert not isinstance(a, tuple) and not isinstance(b, tuple)
    return ir.Call(_ADD, (a, b))


def _copies(values: _Values, kind: Kind) -> _Values:
    if isinstance(values, tuple):
        return tuple(map(_copies, values, _items(kind)))
    return ir.Call(ir.Attribute(values, "copy"), ()) if kind.form == "array" else values


def _display(values: _Values) -> ir.Expr:
    return (
        ir.Display("tuple", tuple(map(_display, values))) if isinstance(values, tuple) else values
    )


def _names(target: ir.Target) -> list[str]:
    return [target] if isinstance(target, str) else [n for part in target for n in _names(part)]


def _flat(values: _Values) -> list[ir.Expr]:
    return [e for part in values for e in _flat(part)] if isinstance(values, tuple) else [values]
