"""What belongs to the module, or to an enclosing function, and is changed there.

    TOTAL, LOG = np.zeros(3), []

    def add(x):             def loss(x):
        TOTAL[:] += x           add(x * x)
        LOG.append(x)           return np.sum(TOTAL * x)

The adjoint of `TOTAL` would live outside of every function that is differentiated, and what is
written to it in the primal sweep cannot be restored: who else reads it is not known. So a change
that carries derivatives is refused in both modes, also if a callee makes it, and a write that
carries none is refused in reverse mode where the function reads the array as well.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .. import ir, runtime
from ..errors import Place, UnsupportedError
from ..frontend.cuts import cuts_made
from ..frontend.owners import is_of_runtime, is_operation, is_ours, is_standard, mark_of
from ..ir.dataflow import Problem, solve
from ..ir.facts import fact
from ..ir.identity import ByIdentity
from ..ir.index import ProgramIndex, named, references
from ..ir.kind import FUNCTION, OTHER
from ..rules.index_kinds import key_parts
from ..runtime.records import attribute_of
from .activity import reaching
from .flow import OUTSIDE, computed_from, flow_edges
from .kept_results import asking_for_new, held_by
from .memory import UNSEEN, Effects, Sources, base_names, element
from .operations import MUTATING_METHODS, in_source, is_python_function, operands, outputs
from .outer_numbers import OuterNumbers, overwritten
from .outer_objects import (
    LATER,
    Found,
    arrays_of,
    as_named,
    bound_later,
    functions_inside,
    holds_objects,
    inside,
    is_box,
    is_cached,
    is_code,
    is_of_name,
    is_outer_array,
    itself,
    lasting_defaults,
    later,
    live,
    node,
    outermost,
    reads_of,
    unset,
    without_tables,
)
from .refusals import entered_refused
from .sharing import container_stores

_NONE = frozenset[str]()
_NOT_HELD = ir.Ref("require_not_held", runtime.require_not_held)
_UNCHANGED = ir.Ref("unchanged", runtime.unchanged)
_UNSURE = "?"  # begins the node of what an unknown function may have given
_Names = Mapping[str, frozenset[str]]
_SOME_ITEM = ir.Var("(item)")  # the key of the item that a loop is at
_ASKING = ("get", "setdefault", "index", "count", "__contains__")  # methods of containers
_RUNNING = (zip, enumerate, reversed, sorted)  # what runs over items of its arguments


@dataclass(frozen=True)
class OuterEffects:
    """What a function does with what lies outside of it: the arrays that it writes and the
    containers that it puts something into, the parameters whose derivatives go out with that,
    what it reads, what it may give back, and what that may hold. `unsure` are the parameters whose
    derivatives go out if what an unknown function gave is memory outside (see `is_unsure`). Of what
    is written, `given` are places that may get more than numbers, `updated` those that are changed
    in place, if they hold arrays."""

    written: Found = field(default_factory=dict)
    carried: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    unseen: Found = field(default_factory=dict)  # what unknown functions may write
    read: Found = field(default_factory=dict)
    returned: Found = field(default_factory=dict)
    held: Found = field(default_factory=dict)  # by what is returned
    values: Mapping[int, ir.Ref] = field(default_factory=dict)  # functions that it does not call
    given: Found = field(default_factory=dict)
    updated: Found = field(default_factory=dict)


@dataclass(frozen=True)
class OuterSources(Sources):
    """The alias analysis of one function with the outer objects as its nodes: which of them the
    value of an expression may be, or share memory with, and which its items.

    An item of a container that only the run can tell stands for all of them. What a function
    that only the run knows gives may be any of what it is given: such nodes are `is_unsure`."""

    effects_outside: Callable[[ir.Call], OuterEffects] = lambda call: OuterEffects()
    unchanged: Collection[Any] = ()  # outer objects of which the run asks whether calls change them
    named: tuple[ir.Ref, ...] = ()  # what the function names outside of it
    refs: dict[str, ir.Ref] = field(default_factory=dict)  # what the nodes stand for
    roots: dict[str, ir.Ref] = field(default_factory=dict)  # the names outside that they are of
    held: dict[str, frozenset[str]] = field(default_factory=dict)  # by containers, wherever
    names: _Names = field(default_factory=dict)  # what the names of the function are, here
    before: ByIdentity[_Names] = field(default_factory=ByIdentity)  # and before each statement

    def follow(self, function: ir.Function) -> OuterSources:
        """Go through the statements until nothing new is found. What a name is shows at each
        place; what it holds, which other names may have been put there, is the same everywhere."""
        changed = True
        while changed:
            changed = False
            found = solve(function, _NamesHere(self))
            for number, stmt in enumerate(found.index.statements):
                self.before[stmt] = found.before[number]
                for name, items in self.at(stmt).bound(stmt):
                    known = self.held.get(name, _NONE)
                    if name == element(name) and not items <= known:
                        self.held[name], changed = known | items, True
        return self

    def at(self, stmt: ir.Stmt) -> OuterSources:
        """The same, where a statement begins."""
        return self.where(self.before.get(stmt, {}))

    def where(self, names: _Names) -> OuterSources:
        """The same, where the names of the function are these."""
        made = object.__new__(OuterSources)
        vars(made).update(vars(self), names=names)
        return made

    def found(self, nodes: Iterable[str]) -> dict[str, ir.Ref]:
        return {node: self.refs[sure(node)] for node in sorted(nodes)}

    def nodes(self, expr: ir.Expr) -> frozenset[str]:
        known = live(expr)
        if known is not None:
            now = itself(known) or later(expr, known)
            return self._noted(now | bound_later(expr), expr)
        match expr:
            case ir.Var(name):
                return self.names.get(name, _NONE) if self.holds_memory(expr) else _NONE
            case ir.Attribute() if unset(expr):
                return self._noted(later(expr, None) | bound_later(expr), expr)
            case ir.Opaque(inert=False, refs=refs):
                return super().nodes(expr).union(*map(self.nodes, refs))
            case ir.Call(fn=ir.Ref(obj=obj), args=(ir.Ref() as code,)) if obj is vars and (
                is_code(code.obj)
            ):
                return self._noted({node(code.obj): code, node(code.obj) + LATER: code}, code)
            case ir.Index(base, key) if self._gives_numbers(base, key):
                return _NONE
            case ir.Call():
                nodes = self._unsure_of(expr, super().nodes(expr))
                return nodes | self._noted(self._given_by(expr).returned)
        return super().nodes(expr)

    def elements(self, expr: ir.Expr) -> frozenset[str]:
        known = live(expr)
        if known is not None:
            return self._noted({**inside(known), **bound_later(expr)}, expr)
        match expr:
            case ir.Var(name):
                return self.held.get(element(name), _NONE)
            case ir.Attribute() if unset(expr):
                return self._noted(later(expr, None) | bound_later(expr), expr)
            case ir.Opaque(inert=False, refs=refs):
                return super().elements(expr).union(*map(self.elements, refs))
            case ir.Call():
                items = self._unsure_of(expr, super().elements(expr))
                return items | self._noted(self._given_by(expr).held)
        return super().elements(expr)

    def _unsure_of(self, call: ir.Call, nodes: frozenset[str]) -> frozenset[str]:
        """The nodes of what a call gives: unsure where only the run knows what is called. (What
        has the name of a method of arrays may be that of another object.)"""
        match call.fn:
            case ir.Attribute(base):
                unknown = self.kind_of(base).form in ("unknown", "object", "other")
            case ir.Ref() if self.view_of(call) == "user":
                effects = self.effects(call)
                unknown = effects is None or bool(effects.unseen)
            case ir.Ref():
                unknown = False
            case _:
                unknown = True
        return frozenset(map(unsure, nodes)) if unknown else nodes

    def changed_by(self, stmt: ir.Stmt) -> dict[str, ir.Ref]:
        """The outer objects that a statement writes, or puts something into: not those of which the
        run asks that."""
        return self.found(n for n in self.written(stmt) if not self.is_asked(n))

    def changed_unasked(self, stmt: ir.Stmt, guards: list[ir.Call] | None) -> dict[str, ir.Ref]:
        """The same, with those of which there is no name to ask by (no `guards`)."""
        into = self.changed_by(stmt)
        if into or guards is not None:
            return into
        return self.found(n for n in self.written(stmt) if not is_unsure(n))

    def unchanged_by(self, stmt: ir.Stmt) -> dict[str, ir.Ref]:
        """The outer objects that the call of a user's function may change, and of which the run
        asks whether it did."""
        if not self.unchanged or not _is_read_call(stmt, self):
            return {}
        return self.found(n for n in self.written(stmt) if self.is_asked(n) and not is_unsure(n))

    def is_asked(self, node: str) -> bool:
        """Whether the run asks of an outer object whether it is written."""
        return is_unsure(node) or _is_one_of(self.refs[node], self.unchanged)

    def places(self, stmt: ir.Stmt) -> Iterator[tuple[ir.Expr, str]]:
        """What a statement writes, and how: an unknown function is asked when it is called to
        write nothing outside (`Outside.given_to_unknown`)."""
        if not self.calls_unknown(stmt):
            yield from super().places(stmt)

    def calls_unknown(self, stmt: ir.Stmt) -> bool:
        """Whether a statement calls what only the run knows, and what may write anything."""
        call = getattr(stmt, "value", None)
        if not isinstance(call, ir.Call) or isinstance(call.fn, ir.Ref):
            return False
        return self.effects(call) is UNSEEN

    def reached_by_unknown(self, stmt: ir.Stmt) -> Iterator[tuple[ir.Expr, frozenset[str]]]:
        """What such a call is given, with the outer objects that this may be or hold."""
        call = getattr(stmt, "value", None)
        if isinstance(call, ir.Call) and self.calls_unknown(stmt):
            for part in (call.fn, *ir.arguments(call)):
                yield part, self.reached(part, "whole")

    def guards(self, stmt: ir.Stmt, given_back: bool = False) -> list[ir.Call] | None:
        """The questions whether what a statement writes, or gives back, is memory outside, as it is
        if an unknown function gave that, or as it may be; None if there is no name to ask by."""
        asks = is_unsure if _is_read_call(stmt, self) else self.is_asked
        asked: dict[tuple[ir.Expr, str], ir.Call] = {}
        places = list(self.places(stmt))
        if given_back and isinstance(stmt, ir.Return) and stmt.value is not None:
            items = stmt.value.items if isinstance(stmt.value, ir.Display) else (stmt.value,)
            places = [(item, "whole") for item in items]
        for place, how in places:
            reached = frozenset(filter(asks, self.reached(place, how)))
            base = getattr(place, "base", place) if how == "item" else place
            for at in sorted(reached):
                if not isinstance(base, ir.Var):
                    return None
                root = as_named(self.roots.get(sure(at), self.refs[sure(at)]), self.named)
                asked[base, root.text] = ir.Call(_NOT_HELD, (base, root))
        return list(asked.values())

    def reached(self, place: ir.Expr, how: str) -> frozenset[str]:
        code = live(getattr(place, "base", place) if how == "item" else place)
        if code is not None and is_code(code.obj) and how != "whole":
            at = node(code.obj)  # (that gets an attribute)
            return self._noted({at: code, at + LATER: code}, code)
        reached = self.nodes(place) | (self.elements(place) if how == "whole" else _NONE)
        if how == "item":
            assert isinstance(place, ir.Index | ir.Attribute)
            reached |= self.nodes(place.base)
        boxes = {n: self.refs[n] for n in reached if not n.endswith(LATER) and not is_unsure(n)}
        made = {n + LATER: ref for n, ref in boxes.items() if is_box(ref.obj)}
        return reached | self._noted(made)

    def written_through(self, stmt: ir.Stmt) -> set[int]:
        """The expressions by which a statement names what it writes, and which read nothing."""
        places = [place for place, _ in self.places(stmt)]
        return set(map(id, (*places, *(p.base for p in places if isinstance(p, ir.Attribute)))))

    def _item_of(self, base: ir.Expr) -> frozenset[str]:
        return self.elements(base) | arrays_of(self.found(self.nodes(base))).keys()

    def _noted(self, found: Found, named: ir.Expr | None = None) -> frozenset[str]:
        self.refs.update((sure(node), ref) for node, ref in found.items())
        while isinstance(named, ir.Attribute | ir.Index):
            named = named.base
        if isinstance(named, ir.Ref):
            self.roots.update(dict.fromkeys(found, named))
        return frozenset(found)

    def _given_by(self, call: ir.Call) -> OuterEffects:
        if not _is_read(call, self) or not self.holds_memory(call):
            return OuterEffects()
        if is_cached(_fn(call)):  # (gives the same object again)
            return OuterEffects(returned=itself(_fn(call)), held=itself(_fn(call)))
        return self.effects_outside(call)

    def _gives_numbers(self, base: ir.Expr, key: ir.Expr) -> bool:
        """Whether an item is a number, whichever of the arrays it is of."""
        parts, arrays = key_parts(key), self.nodes(base)
        if not arrays or any(map(is_of_name, arrays)):
            return False
        if not all(p is _SOME_ITEM or self.kind_of(p).integer for p in parts):
            return False
        objects = [self.refs[sure(n)].obj for n in arrays]
        return all(getattr(o, "ndim", -1) == len(parts) and not holds_objects(o) for o in objects)

    def bound(self, stmt: ir.Stmt) -> Iterator[tuple[str, frozenset[str]]]:
        """Names that a statement binds, or puts something into, and what that may be."""
        match stmt:
            case ir.Assign(target=str(name)) if self.kind_of(ir.Var(name)) == FUNCTION:
                pass  # (what it gives is not an outer object)
            case ir.Assign(target=str(name), value=value):
                yield name, self.nodes(value)
                yield element(name), self.elements(value)
            case ir.Assign(target=target, value=value):
                yield from self._items_bound(target, self.nodes(value) | self.elements(value))
            case ir.For(target=target, iter=value):
                for part in _run_over(value):
                    item = self.nodes(ir.Index(part, _SOME_ITEM)) | self.elements(part)
                    yield from self._items_bound((target,), item)
            case ir.Store(target=target, value=value):
                held = self.nodes(value) | self.elements(value)
                yield from ((element(base), held) for base in base_names(target))
        unknown = self.calls_unknown(stmt)
        for base, held in container_stores(stmt, self):
            yield element(base), frozenset(map(unsure, held)) if unknown else held

    def _items_bound(
        self, target: ir.Target, items: frozenset[str]
    ) -> Iterator[tuple[str, frozenset[str]]]:
        for name in ir.target_names(target):
            yield name, items
            yield element(name), items


class _NamesHere(Problem[_Names]):
    """Which outer objects the names of a function are, at each statement."""

    forward = True

    def __init__(self, sources: OuterSources) -> None:
        self.sources = sources
        self.bottom: _Names = {}

    def join(self, a: _Names, b: _Names) -> _Names:
        if a == b or not a or not b:
            return a or b
        return {name: a.get(name, _NONE) | b.get(name, _NONE) for name in a.keys() | b.keys()}

    def transfer(self, stmt: ir.Stmt, state: _Names) -> _Names:
        return state if isinstance(stmt, ir.For) else self._with_bound(stmt, state)

    def enter(self, stmt: ir.For | ir.Try, state: _Names) -> _Names:
        return self._with_bound(stmt, state)

    def _with_bound(self, stmt: ir.Stmt, state: _Names) -> _Names:
        binds = set(ir.binds(stmt)) if isinstance(stmt, ir.Assign | ir.For) else set()
        if not binds:
            return state
        found: dict[str, frozenset[str]] = {}
        for name, nodes in self.sources.where(state).bound(stmt):
            if name in binds:
                found[name] = found.get(name, _NONE) | nodes
        known = {name: nodes for name, nodes in state.items() if name not in binds}
        return {**known, **{name: nodes for name, nodes in found.items() if nodes}}


def _run_over(value: ir.Expr) -> tuple[ir.Expr, ...]:
    """What a loop takes its items from: `a` and `b` for `zip(a, b)`."""
    match value:
        case ir.Call(fn=ir.Ref(obj=obj), args=args) if any(obj is known for known in _RUNNING):
            return tuple(part for arg in args for part in _run_over(arg))
        case _:
            return (value,)


@dataclass
class Outside:
    """The outer objects of one transform: what its functions write, and what they read. `body`
    gives a user's function in the normal form, `sources` what its expressions may share.
    `touched` are all arrays that any of them reads or writes."""

    body: Callable[[Any], ir.Function]
    sources: Callable[[ir.Function], Sources]
    book: Any
    unchanged: Collection[Any] = ()  # objects of which the run asks whether calls change them
    kept: bool = False  # whether functions are given outer objects that they may change
    written: dict[str, ir.Ref] = field(default_factory=dict)
    read: dict[str, Place] = field(default_factory=dict)
    saved: dict[str, Place] = field(default_factory=dict)  # numbers that names are given
    mutable: set[str] = field(default_factory=set)  # places of what may be arrays, written in place
    touched: dict[str, ir.Ref] = field(default_factory=dict)
    changes: bool = False  # whether any of them is written
    roots: dict[str, ir.Ref] = field(default_factory=dict)  # by nodes: what names them
    numbers: OuterNumbers = field(init=False)
    _known: ByIdentity[OuterEffects] = field(default_factory=ByIdentity)
    _flow: ByIdentity[Any] = field(default_factory=ByIdentity)  # of functions that are called

    def __post_init__(self) -> None:
        self.numbers = OuterNumbers(self.body)

    def of_callee(self, obj: Any) -> OuterEffects:
        """What a user's function does outside, itself or by what it calls."""
        if obj not in self._known:
            self._known[obj] = OuterEffects()  # (a recursive call adds nothing)
            function = self.body(obj)
            self._known[obj] = self.effects(function, self.sources(function), called=True)
        return self._known[obj]

    def of_call(self, call: ir.Call, sources: Sources) -> OuterEffects:
        """What the call of a user's function does outside of it: also with the defaults of
        parameters that it is given nothing for, which stay as they are left for the next call."""
        obj = _fn(call).obj
        found = self.of_callee(obj)
        effects = sources.effects(call)
        if effects is None or not (effects.written | effects.returned):
            return found
        kept = lasting_defaults(obj, sources.bind(call))
        written = effects.written & kept.keys()
        asked = self._asked_defaults(call, sources).keys()
        changed: dict[str, ir.Ref] = {}
        given: dict[str, ir.Ref] = {}
        for name, ref in kept.items():
            changed |= itself(ref) if name in written - asked else {}
            given |= itself(ref) if name in effects.returned else {}
        carried = self._coming_into(obj, written - asked)
        return OuterEffects(
            {**found.written, **changed},
            found.carried | carried,
            found.unsure | (self._coming_into(obj, asked) - carried),
            found.unseen,
            {**found.read, **arrays_of(changed)},
            {**found.returned, **given},
            {**found.held, **given},
            found.values,
            {**found.given, **changed},
            {**found.updated, **changed},
        )

    def _asked_defaults(self, call: ir.Call, sources: Sources) -> Found:
        """The parameters whose defaults a call may change, where the run asks whether it did."""
        effects = sources.effects(call)
        if effects is None or not self.unchanged:
            return {}
        kept = lasting_defaults(_fn(call).obj, sources.bind(call))
        function = self.body(_fn(call).obj)
        updates = (s.target for s in ir.statements(function.body) if isinstance(s, ir.Update))
        updated = {target.name for target in updates if isinstance(target, ir.Var)}
        return {
            name: kept[name]
            for name in effects.written & kept.keys()
            if _is_one_of(kept[name], self.unchanged) and not is_outer_array(kept[name].obj)
            if updated.isdisjoint(held_by(name, function))  # (`s += v` may bind it again)
        }

    def effects(
        self, function: ir.Function, sources: Sources, called: bool = False
    ) -> OuterEffects:
        """What the body of a function does outside of it; of one that is `called`, also the
        parameters whose derivatives go out."""
        if not self._reaches_out(function, sources):
            return OuterEffects()
        outer, functions = self._followed(function, sources), self._values(function, sources)
        values = self._of_values(function, functions)
        written = {**values.written}
        read = {key: ref for key, ref, *_ in self._reads(function, outer)} | {**values.read}
        ends, unsure_ends = {OUTSIDE}, set[str]()
        unseen = {**values.unseen}
        places, updated = {**values.given}, {**values.updated}
        for stmt in ir.statements(function.body):
            here = outer.at(stmt)
            guards = here.guards(stmt)
            into = here.changed_unasked(stmt, guards)
            written |= into
            places |= into if into and not _stores_numbers(stmt, here, function) else {}
            updated |= into if self._updates(stmt, outer) else {}
            ends |= self._put_names(stmt, outer) if into or guards is None else _NONE
            asked = guards or here.unchanged_by(stmt)
            unsure_ends |= self._put_names(stmt, outer) if asked else _NONE
            unseen |= here.found(_reached(here, stmt))
            ends |= ir.reads(stmt) if values.carried and _calls_a_value(stmt) else _NONE
            unsure_ends |= ir.reads(stmt) if values.unsure and _calls_a_value(stmt) else _NONE
            for call in _user_calls(stmt, outer):
                callee = self.of_call(call, outer)
                written |= callee.written
                read |= callee.read
                unseen |= callee.unseen
                places |= callee.given
                updated |= callee.updated
                ends |= _names_given(call, callee.carried, outer)
                unsure_ends |= _names_given(call, callee.unsure, outer)
        carried = maybe = _NONE
        if called:
            flow = flow_edges(function, outer.kinds, self.book, outer.effects)
            carried = reaching(flow, ends).intersection(function.param_names)
            maybe = reaching(flow, unsure_ends).intersection(function.param_names) - carried
        result = function.body[-1] if function.body else None
        returned = held = _NONE
        if isinstance(result, ir.Return) and result.value is not None:
            outer = outer.at(result)
            returned, held = outer.nodes(result.value), outer.elements(result.value)
        given, kept = outer.found(returned), outer.found(held)
        known = (written, carried, maybe, unseen, read, given, kept, functions)
        return OuterEffects(*known, places, updated)

    def _values(self, function: ir.Function, sources: Sources) -> dict[int, ir.Ref]:
        """The functions that are values in a function or in those that it calls, whoever calls
        them; those that outer containers hold, too."""
        found: dict[int, ir.Ref] = {}
        for stmt in ir.statements(function.body):
            found |= {id(ref.obj): ref for ref in map(_primal, _function_values(stmt))}
            for ref in _named_outside(stmt):
                held = (_primal(ir.Ref(f.__name__, f)) for f in functions_inside(ref.obj))
                found |= {id(f.obj): f for f in held if _is_users(f.obj)}
            for call in _user_calls(stmt, sources):
                found |= self.of_call(call, sources).values
        return found

    def _of_values(self, function: ir.Function, values: Mapping[int, ir.Ref]) -> OuterEffects:
        """What these do outside, where a function may call some of them."""
        found = OuterEffects()
        if not any(map(_calls_a_value, ir.statements(function.body))):
            return found
        for ref in values.values():
            if self.book.find(ref.obj) is None:
                with contextlib.suppress(UnsupportedError):  # (it is refused where it is called)
                    made = self.of_callee(ref.obj)
                    found = OuterEffects(
                        {**found.written, **made.written},
                        found.carried | made.carried,
                        found.unsure | made.unsure,
                        {**found.unseen, **made.unseen},
                        {**found.read, **made.read},
                        given={**found.given, **made.given},
                        updated={**found.updated, **made.updated},
                    )
        return found

    def _followed(self, function: ir.Function, sources: Sources) -> OuterSources:
        known = {part.name: getattr(sources, part.name) for part in fields(Sources)}
        known["effects"] = lambda call: _without_stacks(call, sources.effects(call))
        known["idle"] = _NONE  # (what only may be written unseen carries nothing out)
        known["roots"], known["unchanged"] = self.roots, self.unchanged
        known["named"] = tuple(fact(references, function))
        outer = OuterSources(**known, effects_outside=lambda call: self.of_call(call, sources))
        return outer.follow(function)

    def _reaches_out(self, function: ir.Function, sources: Sources) -> bool:
        """Whether a function names anything outside of it but operations, classes that it makes
        objects of, and functions that it calls and that do nothing there."""
        return any(not self._stays_inside(stmt, sources) for stmt in ir.statements(function.body))

    def _stays_inside(self, stmt: ir.Stmt, sources: Sources) -> bool:
        outer = _named_outside(stmt)
        if not outer:
            return True
        calls = _calls_by_name(stmt)
        called = [_fn(call) for call in calls if _is_read(call, sources)]
        classes: list[Any] = [_fn(call) for call in calls]
        classes += [arg for call in calls if is_operation(_fn(call).obj) for arg in call.args]
        for ref in outer:
            within = classes if isinstance(ref.obj, type) else called
            if is_cached(ref) or not any(ref is part for part in within):
                return False
        called_here = (call for call in calls if _is_read(call, sources))
        return all(self.of_call(call, sources) == OuterEffects() for call in called_here)

    def given_back(self, function: ir.Function, sources: Sources) -> tuple[str, ...]:
        """What a function gives back of what lies outside of it, by the names it has there. (What
        an unknown function may have given, it asks itself: `exposed`.)"""
        found = self.effects(function, sources)
        given = {**found.returned, **found.held}
        if self.unchanged or any(map(is_unsure, given)):
            result = function.body[-1]
            outer = self._followed(function, sources).at(result)
            if outer.guards(result, True) is not None:
                given = {node: ref for node, ref in given.items() if not outer.is_asked(node)}
        return tuple(sorted({ref.text for ref in given.values()}))

    def check(
        self,
        function: ir.Function,
        varied: Callable[[], frozenset[str]],
        sources: Sources,
        restores: bool,
        given_back: bool = False,
    ) -> ir.Function:
        """Refuse what a function that is differentiated does with outer objects, where that cannot
        be right; `restores`: in reverse mode, which must restore what is written; `given_back`:
        its caller takes what it gives for memory of its own. Gives the function, which asks
        whether what an unknown function gave is memory outside.

        before::                        after::
            a = nx.asarray(x)               a = nx.asarray(x)
            a[0] = v                        require_not_held(a, BACKENDS)
                                            a[0] = v
        """
        for stmt in ir.statements(function.body):
            _refuse_unknown_code(stmt, sources)
            _refuse_entered(stmt, function, varied)
            if isinstance(stmt, ir.Enter):
                self.numbers.enter(stmt)
        cuts = cuts_made()  # (what is cut out may keep something)
        asks = self.kept or (cuts is not None and bool(cuts.made))
        function = asking_for_new(function, varied, self.kept, asks)
        if not self._reaches_out(function, sources):
            return function
        outer, functions = self._followed(function, sources), self._values(function, sources)
        values = self._of_values(function, functions)
        found = self.effects(function, sources)
        for stmt in ir.statements(function.body):
            self._note_numbers(stmt, outer, values, functions)
            for name, reached in self._carried(stmt, outer, values):
                into = without_tables(reached, found.written)
                if (into or not reached) and name in varied():
                    _refuse_unseen_function(stmt)
                    _refuse_found_again(function, into, varied())
                    refusal = _carried_out(name, into, function, stmt)
                    refusal.cause = self._innermost(stmt, outer, varied(), self._carries)
                    raise self._carried_by(stmt, outer, refusal)
        unseen = self._written_unseen(function, outer, varied)
        written = arrays_of(without_tables({**found.written, **unseen}, found.written))
        self.touched |= {**written, **arrays_of(found.read)}
        self.changes = self.changes or bool(written)
        if restores:
            self.written.update(written)
            self.mutable |= found.given.keys() & found.updated.keys()
            self._refuse_overwritten(function, outer)

        def asking(stmt: ir.Stmt) -> ir.Instead:
            guards = outer.at(stmt).guards(stmt, given_back)
            asked = isinstance(stmt, ir.Return) or self._put_names(stmt, outer) & varied()
            found = [ir.Do(guard, stmt.origin) for guard in guards or ()] if asked else []
            around = self._unchanged_by(stmt, outer, varied)
            if around is None:
                return (*found, stmt) if found else None
            return (*found, around, stmt, ir.Leave(None, stmt.origin))

        return ir.with_body(function, ir.rewrite(function.body, asking))

    def _unchanged_by(
        self,
        stmt: ir.Stmt,
        outer: OuterSources,
        varied: Callable[[], frozenset[str]],
    ) -> ir.Enter | None:
        """What asks around a call whether that changes objects outside.

        before::                        after::
            y = fit(x, OPTIONS)             with unchanged(OPTIONS):
                                                y = fit(x, OPTIONS)
        """
        if not self.unchanged:
            return None
        asked = outer.at(stmt).unchanged_by(stmt)
        if asked and self._put_names(stmt, outer).isdisjoint(varied()):
            asked = {}
        for call in _user_calls(stmt, outer):
            kept = self._asked_defaults(call, outer)
            into = self._coming_into(_fn(call).obj, kept.keys())
            if not _names_given(call, into, outer).isdisjoint(varied()):
                asked |= {node(ref.obj): ref for ref in kept.values()}
        if not asked:
            return None
        objects = tuple(as_named(ref, outer.named) for ref in outermost(asked).values())
        return ir.Enter(ir.Call(_UNCHANGED, objects), "", False, stmt.origin)

    def _written_unseen(
        self, function: ir.Function, outer: OuterSources, varied: Callable[[], frozenset[str]]
    ) -> dict[str, ir.Ref]:
        """What unknown functions may write that are given nothing with derivatives: they are called
        as they are, and nobody asks what they write."""
        found: dict[str, ir.Ref] = {}
        for stmt in ir.statements(function.body):
            here = outer.at(stmt)
            unseen = here.found(_reached(here, stmt))
            for call in _user_calls(stmt, outer):
                unseen |= self.of_call(call, outer).unseen
            if unseen and ir.reads(stmt).isdisjoint(varied()):
                found |= unseen
        return {sure(node): ref for node, ref in found.items()}

    def given_to_unknown(self, function: ir.Function, sources: Sources) -> frozenset[str]:
        """The names of what may be held outside and is given to functions that only the run knows,
        and which may write what they are given: they are asked to leave these alone."""
        stmts = list(ir.statements(function.body))
        if not self._reaches_out(function, sources):
            return _NONE
        outer, written = self._followed(function, sources), self.effects(function, sources).written
        return frozenset(
            part.name
            for stmt in stmts
            for part, reached in outer.at(stmt).reached_by_unknown(stmt)
            if isinstance(part, ir.Var) and without_tables(outer.found(reached), written)
        )

    def refuse_unasked(
        self,
        function: ir.Function,
        varied: Callable[[], frozenset[str]],
        active: frozenset[str],
        sources: Sources,
        followed: Collection[int] = (),
    ) -> None:
        """Refuse calls that stay as they stand and may put what varies into memory outside: no
        statement of theirs asks."""
        if not self._reaches_out(function, sources):
            return
        values = self._of_values(function, self._values(function, sources))
        for stmt in ir.statements(function.body):
            names = ir.reads(stmt) if values.unsure and _calls_a_value(stmt) else _NONE
            for call in _user_calls(stmt, sources):
                names |= _names_given(call, self.of_call(call, sources).unsure, sources)
            if names and (id(stmt) in followed or not active.isdisjoint(ir.binds(stmt))):
                names -= frozenset(active)
            for name in sorted(names):
                if name in varied():
                    raise _carried_out(name, {}, function, stmt)

    def _carried(
        self, stmt: ir.Stmt, outer: OuterSources, values: OuterEffects
    ) -> Iterator[tuple[str, Found]]:
        """Names whose values a statement puts into outer objects, and these; refuses writes into
        what a function with a cache gave, as it would give it again."""
        guards = outer.at(stmt).guards(stmt)
        into = outer.at(stmt).changed_unasked(stmt, guards)
        _refuse_cached(stmt, into)
        out = into or guards is None
        yield from ((name, into) for name in sorted(self._put_names(stmt, outer)) if out)
        if values.carried and _calls_a_value(stmt):
            yield from ((name, values.written) for name in sorted(ir.reads(stmt)))
        for call in _user_calls(stmt, outer):
            found = self.of_call(call, outer)
            _refuse_cached(stmt, found.written)
            for name in sorted(_names_given(call, found.carried, outer)):
                yield name, found.written

    def _carries(self, stmt: ir.Stmt, outer: OuterSources, varied: Collection[str]) -> bool:
        """Whether a statement of a function that is called carries out what varies."""
        return any(name in varied for name, _ in self._carried(stmt, outer, OuterEffects()))

    def _innermost(
        self,
        stmt: ir.Stmt,
        outer: OuterSources,
        varied: Collection[str],
        does: Callable[[ir.Stmt, OuterSources, Collection[str]], bool],
        seen: tuple[Any, ...] = (),
    ) -> Place | None:
        """The place of the statement that does what a call is refused for, in what is called; None
        where the call itself does it."""
        for call in _user_calls(stmt, outer):
            obj = _fn(call).obj
            if any(obj is known for known in seen):
                continue
            function, actuals = self.body(obj), outer.bind(call)
            inner = self._followed(function, self.sources(function))
            given = (f for f, e in actuals.items() if not ir.names_in(e).isdisjoint(varied))
            within = computed_from(function, given)
            for part in ir.statements(function.body):
                if does(part, inner, within):
                    further = self._innermost(part, inner, within, does, (*seen, obj))
                    return further or part.origin.place
        return None

    def _put_names(self, stmt: ir.Stmt, sources: Sources) -> frozenset[str]:
        """The names whose values, and not only shapes, a statement may put into what it changes:
        for the call of a user's function, what reaches those of its arguments that are written."""
        value = getattr(stmt, "value", None)
        given: Iterable[ir.Expr]
        if isinstance(stmt, ir.Store | ir.Update):
            given = (stmt.value,)
        elif not isinstance(value, ir.Call):
            return _NONE
        elif _is_read(value, sources) and not outputs(value, sources.kinds):
            effects, actuals = sources.effects(value), sources.bind(value)
            assert effects is not None
            formals = self._coming_into(_fn(value).obj, effects.written & actuals.keys())
            given = [actuals[f] for f in sorted(formals & actuals.keys())]
        else:
            given = ir.arguments(value)
        return frozenset(
            name for part in given for name in operands(part, sources.kinds, self.book)
        )

    def _coming_into(self, obj: Any, written: Collection[str]) -> frozenset[str]:
        """The parameters of a function whose values may come into what these parameters hold."""
        function = self.body(obj)
        if obj not in self._flow:
            sources = self.sources(function)
            self._flow[obj] = flow_edges(function, sources.kinds, self.book, sources.effects)
        found: set[str] = set()
        for name in written:
            ends = {name, element(name)}
            found |= reaching(self._flow[obj], ends) - {name}
        return frozenset(found).intersection(function.param_names)

    def _carried_by(
        self, stmt: ir.Stmt, sources: Sources, refusal: UnsupportedError
    ) -> UnsupportedError:
        """The refusal of a statement, with what is known of the functions that it calls: whether
        one writes a parameter whichever way it goes, and whether what is called shows late."""
        calls = [(call, sources.effects(call)) for call in _user_calls(stmt, sources)]
        refusal.surely = not calls or any(
            effects is not None and self._surely_writes(call, effects.written)
            for call, effects in calls
        )
        refusal.late = any(effects is not None and bool(effects.unseen) for _, effects in calls)
        return refusal

    def _surely_writes(
        self, call: ir.Call, formals: frozenset[str], seen: tuple[Any, ...] = ()
    ) -> bool:
        """Whether a call changes what is given for one of these parameters, whichever way it goes:
        in a statement that stands in no branch and no loop."""
        obj = _fn(call).obj
        if any(obj is known for known in seen):
            return False
        function, names = self.body(obj), set(formals)
        sources = self.sources(function)
        for stmt in function.body:
            match stmt:
                case ir.Assign(
                    target=str(name), value=ir.Var() | ir.Attribute() | ir.Index() as of
                ):
                    names |= {name} if base_names(of) & names else set()
                case ir.Store(target=target) | ir.Update(target=target) if not isinstance(
                    target, ir.Var
                ):
                    if base_names(target) & names:
                        return True
                case ir.Assign(value=ir.Call() as made) | ir.Do(value=ir.Call() as made):
                    if self._surely_changed(made, names, sources, (*seen, obj)):
                        return True
        return False

    def _surely_changed(
        self, call: ir.Call, names: Collection[str], sources: Sources, seen: tuple[Any, ...]
    ) -> bool:
        """Whether a call in a function changes what one of these names is or holds."""
        match call:
            case ir.Call(fn=ir.Attribute(base, method)):
                return method in MUTATING_METHODS and not base_names(base).isdisjoint(names)
            case ir.Call(fn=ir.Ref()) if _is_read(call, sources):
                effects, actuals = sources.effects(call), sources.bind(call)
                written = effects.written if effects is not None else _NONE
                given = {p for p in written & actuals.keys() if ir.names_in(actuals[p]) & {*names}}
                given |= written & lasting_defaults(_fn(call).obj, actuals).keys()
                return self._surely_writes(call, frozenset(given), seen)
        return False

    def _updates(self, stmt: ir.Stmt, sources: Sources) -> bool:
        """Whether a statement that writes may do that in place, and not only by stores of items
        and attributes."""
        called = [self.body(_fn(call).obj) for call in _user_calls(stmt, sources)]
        if not called:
            return not isinstance(stmt, ir.Store)
        written = [(self.sources(body).written, body) for body in called]
        return any(
            not isinstance(inner, ir.Store) and writes(inner)
            for writes, body in written
            for inner in ir.statements(body.body)
        )

    def _note_numbers(
        self,
        stmt: ir.Stmt,
        outer: OuterSources,
        values: OuterEffects,
        functions: Mapping[int, ir.Ref],
    ) -> None:
        """Note which numbers of outer objects a statement changes, itself or by what it calls, some
        of these `functions` perhaps."""
        changed = outer.at(stmt).changed_by(stmt)
        for call in _user_calls(stmt, outer):
            changed |= self.of_call(call, outer).written
        called: tuple[ir.Ref, ...] = ()
        if values.written and _calls_a_value(stmt):
            changed |= values.written
            called = tuple(functions.values())
        boxes = [ref for key, ref in changed.items() if key.endswith(LATER)]
        if boxes:
            code = [ref for ref in boxes if isinstance(ref.obj, type | types.ModuleType)]
            if code:
                inner = self._innermost(stmt, outer, _NONE, self._changes_code)
                raise _changed_code(code[0], stmt, inner)
            self.numbers.write(stmt, boxes, called)

    def _changes_code(self, stmt: ir.Stmt, outer: OuterSources, _: Collection[str]) -> bool:
        """Whether a statement of a function that is called sets an attribute of a class or a
        module, itself or by what it calls."""
        changed = outer.at(stmt).changed_by(stmt)
        for call in _user_calls(stmt, outer):
            changed |= self.of_call(call, outer).written
        written = (ref.obj for key, ref in changed.items() if key.endswith(LATER))
        return any(isinstance(obj, type | types.ModuleType) for obj in written)

    def _refuse_overwritten(self, function: ir.Function, outer: OuterSources) -> None:
        """Refuse the reverse sweep of what reads an outer array that is written."""
        for key, _, place, saved in self._reads(function, outer):
            (self.saved if saved else self.read).setdefault(key, place)
        self.read |= {key: place for key, place in self.saved.items() if key in self.mutable}
        for key in self.read.keys() & self.written.keys():
            raise overwritten(self.written[key], self.read[key])
        self.numbers.refuse_overwritten()

    def _reads(
        self, function: ir.Function, outer: OuterSources
    ) -> Iterator[tuple[str, ir.Ref, Place, bool]]:
        """The outer objects of which a function reads something, or is given by what it calls, and
        whether that is read once, and has a name then (see `OuterNumbers`): all but arrays, what
        gets another name, and what a loop goes through."""
        for stmt in ir.statements(function.body):
            written, at = outer.written_through(stmt), stmt.origin.place
            again = isinstance(stmt, ir.For) or isinstance(getattr(stmt, "value", None), ir.Ref)
            called = (self.body(_fn(call).obj) for call in _user_calls(stmt, outer))
            again = again or any(map(_goes_through_what_it_is_given, called))
            for expr in ir.expressions(stmt):
                for key, ref in reads_of(expr, written):
                    yield key, ref, at, key.endswith(LATER) and not again
            for call in _user_calls(stmt, outer):
                for key, ref in self.of_call(call, outer).returned.items():
                    yield sure(key), ref, at, key.endswith(LATER)


