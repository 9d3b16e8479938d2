"""One function with adjoints by identity: how it is prepared, what it saves, what is made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from ... import ir, runtime
from ...analysis.aliases import SHARED
from ...analysis.memory import surely_basic
from ...analysis.operations import (
    is_python_function,
    rule_object,
    written_position,
)
from ...analysis.recompute import Recomputed, Rematerialisation
from ...analysis.regions import Parts, Regions
from ...analysis.saving import Needed, Recording, Saves, is_scatter
from ...errors import UnsupportedError
from ...ir.kind import UNKNOWN, Kind
from ..context import Context, operation
from ..loops import is_call
from ..normalize.iterators import items_name, taken_in_turn, with_sources
from ..normalize.shadow_calls import shadow_method, shadow_names
from ..normalize.updates import with_result
from ..specialize.callees import Pair
from .adjoints import Adjoints, as_value
from .by_identity import CONTAINERS, IdentityAdjoints, IdentitySweep, may_compute, takes_item
from .functions import Primal, Reverse, bundle, seed_name
from .pairs import CallConversion, bind_everywhere, taped_names, unpack_tape
from .prepare import ACCUMULATING, Preparation, checked_overlap
from .recorded import IdentityCosts, Recorder
from .sweep import ReversedBlock

_LIVE = ir.Ref("live_items", runtime.live_items)
_REPEATABLE = ir.Ref("repeatable", runtime.repeatable)
# What writes into an array or a container, and what it holds is undone.
_UNDONE = (
    runtime.update_in_place,
    *(runtime.put_contents, runtime.put_inside, runtime.put_item),
)


def _is_read(items: ir.Expr, block: ir.Block, loop: ir.For) -> bool:
    """Whether statements besides a loop read what it takes items from."""
    names, others = ir.names_in(items), (s for s in ir.statements(block) if s is not loop)
    return any(not names.isdisjoint(ir.reads(stmt)) for stmt in others)


class IdentityPreparation(Preparation):
    """Updates and loops in the form that is right for whatever the names stand for."""

    def statement(self, stmt: ir.Stmt) -> list[ir.Stmt]:
        match stmt:
            case ir.Store(target=ir.Index()):
                named, store = self._with_steady_key(stmt)
                assert isinstance(store, ir.Store)
                before, store = self._with_items(store)
                checked = checked_overlap(store, self.facts, self.aliases, self.context)
                return [*named, *before, *checked]
            case ir.Do(value=ir.Call(fn=ir.Attribute(_, "extend"), args=(items,)) as call) if (
                self.context.kind_of(items).form not in ("list", "tuple")
            ):
                listed, name = self._items("items", ir.LIST, (items,), stmt)
                extended = dataclasses.replace(call, args=(name,))
                return [listed, dataclasses.replace(stmt, value=extended)]
            case ir.Do(value=ir.Call(fn=ir.Attribute(_, "update"), args=(entries,))) if (
                self.context.kind_of(entries).form not in ("dict", "list", "tuple")
            ):
                return [self.context.check("require_items", (entries,), stmt.origin), stmt]
            case ir.Store(target=ir.Attribute(base, name)) if may_compute(base, self.context):
                return [self._stored_there(base, name, stmt), *super().statement(stmt)]
            case ir.Update(target=ir.Attribute(base, name)) if may_compute(base, self.context):
                return [self._stored_there(base, name, stmt), *self._update(stmt)]
            case ir.Update():
                return self._update(stmt)
            case ir.Assign(value=ir.Call(fn=ir.Attribute(base, method)) as call) if takes_item(
                call, self.context
            ):
                asked = (base, ir.Const(method))
                check = self.context.check("require_container", asked, stmt.origin, call.at)
                return [check, stmt]
            case ir.Assign(target=str(name), value=ir.Attribute(ir.Var() as base) as value) if (
                may_compute(base, self.context) and not self.context.kind_of(value).discrete
            ):
                held = (base, ir.Var(name), ir.Const(ir.plain_name(value.name)))
                check = self.context.check("require_held", held, stmt.origin)
                return [*super().statement(stmt), check]
            case ir.Assign(target=tuple(), value=ir.Index() | ir.Attribute() as value):
                part = self._fresh("part", self.context.kind_of(value))
                named = self.statement(ir.Assign(part, value, stmt.origin))
                return [*named, *self._assign(dataclasses.replace(stmt, value=ir.Var(part)))]
        return super().statement(stmt)

    def _stored_there(self, base: ir.Expr, name: str, stmt: ir.Stmt) -> ir.Stmt:
        """The check that an attribute is assigned, and that no setter of the class runs."""
        held = (base, ir.Const(ir.plain_name(name)))
        return self.context.check("require_stored", held, stmt.origin)

    def _with_items(self, store: ir.Store) -> tuple[list[ir.Stmt], ir.Store]:
        """`xs[i:j] = v` with the items of `v` for the list that `xs` may be."""
        target, form = store.target, self.context.kind_of(store.value).form
        assert isinstance(target, ir.Index)
        may_be_list = self.context.kind_of(target.base).form in ("list", "unknown")
        if not (may_be_list and isinstance(target.key, ir.Slice)) or form in ("list", "tuple"):
            return [], store
        into = self.context.helper("items_into")
        named, items = self._items("items", into, (target.base, store.value), store)
        return [named], dataclasses.replace(store, value=items)

    def _items(
        self, name: str, fn: ir.Expr, args: tuple[ir.Expr, ...], stmt: ir.Stmt
    ) -> tuple[ir.Stmt, ir.Var]:
        """A name for the items that a function gives, and the statement that binds it."""
        items = ir.Var(self._fresh(name, Kind("list") if fn is ir.LIST else UNKNOWN))
        call = ir.Call(fn, args, at=stmt.origin.place)
        return ir.Assign(items.name, call, stmt.origin), items

    def _for(self, stmt: ir.For) -> list[ir.Stmt]:
        """What may be a set, a dict, or an iterator is made what can be gone through by position,
        and again by the reverse sweep."""
        before: list[ir.Stmt] = []
        made: dict[ir.Expr, ir.Expr] = {}
        sources = [*taken_in_turn(stmt.iter)]
        for source in dict.fromkeys(sources):
            form, items = self.context.kind_of(source).form, source
            if is_call(source, zip):  # (of `*rows`)
                named, items = self._items("pairs", source.fn, source.args, stmt)
                before.append(named)
            elif not isinstance(source, ir.Var | ir.Opaque) or form in ("array", "list", "tuple"):
                continue
            # (Keys, and members of sets, are not written.)
            keys, written = form in ("dict", "set"), self._writes(stmt.body)
            # (All items are taken at once: nobody else may take some.)
            asked = sources.count(source) > 1 or _is_read(items, self.facts.function.body, stmt)
            ways: list[tuple[ir.Ref, tuple[ir.Expr, ...]]]
            ways = [(ir.LIST if keys or not written else _LIVE, ())]
            if asked and not keys:
                ways.insert(0, (_REPEATABLE, (ir.Const(True),)))
            for fn, more in ways:
                named, items = self._items(items_name(source), fn, (items, *more), stmt)
                before.append(named)
            made[source] = items
        iterable = with_sources(stmt.iter, made)
        return [*before, *super()._for(dataclasses.replace(stmt, iter=iterable))]

    def _is_written_in(self, body: ir.Block, sequence: str) -> bool:
        """(A number that is read of an array is another object each time.)"""
        if self.context.kind_of(ir.Var(sequence)).form in ("list", "tuple"):
            return self._writes(body)
        item = self.context.kind_of(ir.Index(ir.Var(sequence), ir.Const(0)))
        return item.form != "array" and not item.discrete

    def _writes(self, body: ir.Block) -> bool:
        """Whether a loop writes anything: by which names is not asked."""
        return any(map(self.context.sources().written, ir.statements(body)))

    def _update(self, stmt: ir.Update) -> list[ir.Stmt]:
        """`t op= v`, of a name, an item or an attribute."""
        target, kind_of = stmt.target, self.context.kind_of
        if isinstance(target, ir.Var):
            if kind_of(target).form == "array" and stmt.op.obj in ACCUMULATING:
                return [stmt]
            return self._updated(target, stmt)
        named: list[ir.Stmt] = []
        if isinstance(target, ir.Index):
            named, steady = self._with_steady_key(stmt)
            assert isinstance(steady, ir.Update) and isinstance(steady.target, ir.Index)
            stmt, target = steady, steady.target
            array = kind_of(target.base).form == "array"
            if array and stmt.op.obj in ACCUMULATING and surely_basic(target.key, kind_of):
                return [*named, stmt]
            if array:  # (what is at an entry is not an object of its own)
                return [*named, *self._computed(stmt, target)]
        old = ir.Var(self._fresh("old", kind_of(target)))
        read = ir.Assign(old.name, target, stmt.origin)
        store = ir.Store(target, old, stmt.origin)
        return [*named, read, *self._updated(old, stmt), store]

    def _updated(self, old: ir.Var, stmt: ir.Update) -> list[ir.Stmt]:
        """`old op= v`: in place for an array or a container, a rebinding for a number."""
        form = self.context.kind_of(old).form
        stmt = dataclasses.replace(stmt, target=old)
        new = ir.Var(self._fresh("new", self.context.kind_of(operation(stmt))))
        before = with_result(stmt, new.name, self.context)
        if form in ("number", "other"):
            return [*before, ir.Assign(old.name, new, stmt.origin)]
        if form == "array":
            whole = ir.Index(old, ir.Const(Ellipsis), stmt.origin.place)
            return [*before, ir.Store(whole, new, stmt.origin)]
        write = ir.Call(self.context.helper("update_in_place"), (old, new))
        found = ir.Call(self.context.helper("updated"), (old, new))
        before.append(ir.Do(write, stmt.origin))
        return [*before, ir.Assign(old.name, found, stmt.origin)]


def refuse_writes_by_others(
    function: ir.Function, sites: Collection[int], context: Context
) -> None:
    """Refuse calls that may write what they are given in ways that are not known: by library code,
    or by methods that arrays and containers both have."""
    sources = context.sources()
    for stmt in ir.statements(function.body):
        call = getattr(stmt, "value", None)
        if isinstance(stmt, ir.Store | ir.Update) or not isinstance(call, ir.Call):
            continue
        if id(stmt) in sites or shadow_method(call) or not sources.written(stmt):
            continue
        if is_scatter(stmt) and getattr(call.fn, "obj", None) is not runtime.add_at:
            continue
        match call.fn:
            case ir.Attribute(base, _) if context.kind_of(base).form in CONTAINERS:
                continue
            case ir.Attribute(_, method) if not hasattr(np.ndarray, method):
                continue
            case ir.Var():
                continue  # (what it is given carries no derivatives, and is put back)
            case ir.Ref(obj=obj) if obj in _UNDONE:
                continue
        text = call.fn.text if isinstance(call.fn, ir.Ref) else getattr(call.fn, "name", "this")
        raise UnsupportedError(
            f"`{text}` may write what it is given, and how is not known",
            call.at or stmt.origin.place,
            "Write the entries by an assignment, or annotate the parameter that they come from.",
        )


class IdentityCalls(CallConversion):
    """Every call of a user's function that is given what carries derivatives, or writes."""

    def _converts(self, call: ir.Call, stmt: ir.Stmt) -> bool:
        obj, book = rule_object(call, self.context.kinds), self.context.book
        if not isinstance(call.fn, ir.Ref) or not is_python_function(obj):
            return False
        if book.find(obj) is not None or book.is_nondifferentiable(obj):
            return False
        if written_position(obj) is not None:
            return False
        effects = self._effects(call)
        return bool(ir.names_in(call) & self.active or effects.written | effects.unseen)

    def _guards(self, call: ir.Call, stmt: ir.Stmt) -> list[ir.Stmt]:
        return []

    def _changed(self, call: ir.Call, pair: Pair) -> tuple[str, ...]:
        return ()  # (a pair restores all that it writes)


