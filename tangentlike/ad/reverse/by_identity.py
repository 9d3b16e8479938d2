"""The reverse sweep where adjoints of memory are found by identity (`runtime.Shadow`).

before::                       after (reverse sweep)::
    row = m[i]                     (nothing: a view's adjoint is in that of its base)
    row[0] = s * t                 v_bar = bars.take_at(row, 0, v)
    xs.append(row)                 (nothing: the row in the list is the row)
    y = xs[0] * s                  y_bar = bars.take(y); bars.add(x, y_bar * s); s_bar += ...

It needs no fact about sharing: what may be a view, which names are the same list, and whether a
name is a number or an array is settled when the program runs. Numbers whose kind says so have
adjoints by name; where such a number gets to somebody else (an item, an attribute, an argument)
the statement's reversal takes back what was added to it there.
"""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ... import ir, runtime
from ...analysis.aliases import SHARED, Aliases
from ...analysis.constructors import record_values
from ...analysis.memory import base_names, element, surely_basic
from ...analysis.operations import joins_lists, may_join_lists, rule_object
from ...analysis.regions import Regions, UnreadEntries, arrays_read, parts_read
from ...analysis.saving import is_scatter
from ...analysis.sharing import classes_of, owner
from ...analysis.structure import Structure
from ...errors import SharingError, UnsupportedError
from ...frontend.structures import computes_attributes
from ...ir.dataflow import Problem, solve
from ...ir.index import OUTERMOST
from ...ir.kind import UNKNOWN, Kind
from ...runtime.records import computes_items
from ..context import Context
from ..loops import Leaf, is_call
from ..normalize.shadow_calls import SHADOW, shadow_method, shadow_names
from ..specialize.callees import CallSite
from .adjoints import OWNED, Adjoints, as_value
from .presence import Presence, popped_from
from .statements import Statements
from .sweep import Sweep, places_in

MEMORY = "(memory)"  # the one class of all that can be written in place
_COLLECTING = (list, tuple, dict, set, sorted, reversed, zip, enumerate, copy.copy)
CONTAINERS = ("list", "tuple", "dict", "set", "object")
_BY_NAME = ("number", "other")
_COPIED = ("array", "number", "value")  # what is put into these, or taken as a whole, is copied