def _goes_through_what_it_is_given(function: ir.Function) -> bool:
    loops = (s for s in ir.statements(function.body) if isinstance(s, ir.For))
    return any(not ir.names_in(s.iter).isdisjoint(function.param_names) for s in loops)


def _changed_code(ref: ir.Ref, stmt: ir.Stmt, inner: Place | None) -> UnsupportedError:
    """What is read of classes and modules is what they hold when the derivative is made."""
    refusal = UnsupportedError(
        f"an attribute of `{ref.text}` is set here, which is defined outside the function",
        stmt.origin.place,
        "Return the new value instead.",
    )
    refusal.cause = inner
    return refusal


def _refuse_unknown_code(stmt: ir.Stmt, sources: Sources) -> None:
    """Refuse attributes of classes and functions that are set where it is not known which these
    are (`type(self).count += 1`)."""
    target = stmt.target if isinstance(stmt, ir.Store | ir.Update) else None
    if not isinstance(target, ir.Attribute) or live(target.base) is not None:
        return
    if sources.kind_of(target.base) in (OTHER, FUNCTION):
        raise UnsupportedError(
            f"an attribute `{target.name}` is set on a class or a function, and it is not known on "
            "which",
            stmt.origin.place,
            "Return the new value, or keep it in an object.",
        )