class IdentityRecorder(Recorder):
    """Saves by reference, and restores in place, whatever the objects are."""

    def _old_entries(self, stmt: ir.Stmt, name: str) -> ir.Expr:
        entries = self._entries(stmt, name)
        if isinstance(entries, ir.Attribute):
            return super()._old_entries(stmt, name)
        if self._is_inside(stmt, entries):
            return ir.Call(self.context.helper("contents_inside"), (entries.base,))
        if entries == self._all_of(name) or self._is_plain(entries):
            return self._old_contents(entries, name)
        place = (entries.base, as_value(entries.key))
        return ir.Call(self.context.helper("saved_item"), place)

    def _old_contents(self, entries: ir.Index, name: str) -> ir.Expr:
        form = self.context.kind_of(entries.base).form
        if form == "list" and entries != self._all_of(name):
            return entries  # (the item itself)
        if form == "array":
            whole = entries.key == ir.Const(Ellipsis)
            if self.context.kind_of(entries).form == "number" and not whole:
                return entries
            copied = ir.Attribute(entries.base if whole else entries, "copy")
            if self.context.kind_of(entries).form == "array" or whole:
                return ir.Call(copied)
            return ir.Call(self.context.helper("copy"), (entries,))
        return ir.Call(self.context.helper("contents"), (entries.base,))

    def _is_inside(self, stmt: ir.Stmt, entries: ir.Index) -> bool:
        """Whether a statement calls what only the running program knows, or takes that back."""
        call = getattr(stmt, "value", None)
        if not isinstance(call, ir.Call) or self.context.kind_of(entries.base).form == "array":
            return False
        return isinstance(call.fn, ir.Var) or getattr(call.fn, "obj", None) is runtime.put_inside

    def _all_of(self, name: str) -> ir.Index:
        return ir.Index(ir.Var(name), self._whole(name))

    def _is_plain(self, entries: ir.Index) -> bool:
        """Whether the entries can be put back by a plain store."""
        form = self.context.kind_of(entries.base).form
        if form == "list":
            return self.context.kind_of(entries.key).integer or (
                isinstance(entries.key, ir.Const) and isinstance(entries.key.value, int)
            )
        return form == "array"

    def _put_back(
        self, stmt: ir.Stmt, entries: ir.Index | ir.Attribute, name: str, saved: ir.Expr
    ) -> ir.Stmt:
        origin = dataclasses.replace(stmt.origin, role="restore")
        if isinstance(entries, ir.Attribute):
            return ir.Store(entries, saved, origin)
        form = self.context.kind_of(entries.base).form
        if self._is_plain(entries) and (form == "array" or entries != self._all_of(name)):
            return ir.Store(entries, saved, origin)
        if entries == self._all_of(name):
            inside = self._is_inside(stmt, entries)
            helper = self.context.helper("put_inside" if inside else "put_contents")
            call = ir.Call(helper, (entries.base, saved))
            return ir.Do(call, origin)
        place = (entries.base, as_value(entries.key), saved)
        return ir.Do(ir.Call(self.context.helper("put_item"), place), origin)