@dataclass
class OneMemory(Aliases):
    """Any two names that hold memory may share it, but for those in `private`."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    private: frozenset[str] = frozenset()

    def class_of(self, name: str) -> str:
        owner = name.removesuffix("[*]")
        form = self.kinds.get(owner, UNKNOWN).form
        alone = owner in self.private or form in _BY_NAME
        return name if alone or (owner != name and form == "array") else MEMORY

    def is_resized(self, name: str) -> bool:
        form = self.kinds.get(name, UNKNOWN).form
        return self.class_of(name) in self.resized and form not in ("array", "value")


def one_memory(function: ir.Function, writes: bool, context: Context) -> OneMemory:
    """Nothing is known of who shares memory; `writes`: whether anything may be written."""
    kinds = context.kinds
    names = {*function.param_names}
    names.update(n for s in ir.statements(function.body) for n in (*ir.binds(s), *ir.reads(s)))
    private = private_names(function, context)
    memory = (n for n in names - private if kinds.get(n, UNKNOWN).form not in _BY_NAME)
    sources = context.sources()
    aliases = OneMemory(kinds=kinds, found=frozenset(memory), private=private)
    aliases.direct = frozenset(
        node.removesuffix("[*]")
        for stmt in ir.statements(function.body)
        for node in sources.written(stmt)
    )
    if writes or aliases.direct:
        aliases.written = aliases.resized = frozenset((MEMORY,))
    return aliases


def private_names(function: ir.Function, context: Context) -> frozenset[str]:
    """The names of what operations compute, and operations or stores alone read: nothing else ever
    holds it, so that its adjoint has a name, be it a number or an array."""
    shared = set(function.param_names)
    made: set[str] = set()
    for stmt in ir.statements(function.body):
        value = getattr(stmt, "value", None)
        fresh = isinstance(value, ir.Call) and _is_fresh(value, context)
        if fresh and isinstance(stmt, ir.Assign) and isinstance(stmt.target, str):
            made.add(stmt.target)
        else:
            shared.update(ir.binds(stmt))
        if not (fresh and isinstance(stmt, ir.Assign)):
            shared.update(_handed_on(stmt, context))
    return frozenset(made - shared)


def own_memory(
    function: ir.Function, calls: Collection[int], aliases: Aliases, context: Context
) -> dict[str, str]:
    """The names of arrays and lists that are made here and that only names of this function ever
    reach, each with the name that stands for all that may share memory with it (`element(xs)` for
    the items of a list, and theirs)."""
    edges = {(name, MEMORY) for name in function.param_names}
    for stmt in ir.statements(function.body):
        first, *others = _sharing(stmt, id(stmt) in calls, context) or (MEMORY,)
        edges.update((first, name) for name in others)
    names = {n for stmt in ir.statements(function.body) for n in (*ir.binds(stmt), *ir.reads(stmt))}
    numbers = set(filter(aliases.has_variable, names))
    edges = {(a, b) for a, b in edges if numbers.isdisjoint((owner(a), owner(b)))}
    classes = classes_of(edges | {(_items(a), _items(b)) for a, b in edges})
    shared = classes.get(MEMORY)
    bound = {n for stmt in ir.statements(function.body) for n in ir.binds(stmt)} - numbers
    found = {n: classes.get(n, n) for name in bound for n in (name, element(name))}
    return {name: held for name, held in found.items() if held != shared}


def _items(node: str) -> str:
    return MEMORY if node == MEMORY else element(node)


def _sharing(stmt: ir.Stmt, is_call: bool, context: Context) -> tuple[str, ...]:
    """Names that may share memory by what a statement does."""
    value = getattr(stmt, "value", ir.Const(None))
    if shadow_method(value):
        return (MEMORY, *ir.binds(stmt), *_contents_read(stmt))
    if not is_call:
        match stmt:
            case ir.Assign(target=str()) if _is_computed(value, context) or _copies(value, context):
                return ()
            case ir.Assign(target=str(name), value=ir.Display("list", items)) if all(
                isinstance(item, ir.Var | ir.Const) for item in items
            ):
                return (element(name), *ir.names_in(value))
            case (
                ir.Assign(target=str(name), value=ir.Index(ir.Var(base)))
                | ir.For(target=str(name), iter=ir.Var(base))
            ):
                return (name, *_holders(base, context))
            case ir.Assign(target=str(name)) if _is_part(value, context):
                return (name, *ir.names_in(value))
            case (
                ir.Store(target=ir.Index(ir.Var(base)))
                | ir.Update(target=ir.Var(base) | ir.Index(ir.Var(base)))
            ):  # (what is put into an array is copied)
                copied = context.kind_of(ir.Var(base)).form == "array"
                return () if copied else (*_holders(base, context), *ir.names_in(value))
            case ir.Do(value=ir.Call(args=(into, *_)) as call) if _writes_into(call):
                copied = context.kind_of(into).form in _COPIED
                return () if copied else (*ir.reads(stmt),)
            case ir.Do() if is_scatter(stmt):
                return (*ir.reads(stmt),)
            case ir.Return(value=ir.Var()) | ir.If() | ir.While() | ir.Break() | ir.Continue():
                return ()
    return (MEMORY, *ir.binds(stmt), *ir.reads(stmt))


def _contents_read(stmt: ir.Stmt) -> frozenset[str]:
    """The names that a statement reads for more than to find what a shadow holds for them."""
    value = getattr(stmt, "value", None)
    if not shadow_method(value):
        return ir.reads(stmt)
    given = given_adjoint(value)
    return frozenset() if given is None else ir.names_in(given)


def _holders(base: str, context: Context) -> tuple[str, ...]:
    """What the items of what a name stands for share memory with."""
    form = context.kind_of(ir.Var(base)).form
    items = (element(base),) if form == "list" else (base, element(base))
    return (base,) if form == "array" else items


def _is_computed(value: ir.Expr, context: Context) -> bool:
    """Whether an expression is of an operation that makes something of its own."""
    if not isinstance(value, ir.Call):
        return isinstance(value, ir.Const)
    # (Of two operands of which nothing is known, one may be a list and the other a count.)
    product = getattr(value.fn, "obj", None) is operator.mul
    lists = product and all(context.kind_of(e).form == "unknown" for e in value.args)
    return not (lists or may_join_lists(value, context.kinds)) and _is_fresh(value, context)


def _copies(value: ir.Expr, context: Context) -> bool:
    """Whether an expression is `contents(x)` of what is an array or a number."""
    made = isinstance(value, ir.Call) and getattr(value.fn, "obj", None) is runtime.contents
    return made and context.kind_of(value.args[0]).form in _COPIED  # type: ignore[union-attr]


def _is_part(value: ir.Expr, context: Context) -> bool:
    """Whether an expression is, or may be a view of, what it names, if that is arrays."""
    match value:
        case ir.Var() | ir.Attribute(ir.Var()):
            return True
        case ir.Call(fn, args):
            updated = getattr(fn, "obj", None) is runtime.updated
            known = context.rule_for(value) is not None and not moves(value, context)
            return (updated or known) and all(isinstance(a, ir.Var | ir.Const) for a in args)
    return False


class Wanted(Problem[frozenset[str]]):
    """Backward flow of the names that are read on the way to the result, and of the memory that
    nothing else reaches, by `own`. (All other memory may be read there.)"""

    bottom: frozenset[str] = frozenset()

    def __init__(self, own: dict[str, str], facts: Structure, calls: Collection[int]) -> None:
        self.own, self.kept, self.calls = own, facts.kept, calls
        self._ways: dict[str, set[str]] = {}  # by which memory is reached
        for node, held in own.items():
            self._ways.setdefault(held, set()).add(owner(node))
        self.single = self._single(facts)

    def boundary(self, function: ir.Function) -> frozenset[str]:
        return self.kept

    def join(self, a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
        return a | b

    def _memory(self, name: str) -> str:
        return f"{MEMORY} of {self.own[name]}" if name in self.own else MEMORY

    def _single(self, facts: Structure) -> frozenset[str]:
        """The names of memory that is one array whenever it is written: made once, or anew in each
        iteration of a loop and known by no other name; and written by this name alone."""
        written = {n for s in ir.statements(facts.function.body) for n in _written_names(s)}
        found = set()
        for name in written & self.own.keys():
            ways, made = self._ways[self.own[name]], facts.single(name)
            once = made is not None and facts.outer_loop[facts.block_of(made)] == OUTERMOST
            if made is not None and ways & written == {name} and (once or ways == {name}):
                found.add(name)
        return frozenset(found)

    def is_wanted(self, stmt: ir.Stmt, after: frozenset[str]) -> bool:
        """Whether what a statement binds or writes may be read on the way to the result."""
        if id(stmt) in self.calls or shadow_method(getattr(stmt, "value", None)):
            return True
        if isinstance(stmt, ir.Assign):
            return not after.isdisjoint(ir.target_names(stmt.target))
        written = _written_names(stmt)
        if not written:
            return True
        memory = set(map(self._memory, written))
        return MEMORY in memory or not memory.isdisjoint(after)

    def transfer(self, stmt: ir.Stmt, state: frozenset[str]) -> frozenset[str]:
        if isinstance(stmt, ir.If | ir.While) or not self.is_wanted(stmt, state):
            return state
        if isinstance(stmt, ir.Assign):
            state = self._without(ir.target_names(stmt.target), state)
        read = _contents_read(stmt)
        replaced = self.single & _written_whole(stmt)
        state = state.difference(map(self._memory, replaced))
        inside = read - replaced
        return state.union(read, map(self._memory, (*inside, *map(element, inside))))

    def _without(self, names: Iterable[str], state: frozenset[str]) -> frozenset[str]:
        """The state before names are bound, and the memory that no other name reaches then."""
        state = state.difference(names)
        held = {self.own[node] for n in names for node in (n, element(n)) if node in self.own}
        gone = (h for h in held if self._ways[h].isdisjoint(state))
        return state.difference(f"{MEMORY} of {h}" for h in gone)


def _written_names(stmt: ir.Stmt) -> frozenset[str]:
    """The names by which a statement writes into memory in a way that is known."""
    match stmt:
        case ir.Store(target=target) | ir.Update(target=target):
            return frozenset(base_names(target)) or frozenset((MEMORY,))
        case ir.Do(value=ir.Call(args=(ir.Var(name), *_)) as call):
            return frozenset((name,) if _writes_into(call) or is_scatter(stmt) else ())
    return frozenset()


def _written_whole(stmt: ir.Stmt) -> frozenset[str]:
    """The names of which a statement replaces the entries, all of them, by what it reads besides
    these."""
    match stmt:
        case ir.Store(target=ir.Index(ir.Var(name), ir.Const(key)), value=value) if key is Ellipsis:
            return frozenset((name,)) - ir.names_in(value)
        case ir.Do(value=ir.Call(args=(ir.Var(name), value)) as call) if _writes_into(call):
            return frozenset((name,)) - ir.names_in(value)
    return frozenset()


def _is_fresh(call: ir.Call, context: Context) -> bool:
    """Whether a call computes something of its own, which holds no operand of it."""
    if shadow_method(call) in ("take", "take_at", "like"):
        return context.kind_of(call).form in ("array", "number")
    if context.rule_for(call) is None or moves(call, context):
        return False
    forms = {context.kind_of(e).form for e in (call, *call.args)}
    return context.sources().view_of(call) == "no" and not forms & set(CONTAINERS)


def _handed_on(stmt: ir.Stmt, context: Context) -> frozenset[str]:
    """The names of which a statement may make what they stand for known to others."""
    if shadow_method(getattr(stmt, "value", None)):
        return frozenset()  # (it looks for memory and objects, and holds no adjoint it is given)
    match stmt:
        case ir.Assign(value=value) if context.is_constant(value):
            return frozenset()
        case ir.Store(target=ir.Index(base, key), value=value):
            copied = context.kind_of(base).form == "array"
            return ir.names_in(base) | (frozenset() if copied else ir.names_in(value))
        case ir.Update(target=ir.Index(base, key), value=value):
            return ir.names_in(base) | ir.names_in(key)
        case ir.If() | ir.While() | ir.Return(value=ir.Var() | ir.Display()):
            return frozenset()  # (what is returned is taken back when the sweep begins)
    return ir.reads(stmt)


class IdentityAdjoints(Adjoints):
    """Adjoints of numbers are variables; all others are in `bars`."""

    shared = ""  # the name of the shadow

    def call(self, method: str, *operands: ir.Expr) -> ir.Call:
        """A call of a method of the shadow, which holds adjoints after any but those that take
        them away."""
        if not method.startswith("take"):
            self.state[SHARED] = OWNED
        return ir.Call(ir.Attribute(ir.Var(self.shared), method), operands)

    def do(self, method: str, *operands: ir.Expr) -> None:
        self.out.append(ir.Do(self.call(method, *operands), self.origin))

    def by_name(self, name: str) -> bool:
        """Whether the adjoint of a name is a variable."""
        return self.aliases.has_variable(name)

    def adjoint(self, name: str) -> ir.Expr:
        return self.bar(name) if self.by_name(name) else self.call("of", ir.Var(name))

    def contribute(self, name: str, value: ir.Expr, inherit: str = "") -> None:
        if self.by_name(name):
            super().contribute(name, value, inherit)
        else:
            self.do("add", ir.Var(name), self._summed_there(self.stripped(value, name), name))

    def _summed_there(self, value: ir.Expr, name: str) -> ir.Expr:
        """A contribution without the sum over broadcast axes: `add` knows the shape."""
        if is_call(value, self.context.helper("unbroadcast").obj):
            assert isinstance(value, ir.Call)
            if value.args[1] == ir.Var(name):
                return value.args[0]
        return value

    def begin(self) -> None:
        if not self.shared:
            self.name_shadow()
            self.assign(self.shared, ir.Call(self.context.helper("Shadow")))

    def name_shadow(self) -> str:
        """The name of the shadow, for one that is made here or is given."""
        self.shared = self.context.fresh("bars", Kind("object", cls=runtime.Shadow))
        return self.shared

    def own(self, name: str) -> None:
        if name == SHARED:  # (it may hold something: it does on another path, or a later round)
            self.state[SHARED] = OWNED
        else:
            super().own(name)

    def zero(self, name: str) -> None:
        if name == SHARED:
            self.own(name)
        else:
            super().zero(name)

    def take(self, name: str, makers: Iterable[str] = ()) -> None:
        operands = (ir.Var(name), *map(ir.Var, makers))
        self.assign(self.bar(name).name, self.call("take", *operands))
        self.state[name] = OWNED


class IdentityPresence(Presence):
    """Which numbers have an adjoint variable at each point, and whether the shadow holds anything
    (`SHARED`). Where it does, what touches memory is reversed in any case, and then contributes to
    all numbers that it may have handed on. Where it does not, what was written is not read on the
    way to the result: its adjoint is zero, and factors of it may be infinite."""

    @cached_property
    def own(self) -> dict[str, str]:
        """The memory that nothing else reaches, by name."""
        return own_memory(self.facts.function, self.calls, self.adjoints.aliases, self.context)

    @cached_property
    def _wanted(self) -> tuple[Wanted, list[frozenset[str]]]:
        problem = Wanted(self.own, self.facts, self.calls)
        return problem, solve(self.facts.function, problem, self.facts.index).after

    @cached_property
    def unread(self) -> UnreadEntries:
        regions = Regions(self.facts, self._own_kind)
        sources = self.context.sources()
        return UnreadEntries(self.facts, Aliases(self.own), regions, sources, self._arrays_read)

    def _arrays_read(self, stmt: ir.Stmt) -> Iterator[ir.Expr]:
        """What a statement reads on the way to the result, for more than to find adjoints of it."""
        problem, after = self._wanted
        if not ir.is_compound(stmt) and not problem.is_wanted(stmt, after[self.facts.number(stmt)]):
            return
        value = getattr(stmt, "value", None)
        if shadow_method(value):
            given = given_adjoint(value)
            yield from () if given is None else parts_read(given)
        else:
            yield from arrays_read(stmt)

    def _own_kind(self, expr: ir.Expr) -> Kind:
        """The kind of an expression, where what operations made and a store writes into is an
        array."""
        kind = self.context.kind_of(expr)
        computed = isinstance(expr, ir.Var) and expr.name in self.own
        return Kind("array") if computed and kind.form == "unknown" else kind

    def is_unread(self, stmt: ir.Stmt) -> bool:
        """Whether what a statement binds or writes is surely not read on the way to the result."""
        problem, after = self._wanted
        if not problem.is_wanted(stmt, after[self.facts.number(stmt)]):
            return True
        known = isinstance(stmt, ir.Store | ir.Update) and base_names(stmt.target) <= {*self.own}
        return known and self.unread.writes(stmt)

    def before(self, stmt: ir.Stmt, present: frozenset[str]) -> frozenset[str]:
        if ir.blocks(stmt):
            return super().before(stmt, present)
        # (What an operation on a shadow gives has a reversal whether it has an adjoint or not.)
        bound = frozenset(ir.binds(stmt)) - self.severed
        numbers = frozenset(filter(self.adjoints.aliases.has_variable, bound))
        if self.is_idle(stmt, present):
            return present - numbers
        held = frozenset((SHARED,)) if self.meets_memory(stmt) else frozenset[str]()
        return (present - numbers) | self.touched(stmt) | held

    def meets_memory(self, stmt: ir.Stmt) -> bool:
        """Whether the reversal of a simple statement may add to what the shadow holds."""
        involved = (*ir.binds(stmt), *ir.reads(stmt))
        return id(stmt) in self.calls or not all(map(self.adjoints.aliases.has_variable, involved))

    def is_idle(self, stmt: ir.Stmt, present: Collection[str]) -> bool:
        """Whether nothing was added to the adjoints of what a simple statement binds or writes."""
        if id(stmt) in self.calls or shadow_method(getattr(stmt, "value", None)):
            return False
        if self.is_unread(stmt):
            return True
        if isinstance(stmt, ir.Store | ir.Update | ir.Do):
            return SHARED not in present
        if not isinstance(stmt, ir.Assign):
            return False
        names = frozenset(ir.target_names(stmt.target)) & self.active
        return not self.roots(names) & frozenset(present)

    def numbers_in(self, *exprs: ir.Expr) -> frozenset[str]:
        """The numbers with adjoints by name that some expressions read."""
        read = frozenset().union(*map(ir.names_in, exprs)) & self.active
        return frozenset(filter(self.adjoints.aliases.has_variable, read))

    def touched(self, stmt: ir.Stmt) -> frozenset[str]:
        """The numbers that the reversal of a simple statement contributes to."""
        if shadow_method(getattr(stmt, "value", None)):
            given = given_adjoint(stmt.value)  # type: ignore[union-attr]
            return frozenset() if given is None else self.numbers_in(given)
        match stmt:
            case ir.Assign(value=value) if id(stmt) in self.calls:
                return self.numbers_in(value)
            case ir.Assign(value=value):
                if isinstance(value, ir.Var) or moves(value, self.context):
                    return self.numbers_in(value)
                if is_saved_item(value):
                    return frozenset()
                if self.context.is_part(value):
                    return self.numbers_in(value.base)  # type: ignore[union-attr]
                chain = {c.name for c in self.chain(stmt).contributions}
                numbers = frozenset(filter(self.adjoints.aliases.has_variable, chain))
                return numbers | self.handed_on(stmt)
            case ir.Store(value=value) | ir.Update(value=value):
                return self.numbers_in(value)
            case ir.Do(value=ir.Call() as call):
                return self.numbers_in(*ir.arguments(call))
        return frozenset()

    def handed_on(self, stmt: ir.Assign) -> frozenset[str]:
        """The numbers that an operation may give back as they are, to a name of unknown kind."""
        names = ir.target_names(stmt.target)
        if all(map(self.adjoints.aliases.has_variable, names)):
            return frozenset()
        return (
            self.numbers_in(stmt.value) if may_be_operand(stmt.value, self.context) else frozenset()
        )


def moves(value: ir.Expr, context: Context) -> bool:
    """Whether an operation makes or takes apart a container, and computes nothing."""
    if isinstance(value, ir.Display) or record_values(value) is not None:
        return True
    if isinstance(value, ir.Lazy | ir.Opaque):
        return True
    if not isinstance(value, ir.Call):
        return False
    if isinstance(value.fn, ir.Attribute):
        return context.kind_of(value.fn.base).form in CONTAINERS or takes_item(value, context)
    obj = rule_object(value, context.kinds)
    if obj is runtime.updated or obj is vars:
        return True
    collected = any(obj is made for made in _COLLECTING) or joins_lists(value, context.kinds)
    return collected and all(
        context.kind_of(e).form == "number" or holds_items(e, context) for e in value.args
    )


def holds_items(expr: ir.Expr, context: Context) -> bool:
    """Whether a value is a container whose items are what it holds: a class may compute them."""
    kind = context.kind_of(expr)
    if kind.form != "object":
        return kind.form in CONTAINERS
    classes = [one.cls for one in kind.among or (kind,)]
    return None not in classes and not any(map(computes_items, classes))


_GIVING = ("pop", "popleft", "popitem", "get", "setdefault", "items", "values")


def takes_item(value: ir.Expr, context: Context) -> bool:
    """Whether a call takes an item out of what is a container, if it has this method."""
    match value:
        case ir.Call(fn=ir.Attribute(base, method)) if method in _GIVING:
            return may_compute(base, context)
    return False


def may_compute(base: ir.Expr, context: Context) -> bool:
    """Whether an expression may be an object of a class that is not known, or that computes
    attributes in ways that are not read."""
    kind = context.kind_of(base)
    unread = kind.cls is None or computes_attributes(kind.cls)
    return unread and kind.form in ("unknown", "object")


def may_be_operand(value: ir.Expr, context: Context) -> bool:
    """Whether the result of an operation may be, or may be a view of, an operand."""
    return not isinstance(value, ir.Call) or context.sources().view_of(value) != "no"


class IdentityStatements(Statements):
    """The reversal of simple statements."""

    adjoints: IdentityAdjoints
    presence: IdentityPresence

    def reverse(self, stmt: ir.Stmt) -> None:
        touched = frozenset[str]()
        if not ir.blocks(stmt):
            if self.presence.is_idle(stmt, self.adjoints.state.keys()):
                for name in ir.binds(stmt):
                    self.adjoints.state.pop(name, None)
                return
            touched = self.presence.touched(stmt)
        held = SHARED in self.adjoints.state
        super().reverse(stmt)
        assert held or SHARED not in self.adjoints.state or self.presence.meets_memory(stmt)
        for name in sorted(touched):
            if name not in self.adjoints.state:
                self.adjoints.zero(name)

    def _chain_rule(self, stmt: ir.Assign, names: tuple[str, ...]) -> None:
        super()._chain_rule(stmt, names)
        for name in self.adjoints.masks.keys() - self._read_once:
            del self.adjoints.masks[name]  # (others may add to it unseen)

    @cached_property
    def _read_once(self) -> frozenset[str]:
        """The names whose one reader is the only one to know the object: a mask of the adjoint
        that comes from there is one of all of it."""
        facts, sources = self.presence.facts, self.context.sources()
        found = (
            name
            for name, stmts in facts.used_by.items()
            if len(stmts) == 1
            and isinstance(made := facts.single(name), ir.Assign)
            and isinstance(made.value, ir.Call)
            and sources.view_of(made.value) == "no"
        )
        return frozenset(found)

    def take_back(self, names: frozenset[str]) -> None:
        """`t_bar += bars.take(t)`: what was added to numbers where others hold them."""
        for name in sorted(names):
            self.adjoints.contribute(name, self.adjoints.call("take", ir.Var(name)))

    def _on_shadow(self, call: ir.Call, name: str = "") -> None:
        """An operation on a shadow, `name = bars.take(x)` or `bars.add(x, g)`."""
        adjoints, bars = self.adjoints, call.args[0]
        shadow = self.shadows.get(bars.name) if isinstance(bars, ir.Var) else None
        bar: ir.Expr | None = None
        if name in self.active and adjoints.by_name(name):
            bar = adjoints.bar(name) if name in adjoints.state else None
            adjoints.state.pop(name, None)
        elif name in self.active:
            bar = adjoints.call("take", ir.Var(name))
        made = None if shadow is None else operation_on(shadow, call, bar)
        given = given_adjoint(call)
        if isinstance(given, ir.Var) and given.name in self.active and made is not None:
            adjoints.contribute(given.name, made)
        elif made is not None and (given is None or not shadow_method(call).startswith("add")):
            adjoints.out.append(ir.Do(made, adjoints.origin))

    def begin(self, function: ir.Function) -> None:
        """`bars_bar = bars2.of(bars)`: the adjoints of adjoints, before the sweep."""
        for name in sorted((shadow_names(function) & self.active) - self.shadows.keys()):
            self.shadows[name] = self.context.fresh(f"{name}_bar", SHADOW)
            self.adjoints.assign(self.shadows[name], self.adjoints.call("of", ir.Var(name)))

    @cached_property
    def shadows(self) -> dict[str, str]:
        """The names of the shadows of adjoints of what is in each shadow of the function."""
        return {}

    def _assign(self, stmt: ir.Assign) -> None:
        names, value = ir.target_names(stmt.target), stmt.value
        if shadow_method(value) and isinstance(value, ir.Call):
            if names[0] not in self.shadows:  # (a shadow of a shadow has its own: see `begin`)
                self._on_shadow(value, names[0])
            return
        if is_shadow(value):
            return
        if is_saved_item(value):
            assert isinstance(value, ir.Call) and isinstance(value.args[0], ir.Var)
            self.item(names[0], value.args[0], value.args[1], False)
            return
        if self.context.is_part(value):
            self._read_part(stmt)
        elif isinstance(value, ir.Var) and isinstance(stmt.target, str):
            self._same(stmt.target, value.name)
        elif isinstance(value, ir.Var):
            assert isinstance(stmt.target, tuple)
            for position, part in enumerate(stmt.target):
                assert isinstance(part, str)
                self.item(part, value, ir.Const(position), part in self.adjoints.state)
        elif moves(value, self.context) or popped_from(stmt):
            self._moved(stmt, names)
        else:
            self._operation(stmt, names)
        for name in names:
            if name not in self.presence.touched(stmt):
                self.adjoints.state.pop(name, None)

    def _same(self, target: str, source: str) -> None:
        """`u = t`: one object by two names."""
        adjoints = self.adjoints
        if adjoints.by_name(target):
            bar = adjoints.bar(target)
            if target in adjoints.state and source in self.active:
                adjoints.contribute(source, bar)
        elif adjoints.by_name(source) and source in self.active:
            self.take_back(frozenset((source,)))

    def _moved(self, stmt: ir.Assign, names: tuple[str, ...]) -> None:
        """A container is made or taken apart: its items are what they were."""
        for name in names:
            if self.adjoints.by_name(name) and name in self.adjoints.state:
                self.adjoints.do("add", ir.Var(name), self.adjoints.bar(name))
        self.take_back(self.presence.touched(stmt))

    def _operation(self, stmt: ir.Assign, names: tuple[str, ...]) -> None:
        chain = self.presence.chain(stmt)
        handed = self.presence.handed_on(stmt)
        made_of: tuple[str, ...] = ()
        if may_be_operand(stmt.value, self.context):
            made_of = tuple(sorted(ir.names_in(stmt.value) & self.active))
        for name in names:
            if not self.adjoints.by_name(name) and name in self.active:
                self.adjoints.take(name, made_of)
        if chain.contributions:
            self._chain_rule(stmt, names)
        self.take_back(handed)

    def _read_part(self, stmt: ir.Assign) -> None:
        """`t = x[k]`, `t = obj.w`."""
        value = stmt.value
        assert isinstance(value, ir.Index | ir.Attribute) and isinstance(value.base, ir.Var)
        if value.base.name not in self.active:
            return
        assert isinstance(stmt.target, str)  # (others are unpacked in steps)
        if isinstance(value, ir.Index):
            present = stmt.target in self.adjoints.state
            self.item(stmt.target, value.base, value.key, present)
        elif self.adjoints.by_name(stmt.target):
            self.adjoints.do("add", ir.Var(stmt.target), self.adjoints.bar(stmt.target))

    def item(self, name: str, base: ir.Expr, key: ir.Expr, present: bool) -> None:
        """`name = base[key]` reversed; `present`: whether a number has an adjoint."""
        adjoints, form = self.adjoints, self.context.kind_of(base).form
        holds, root = holds_items(base, self.context), base
        while not isinstance(root, ir.Var):
            root = ir.children(root)[0]
        if name not in self.active or root.name not in self.active:
            return
        if adjoints.by_name(root.name) and adjoints.by_name(name):
            adjoints.contribute(root.name, adjoints.bar(name))
        elif adjoints.by_name(root.name):  # (`q[..., None]`: a number with axes)
            taken = (adjoints.call("take", ir.Var(name)), ir.Var(root.name))
            summed = ir.Call(self.context.helper("unbroadcast"), taken)
            adjoints.contribute(root.name, summed)
        elif adjoints.by_name(name):
            if not present:
                return
            if holds:
                adjoints.do("add", ir.Var(name), adjoints.bar(name))
            elif form == "array":
                added = adjoints.call("add_at", base, as_value(key))
                added = dataclasses.replace(added, kwargs=(("g", adjoints.bar(name)),))
                adjoints.out.append(ir.Do(added, adjoints.origin))
            else:
                adjoints.do("add_at", base, as_value(key), ir.Var(name), adjoints.bar(name))
        elif not holds and not self._is_view(name, form, key):
            adjoints.do("add_at", base, as_value(key), ir.Var(name))

    def _is_view(self, name: str, form: str, key: ir.Expr) -> bool:
        array = form == "array" and self.context.kind_of(ir.Var(name)).form == "array"
        return array and surely_basic(key, self.context.kind_of)

    def _store(self, stmt: ir.Store) -> None:
        """`x[k] = v`, `obj.w = v`."""
        value, target = stmt.value, stmt.target
        known = isinstance(target.base, ir.Var) and target.base.name in self.active
        if isinstance(target, ir.Attribute):
            _refuse_view(target, self.context)
            self.take_back(self.presence.numbers_in(value))
            return
        form = self.context.kind_of(target.base).form
        if form in CONTAINERS:
            self.take_back(self.presence.numbers_in(value))
            return
        if not known:
            return
        place = (target.base, as_value(target.key))
        active = isinstance(value, ir.Var) and value.name in self.active
        if active:
            assert isinstance(value, ir.Var)
            entry, kind = (
                self.context.kind_of(ir.Index(target.base, target.key)),
                self.context.kind_of(value),
            )
            alike = entry.form == kind.form == "number" and kind.dtype == entry.dtype == "float"
            taken = self.adjoints.call("take_at", *place, *(() if alike else (value,)))
            self.adjoints.contribute(value.name, taken)
        else:
            self.adjoints.do("take_at", *place)

    def _update(self, stmt: ir.Update) -> None:
        """`a += v`, `a[k] -= v` of an array: its adjoint stays as it is."""
        target, value = stmt.target, stmt.value
        base = target if isinstance(target, ir.Var) else target.base
        if not isinstance(value, ir.Var) or value.name not in self.active:
            return
        assert isinstance(base, ir.Var)
        if base.name not in self.active:
            return
        entry: ir.Expr = self.adjoints.call("of", base)
        if isinstance(target, ir.Index):
            entry = self._surviving(ir.Index(entry, target.key))
        if stmt.op.obj is ir.ISUB.obj:
            entry = ir.Call(ir.NEG, (entry,))
        elif self.adjoints.by_name(value.name):
            # (What is added later may be added to these entries, where arguments overlap.)
            entry = ir.Call(self.context.helper("copy"), (entry,))
        if not self._fits(self.context.kind_of(value), self.context.kind_of(target)):
            entry = ir.Call(self.context.helper("unbroadcast"), (entry, value))
        self.adjoints.contribute(value.name, entry)

    def _do(self, stmt: ir.Do) -> None:
        call = stmt.value
        if not isinstance(call, ir.Call):
            return
        if shadow_method(call):
            self._on_shadow(call)
        elif getattr(call.fn, "obj", None) is runtime.put_item:
            base, key, value = call.args
            self._store(ir.Store(ir.Index(base, key), value, stmt.origin))
        elif is_scatter(stmt):
            self._scatter(call)
        elif _writes_into(call):
            base, new = call.args
            if isinstance(new, ir.Var) and new.name in self.active:
                whole = ir.Const(Ellipsis)
                taken = self.adjoints.call("take_at", base, whole, new)
                self.adjoints.contribute(new.name, taken)
            else:
                self.adjoints.do("take_at", base, ir.Const(Ellipsis))
        else:
            self.take_back(self.presence.touched(stmt))

    def _scatter(self, call: ir.Expr) -> None:
        assert isinstance(call, ir.Call) and isinstance(call.fn, ir.Ref)
        array, key, value = call.args
        if not isinstance(value, ir.Var) or value.name not in self.active:
            return
        assert isinstance(array, ir.Var)
        self._refuse_container(array, call)
        entry: ir.Expr = ir.Index(self.adjoints.call("of", array), key)
        if call.fn.obj == np.subtract.at:
            entry = ir.Call(ir.NEG, (entry,))
        elif self.adjoints.by_name(value.name):
            entry = ir.Call(self.context.helper("copy"), (entry,))
        fitted = ir.Call(self.context.helper("part_like"), (entry, value))
        self.adjoints.contribute(value.name, fitted)

    def _refuse_container(self, base: ir.Var, call: ir.Call) -> None:
        """An item of a list or dict that is added to becomes a new object: the adjoint of that is
        the adjoint of the one before, which nothing here gives it."""
        form = self.context.kind_of(base).form
        if form in ("list", "dict", "tuple", "object"):
            raise SharingError(
                f"an item of `{base.name}` is added to, and may be held elsewhere",
                call.at or self.adjoints.origin.place,
                "Use forward mode over the gradient, as hvp does, or copy the arrays where they "
                "differ.",
            )
        if form != "array":
            origin = self.adjoints.origin
            self.adjoints.out.append(self.context.check("require_array", (base,), origin, call.at))

    def _call(self, stmt: ir.Assign) -> None:
        """`y, tape = g_fwd(a, t)` reversed: `t_bar = g_bwd(tape, bars, y_bar)`, which also restores
        what it wrote. (A function that only the run knows is given the shadow alone.)"""
        site: CallSite = self.calls[id(stmt)]
        adjoints = self.adjoints
        arguments: list[ir.Expr] = [ir.Var(site.tape), ir.Var(adjoints.shared)]
        arguments += (self._seed(site.result, path) for path in site.pair.seeds)
        for name in site.results:
            if adjoints.by_name(name) and name in adjoints.state:
                if adjoints.bar(name) not in arguments:
                    adjoints.do("add", ir.Var(name), adjoints.bar(name))
                adjoints.state.pop(name)
        call = ir.Call(site.pair.bwd, tuple(arguments))
        adjoints.own(SHARED)  # (the callee may add to it)
        self._returned(() if site.is_late else site.operands, call)
        self.take_back(self.presence.touched(stmt) & site.others)

    def _seed(self, result: ir.Target, path: tuple[int, ...]) -> ir.Expr:
        """The adjoint of a number in the result of a call."""
        while path and isinstance(result, tuple):
            result, path = result[path[0]], path[1:]
        assert isinstance(result, str)
        if path or (result in self.active and not self.adjoints.by_name(result)):
            item: ir.Expr = ir.Var(result)
            for place in path:
                item = ir.Index(item, ir.Const(place))
            return self.adjoints.call("take", item)
        if result not in self.adjoints.state:
            return ir.Const(0.0)
        self.adjoints.materialise(result)
        return self.adjoints.bar(result)


def _writes_into(call: ir.Call) -> bool:
    obj = getattr(call.fn, "obj", None)
    return obj is runtime.update_in_place or obj is runtime.put_contents


def is_saved_item(value: ir.Expr) -> bool:
    """Whether an expression is `saved_item(x, k)`, which reads `x[k]`."""
    return isinstance(value, ir.Call) and getattr(value.fn, "obj", None) is runtime.saved_item


def is_shadow(value: ir.Expr) -> bool:
    """Whether an expression is `Shadow()`."""
    return isinstance(value, ir.Call) and getattr(value.fn, "obj", None) is runtime.Shadow


def _refuse_view(target: ir.Attribute, context: Context) -> None:
    """`z.real = v` writes into an array, or sets an attribute: which one is not known."""
    if target.name in ir.OF_ARRAYS | {"flat"} and context.kind_of(target.base).form != "object":
        raise UnsupportedError(
            f"`.{target.name}` of what may be an array is assigned",
            target.at,
            f"Write the entries: `part = z.{target.name}`, and then `part[...] = v`.",
        )


class IdentitySweep(Sweep):
    """The sweep over branches and loops, of which only numbers have adjoints by name."""

    presence_class = IdentityPresence
    statements_class = IdentityStatements

    statements: IdentityStatements
    adjoints: IdentityAdjoints

    def _return_to_source(self, leaf: Leaf, present: frozenset[str]) -> None:
        if not isinstance(leaf.source, ir.Var) or leaf.key is None:
            return
        for keys, name in places_in(leaf.target, (leaf.key,)):
            base: ir.Expr = leaf.source
            for key in keys[:-1]:
                base = ir.Index(base, key)
            if self.adjoints.aliases.root(name) in present:
                self.statements.item(name, base, keys[-1], name in present)


# --------------------------------------------------------------------------------------------------
# Operations on a `runtime.Shadow`, reversed: the adjoints of adjoints are found by identity too.
#
# Each operation is a linear function of the adjoints in the shadow, found by memory and objects
# that do not change. Its reversal is the transposed operation on the shadow of adjoints of these,
# `bars_bar = bars2.of(bars)`, and that of this one again the first::
#
#     bars.add(x, g)                 g_bar = bars_bar.like(x, g)
#     y_bar = bars.take(y)           bars_bar.put(y, y_bar_bar)
#     g = bars.take_at(x, k, v)      bars_bar.put_at(x, k, g_bar)
#     bars.add_at(x, k, y)           bars_bar.like_at(x, k, y)

_READING = {"of": "add", "like": "add", "like_at": "add_at"}  # transposed: where they add
# What is read there is zero afterwards; transposed, that is set.
_TAKING = {"take": "put", "take_at": "put_at"}
_TRANSPOSED = {"add": "like", "add_at": "like_at", "put": "take", "put_at": "take_at"}
GIVEN = {"add": 2, "put": 2, "put_at": 3, "add_at": 4}  # where they are given adjoints


def given_adjoint(call: ir.Expr | None) -> ir.Expr | None:
    """What an operation puts into a shadow, or adds to what is in there."""
    position = GIVEN.get(shadow_method(call))
    if position is None:
        return None
    assert isinstance(call, ir.Call)
    return call.args[position] if position < len(call.args) else None


def operation_on(shadow: str, call: ir.Call, bar: ir.Expr | None) -> ir.Call | None:
    """The operation on the shadow of adjoints that reverses a call; `bar` is the adjoint of its
    result, None if that is zero. What it gives is the adjoint of what the call was given."""
    method, args = shadow_method(call), list(call.args[1:])
    if method in _READING:
        if bar is None and (method != "like_at" or len(args) == 4):
            return None
        args = [*args[: 3 if method == "like_at" else 1], *((bar,) if bar is not None else ())]
        return _called(shadow, _READING[method], args)
    if method in _TAKING:
        args.insert(1 if method == "take" else 2, ir.Const(0.0) if bar is None else bar)
    elif method.startswith("put"):
        del args[GIVEN[method] - 1]
    transposed = _TAKING.get(method) or _TRANSPOSED[method]
    return _called(shadow, transposed, args)


def _called(shadow: str, method: str, args: list[ir.Expr]) -> ir.Call:
    if method in ("take", "put") and isinstance(args[-1], ir.Display):
        args[-1:] = args[-1].items
    return ir.Call(ir.Attribute(ir.Var(shadow), method), tuple(args))