def _refuse_entered(
    stmt: ir.Stmt, function: ir.Function, varied: Callable[[], frozenset[str]]
) -> None:
    """Refuse `s += v` of what a context manager gave as `s`: that may change an object."""
    if not isinstance(stmt, ir.Enter) or not stmt.target:
        return
    updates = (s for s in ir.statements(function.body) if isinstance(s, ir.Update))
    own = [s for s in updates if s.target == ir.Var(stmt.target)]
    if any(not ir.names_in(s.value).isdisjoint(varied()) for s in own):
        raise entered_refused(stmt)


def _stores_numbers(stmt: ir.Stmt, sources: OuterSources, function: ir.Function) -> bool:
    """Whether what a statement gives to outer objects is a number, or computed of numbers that are
    there now."""
    index = fact(ProgramIndex, function)

    def is_number(value: ir.Expr, seen: frozenset[str] = _NONE) -> bool:
        match value:
            case ir.Var(name) if name in seen:
                return True  # (carried by a loop: what else it is made of says)
            case ir.Var(name) if sources.kind_of(value).form != "number":
                made = [index.statements[n] for n in index.definitions.get(name, ())]
                return (
                    len(made) == 1
                    and isinstance(made[0], ir.Assign)
                    and is_number(made[0].value, seen | {name})
                )
            case ir.Call(fn=ir.Ref(obj=obj), args=args) if is_operation(obj) and (
                obj.__module__ == "_operator"
            ):
                return all(is_number(arg, seen) for arg in args)
            case ir.Attribute() | ir.Index():
                known = live(value)
                return known is not None and bool(later(value, known))
            case _:
                return sources.kind_of(value).form == "number"

    return isinstance(stmt, ir.Store | ir.Update) and is_number(stmt.value)