class _SameMemory(Rematerialisation):
    """Views are made again; whoever reads their entries needs these in any case."""

    def _operands(self, stmt: ir.Assign) -> Needed:
        return ir.names_in(stmt.value)


class IdentityReverse(Reverse):
    """One function's reverse transform with adjoints by identity."""

    recorder_class = IdentityRecorder
    adjoints: IdentityAdjoints
    sweep: IdentitySweep

    def _made_adjoints(self) -> IdentityAdjoints:
        return IdentityAdjoints(self.context, self.primal.aliases)

    def _made_sweep(self) -> IdentitySweep:
        primal = self.primal
        known = (primal.active, primal.calls, primal.counters, self.severed)
        return IdentitySweep(self.adjoints, self.facts, *known, self.context)

    def _finish(self, results: Iterable[str], written: Iterable[str]) -> None:
        """The adjoints of the arguments: of numbers by name, of all others by identity."""
        for name in results:
            if not self.adjoints.by_name(name):
                self.adjoints.take(name)
            elif not self.adjoints.present(name):
                self.adjoints.zero(name)
        for name in written:
            if self.adjoints.by_name(name) and self.adjoints.present(name):
                self.adjoints.do("add", ir.Var(name), self.adjoints.bar(name))

    def _begin(self) -> tuple[Adjoints, list[ir.Stmt]]:
        begun = super()._begin()
        self.sweep.statements.begin(self.primal.function)
        return begun

    def _written(self, stmt: ir.Stmt) -> tuple[str, ...]:
        # (Adjoints are not undone: what is read of them are copies.)
        return () if shadow_method(getattr(stmt, "value", None)) else super()._written(stmt)

    def seed_result(self, value: ir.Expr, given: Mapping[tuple[int, ...], str]) -> list[ir.Stmt]:
        """The adjoints of the numbers in the result of a callee: parameters that are `given` for
        some places there, of all others what the shadow holds."""
        _, out = self._begin()
        statements = self.sweep.statements
        for path, seed in given.items():
            name = _at(value, path)
            assert isinstance(name, ir.Var)
            self.adjoints.contribute(name.name, ir.Var(seed))
        others = _without(value, given.keys())
        statements.take_back(frozenset().union(*map(statements.presence.numbers_in, others)))
        return out

    def numbers_by_name(self, value: ir.Expr) -> tuple[tuple[int, ...], ...]:
        """Where numbers that carry derivatives are in a result, or what it is."""
        items = value.items if isinstance(value, ir.Display) and value.form == "tuple" else ()
        paths: list[tuple[int, ...]] = [(), *((k,) for k in range(len(items)))]
        return tuple(path for path in paths if self.is_number(_at(value, path)))

    def is_number(self, expr: ir.Expr) -> bool:
        """Whether an expression is a name of a number that carries derivatives."""
        named = isinstance(expr, ir.Var) and expr.name in self.primal.active
        return named and self.context.kind_of(expr).form == "number"

    def result_adjoint(self, name: str) -> ir.Expr:
        return self.adjoints.bar(name)

    def _record(self, tree: ReversedBlock) -> tuple[Saves, Recomputed]:
        aliases = self.primal.aliases
        reads = self._reads(tree, None)
        parts = Parts(Regions(self.facts, self.context.kind_of), aliases, self._writes)
        restored = self.primal.shared
        costs = IdentityCosts(aliases, self.context, self.sweep.presence.local).predicates()
        recomputed = _SameMemory(self.facts, aliases, reads, costs, None).run()
        virtual = frozenset(recomputed.names)
        recording = Recording(self.facts, restored, aliases, reads, virtual, self._written, parts)
        return recording.run(), recomputed

    def protect(self) -> ir.Block:
        """The arguments as objects of their own, of floats where nothing is known of them."""
        origin = ir.Origin(self.primal.function.place, "primal")
        kinds = {p: self.context.kind_of(ir.Var(p)) for p in self.primal.wrt}
        open_ = tuple(ir.Var(p) for p, kind in kinds.items() if kind.form in ("unknown", "value"))
        check = (self.context.check("require_floating", open_, origin),) if open_ else ()
        helper = self.context.helper("own")
        names = dict.fromkeys((*self.primal.wrt, *self.primal.written))
        params = (p for p in self.primal.function.param_names if p in names)
        return (*check, *(ir.Assign(p, ir.Call(helper, (ir.Var(p),)), origin) for p in params))