def unsure(node: str) -> str:
    """The node of an outer object that an unknown function may have given, or not."""
    return _UNSURE + sure(node)


def sure(node: str) -> str:
    return node.removeprefix(_UNSURE)


def is_unsure(node: str) -> bool:
    return node.startswith(_UNSURE)


def _reached(sources: OuterSources, stmt: ir.Stmt) -> frozenset[str]:
    """The outer objects that an unknown function which a statement calls is given."""
    return _NONE.union(*(reached for _, reached in sources.reached_by_unknown(stmt)))


@ir.of_node
def _named_outside(stmt: ir.Stmt) -> tuple[ir.Ref, ...]:
    """What a statement names outside of its function but operations, which only compute."""
    return tuple(ref for ref in named(stmt) if not is_operation(ref.obj))


def _function_values(stmt: ir.Stmt) -> list[ir.Ref]:
    """The user's functions that a statement names, but does not call."""
    called = [_fn(call) for call in _calls_by_name(stmt)]
    return [
        ref
        for ref in _named_outside(stmt)
        if _is_users(ref.obj) and not any(ref is fn for fn in called)
    ]


def _primal(fn: ir.Ref) -> ir.Ref:
    """A function, or the one that it is a derivative of: that writes the same."""
    derivative = mark_of(fn.obj, "tangentlike")
    return fn if derivative is None else ir.Ref(fn.text, derivative.primal.function)


def _is_users(obj: Any) -> bool:
    """Whether an object is a function whose text is the user's: not the wrapper that
    `functools.singledispatch` makes, which is said to be of the user's module."""
    if not is_python_function(obj) or is_ours(obj):
        return False
    return not is_standard(str(obj.__globals__.get("__name__")))


def _calls_a_value(stmt: ir.Stmt) -> bool:
    """Whether a statement may call a function that is not known by its name."""
    parts = (part for expr in ir.expressions(stmt) for part in ir.walk(expr))
    unknown = (isinstance(p, ir.Call) and not isinstance(p.fn, ir.Ref) for p in parts)
    return any(unknown) or bool(_function_values(stmt))


def _refuse_found_again(function: ir.Function, into: Found, varied: frozenset[str]) -> None:
    """Refuse containers outside into which results are put, and that are asked for what depends on
    what varies: what an earlier call put there is a constant, and equal numbers are not one
    variable."""
    holders = [ref.obj for ref in into.values() if isinstance(ref.obj, dict | list)]
    if not holders:
        return
    stmts = list(ir.statements(function.body))
    plain = [s for s in stmts if isinstance(s, ir.Assign) and isinstance(s.target, str)]
    meant = {str(stmt.target): stmt.value for stmt in plain}
    found = computed_from(function, varied)

    def is_holder(expr: ir.Expr) -> bool:
        seen = set[str]()
        while isinstance(expr, ir.Var) and expr.name in meant.keys() - seen:
            seen.add(expr.name)
            expr = meant[expr.name]
        known = live(expr)
        if known is not None and any(known.obj is holder for holder in holders):
            return True
        match expr:
            case ir.Index(base) | ir.Call(ir.Attribute(base, "get")):
                return is_holder(base)
        return False

    for stmt in stmts:
        asked = (pair for part in ir.walk_statement(stmt) for pair in _asked_of_containers(part))
        for base, keys in asked:
            names = sorted(found & ir.names_in(keys))
            if names and is_holder(base):
                key = min(names, key=lambda name: name not in varied)
                carries = "carries" if key in varied else "is computed from what carries"
                raise UnsupportedError(
                    f"`{in_source(key, function)}` {carries} derivatives and is looked for in a "
                    f"container outside {function.name}, which keeps results of earlier calls",
                    stmt.origin.place,
                    "What such a call gives has no derivative: differentiate the function that "
                    "computes it.",
                )