def _at(value: ir.Expr, path: tuple[int, ...]) -> ir.Expr:
    """What is at a place in a result."""
    for place in path:
        assert isinstance(value, ir.Display)
        value = value.items[place]
    return value


def _without(value: ir.Expr, paths: Collection[tuple[int, ...]]) -> tuple[ir.Expr, ...]:
    """What is in a result besides some places."""
    if () in paths:
        return ()
    if not isinstance(value, ir.Display):
        return (value,)
    return tuple(item for k, item in enumerate(value.items) if (k,) not in paths)


@dataclasses.dataclass(frozen=True)
class CalleePair:
    """The two functions of a callee: of the formals `adjoints` `bwd` returns the adjoints, and of
    the numbers at `seeds` in the result it is given them."""

    fwd: ir.Function
    bwd: ir.Function
    adjoints: tuple[str, ...]
    seeds: tuple[tuple[int, ...], ...]


def callee_pair(
    primal: Primal, context: Context, names: tuple[str, str], named: bool
) -> CalleePair:
    """`f_fwd(t) -> (value, tape)` and `f_bwd(tape, bars, y_bar) -> t_bar`: the adjoints of numbers
    go in and out by name (if `named`), all others through `bars`."""
    transform = IdentityReverse(primal, context)
    value = _value(transform)
    tape = context.names.fresh("tape")
    bars = transform.adjoints.name_shadow()
    transform.adjoints.zero(SHARED)  # (it is the caller's)
    seeds = dict[tuple[int, ...], str]()
    for path in transform.numbers_by_name(value) if named else ():
        seeds[path] = context.names.fresh(seed_name(_at(value, path)))
    # (A parameter that the call does not give has nowhere to give an adjoint to.)
    numbers = (p for p in primal.function.param_names if transform.is_number(ir.Var(p)))
    returned = tuple(p for p in numbers if p in primal.wrt) if named else ()
    seeded = transform.seed_result(value, seeds)
    given = (tape, bars, *seeds.values())
    fwd, bwd = _two_functions(transform, names, value, given, seeded, returned)
    shadows = (bars, *bwd.shadows)
    return CalleePair(fwd, dataclasses.replace(bwd, shadows=shadows), returned, tuple(seeds))