def _asked_of_containers(part: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What may be a container, and what it is asked for: `table[k]`, `k in xs`, `last == k`."""
    match part:
        case ir.Index(base, key) if not isinstance(getattr(live(base), "obj", None), list):
            yield base, key
        case ir.Call(ir.Attribute(base, name), (key, *_)) if name in _ASKING:
            yield base, key
        case ir.Call(ir.Ref(obj=operator.contains), (key, base)):
            yield base, key
        case ir.Call(ir.Ref(obj=operator.eq | operator.ne), (one, other)):
            yield from ((one, other), (other, one))


def _carried_out(name: str, into: Found, function: ir.Function, stmt: ir.Stmt) -> UnsupportedError:
    name = in_source(name, function)
    listed = ", ".join(f"`{text}`" for text in outermost(into))
    refusal = UnsupportedError(
        f"`{name}` carries derivatives into {listed or 'an object'}, which is defined "
        f"outside {function.name}",
        stmt.origin.place,
        f"Pass it as an argument, return what is written, or store tl.stop_gradient({name}).",
        "memory",
    )
    refusal.outer = tuple(ref.obj for ref in into.values())
    return refusal


def _fn(call: ir.Call) -> ir.Ref:
    assert isinstance(call.fn, ir.Ref)
    return call.fn


def _user_calls(stmt: ir.Stmt, sources: Sources) -> Iterator[ir.Call]:
    """The calls of functions with a source in a statement."""
    return (call for call in _calls_by_name(stmt) if _is_read(call, sources))


def _calls_by_name(stmt: ir.Stmt) -> list[ir.Call]:
    """The calls in a statement of what has a name outside of the function."""
    parts = (part for expr in ir.expressions(stmt) for part in ir.walk(expr))
    return [part for part in parts if isinstance(part, ir.Call) and isinstance(part.fn, ir.Ref)]


def _is_read(call: ir.Call, sources: Sources) -> bool:
    if not isinstance(call.fn, ir.Ref) or is_of_runtime(call.fn.obj):
        return False
    return is_python_function(call.fn.obj) and sources.effects(call) is not None


def _is_one_of(ref: ir.Ref, objects: Collection[Any]) -> bool:
    return any(ref.obj is obj for obj in objects)


def _is_read_call(stmt: ir.Stmt, sources: Sources) -> bool:
    value = getattr(stmt, "value", None)
    return (
        isinstance(stmt, ir.Assign | ir.Do)
        and isinstance(value, ir.Call)
        and _is_read(value, sources)
    )


def _names_given(call: ir.Call, formals: Collection[str], sources: Sources) -> frozenset[str]:
    """The names in what a call gives these parameters."""
    actuals = sources.bind(call) if formals else {}
    return _NONE.union(*(ir.names_in(actuals[f]) for f in actuals if f in formals))


def _without_stacks(call: ir.Call, effects: Effects | None) -> Effects | None:
    """A backward function pops its own stacks, and puts back what its forward function wrote,
    which is asked the same where that is called."""
    if effects is None:
        return None
    emptied = attribute_of(getattr(call.fn, "obj", None), "__empties__", ())
    if not emptied:
        return effects
    return dataclasses.replace(effects, written=effects.written - set(emptied))


def _refuse_cached(stmt: ir.Stmt, written: Found) -> None:
    for ref in filter(is_cached, written.values()):
        raise UnsupportedError(
            f"what `{ref.text.removesuffix('.__wrapped__')}` returns from its cache is written "
            "in place",
            stmt.origin.place,
            "Later calls would return what was written. Write into a copy.",
        )


def _refuse_unseen_function(stmt: ir.Stmt) -> None:
    """Refuse `tl.grad(system.energy)`: which function that is is not known until run time."""
    match stmt:
        case ir.Assign(value=ir.Call(fn=ir.Ref(text, obj))) if mark_of(obj, "derives"):
            raise UnsupportedError(
                f"the function or the wrt that `{text}` is given is not known when the derivative "
                "is made",
                stmt.origin.place,
                "Write a function that calls it: `tl.grad(lambda x: system.energy(x))`.",
            )