def identity_pair(
    primal: Primal, context: Context, names: tuple[str, str], bare: bool
) -> tuple[ir.Function, ir.Function]:
    """`f_fwd(...) -> (value, tape)` and `f_bwd(tape, y_bar)`, which returns the gradient (with
    `bare` that of a single argument by itself)."""
    transform = IdentityReverse(primal, context)
    value = _value(transform)
    given = context.names.fresh("tape"), context.names.fresh(seed_name(value))
    seeded = transform.seed(value, ir.Var(given[1]))
    fwd, bwd = _two_functions(transform, names, value, given, seeded, primal.wrt, bare)
    return ir.with_body(fwd, (*transform.protect(), *fwd.body)), bwd


def _value(transform: Reverse) -> ir.Expr:
    """What a function returns."""
    result = transform.result
    return result.value if result is not None and result.value is not None else ir.Const(None)


def _two_functions(
    transform: IdentityReverse,
    names: tuple[str, str],
    value: ir.Expr,
    given: tuple[str, ...],
    seeds: list[ir.Stmt],
    returned: tuple[str, ...],
    bare: bool | None = None,
) -> tuple[ir.Function, ir.Function]:
    """The forward and the backward function of what is given a tape and adjoints, and returns those
    of some formals (`bare`: of a single one by itself; None: it is a callee, whose other formals
    have theirs in the shadow)."""
    primal, result = transform.primal, transform.result
    held = (p for p in primal.function.param_names if p in primal.active and p not in returned)
    before, after = transform.run(seeds, returned, tuple(held) if bare is None else ())
    origin = ir.Origin(primal.function.place, "adjoint")
    taped = taped_names(after, before, primal, {*given})
    unpack = unpack_tape(given[0], taped, origin)
    end = ir.Return(
        ir.Display("tuple", (value, ir.Display("tuple", tuple(map(ir.Var, taped))))),
        result.origin if result is not None else origin,
    )
    before = bind_everywhere(before, taped, primal)
    fwd = dataclasses.replace(primal.function, name=names[0], body=(*before, end))
    bars = tuple(map(transform.result_adjoint, returned))
    nothing = bare is None and not bars
    answer = ir.Return(None if nothing else bundle(bars, bare is not False), origin)
    recorded = shadow_names(primal.function).intersection(taped)
    body, params = (*unpack, *after, answer), tuple(map(ir.Param, given))
    place, shadows = primal.function.place, tuple(sorted(recorded))
    bwd = ir.Function(names[1], params, body, place, empties=given[:1], shadows=shadows)
    return fwd, bwd
